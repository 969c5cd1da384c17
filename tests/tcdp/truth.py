"""Brute force: Rényi divergences of Gaussian mixtures by plain sums over a grid.

Noise has unit variance; nothing here is taken from the code under test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import mpmath
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def binomial(draws: int, probability: float, largest: int) -> Array:
    """P(K = k | K <= largest), k = 0 …, from the definition."""
    with mpmath.workdps(40):
        w = mpmath.mpf(probability)
        p = [mpmath.binomial(draws, k) * w**k * (1 - w) ** (draws - k) for k in range(largest + 1)]
        total = mpmath.fsum(p)
        return np.array([float(value / total) for value in p])


def binomial_tail(draws: int, probability: float, largest: int) -> float:
    """P(K > largest), from the definition."""
    with mpmath.workdps(60):
        w = mpmath.mpf(probability)
        terms = (
            mpmath.binomial(draws, k) * w**k * (1 - w) ** (draws - k) for k in range(largest + 1)
        )
        return float(1 - mpmath.fsum(terms))


def _log_mixture(x: Array, weights: Sequence[float], means: Sequence[float]) -> Array:
    """log density relative to N(0, 1)."""
    m = np.asarray(means, dtype=np.float64)
    terms = x[..., None] * m - 0.5 * m * m + np.log(np.asarray(weights))
    return np.logaddexp.reduce(terms, axis=-1)


def renyi(
    p: tuple[Sequence[float], Sequence[float]],
    q: tuple[Sequence[float], Sequence[float]],
    order: float,
) -> float:
    """D_order of two mixtures on the line, each (weights, means)."""
    means = np.concatenate([p[1], q[1]])
    spread = float(means.max() - means.min())
    low, high = means.min() - order * spread - 14, means.max() + order * spread + 14
    x = np.linspace(low, high, int((high - low) / 0.02))
    log_p, log_q = _log_mixture(x, *p), _log_mixture(x, *q)
    log_base = -0.5 * x * x - 0.5 * math.log(2 * math.pi)
    return _from_logs(log_p - log_q, log_base + log_q, order, x[1] - x[0])


def _from_logs(ratio: Array, log_q: Array, order: float, cell: float) -> float:
    """log(1 + E_Q[r^a - 1 - a (r - 1)])/(a - 1), r = exp(ratio)."""
    top = order * ratio
    far = top > 300
    near = np.where(far, 0.0, ratio)
    # r^a - 1 - a(r - 1) is non-negative; below 1e-4 two terms of its series are enough.
    small = np.abs(near) < 1e-4
    r = np.expm1(near)
    exact = np.expm1(order * near) - order * r
    series = order * (order - 1) / 2 * r * r * (1 + (order - 2) / 3 * r)
    body = np.sum(np.where(far, 0.0, np.exp(log_q) * np.where(small, series, exact)))
    log_far = np.logaddexp.reduce(np.where(far, log_q + top, -np.inf)) if far.any() else -np.inf
    log_excess = np.logaddexp(math.log(body) if body > 0 else -np.inf, log_far) + math.log(cell)
    return float(np.logaddexp(0.0, log_excess) / (order - 1))


def renyi_plane(
    p: tuple[Sequence[float], Sequence[Sequence[float]]],
    q: tuple[Sequence[float], Sequence[Sequence[float]]],
    order: float,
) -> float:
    """D_order of two mixtures in the plane, each (weights, points)."""
    points = np.concatenate([np.asarray(p[1]), np.asarray(q[1])])
    size = float(np.abs(points).max()) * (2 * order + 1) + 9
    axis = np.linspace(-size, size, int(2 * size / 0.08))
    x, y = np.meshgrid(axis, axis)
    grid = np.stack([x, y], axis=-1)

    def log_mixture(weights: Sequence[float], means: Sequence[Sequence[float]]) -> Array:
        terms = [
            math.log(w) + grid @ np.asarray(m) - 0.5 * float(np.dot(m, m))
            for w, m in zip(weights, means, strict=True)
        ]
        return np.logaddexp.reduce(terms, axis=0)

    log_p, log_q = log_mixture(*p), log_mixture(*q)
    log_base = -0.5 * (x * x + y * y) - math.log(2 * math.pi)
    cell = float(axis[1] - axis[0]) ** 2
    return _from_logs(log_p - log_q, log_base + log_q, order, cell)


def log_integral(p: Sequence[float], gap: float, order: float, digits: int = 20) -> float:
    """log I(a) from the profile form, eta sum p_k int delta_k(e) e^e [...] de, by mpmath."""
    with mpmath.workdps(digits):
        eta = mpmath.fsum(p[1:])
        a = mpmath.mpf(order)
        tops = [k * gap * (order * k * gap + 14) for k in range(1, len(p))]

        def profile(e: mpmath.mpf, t: mpmath.mpf) -> mpmath.mpf:
            high = mpmath.ncdf(t / 2 - e / t)
            return high - mpmath.exp(e) * mpmath.ncdf(-t / 2 - e / t)

        def part(k: int) -> mpmath.mpf:
            t = mpmath.mpf(k * gap)

            def integrand(e: mpmath.mpf) -> mpmath.mpf:
                y = 1 + eta * mpmath.expm1(e)
                return profile(e, t) * mpmath.exp(e) * (y ** (a - 2) + y ** (-a - 1))

            edges = mpmath.linspace(0, tops[k - 1], 16)
            return eta * p[k] * mpmath.quad(integrand, edges)

        return float(mpmath.log(mpmath.fsum(part(k) for k in range(1, len(p)))))
