"""Closed forms against 60 and more digits, with their error bars."""

import math

import mpmath
import numpy as np
import pytest

from accountants import profiles
from accountants.profiles import gaussian_error, log_gaussian_delta, sampled_delta
from accountants.relations import Direction


def exact(epsilon: float, q: float, sigma: float, direction: Direction) -> mpmath.mpf:
    """δ from the definition: tails of both data sets at the threshold of the ratio."""
    e, q, s = mpmath.mpf(epsilon), mpmath.mpf(q), mpmath.mpf(sigma)
    a = mpmath.exp(e)
    if direction is Direction.REMOVE:
        b = 1 + (a - 1) / q
        u = s * mpmath.log(b) + 1 / (2 * s)
        return (1 - q) * mpmath.ncdf(-u) + q * mpmath.ncdf(1 / s - u) - a * mpmath.ncdf(-u)
    if direction is Direction.ADD:
        b = 1 + (1 / a - 1) / q
        if b <= 0:
            return mpmath.mpf(0)
        u = s * mpmath.log(b) + 1 / (2 * s)
        return mpmath.ncdf(u) - a * ((1 - q) * mpmath.ncdf(u) + q * mpmath.ncdf(u - 1 / s))
    k = mpmath.exp(-1 / (2 * s * s))
    half = (a - 1) * (1 - q)
    w = (half + mpmath.sqrt(half * half + 4 * a * q * q * k * k)) / (2 * q * k)
    u = s * mpmath.log(w)
    one = (1 - q) * mpmath.ncdf(-u) + q * mpmath.ncdf(1 / s - u)
    return one - a * ((1 - q) * mpmath.ncdf(-u) + q * mpmath.ncdf(-1 / s - u))


@pytest.mark.parametrize("direction", list(Direction))
def test_one_release_within_its_bar(direction):
    rng = np.random.default_rng(3)
    checked = 0
    for _ in range(150):
        q = 10 ** rng.uniform(-9, 0) if rng.random() < 0.9 else 1.0
        sigma = 10 ** rng.uniform(-1, 4)
        epsilon = 0.0 if rng.random() < 0.2 else 10 ** rng.uniform(-6, 1.3)
        if direction is Direction.ADD and rng.random() < 0.5 and q < 1:
            epsilon = -math.log1p(-q) * (1 - 10 ** rng.uniform(-6, -0.2))  # near the largest loss
        value, error = sampled_delta(epsilon, q, sigma, direction)
        if value < -1500:
            continue
        with mpmath.workdps(420):
            delta = exact(epsilon, q, sigma, direction)
            if delta <= 0:
                assert value == -math.inf or value < -700
                continue
            reference = mpmath.log(delta)
            assert abs(value - reference) <= error, (q, sigma, epsilon, float(reference))
        assert error < 1e-6
        checked += 1
    assert checked > 50


def test_plain_gaussian_within_its_bar():
    rng = np.random.default_rng(4)
    for _ in range(150):
        gap = 10 ** rng.uniform(-6, 2)
        epsilon = gap * rng.uniform(-5, 37) + gap * gap * rng.uniform(0, 1)
        value = float(log_gaussian_delta(epsilon, gap))
        with mpmath.workdps(420):
            e, g = mpmath.mpf(epsilon), mpmath.mpf(gap)
            low = mpmath.ncdf(-g / 2 - e / g)
            reference = mpmath.log(mpmath.ncdf(g / 2 - e / g) - mpmath.exp(e) * low)
            assert abs(value - reference) <= gaussian_error(epsilon, gap), (gap, epsilon)


def test_a_short_series_is_caught(monkeypatch):
    """Five terms of the asymptotic series left an error of 7e-12 at 33 standard deviations."""

    def short(x):
        i = 1 / (x * x)
        return i * (1 - i * (3 - i * (15 - i * (105 - i * 945))))

    with mpmath.workdps(60):
        e, g = mpmath.mpf(10), mpmath.mpf(0.3)
        low = mpmath.ncdf(-g / 2 - e / g)
        reference = mpmath.log(mpmath.ncdf(g / 2 - e / g) - mpmath.exp(e) * low)
    error = gaussian_error(10.0, 0.3)
    assert abs(float(log_gaussian_delta(10.0, 0.3)) - reference) <= error
    monkeypatch.setattr(profiles, "_mills_slope", short)
    assert abs(float(log_gaussian_delta(10.0, 0.3)) - reference) > error


@pytest.mark.parametrize(
    ("q", "sigma", "epsilon", "delta"),
    [
        (256 / 50000, 1.0, 0.5, 0.00019365183316717959738),
        (256 / 50000, 2.0, 0.1, 6.3489261999439763908e-6),
        (0.1, 0.5, 1.0, 0.084038627130167773593),
        (0.01, 1.0, 0.0, 0.0068268949213708589717),
        (1e-9, 0.3, 0.01, 7.7549858579941726837e-10),
        (0.5, 100.0, 0.01, 0.00084942230110138635876),
    ],
)
def test_reference_values(q, sigma, epsilon, delta):
    """Values at 40 digits for shift 2, which is noise sigma/2 at shift 1."""
    value, error = sampled_delta(epsilon, q, sigma / 2, Direction.REMOVE)
    assert value == pytest.approx(math.log(delta), abs=max(error, 1e-14))
