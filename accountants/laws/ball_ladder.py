"""Cuts between outputs such that what lies between two of them has the loss of a lattice point.

Going through the outputs in the order of their losses, each cut is placed so that the outputs since
the last one have, taken together, a likelihood ratio a hair above that of the next lattice point:
merging them then costs no rounding.  All in doubles: a choice, checked in balls by
``ball_rounding.merged``.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.laws.ball_masses import Masses

Array = NDArray[np.float64]


class _Chances:
    """Masses of intervals under P and Q in doubles, fast for single intervals."""

    def __init__(self, masses: Masses) -> None:
        self._components = masses.components
        self._normal = masses.normal

    def between(self, low: float, high: float) -> tuple[float, float]:
        first = second = 0.0
        for weight, a, b in self._components:
            first += weight * self._one(low - a, high - a)
            second += weight * self._one(low - b, high - b)
        return first, second

    def _one(self, low: float, high: float) -> float:
        if low >= 0:
            return self._tail(low) - self._tail(high)
        if high <= 0:
            return self._tail(-high) - self._tail(-low)
        return 1 - self._tail(-low) - self._tail(high)

    def _tail(self, distance: float) -> float:
        if self._normal:
            return 0.5 * math.erfc(distance * math.sqrt(0.5))
        return 0.5 * math.exp(-distance)

    def loss(self, low: float, high: float) -> float:
        first, second = self.between(low, high)
        if first <= 0:
            return -math.inf
        return math.log(first / second) if second > 0 else math.inf


def rungs(
    masses: Masses, x: Array, wanted: Sequence[float], slack: float, *, upwards: bool
) -> list[float]:
    """Cuts for lattice points at the losses ``wanted``, in increasing order.

    Parameters
    ----------
    masses : Masses
    x : ndarray
        Outputs that matter, increasing; the last cells go on to infinity.
    wanted : sequence of float
        Increasing.
    slack : float
        By how much a cell's loss may be below its point.
    upwards : bool
        Whether to start from the smallest loss.  What is left at the end is rounded as a whole, so
        that the end should be where little is left.
    """
    losses = masses.log_ratio(x)
    pieces = [np.arange(x.size)]
    if not masses.monotone:
        turns = np.flatnonzero(np.diff(np.sign(np.diff(losses)))) + 1
        pieces = [piece for piece in np.split(np.arange(x.size), turns) if piece.size > 1]
    found = [float(x[piece[0]]) for piece in pieces[1:]]
    for number, piece in enumerate(pieces):
        at = x[piece]
        low = -math.inf if number == 0 else float(at[0])
        high = math.inf if number == len(pieces) - 1 else float(at[-1])
        climb = _Climb(masses, at, losses[piece], low, high, slack)
        found += climb.up(wanted) if upwards else climb.down(wanted)
    return sorted(set(found))


@dataclass(frozen=True)
class Fit:
    """Where a lattice lies, and what it is chosen for.

    Attributes
    ----------
    offset : float
        Of its points from multiples of the step, in nats.
    slack : float
        By how much a cell's loss may be below its point, in nats.
    tilt : float
        Exponent at which the masses of cells are weighted.
    """

    offset: float
    slack: float
    tilt: float


def score(
    masses: Masses, cuts: list[float], points: Sequence[int], step: float, fit: Fit
) -> tuple[float, float]:
    """(tilted mass of the merged cells, what the first cell's rounding takes off its loss)."""
    chances = _Chances(masses)
    ends = [-math.inf, *cuts, math.inf]
    total, largest, lost = 0.0, 0.0, 0.0
    for a, b in itertools.pairwise(ends):
        first, second = chances.between(a, b)
        if first <= 0 or second <= 0:
            continue
        units = (math.log(first / second) + fit.slack - fit.offset) / step
        at = bisect.bisect_right(points, units) - 1
        if at < 0:
            continue
        loss = fit.offset + step * points[at]
        total += first * math.exp(min(fit.tilt * loss, 700.0))
        cost = (units - points[at]) * first * math.exp(min(fit.tilt * loss, 700.0))
        if cost > largest:
            largest, lost = cost, (units - points[at]) * step
    return total, lost


class _Climb:
    """The cuts of one piece on which the loss is monotone."""

    def __init__(
        self, masses: Masses, x: Array, losses: Array, low: float, high: float, slack: float
    ) -> None:
        self._chances = _Chances(masses)
        if losses[-1] < losses[0]:
            losses, x, low, high = losses[::-1], x[::-1], high, low
        self._losses, self._x = np.maximum.accumulate(losses), x
        self._end = high  # where the loss is largest
        self._slack = slack

    def _places(self, wanted: list[float]) -> list[float]:
        return [float(place) for place in np.interp(wanted, self._losses, self._x)]

    def _loss(self, a: float, b: float) -> float:
        return self._chances.loss(min(a, b), max(a, b))

    def down(self, wanted: Sequence[float]) -> list[float]:
        """From the largest loss; the outputs at the smallest ones are left together."""
        low, high = self._losses[0], self._losses[-1]
        # A point at the largest loss counts: a whole range of outputs may have that loss.
        inside = [at for at in wanted if low < at <= high + 0.25 * self._slack]
        places = self._places(inside)
        last, cuts = self._end, []
        for i in range(len(inside) - 1, -1, -1):
            target = inside[i] - 0.5 * self._slack
            near, far = places[i], places[i - 1] if i > 0 else float(self._x[0])
            if near == last or not self._loss(near, last) >= target:
                continue  # nothing above this point is left
            found = far
            if not self._loss(far, last) >= target:
                found = self._solve(last, near, far, target)
            elif i == 0:
                break
            if found != last:
                cuts.append(found)
                last = found
        return cuts

    def up(self, wanted: Sequence[float]) -> list[float]:
        """From the smallest loss; the outputs at the largest ones are left together."""
        inside = [at for at in wanted if self._losses[0] < at < self._losses[-1]]
        places = [*self._places(inside), float(self._x[-1])]
        last = float(self._x[0])
        cuts = [last]
        for i, at in enumerate(inside):
            target = at - 0.5 * self._slack
            near = places[i]
            if (near - last) * (self._x[-1] - self._x[0]) <= 0:
                continue  # everything up to this point has been used by the one before
            j = i + 1
            while j < min(i + 4, len(places) - 1) and self._loss(last, places[j]) < target:
                j += 1
            if self._loss(last, places[j]) < target or self._loss(last, near) >= target:
                continue
            last = self._solve(last, near, places[j], target)
            cuts.append(last)
        return cuts

    def _solve(self, last: float, near: float, far: float, target: float) -> float:
        return _solve(lambda cut: self._loss(cut, last), near, far, target, 0.25 * self._slack)


def _solve(
    loss: Callable[[float], float], near: float, far: float, target: float, room: float
) -> float:
    """A cut between with a loss in [target - room, target + room] (Illinois)."""
    a, b = near, far
    fa, fb = loss(a) - target, loss(b) - target
    for _ in range(60):
        if not math.isfinite(fb) or not math.isfinite(fa):
            c = 0.5 * (a + b)
        else:
            c = b - fb * (b - a) / (fb - fa) if fb != fa else 0.5 * (a + b)
            if not min(a, b) < c < max(a, b):
                c = 0.5 * (a + b)
        fc = loss(c) - target
        if abs(fc) <= room or c in (a, b):
            return c
        if (fc > 0) == (fb > 0):
            b, fb = c, fc
            fa *= 0.5
        else:
            a, fa, b, fb = b, fb, c, fc
    return a if fa > 0 else b
