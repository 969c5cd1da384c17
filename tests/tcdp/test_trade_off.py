"""Trade-off curves: both ends around the truth, in both directions, and what is not claimed."""

from __future__ import annotations

import math
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting.privacy_accountant import NeighboringRelation
from scipy import optimize, special

from accountants import Bracket, ExactAccountant
from accountants.gaussian_dp import GaussianDp
from accountants.tcdp.accountant import TruncatedCdpAccountant
from accountants.trade_off import trade_off

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
ALPHA = np.array([0.0, 1e-9, 1e-4, 0.01, 0.05, 0.2, 0.5, 0.8, 0.99, 1.0])


@pytest.mark.parametrize("relation", list(NeighboringRelation), ids=lambda r: r.name)
@pytest.mark.parametrize("points", [1, 3, 33])
def test_gaussian_releases(relation: NeighboringRelation, points: int) -> None:
    accountant = ExactAccountant(relation).compose(dp_accounting.GaussianDpEvent(2.0), 4)
    top = accountant.get_epsilon(1e-12)
    curve = trade_off(accountant, ALPHA, np.linspace(0, top, points).tolist())
    true = GaussianDp.from_gaussian(2.0, relation, 4).trade_off(ALPHA)
    assert curve.one_pair
    lower, upper = np.array(curve.lower), np.array(curve.upper)
    assert np.all(lower <= true + 1e-11)
    assert np.all(true <= upper + 1e-11)
    if points == 33:
        assert np.max(upper - lower) < 0.025


def sampled_truth(q: float, sigma: float, null_is_mixture: bool) -> np.ndarray:
    """One Poisson-sampled release: the likelihood ratio is monotone, tests are thresholds."""

    def errors(x: float) -> tuple[float, float]:
        plain = special.ndtr(-x)
        mixed = (1 - q) * plain + q * special.ndtr(-(x - 1 / sigma))
        # Reject for large x if the mixture is the alternative, for small x otherwise.
        return (1 - mixed, plain) if null_is_mixture else (plain, 1 - mixed)

    def value(a: float) -> float:
        if a in (0.0, 1.0):
            return 1 - a
        return errors(optimize.brentq(lambda x: errors(x)[0] - a, -12, 12 + 1 / sigma))[1]

    return np.array([value(a) for a in ALPHA.tolist()])


@pytest.mark.parametrize("direction", ["remove", "add", "both"])
def test_both_orders_of_an_asymmetric_relation(direction: str) -> None:
    """ "remove" draws from the data set with the record; its null hypothesis is the other one."""
    q, sigma = 0.3, 0.7
    step = dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(sigma))
    accountant = ExactAccountant(ADD_REMOVE, direction).compose(step)
    remove, add = sampled_truth(q, sigma, False), sampled_truth(q, sigma, True)
    true = {"remove": remove, "add": add, "both": np.minimum(remove, add)}[direction]
    curve = trade_off(accountant, ALPHA, np.linspace(0, 4, 200).tolist())
    lower, upper = np.array(curve.lower), np.array(curve.upper)
    assert np.all(lower <= true + 1e-9)
    assert np.all(true <= upper + 1e-9)
    assert np.max(upper - lower) < 1e-3
    assert np.max(np.abs(remove - add)) > 0.05  # the orders do differ here


def test_fixed_size_claims_less_above() -> None:
    """Under REPLACE_ONE the lower ends of δ may come from different pairs."""
    step = dp_accounting.SampledWithoutReplacementDpEvent(
        1000, 10, dp_accounting.GaussianDpEvent(1.0)
    )
    replaced = ExactAccountant(REPLACE).compose(step, 1000)
    curve = trade_off(replaced, ALPHA, [0.0, 1.0, 2.0])
    assert not curve.one_pair
    lower, upper = np.array(curve.lower), np.array(curve.upper)
    # Poisson at q with replaced records is one data-set pair of another mechanism, but adding
    # or removing a record is exact and the same pair: its curve lies between the ends.
    exact = trade_off(
        ExactAccountant(ADD_REMOVE).compose(step, 1000), ALPHA, np.linspace(0, 6, 25).tolist()
    )
    assert exact.one_pair
    assert np.all(lower <= np.array(exact.upper) + 1e-12)
    assert np.all(np.array(exact.lower) <= upper + 1e-12)
    assert np.all(upper <= 1 - ALPHA + 1e-15)
    assert upper[5] < 1 - ALPHA[5] - 0.1


class Line(dp_accounting.PrivacyAccountant):  # type: ignore[misc]
    """δ known at ε = 0 only: total variation 0.3, from a pair of its own."""

    def __init__(self) -> None:
        super().__init__(REPLACE)

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> None:
        return None

    def delta_bracket(self, _: float) -> Bracket:
        return Bracket(0.3, 0.3)

    def get_epsilon(self, target_delta: float) -> float:
        return 0.0

    def get_delta(self, target_epsilon: float) -> float:
        return 0.3


def test_one_point_by_hand() -> None:
    """Two pairs of total variation 0.3 are the worst: one reveals with probability 0.3 under
    the null, one under the alternative.  Some pair does at least as well as the better of two
    lines; every pair at most as well as 0.7 - alpha."""
    accountant = Line()
    event = dp_accounting.SampledWithoutReplacementDpEvent(
        10, 2, dp_accounting.GaussianDpEvent(1.0)
    )
    accountant._ledger.compose(event, 1)
    curve = trade_off(accountant, ALPHA, [0.0])
    assert not curve.one_pair
    assert curve.lower == pytest.approx(np.maximum(0.7 - ALPHA, 0), abs=1e-14)
    flat, steep = 0.7 * (1 - ALPHA), 1 - ALPHA / 0.7
    assert curve.upper == pytest.approx(np.maximum(flat, np.maximum(steep, 0)), abs=1e-14)


def test_without_lower_ends_nothing_is_claimed_above() -> None:
    accountant = TruncatedCdpAccountant(REPLACE).compose(dp_accounting.GaussianDpEvent(2.0), 4)
    curve = trade_off(accountant, ALPHA)
    true = GaussianDp.from_gaussian(2.0, REPLACE, 4).trade_off(ALPHA)
    assert np.all(np.array(curve.lower) <= true + 1e-11)
    assert curve.lower[4] > 0.2 * true[4]
    assert curve.upper == pytest.approx(1 - ALPHA)
    assert not curve.one_pair


def test_ends() -> None:
    nothing = trade_off(ExactAccountant(), ALPHA)
    assert nothing.lower == pytest.approx(1 - ALPHA, abs=1e-14)
    everything = trade_off(ExactAccountant().compose(dp_accounting.NonPrivateDpEvent()), ALPHA)
    assert everything.lower == (0.0,) * ALPHA.size
    assert everything.upper == pytest.approx(np.zeros(ALPHA.size), abs=1e-14)


@pytest.mark.parametrize(
    ("alpha", "epsilons", "message"),
    [
        ([1.5], None, r"alpha=\[1\.5\]: must be numbers in \[0, 1\]"),
        ([math.nan], None, "alpha"),
        ([0.5], [], r"epsilons=\[\]: must be a non-empty ascending sequence"),
        ([0.5], [1.0, 1.0], "ascending"),
        ([0.5], [701.0], r"must have an ε <= 700"),
    ],
)
def test_bad_values_are_named(alpha: list[float], epsilons: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trade_off(ExactAccountant(), alpha, epsilons)
