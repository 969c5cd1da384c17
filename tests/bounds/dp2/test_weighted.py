"""Theorem W: by hand, and linear where the schedule's own bound is exponential."""

import numpy as np
import pytest

from bounds.dp2.weighted import APRIORI, W
from tests.bounds.dp2.convex_runs import modes, replayed

GIVEN = {
    "steps": 600,
    "dimension": 10,
    "side": np.full(10, 2.0),
    "metric_spread": np.full(10, 0.5),
    "learning_rate": 1.0,
    "decay": 0.5,
    "gradient_bound": 1.0,
    "noise_std": 1 / 32,
    "preconditioned_noise_std": 2 / 32,
    "preconditioned_gradient_moment": 2.0,
    "preconditioner_norm": 8.0,
}


def by_hand(delay: int) -> float:
    steps = np.arange(600)
    mode = modes(600, delay)
    sizes = 0.5 ** (steps // delay) / np.sqrt(steps + 1)
    cycles = (np.diff(mode) == 1).sum()
    variation = 10 * 4.0 * (1 + 0.5 * cycles)
    moments = np.where(mode == 1, 2.0 + 8 / 16**2, 1.0 + 10 / 32**2)
    return float((variation + (sizes**2 * moments).sum()) / (2 * sizes.sum()))


@pytest.mark.parametrize("delay", [20, 30, 60, 100, 150, 200, 300, 600])
def test_by_hand(delay):
    assert APRIORI.evaluate(delay=delay, **GIVEN) == pytest.approx(by_hand(delay), rel=1e-12)


def test_more_phases_cost_linearly_not_exponentially():
    """With twice the phases the bound is about twice as large; 2**K would be out of sight."""
    few, many = (APRIORI.evaluate(delay=delay, **GIVEN) for delay in (60, 30))
    assert many < 3 * few
    assert 100 * many < 2.0**19


@pytest.mark.parametrize("id", ["kept"])
def test_assumptions_are_needed(id):
    assert not replayed(W.without_assumption(id)).ok


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="learning_rate"):
        APRIORI.evaluate(delay=60, **{**GIVEN, "learning_rate": 0.0})
