"""A run as a sum of independent privacy losses, seen through its cumulant function."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.exact.moments import AnyPair, moment_table
from accountants.exact.tilts import TiltTable

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Composition:
    """Sampled Gaussian pairs with counts, and the plain Gaussian releases taken together.

    Attributes
    ----------
    pairs : tuple of (pair, int)
        Distinct pairs, all in one direction, with how often each is composed.
    gap_squared : float
        Sum over plain Gaussian releases of (shift / noise std)^2; their composition is one
        Gaussian release with this squared gap.
    """

    pairs: tuple[tuple[AnyPair, int], ...]
    gap_squared: float = 0.0

    @property
    def steps(self) -> int:
        """Number of sampled releases."""
        return sum(count for _, count in self.pairs)

    def typical_tilt(self, log_delta: float) -> float:
        """A first guess of the saddle for a δ, from variances and the far-tail barrier."""
        variance = self.gap_squared
        barrier = math.inf
        for pair, count in self.pairs:
            inverse = min(pair.typical_gap**2, 2.5)
            variance += count * pair.chance**2 * math.expm1(inverse)
            far = 2 / max(pair.typical_gap**2, 1e-300) * math.log(1 / pair.chance)
            barrier = min(barrier, 2 + far)
        guess = math.sqrt(2 * max(-log_delta, 0.5) / variance) if variance > 0 else barrier
        return min(max(min(guess, 3 * barrier), 1e-3), 1e12)

    def table(self, c: Array) -> TiltTable:
        """Cumulants at the increasing tilts ``c`` (see ``TiltTable``)."""
        psi = 0.5 * self.gap_squared * c * (c + 1)
        slope = self.gap_squared * (c + 0.5)
        curvature = np.full_like(c, self.gap_squared)
        tables = []
        for pair, count in self.pairs:
            moments = moment_table(pair, float(c[-1]))
            tables.append(moments)
            value, first, second = moments.at(c)
            psi += count * value
            slope += count * first
            curvature += count * second
        return TiltTable(c, psi, slope, curvature, tuple(tables))
