"""The search for the multiplier of one step of ball acceleration.

A try is a centre, the oracle's answer there, and how far the answer is from the centre. Nothing
else is read: with a private oracle the search is post-processing of what was released.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from dp2theory.resque.functions import Array

#: Rounding must not decide whether a step of exactly r is inside the ball.
ROUNDING = 1e-12
#: Factor from one try to the next while only one end is known; it is squared each time. The move
#: falls about as 1/l, and the usual band is a factor of 2 wide (hand-chosen).
LEAP = 2.0


class BallOracle(Protocol):
    """Minimises ``f + multiplier/2 ||. - center||^2``, on the ball or beyond it.

    An oracle that never leaves the ball has ``restricted = True`` (the default where the attribute
    is missing); one that counts, counts one oracle call per `solve`.
    """

    @property
    def radius(self) -> float:
        """r."""
        ...

    def solve(self, center: Array, multiplier: float) -> Array:
        """Return (nearly) argmin over B(center, radius) of f + multiplier/2 ||x - center||^2."""
        ...


class Try(NamedTuple):
    """A multiplier, its step size and centre, the answer there and how far it is.

    Attributes
    ----------
    multiplier : float
        l > 0.
    size : float
        a, from `step_size`.
    y, z : ndarray, shape (d,)
        Centre, and the oracle's answer there.
    move : float
        ||z - y||.
    """

    multiplier: float
    size: float
    y: Array
    z: Array
    move: float


def step_size(multiplier: float, weight: float) -> float:
    """Return a > 0 with ``multiplier * a^2 = weight + a``."""
    inverse = 1 / multiplier
    return (inverse + math.sqrt(inverse) * math.sqrt(inverse + 4 * weight)) / 2


def mirror_step(v: Array, size: float, multiplier: float, y: Array, z: Array) -> Array:
    """Return v moved by `size` along the subgradient ``multiplier * (y - z)`` at z."""
    return v - size * multiplier * (y - z)


class Search:
    """Searches the multiplier of a step; knows the last one and how many calls were made.

    Parameters
    ----------
    oracle : BallOracle
    moves : (float, float)
        Band of moves that are accepted.
    multipliers : (float, float)
        Floor and largest multiplier.
    calls_per_step : int
    warm, floor_first : bool
        Where the search of a step begins, as for `accelerate`.
    max_calls : float
    """

    def __init__(
        self,
        oracle: BallOracle,
        *,
        moves: tuple[float, float],
        multipliers: tuple[float, float],
        calls_per_step: int,
        warm: bool,
        floor_first: bool,
        max_calls: float,
    ) -> None:
        self.oracle, self.warm, self.floor_first = oracle, warm, floor_first
        self.least, self.most = moves
        self.floor, self.highest = multipliers
        self.calls_per_step, self.max_calls = calls_per_step, max_calls
        self.last, self.calls = multipliers[1], 0

    def step(self, x: Array, v: Array, weight: float) -> tuple[Try, int, bool] | None:
        """Return the accepted try, the number of tries, whether forced; None at the cap."""
        low, high = self.floor, self.highest  # ends of the range that is left
        multiplier = self.floor if self.floor_first else self._begin()
        inside: Try | None = None
        outside, leap = False, LEAP
        for tries in range(1, self.calls_per_step + 1):
            if self.calls >= self.max_calls:
                return None
            if tries == self.calls_per_step and inside is None:
                multiplier = self.highest
            each = self._try(multiplier, x, v, weight)
            within = each.move <= self.most
            if within and (each.move >= self.least or multiplier <= self.floor):
                if multiplier > self.floor or not self.floor_first:
                    self.last = multiplier
                return each, tries, False
            if within:
                inside, high = each, multiplier
            else:
                outside, low = True, multiplier
            if outside and high <= low * (1 + ROUNDING):
                if inside is not None or multiplier >= self.highest:
                    break  # nothing is left between them
                multiplier = high = self.highest
            elif tries == 1 and self.floor_first:
                multiplier = self._begin()
            elif self.floor_first or (outside and inside is not None):
                multiplier = math.sqrt(low * high)
            else:
                multiplier = min(high, low * leap) if outside else max(low, high / leap)
                leap *= leap
        return (each if inside is None else inside), tries, True

    def _begin(self) -> float:
        return self.last if self.warm else math.sqrt(self.floor * self.highest)

    def _try(self, multiplier: float, x: Array, v: Array, weight: float) -> Try:
        size = step_size(multiplier, weight)
        y = (weight * x + size * v) / (weight + size)
        z = np.asarray(self.oracle.solve(y, multiplier), dtype=float)
        self.calls += 1
        if z.shape != y.shape or not np.isfinite(z).all():
            raise ValueError(
                f"the oracle's answer of shape {z.shape} at a point made of start must be "
                f"{y.shape[0]} finite numbers"
            )
        return Try(multiplier, size, y, z, float(np.linalg.norm(z - y)))
