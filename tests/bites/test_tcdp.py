"""Truncated privacy that is known to be wrong, and the checks that catch it.

Every check used here passes on the real thing (tests/tcdp, and the last test below).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import gaussian_dp
from accountants import trade_off as trade_off_module
from accountants.copies import CopyLaw
from accountants.tcdp import (
    advanced,
    agnostic,
    amplification,
    families,
    sampled_gaussian,
    slopes,
)
from accountants.tcdp.accountant import TruncatedCdpAccountant
from accountants.tcdp.curve import ApproximateTruncatedCdp, TruncatedCdp
from accountants.walk import Release
from tests.tcdp import checks
from tests.tcdp import test_advanced as advanced_tests
from tests.tcdp import test_amplification as amplification_tests
from tests.tcdp import test_curve as curve_tests
from tests.tcdp import test_gaussian_dp as gaussian_dp_tests
from tests.tcdp import test_trade_off as trade_off_tests

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE


class GroupKeepsOmega(TruncatedCdp):
    """Orders not divided by the size of the group."""

    def group(self, size: int) -> TruncatedCdp:
        return TruncatedCdp(super().group(size).rho, self.omega)


class GroupIsLinear(TruncatedCdp):
    """k rho in place of k^2 rho."""

    def group(self, size: int) -> TruncatedCdp:
        right = super().group(size)
        return TruncatedCdp(right.rho / size, right.omega)


def scaled(
    factor: float, longer: float = 1.0, failure: float = 1.0
) -> Callable[..., ApproximateTruncatedCdp]:
    """The closed form with its parts multiplied."""

    def closed(base: TruncatedCdp, **sizes: int) -> ApproximateTruncatedCdp:
        right = amplification.with_replacement_closed(base, **sizes)
        curve = TruncatedCdp(right.curve.rho * factor, right.curve.omega * longer)
        return ApproximateTruncatedCdp(curve, right.failure_probability * failure)

    return closed


def rescaled(factor: float, longer: float = 1.0) -> Callable[..., TruncatedCdp]:
    """The published theorem with its parts multiplied."""

    def published(base: TruncatedCdp, **sizes: int) -> TruncatedCdp:
        right = amplification.without_replacement_published(base, **sizes)
        return TruncatedCdp(right.rho * factor, right.omega * longer)

    return published


def without_second_bracket(law: CopyLaw, gap: float, order: Any) -> Any:
    """The integral for one of the two orders of the data sets only."""
    return sampled_gaussian.log_integrals(law, gap, order) - math.log(2) * (np.asarray(order) < 2)


def at_order_one(law: CopyLaw, gap: float, _: Any) -> Any:
    """I(1) in place of max(I(1), I(omega))."""
    return np.exp(sampled_gaussian.log_integrals(law, gap, 1.0))


def past_omega(curve: TruncatedCdp, delta: float) -> float:
    """Conversion with orders that the curve does not cover."""
    return TruncatedCdp(curve.rho).epsilon(delta)


def half_slope(curve: TruncatedCdp, delta: float) -> float:
    """rho for adding a record where one is replaced, in Gaussian form."""
    return TruncatedCdp(curve.rho / 4, curve.omega).epsilon(delta)


BROKEN: tuple[tuple[str, Callable[[Any], None], Any], ...] = (
    ("omega not divided by k", checks.check_group, GroupKeepsOmega),
    ("rho not multiplied by k^2", checks.check_group, GroupIsLinear),
    (
        "failure left out of δ",
        checks.check_failure_is_carried,
        lambda curve, _, epsilon: curve.delta(epsilon),
    ),
    (
        "conversion of a smoothed statement",
        checks.check_failure_is_carried,
        lambda curve, failure, e: curve.delta(e) + failure * (1 + math.exp(min(e, 700))),
    ),
    ("constant 5 in place of 11", checks.check_closed, scaled(5 / 11)),
    ("constant 11 halved, failure doubled", checks.check_closed, scaled(0.4, failure=2)),
    ("no failure probability", checks.check_closed, scaled(1.0, failure=0.0)),
    ("closed form far beyond its orders", checks.check_closed, scaled(1.0, longer=20.0)),
    ("constant 1 in place of 13", checks.check_published, rescaled(1 / 13)),
    ("published form of twice the orders", checks.check_published, rescaled(1.0, longer=2.0)),
    ("one order of the data sets", checks.check_log_integrals, without_second_bracket),
    (
        "quadrature rounded down",
        checks.check_log_integrals,
        lambda law, gap, a: sampled_gaussian.log_integrals(law, gap, a) - 1e-12,
    ),
    ("slope at order 1 only", checks.check_rho, at_order_one),
    ("orders beyond omega", checks.check_conversion, past_omega),
    ("rho of half the shift", checks.check_conversion, half_slope),
    (
        "replacing a record moves the sum by 1",
        checks.check_units,
        lambda sigma, _: TruncatedCdp.from_gaussian(sigma, ADD_REMOVE),
    ),
)


@pytest.mark.parametrize(("check", "broken"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_broken_variant_is_caught(check: Callable[[Any], None], broken: Any) -> None:
    with pytest.raises(AssertionError):
        check(broken)


def test_dropped_tail_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies cut at one, and nothing carried for it."""
    right = families.copy_law

    def cut(release: Release, tail: float) -> CopyLaw | None:
        law = right(release, tail)
        if law is None or law.largest == 1:
            return law
        p = np.array(law.probabilities[:2])
        return CopyLaw(tuple((p / p.sum()).tolist()), 0.0)

    monkeypatch.setattr(families, "copy_law", cut)
    with pytest.raises(AssertionError):
        checks.check_accountant(TruncatedCdpAccountant)


