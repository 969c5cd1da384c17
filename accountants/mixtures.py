"""Tail formulas for mixtures of Gaussians on a ray against one Gaussian.

The likelihood ratio of sum_k p_k N(w_k, 1) to N(0, 1) increases in the output, so that every
divergence of the two is a tail; written at the threshold it has positive terms only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from accountants.profiles import log_gap

Array = NDArray[np.float64]

_UNIT = 2.0**-53
_MAX_NEWTON = 200


def log_excess(log_c: Array, log_p: Array, width: Array) -> Array:
    """log of the integral of (sum_k p_k N(w_k, 1) - C N(0, 1))_+, rounded up.

    With u the threshold it is sum_k p_k (Phi(w_k - u) - r_k(u) Phi(-u)), all terms positive.

    Parameters
    ----------
    log_c : ndarray
        log C, any numbers.
    log_p, width : ndarray, shape (K,)
        Logarithms of the weights p_k, and the means w_k > 0.

    Returns
    -------
    ndarray
        Same shape as ``log_c``.
    """
    u = threshold(np.atleast_1d(log_c), log_p, width)
    terms = np.stack(
        [
            p + log_gap(u - w, float(w)) + rounding_margin(u - w, float(w))
            for p, w in zip(log_p, width, strict=True)
        ]
    )
    result: Array = np.logaddexp.reduce(terms, axis=0)
    return result.reshape(np.shape(log_c))


def threshold(log_c: Array, log_p: Array, width: Array) -> Array:
    """u with log sum_k p_k exp(w_k u - w_k^2/2) = log C, by Newton from the right.

    The left side is convex and increasing in u, and at least each of its terms: the smallest
    root of a single term is a start from which Newton descends monotonically.
    """
    offset = log_p - 0.5 * width * width
    u: Array = ((log_c[:, None] - offset) / width).min(axis=1)
    for _ in range(_MAX_NEWTON):
        exponent = offset + u[:, None] * width
        peak = exponent.max(axis=1)
        weight = np.exp(exponent - peak[:, None])
        total = weight.sum(axis=1)
        step = (peak + np.log(total) - log_c) * total / (weight @ width)
        u = u - step
        if not (np.abs(step) > 1e-15 * (1 + np.abs(u))).any():
            break
    return u


def log_shrunk(epsilon: Array, q: float) -> Array:
    """log(1 + (exp(ε) - 1)/q), also where exp(ε) overflows."""
    near = np.minimum(epsilon, 1.0)
    far = np.maximum(epsilon, 1.0)
    return np.where(
        epsilon < 1,
        np.log1p(np.expm1(near) / q),
        far - math.log(q) + np.log1p(-(1 - q) * np.exp(-far)),
    )


def log_expm1(x: Array) -> Array:
    """log(exp(x) - 1) for x >= 0, -inf at 0."""
    far = np.maximum(x, 1.0)
    with np.errstate(divide="ignore"):
        near = np.log(np.expm1(np.minimum(x, 1.0)))
    result: Array = np.where(x > 1, far + np.log1p(-np.exp(-far)), near)
    return result


def rounding_margin(start: Array, width: float) -> Array:
    """More than the rounding of ``log_gap`` and of its argument, absolute in the logarithm."""
    size = np.abs(start) + 2
    return _UNIT * (1000 + 16 * size * (size + width))
