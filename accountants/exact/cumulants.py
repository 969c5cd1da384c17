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
from accountants.pairs import Pair, PairNodes

Array = NDArray[np.float64]

#: Unit of rounding of doubles: half the distance from 1 to the next one.
ROUND = 2.0**-53
_DROP = 46.0  # nats below the peak at which an integrand is cut off
_MAX_NODES = 400_000
#: Noise multipliers between which sums of moments are reliable.
SMALLEST_SIGMA, LARGEST_SIGMA = 1e-3, 1e9


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


def output_range(pair: Pair, top_tilt: float) -> tuple[float, float]:
    """Outputs u outside which every law that is summed leaves a share below exp(-46).

    These are the tilts 0..``top_tilt``, and N(0,1) and both data sets' laws themselves: the
    terms of first order vanish only over the whole of them.
    """
    if not 1 / LARGEST_SIGMA <= pair.gap <= 1 / SMALLEST_SIGMA:
        raise AccuracyError(
            f"a noise multiplier of {1 / pair.gap:g} to the largest move of a sampled release is "
            f"outside [{SMALLEST_SIGMA:g}, {LARGEST_SIGMA:g}], where sums of moments are reliable"
        )
    low, high = -12.0 - pair.gap, (top_tilt + 1) * pair.gap + 12.0
    for _ in range(40):
        grid = np.linspace(low, high, min(4097, 2 * math.ceil(high - low) + 9))
        first, last = _span(pair.nodes(grid), top_tilt)
        if first > 0:
            return float(grid[first - 1]), float(grid[min(last + 1, grid.size - 1)])
        low -= 12.0
    raise AccuracyError(f"tilt {top_tilt:g} pushes the output range of {pair} beyond reach")


def _span(at: PairNodes, tilt: float) -> tuple[int, int]:
    """First and last node at which a law that is summed is not negligible."""
    tilted = at.log_base + at.log_upper + tilt * at.loss
    seen = tilted > tilted.max() - _DROP
    for height in (at.log_base, at.log_base + at.log_upper, at.log_base + at.log_lower):
        seen |= height > -_DROP
    found = np.flatnonzero(seen)
    return int(found[0]), int(found[-1])


def trapezoid_step(sigma: float) -> float:
    """Step in u at which the strip of width pi*sigma leaves about exp(-38) of error."""
    d = math.pi * sigma
    return min(0.26, 0.8 * 2 * math.pi * d / (38 + d * d / 2))


class MomentTable:
    """log E exp(c L) of one pair and its derivatives, for tilts 0..``top_tilt``.

    Parameters
    ----------
    pair : SampledGaussianPair
    top_tilt : float
        Largest tilt that will be asked for.
    """

    def __init__(self, pair: Pair, top_tilt: float) -> None:
        low, high = output_range(pair, top_tilt)
        self._nodes = pair.nodes(_grid(pair, low, high, trapezoid_step(pair.resolution)))
        self._base = self._nodes.log_base + self._nodes.log_upper
        self._log_step = math.log(self._nodes.u[1] - self._nodes.u[0])

    def at(self, tilts: Array) -> tuple[Array, Array, Array]:
        """Values and first two derivatives at ``tilts``.

        Absolute error a few units of rounding a step; see ``TiltedPair`` for small ones.
        """
        loss = self._nodes.loss
        exponent = self._base + np.multiply.outer(tilts, loss)
        peak = exponent.max(axis=1)
        exponent -= peak[:, None]
        weight = np.exp(exponent, out=exponent)
        total = weight.sum(axis=1)
        mean = (weight @ loss) / total
        spread = (weight @ (loss * loss)) / total - mean * mean
        return peak + np.log(total) + self._log_step, mean, np.maximum(spread, 0.0)

    def log_modulus(self, tilt: float, t: Array) -> Array:
        """log |M(c+it)/M(c)| of one step at tilt c."""
        weight = np.exp(self._base + tilt * self._nodes.loss)
        weight /= weight.sum()
        centred = self._nodes.loss - float(weight @ self._nodes.loss)
        real, imaginary = centred_characteristic(weight, centred, t, many_steps=False)
        return 0.5 * np.log1p(np.maximum(2 * real + real * real + imaginary * imaginary, -1.0))

    def range_at(self, tilt: float) -> tuple[float, float]:
        """Outputs outside which the laws that are summed at ``tilt`` are negligible."""
        u = self._nodes.u
        first, last = _span(self._nodes, tilt)
        return float(u[max(0, first - 1)]), float(u[min(u.size - 1, last + 1)])


def _grid(pair: Pair, low: float, high: float, step: float) -> Array:
    count = math.ceil((high - low) / step) + 1
    if count > _MAX_NODES:
        raise AccuracyError(f"moments of {pair} would need {count} nodes")
    return low + step * np.arange(count, dtype=np.float64)


