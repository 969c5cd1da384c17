"""Amplification by sampling from nothing but a base mechanism's group curve.

The base mechanism acts on tuples of m records; eps_k(j) bounds its Rényi divergence of order j
when k positions change.  Sampling the tuple gives, at whole orders a >= 2,

    exp((a-1) D_a) <= 1 + sum_{j=2}^a C(a,j) eta^(j-1) sum_{k>=1} p_k B_j(k),

    B_2 = min(4 (e^{eps_k(2)} - 1), 2 e^{eps_k(2)}),
    B_j = min(2 e^{(j-1) eps_k(j)}, 2^j [e^{eps_k(2)} + e^{(j-1) eps_k(j)} - 2]),

with p_k the law of the number k of positions that hold the record and eta = P(k >= 1), and between
whole orders the chord of (a-1) D_a (derived in docs/proofs/renyi.md).  It holds for any mechanism
and is about four times what a Gaussian one really needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from accountants import validation
from accountants.copies import CopyLaw
from accountants.mixtures import log_expm1
from accountants.renyi.series import ROUND

Array = NDArray[np.float64]
#: From a number of copies j >= 1 and orders to the divergence of j substituted records.
GroupCurve = Callable[[int, Array], ArrayLike]

_LARGEST_ORDER = 4096


def gaussian_group(shift: float, noise_multiplier: float) -> GroupCurve:
    """Group curve of a Gaussian release: order * (k shift / noise multiplier)^2 / 2.

    Parameters
    ----------
    shift : float
        How far one changed position moves the sum, in clip norms, > 0.
    noise_multiplier : float
        > 0.
    """
    gap = validation.real("shift", shift) / validation.noise_multiplier(noise_multiplier)
    validation.require(0 < gap < math.inf, "shift", shift, "such that shift/noise is positive")
    return lambda k, orders: 0.5 * (k * gap) ** 2 * orders


def amplified(group: GroupCurve, copies: CopyLaw, orders: ArrayLike) -> Array:
    """Rényi curve of a mechanism on a random batch.

    Parameters
    ----------
    group : callable
        ``group(k, j)``: divergences of whole orders j (an array) for k changed positions, or
        upper bounds on them; any two of the three tuples that sampling couples.
    copies : CopyLaw
        Law of the number of positions, given that it is at most kappa: the curve is conditional,
        and ``copies.tail`` is to be carried in δ.  Without replacement: p_0 = 1 - m/n, p_1 = m/n.
    orders : array_like
        Orders in (1, 4096].

    Returns
    -------
    ndarray
        Same shape as ``orders``; upper bounds in nats, ``inf`` where the base curve is.

    Raises
    ------
    ValueError
        If an order or a value of the group curve is outside its domain.
    """
    asked = np.asarray(orders, dtype=np.float64)
    allowed = f"numbers in (1, {_LARGEST_ORDER}]"
    good = bool(((asked > 1) & (asked <= _LARGEST_ORDER)).all())
    validation.require(good, "orders", orders, allowed)
    if asked.size == 0:
        return asked.copy()
    top = math.ceil(float(asked.max()))
    whole = np.concatenate(([0.0], _whole(group, copies, top)))  # (a-1) D_a at a = 1, 2, …
    low = np.floor(asked).astype(np.intp)
    part = asked - low
    with np.errstate(invalid="ignore"):
        upper = np.where(part > 0, part * whole[np.minimum(low, top - 1)], 0.0)
        chord = np.where(part < 1, (1 - part) * whole[low - 1], 0.0) + upper
    value: Array = chord / (asked - 1) * (1 + 16 * ROUND)
    return value


def _whole(group: GroupCurve, copies: CopyLaw, top: int) -> Array:
    """(a - 1) D_a at a = 2 … ``top``."""
    j = np.arange(2.0, top + 1)
    eta = copies.present
    log_terms = np.full(j.shape, -math.inf)
    with np.errstate(over="ignore", divide="ignore"):
        for k, p in enumerate(copies.probabilities[1:], 1):
            if p > 0:
                log_terms = np.logaddexp(log_terms, math.log(p) + _log_b(_curve(group, k, j), j))
        log_terms += (j - 1) * math.log(eta)
        # rows: a; columns: j <= a
        a = j[:, None]
        binomial = (
            special.gammaln(a + 1)
            - special.gammaln(j + 1)
            - special.gammaln(np.maximum(a - j, 0) + 1)
        )
        table = np.where(j <= a, binomial + log_terms, -math.inf)
        peak = table.max(axis=1)
        safe = np.where(np.isfinite(peak), peak, 0.0)
        with np.errstate(under="ignore"):
            log_excess = safe + np.log(np.exp(table - safe[:, None]).sum(axis=1))
        # gammaln is good to about 1e-15 of its own size
        log_excess += 1e-14 * (1 + special.gammaln(a[:, 0] + 1))
        result: Array = np.where(np.isfinite(peak), np.logaddexp(0.0, log_excess), peak)
    return result


def _curve(group: GroupCurve, k: int, j: Array) -> Array:
    values = np.asarray(group(k, j), dtype=np.float64)
    good = values.shape == j.shape and bool((values >= 0).all())
    validation.require(good, "group", group, "a function whose values are numbers >= 0")
    return values


def _log_b(curve: Array, j: Array) -> Array:
    """log B_j for one k."""
    second = curve[0]
    power = (j - 1) * curve
    both = np.logaddexp(log_expm1(np.full_like(j, second)), log_expm1(power))
    value = np.minimum(math.log(2) + power, j * math.log(2) + both)
    # at j = 2 the two halves coincide: 4 (e^eps - 1)
    value[0] = min(math.log(2) + second, math.log(4) + float(log_expm1(np.array([second]))[0]))
    return value
