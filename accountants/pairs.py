"""Pairs of one-dimensional Gaussian mixtures behind one release.

The output u is measured in noise standard deviations.  A pair is given by two densities
relative to N(0, 1): ``upper`` for the distribution the output is drawn from and ``lower`` for
its neighbour; the privacy loss is log(upper/lower).  A part with weight q and mean g has
relative density q exp(y), y = g u - g^2/2, so that a mixture of such parts with N(0, 1) for the
rest has density 1 + sum q (exp(y) - 1).

Every pair tells the engine the same few things: ``gap``, its largest mean in absolute value;
``resolution``, the noise multiplier of a Poisson pair with moments as hard to sum; ``chance``,
the weight of what is not N(0, 1); ``moves_upper`` and ``moves_lower``, which sides differ from
N(0, 1); ``direction``; and ``mean_gap``, the sum of weights times absolute means.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from accountants.errors import AccuracyError
from accountants.mixtures import log_excess, log_expm1, threshold
from accountants.profiles import log_gap, sampled_delta
from accountants.relations import Direction

Array = NDArray[np.float64]

_UNIT = 2.0**-53


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

    @property
    def gap(self) -> float:
        """Mean of the record's part."""
        return 1 / self.sigma

    @property
    def typical_gap(self) -> float:
        """Mean of the part that most losses come from."""
        return self.gap

    @property
    def resolution(self) -> float:
        """Noise multiplier that sets the step of sums over outputs."""
        return self.sigma

    @property
    def chance(self) -> float:
        """Weight of the record's part."""
        return self.q

    @property
    def log_rest(self) -> float:
        """log of the weight of N(0, 1)."""
        return math.log1p(-self.q)

    @property
    def moves_upper(self) -> bool:
        """Whether ``upper`` differs from N(0, 1)."""
        return self.direction is not Direction.ADD

    @property
    def moves_lower(self) -> bool:
        """Whether ``lower`` differs from N(0, 1)."""
        return self.direction is not Direction.REMOVE

    @property
    def mean_gap(self) -> float:
        """Sum over both sides of weights times absolute means: a bound on total variation."""
        return self.q * self.gap * (2.0 if self.direction is Direction.SYMMETRIC else 1.0)

    def log_delta(self, epsilon: float) -> tuple[float, float]:
        """log δ(ε) of one release and its error bar, ε >= 0."""
        return sampled_delta(epsilon, self.q, self.sigma, self.direction)

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


