"""The adaptive methods' grids: small, around the tuned DP-SGD, and honest about what they need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from accountants.sampling import Poisson
from dp2theory.optimizers.adaptive_grids import ADAPTIVE_GRIDS
from dp2theory.optimizers.grid_context import GridContext
from dp2theory.optimizers.phases import Phases
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.registry import METHODS
from dp2theory.optimizers.sgd import DpSgd
from tests.optimizers.checks import small_problem

CONTEXT = GridContext(1.5, 40, DpSgd(4.0, 0.5, 1.2), Phases(2, 2), None, 8.0)


@pytest.mark.parametrize("method", ADAPTIVE_GRIDS)
def test_grids_are_small_distinct_and_of_one_kind(method: str) -> None:
    grid: list[Any] = ADAPTIVE_GRIDS[method](CONTEXT)
    assert 5 <= len(set(grid)) == len(grid) <= 19
    for optimizer in grid:
        assert type(optimizer) is METHODS[method]
        assert optimizer.noise_multiplier == 1.5  # the method's, not the tuned DP-SGD's
        assert optimizer.clip_norm == 0.5
        assert getattr(optimizer, "delay", 2) == 2
        assert getattr(optimizer, "expected_batch_size", 8.0) == 8.0


@pytest.mark.parametrize("method", ADAPTIVE_GRIDS)
def test_the_middle_of_each_grid_runs(method: str) -> None:
    grid = ADAPTIVE_GRIDS[method](CONTEXT)
    result = run(grid[len(grid) // 2], small_problem(), sampling=Poisson(0.1), steps=9, rng=0)
    assert result.steps == 9


def test_what_is_fixed_before_the_search_is_kept() -> None:
    grid: list[Any] = ADAPTIVE_GRIDS["dp2-rmsprop-debiased"](
        replace(CONTEXT, settings={"clamp": "ema"})
    )
    assert {optimizer.clamp for optimizer in grid} == {"ema"}


@pytest.mark.parametrize(
    ("method", "change", "message"),
    [
        ("dp-adam", {"base": None}, "base=None: this grid is built around a tuned DP-SGD"),
        ("dp2-adam", {"phases": None}, "phases=None"),
        ("dp2-rmsprop-noise-aware", {"expected_batch_size": None}, "expected_batch_size=None"),
        ("dp-rmsprop-noise-aware", {"expected_batch_size": None}, "expected_batch_size=None"),
        ("dp2-rmsprop-debiased", {"expected_batch_size": None}, "expected_batch_size=None"),
        ("dp2-rmsprop-extra-noise", {"phases": Phases(2, 3)}, "both phase lengths must be equal"),
    ],
)
def test_missing_context(method: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ADAPTIVE_GRIDS[method](replace(CONTEXT, **change))
