"""Privacy profiles in closed form: one Gaussian release, one Poisson-sampled release.

Everything is computed as the logarithm of δ with positive terms only, so that relative
accuracy survives down to δ = 1e-300 and below.  phi and Phi are the standard normal density
and distribution function, R(x) = (1 - Phi(x))/phi(x) is the Mills ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike, NDArray
from scipy import special

from accountants.relations import Direction
from accountants.rounding import above

_NODES, _WEIGHTS = leggauss(12)
_NARROW = 0.5
_UNIT = 2.0**-53
_FLAT = 200.0  # units of rounding of the Mills ratios and logarithms
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_LARGEST_GAP = 1e100  # its square, and that of ε over it, are doubles


def _log_normal_density(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return -0.5 * x * x - _HALF_LOG_TWO_PI


def _mills(x: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled: NDArray[np.float64] = special.erfcx(x / math.sqrt(2))
    return math.sqrt(math.pi / 2) * scaled


def _mills_slope(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - x R(x), which is -R'(x) > 0; asymptotic where the difference would cancel."""
    far = x > 25
    inverse = np.square(1 / np.where(far, x, 30.0))
    series = np.zeros_like(x)
    for odd in range(19, 1, -2):  # 1/x^2 (1 - 3/x^2 (1 - 5/x^2 (1 - …))), to 1e-16
        series = odd * inverse * (1 - series)
    series = inverse * (1 - series)
    near_at = np.where(far, 1.0, x)
    return np.where(far, series, 1 - near_at * _mills(near_at))


def log_gap(start: ArrayLike, width: float) -> NDArray[np.float64]:
    """log of phi(a) (R(a) - R(a + w)), the profile of a Gaussian pair.

    With a = e/w - w/2 this is the log of Phi(-a) - exp(e) Phi(-a - w): the δ at ε = e of one
    Gaussian release whose means are ``width`` standard deviations apart.

    Parameters
    ----------
    start : array_like
        a, any real numbers.
    width : float
        w > 0.

    Returns
    -------
    ndarray
        Same shape as ``start``; at most 0.
    """
    a = np.atleast_1d(np.asarray(start, dtype=np.float64))
    result = np.empty_like(a)
    if width < _NARROW:
        # The two Mills ratios nearly agree: integrate their slope over [a, a+w] instead.
        inner = a > -8
        x = a[inner, None] + 0.5 * width * (1 + _NODES)
        integral = 0.5 * width * (_mills_slope(x) @ _WEIGHTS)
        result[inner] = _log_normal_density(a[inner]) + np.log(integral)
    else:
        inner = a > 0
        near = a[inner]
        result[inner] = _log_normal_density(near) + np.log(_mills(near) - _mills(near + width))
    outer = a[~inner]
    # Here Phi(-a) is near 1 and the second term is exp(log phi(a) - log phi(a+w)) times it.
    second = np.exp(width * (outer + 0.5 * width) + special.log_ndtr(-outer - width))
    result[~inner] = np.log1p(-(special.ndtr(outer) + second))
    return np.minimum(result, 0.0).reshape(np.shape(start))


def log_gaussian_delta(epsilon: ArrayLike, gap: float) -> NDArray[np.float64]:
    """log δ(ε) of a Gaussian release with means ``gap`` standard deviations apart.

    Parameters
    ----------
    epsilon : array_like
        Any real numbers.
    gap : float
        Shift over noise standard deviation, > 0.

    Returns
    -------
    ndarray
        log of Phi(gap/2 - ε/gap) - exp(ε) Phi(-gap/2 - ε/gap).
    """
    return log_gap(np.asarray(epsilon, dtype=np.float64) / gap - 0.5 * gap, gap)


def gaussian_error(epsilon: float, gap: float) -> float:
    """Error bar of ``log_gaussian_delta``, absolute in log δ."""
    start = epsilon / gap - 0.5 * gap
    return _UNIT * (_FLAT + 4 * (abs(start) + 2) * (abs(epsilon) / gap + gap))


def composed_gap(gaps: Iterable[tuple[float, int]]) -> float:
    """Gap of plain Gaussian releases together, sqrt(sum n g^2), rounded up.

    Parameters
    ----------
    gaps : iterable of (float, int)
        Shift over noise standard deviation of each, and its number of uses.
    """
    total = math.hypot(*(gap * math.sqrt(count) for gap, count in gaps))
    return above(total, 4) if total > 0 else 0.0