@dataclass(frozen=True, order=True)
class MixturePair:
    """A pair of Gaussian mixtures, each with N(0, 1) for the rest of its mass.

    Parameters
    ----------
    upper, lower : tuple of (float, float)
        (weight, mean) of the parts, weights in (0, 1) with sum below 1, means in noise standard
        deviations; an empty tuple is N(0, 1).
    rest : float
        Weight of N(0, 1) beside the parts, > 0: where it is tiny one minus their sum has lost it.
    """

    upper: tuple[tuple[float, float], ...]
    lower: tuple[tuple[float, float], ...]
    rest: float

    @property
    def log_rest(self) -> float:
        """log of the weight of N(0, 1): from whichever of it and its complement is small."""
        return math.log(self.rest) if self.rest < 0.5 else math.log1p(-self.chance)

    @property
    def direction(self) -> Direction | None:
        """REMOVE or ADD where one side is N(0, 1); None where both have parts."""
        if self.upper and self.lower:
            return None
        return Direction.REMOVE if self.upper else Direction.ADD

    @property
    def moves_upper(self) -> bool:
        """Whether ``upper`` differs from N(0, 1)."""
        return bool(self.upper)

    @property
    def moves_lower(self) -> bool:
        """Whether ``lower`` differs from N(0, 1)."""
        return bool(self.lower)

    @property
    def gap(self) -> float:
        """Largest absolute mean."""
        return max(abs(mean) for _, mean in self.upper + self.lower)

    @property
    def typical_gap(self) -> float:
        """Absolute mean of the heaviest part."""
        return abs(max(self.upper + self.lower)[1])

    @property
    def chance(self) -> float:
        """Weight of what is not N(0, 1), on the side that has more of it."""
        return max(math.fsum(w for w, _ in side) for side in (self.upper, self.lower))

    @property
    def mean_gap(self) -> float:
        """Sum over both sides of weights times absolute means: a bound on total variation."""
        return math.fsum(w * abs(mean) for w, mean in self.upper + self.lower)

    @property
    def resolution(self) -> float:
        """Noise multiplier that sets the step of sums over outputs.

        Zeros of a mixture lie where two neighbouring parts balance, at distance pi/gap from
        the real line; three parts that balance at once bring them nearer.
        """
        means = sorted({0.0, *(mean for _, mean in self.upper + self.lower)})
        return 0.2 / max(b - a for a, b in itertools.pairwise(means))

    def log_delta(self, epsilon: float) -> tuple[float, float]:
        """log δ(ε) of one release and its error bar, ε >= 0.

        With parts on both sides the set of large losses is found numerically; a set that is
        slightly off gives a slightly smaller δ, so that the value is then a lower bound.
        """
        parts = self.upper or self.lower
        if self.direction is None or min(mean for _, mean in parts) < 0:
            return log_delta_by_intervals(self, epsilon)
        log_p = np.log([w for w, _ in parts])
        means = np.array([mean for _, mean in parts])
        if self.upper:
            growth = log_expm1(np.array(epsilon))
            log_c = np.logaddexp(growth, math.log(self.chance))
            value = float(log_excess(log_c, log_p, means))
            u = abs(float(threshold(np.atleast_1d(log_c), log_p, means)[0]))
            # far means: exponents near gap^2 nearly cancel
            rounding = _UNIT * (4000 + 64 * (u + 2) * (u + self.gap + 2) + 16 * self.gap**2)
            return value, rounding + _known(float(log_c), log_p) * _slope(u, means)
        # H_a(Q||P) = 1 - a + a H_{1/a}(P||Q) = a [integral of (sum p_k r_k - C)_- over Q],
        # C = 1/a - p_0 > 0; by the mirror image of log_excess it is a sum of tails on the left.
        return _added(epsilon, self.log_rest, log_p, means)

    def nodes(self, u: Array) -> PairNodes:
        """Evaluate the pair at the points ``u``."""
        upper, log_upper = _relative(self.upper, self.rest, u)
        lower, log_lower = _relative(self.lower, self.rest, u)
        log_base = -0.5 * u * u - 0.5 * math.log(2 * math.pi)
        return PairNodes(u, log_base, upper, lower, log_upper, log_lower, log_upper - log_lower)


def _relative(parts: tuple[tuple[float, float], ...], rest: float, u: Array) -> tuple[Array, Array]:
    """(density - 1, log density) relative to N(0, 1) of a mixture."""
    if not parts:
        return np.zeros_like(u), np.zeros_like(u)
    weight = np.array([w for w, _ in parts])
    mean = np.array([m for _, m in parts])
    y = mean[:, None] * (u - 0.5 * mean[:, None])
    with np.errstate(over="ignore"):
        excess = weight @ np.expm1(y)
        far = y.max(axis=0) > 600
        log_ratio = np.log1p(np.where(far, 0.0, np.maximum(excess, -0.6)))
    far |= excess < -0.5  # the sum of the parts' densities themselves: positive terms only
    if far.any():
        parts_there = np.logaddexp.reduce(y[:, far] + np.log(weight)[:, None], axis=0)
        log_ratio[far] = np.logaddexp(parts_there, math.log(rest))
    return excess, log_ratio


