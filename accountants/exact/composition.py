"""A run as a sum of independent privacy losses, seen through its cumulant function."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accountants.exact.cumulants import PairMoments
from accountants.pairs import SampledGaussianPair

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TiltTable:
    """Cumulants of a whole run at a geometric grid of tilts.

    Attributes
    ----------
    c : ndarray
        Tilts, increasing.
    psi, slope, curvature : ndarray
        log E exp(c L) of the run and its derivatives.
    """

    c: Array
    psi: Array
    slope: Array
    curvature: Array

    @property
    def saddle_epsilon(self) -> Array:
        """The ε whose saddle point is each tilt."""
        return self.slope - 1 / self.c - 1 / (1 + self.c)

    @property
    def width(self) -> Array:
        """Second derivative of the exponent at each tilt."""
        return self.curvature + 1 / self.c**2 + 1 / (1 + self.c) ** 2

    def log_estimate(self, epsilon: Array | float) -> Array:
        """Saddle-point estimate of log δ(ε) at each tilt (an estimate, no bound)."""
        exponent = self.psi - self.c * epsilon - np.log(self.c * (1 + self.c))
        return exponent - 0.5 * np.log(2 * math.pi * self.width)

    @property
    def log_chernoff_factor(self) -> Array:
        """log of the factor kappa(c) in δ(ε) <= kappa(c) exp(psi(c) - c ε), proved."""
        return -np.log1p(self.c) + self.c * (np.log(self.c) - np.log1p(self.c))

    def log_chernoff(self, epsilon: float) -> float:
        """Smallest proved bound on log δ(ε) over the tabulated tilts."""
        return float(np.min(self.log_chernoff_factor + self.psi - self.c * epsilon))


@dataclass(frozen=True)
class Composition:
    """Sampled Gaussian pairs with counts, and the plain Gaussian releases taken together.

    Attributes
    ----------
    pairs : tuple of (SampledGaussianPair, int)
        Distinct pairs, all in one direction, with how often each is composed.
    gap_squared : float
        Sum over plain Gaussian releases of (shift / noise std)^2; their composition is one
        Gaussian release with this squared gap.
    """

    pairs: tuple[tuple[SampledGaussianPair, int], ...]
    gap_squared: float = 0.0
    _grids: dict[tuple[SampledGaussianPair, float], PairMoments] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def steps(self) -> int:
        """Number of sampled releases."""
        return sum(count for _, count in self.pairs)

    def typical_tilt(self, log_delta: float) -> float:
        """A first guess of the saddle for a δ, from variances and the far-tail barrier."""
        variance = self.gap_squared
        barrier = math.inf
        for pair, count in self.pairs:
            inverse = min(1 / pair.sigma**2, 2.5)
            variance += count * pair.q**2 * math.expm1(inverse)
            barrier = min(barrier, 2 + 2 * pair.sigma**2 * math.log(1 / pair.q))
        guess = math.sqrt(2 * max(-log_delta, 0.5) / variance) if variance > 0 else barrier
        return min(max(min(guess, 3 * barrier), 1e-3), 1e6)

    def table(self, low: float, high: float, points: int = 28) -> TiltTable:
        """Cumulants at ``points`` tilts from ``low`` to ``high`` in geometric progression."""
        c = np.geomspace(low, high, points)
        psi = 0.5 * self.gap_squared * c * (c + 1)
        slope = self.gap_squared * (c + 0.5)
        curvature = np.full_like(c, self.gap_squared)
        for pair, count in self.pairs:
            value, first, second = self.moments(pair, high, 1.0).table(c)
            psi += count * value
            slope += count * first
            curvature += count * second
        return TiltTable(c, psi, slope, curvature)

    def moments(self, pair: SampledGaussianPair, top_tilt: float, refine: float) -> PairMoments:
        """Moment sums of one pair on a grid that covers tilts up to ``top_tilt``."""
        return PairMoments(pair, top_tilt, refine)
