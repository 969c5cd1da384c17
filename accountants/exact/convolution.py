"""δ(ε) of a composition by convolving loss densities: slow, and accurate at every scale.

Serves where the contour sum is ill conditioned: few steps, or a sampling probability so small
that ordinary losses and the rare large ones differ by many orders of magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.bracket import Bracket
from accountants.errors import AccuracyError
from accountants.exact.composition import Composition
from accountants.exact.law import Budget, Law, convolve, fit
from accountants.mixtures import threshold
from accountants.pairs import MixturePair, Pair, SampledGaussianPair
from accountants.relations import Direction

Array = NDArray[np.float64]
#: log of a density at each point.
LogDensity = Callable[[Array], Array]

_BEND = np.array([0.0, 1.0, 3.0, 7.0, 15.0, 40.0])
_SAFETY = 3.0  # factor on the estimated error of log densities
_MAX_CONVOLUTIONS = 60
_SMALLEST_SIGMA = 0.05
_LARGEST_SIGMA = 1e12  # beyond it losses are within rounding of each other
#: Largest work of one answer, in the units of `accountants.exact.law.Budget`: about half a minute.
WORK = 30_000_000
_MAX_STEPS = 1_500_000


@dataclass(frozen=True)
class LossLaw:
    """Loss = ``edge`` + ``sign`` * x with x distributed by ``law``."""

    law: Law
    edge: float
    sign: float

    def log_delta(self, epsilon: float) -> tuple[float, float]:
        """(log δ, derivative of log δ) at ``epsilon``."""
        at = (epsilon - self.edge) * self.sign
        law = self.law
        # 1 - exp(ε - loss) bends within a few units of ε, whatever the width of a panel.
        ends = np.concatenate([law.breaks, at + self.sign * _BEND])
        low, high = (at, law.breaks[-1]) if self.sign > 0 else (law.breaks[0], at)
        low = max(low, float(law.breaks[0]))
        high = min(high, float(law.breaks[-1]))
        if not low < high:
            return -math.inf, -math.inf
        ends = np.unique(np.clip(ends, low, high))
        x, weight, logs = law.between(ends)
        excess = np.maximum(self.sign * (x - at), 0.0)
        peak = float(logs.max())
        base = weight * np.exp(logs - peak)
        total = float(np.sum(base * -np.expm1(-excess)))
        if total <= 0:
            return -math.inf, -math.inf
        return peak + math.log(total), -float(np.sum(base * np.exp(-excess))) / total


def loss_law(composition: Composition, log_delta: float, work: int = WORK) -> LossLaw:
    """Law of the total loss, accurate where it matters for δ >= exp(``log_delta``).

    ``work`` limits what it may cost.

    Raises
    ------
    AccuracyError
        If the densities need too many panels or too much work.
    """
    if composition.steps > _MAX_STEPS:
        raise AccuracyError(
            f"{composition.steps} steps are too many for the convolution engine, whose error "
            "grows with their number"
        )
    floor = min(log_delta, 0.0) - 38.0 - math.log(max(2, composition.steps))
    edge = 0.0
    sign = 1.0
    total: Law | None = None
    budget = Budget(work)
    number = 0
    sides = {pair.direction for pair, _ in composition.pairs}
    if None in sides or {Direction.REMOVE, Direction.ADD} <= sides:
        raise AccuracyError("the loss of this pair has no density that convolves well")
    for pair, count in composition.pairs:
        number += count.bit_length() + count.bit_count()
        if number > _MAX_CONVOLUTIONS:
            raise AccuracyError("too many different events for the convolution engine")
        assert isinstance(pair, (SampledGaussianPair, MixturePair))  # the others have no side
        if pair.direction is not Direction.SYMMETRIC:
            sign = 1.0 if pair.direction is Direction.REMOVE else -1.0
            edge += sign * count * pair.log_rest
        law = _power(_single(pair, floor), count, floor, budget)
        total = law if total is None else convolve(total, law, floor, budget)
    if composition.gap_squared > 0:
        gaussian = _gaussian(composition.gap_squared, sign, floor)
        total = gaussian if total is None else convolve(total, gaussian, floor, budget)
    if total is None:
        raise AccuracyError("nothing to convolve")
    return LossLaw(total, edge, sign)


def _power(law: Law, count: int, floor: float, budget: Budget) -> Law:
    """Law of the sum of ``count`` copies, by repeated doubling."""
    result: Law | None = None
    while True:
        if count & 1:
            result = law if result is None else convolve(result, law, floor, budget)
        count >>= 1
        if not count:
            assert result is not None
            return result
        law = convolve(law, law, floor, budget)


def _single(pair: Pair, floor: float) -> Law:
    """Law of one release's |loss - edge| under the distribution the output is drawn from."""
    if pair.gap * _SMALLEST_SIGMA > 1:
        raise AccuracyError(f"a noise multiplier of {1 / pair.gap:g} is too small for densities")
    if pair.gap * _LARGEST_SIGMA < 1:
        raise AccuracyError(f"a noise multiplier of {1 / pair.gap:g} is too large for densities")
    reach = math.sqrt(2 * (4 - floor)) + 1
    low = -reach
    high = reach + (0.0 if pair.direction is Direction.ADD else pair.gap)
    step = min(0.8, 0.7 * pair.resolution)
    u = np.linspace(low, high, max(9, math.ceil((high - low) / step) + 1))
    if isinstance(pair, MixturePair):
        breaks, log_density = _mixed(pair, u)
    elif pair.direction is Direction.SYMMETRIC:
        breaks, log_density = _symmetric(pair, u)
    else:
        breaks, log_density = _one_sided(pair, u)
    return fit(log_density, np.unique(breaks), floor, 4e-15 + 4e-16 * abs(floor))