def gaussian_log_delta_upper(epsilon: float, gap: float) -> float:
    """Upper bound on ``log_gaussian_delta`` with its error bar, for any gap >= 0 and ε >= 0."""
    if gap == 0 or epsilon == math.inf:
        return -math.inf
    if gap > _LARGEST_GAP:
        return 0.0
    with np.errstate(all="ignore"):
        value = float(log_gaussian_delta(epsilon, gap))
    if math.isnan(value):
        return 0.0
    return min(0.0, value + gaussian_error(epsilon, gap)) if value > -math.inf else -math.inf


def sampled_delta(
    epsilon: float, q: float, sigma: float, direction: Direction
) -> tuple[float, float]:
    """log δ(ε) of one Poisson-sampled Gaussian release, and its error bar.

    Parameters
    ----------
    epsilon : float
        ε >= 0.
    q, sigma : float
        Sampling probability in (0, 1] and noise multiplier > 0.
    direction : Direction

    Returns
    -------
    (float, float)
        Value, ``-inf`` where δ is 0, and absolute error of rounding.

    Notes
    -----
    The likelihood ratio increases in the output, so each divergence is a tail event; writing
    the tails at the threshold leaves positive terms only (derived in docs/proofs/poisson.md).
    The bar is first order: rounding in the threshold times the slope of log δ in it.
    """
    if epsilon == math.inf:
        return -math.inf, 0.0
    gap = 1 / sigma
    if direction is Direction.SYMMETRIC:
        return _replaced(epsilon, q, sigma)
    if direction is Direction.REMOVE:
        # H_a(P||Q) = q H_b(N(1)||N(0)), b = 1 + (a-1)/q
        inner = _log_shrunk(epsilon, q)
        outer = math.log(q)
        relative = 4.0
    else:
        # The largest loss is -log(1-q); how near ε is to it decides how well inner is known.
        edge = -math.log1p(-q) if q < 1 else math.inf
        room = edge - epsilon
        if room <= 0:
            return -math.inf, 0.0
        log_ratio = math.log1p(-q) + _log_expm1(room) - math.log(q) if q < 1 else -epsilon
        small = math.expm1(-epsilon) / q
        inner = -math.log1p(small) if small > -0.5 else -log_ratio
        outer = epsilon + math.log(q) - inner
        relative = 4.0 + 4.0 * (edge / room if q < 1 else 0.0) * (small <= -0.5)
    value = outer + float(log_gaussian_delta(inner, gap))
    known = _UNIT * relative * min(1.0, inner) + _UNIT * inner
    start = inner / gap - 0.5 * gap
    error = gaussian_error(inner, gap) + known * ((abs(start) + 2) / gap + 2)
    return value, error + _UNIT * 4 * abs(outer)


def _replaced(epsilon: float, q: float, sigma: float) -> tuple[float, float]:
    """The profile under replace-one; the threshold solves a quadratic in exp(x/sigma^2)."""
    gap = 1 / sigma
    log_k = -0.5 * gap * gap
    log_b = _log_expm1(epsilon) + math.log1p(-q) if q < 1 and epsilon > 0 else -math.inf
    log_root = 0.5 * np.logaddexp(2 * log_b, math.log(4) + epsilon + 2 * (math.log(q) + log_k))
    log_w = float(np.logaddexp(log_b, log_root)) - math.log(2) - math.log(q) - log_k
    u = sigma * log_w
    first = float(log_gap(u - gap, gap))
    # phi(u+gap)(R(u) - R(u+gap)) = phi(u)(R(u)-R(u+gap)) * phi(u+gap)/phi(u)
    second = epsilon + float(log_gap(u, gap)) - u * gap - 0.5 * gap * gap
    size = abs(math.log(q)) + abs(log_k) + abs(log_w) + epsilon + 4
    moved = sigma * 2 * _UNIT * size + 2 * _UNIT * (abs(u) + gap)
    error = _UNIT * (_FLAT + 4 * size + 4 * abs(u) * gap) + moved * (abs(u) + 2 * gap + 2)
    return math.log(q) + float(np.logaddexp(first, second)), error


def _log_expm1(x: float) -> float:
    return x + math.log1p(-math.exp(-x)) if x > 1 else math.log(math.expm1(x))


def _log_shrunk(epsilon: float, q: float) -> float:
    """log(1 + (exp(ε) - 1)/q), also where exp(ε) overflows."""
    if q == 1:
        return epsilon
    if epsilon < 1:
        return math.log1p(math.expm1(epsilon) / q)
    return epsilon - math.log(q) + math.log1p(-(1 - q) * math.exp(-epsilon))
