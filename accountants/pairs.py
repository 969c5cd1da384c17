"""The pair of distributions behind one Poisson-sampled Gaussian release.

The output u is measured in noise standard deviations.  With y = u/sigma - 1/(2 sigma^2) the
density of the data set that holds the record, relative to N(0, 1), is 1 + q (exp(y) - 1), and
with -u in place of u for the other record under replace-one.  A pair is given by these two
relative densities: ``upper`` for the distribution the output is drawn from and ``lower`` for
its neighbour; the privacy loss is log(upper/lower).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.relations import Direction

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PairNodes:
    """Densities of a pair at points u, ready for moment sums.

    Attributes
    ----------
    u : ndarray, shape (J,)
    log_base : ndarray, shape (J,)
        log of the N(0, 1) density.
    upper, lower : ndarray, shape (J,)
        Relative densities minus one.
    log_upper, log_lower : ndarray, shape (J,)
        Their logarithms, from log1p.
    loss : ndarray, shape (J,)
        log_upper - log_lower.
    """

    u: Array
    log_base: Array
    upper: Array
    lower: Array
    log_upper: Array
    log_lower: Array
    loss: Array


@dataclass(frozen=True, order=True)
class SampledGaussianPair:
    """Dominating and attained pair of one Poisson-sampled Gaussian release.

    Parameters
    ----------
    q : float
        Sampling probability in (0, 1).
    sigma : float
        Noise multiplier, finite and > 0.
    direction : Direction
    """

    q: float
    sigma: float
    direction: Direction

    def nodes(self, u: Array) -> PairNodes:
        """Evaluate the pair at the points ``u``."""
        zero = np.zeros_like(u)
        excess, log_ratio = self._record(u)
        if self.direction is Direction.REMOVE:
            upper, log_upper, lower, log_lower = excess, log_ratio, zero, zero
        elif self.direction is Direction.ADD:
            upper, log_upper, lower, log_lower = zero, zero, excess, log_ratio
        else:
            upper, log_upper = excess, log_ratio
            lower, log_lower = self._record(-u)
        log_base = -0.5 * u * u - 0.5 * math.log(2 * math.pi)
        return PairNodes(u, log_base, upper, lower, log_upper, log_lower, log_upper - log_lower)

    def _record(self, u: Array) -> tuple[Array, Array]:
        """(density - 1, log density) relative to N(0,1) of the sum that holds the record."""
        gap = 1 / self.sigma
        y = gap * (u - 0.5 * gap)
        with np.errstate(over="ignore"):
            excess = self.q * np.expm1(y)
            far = y > 600
            log_ratio = np.where(far, y + math.log(self.q), np.log1p(np.where(far, 0.0, excess)))
        return excess, log_ratio

    def log_tilted(self, u: Array, tilt: float) -> Array:
        """log of the integrand of E exp(tilt * loss) at ``u``, up to a constant."""
        at = self.nodes(u)
        return at.log_base + at.log_upper + tilt * at.loss