def _one_sided(pair: SampledGaussianPair, u: Array) -> tuple[Array, LogDensity]:
    """x = log(1 + r exp(y)) with r = q/(1-q): the loss beyond its edge."""
    log_odds = math.log(pair.q) - math.log1p(-pair.q)
    gap = 1 / pair.sigma
    removed = pair.direction is Direction.REMOVE
    log_rest = math.log1p(-pair.q)

    def distance(at: Array) -> Array:
        return np.logaddexp(0.0, log_odds + gap * (at - 0.5 * gap))

    def log_density(x: Array) -> Array:
        log_expm1 = np.log(-np.expm1(-x)) + x
        at = (log_expm1 - log_odds) / gap + 0.5 * gap
        # du/dx = sigma e^x/(e^x - 1)
        slope = x - log_expm1 - math.log(gap)
        tilt = x + log_rest if removed else 0.0
        return -0.5 * at * at - 0.5 * math.log(2 * math.pi) + slope + tilt

    return distance(u), log_density


def _mixed(pair: MixturePair, u: Array) -> tuple[Array, LogDensity]:
    """x = log(1 + sum_k r_k exp(y_k)), r_k = p_k/p_0, for means > 0 on one side."""
    parts = pair.upper or pair.lower
    if min(mean for _, mean in parts) < 0:
        raise AccuracyError("the loss of this pair has no density that convolves well")
    log_rest = pair.log_rest
    log_r = np.log([weight for weight, _ in parts]) - log_rest
    mean = np.array([m for _, m in parts])
    removed = pair.direction is Direction.REMOVE

    def terms(at: Array) -> Array:
        exponent: Array = log_r + mean * (at[:, None] - 0.5 * mean)
        return exponent

    def log_density(x: Array) -> Array:
        log_expm1 = np.log(-np.expm1(-x)) + x
        at = threshold(log_expm1, log_r, mean)
        share = np.exp(terms(at) - log_expm1[:, None])
        # du/dx = e^x/(sum_k w_k r_k exp(y_k))
        slope = x - log_expm1 - np.log(share @ mean)
        tilt = x + log_rest if removed else 0.0
        values: Array = -0.5 * at * at - 0.5 * math.log(2 * math.pi) + slope + tilt
        return values

    return np.logaddexp(0.0, np.logaddexp.reduce(terms(u), axis=1)), log_density


