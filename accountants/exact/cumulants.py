"""Moments E exp(z * loss) of sampled Gaussian pairs, by the trapezoid rule over outputs.

The integrands are analytic in a strip, so the trapezoid rule converges geometrically in the
step (docs/proofs/contour.md).  Cumulants per step may be as small as q^2 and are multiplied by
up to 1e8 steps, so that they are summed from terms of second order only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.errors import AccuracyError
from accountants.pairs import PairNodes, SampledGaussianPair

Array = NDArray[np.float64]

ROUND = 2.0**-53
_DROP = 46.0  # nats below the peak at which an integrand is cut off
_MAX_NODES = 400_000


def expm1_minus(x: Array) -> Array:
    """exp(x) - 1 - x, accurate near 0."""
    small = np.abs(x) < 0.3
    if not small.any():
        return np.expm1(x) - x
    near = np.where(small, x, 0.0)
    series = near * near * 0.5 * (1 + near * _tail(near))
    return np.where(small, series, np.expm1(x) - x)


def _tail(x: Array) -> Array:
    """(2(exp(x) - 1 - x)/x^2 - 1)/x by its series, |x| < 0.3."""
    total = np.zeros_like(x)
    for coefficient in _TAIL:
        total = total * x + coefficient
    return total


_TAIL = tuple(2 / math.factorial(k) for k in range(14, 2, -1))


def log1p_minus(x: Array) -> Array:
    """log(1 + x) - x, accurate near 0."""
    small = np.abs(x) < 0.1
    if not small.any():
        return np.log1p(x) - x
    near = np.where(small, x, 0.0)
    total = np.zeros_like(near)
    for k in range(17, 1, -1):
        total = total * near + (-1) ** (k + 1) / k
    with np.errstate(invalid="ignore"):
        return np.where(small, total * near * near, np.log1p(x) - x)


def output_range(pair: SampledGaussianPair, top_tilt: float) -> tuple[float, float]:
    """Outputs u outside which tilts 0..``top_tilt`` leave a share below exp(-46)."""
    reach = (top_tilt + 1) / pair.sigma
    low, high = -12.0, reach + 12.0
    for _ in range(40):
        grid = np.linspace(low, high, min(4097, 2 * math.ceil(high - low) + 9))
        at = pair.nodes(grid)
        base = at.log_base + at.log_upper
        ends = []
        for tilt in (0.0, top_tilt):
            height = base + tilt * at.loss
            ends.append(np.flatnonzero(height > height.max() - _DROP))
        first = min(int(e[0]) for e in ends)
        last = max(int(e[-1]) for e in ends)
        if first > 0:
            return float(grid[first - 1]), float(grid[min(last + 1, grid.size - 1)])
        low -= 12.0
    raise AccuracyError(f"tilt {top_tilt:g} pushes the output range of {pair} beyond reach")


def trapezoid_step(sigma: float) -> float:
    """Step in u at which the strip of width pi*sigma leaves about exp(-38) of error."""
    d = math.pi * sigma
    return min(0.3, 0.8 * 2 * math.pi * d / (38 + d * d / 2))


@dataclass
class PairMoments:
    """Moment sums of one pair on a grid that covers tilts 0..``top_tilt``.

    Parameters
    ----------
    pair : SampledGaussianPair
    top_tilt : float
        Largest real part of z that will be asked for.
    refine : float
        Factor on the default step (below 1 is finer).
    """

    pair: SampledGaussianPair
    top_tilt: float
    refine: float = 1.0

    def __post_init__(self) -> None:
        low, high = output_range(self.pair, self.top_tilt)
        self.step = trapezoid_step(self.pair.sigma) * self.refine
        count = math.ceil((high - low) / self.step) + 1
        if count > _MAX_NODES:
            raise AccuracyError(
                f"moments at tilt {self.top_tilt:g} of q={self.pair.q:g}, "
                f"sigma={self.pair.sigma:g} would need {count} nodes"
            )
        self.low = low
        self.count = count
        self.nodes = self._nodes(0.0)

    def _nodes(self, offset: float) -> PairNodes:
        return self.pair.nodes(self.low + self.step * (np.arange(self.count) + offset))

    def shifted(self) -> PairNodes:
        """Nodes halfway between the nodes, for an independent second sum."""
        return self._nodes(0.5)

    def table(self, tilts: Array) -> tuple[Array, Array, Array]:
        """log E exp(c L) and its first two derivatives in c, at each tilt c.

        Absolute error a few units of rounding a step; see ``log_moment`` for small ones.
        """
        at = self.nodes
        exponent = (at.log_base + at.log_upper + math.log(self.step)) + np.outer(tilts, at.loss)
        peak = exponent.max(axis=1)
        weight = np.exp(exponent - peak[:, None])
        total = weight.sum(axis=1)
        mean = (weight @ at.loss) / total
        spread = (weight @ (at.loss * at.loss)) / total - mean * mean
        return peak + np.log(total), mean, np.maximum(spread, 0.0)

    def log_moment(self, tilt: float, at: PairNodes | None = None) -> tuple[float, float]:
        """log E exp(c L) with its rounding error bar, relative to the small result.

        Parameters
        ----------
        tilt : float
            c, within ``top_tilt``.
        at : PairNodes, optional
            Other nodes of the same step to sum over.

        Returns
        -------
        (float, float)
            Value and absolute error bar of rounding.

        Notes
        -----
        E[upper] = E[lower] = 0 over N(0,1), so that (1+c) upper and c lower may be subtracted
        from the integrand; what remains is of second order in the relative densities.
        """
        at = self.nodes if at is None else at
        growth = at.log_upper + tilt * at.loss
        exponent = at.log_base + growth + math.log(self.step)
        peak = float(exponent.max())
        log_total = peak + math.log(float(np.exp(exponent - peak).sum()))
        stretch = 4 + float(np.max(np.abs(growth) * np.exp(exponent - peak)))
        if abs(log_total) > 0.3 or max(at.upper.max(), at.lower.max()) > 1e200:
            return log_total, 4 * ROUND * (stretch + abs(peak))
        base = np.exp(at.log_base) * self.step
        far = growth > 30
        first = base * expm1_minus(np.where(far, 0.0, growth))
        first += np.where(far, np.exp(exponent) - base * (1 + growth), 0.0)
        second = (1 + tilt) * base * log1p_minus(at.upper)
        third = tilt * base * log1p_minus(at.lower)
        size = np.abs(first) * (4 + np.abs(growth)) + 8 * (np.abs(second) + np.abs(third))
        excess = float((first + second - third).sum())
        bar = 2 * ROUND * float(size.sum()) * (1 + 1 / self.pair.sigma**2)
        return math.log1p(excess), bar / (1 + excess)

    def weights(self, tilt: float, log_moment: float, at: PairNodes | None = None) -> Array:
        """Tilted probabilities of the nodes, given the log moment that normalises them."""
        at = self.nodes if at is None else at
        return np.exp(
            at.log_base + at.log_upper + tilt * at.loss + (math.log(self.step) - log_moment)
        )


def centred_characteristic(weight: Array, centred: Array, t: Array) -> tuple[Array, Array]:
    """Real and imaginary part of sum_j w_j (exp(i t x_j) - 1), without cancellation.

    Parameters
    ----------
    weight, centred : ndarray, shape (J,)
        Weights and points x_j.
    t : ndarray, shape (N,)

    Returns
    -------
    (ndarray, ndarray), each of shape (N,)
    """
    real = np.empty_like(t)
    imaginary = np.empty_like(t)
    rows = max(1, 1_000_000 // max(1, centred.size))
    for start in range(0, t.size, rows):
        half = np.outer(t[start : start + rows], 0.5 * centred)
        sine = np.sin(half)
        np.cos(half, out=half)
        half *= sine
        sine *= sine
        real[start : start + rows] = -2 * (sine @ weight)
        imaginary[start : start + rows] = 2 * (half @ weight)
    return real, imaginary
