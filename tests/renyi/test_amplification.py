"""Amplification from a base mechanism's group curve alone."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants.copies import CopyLaw
from accountants.renyi.amplification import amplified, gaussian_group
from accountants.renyi.lines import Mixture, Order
from accountants.renyi.quadrature import divergences
from accountants.renyi.symmetric import replaced

COPIES = CopyLaw.of(256, 1 / 50000, largest=3)


def plain(a: int, law: tuple[float, ...], rho: float) -> float:
    """The sum of the statement, term by term with 30 digits, for eps_k(j) = rho k^2 j."""
    with mpmath.workdps(30):
        p = [mpmath.mpf(x) for x in law]
        eta = mpmath.fsum(p[1:])
        excess = mpmath.mpf(0)
        for j in range(2, a + 1):
            inner = mpmath.mpf(0)
            for k in range(1, len(p)):
                two = mpmath.mpf(rho) * k * k * 2
                power = (j - 1) * mpmath.mpf(rho) * k * k * j
                if j == 2:
                    term = min(4 * mpmath.expm1(two), 2 * mpmath.exp(two))
                else:
                    both = mpmath.expm1(two) + mpmath.expm1(power)
                    term = min(2 * mpmath.exp(power), 2**j * both)
                inner += p[k] * term
            excess += mpmath.binomial(a, j) * eta ** (j - 1) * inner
        return float(mpmath.log1p(excess) / (a - 1))


def test_reference_values() -> None:
    """50000 records, batches of 256, at most 3 copies, noise 8: derived references, 7 digits."""
    orders = np.array([2.0, 8.0])
    value = amplified(gaussian_group(2.0, 8.0), COPIES, orders)
    np.testing.assert_allclose(value, [6.786887e-06, 2.947804e-05], rtol=3e-7)
    attained = divergences(Mixture(COPIES.probabilities, 0.25), Order.REMOVE, orders)
    np.testing.assert_allclose(attained, [1.691240e-06, 6.778696e-06], rtol=3e-7)


@pytest.mark.parametrize(
    ("sigma", "order", "ratio"),
    [(8, 2, 4.013), (8, 4, 4.124), (8, 8, 4.349), (16, 2, 4.011), (16, 16, 4.825), (4, 6, 4.716)],
)
def test_how_loose_it_is_for_a_gaussian(sigma: float, order: float, ratio: float) -> None:
    at = np.array([float(order)])
    exact = divergences(Mixture(COPIES.probabilities, 2 / sigma), Order.REMOVE, at)
    value = amplified(gaussian_group(2.0, sigma), COPIES, at) / exact
    assert value[0] == pytest.approx(ratio, rel=5e-4)


@pytest.mark.parametrize(
    ("n", "m", "rho", "kappa", "omega", "agnostic", "exact"),
    [
        (50000, 256, 0.01, 1, 11.2, 4.513, 1.001),
        (50000, 256, 0.01, 2, 11.2, 4.573, 1.011),
        (50000, 256, 0.01, 3, 6.7, 4.278, 1.011),
        (50000, 256, 0.002, 4, 11.2, 4.530, 1.002),
        (50000, 50, 0.01, 1, 61.5, 4.708, 1.009),
        (10000, 10, 0.02, 2, 12.0, 4.139, 1.020),
    ],
)
def test_best_rho_in_units_of_rate_squared_times_rho(
    n: int, m: int, rho: float, kappa: int, omega: float, agnostic: float, exact: float
) -> None:
    copies = CopyLaw.of(m, 1 / n, largest=kappa)
    orders = np.arange(2.0, math.floor(omega) + 1)
    unit = rho * (m / (n - 1)) ** 2
    sigma = math.sqrt(2 / rho)
    value = amplified(gaussian_group(2.0, sigma), copies, orders)
    attained = divergences(Mixture(copies.probabilities, 2 / sigma), Order.REMOVE, orders)
    if (n, m) != (10000, 10):  # its end of the range was not recorded
        assert (value / orders).max() / unit == pytest.approx(agnostic, abs=6e-4)
    assert (attained / orders).max() / unit == pytest.approx(exact, abs=6e-4)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 14),
    st.floats(0.001, 0.5),
    st.floats(0.01, 1.5),
    st.integers(1, 3),
)
def test_agrees_with_the_statement(a: int, p: float, rho: float, kappa: int) -> None:
    law = CopyLaw.of(3, p, largest=kappa)
    value = amplified(lambda k, j: rho * k * k * j, law, [float(a)])
    truth = plain(a, law.probabilities, rho)
    assert value[0] == pytest.approx(truth, rel=1e-10)
    assert value[0] >= truth * (1 - 1e-13)


@settings(max_examples=30, deadline=None)
@given(st.floats(1.05, 20.0), st.floats(1e-4, 0.3), st.floats(1.0, 20.0))
def test_above_the_bound_for_gaussians(a: float, q: float, sigma: float) -> None:
    """The profile's curve is for the same mechanism and never above."""
    law = CopyLaw((1 - q, q), 0.0)
    value = amplified(gaussian_group(2.0, sigma), law, [a])
    assert value[0] >= replaced(law.probabilities, 1 / sigma, np.array([a]))[0]


def test_between_whole_orders_it_is_a_chord() -> None:
    group = gaussian_group(2.0, 8.0)
    at = amplified(group, COPIES, [3.0, 3.25, 4.0])
    chord = (0.75 * 2 * at[0] + 0.25 * 3 * at[2]) / 2.25
    assert at[1] == pytest.approx(chord, rel=1e-13)
    first = amplified(group, COPIES, [1.5, 2.0])
    assert first[0] == pytest.approx(first[1], rel=1e-13)  # D of order one counts as nothing


def test_an_infinite_group_makes_it_infinite() -> None:
    def group(k: int, j: np.ndarray) -> np.ndarray:
        return np.where(k * j < 7, 0.1 * k * k * j, math.inf)

    value = amplified(group, COPIES, [2.0, 2.5, 3.0])
    assert np.isfinite(value[0])
    assert (value[1:] == math.inf).all()


@pytest.mark.parametrize("orders", [[1.0], [0.5], [math.nan], [math.inf], [5000.0]])
def test_bad_orders_are_named(orders: list[float]) -> None:
    with pytest.raises(ValueError, match="orders"):
        amplified(gaussian_group(2.0, 8.0), COPIES, orders)


def test_bad_group_curves_are_named() -> None:
    for bad in (lambda k, j: -j, lambda k, j: j * math.nan, lambda k, j: 1.0):
        with pytest.raises(ValueError, match="group"):
            amplified(bad, COPIES, [3.0])
    with pytest.raises(ValueError, match="shift"):
        gaussian_group(0.0, 1.0)
