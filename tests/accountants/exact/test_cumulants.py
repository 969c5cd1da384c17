"""Moment sums against 40-digit integrals, and what the subtraction of first orders is worth."""

import re

import mpmath
import numpy as np
import pytest

from accountants.errors import AccuracyError
from accountants.exact import cumulants
from accountants.exact.cumulants import MomentTable, TiltedPair, centred_characteristic
from accountants.pairs import SampledGaussianPair
from accountants.relations import Direction

CASES = [
    (0.01, 1.0, Direction.REMOVE, 6.8),
    (1e-5, 1.0, Direction.REMOVE, 21.0769),  # a far peak carries a share of 2e-6
    (1e-5, 1.0, Direction.ADD, 60.0),
    (0.01, 1.0, Direction.ADD, 64.0),
    (0.01, 0.3, Direction.REMOVE, 2.0),
    (0.2, 20.0, Direction.SYMMETRIC, 1.0),
    (1e-6, 1.0, Direction.SYMMETRIC, 10.0),
]


def log_moment(q: float, sigma: float, direction: Direction, c: float) -> mpmath.mpf:
    """log E exp(c L) by adaptive quadrature with 40 digits."""
    with mpmath.workdps(40):
        q, sigma, c = mpmath.mpf(q), mpmath.mpf(sigma), mpmath.mpf(c)

        def integrand(u):
            plus = 1 - q + q * mpmath.exp(u / sigma - 1 / (2 * sigma**2))
            minus = 1 - q + q * mpmath.exp(-u / sigma - 1 / (2 * sigma**2))
            if direction is Direction.REMOVE:
                value = plus ** (1 + c) - 1 - (1 + c) * (plus - 1)
            elif direction is Direction.ADD:
                value = plus ** (-c) - 1 + c * (plus - 1)
            else:
                value = plus ** (1 + c) * minus ** (-c) - 1 - (1 + c) * (plus - 1) + c * (minus - 1)
            return mpmath.npdf(u) * value

        points = list(range(-25, int((c + 1) / sigma) + 26))
        return mpmath.log1p(mpmath.quad(integrand, points))


def tilted(q: float, sigma: float, direction: Direction, c: float, refine: float = 1.0):
    pair = SampledGaussianPair(q, sigma, direction)
    return TiltedPair.of(pair, c, *MomentTable(pair, c).range_at(c), refine)


@pytest.mark.parametrize(("q", "sigma", "direction", "c"), CASES)
def test_small_log_moments_keep_their_relative_digits(q, sigma, direction, c):
    reference = log_moment(q, sigma, direction, c)
    found = tilted(q, sigma, direction, c)
    error = abs(float(found.log_moment - reference))
    assert error <= 2e-13 * abs(float(reference)) + 1e-15 * (abs(float(reference)) > 0.3)
    assert error <= found.rounding + found.quadrature + 1e-18


def test_without_the_subtraction_the_digits_are_gone():
    """What the identity E[density - 1] = 0 is for: the plain sum loses eight digits."""
    q, sigma, direction, c = CASES[1]
    reference = float(log_moment(q, sigma, direction, c))
    value, _, _ = MomentTable(SampledGaussianPair(q, sigma, direction), c).at(np.array([c]))
    assert abs(value[0] - reference) > 1e-10 * reference
    assert abs(value[0] - reference) < 1e-14  # good enough for a table, absolutely


def test_capping_the_far_peak_is_caught():
    """A wrong version that cut growth at 300 nats lost 2e-6 of the moment."""
    q, sigma, direction, c = CASES[1]
    pair = SampledGaussianPair(q, sigma, direction)
    u = np.arange(-10, 32, 0.05)
    at = pair.nodes(u)
    growth = at.log_upper + c * at.loss
    base = np.exp(at.log_base) * 0.05
    reference = float(log_moment(q, sigma, direction, c))
    second = (1 + c) * base * cumulants.log1p_minus(at.upper)
    capped = float((base * cumulants.expm1_minus(np.minimum(growth, 300)) + second).sum())
    whole = float((base * cumulants.expm1_minus(growth) + second).sum())
    assert abs(np.log1p(whole) / reference - 1) < 1e-12
    assert abs(np.log1p(capped) / reference - 1) > 1e-6


@pytest.mark.parametrize(("q", "sigma", "direction", "c"), CASES)
def test_derivatives_of_the_table(q, sigma, direction, c):
    table = MomentTable(SampledGaussianPair(q, sigma, direction), 1.01 * c)
    h = 2e-4 * c
    value, slope, curvature = table.at(np.array([c - h, c, c + h]))
    assert slope[1] == pytest.approx((value[2] - value[0]) / (2 * h), rel=1e-2, abs=1e-12)
    assert curvature[1] == pytest.approx((slope[2] - slope[0]) / (2 * h), rel=1e-2, abs=1e-12)


@pytest.mark.parametrize("x", [1e-12, -1e-8, 1e-3, -0.05, 0.0999, 0.29, -0.29, 0.31, 2.0])
def test_elementary_remainders(x):
    with mpmath.workdps(40):
        exact_exp = mpmath.expm1(x) - x
        exact_log = mpmath.log1p(x) - x
        angle = 2 * mpmath.mpf(x)
        exact_sine = mpmath.sin(angle) - angle
    one = np.array([x])
    assert cumulants.expm1_minus(one)[0] == pytest.approx(float(exact_exp), rel=1e-14)
    assert cumulants.log1p_minus(one)[0] == pytest.approx(float(exact_log), rel=1e-14)
    assert cumulants._sine_minus(one)[0] == pytest.approx(float(exact_sine), rel=1e-13)


@pytest.mark.parametrize("many_steps", [False, True])
def test_characteristic_against_the_plain_definition(many_steps):
    rng = np.random.default_rng(0)
    weight = rng.random(50)
    weight /= weight.sum()
    x = rng.normal(size=50)
    x -= weight @ x
    t = np.linspace(0, 30, 40)
    real, imaginary = centred_characteristic(weight, x, t, many_steps=many_steps)
    plain = np.exp(1j * np.outer(t, x)) @ weight - 1
    assert np.allclose(real, plain.real, atol=1e-13)
    assert np.allclose(imaginary, plain.imag, atol=1e-13)


@pytest.mark.parametrize("sigma", [1e-9, 1e300])
def test_extreme_noise_is_refused_with_its_value(sigma):
    with pytest.raises(AccuracyError, match=re.escape(f"{sigma:g}")):
        MomentTable(SampledGaussianPair(0.1, sigma, Direction.REMOVE), 1.0)
