"""Structured grids: their members, the choice, and independence of the executor."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from accountants.sampling import Poisson
from dp2theory.optimizers import tuning
from dp2theory.optimizers.dp2 import Dp2RmsProp, Phases
from dp2theory.optimizers.grids import GridContext, dp2_rmsprop_grid, dp_sgd_grid
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.tuning import check_seeds_apart, tune, tuning_seeds
from tests.optimizers.checks import small_problem

RUN = {"sampling": Poisson(0.2), "steps": 12, "noise_multiplier": 0.7}


def test_dp_sgd_grid_is_the_stated_one() -> None:
    grid = dp_sgd_grid(GridContext(1.5, 12))
    pairs = {(round(o.learning_rate * o.clip_norm, 9), o.clip_norm) for o in grid}  # type: ignore[attr-defined]
    assert pairs == {(eta, c) for eta in (0.3, 1.0, 3.0, 10.0) for c in (0.5, 1.0, 2.0)}
    assert {o.noise_multiplier for o in grid} == {1.5}


def test_dp2_grid_is_the_stated_one() -> None:
    base = DpSgd(5.0, 2.0, 1.5)  # effective step 10
    grid = dp2_rmsprop_grid(GridContext(1.5, 12, base, Phases(4, 4)))
    assert all(isinstance(o, Dp2RmsProp) and o.delay == 4 for o in grid)
    steps = {
        (
            round(o.learning_rate * o.clip_norm, 9),  # type: ignore[attr-defined]
            round(o.adaptive_learning_rate * o.preconditioned_clip_norm, 9),  # type: ignore[attr-defined]
        )
        for o in grid
    }
    corner = {(0.3, 10.0), (0.3, 17.0), (0.3, 30.0), (1.0, 17.0)}
    assert (
        steps == {(10 * f, 10 * g) for f in (0.1, 0.3, 1.0) for g in (1, 3, 10, 30, 100)} | corner
    )
    assert {(o.clip_norm, o.preconditioned_clip_norm, o.damping, o.ema) for o in grid} == {  # type: ignore[attr-defined]
        (2.0, 500.0, 1e-7, 0.9)
    }
    uneven = dp2_rmsprop_grid(GridContext(1.5, 12, base, Phases(4, 2)))
    assert {(o.delay, o.sgd_steps, o.adaptive_steps) for o in uneven} == {(None, 4, 2)}  # type: ignore[attr-defined]


def test_the_best_mean_is_chosen_and_every_row_is_a_run() -> None:
    seen: list[tuple[int, int]] = []
    problem = small_problem()
    tuned = tune(problem, "dp-sgd", progress=lambda i, n: seen.append((i, n)), **RUN)  # type: ignore[arg-type]
    assert tuned.seeds == tuning_seeds(3)
    assert seen[-1] == (36, 36)
    assert seen == sorted(seen)
    best = min(tuned.table, key=lambda row: row.mean_loss)
    assert tuned.optimizer == best.optimizer
    for row in tuned.table[::5]:
        again = [
            run(row.optimizer, problem, sampling=RUN["sampling"], steps=12, rng=s).final_loss  # type: ignore[arg-type]
            for s in tuned.seeds
        ]
        assert list(row.losses) == again
        assert row.mean_loss == pytest.approx(np.mean(again))


def test_dp2_searches_its_base_first_and_takes_the_default_delay() -> None:
    problem = small_problem()
    both = tune(problem, "dp2-rmsprop", **{**RUN, "steps": 80}, seeds=[5])  # type: ignore[arg-type]
    assert both.base is not None
    alone = tune(problem, "dp-sgd", **{**RUN, "steps": 80}, seeds=[5])  # type: ignore[arg-type]
    assert both.base.optimizer == alone.optimizer
    assert isinstance(both.optimizer, Dp2RmsProp)
    assert both.optimizer.delay == 80 // 40
    given = tune(problem, "dp2-rmsprop", **RUN, seeds=[5], base=DpSgd(1.0, 0.5, 0.7), delay=3)  # type: ignore[arg-type]
    assert given.base is None
    assert isinstance(given.optimizer, Dp2RmsProp)
    assert (given.optimizer.delay, given.optimizer.clip_norm) == (3, 0.5)


def test_the_executor_does_not_matter() -> None:
    problem, base = small_problem(), DpSgd(1.0, 0.5, 0.7)
    plain = tune(problem, "dp-rmsprop", **RUN, seeds=[5, 6], base=base)  # type: ignore[arg-type]
    with ThreadPoolExecutor(3) as pool:
        pooled = tune(problem, "dp-rmsprop", **RUN, seeds=[5, 6], base=base, executor=pool)  # type: ignore[arg-type]
    assert pooled == plain


def test_starts_per_seed() -> None:
    problem = small_problem()
    starts = {5: np.full(13, 0.5), 6: np.full(13, -0.5)}
    tuned = tune(problem, "dp-sgd", **RUN, seeds=[5, 6], initial_parameters=starts)  # type: ignore[arg-type]
    row = tuned.table[0]
    for seed, loss in zip((5, 6), row.losses, strict=True):
        again = run(
            row.optimizer, problem, sampling=Poisson(0.2), steps=12, rng=seed,
            initial_parameters=starts[seed],
        )  # fmt: skip
        assert again.final_loss == loss
    with pytest.raises(ValueError, match="no entry for seed 7"):
        tune(problem, "dp-sgd", **RUN, seeds=[7], initial_parameters=starts)  # type: ignore[arg-type]


def test_the_choice_is_said_not_to_be_accounted() -> None:
    tuned = tune(small_problem(), "dp-sgd", **RUN, seeds=[5])  # type: ignore[arg-type]
    out = json.loads(json.dumps(tuned.to_json(), allow_nan=False))
    assert "not accounted" in out["statement"]
    assert "private data" in out["statement"]
    assert len(out["grid"]) == 12
    assert out["seeds"] == [5]


def test_diverged_configurations_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = tuning.grid_losses

    def partly(grid, *args, **kwargs):  # type: ignore[no-untyped-def]
        rows = honest(grid, *args, **kwargs)
        return [[math.inf] if o.clip_norm < 2 else row for o, row in zip(grid, rows, strict=True)]

    monkeypatch.setattr(tuning, "grid_losses", partly)
    tuned = tune(small_problem(), "dp-sgd", **RUN, seeds=[5])  # type: ignore[arg-type]
    assert tuned.optimizer.clip_norm == 2  # type: ignore[attr-defined]
    assert tuned.to_json()["grid"][0]["mean_loss"] == "inf"
    monkeypatch.setattr(tuning, "grid_losses", lambda grid, *_, **__: [[math.inf] for _ in grid])
    with pytest.raises(ArithmeticError, match="every dp-sgd configuration diverged on het"):
        tune(small_problem(), "dp-sgd", **RUN, seeds=[5])  # type: ignore[arg-type]


def test_seeds_are_kept_apart() -> None:
    check_seeds_apart(tuning_seeds(3), range(100))
    with pytest.raises(ValueError, match=r"seeds=\[4\] were used for tuning"):
        check_seeds_apart([4, 5], [3, 4])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "sgd"}, "method='sgd' has no grid, must be one of dp-sgd"),
        ({"seeds": []}, r"seeds=\[\] must be one integer >= 0 at least"),
        ({"seeds": [1, 1]}, r"seeds=\(1, 1\) must be one or more distinct"),
        ({"steps": 0}, "steps=0 must be an integer >= 1"),
        ({"noise_multiplier": float("nan")}, "noise_multiplier=nan must be"),
        ({"method": "dp2-rmsprop", "delay": 0}, "delay=0 must be"),
    ],
)
def test_bad_arguments(change: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"method": "dp-sgd", **RUN}
    with pytest.raises(ValueError, match=message):
        tune(small_problem(), **(good | change))  # type: ignore[arg-type]
