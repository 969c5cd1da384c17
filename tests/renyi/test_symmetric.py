"""Fixed-size batches: against integrals of the profiles, published values and data sets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.legendre import leggauss

from accountants import fixed_size
from accountants.copies import CopyLaw
from accountants.relations import Direction
from accountants.renyi import conversion
from accountants.renyi.lines import Mixture, Order
from accountants.renyi.quadrature import divergences
from accountants.renyi.symmetric import coupled, replaced, special_replaced
from tests.renyi import oracle
from tests.renyi.test_quadrature import close

Q = 256 / 50000


def by_profile(forward: Any, backward: Any, orders: np.ndarray, scale: float) -> np.ndarray:
    """Integral of the two log profiles over ε by many Gauss-Legendre panels in doubles."""
    x, w = leggauss(20)
    edges = np.concatenate(([0.0], np.geomspace(1e-9, 60.0 * scale, 400)))
    half = 0.5 * np.diff(edges)
    e = ((edges[:-1] + half)[:, None] + half[:, None] * x).ravel()
    log_w = np.log((half[:, None] * w).ravel())
    up, down = forward(e) + log_w, backward(e) + log_w
    a = orders[:, None]
    total = np.exp((a - 1) * e + up).sum(1) + np.exp(-a * e + down).sum(1)
    return np.log1p(orders * (orders - 1) * total) / (orders - 1)


@pytest.mark.parametrize(("q", "sigma"), [(Q, 2.0), (0.3, 1.5), (1e-5, 4.0), (0.9, 2.0)])
def test_without_replacement_agrees_with_the_profile(q: float, sigma: float) -> None:
    orders = np.array([1.00001, 1.5, 4.5])
    profile = oracle.shrunk_delta(q, q, 2 / sigma)
    top = 40 + 40 / sigma**2 + 30 / sigma
    truth = [oracle.from_profiles(profile, profile, a, top) for a in orders]
    close(replaced((1 - q, q), 1 / sigma, orders), truth)


def test_reference_values() -> None:
    """Derived references: without replacement, q = 256/50000, noise 2; draws of 10 from 1000."""
    orders = np.array([1.5, 2.0, 8.0, 32.0])
    truth = [
        5.6190745536383573034e-5,
        7.4954138189188634126e-5,
        3.0670997968705905349e-4,
        10.555250745884870739,
    ]
    close(replaced((1 - Q, Q), 0.5, orders), truth, 1e-12)
    rough = replaced((1 - Q, Q), 0.5, np.array([1.0001, 100.0, 1000.0, 1e4]))
    np.testing.assert_allclose(
        rough, [3.745434082e-5, 44.67212036371, 494.7201192793, 4994.724871647], rtol=3e-10
    )
    law = CopyLaw.of(10, 1e-3, largest=10).probabilities
    orders = np.array([1.5, 2.0])
    attained = divergences(Mixture(law, 0.5), Order.REMOVE, orders)
    close(attained, [2.1323262043996347694e-5, 2.8475322604029608006e-5], 1e-11)
    balle = coupled(law, 0.5, orders)
    close(balle, [2.9862543264017638639e-5, 3.9819979082570736132e-5], 1e-11)
    assert (replaced(law, 0.25, orders) <= balle).all()


@pytest.mark.parametrize(
    ("sigma", "order", "ratio"),
    [(1, 2, 0.734), (1, 4, 1.0), (2, 2, 0.601), (2, 8, 0.647), (4, 32, 0.757), (6, 64, 0.823)],
)
def test_share_of_the_bound_that_is_attained(sigma: float, order: float, ratio: float) -> None:
    """Derived references, three digits."""
    at = np.array([float(order)])
    attained = divergences(Mixture((1 - Q, Q), 2 / sigma), Order.REMOVE, at)
    assert attained[0] / replaced((1 - Q, Q), 1 / sigma, at)[0] == pytest.approx(ratio, abs=6e-4)


def test_coupled_reference() -> None:
    """Order 4 for 678 draws from 1e5, shift one, noise 4, at most 3 copies (six digits)."""
    law = CopyLaw.of(678, 1e-5, largest=3).probabilities
    assert coupled(law, 0.25, np.array([4.0]))[0] == pytest.approx(7.13998e-6, rel=1e-6)


@pytest.mark.parametrize(
    ("n", "draws", "largest", "noise", "epsilon"),
    [
        (10**5, 678, 3, 2.0, 2.2087),
        (10**5, 678, 3, 4.0, 0.5475),
        (10**5, 678, 3, 8.0, 0.1263),
        (10**4, 261, 4, 4.0, 1.2887),
        (10**4, 261, 4, 8.0, 0.3498),
    ],
)
def test_coupled_composition_reference(
    n: int, draws: int, largest: int, noise: float, epsilon: float
) -> None:
    """216 calls of shift one at δ = 1e-6, best real order: derived references, 4 digits."""
    copies = CopyLaw.of(draws, 1 / n, largest=largest)
    kept = 216 * math.log1p(-copies.tail)
    rest = math.log(1e-6 + math.expm1(kept)) - kept
    found, _ = conversion.best_order(
        lambda orders: 216 * coupled(copies.probabilities, 1 / noise, orders),
        lambda orders, d: conversion.epsilons(orders, d, rest),
    )
    assert found == pytest.approx(epsilon, abs=6e-5)


@pytest.mark.parametrize(("n", "m", "sigma"), [(50000, 256, 2.0), (1000, 50, 3.0), (10, 5, 4.0)])
def test_with_replacement_agrees_with_the_profiles(n: int, m: int, sigma: float) -> None:
    """Neither above the smaller of the two profiles' integrals, nor below that of their minimum."""
    copies = CopyLaw.of(m, 1 / n, largest=min(m, 4))
    orders = np.array([1.1, 1.5, 2.0, 3.0, 4.5])
    scale = 4 + 16 / sigma
    h2 = by_profile(*[lambda e: fixed_size.log_h2(e, copies, sigma)] * 2, orders, scale)
    balle = by_profile(*[lambda e: fixed_size.log_balle(e, copies, sigma)] * 2, orders, scale)
    value = replaced(copies.probabilities, 1 / sigma, orders)
    np.testing.assert_allclose(value, np.minimum(h2, balle), rtol=1e-9)
    least = by_profile(
        *[lambda e: fixed_size.log_with_replacement(e, copies, sigma)] * 2, orders, scale
    )
    assert (value >= least * (1 - 1e-9)).all()