def test_wrong_relation_is_caught() -> None:
    """Replacing a record accounted like adding one."""
    with pytest.raises(AssertionError):
        checks.check_accountant(lambda _: TruncatedCdpAccountant(ADD_REMOVE))


def test_missing_terms_of_the_sum_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mechanism-agnostic sum with its first term only, and with moments of one factor less."""
    right = agnostic.log_moments

    def first_only(law: CopyLaw, base: TruncatedCdp, largest: int) -> Any:
        moments = right(law, base, largest)
        moments[3:] = -np.inf
        return moments

    def less_eta(law: CopyLaw, base: TruncatedCdp, largest: int) -> Any:
        j = np.maximum(np.arange(largest + 1), 1)
        return right(law, base, largest) + (j - 1) * math.log(law.present)

    for broken in (first_only, less_eta):
        monkeypatch.setattr(agnostic, "log_moments", broken)
        with pytest.raises(AssertionError):
            amplification_tests.test_the_sum_by_mpmath()
    monkeypatch.setattr(agnostic, "log_moments", less_eta)
    with pytest.raises(AssertionError):
        amplification_tests.test_real_orders()


def test_slope_of_the_wrong_piece_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ratio at the left end of each piece, which later orders of it exceed."""
    checks.check_slope(slopes.best_slope)
    monkeypatch.setattr(
        slopes, "chord_slope", lambda start, end, first, last: first / (start * (start - 1))
    )
    with pytest.raises(AssertionError):
        checks.check_slope(slopes.best_slope)


def test_wrong_order_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversion that stops at half the best order loses what the optimum gives."""
    from accountants.tcdp import orders

    right = orders.order_for_epsilon
    monkeypatch.setattr(orders, "order_for_epsilon", lambda *at: right(*at) / 2)
    with pytest.raises(AssertionError):
        curve_tests.test_no_order_of_a_fine_grid_does_better()


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_swapped_adjacency_is_caught(direction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = trade_off_module._directed
    other = {"remove": "add", "add": "remove"}
    monkeypatch.setattr(
        trade_off_module, "_directed", lambda accountant, d: right(accountant, other[d])
    )
    with pytest.raises(AssertionError):
        trade_off_tests.test_both_orders_of_an_asymmetric_relation(direction)


def test_upper_end_without_the_gaps_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines at the evaluated points only are no upper end."""
    monkeypatch.setattr(trade_off_module, "_below", lambda profile: (profile.x, profile.lower))
    with pytest.raises(AssertionError):
        trade_off_tests.test_gaussian_releases(REPLACE, 3)


def test_one_pair_claimed_for_many_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trade_off_module, "_is_one_pair", lambda _: True)
    with pytest.raises(AssertionError):
        trade_off_tests.test_one_point_by_hand()


def test_an_estimate_that_inherits_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Inherits(gaussian_dp.GaussianDp):
        """An estimate that can be handed out as a guarantee."""

    monkeypatch.setattr(gaussian_dp_tests, "GaussianDpEstimate", Inherits)
    with pytest.raises(AssertionError):
        gaussian_dp_tests.test_an_estimate_has_no_name_of_a_guarantee()


def test_composition_without_failures_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advanced, "_log_survival", lambda _: 0.0)
    with pytest.raises(AssertionError):
        advanced_tests.test_optimal_is_the_published_formula(7, 1.0)


def test_the_real_ones_pass() -> None:
    real: dict[Any, Any] = {
        checks.check_group: TruncatedCdp,
        checks.check_failure_is_carried: lambda c, d, e: ApproximateTruncatedCdp(c, d).delta(e),
        checks.check_closed: amplification.with_replacement_closed,
        checks.check_published: amplification.without_replacement_published,
        checks.check_log_integrals: sampled_gaussian.log_integrals,
        checks.check_rho: sampled_gaussian.rho_upper,
        checks.check_conversion: lambda curve, delta: curve.epsilon(delta),
        checks.check_units: TruncatedCdp.from_gaussian,
    }
    assert {check for _, check, _ in BROKEN} == set(real)
    for check, right in real.items():
        check(right)
