"""The Hellinger budget of one step: a certified largest 2 int (sqrt P - sqrt Q)^2."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from accountants.copies import CopyLaw
from accountants.errors import AccuracyError
from accountants.tight.frontier import ATTAINED, first_cover, hellinger, inscribed

Array = NDArray[np.float64]

_SMALLEST_SIGMA = 0.25  # below it the integrals are too expensive
_WANTED = 0.002  # relative excess of the certificate over the largest value found
_MAX_RECTANGLES = 2500
_FIRST_CELLS = 12
_PROBES = 6  # rectangles of each round whose upper corner is evaluated itself
_SPLITS = np.geomspace(5e-4, 0.2, 28)  # shares of the record-free part given to two copies


def closed_form(q: float, sigma: float) -> float:
    """q^2 (exp(4/sigma^2) - 1)/(2 (1-q)), from the chi-square lemma.

    Holds for every configuration; close to the supremum for sigma >= 2 and small q.
    Derived in docs/proofs/adaptive.md, section 3.
    """
    exponent = 4 / sigma**2
    if exponent > 700:
        return math.inf
    return q * q * math.expm1(exponent) / (2 * (1 - q)) * (1 + 1e-14)


@lru_cache(maxsize=256)
def without_replacement(q: float, sigma: float) -> float:
    """Upper bound on the largest 2 int (sqrt P - sqrt Q)^2 of a step without replacement.

    Parameters
    ----------
    q : float
        Batch size over data set size, in (0, 1).
    sigma : float
        Noise multiplier.

    Returns
    -------
    float
        The smallest of the closed form, 4q and a cover of all configurations by rectangles.

    Raises
    ------
    AccuracyError
        If q is 1.
    """
    if not 0 < q < 1:
        raise AccuracyError(f"sampling probability {q:g}: the budget needs 0 < q < 1")
    # (sqrt P - sqrt Q)^2 <= |P - Q|, and P - Q = q (N(u) - N(v)).
    simple = min(closed_form(q, sigma), 4 * q)
    if sigma < _SMALLEST_SIGMA:
        return simple
    attained = float(hellinger(ATTAINED, q, sigma)[0])
    if simple <= attained * (1 + _WANTED):
        return simple
    return min(simple, _cover(q, sigma, attained))


def _cover(q: float, sigma: float, found: float) -> float:
    """Largest bound over a cover that is refined where it is largest."""
    open_ = first_cover(_FIRST_CELLS)
    closed = 0.0
    count = 0
    while True:
        bound = hellinger(open_.dominating(), q, sigma)
        count += len(bound)
        # Triangles themselves (upper corners) raise what is known to be reached.
        top = open_.high[np.argsort(bound)[-_PROBES:]]
        reached = hellinger(inscribed(top[:, 0], top[:, 1]), q, sigma)
        found = max(found, float(reached.max()))
        wide = bound > found * (1 + _WANTED)
        if (~wide).any():
            closed = max(closed, float(bound[~wide].max()))
        if not wide.any():
            return max(closed, found)
        if count > _MAX_RECTANGLES:
            return max(closed, float(bound.max()))
        open_ = open_.where(wide).halved()


def with_replacement(copies: CopyLaw, sigma: float) -> float:
    """Upper bound on the largest 2 int (sqrt P - sqrt Q)^2 of a step with replacement.

    Given which positions hold the record, k copies act like one record without replacement
    with everything scaled by k.  Either all k go through the chi-square lemma, or the part
    without the record is shared out between one copy and two copies, and more than two copies
    are paid in full (docs/proofs/adaptive.md, section 6).

    Parameters
    ----------
    copies : CopyLaw
    sigma : float
    """
    p = np.asarray(copies.probabilities)
    k = np.arange(1, p.size)
    exponent = 4.0 * k * k / sigma**2
    simple = math.inf
    if exponent[-1] < 1000:
        root = float(np.sum(p[1:] * np.exp(0.5 * exponent) * np.sqrt(-np.expm1(-exponent))))
        simple = root * root / (2 * p[0]) * (1 + 1e-12)
    p_2 = float(p[2]) if p.size > 2 else 0.0
    rest = 4 * float(p[3:].sum()) * (1 + 1e-12)
    if p_2 == 0:
        return min(simple, without_replacement(float(p[1] / (p[0] + p[1])), sigma) + rest)

    def parts(share: float) -> tuple[float, float]:
        return float(p[0] * (1 - share) + p[1]), float(p[0] * share + p_2)

    def attained(q: float, scale: float) -> float:
        return float(hellinger(ATTAINED, q, scale)[0]) if scale >= _SMALLEST_SIGMA else 4 * q

    def estimate(share: float) -> float:
        one, two = parts(share)
        return one * attained(p[1] / one, sigma) + two * attained(p_2 / two, sigma / 2)

    values = [estimate(float(share)) for share in _SPLITS]
    if simple <= (1 + _WANTED) * (min(values) + rest):
        return simple
    share = float(_SPLITS[int(np.argmin(values))])
    one, two = parts(share)
    split = one * without_replacement(float(p[1] / one), sigma)
    split += two * without_replacement(p_2 / two, sigma / 2)
    return min(simple, split * (1 + 1e-12) + rest)