def _added(epsilon: float, log_rest: float, log_p: Array, means: Array) -> tuple[float, float]:
    """log H_a(N(0)||sum p_k N(w_k)) by thresholds, and its error bar."""
    edge = -log_rest
    room = edge - epsilon
    if room <= 0:
        return -math.inf, 0.0
    # sum_k p_k r_k(u) = C at the threshold, C = exp(-ε) - p_0 = p_0 (exp(room) - 1)
    log_c = log_rest + float(log_expm1(np.array(room)))
    u = float(threshold(np.array([log_c]), log_p, means)[0])
    terms = [
        p + means_k * u - 0.5 * means_k**2 + float(log_gap(-u, float(means_k)))
        for p, means_k in zip(log_p, means, strict=True)
    ]
    value = epsilon + float(np.logaddexp.reduce(terms))
    known = _known(log_c, log_p) + 4 * _UNIT * edge / room
    rounding = _UNIT * (2000 + 16 * (abs(u) + 2) * (abs(u) + float(means.max())))
    return value, rounding + known * _slope(abs(u), means)


def _known(log_c: float, log_p: Array) -> float:
    """How well the threshold's equation is known: weights are exponentials of sums of logs."""
    return _UNIT * (16 + 4 * abs(log_c) + 4 * float(np.abs(log_p).max()))


def _slope(u: float, means: Array) -> float:
    """Bound on the change of log δ with the logarithm of the likelihood ratio's threshold."""
    return (u + 2) / float(means.min()) + 2


def log_delta_by_intervals(pair: MixturePair, epsilon: float) -> tuple[float, float]:
    """log of P(S) - exp(ε) Q(S), S the outputs whose loss exceeds ε; and the rounding bar.

    Raises
    ------
    AccuracyError
        If the difference is within the rounding of its two terms, or ε is above 600.
    """
    if epsilon > 600:
        raise AccuracyError(f"epsilon={epsilon:g} is too large for a pair of two mixtures")
    reach = 40.0 + pair.gap + epsilon * 2 / pair.typical_gap
    grid = np.linspace(-reach, reach, 8193)

    def excess(u: float) -> float:
        return float(pair.nodes(np.array([u])).loss[0]) - epsilon

    def root(low: float, high: float) -> float:
        # On a plateau at ε rounding decides the signs: any point of it will do.
        if excess(low) * excess(high) >= 0:
            return low
        return float(optimize.brentq(excess, low, high, xtol=1e-14))

    above = pair.nodes(grid).loss > epsilon
    turns = np.flatnonzero(above[1:] != above[:-1])
    roots = [root(float(grid[i]), float(grid[i + 1])) for i in turns]
    ends = [-math.inf, *roots, math.inf]
    starts = range(0 if above[0] else 1, len(ends) - 1, 2)
    inside = [(ends[i], ends[i + 1]) for i in starts]
    first = math.fsum(_mass(pair.upper, pair.rest, a, b) for a, b in inside)
    second = math.exp(epsilon) * math.fsum(_mass(pair.lower, pair.rest, a, b) for a, b in inside)
    value = first - second
    bar = 64 * _UNIT * (first + second)
    if not first > 0:  # no such outputs, or none within 40 standard deviations
        return -math.inf, 0.0
    if value <= bar:
        raise AccuracyError(
            f"delta at epsilon = {epsilon:.6g} is below the rounding of the two chances, "
            f"{first:.3g}, whose difference it is"
        )
    return math.log(value), -math.log1p(-bar / value) + 1e-15


def _mass(parts: tuple[tuple[float, float], ...], rest: float, low: float, high: float) -> float:
    """Probability that a mixture gives to (low, high)."""
    rest = rest if parts else 1.0
    return math.fsum(
        weight * float(special.ndtr(high - mean) - special.ndtr(low - mean))
        if low + high < 2 * mean
        else weight * float(special.ndtr(mean - low) - special.ndtr(mean - high))
        for weight, mean in ((rest, 0.0), *parts)
    )


#: Pairs of normal mixtures; see above for what all pairs have.
Pair = SampledGaussianPair | MixturePair