def _symmetric(pair: SampledGaussianPair, u: Array) -> tuple[Array, LogDensity]:
    """The loss itself under replace-one; u(x) solves a quadratic in exp(u/sigma)."""
    gap = 1 / pair.sigma
    log_k = math.log(pair.q) - 0.5 * gap * gap
    rest = 1 - pair.q

    def log_density(x: Array) -> Array:
        # With w = exp(u gap) and k = q exp(-gap^2/2): k w^2 - (e^x - 1)(1-q) w - e^x k = 0,
        # so that sinh(u gap - x/2) = (1-q) sinh(x/2)/k.
        log_ratio = math.log(rest) - log_k
        half = 0.5 * x
        with np.errstate(over="ignore"):
            argument = np.exp(log_ratio) * np.sinh(np.clip(half, -300, 300))
        at = (half + np.arcsinh(argument)) / gap
        nodes = pair.nodes(at)
        # derivative of the loss in u
        up = np.exp(log_k + gap * at - nodes.log_upper)
        down = np.exp(log_k - gap * at - nodes.log_lower)
        values: Array = nodes.log_base + nodes.log_upper - np.log(gap * (up + down))
        return values

    return pair.nodes(u).loss, log_density


def _gaussian(gap_squared: float, sign: float, floor: float) -> Law:
    """The loss of the plain Gaussian releases, times ``sign``."""
    mean, deviation = 0.5 * gap_squared * sign, math.sqrt(gap_squared)
    reach = math.sqrt(2 * (4 - floor)) + 1
    breaks = mean + deviation * np.linspace(-reach, reach, math.ceil(2 * reach) + 1)

    def log_density(x: Array) -> Array:
        z = (x - mean) / deviation
        values: Array = -0.5 * z * z - math.log(deviation) - 0.5 * math.log(2 * math.pi)
        return values

    return fit(log_density, breaks, floor, 4e-15)


def log_delta_bracket(
    composition: Composition, epsilon: float, guess: float, work: int = WORK
) -> Bracket:
    """log δ(ε) with its bar; ``guess`` is an upper estimate of log δ to start from."""
    target = guess - 6.0
    for _ in range(4):
        law = loss_law(composition, target, work)
        value, _ = law.log_delta(epsilon)
        if value >= target - 6.0:
            margin = _margin(law, value)
            return Bracket(value - margin, min(0.0, value + margin))
        target = max(value, 4 * target - 40.0)
    raise AccuracyError(f"delta at epsilon = {epsilon:.6g} is below what can be resolved")


def epsilon_bracket(
    composition: Composition, log_delta: float, guess: float, work: int = WORK
) -> tuple[Bracket, float]:
    """ε with δ(ε) = exp(``log_delta``), unclipped, and the relative error of δ behind it."""
    law = loss_law(composition, log_delta, work)
    return _solve(law, log_delta, guess), _margin(law, log_delta)


def _margin(law: LossLaw, log_delta: float) -> float:
    return _SAFETY * law.law.error + 1e-15 * (4 + abs(log_delta))


def _solve(law: LossLaw, log_delta: float, guess: float) -> Bracket:
    """Bracketed Newton for ε on the law of the loss."""
    low, high = -math.inf, math.inf
    epsilon = guess
    scale = max(abs(guess), 1e-6)
    for _ in range(300):
        value, slope = law.log_delta(epsilon)
        excess = value - log_delta
        if excess > 0:
            low = epsilon
        else:
            high = epsilon
        step = excess / -slope if math.isfinite(excess) and slope < 0 else math.nan
        candidate = epsilon + step
        if not low < candidate < high:
            if math.isinf(high):
                candidate = low + scale
            elif math.isinf(low):
                candidate = high - scale
            else:
                candidate = 0.5 * (low + high)
            scale *= 2
        if abs(candidate - epsilon) <= 2e-16 * abs(candidate) + 1e-300:
            break
        epsilon = candidate
    value, slope = law.log_delta(epsilon)
    if not (math.isfinite(value) and slope < 0 and abs(value - log_delta) < 1e-6):
        raise AccuracyError(f"epsilon at log delta = {log_delta:.6g} was not found")
    margin = (_margin(law, log_delta) + 2 * abs(value - log_delta)) / -slope
    margin += 4 * math.ulp(abs(epsilon) + abs(law.edge))
    return Bracket(epsilon - margin, epsilon + margin)