@dataclass(frozen=True)
class TiltedPair:
    """One pair tilted by c, on two interleaved node sets.

    The sum over the first set is the answer; the second, half a step away, shows by its
    difference what the quadrature may be off by.

    Attributes
    ----------
    log_moment : float
        log E exp(c L).
    rounding : float
        Absolute error bar of its arithmetic.
    quadrature : float
        Difference of ``log_moment`` between the two node sets.
    weight, centred : ndarray, shape (J,)
        Tilted probabilities of the nodes and losses less their mean.
    shifted_weight, shifted_centred : ndarray, shape (J,)
        The same for the other node set (same mean, same normaliser).
    mean, spread : float
        Mean and standard deviation of the tilted loss.
    mean_bar : float
        Absolute error bar of the mean.
    """

    log_moment: float
    rounding: float
    quadrature: float
    weight: Array
    centred: Array
    shifted_weight: Array
    shifted_centred: Array
    mean: float
    spread: float
    mean_bar: float

    @staticmethod
    def of(pair: Pair, tilt: float, low: float, high: float, refine: float) -> TiltedPair:
        """Tilt ``pair`` by ``tilt``; outputs outside [low, high] are negligible.

        Parameters
        ----------
        refine : float
            Factor on the default step (below 1 is finer).
        """
        step = trapezoid_step(pair.resolution) * refine
        at = pair.nodes(_grid(pair, low, high + step, 0.5 * step))
        growth = at.log_upper + tilt * at.loss
        exponent = at.log_base + (growth + math.log(step))
        log_moment, other, rounding = _log_moments(pair, at, growth, exponent, tilt, step)
        weight = np.exp(exponent - log_moment)
        own, loss = weight[::2], at.loss[::2]
        mean = float(own @ loss)
        centred = at.loss - mean
        spread = math.sqrt(float(own @ (centred[::2] * centred[::2])))
        shifted_weight, shifted_centred = weight[1::2], centred[1::2]
        return TiltedPair(
            log_moment=log_moment,
            rounding=rounding,
            quadrature=abs(other - log_moment),
            weight=np.ascontiguousarray(own),
            centred=np.ascontiguousarray(centred[::2]),
            shifted_weight=shifted_weight,
            shifted_centred=shifted_centred,
            mean=mean,
            spread=spread,
            mean_bar=8 * ROUND * (abs(mean) + spread)
            + abs(float(shifted_weight @ shifted_centred)),
        )


def _log_moments(
    pair: Pair,
    at: PairNodes,
    growth: Array,
    exponent: Array,
    tilt: float,
    step: float,
) -> tuple[float, float, float]:
    """log E exp(c L) from either node set, and the rounding bar of the first.

    E[upper] = E[lower] = 0 over N(0,1), so that (1+c) upper and c lower may be subtracted from
    the integrand; what remains is of second order in the relative densities, and the small
    result keeps its relative accuracy.
    """
    peak = float(exponent.max())
    scaled = np.exp(exponent - peak)
    totals = peak + math.log(float(scaled[::2].sum())), peak + math.log(float(scaled[1::2].sum()))
    record = at.lower if pair.moves_lower else at.upper
    if abs(totals[0]) > 0.3 or float(np.maximum(at.upper, record).max()) > 1e200:
        stretch = 4 + float(np.max(np.abs(growth) * scaled))
        return totals[0], totals[1], 4 * ROUND * (stretch + abs(peak))
    base = np.exp(at.log_base) * step
    far = growth > 30
    if far.any():
        near = np.where(far, 0.0, growth)
        first = base * expm1_minus(near) + np.where(far, np.exp(exponent) - base * (1 + growth), 0)
    else:
        first = base * expm1_minus(growth)
    second: Array | float = 0.0
    if pair.moves_upper:
        second = (1 + tilt) * base * log1p_minus(at.upper)
    if pair.moves_lower:
        second = second - tilt * base * log1p_minus(at.lower)
    terms = first + second
    # A part's exponent g u - g^2/2 is off by units of g u + g^2, which is below 6 u^2 wherever
    # it matters: better than one factor where far parts have little weight.
    stretch_u = 1 + np.minimum(pair.gap**2, 6 * at.u * at.u + pair.typical_gap**2)
    size = np.abs(first) * (4 + np.abs(growth)) * stretch_u
    size += 8 * stretch_u * (np.abs(second) + np.abs(terms))
    excess, other = float(terms[::2].sum()), float(terms[1::2].sum())
    bar = 2 * ROUND * float(size[::2].sum())
    return math.log1p(excess), math.log1p(other), bar / (1 + excess)


def centred_characteristic(
    weight: Array, centred: Array, t: Array, *, many_steps: bool
) -> tuple[Array, Array]:
    """Real and imaginary part of sum_j w_j (exp(i t x_j) - 1 - i t x_j), without cancellation.

    Parameters
    ----------
    weight, centred : ndarray, shape (J,)
        Weights and points x_j, whose weighted mean is 0 up to rounding.
    t : ndarray, shape (N,)
    many_steps : bool
        Sum sin(y) - y by its series where y is small: dearer, and needed where the result is
        multiplied by a huge number of steps.

    Returns
    -------
    (ndarray, ndarray), each of shape (N,)
    """
    real = np.empty_like(t)
    imaginary = np.empty_like(t)
    rows = max(1, 250_000 // max(1, centred.size))
    for start in range(0, t.size, rows):
        block = slice(start, start + rows)
        half = np.outer(t[block], 0.5 * centred)
        sine = np.sin(half)
        if many_steps:
            imaginary[block] = _sine_minus(half) @ weight
        else:
            np.cos(half, out=half)
            half *= sine
            imaginary[block] = 2 * (half @ weight)
        sine *= sine
        real[block] = -2 * (sine @ weight)
    return real, imaginary


def _sine_minus(half: Array) -> Array:
    """sin(2x) - 2x, accurate near 0."""
    angle = 2 * half
    small = np.abs(angle) < 1.0
    near = np.where(small, angle, 0.0)
    square = near * near
    total = np.full_like(near, _SINE[0])
    for coefficient in _SINE[1:]:
        total *= square
        total += coefficient
    total *= square * near
    return np.where(small, total, np.sin(angle) - angle)


_SINE = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(9, 0, -1))
