"""Amplification of any truncated base curve by sampling, numerically.

Of the mechanism only its base curve is known: changing k positions of a batch costs at most
k^2 rho a at order a < omega/k.  The bound below is a finite sum, at every real order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from accountants import validation
from accountants.copies import CopyLaw
from accountants.mixtures import log_expm1
from accountants.rounding import below
from accountants.tcdp.amplification import OutsideRegionError
from accountants.tcdp.curve import ApproximateTruncatedCdp, TruncatedCdp

Array = NDArray[np.float64]

_UP = 1 + 1e-11  # above the rounding of logarithms, gamma functions and exponentials
_LARGEST_ORDER = 4000


def log_moments(law: CopyLaw, base: TruncatedCdp, largest: int) -> Array:
    """log of bounds on E|P/Q - 1|^j under Q, j = 0 … ``largest``.

    Parameters
    ----------
    law : CopyLaw
        Number of copies of the record in a batch, given that it is at most kappa.
    base : TruncatedCdp
        Curve for one position of a batch.
    largest : int
        >= 2.

    Returns
    -------
    ndarray, shape (largest + 1,)
        -inf for j = 0, 1 (not used) and +inf where kappa copies leave no order.
    """
    allowed = "a finite number > 0"
    validation.require(0 < base.rho < math.inf, "base.rho", base.rho, allowed)
    j = np.arange(2, largest + 1, dtype=np.float64)[:, None]
    k = np.arange(1, law.largest + 1, dtype=np.float64)
    rho = base.rho * k * k
    at_two = log_expm1(2 * rho)  # order 2 costs 2 rho, moment exp((2-1) 2 rho)
    exponent = j * (j - 1) * rho * (1 + 1e-15)
    with np.errstate(over="ignore"):
        both = np.logaddexp(at_two, log_expm1(exponent)) + j * math.log(2)
    bound = np.minimum(exponent + math.log(2), both)
    bound[0] = np.minimum(at_two + math.log(4), 2 * rho + math.log(2))
    bound = np.where(k * j <= base.omega, bound, np.inf)
    log_p = np.log(np.maximum(np.array(law.probabilities[1:]), 5e-324))
    total = special.logsumexp(bound + log_p, axis=1)
    result = np.full(largest + 1, -np.inf)
    result[2:] = total + (j[:, 0] - 1) * math.log(law.present) + 1e-11
    return result


def renyi_upper(law: CopyLaw, base: TruncatedCdp, order: ArrayLike) -> Array:
    """Upper bound on the Rényi divergence given K <= kappa, at real orders.

    Parameters
    ----------
    law, base
        As in ``log_moments``.
    order : array_like, shape (A,)
        Orders in (1, 4000).

    Returns
    -------
    ndarray, shape (A,)
        ``inf`` from the first order that the base curve does not reach.

    Notes
    -----
    With b the integer part of a and m_j the moments: E (P/Q)^a - 1 is at most
    sum_(j=2)^(b+1) C(a, j) m_j + |C(a-1, b+1)| m_(b+2); derived in
    docs/proofs/truncated-cdp.md.  At an integer order this is the binomial sum up to a.  Its
    logarithm is also below the chord between the integers, as that of the true moment is; and
    without any sampling kappa changed positions cost kappa^2 rho a.
    """
    a = np.atleast_1d(np.asarray(order, dtype=np.float64))
    inside = bool(np.all((a > 1) & (a < _LARGEST_ORDER)))
    validation.require(inside, "order", order, f"orders in (1, {_LARGEST_ORDER})")
    if base.rho in (0.0, math.inf):
        return np.full_like(a, base.rho)
    b = np.floor(a)
    cumulant = _series(law, base, np.concatenate([a, b, b + 1]))
    here, left, right = np.split(cumulant, 3)
    with np.errstate(invalid="ignore"):
        chord = np.where(a == b, left, left + (a - b) * (right - left))
    unsampled = base.group(law.largest).divergence(a) if law.largest < base.omega else np.inf
    return np.minimum(np.fmin(here, chord) / (a - 1) * _UP, unsampled)


def _series(law: CopyLaw, base: TruncatedCdp, a: Array) -> Array:
    """Bound on log E (P/Q)^a; 0 at a = 1."""
    b = np.floor(a)
    j = np.arange(int(b.max()) + 3, dtype=np.float64)
    moments = log_moments(law, base, j.size - 1)
    used = (j >= 2) & (j <= b[:, None] + 1)
    with np.errstate(invalid="ignore"):
        coefficient = _log_binomial(a[:, None], np.where(used, j, 0.0))
        terms = np.where(used, coefficient + moments, -np.inf)
        rest = _log_binomial(a - 1, b + 1) + moments[(b + 2).astype(int)]
    whole = a == b  # there the last two coefficients vanish, whatever the moments
    terms[whole, (b[whole] + 1).astype(int)] = -np.inf
    rest[whole] = -np.inf
    log_excess: Array = np.logaddexp(special.logsumexp(terms, axis=1), rest)
    return np.logaddexp(0.0, log_excess)


def best_rho(law: CopyLaw, base: TruncatedCdp, omega: ArrayLike) -> Array:
    """Smallest rho' known here with D_a <= rho' a for all real 1 < a <= ``omega``.

    Parameters
    ----------
    law, base
        As in ``log_moments``.
    omega : array_like, shape (W,)
        Orders at which the new curve ends, in (1, 4000).

    Returns
    -------
    ndarray, shape (W,)
        ``inf`` where the base curve does not reach.

    Notes
    -----
    Between integers b and b + 1 the smaller of two bounds is taken, for the whole piece: the
    chord of (a-1) D_a, which is convex, over a(a-1); and the sum of ``renyi_upper`` over
    a(a-1), whose terms increase in a except for the last, which is bounded by itself.
    """
    w = np.atleast_1d(np.asarray(omega, dtype=np.float64))
    inside = bool(np.all((w > 1) & (w < _LARGEST_ORDER)))
    validation.require(inside, "omega", omega, f"orders in (1, {_LARGEST_ORDER})")
    if base.rho in (0.0, math.inf):
        return np.full_like(w, base.rho)
    top = math.ceil(w.max())
    moments = log_moments(law, base, top + 1)
    ends = np.arange(2, top + 1, dtype=np.float64)
    starts = ends - 1
    scaled = np.concatenate([[0.0], _series(law, base, ends)])
    with np.errstate(over="ignore", invalid="ignore"):
        chord = _largest_ratio(scaled[:-1], scaled[1:], starts)
        inner = np.expm1(scaled[1:]) / (ends * starts)
        # |C(a-1, b+1)|/(a(a-1)) <= (b-1)!/(b (b+1)!) for b <= a <= b+1
        log_rest = moments[3:] - 2 * np.log(starts) - np.log(ends)
        pieces = np.fmin(chord, inner + np.exp(log_rest))
    pieces[np.isnan(pieces)] = np.inf
    rho: Array = np.maximum.accumulate(pieces)[np.ceil(w).astype(int) - 2] * _UP
    if law.largest >= base.omega:
        return rho
    whole = base.group(law.largest)
    return np.where(w <= whole.omega, np.minimum(rho, whole.rho), rho)


def _largest_ratio(start: Array, end: Array, b: Array) -> Array:
    """Largest value on [b, b+1] of the line from ``start`` to ``end`` over a(a-1)."""
    slope = end - start
    # (c + slope t)/((b+t)(b+t-1)), t in [0,1]: stationary where
    # slope t^2 + 2 c t + c(2b-1) - slope b(b-1) = 0.
    c = start
    constant = c * (2 * b - 1) - slope * b * (b - 1)
    root = np.sqrt(np.maximum(c * c - slope * constant, 0.0))
    t = np.where(slope > 0, (root - c) / np.where(slope > 0, slope, 1.0), 0.0)
    t = np.clip(t, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        tried = [(c + slope * at) / ((b + at) * (b + at - 1)) for at in (0.0, t, 1.0)]
    first = b == 1  # there start = 0 and the ratio is slope/a
    return np.where(first, slope, np.fmax.reduce(tried))


def sampled_curve(law: CopyLaw, base: TruncatedCdp, omega: float) -> ApproximateTruncatedCdp:
    """Truncated curve of a sampled mechanism of which only its base curve is known.

    Parameters
    ----------
    law : CopyLaw
        Copies of one record in a batch, truncated at kappa; its tail is carried.
    base : TruncatedCdp
        Curve of the mechanism on a batch, for replacing one position.
    omega : float
        Order at which the new curve ends, in (1, 4000).

    Returns
    -------
    ApproximateTruncatedCdp

    Raises
    ------
    OutsideRegionError
        If kappa copies leave the base curve no order up to ``omega``, rounded up to an
        integer and one more.
    """
    rho = float(best_rho(law, base, omega)[0])
    if not rho < math.inf:
        reach = below(base.omega / law.largest)
        raise OutsideRegionError(
            f"omega={omega!r}: {law.largest} copies leave the base curve orders up to "
            f"{reach:.6g}, and the sum overflows or does not reach that far"
        )
    return ApproximateTruncatedCdp(TruncatedCdp(rho, omega), law.tail)


def _log_binomial(a: Array, j: Array) -> Array:
    """log|C(a, j)|; -inf where it is 0."""
    value: Array = special.gammaln(a + 1) - special.gammaln(j + 1) - special.gammaln(a - j + 1)
    return value
