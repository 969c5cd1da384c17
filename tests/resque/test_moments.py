"""Moments of weights: exact rationals, mpmath at hundreds of digits, and sampling."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from bounds.resque.estimator_moments import difference_moment
from dp2theory.resque import moments
from dp2theory.resque.moments import (
    kappa,
    kappa_within,
    log_difference_norm,
    log_joint_moment,
    log_kappa,
    log_kappa_simple,
    log_sharpness,
    log_weight_moment,
    sharpest_pair,
    weight_exceeds,
    weight_quantile,
)

A, B = np.array([0.3, 0.1]), np.array([-0.1, 0.25])


def alternating(order: int, a: Any, b: Any, digits: int) -> float:
    """log of (E(w_a - w_b)^p)^(1/p) as the alternating sum, with enough digits."""
    context = mpmath.MPContext()
    context.dps = digits
    square = context.fsum(context.mpf(float(x)) ** 2 for x in a)
    second = context.fsum(context.mpf(float(y)) ** 2 for y in b)
    inner = context.fsum(
        context.mpf(float(x)) * context.mpf(float(y)) for x, y in zip(a, b, strict=True)
    )
    total = context.mpf(0)
    for k in range(order + 1):
        j = order - k
        exponent = (j * (j - 1) * square + k * (k - 1) * second) / 2 + j * k * inner
        total += (-1) ** k * context.binomial(order, k) * context.exp(exponent)
    return float(context.log(total) / order)


def by_quadrature(order: float, a: float, b: float) -> float:
    """log of (E|w_a - w_b|^p)^(1/p) in one dimension, by mpmath's quadrature of the definition."""
    context = mpmath.MPContext()
    context.dps = 25
    first, second, power = context.mpf(a), context.mpf(b), context.mpf(order)

    def integrand(z: Any) -> Any:
        difference = context.exp(first * z - first**2 / 2) - context.exp(second * z - second**2 / 2)
        return abs(difference) ** power * context.npdf(z)

    zero = (first + second) / 2
    far = order * max(a, b, 0.0)
    ends = [-30, -6, -2, zero, zero + 1, zero + 3, far + 4, far + 8, far + 30]
    return float(context.log(context.quad(integrand, ends)) / power)


def test_reference_moments_of_one_weight() -> None:
    values = np.exp(log_weight_moment([2, 3, 4], 0.5))
    assert_allclose(values, [1.28402541669, 2.11700001661, 4.48168907034], rtol=3e-12)
    assert_allclose(np.exp(log_weight_moment([0.0, 1.0], 3.0)), 1.0)


def test_reference_moments_of_a_difference() -> None:
    assert_allclose(np.exp(2 * log_difference_norm(2, A, B)), 0.19033876578044, rtol=1e-13)
    assert_allclose(np.exp(4 * log_difference_norm(4, A, B)), 0.138648178936, rtol=3e-12)
    joint = np.exp(log_joint_moment([2, 0, 1], [0, 2, 1], A, B))
    assert_allclose(joint @ [1, 1, -2], 0.19033876578044, rtol=1e-12)


