"""Privacy profiles of one release on a batch of fixed size, under the two replacements.

Under REPLACE_ONE each function bounds log δ of one release, for all neighbouring data sets and
both orders, at every ε >= 0; for ε < 0 the relation is its own mirror image.  REPLACE_SPECIAL
has one profile from the real record and one to it, each the other's mirror image for ε < 0.
Derived in docs/proofs/fixed-size.md.  Values are rounded up: they bound what exact arithmetic
would give.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants.copies import CopyLaw
from accountants.mixtures import log_excess, log_expm1, log_shrunk, rounding_margin
from accountants.profiles import log_gap

Array = NDArray[np.float64]


def log_without_replacement(epsilon: ArrayLike, q: float, sigma: float) -> Array:
    """log of q delta_2(log(1 + (exp(ε) - 1)/q)): attained, without replacement.

    Parameters
    ----------
    epsilon : array_like
        ε >= 0.
    q : float
        Batch size over data set size, in (0, 1].
    sigma : float
        Noise multiplier > 0.

    Returns
    -------
    ndarray
        Same shape as ``epsilon``.
    """
    inner = log_shrunk(np.asarray(epsilon, dtype=np.float64), q)
    width = 2 / sigma
    start = inner / width - 0.5 * width
    value: Array = math.log(q) + log_gap(start, width) + rounding_margin(start, width)
    return np.minimum(value, 0.0)


def log_balle(epsilon: ArrayLike, copies: CopyLaw, sigma: float) -> Array:
    """log of sum_k p_k delta_2k(log(1 + (exp(ε) - 1)/eta)), eta = P(K >= 1).

    Balle, Barthe and Gaboardi (NeurIPS 2018); with replacement, exact at ε = 0.
    """
    inner = log_shrunk(np.asarray(epsilon, dtype=np.float64), copies.present)
    return np.minimum(_log_coupled(inner, copies, sigma), 0.0)


def log_h1(epsilon: ArrayLike, copies: CopyLaw, sigma: float) -> Array:
    """Advanced joint convexity with the record's whole mixture against the common part.

    (1-b) eta H_a(mixture of k >= 1 copies || N(0)) + b sum_k p_k delta_2k(log a), with
    a = 1 + (exp(ε) - 1)/eta and b = exp(ε)/a; never above ``log_balle``.
    """
    e = np.asarray(epsilon, dtype=np.float64)
    eta = copies.present
    inner = log_shrunk(e, eta)
    log_growth = log_expm1(e)
    weight = log_growth + math.log(copies.absent / eta) - inner
    first = weight + _excess(np.logaddexp(log_growth, math.log(eta)), copies, sigma)
    second = e - inner + _log_coupled(inner, copies, sigma)
    return np.minimum(np.logaddexp(first, second), 0.0)


def log_h2(epsilon: ArrayLike, copies: CopyLaw, sigma: float) -> Array:
    """integral of (sum_{k>=1} p_k N(2k) - ((a-1) p_0 + a p_1) N(0))_+, a = exp(ε)."""
    e = np.asarray(epsilon, dtype=np.float64)
    p_0, p_1 = copies.probabilities[:2]
    log_c = np.logaddexp(log_expm1(e) + math.log(p_0 + p_1), math.log(p_1))
    return np.minimum(_excess(log_c, copies, sigma), 0.0)


def log_with_replacement(epsilon: ArrayLike, copies: CopyLaw, sigma: float) -> Array:
    """The smallest of ``log_h1``, ``log_h2`` and ``log_balle`` at each ε.

    Parameters
    ----------
    epsilon : array_like
        ε >= 0.
    copies : CopyLaw
        Number of copies of a record, given that it is at most kappa: the bound holds for that
        conditional law, and ``copies.tail`` is to be carried in δ.
    sigma : float
        Noise multiplier > 0.

    Returns
    -------
    ndarray
        Same shape as ``epsilon``.
    """
    found = np.minimum(log_h1(epsilon, copies, sigma), log_h2(epsilon, copies, sigma))
    return np.minimum(found, log_balle(epsilon, copies, sigma))


def log_real_to_special(epsilon: ArrayLike, q: float, sigma: float) -> Array:
    """log of q H_a(N(2)||(1-b)N(0)+bN(1)), a = 1 + (exp(ε) - 1)/q, b = exp(ε)/a.

    REPLACE_SPECIAL without replacement, output from the real record; attained.
    """
    e = np.asarray(epsilon, dtype=np.float64)
    gap = 1 / sigma
    # With t = exp(g u): t^2 exp(-2g^2) - exp(ε) exp(-g^2/2) t - (a - exp(ε)) = 0.
    log_rest = log_expm1(e) + (math.log1p(-q) - math.log(q) if q < 1 else -math.inf)
    log_b = e - 0.5 * gap * gap
    log_root = 0.5 * np.logaddexp(2 * log_b, math.log(4) - 2 * gap * gap + log_rest)
    u = (np.logaddexp(log_b, log_root) - math.log(2) + 2 * gap * gap) / gap
    log_ratio = 2 * gap * u - 2 * gap * gap
    start = u - 2 * gap
    far = log_rest - log_ratio + log_gap(start, 2 * gap) + rounding_margin(start, 2 * gap)
    near = e + gap * u - 0.5 * gap * gap - log_ratio
    near = near + log_gap(start, gap) + rounding_margin(start, gap)
    # The root's rounding moves the value to second order only; its weights to first.
    margin = 64 * 2.0**-53 * (np.abs(log_ratio) + np.abs(e) + 8)
    return np.minimum(math.log(q) + np.logaddexp(far, near) + margin, 0.0)


def log_special_to_real(epsilon: ArrayLike, q: float, sigma: float) -> Array:
    """log of q delta_1(log(1 + (exp(ε) - 1)/q)): REPLACE_SPECIAL without replacement, attained."""
    return log_without_replacement(epsilon, q, 2 * sigma)


def log_real_to_special_copies(epsilon: ArrayLike, copies: CopyLaw, sigma: float) -> Array:
    """REPLACE_SPECIAL with replacement, output from the real record.

    The smaller of (1-b) eta H_a(mixture || N(0)) + b sum_k p_k delta_k(log a) and
    integral of (sum_{k>=1} p_k N(2k) - (exp(ε)-1) p_0 N(0) - exp(ε) p_1 N(1))_+.
    """
    e = np.asarray(epsilon, dtype=np.float64)
    eta = copies.present
    inner = log_shrunk(e, eta)
    log_growth = log_expm1(e)
    weight = log_growth + math.log(copies.absent / eta) - inner
    first = weight + _excess(np.logaddexp(log_growth, math.log(eta)), copies, sigma)
    second = e - inner + _log_coupled(inner, copies, 2 * sigma)
    other = log_excess_over_two(e, copies, sigma)
    return np.minimum(np.minimum(np.logaddexp(first, second), other), 0.0)


def log_special_to_real_copies(epsilon: ArrayLike, copies: CopyLaw, sigma: float) -> Array:
    """REPLACE_SPECIAL with replacement, output from the special record.

    The smaller of sum_k p_k delta_k(log a) and ``log_h2`` with half the shifts.
    """
    inner = log_shrunk(np.asarray(epsilon, dtype=np.float64), copies.present)
    coupled = np.minimum(_log_coupled(inner, copies, 2 * sigma), 0.0)
    return np.minimum(coupled, log_h2(epsilon, copies, 2 * sigma))


def log_excess_over_two(epsilon: Array, copies: CopyLaw, sigma: float) -> Array:
    """log of the integral of (sum_{k>=1} p_k N(2k) - (a-1) p_0 N(0) - a p_1 N(1))_+, a = exp(ε).

    The ratio of the two sides increases in the output, so that the integral is a tail.  At its
    threshold u each p_k N(2k) is set against N(0) and N(1) in the shares that they have there,
    which leaves positive terms only.
    """
    e = np.atleast_1d(epsilon)
    gap = 1 / sigma
    k = np.arange(1, copies.largest + 1, dtype=np.float64)
    log_p, width = np.log(copies.probabilities[1:]), 2 * k * gap
    rest = log_expm1(e) + math.log(copies.probabilities[0])
    near = e + log_p[0]

    def sides(u: Array) -> tuple[Array, Array, Array, Array]:
        exponent = log_p + width * (u[:, None] - 0.5 * width)
        ours = np.logaddexp.reduce(exponent, axis=1)
        own = near + gap * (u - 0.5 * gap)
        theirs = np.logaddexp(rest, own)
        slope = np.exp(exponent - ours[:, None]) @ width - gap * np.exp(own - theirs)
        return ours, own, theirs, slope

    # The difference of the logarithms increases by at least g: Newton kept inside a bracket.
    low, high = np.full_like(e, -gap - 40.0), gap + 40.0 + (e + 8 - log_p[0]) / gap
    u = high
    for _ in range(100):
        ours, own, theirs, slope = sides(u)
        below = ours < theirs
        low, high = np.where(below, u, low), np.where(below, high, u)
        step = (theirs - ours) / slope
        if not (np.abs(step) > 1e-15 * (1 + np.abs(u))).any():
            break
        inside = (u + step > low) & (u + step < high)
        u = np.where(inside, u + step, 0.5 * (low + high))
    ours, own, _, _ = sides(u)
    terms = []
    for p, w in zip(log_p, width, strict=True):
        start = u - w
        against_none = rest - ours + log_gap(start, float(w)) + rounding_margin(start, float(w))
        narrow = float(w) - gap
        against_one = own - ours + log_gap(start, narrow) + rounding_margin(start, narrow)
        terms.append(p + np.logaddexp(against_none, against_one))
    margin = 64 * 2.0**-53 * (np.abs(ours) + np.abs(e) + 8)
    result: Array = np.logaddexp.reduce(np.stack(terms), axis=0) + margin
    return result.reshape(np.shape(epsilon))


def _excess(log_c: Array, copies: CopyLaw, sigma: float) -> Array:
    """log of the integral of (sum_{k>=1} p_k N(2k) - C N(0))_+, rounded up."""
    k = np.arange(1, copies.largest + 1, dtype=np.float64)
    return log_excess(log_c, np.log(copies.probabilities[1:]), 2 * k / sigma)


def _log_coupled(inner: Array, copies: CopyLaw, sigma: float) -> Array:
    """log of sum_k p_k delta_2k(inner), rounded up."""
    terms = []
    for k, p in enumerate(copies.probabilities[1:], start=1):
        width = 2 * k / sigma
        start = inner / width - 0.5 * width
        terms.append(math.log(p) + log_gap(start, width) + rounding_margin(start, width))
    result: Array = np.logaddexp.reduce(np.stack(terms), axis=0)
    return result
