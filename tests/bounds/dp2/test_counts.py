"""Counts of phases, updates and adaptive steps, against counting."""

import numpy as np
import pytest
from sympy import Eq, floor

from bounds.assumptions import CODE, Assumption
from bounds.dp2.counts import COUNT, RENEWAL, STEPS, phase
from bounds.dp2.symbols import mode
from bounds.symbols import t
from tests.bounds.dp2.convex_runs import modes, replayed


def test_numbers_are_those_of_counting():
    for steps in range(1, 61):
        delays = np.arange(1, 66)
        updates = COUNT.evaluate(steps=steps, delay=delays)
        adaptive = STEPS.evaluate(steps=steps, delay=delays)
        for delay, r, share in zip(delays, updates, adaptive, strict=True):
            run = modes(steps, delay)
            assert r == (np.diff(run) == 1).sum()
            assert share == run.sum()


def test_half_the_phases_are_no_bound_on_the_updates():
    # T/(2s) is below the number of updates here, and above it there.
    assert COUNT.evaluate(steps=30, delay=20) == 1 > 30 / 40
    assert COUNT.evaluate(steps=30, delay=30) == 0 < 30 / 60


@pytest.mark.parametrize("theorem", [RENEWAL, COUNT, STEPS], ids=lambda each: each.id)
def test_phases_that_start_a_step_early_are_noticed(theorem):
    """floor(t/s) in place of floor((t - 1)/s): the usual slip."""
    early = floor(phase(t + 1))
    slip = Assumption("phases", Eq(mode(t), early - 2 * floor(early / 2)), "one early", CODE)
    wrong = type(theorem)(
        **{
            **{name: getattr(theorem, name) for name in theorem.__dataclass_fields__},
            "assumptions": (slip,),
        }
    )
    assert not replayed(wrong).ok