@pytest.mark.parametrize("order", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("scale", [0.01, 1 / 16, 0.5, 2.0])
def test_differences_against_the_alternating_sum_at_400_digits(order: int, scale: float) -> None:
    rng = np.random.default_rng(order)
    a, c = scale * rng.standard_normal((2, 3))
    for b in (c, 0.9 * a, (1 - 1e-4) * a, -a, np.zeros(3)):
        exact = alternating(order, a, b, 400)
        assert abs(float(log_difference_norm(order, a, b)) - exact) < 3e-13


def test_where_doubles_cannot_sum_the_moment_is_right() -> None:
    shift = 1 / 16
    exact = difference_moment(16, shift=shift, second_shift=0.9 * shift,
                              inner_product=shift * (0.9 * shift))  # fmt: skip
    found = np.exp(16 * log_difference_norm(16, [shift], [0.9 * shift]))
    assert_allclose(found, float(exact), rtol=1e-12)
    assert 2e-28 < found < 3e-28
    # The sum in doubles is off by a factor of 1e15.
    orders = np.arange(17)
    terms = np.exp(log_joint_moment(16 - orders, orders, [shift], [0.9 * shift]))
    signs = (-1.0) ** orders * [float(mpmath.binomial(16, int(k))) for k in orders]
    assert abs(signs @ terms) > 1e10 * found


@pytest.mark.parametrize("order", [1.0, 1.3, 3.0, 5.5, 9.0])
@pytest.mark.parametrize(("a", "b"), [(0.3, 0.1), (0.7, -0.4), (1.0, 0.99), (0.05, 0.0)])
def test_real_orders_against_quadrature_of_the_definition(order: float, a: float, b: float) -> None:
    exact = by_quadrature(order, a, b)
    assert abs(float(log_difference_norm(order, [a], [b])) - exact) < 1e-13


def test_only_the_plane_of_the_two_shifts_matters() -> None:
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    a, b = np.concatenate([A, np.zeros(4)]) @ turn, np.concatenate([B, np.zeros(4)]) @ turn
    orders = np.array([1.0, 2.5, 7.0, 200.0])
    assert_allclose(log_difference_norm(orders, a, b), log_difference_norm(orders, A, B))
    assert_allclose(log_difference_norm(orders, b, a), log_difference_norm(orders, A, B))
    assert np.all(np.diff(log_difference_norm(orders, A, B)) > 0)  # norms rise with the order


def test_equal_points_do_not_differ() -> None:
    pairs = log_difference_norm(3.0, np.stack([A, A]), np.stack([A, B]))
    assert pairs[0] == -np.inf
    assert np.isfinite(pairs[1])


def test_sampled_differences() -> None:
    z = np.random.default_rng(0).standard_normal((400_000, 2))
    first, second = (np.exp(z @ u - u @ u / 2) for u in (A, B))
    for order in (1.0, 2.0, 3.0):
        powers = np.abs(first - second) ** order
        error = powers.std() / np.sqrt(len(powers))
        assert abs(powers.mean() - np.exp(order * log_difference_norm(order, A, B))) < 4 * error


@pytest.mark.parametrize(
    ("order", "radius", "value"),
    [
        (2, 1 / 2, 1.26689848483),
        (4, 1 / 4, 1.76642196772),
        (8, 1 / 8, 2.3308944136),
        (16, 1 / 16, 3.05960516148),
        (2, 1.0, 2.3316439816),
        (4, 3**-0.5, 3.85858040619),
        (8, 7**-0.5, 5.85629664363),
        (16, 15**-0.5, 8.55260831766),
        (2, 1 / 8, 1.01568635244),
        (4, 1 / 8, 1.43524062786),
        (16, 1 / 8, 4.07987904454),
        (4, 0.0, 1.31607401295),
        (8, 0.0, 1.78915786697),
        (16, 0.0, 2.47844162321),
    ],
)
def test_reference_values_of_kappa(order: float, radius: float, value: float) -> None:
    assert_allclose(kappa(order, radius), value, rtol=3e-11)


def test_kappa_far_out_in_logarithms() -> None:
    assert_allclose(kappa(16, 1.0), 27985.299388505, rtol=1e-12)
    assert_allclose(log_kappa(16, 1.0), np.log(27985.299388505), rtol=1e-12)
    # Far above the range of doubles: e^((p-1) t^2/2) times ((p-1) t) nearly.
    assert_allclose(log_kappa(10_000, 3.0), 9999 * 4.5 + np.log(9999 * 3.0), rtol=1e-8)


def test_kappa_against_its_definition_at_real_orders() -> None:
    context = mpmath.MPContext()
    context.dps = 16
    for p in (1.0, 1.7, 11.5):
        for t in (0.05, 1.0):
            mean = (p - 1) * t
            moment = context.quad(
                lambda z, m=mean, p=p: abs(m + z) ** p * context.npdf(z), [-40, -mean, 0, 8, 40]
            )
            exact = (p - 1) * t**2 / 2 + float(context.log(moment)) / p
            assert abs(float(log_kappa(p, t)) - exact) < 1e-12


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, 4.0, 8.0, 12.0, 16.0, 37.5, 500.0])
def test_the_constant_is_sharp_and_never_exceeded(order: float) -> None:
    for radius in (1 / order, max(order - 1, 1.0) ** -0.5, 1.0, 1 / 64):
        a, b = sharpest_pair(order, radius, dimension=3)
        assert np.linalg.norm(a) == pytest.approx(radius, rel=1e-15)
        assert np.linalg.matrix_rank(np.stack([a, b])) == 1  # one line through the centre
        log = float(log_sharpness(order, a, b))
        assert np.log(0.999) <= log <= 1e-12
        rng = np.random.default_rng(int(order))
        pairs = rng.standard_normal((2, 40, 3))
        pairs *= (
            radius * rng.uniform(0, 1, (2, 40, 1)) / np.linalg.norm(pairs, axis=-1, keepdims=True)
        )
        assert log_sharpness(order, *pairs).max() <= 1e-12