@pytest.mark.parametrize(("q", "sigma"), [(Q, 2.0), (0.3, 1.0), (0.7, 3.0)])
def test_special_replacement_agrees_with_the_profiles(q: float, sigma: float) -> None:
    orders = np.array([1.01, 1.5, 2.0, 4.0, 6.5])

    def real(e: np.ndarray) -> np.ndarray:
        return fixed_size.log_real_to_special(e, q, sigma)

    def null(e: np.ndarray) -> np.ndarray:
        return fixed_size.log_special_to_real(e, q, sigma)

    scale = 4 + 16 / sigma
    for direction, profiles in ((Direction.REMOVE, (real, null)), (Direction.ADD, (null, real))):
        value = special_replaced((1 - q, q), 1 / sigma, direction, orders)
        np.testing.assert_allclose(value, by_profile(*profiles, orders, scale), rtol=1e-9)


@pytest.mark.parametrize(("n", "m", "sigma"), [(50000, 256, 2.0), (1000, 50, 16.0), (10, 5, 4.0)])
def test_special_replacement_with_copies_is_at_most_the_curve_of_one_pair_of_profiles(
    n: int, m: int, sigma: float
) -> None:
    copies = CopyLaw.of(m, 1 / n, largest=min(m, 4))
    orders = np.array([1.1, 2.0, 4.0])

    def real(e: np.ndarray) -> np.ndarray:
        return fixed_size.log_excess_over_two(e, copies, sigma)

    def null(e: np.ndarray) -> np.ndarray:
        return fixed_size.log_h2(e, copies, 2 * sigma)

    for direction, profiles in ((Direction.REMOVE, (real, null)), (Direction.ADD, (null, real))):
        value = special_replaced(copies.probabilities, 1 / sigma, direction, orders)
        single = by_profile(*profiles, orders, 4 + 16 / sigma)
        assert (value <= single * (1 + 1e-9)).all()
        assert (value[:2] >= 0.25 * single[:2]).all()


