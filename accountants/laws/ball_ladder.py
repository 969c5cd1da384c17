"""Cuts between outputs such that what lies between two of them has the loss of a lattice point.

Going down from the largest loss, each cut is placed so that the outputs since the last one have,
taken together, a likelihood ratio a hair above that of the next lattice point: merging them then
costs no rounding.  All in doubles: a choice, checked in balls by ``ball_rounding.merged``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.laws.ball_masses import Masses

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rungs:
    """Cuts for one offset of the lattice, and how well they fit.

    Attributes
    ----------
    cuts : list of float
        Outputs, increasing.
    points : sequence of int
    offset : float
    waste : float
        Logarithm of the tilted P-mass of the last cell times the loss that its rounding costs.
    lost : float
        That loss (of the costliest piece).
    """

    cuts: list[float]
    points: Sequence[int]
    offset: float
    waste: float
    lost: float


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


def descend(
    masses: Masses,
    x: Array,
    points: Sequence[int],
    step: float,
    offset: float,
    slack: float,
    tilt: float,
) -> Rungs:
    """Cuts for a lattice of losses offset + step * points.

    Parameters
    ----------
    masses : Masses
    x : ndarray
        Outputs that matter, increasing; the last cells go on to infinity.
    points : sequence of int
    step, offset, slack, tilt : float
        As in ``ball_rounding.Lattice``.
    """
    losses = masses.log_ratio(x)
    turns = np.flatnonzero(np.diff(np.sign(np.diff(losses)))) + 1
    pieces = [piece for piece in np.split(np.arange(x.size), turns) if piece.size > 1]
    wanted = [offset + step * k for k in points]
    cuts: list[float] = [float(x[piece[0]]) for piece in pieces[1:]]
    waste, lost = -math.inf, 0.0
    for number, piece in enumerate(pieces):
        ends = (number == 0, number == len(pieces) - 1)
        found, size, at, rounded = _piece(
            masses, x[piece], losses[piece], wanted, slack, step, ends
        )
        cuts += found
        cost = size + tilt * at + math.log(rounded + 1e-300)
        if cost > waste:
            waste, lost = cost, rounded
    return Rungs(sorted(set(cuts)), points, offset, waste, lost)


def _piece(
    masses: Masses,
    x: Array,
    losses: Array,
    wanted: list[float],
    slack: float,
    step: float,
    open_ends: tuple[bool, bool],
) -> tuple[list[float], float, float, float]:
    """Cuts of a monotone piece; of the last cell log mass, loss, and what rounding takes off."""
    chances = _Chances(masses)
    ends = (
        -math.inf if open_ends[0] else float(x[0]),
        math.inf if open_ends[1] else float(x[-1]),
    )
    if losses[-1] < losses[0]:
        losses, x, ends = losses[::-1], x[::-1], (ends[1], ends[0])
    losses = np.maximum.accumulate(losses)
    # A point at the largest loss counts: a whole range of outputs may have that loss.
    inside = [at for at in wanted if losses[0] < at <= losses[-1] + 0.25 * slack]
    places = [float(place) for place in np.interp(inside, losses, x)]
    last = ends[1]
    cuts: list[float] = []

    def loss(cut: float) -> float:
        return chances.loss(min(cut, last), max(cut, last))

    for i in range(len(inside) - 1, -1, -1):
        target = inside[i] - 0.5 * slack
        near, far = places[i], places[i - 1] if i > 0 else float(x[0])
        if near == last or not loss(near) >= target:
            continue  # nothing above this point is left
        found = far if loss(far) >= target else _solve(loss, near, far, target, 0.25 * slack)
        if found != last:
            cuts.append(found)
            last = found
    first, second = chances.between(min(ends[0], last), max(ends[0], last))
    if first <= 0 or second <= 0 or not wanted:
        return cuts, -math.inf, 0.0, 0.0
    at = math.log(first / second)
    units = (at + 0.5 * slack - wanted[0]) / step
    return cuts, math.log(first), at, (units - math.floor(units)) * step


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