def test_simple_forms_lie_above_and_the_corollaries_hold() -> None:
    orders = np.array([2.0, 2.5, 4.0, 8.0, 16.0, 100.0])
    for radius in (1e-3, 0.1, 0.5, 1.0):
        assert np.all(log_kappa_simple(orders, radius) >= log_kappa(orders, radius))
    inner = kappa(orders, 1 / orders)
    outer = kappa(orders, (orders - 1) ** -0.5)
    assert np.all(inner <= kappa_within(orders, "1/p"))
    assert np.all(outer <= kappa_within(orders, "1/sqrt(p-1)"))
    assert np.all(inner <= 24 * orders)  # the constant of the paper, with room
    assert_allclose(kappa_within(2.0, "1/p"), 2 * 1.1331484530668263, rtol=1e-14)
    assert_allclose(kappa_within(2.0, "1/sqrt(p-1)"), 3.2974425414002563, rtol=1e-14)


def test_the_law_of_the_weight() -> None:
    rng = np.random.default_rng(3)
    for shift in (0.2, 1.0):
        weights = np.exp(shift * rng.standard_normal(200_000) - shift**2 / 2)
        for share in (0.1, 0.5, 0.99):
            level = float(weight_quantile(share, shift))
            assert_allclose(weight_exceeds(level, shift), 1 - share, rtol=1e-10)
            error = np.sqrt(share * (1 - share) / len(weights))
            assert abs((weights > level).mean() - (1 - share)) < 4 * error


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: log_difference_norm(0.5, A, B), "order=0.5"),
        (lambda: log_difference_norm(np.nan, A, B), "order=nan"),
        (lambda: log_difference_norm(2, A, np.ones(3)), "shapes"),
        (lambda: log_difference_norm(2, A, 1.0), "shapes"),
        (lambda: log_difference_norm(2, A, np.array([np.inf, 0])), "b has entries"),
        (lambda: log_kappa(2, -1.0), "relative_radius=-1.0"),
        (lambda: log_kappa(0.9, 1.0), "order=0.9"),
        (lambda: log_kappa_simple(1.5, 1.0), "order=1.5"),
        (lambda: kappa_within(4, "1"), "ball='1'"),
        (lambda: log_sharpness(2, A, A), "must differ"),
        (lambda: sharpest_pair(2, 0.0), "relative_radius=0.0"),
        (lambda: sharpest_pair(2, 1.0, dimension=0), "dimension=0"),
        (lambda: weight_exceeds(-1.0, 1.0), "weight_threshold"),
        (lambda: weight_quantile(1.0, 1.0), "probability=1.0"),
        (lambda: log_weight_moment(2, -1.0), "shift"),
    ],
)
def test_bad_input_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value)


def test_the_nodes_are_enough() -> None:
    # Half of them give the same digits: the rule has converged.
    found = log_difference_norm([1.0, 2.5, 30.0, 2000.0], A, B)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moments, "_NODES", 401)
        assert_allclose(log_difference_norm([1.0, 2.5, 30.0, 2000.0], A, B), found, atol=1e-13)
