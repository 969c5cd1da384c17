"""Sampling over a Gaussian: the truncated curve from the profile of K copies.

A batch holds K copies of the record, K following ``CopyLaw``; with k copies the two outputs
are at most k ``gap`` noise standard deviations apart.  Where the profile of the mechanism is at
most that of sum_k p_k delta_{k gap} behind sampling (docs/proofs/truncated-cdp.md), the Rényi
divergence of every order a > 1 is at most log(1 + a(a-1) I(a))/(a-1) <= a I(a) with

    I(a) = sum_k (p_k/eta) int_{t/2}^inf phi(u) l^2 E(a l) E(-(a-1) l) du,   t = k gap,
    l = log(1 + eta (exp(t u - t^2/2) - 1)),   E(x) = (exp(x) - 1)/x,   eta = 1 - p_0.

I is convex in a, hence (max(I(1), I(w)), w) is a truncated curve for every w > 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike, NDArray
from scipy import special

from accountants import validation
from accountants.copies import CopyLaw
from accountants.errors import AccuracyError
from accountants.tcdp.curve import ApproximateTruncatedCdp, TruncatedCdp

Array = NDArray[np.float64]

_POINTS, _WEIGHTS = leggauss(18)
_ELLIPSE = 4.0  # sum of the half-axes of the ellipse that the error bound uses
_MINOR = (_ELLIPSE - 1 / _ELLIPSE) / 2
_MAJOR = (_ELLIPSE + 1 / _ELLIPSE) / 2
# Trefethen, Approximation Theory and Approximation Practice, theorem 19.3.
_LOG_GAUSS_ERROR = math.log(64 / 15 / (1 - _ELLIPSE**-2)) - 2 * (_POINTS.size - 1) * math.log(
    _ELLIPSE
)
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_UNIT = 2.0**-53
_BLOCK = 400_000  # terms that are held at a time
_MOST_PANELS = 2_000_000  # more of them take more memory than there is
_FAR = 10.0  # outputs this many standard deviations apart are bounded without quadrature


def log_integrals(law: CopyLaw, gap: float, order: ArrayLike) -> Array:
    """Upper bounds on log I(a), at all orders at once.

    Parameters
    ----------
    law : CopyLaw
        With eta > 0.
    gap : float
        Shift of one copy over the noise standard deviation, > 0.
    order : array_like, shape (A,)
        Orders a >= 1.

    Returns
    -------
    ndarray, shape (A,)
        Gauss-Legendre panels, plus a proved bound on their error, on the cut tail and on the
        rounding.
    """
    a = np.atleast_1d(np.asarray(order, dtype=np.float64))
    validation.require(bool(np.all(a >= 1)), "order", order, "orders >= 1")
    eta = min(1.0, law.present)  # a sum that rounds up
    validation.require(eta > 0, "law.present", eta, "positive")
    parts = [
        _one_number_of_copies(k * gap, eta, a) + math.log(p / eta)
        for k, p in enumerate(law.probabilities)
        if k and p > 0
    ]
    total: Array = np.logaddexp.reduce(parts, axis=0)
    return total + 1e-14


def _one_number_of_copies(t: float, eta: float, a: Array) -> Array:
    """log of the integral for two outputs ``t`` standard deviations apart."""
    if t > _FAR:
        return _tail(t, a, t / 2)
    largest = float(a.max())
    # Narrow enough that on the ellipses the ratio turns little, also to the power ``largest``,
    # and that below t/2 its inverse to that power stays moderate.
    half = min(0.35, 0.15 / t, 1.8 / (t * math.sqrt(largest)), 8 / (t * largest * eta))
    # The tail is to be far below the integral, which is above eta^a times the unsampled one,
    # and above its value at a = 1, about (eta t)^2.
    nats = min(
        60 - largest * math.log(eta),
        64 + 0.5 * largest * largest * t * t - 2 * math.log(min(1.0, eta * t)),
    )
    reach = (largest - 0.5) * t + math.sqrt(2 * nats)
    count = math.ceil(reach / (2 * half))
    if count > _MOST_PANELS:
        raise AccuracyError(
            f"the divergence of order {largest:g} cannot be computed where the noise is {1 / t:g} "
            f"times the shift: the integral needs {count:g} panels"
        )
    panels = np.arange(count, dtype=np.float64)
    centre = half * (2 * panels + 1)
    x = centre[:, None] + half * _POINTS  # distance from t/2, where the loss is 0
    u = x + t / 2
    loss = _loss(t * x, eta)
    log_weight = np.log(half * _WEIGHTS) - 0.5 * u * u - _HALF_LOG_TWO_PI + 2 * np.log(loss)
    rounding = _UNIT * (64 + 4 * (0.5 * u * u + np.abs(log_weight)))
    log_weight += np.log1p(rounding)
    blocks = np.array_split(a, math.ceil(a.size * x.size / _BLOCK))
    parts = [
        _sum(block[:, None], t * x.ravel(), loss.ravel(), log_weight.ravel()) for block in blocks
    ]
    value = np.concatenate(parts)
    end = float(centre[-1] + half + t / 2)
    error = _quadrature_error(t, eta, a, centre + t / 2, half)
    return np.logaddexp(value, np.logaddexp(error, _tail(t, a, end)))


def _sum(a: Array, y: Array, loss: Array, log_weight: Array) -> Array:
    """log of the sum over nodes, at the orders ``a`` of shape (A, 1), rounded up."""
    al = a * loss
    log_terms = log_weight + al
    log_terms += np.log(special.exprel(-al))
    log_terms += np.log(special.exprel(loss - al))
    log_terms += 8 * _UNIT * a * y
    top: Array = log_terms.max(axis=1)
    log_terms -= top[:, None]
    total: Array = np.log(np.exp(log_terms, out=log_terms).sum(axis=1))
    result: Array = top + total
    return result


def _loss(y: Array, eta: float) -> Array:
    """log(1 + eta (exp(y) - 1)), also where exp(y) overflows."""
    far = y > 500
    near = np.log1p(eta * np.expm1(np.where(far, 0.0, y)))
    return np.where(far, y + math.log(eta), near)


def _quadrature_error(t: float, eta: float, a: Array, centre: Array, half: float) -> Array:
    """log of a bound on the error of all panels, from the size on Bernstein ellipses."""
    reach, height = half * _MAJOR, half * _MINOR
    left, right = centre - reach, centre + reach
    log_left = _loss(t * (left - t / 2), eta)
    log_right = _loss(t * (right - t / 2), eta)
    turn = t * height  # the ratio stays in a cone of this half-angle
    smallest = log_left + math.log(math.cos(turn))
    size = np.maximum(np.maximum(log_right, -smallest), 0.0) + turn
    # The loss also grows from 0 at y = 0 with slope eta exp(y)/ratio, which rises with Re y.
    y_left, y_right = t * (left - t / 2), t * (right - t / 2)
    slope_most = np.exp(math.log(eta) + y_right - log_right) / math.cos(turn)
    size = np.minimum(size, (np.maximum(np.abs(y_left), np.abs(y_right)) + turn) * slope_most)
    # log ratio is convex on the line, hence below its chord; the square is exact.
    slope = (log_right - log_left) / (right - left)
    top = np.clip(a[:, None] * slope, left, right)
    grown = a[:, None] * (log_left + slope * (top - left)) - 0.5 * top * top
    flat = -0.5 * np.square(np.clip(0.0, left, right))
    log_most = (
        np.maximum(grown, flat)
        + 0.5 * height * height
        - _HALF_LOG_TWO_PI
        + 2 * np.log(size)
        + (a[:, None] - 1) * np.maximum(-smallest, 0.0)
    )
    total: Array = special.logsumexp(log_most, axis=1)
    return total + math.log(half) + _LOG_GAUSS_ERROR + 1e-9


def _tail(t: float, a: Array, end: float) -> Array:
    """log of a bound on the integral beyond ``end``: there l <= t u - t^2/2."""
    z = end - a * t
    log_density = -0.5 * z * z - _HALF_LOG_TWO_PI + math.log(t)
    with np.errstate(divide="ignore"):
        log_mass = special.log_ndtr(-z) + np.log(a - 0.5) + 2 * math.log(t)
    total: Array = np.logaddexp(log_density, log_mass)
    return total + 0.5 * a * (a - 1) * t * t - np.log(a) + 1e-9


def renyi_upper(law: CopyLaw, gap: float, order: ArrayLike) -> Array:
    """log(1 + a(a-1) I(a))/(a-1): upper bound on the divergence given K <= kappa.

    Parameters
    ----------
    law, gap
        As in ``log_integrals``.
    order : array_like, shape (A,)
        Orders a > 1.

    Returns
    -------
    ndarray, shape (A,)
    """
    a = np.atleast_1d(np.asarray(order, dtype=np.float64))
    validation.require(bool(np.all(a > 1)), "order", order, "orders > 1")
    log_excess = np.log(a) + np.log(a - 1) + log_integrals(law, gap, a)
    cumulant: Array = np.logaddexp(0.0, log_excess)
    return cumulant / (a - 1) * (1 + 1e-14)


def rho_upper(law: CopyLaw, gap: float, omega: ArrayLike) -> Array:
    """max(I(1), I(w)): the slope of the curve that ends at ``omega``.

    Never above (kappa gap)^2/2, which holds without any sampling.

    Parameters
    ----------
    law, gap
        As in ``log_integrals``.
    omega : array_like, shape (W,)
        Orders w > 1.

    Returns
    -------
    ndarray, shape (W,)
    """
    w = np.atleast_1d(np.asarray(omega, dtype=np.float64))
    validation.require(bool(np.all(w > 1)), "omega", omega, "orders > 1")
    logs = log_integrals(law, gap, np.concatenate([[1.0], w]))
    with np.errstate(over="ignore"):
        rho: Array = np.exp(np.maximum(logs[0], logs[1:]))
    whole = law.largest * gap
    return np.minimum(rho, 0.5 * whole * whole) * (1 + 1e-13)


def gaussian_curve(law: CopyLaw, gap: float, omega: float) -> ApproximateTruncatedCdp:
    """Truncated curve of one sampled Gaussian release, numerically.

    Parameters
    ----------
    law : CopyLaw
        Its tail is carried as the failure probability.
    gap : float
        Shift of one copy over the noise standard deviation, > 0.
    omega : float
        Order at which the curve ends, > 1; its choice trades slope against reach.

    Returns
    -------
    ApproximateTruncatedCdp
        (max(I(1), I(omega)), omega); derived in docs/proofs/truncated-cdp.md.
    """
    rho = float(rho_upper(law, gap, omega)[0])
    return ApproximateTruncatedCdp(TruncatedCdp(rho, omega), law.tail)


def closed_rho(law: CopyLaw, gap: float, omega: ArrayLike) -> Array:
    """Slope of the curve that ends at ``omega``, in closed form; at least ``rho_upper``.

    Parameters
    ----------
    law, gap
        As in ``log_integrals``; rho = gap^2/2 is the curve of one copy (shift 1 in units of
        that copy, noise s = 1/gap).
    omega : array_like, shape (W,)
        Orders w >= 2.

    Returns
    -------
    ndarray, shape (W,)
        eta sum p_k [(e+1)(e^(2 k^2 rho) - 1)/2
        + ((w-1) eta)^(w-2) (e^(w(w-1) k^2 rho) - 1)/(w (w-1))], ``inf`` where it overflows;
        derived in docs/proofs/truncated-cdp.md.

    Raises
    ------
    ValueError
        If an order is below 2.
    """
    w = np.atleast_1d(np.asarray(omega, dtype=np.float64))[:, None]
    validation.require(bool(np.all((w >= 2) & (w < np.inf))), "omega", omega, "finite orders >= 2")
    eta = law.present
    k = np.arange(1, law.largest + 1)
    rho = 0.5 * gap * gap * k * k
    x = w * (w - 1) * rho
    with np.errstate(over="ignore"):
        body = (math.e + 1) / 2 * np.expm1(2 * rho)
        # log(exp(x) - 1) = x + log(1 - exp(-x))
        power = (w - 2) * np.log((w - 1) * eta)
        log_far = power + x + np.log(-np.expm1(-x)) + 4 * _UNIT * (np.abs(power) + x)
        slope: Array = (body + np.exp(log_far) / (w * (w - 1))) @ np.array(law.probabilities[1:])
        return eta * slope * (1 + 1e-11)


def leading_constant(noise: float) -> float:
    """C(s) = 4 s^2 int_0^inf e^x delta_{1/s}(x) dx: I(1)/(q^2 rho) as q -> 0.

    Parameters
    ----------
    noise : float
        s > 0: noise over the shift of one copy; rho = 1/(2 s^2).

    Returns
    -------
    float
        2 s^2 E (r - 1)_+^2 with r the likelihood ratio of N(1/s, 1) to N(0, 1); to rounding,
        not a bound.  Tends to 1 for large s.
    """
    s = validation.real("noise", noise, "a number > 0")
    validation.require(0 < s < math.inf, "noise", noise, "a finite number > 0")
    t = 1 / s
    half = 0.25
    centre = half * (2 * np.arange(math.ceil((2 * t + 14) / (2 * half))) + 1)
    x = centre[:, None] + half * _POINTS
    u = x + t / 2
    with np.errstate(over="ignore"):
        density = np.exp(-0.5 * u * u - _HALF_LOG_TWO_PI + 2 * np.log(np.expm1(t * x)))
    return 2 * s * s * half * float(np.sum(density * _WEIGHTS))
