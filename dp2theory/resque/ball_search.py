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
    multiplier: float
    size: float
    y: Array
    z: Array
    move: float


def step_size(multiplier: float, weight: float) -> float:
    """Return a > 0 with ``multiplier * a^2 = weight + a``."""
    inverse = 1 / multiplier
    return (inverse + math.sqrt(inverse**2 + 4 * weight * inverse)) / 2


class Search:
    """Searches the multiplier of a step; knows the last one and how many calls were made."""

    def __init__(
        self,
        oracle: BallOracle,
        moves: tuple[float, float],
        multipliers: tuple[float, float],
        calls_per_step: int,
        warm: bool,
        max_calls: float,
    ) -> None:
        self.oracle, self.warm = oracle, warm
        self.least, self.most = moves
        self.floor, self.highest = multipliers
        self.calls_per_step, self.max_calls = calls_per_step, max_calls
        self.last, self.calls = multipliers[1], 0

    def _try(self, multiplier: float, x: Array, v: Array, weight: float) -> Try:
        size = step_size(multiplier, weight)
        y = (weight * x + size * v) / (weight + size)
        z = np.asarray(self.oracle.solve(y, multiplier), dtype=float)
        self.calls += 1
        if z.shape != y.shape or not np.isfinite(z).all():
            raise ValueError(
                f"the oracle's answer of shape {z.shape} must be {y.shape[0]} finite numbers"
            )
        return Try(multiplier, size, y, z, float(np.linalg.norm(z - y)))

    def step(self, x: Array, v: Array, weight: float) -> tuple[Try, int, bool] | None:
        """Return the accepted try, the number of tries, whether forced; None at the cap."""
        low, high, multiplier = self.floor, self.highest, self.floor
        inside: Try | None = None
        for tries in range(1, self.calls_per_step + 1):
            if self.calls >= self.max_calls:
                return None
            if tries == self.calls_per_step and inside is None:
                multiplier = self.highest
            each = self._try(multiplier, x, v, weight)
            within = each.move <= self.most
            if within and (each.move >= self.least or multiplier <= self.floor):
                if multiplier > self.floor:
                    self.last = multiplier
                return each, tries, False
            if within:
                inside, high = each, multiplier
            else:
                low = multiplier
            if high <= low * (1 + ROUNDING):  # nothing is left between them
                if inside is not None or multiplier >= self.highest:
                    break
                multiplier = high = self.highest
            else:
                warm = tries == 1 and self.warm
                multiplier = self.last if warm else math.sqrt(low * high)
        return (each if inside is None else inside), tries, True
