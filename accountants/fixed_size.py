"""Privacy profiles of one release on a batch of fixed size under REPLACE_ONE.

Each function bounds log δ of one release, for all neighbouring data sets and both orders, at
every ε >= 0; for ε < 0 the relation is its own mirror image.  Derived in
docs/proofs/fixed-size.md.  Values are rounded up: they bound what exact arithmetic would give.
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
    with np.errstate(divide="ignore"):
        log_growth = log_expm1(e)
    weight = log_growth + math.log(copies.absent / eta) - inner
    first = weight + _excess(np.logaddexp(log_growth, math.log(eta)), copies, sigma)
    second = e - inner + _log_coupled(inner, copies, sigma)
    return np.minimum(np.logaddexp(first, second), 0.0)


def log_h2(epsilon: ArrayLike, copies: CopyLaw, sigma: float) -> Array:
    """integral of (sum_{k>=1} p_k N(2k) - ((a-1) p_0 + a p_1) N(0))_+, a = exp(ε)."""
    e = np.asarray(epsilon, dtype=np.float64)
    p_0, p_1 = copies.probabilities[:2]
    with np.errstate(divide="ignore"):
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
