"""An ε just below the largest loss of one direction, whose own δ is next to nothing there."""

from __future__ import annotations

import math

import dp_accounting as dp
import pytest

from accountants.exact.accountant import ExactAccountant

SAMPLED = dp.PoissonSampledDpEvent(256 / 60_000, dp.GaussianDpEvent(0.7728083354823518))
STEPS = 468
#: Adding a record to a run cannot give a larger loss than this: it was left out of every batch.
LARGEST = -STEPS * math.log1p(-256 / 60_000)


@pytest.mark.slow  # three seconds an answer
def test_delta_is_that_of_the_other_direction():
    below = 1e-3
    accountant = ExactAccountant()
    accountant.compose(dp.SelfComposedDpEvent(SAMPLED, STEPS))
    near, beyond = accountant.get_delta(LARGEST - below), accountant.get_delta(LARGEST + below)
    assert 0 < beyond < near < beyond * 1.05


def test_calibration_to_such_an_epsilon():
    import accountants

    made = accountants.calibrate_noise_multiplier(
        lambda sigma: dp.SelfComposedDpEvent(
            dp.PoissonSampledDpEvent(256 / 60_000, dp.GaussianDpEvent(sigma)), STEPS
        ),
        target_epsilon=2.0,
        target_delta=60_000**-1.1,
    )
    assert 1.98 < made.epsilon.upper <= 2
