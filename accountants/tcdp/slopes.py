"""The smallest slope known here of a sampled Gaussian's curve, also where moments are large.

max(I(1), I(w)) bounds the moment of order w, and is far too large once that moment is; there its
logarithm is used.  log E (P/Q)^a is convex in a, so that between two orders it lies below the
chord of upper bounds, and the slope on that piece is the largest value of chord/(a(a-1)).
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants import validation
from accountants.copies import CopyLaw
from accountants.tcdp import sampled_gaussian

Array = NDArray[np.float64]

_STEPS = 8  # orders for each doubling of a - 1
_WORTH = 0.97  # how much smaller the logarithm must be for the pieces to be worth their time
_SMALL = 1e-3  # moments up to here need no logarithm


def best_slope(law: CopyLaw, gap: float, omega: ArrayLike) -> Array:
    """Smallest rho known here with D_a <= rho a for 1 < a <= ``omega``, given K <= kappa.

    Parameters
    ----------
    law : CopyLaw
    gap : float
        Shift of one copy over the noise standard deviation, > 0.
    omega : array_like, shape (W,)
        Orders > 1.

    Returns
    -------
    ndarray, shape (W,)
        At most ``sampled_gaussian.rho_upper``; derived in docs/proofs/truncated-cdp.md.
    """
    w = np.atleast_1d(np.asarray(omega, dtype=np.float64))
    validation.require(bool(np.all(w > 1)), "omega", omega, "orders > 1")
    whole = 0.5 * (law.largest * gap) ** 2
    logs = sampled_gaussian.log_integrals(law, gap, np.concatenate([[1.0], w]))
    with np.errstate(over="ignore"):
        plain = np.exp(np.maximum(logs[0], logs[1:]))
    ratio = np.logaddexp(0.0, np.log(w) + np.log(w - 1) + logs[1:]) / (w * (w - 1))
    worth = ratio < _WORTH * np.minimum(plain, whole)
    if np.any(worth):
        plain[worth] = np.minimum(plain[worth], _by_pieces(law, gap, w[worth], logs[1:][worth]))
    result: Array = np.minimum(plain, whole)
    return result * (1 + 1e-12)


@functools.lru_cache(maxsize=1024)
def _octave(law: CopyLaw, gap: float, octave: int) -> tuple[Array, Array]:
    """Orders with 2^octave <= a - 1 < 2^(octave + 1), and log I there."""
    at = 1 + 2.0 ** (octave + np.arange(_STEPS) / _STEPS)
    return at, sampled_gaussian.log_integrals(law, gap, at)


def _by_pieces(law: CopyLaw, gap: float, w: Array, log_i_w: Array) -> Array:
    """Slope from the pieces of a fixed grid, and one from its last order below to each ``w``."""
    log_first = float(sampled_gaussian.log_integrals(law, gap, 1.0)[0])
    start = 0.5 * (math.log(_SMALL) - log_first) / math.log(2)
    last = math.floor(math.log2(w.max() - 1))
    first = min(math.floor(start), math.floor(math.log2(w.min() - 1)) - 1)
    parts = [_octave(law, gap, octave) for octave in range(first, last + 1)]
    at, log_i = (np.concatenate(part) for part in zip(*parts, strict=True))
    cumulant, cumulant_w = _cumulant(at, log_i), _cumulant(w, log_i_w)
    below = np.searchsorted(at, w) - 1
    with np.errstate(over="ignore"):
        # I is convex; up to the first order of the grid nothing else is used.
        up_to_first = math.exp(max(log_first, float(log_i[0])))
        pieces = np.exp(np.maximum(log_i[:-1], log_i[1:]))
        partial = np.exp(np.maximum(log_i[below], log_i_w))
    pieces = np.minimum(pieces, chord_slope(at[:-1], at[1:], cumulant[:-1], cumulant[1:]))
    partial = np.minimum(partial, chord_slope(at[below], w, cumulant[below], cumulant_w))
    covered = np.maximum.accumulate(np.concatenate([[up_to_first], pieces]))
    slope: Array = np.maximum(covered[below], partial)
    return slope


def _cumulant(a: Array, log_i: Array) -> Array:
    """log(1 + a(a-1) I(a))."""
    value: Array = np.logaddexp(0.0, np.log(a) + np.log(a - 1) + log_i)
    return value


def chord_slope(start: Array, end: Array, first: Array, last: Array) -> Array:
    """Largest value over a(a-1) of the line from (start, first) to (end, last).

    Parameters
    ----------
    start, end : ndarray, shape (J,)
        Orders > 1, start < end.
    first, last : ndarray, shape (J,)
        Values there.

    Returns
    -------
    ndarray, shape (J,)
    """
    rise = (last - first) / (end - start)
    level = first - rise * start
    # (level + rise a)/(a(a-1)) is stationary where rise a^2 + 2 level a - level = 0.
    root = np.sqrt(np.maximum(level * level + rise * level, 0.0)) - level
    turn = np.clip(root / np.maximum(rise, 1e-300), start, end)
    tried = [(level + rise * a) / (a * (a - 1)) for a in (start, turn, end)]
    top: Array = np.maximum.reduce(tried)
    # Near its top the ratio is flat: a misplaced turn costs the square of its rounding.  Near
    # order 1 the two terms of the line cancel.
    return top * (1 + 1e-12 + 4e-15 * start / (start - 1))
