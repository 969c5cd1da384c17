"""The curve: composition, groups, conversion; and its approximate version."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from accountants.tcdp.curve import ApproximateTruncatedCdp, TruncatedCdp
from tests.tcdp import checks, truth


def bound(rho: float, order: object, epsilon: object) -> mpmath.mpf:
    a = mpmath.mpf(order)
    return (a - 1) * (rho * a - epsilon) - mpmath.log(a) + (a - 1) * mpmath.log(1 - 1 / a)


def best_log_delta(rho: float, omega: float, epsilon: float) -> mpmath.mpf:
    """Ternary search over the order with 50 digits, independent of the stationary equation."""
    with mpmath.workdps(50):
        low, high = mpmath.mpf(10) ** -12, mpmath.mpf(min(omega - 1, 1e12))
        low, high = mpmath.log(low), mpmath.log(high)
        for _ in range(220):
            one, two = low + (high - low) / 3, high - (high - low) / 3
            if bound(rho, 1 + mpmath.exp(one), epsilon) < bound(rho, 1 + mpmath.exp(two), epsilon):
                high = two
            else:
                low = one
        return bound(rho, 1 + mpmath.exp(high), epsilon)


@pytest.mark.parametrize("rho", [1e-6, 0.02, 1.5])
@pytest.mark.parametrize("omega", [1.5, 12.0, math.inf])
@pytest.mark.parametrize("epsilon", [0.4, 3.0, 40.0])
def test_delta_is_the_best_order_rounded_up(rho: float, omega: float, epsilon: float) -> None:
    true = float(best_log_delta(rho, omega, epsilon))
    found = TruncatedCdp(rho, omega).log_delta(epsilon)
    variation = 0.5 * math.log(min(rho / 2, -math.expm1(-rho)))
    assert found == pytest.approx(min(true, variation), rel=1e-12, abs=1e-12)
    assert found >= min(true, variation) * (1 + 1e-15)


@pytest.mark.parametrize("rho", [1e-9, 1e-3, 0.5, 30.0, 1e4])
@pytest.mark.parametrize("omega", [1.01, 4.0, math.inf])
@pytest.mark.parametrize("delta", [1e-250, 1e-8, 0.2])
def test_epsilon_and_delta_are_inverse(rho: float, omega: float, delta: float) -> None:
    curve = TruncatedCdp(rho, omega)
    epsilon = curve.epsilon(delta)
    assert curve.delta(epsilon) <= delta * (1 + 1e-11)
    if epsilon > 0:
        assert curve.delta(epsilon * (1 - 1e-9)) > delta


def test_conversion_is_above_exact_values() -> None:
    checks.check_conversion(lambda curve, delta: curve.epsilon(delta))


def test_no_order_of_a_fine_grid_does_better() -> None:
    rho, omega, delta = 0.03, 30.0, 1e-7
    a = np.linspace(1.0001, omega, 400_000)
    grid = rho * a + np.log1p(-1 / a) - (math.log(delta) + np.log(a)) / (a - 1)
    assert TruncatedCdp(rho, omega).epsilon(delta) <= grid.min() + 1e-12


def test_gaussian_release_loses_nothing() -> None:
    checks.check_units(TruncatedCdp.from_gaussian)
    assert TruncatedCdp.from_gaussian(0.0).epsilon(0.5) == math.inf
    assert TruncatedCdp.from_gaussian(math.inf).epsilon(0.0) == 0.0


def test_pure_privacy() -> None:
    """Randomised response at ε = 0.7 obeys the curve at all orders."""
    e = 0.7
    p = np.array([math.exp(e), 1.0]) / (1 + math.exp(e))
    for a in (1.1, 2.0, 9.0, 80.0):
        divergence = math.log(np.sum(p**a * p[::-1] ** (1 - a))) / (a - 1)
        assert divergence <= TruncatedCdp.from_pure(e).divergence(a)


def test_composition() -> None:
    one, two = TruncatedCdp(0.1, 9.0), TruncatedCdp(0.2, 7.0)
    both = one.compose(two)
    assert both.omega == 7.0
    assert 0.30000000000000004 <= both.rho < 0.3 * (1 + 1e-14)
    thrice = one.repeated(3)
    assert thrice.rho >= 3 * 0.1
    assert thrice.rho == pytest.approx(0.3, rel=1e-14)
    assert one.repeated(1) == one
    assert one.repeated(0) == TruncatedCdp(0.0)
    assert one.repeated(0).epsilon(0.0) == 0.0
    assert TruncatedCdp(0.1).repeated(7).delta(1.0) <= one.repeated(7).delta(1.0)


def test_groups() -> None:
    checks.check_group(TruncatedCdp)
    with pytest.raises(ValueError, match=r"size=5: must be below omega=5\.0"):
        TruncatedCdp(0.1, 5.0).group(5)
    assert TruncatedCdp(0.1).group(4).omega == math.inf
    assert TruncatedCdp(0.1, 5.0).group(1) == TruncatedCdp(0.1, 5.0)


def test_group_privacy_through_a_middle_distribution() -> None:
    """Two hops between mixtures that are no Gaussians: Rényi divergences of both hops and of
    the whole, compared with what the curve of one hop states for a group of 2."""
    first = ([0.5, 0.5], [0.0, 0.3])
    middle = ([0.3, 0.7], [0.0, 0.3])
    last = ([0.2, 0.8], [-0.1, 0.4])
    orders = np.linspace(1.05, 10, 12).tolist()
    hops = (first, middle), (middle, first), (middle, last), (last, middle)
    rho = max(truth.renyi(p, q, a) / a for p, q in hops for a in orders)
    group = TruncatedCdp(rho, 10.0).group(2)
    for a in (1.2, 2.0, 5.0):
        assert truth.renyi(first, last, a) <= group.divergence(a)
        assert truth.renyi(last, first, a) <= group.divergence(a)


def test_extremes() -> None:
    assert TruncatedCdp(math.inf).delta(5.0) == 1.0
    assert TruncatedCdp(math.inf).epsilon(0.5) == math.inf
    assert TruncatedCdp(1.0).delta(math.inf) == 0.0
    assert TruncatedCdp(1.0).epsilon(0.0) == math.inf
    assert TruncatedCdp(1.0).epsilon(1.0) == 0.0
    assert 0 < TruncatedCdp(1e-4).delta(1000.0) < 1e-320  # below the smallest float, not 0
    assert TruncatedCdp(0.5, 3.0).divergence([2.0, 3.0, 3.1]).tolist() == [
        np.nextafter(1.0, 2),
        np.nextafter(1.5, 2),
        math.inf,
    ]
    assert TruncatedCdp(0.5, 3.0).to_json() == {"rho": 0.5, "omega": 3.0}
    assert TruncatedCdp(0.5).to_json() == {"rho": 0.5, "omega": "inf"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TruncatedCdp(-1.0), r"rho=-1\.0: must be a number >= 0"),
        (lambda: TruncatedCdp(math.nan), "rho=nan"),
        (lambda: TruncatedCdp(1.0, 1.0), r"omega=1\.0: must be an order > 1"),
        (lambda: TruncatedCdp(1.0).delta(-1.0), r"target_epsilon=-1\.0"),
        (lambda: TruncatedCdp(1.0).epsilon(1.5), r"target_delta=1\.5"),
        (lambda: TruncatedCdp(1.0).group(0), "size=0"),
        (lambda: TruncatedCdp(1.0).repeated(-1), "count=-1"),
        (lambda: TruncatedCdp(1.0).divergence(1.0), r"order=1\.0: must be orders > 1"),
        (lambda: ApproximateTruncatedCdp(TruncatedCdp(1.0), 1.5), r"failure_probability=1\.5"),
    ],
)
def test_bad_values_are_named(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


def test_failures_are_carried() -> None:
    checks.check_failure_is_carried(lambda c, d, e: ApproximateTruncatedCdp(c, d).delta(e))


def test_failures_compose_like_independent_events() -> None:
    curve = TruncatedCdp(0.1, 5.0)
    one, two = ApproximateTruncatedCdp(curve, 1e-3), ApproximateTruncatedCdp(curve, 2e-3)
    assert one.compose(two).failure_probability == pytest.approx(2.998e-3, rel=1e-13)
    assert one.compose(two).failure_probability >= 2.998e-3
    assert one.repeated(1000).failure_probability == pytest.approx(1 - 0.999**1000, rel=1e-13)
    assert one.repeated(0).failure_probability == 0.0
    assert one.repeated(1) == one
    assert one.compose(two).curve == curve.compose(curve)
    assert ApproximateTruncatedCdp(curve, 1.0).compose(one).failure_probability == 1.0
    assert ApproximateTruncatedCdp(curve, 1.0).repeated(3).delta(1.0) == 1.0
    tiny = ApproximateTruncatedCdp(curve, 1e-30).repeated(10**6)
    assert tiny.failure_probability == pytest.approx(1e-24, rel=1e-12)


def test_failures_in_epsilon() -> None:
    both = ApproximateTruncatedCdp(TruncatedCdp(0.1), 1e-5)
    assert both.epsilon(1e-5) == math.inf
    assert both.epsilon(9e-6) == math.inf
    assert both.epsilon(1.0) == 0.0
    epsilon = both.epsilon(2e-5)
    assert both.delta(epsilon) <= 2e-5 * (1 + 1e-12)
    assert epsilon == pytest.approx(TruncatedCdp(0.1).epsilon(1e-5 / (1 - 1e-5)), rel=1e-12)
    assert ApproximateTruncatedCdp(TruncatedCdp(0.1)).epsilon(1e-5) == TruncatedCdp(0.1).epsilon(
        1e-5
    )
    assert not hasattr(both, "group")  # no theorem


def test_conversion_of_a_conditional_statement() -> None:
    """δ0 = 1e-5 and δ' = 1e-6 give 1.099999e-5, not 3.8e-5 and not 1.1e-5."""
    curve = TruncatedCdp(0.1)
    epsilon = curve.epsilon(1e-6)
    value = ApproximateTruncatedCdp(curve, 1e-5).delta(epsilon)
    assert value == pytest.approx(1.099999e-5, rel=1e-9)
