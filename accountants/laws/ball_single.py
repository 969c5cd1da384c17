"""δ(ε) in closed form, in balls: plain Gaussian releases, and one use of any pair."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from accountants.laws.ball_cuts import grid
from accountants.laws.ball_masses import Masses
from accountants.laws.ball_pairs import LocationPair, TablePair, ball, exact_fraction


def gaussian(gap_squared: Fraction, epsilon: Any) -> Any:
    """δ of N(gap, 1) against N(0, 1): Φ(g/2 - ε/g) - e^ε Φ(-g/2 - ε/g)."""
    gap = ball(gap_squared).sqrt()
    half, shift = gap / 2, epsilon / gap
    root = flint.arb(2).sqrt()
    return (((shift - half) / root).erfc() - epsilon.exp() * ((shift + half) / root).erfc()) / 2


def table(pair: TablePair, epsilon: Any) -> Any:
    """Sum of (P - e^ε Q)+ over a table."""
    total = flint.arb(0)
    for p, q in zip(pair.first, pair.second, strict=True):
        excess = ball(p) - epsilon.exp() * ball(q)
        if not excess <= 0:
            total = total + excess.nonnegative_part()
    return total


def location_lower(pair: LocationPair, masses: Masses, epsilon: Any, reach: float) -> Any:
    """P(S) - e^ε Q(S) for the set S where the loss is above ε, as well as doubles find it.

    A lower bound for any S.
    """
    normal = pair.noise == "normal"
    x = grid(masses, reach, normal)
    excess = masses.log_ratio(x) - float(epsilon)
    inside = excess > 0
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    places = [_root(masses, epsilon, float(x[i]), float(x[i + 1])) for i in edges]
    ends: list[Any] = [None, *(masses.at(place) for place in places), None]
    total = flint.arb(0)
    weight = epsilon.exp()
    for i in range(len(ends) - 1):
        if bool(inside[0]) == (i % 2 == 0):
            first, second = masses.between(ends[i], ends[i + 1])
            total = total + (first - weight * second)
    return total


def _root(masses: Masses, epsilon: Any, low: float, high: float) -> Any:
    """Where the loss is ε, by bisection in doubles and secant steps in balls (an exact point)."""
    target = float(epsilon)
    sign = float(masses.log_ratio(np.array([high]))[0]) > target
    for _ in range(60):
        middle = 0.5 * (low + high)
        if (float(masses.log_ratio(np.array([middle]))[0]) > target) == sign:
            high = middle
        else:
            low = middle
    at = flint.arb(0.5 * (low + high))
    width = flint.arb(max(1e-9 * abs(float(at)), 1e-12))
    for _ in range(4):
        here = masses.density_ratio(at).log() - epsilon
        slope = (masses.density_ratio(at + width).log() - epsilon - here) / width
        if not abs(slope) > 0:
            break
        move = (here / slope).mid()
        if not abs(move) < 1e-3 * (1 + abs(at)):
            break
        at = (at - move).mid()
    return at


def location_upper(pair: LocationPair, masses: Masses, epsilon: Any, reach: float) -> Any:
    """Upper end of the same for a monotone loss: P beyond a point before the crossing of ε less
    e^ε times Q beyond a point after it; ``masses`` are taken given the copies that are kept.
    """
    assert pair.monotone
    if not masses.normal and pair.plain and pair.gap_squared <= exact_fraction(epsilon) ** 2:
        return masses.lost  # no loss is above the gap, which may be ε itself
    most = extremes(pair)[1]
    if most is not None and most <= epsilon:
        return masses.lost
    normal = pair.noise == "normal"
    x = grid(masses, reach, normal)
    increasing = pair.first > pair.second
    centers = masses.centers
    low, high = float(min(x[0], centers.min() - reach)), float(max(x[-1], centers.max() + reach))
    weight = epsilon.exp()

    def above(at: Any) -> bool | None:
        ratio = masses.density_ratio(at)
        return True if ratio > weight else (False if ratio < weight else None)

    def side(at: Any) -> tuple[Any, Any]:
        cut = masses.at(at)
        return masses.between(cut, None) if increasing else masses.between(None, cut)

    poor: Any = flint.arb(low if increasing else high)  # the loss is at most ε here
    rich: Any = flint.arb(high if increasing else low)
    if above(poor) is not False:
        poor = None
    if above(rich) is not True:
        rich = None
    if poor is None and rich is None:
        return flint.arb(1)
    size = flint.arb(2) ** (-flint.ctx.prec // 3)
    if poor is not None and rich is not None:
        middle = _root(masses, epsilon, low, high)
        for _ in range(flint.ctx.prec // 12 + 4):
            for at in (middle - size, middle + size):
                found = above(at)
                if found is True and (at < rich if increasing else at > rich):
                    rich = at.mid()
                elif found is False and (at > poor if increasing else at < poor):
                    poor = at.mid()
            size = size * 16
        size = flint.arb(2) ** (-flint.ctx.prec // 3)
    while poor is not None and rich is not None:  # bisection, as far as the bits go
        middle = ((poor + rich) / 2).mid()
        found = above(middle)
        if found is None or abs(rich - poor) < abs(middle) * size + size:
            break
        poor, rich = (poor, middle) if found else (middle, rich)
    first = flint.arb(1) if poor is None else side(poor)[0]
    second = flint.arb(0) if rich is None else side(rich)[1]
    value = first - weight * second
    return (1 - masses.lost) * value + masses.lost


def reach_for(log_delta: float) -> float:
    """How far from the means outputs can matter at a δ, in units of the noise."""
    return math.sqrt(2 * (max(0.0, -log_delta) + 60.0))


def extremes(pair: LocationPair) -> tuple[Any, Any]:
    """Smallest and largest loss of a monotone pair (None: no bound)."""
    if pair.noise == "laplace":
        scale = ball(pair.variance).sqrt()
        zero, a, b = flint.arb(0), ball(pair.first) / scale, ball(pair.second) / scale
        q, rest = ball(pair.share), ball(1 - pair.share)
        ends = []
        for sign in (-1, 1):  # far left and far right the noise's density is exp(sign x)
            ends.append(
                ((rest + q * (sign * a).exp()) / (rest + q * (sign * b).exp())).log() + zero
            )
        return (ends[0], ends[1]) if pair.first > pair.second else (ends[1], ends[0])
    absent = (pair.draws * ball(-pair.share).log1p()) if not pair.plain else None
    if absent is None:
        return None, None
    # With all of one side at 0, the ratio is at least, or at most, that of no copies at all.
    low = absent if pair.second == 0 and pair.first > 0 else None
    high = -absent if pair.first == 0 and pair.second > 0 else None
    if pair.second == 0 and pair.first < 0:
        low = absent
    if pair.first == 0 and pair.second < 0:
        high = -absent
    return low, high
