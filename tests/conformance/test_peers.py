"""Beside dp_accounting's own accountants under REPLACE_ONE: where they agree, and the unit."""

from __future__ import annotations

import math

import dp_accounting
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant

from accountants import ExactAccountant
from accountants.renyi.accountant import RenyiAccountant
from tests.accountants.checks import gaussian, run

REPLACE = NeighboringRelation.REPLACE_ONE
ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
GRID = 1e-4  # dp_accounting's default spacing of losses


@pytest.mark.parametrize(
    ("q", "sigma", "steps", "delta"),
    [
        (0.01, 1.0, 1000, 1e-6),
        (256 / 50000, 0.8, 2000, 1e-6),
        (0.05, 2.0, 500, 1e-5),
        (0.3, 4.0, 50, 1e-8),
        (1.0, 3.0, 10, 1e-5),
    ],
)
def test_poisson_replace_is_the_pld_within_its_grid(
    q: float, sigma: float, steps: int, delta: float
) -> None:
    """Two engines, one number: theirs is above ours by what its grid costs and no more.

    Rounding each loss to a grid of step h, in a way that keeps the mean of exp(loss), adds at
    most h^2/4 to its variance; the resulting move of epsilon is far below sqrt(T) h.
    """
    event = (
        run(q, sigma, steps) if q < 1 else dp_accounting.SelfComposedDpEvent(gaussian(sigma), steps)
    )
    ours = ExactAccountant(REPLACE).compose(event).epsilon_bracket(delta)
    theirs = PLDAccountant(REPLACE).compose(event).get_epsilon(delta)
    assert ours.lower * (1 - 1e-6) <= theirs <= ours.upper + math.sqrt(steps) * GRID
    assert ours.upper <= ours.lower * (1 + 1e-9)


def test_the_mixture_of_dp_accounting_is_adding_and_removing() -> None:
    """Their mixture of Gaussians has shifts 2k with replacement; ours is this pair."""
    n, m, sigma, steps, delta = 1000, 10, 4.0, 1000, 1e-6
    weights = [math.comb(m, k) * (1 / n) ** k * (1 - 1 / n) ** (m - k) for k in range(m + 1)]
    theirs = PLDAccountant(ADD_REMOVE).compose(
        dp_event.MixtureOfGaussiansDpEvent(
            sigma, [2.0 * k for k in range(m + 1)], [w / math.fsum(weights) for w in weights]
        ),
        steps,
    )
    event = dp_accounting.SampledWithReplacementDpEvent(n, m, gaussian(sigma))
    ours = ExactAccountant(ADD_REMOVE).compose(event, steps).epsilon_bracket(delta)
    assert ours.lower * (1 - 1e-6) <= theirs.get_epsilon(delta)
    assert theirs.get_epsilon(delta) <= ours.upper + math.sqrt(steps) * GRID


@pytest.mark.parametrize("steps", [1, 100])
def test_their_renyi_answer_under_replace_one_is_half_the_unit(steps: int) -> None:
    """RdpAccountant counts a replacement as a move of the sum by one clip norm, not by two.

    Its answer is that of adding or removing; with half of the noise multiplier it is ours.
    """
    sigma, delta = 1.0, 1e-5
    theirs = RdpAccountant(neighboring_relation=REPLACE).compose(gaussian(sigma), steps)
    adding = RdpAccountant(neighboring_relation=ADD_REMOVE).compose(gaussian(sigma), steps)
    assert theirs.get_epsilon(delta) == adding.get_epsilon(delta)
    truth = ExactAccountant(REPLACE).compose(gaussian(sigma), steps).epsilon_bracket(delta)
    assert theirs.get_epsilon(delta) < 0.5 * truth.lower
    halved = RdpAccountant(neighboring_relation=REPLACE).compose(gaussian(sigma / 2), steps)
    assert halved.get_epsilon(delta) >= truth.lower
    ours = RenyiAccountant(REPLACE).compose(gaussian(sigma), steps).get_epsilon(delta)
    # the grid of orders is all that differs
    assert ours <= halved.get_epsilon(delta) <= 1.02 * ours


def test_their_renyi_answer_without_replacement_is_below_an_attained_one() -> None:
    """The same unit in fixed-size batches: with the multiplier as it is, epsilon is too small."""
    n, m, sigma, steps, delta = 100, 1, 2.0, 1000, 1e-5
    event = dp_accounting.SampledWithoutReplacementDpEvent(n, m, gaussian(sigma))
    half = dp_accounting.SampledWithoutReplacementDpEvent(n, m, gaussian(sigma / 2))
    truth = ExactAccountant(REPLACE).compose(event, steps).epsilon_bracket(delta)
    theirs = RdpAccountant(neighboring_relation=REPLACE).compose(event, steps)
    assert theirs.get_epsilon(delta) < truth.lower
    sound = RdpAccountant(neighboring_relation=REPLACE).compose(half, steps)
    assert sound.get_epsilon(delta) > truth.upper
