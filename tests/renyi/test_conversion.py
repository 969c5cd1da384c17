"""From a curve to (ε, δ): the formula, the search over orders, bad moments."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from accountants.renyi import conversion

ORDERS = np.array([1.5, 2.0, 4.0, 8.0, 32.0])


@pytest.mark.parametrize(("a", "epsilon"), [(1.01, 0.1), (1.5, 2.0), (2.0, 1.0), (30.0, 0.3)])
def test_the_constant_is_the_maximum_over_losses(a: float, epsilon: float) -> None:
    """sup over l of (1 - e^{ε-l}) e^{-(a-1)(l-ε)} is (1/a) (1 - 1/a)^(a-1), by a solver."""
    top = optimize.minimize_scalar(
        lambda x: math.expm1(-x) * math.exp(-(a - 1) * x), bounds=(0, 60 / a + 5), method="bounded"
    )
    value = conversion.log_deltas(np.array([a]), np.array([epsilon]), epsilon)[0]
    # with D = ε the formula is the constant, unless the distance itself is smaller
    distance = conversion.log_variation(np.array([epsilon]))[0]
    assert value == pytest.approx(min(math.log(-top.fun), distance), rel=1e-7)


@pytest.mark.parametrize("rho", [1e-4, 0.02, 1.0, 500.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-100])
def test_the_search_finds_the_infimum(rho: float, delta: float) -> None:
    """Against 200,000 orders, for D = rho * order."""
    value, order = conversion.best_order(
        lambda orders: rho * orders,
        lambda orders, d: conversion.epsilons(orders, d, math.log(delta)),
    )
    b = np.geomspace(1e-6, 1e8, 200_000)
    dense = conversion.epsilons(1 + b, rho * (1 + b), math.log(delta)).min()
    assert value <= dense * (1 + 1e-9)
    assert value == conversion.epsilons(np.array([order]), np.array([rho * order]), math.log(delta))


@pytest.mark.parametrize("rho", [1e-4, 0.02, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 3.0, 200.0])
def test_the_search_for_delta_finds_the_infimum(rho: float, epsilon: float) -> None:
    value, _ = conversion.best_order(
        lambda orders: rho * orders,
        lambda orders, d: conversion.log_deltas(orders, d, epsilon),
    )
    b = np.geomspace(1e-6, 1e8, 200_000)
    dense = conversion.log_deltas(1 + b, rho * (1 + b), epsilon).min()
    assert value <= dense + 1e-9 * abs(dense)


@given(
    st.lists(st.floats(1e-8, 50.0), min_size=5, max_size=5),
    st.floats(-600.0, -0.01),
    st.floats(0, 5),
)
def test_epsilon_and_delta_are_inverse(
    divergence: list[float], log_delta: float, more: float
) -> None:
    d = np.array(divergence)
    epsilon = conversion.epsilons(ORDERS, d, log_delta)
    assert (epsilon >= 0).all()
    assert (conversion.epsilons(ORDERS, d, log_delta - more) >= epsilon).all()
    assert (conversion.epsilons(ORDERS, d * 1.1, log_delta) >= epsilon).all()
    for order, value, e in zip(ORDERS, d, epsilon, strict=True):
        back = conversion.log_deltas(np.array([order]), np.array([value]), float(e))[0]
        assert back <= log_delta + 1e-12 * (abs(log_delta) + order * (value + e) + 10)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1e-3, -math.inf])
def test_a_bad_moment_is_discarded_and_never_zero(bad: float) -> None:
    d = np.array([0.1, bad, 0.4, 0.8, 3.2])
    good = np.delete(d, 1)
    assert conversion.epsilons(ORDERS, d, math.log(1e-5))[1] == math.inf
    assert conversion.log_deltas(ORDERS, d, 1.0)[1] == 0.0
    kept = conversion.epsilons(np.delete(ORDERS, 1), good, math.log(1e-5))
    assert conversion.epsilons(ORDERS, d, math.log(1e-5)).min() == kept.min()


@settings(max_examples=50)
@given(st.floats(1e-12, 30.0))
def test_the_distance_bounds_that_of_gaussians(gap: float) -> None:
    """TV of N(gap) and N(0) is erf(gap/sqrt 8); the divergence of order one is gap^2/2."""
    bound = math.exp(conversion.log_variation(np.array([gap * gap / 2]))[0])
    assert bound >= math.erf(gap / math.sqrt(8)) * (1 - 1e-12)
    assert bound <= min(1.0, gap / 2 * (1 + 1e-12))


def test_an_order_next_to_one_gives_no_false_zero() -> None:
    orders = np.array([1 + 1e-8, 2.0])
    d = np.array([1e-3, 2e-3])
    assert conversion.epsilons(orders, d, math.log(1e-9))[0] > 1e6
    assert conversion.log_deltas(orders, d, 1.0).min() < -3
