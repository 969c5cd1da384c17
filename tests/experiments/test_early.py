"""Methods compared early in a run: tuned per horizon, on seeds apart, paired."""

from __future__ import annotations

import json
import math

import pytest

from dp2theory.experiments.early import ARMS, Arm, early_losses, main
from dp2theory.experiments.settings import Setting
from dp2theory.experiments.tasks import Task, run_task

SETTING = Setting("het:n=200,d=8,amin=1/10,avg=3,seed=1", 200, steps=13, target_epsilon=3.0)
SMALL = (*ARMS[:2], ARMS[6])
TUNE, SEEDS = (101, 102), (1, 2, 3)


def test_each_horizon_has_the_configuration_that_is_best_there() -> None:
    result = early_losses(
        SETTING, arms=SMALL, delay=2, cycles=(1, 2, 9), tune_seeds=TUNE, seeds=SEEDS
    )
    assert result.steps == (4, 8, 13)
    assert len(result.cells) == 9
    for cell in result.cells:
        assert len(cell.losses) == 3
        assert math.isfinite(cell.mean)
        assert (cell.against_sgd is None) == (cell.arm == "DP-SGD")
        assert (cell.against_dp2 is None) == (cell.arm == "DP²-RMSProp")
    # One cell again, from its settings alone.
    cell = result.cells[7]
    for seed, loss in zip(SEEDS, cell.losses, strict=True):
        run = run_task(
            Task(SETTING, SMALL[2].method, cell.settings, cell.noise_multiplier, seed, 4)
        )
        assert dict(zip(run.loss_steps, run.losses, strict=True))[cell.step] == loss
    table = result.table().splitlines()
    assert len(table) == 5
    assert table[0] == "| method | step 4 | step 8 | step 13 |"
    assert json.loads(json.dumps(result.to_json()))["steps"] == [4, 8, 13]


def test_fixed_settings_replace_the_grids() -> None:
    arms = (*ARMS[:2], Arm("bias", "dp2-adam", {"gradient_ema": 0.0}))
    result = early_losses(SETTING, arms=arms, delay=2, cycles=(), tune_seeds=TUNE, seeds=SEEDS)
    assert result.steps == (13,)
    assert result.cells[2].settings["gradient_ema"] == 0.0


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="must begin with dp-sgd and dp2-rmsprop"):
        early_losses(SETTING, arms=ARMS[1:])
    with pytest.raises(ValueError, match="seeds=\\[1\\] were used for tuning"):
        early_losses(SETTING, arms=SMALL, tune_seeds=(1,), seeds=(1, 2))
    with pytest.raises(ValueError, match="delay=0"):
        early_losses(SETTING, arms=SMALL, delay=0)
    with pytest.raises(SystemExit):
        main([])