def moment(law: np.ndarray, first: np.ndarray, second: np.ndarray, orders: np.ndarray) -> Any:
    """D_a(sum p_k N(k first, 1) || sum p_k N(k second, 1)) in the plane, on a grid."""
    reach = (law.size - 1) * np.hypot(*first) * orders.max() + 9
    x = np.linspace(-reach, reach, int(16 * reach) | 1)
    u, v = np.meshgrid(x, x, indexing="ij")
    k = np.arange(law.size)

    def log_density(mean: np.ndarray) -> np.ndarray:
        exponents = [
            math.log(p) + j * (mean[0] * u + mean[1] * v) - 0.5 * j * j * (mean @ mean)
            for j, p in zip(k, law, strict=True)
        ]
        return np.logaddexp.reduce(exponents)

    p, q = log_density(first), log_density(second)
    base = -0.5 * (u * u + v * v) + 2 * math.log(x[1] - x[0]) - math.log(2 * math.pi)
    return np.array([np.log(np.exp(base + a * p + (1 - a) * q).sum()) / (a - 1) for a in orders])


ball = st.tuples(st.floats(0, 1), st.floats(0, 2 * math.pi)).map(
    lambda t: math.sqrt(t[0]) * np.array([math.cos(t[1]), math.sin(t[1])])
)


@settings(max_examples=25, deadline=None)
@given(
    real=ball,
    other=ball,
    rest=ball,
    sigma=st.floats(1.2, 4.0),
    copies=st.sampled_from([(3, 0.3, 3), (5, 0.1, 3), (1, 0.4, 1), (1, 0.02, 1), (40, 0.01, 3)]),
)
def test_no_data_set_exceeds_the_bound(
    real: np.ndarray,
    other: np.ndarray,
    rest: np.ndarray,
    sigma: float,
    copies: tuple[int, float, int],
) -> None:
    """Gradients anywhere in the unit disc, all other records alike; the record is truncated."""
    law = CopyLaw.of(*copies[:2], largest=copies[2]).probabilities
    orders = np.array([1.2, 2.0, 3.0])
    first, second = (real - rest) / sigma, (other - rest) / sigma
    found = moment(np.array(law), first, second, orders)
    assert (found <= replaced(law, 1 / sigma, orders) * (1 + 1e-9) + 1e-13).all()
    # REPLACE_SPECIAL: the other record's gradient is 0
    second = -rest / sigma
    for pair, direction in (
        ((first, second), Direction.REMOVE),
        ((second, first), Direction.ADD),
    ):
        found = moment(np.array(law), *pair, orders)
        bound = special_replaced(law, 1 / sigma, direction, orders)
        assert (found <= bound * (1 + 1e-9) + 1e-13).all()


@settings(max_examples=12, deadline=None)
@given(
    log_q=st.floats(math.log(1e-6), math.log(0.9)),
    sigma=st.floats(0.6, 50.0),
    kappa=st.integers(1, 4),
)
def test_laws_of_the_curves(log_q: float, sigma: float, kappa: int) -> None:
    """Positive, non-decreasing in the order, at least what is attained, smaller for less."""
    q = math.exp(log_q)
    law = CopyLaw.of(kappa, min(0.9, q / kappa), largest=kappa).probabilities
    orders = 1 + np.geomspace(1e-4, 300, 25)
    value = replaced(law, 1 / sigma, orders)
    assert (value > 0).all()
    assert np.isfinite(value).all()
    assert (np.diff(value) >= -1e-10 * value[1:]).all()
    for order in (Order.REMOVE, Order.ADD):
        attained = divergences(Mixture(law, 2 / sigma), order, orders)
        assert (value >= attained * (1 - 1e-10)).all()
    for direction in (Direction.REMOVE, Direction.ADD):
        special = special_replaced(law, 1 / sigma, direction, orders)
        assert (special > 0).all()
        assert (np.diff(special) >= -1e-10 * special[1:]).all()
        if kappa == 1:
            assert (special <= value * (1 + 1e-10)).all()
    assert (replaced(law, 0.5 / sigma, orders) <= value).all()
