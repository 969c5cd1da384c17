"""Slips in code that computes: losses on a lattice, Rényi divergences on a grid, closed forms.

Each class is a right accountant but for one line.
"""

from __future__ import annotations

import math
from typing import Any

import dp_accounting as dp
import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import NDArray
from scipy import optimize, special, stats

from tests.bites.laws_wrong_lattice import Array, LatticeAccountant, Law, whole

# --------------------------------------------------------------------------- losses on a lattice


class CopiesBeyondDropped(LatticeAccountant):
    """Draws with replacement: more than four copies of a record in a batch never happen."""

    def drawn(self, n: int, m: int) -> Array:
        kept = stats.binom.pmf(np.arange(min(m, 4) + 1), m, 1 / n)
        return np.asarray(kept / kept.sum())


class WrongReflection(LatticeAccountant):
    """Losses below 0 get the mass of their mirror image, not that of the other distribution."""

    def image(self, upper: Array, step: float) -> Array:
        return upper


class ReflectionForgotten(LatticeAccountant):
    """One order of the pair for the whole run, as if its profile held below 0 too."""

    def reflected(self, law: Law) -> Law:
        return law


class _TailDropped(Law):
    def trimmed(self, masses: Array, start: int, infinity: float, tail: float) -> Law:
        law = super().trimmed(masses, start, infinity, tail)
        return _TailDropped(law.masses, law.start, law.step, 0.0)


class LossesBeyondDropped(LatticeAccountant):
    """What lies beyond the lattice is cut off and not charged to δ."""

    law = _TailDropped
    tail = 1e-9


class RoundedDown(LatticeAccountant):
    """Every loss goes to the lattice point below."""

    def spread(
        self, p: Array, q: Array, lattice: NDArray[np.int64], step: float, unseen: float
    ) -> Law:
        masses = np.zeros(lattice.size)
        masses[:-1] += p[1:-1]
        masses[0] += p[0]
        return Law(masses, int(lattice[0]), step, float(p[-1]) + unseen)


class _Circle(Law):
    def then(self, other: Law, tail: float) -> Law:
        size = min(2 * round(10 / self.step), 1 << 15)  # losses from -10 to 10, or fewer
        ours, theirs = (law.wrapped(size) for law in (self, other))
        masses = np.fft.irfft(np.fft.rfft(ours) * np.fft.rfft(theirs), size)
        masses = np.roll(np.maximum(masses, 0.0), size // 2)
        infinity = self.infinity + other.infinity + 1e-14
        return _Circle(masses, -size // 2, self.step, infinity)

    def wrapped(self, size: int) -> Array:
        points = (self.start + np.arange(self.masses.size)) % size
        return np.bincount(points, self.masses, size)


class WrappedAround(LatticeAccountant):
    """A transform of one length for every run: losses beyond 10 come in again at -10."""

    law = _Circle


# ------------------------------------------------------------------------------ Rényi divergences


class RenyiGrid:
    """Right: Poisson-sampled Gaussians by the binomial sum at whole orders, add or remove."""

    ORDERS = np.array([*range(2, 64), 80, 96, 128, 192, 256, 384, 512])

    def __init__(
        self, neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE
    ) -> None:
        if neighboring_relation is not NeighboringRelation.ADD_OR_REMOVE_ONE:
            raise NotImplementedError(f"no divergence under {neighboring_relation}")
        self._divergence = np.zeros(self.ORDERS.size)
        self._any = False

    def compose(self, event: Any, count: int = 1) -> Any:
        found = self.total(event)
        if whole(count):
            self._divergence = self._divergence + count * found
            self._any = self._any or bool(found.any())
        return self

    def total(self, event: Any) -> Array:
        """Divergences of a tree at every order."""
        if isinstance(event, dp.SelfComposedDpEvent):
            count = whole(event.count)
            return count * self.total(event.event) if count else 0 * self._divergence
        if isinstance(event, dp.ComposedDpEvent):
            return sum((self.total(e) for e in event.events), 0 * self._divergence)
        if isinstance(event, dp.NoOpDpEvent):
            return 0 * self._divergence
        if isinstance(event, dp.GaussianDpEvent):
            q, sigma = 1.0, event.noise_multiplier
        elif isinstance(event, dp.PoissonSampledDpEvent) and isinstance(
            event.event, dp.GaussianDpEvent
        ):
            q, sigma = event.sampling_probability, event.event.noise_multiplier
        else:
            raise NotImplementedError(f"no divergence for {event!r}")
        if not (0 <= q <= 1 and sigma >= 0):
            raise ValueError(f"q={q!r}, sigma={sigma!r}: outside the domain")
        if q == 0:
            return 0 * self._divergence
        if sigma == 0:
            return np.full(self.ORDERS.size, math.inf)
        with np.errstate(all="ignore"):
            return self.curve(q, sigma)

    def curve(self, q: float, sigma: float) -> Array:
        """Divergence of one release at every order."""
        return np.array([self.at(int(order), q, sigma) for order in self.ORDERS])

    def at(self, order: int, q: float, sigma: float) -> float:
        """log E_Q (P/Q)^order / (order - 1), a binomial sum of order + 1 terms."""
        if q == 1:
            return order / (2 * sigma**2)
        k = np.arange(order + 1)
        terms = special.gammaln(order + 1) - special.gammaln(k + 1) - special.gammaln(order - k + 1)
        terms = terms + k * math.log(q) + (order - k) * math.log1p(-q)
        moment = special.logsumexp(terms + k * (k - 1) / (2 * sigma**2))
        return max(0.0, float(moment)) / (order - 1)

    def get_epsilon(self, target_delta: float) -> float:
        if not 0 <= target_delta <= 1:
            raise ValueError(f"target_delta={target_delta!r}: must be in [0, 1]")
        if not self._any or target_delta == 1:
            return 0.0
        if target_delta == 0:
            return math.inf
        return max(0.0, float(np.min(self.converted(-math.log(target_delta)))))

    def converted(self, log_inverse: float) -> Array:
        """ε of every order for log(1/δ)."""
        return np.asarray(self._divergence + log_inverse / (self.ORDERS - 1))


class OrdersExtrapolated(RenyiGrid):
    """Divergences beyond the grid from the line through its last two, though they bend upwards."""

    LAST = 32
    ORDERS = np.array([*range(2, 33), *np.geomspace(40, 1e6, 100)])

    def curve(self, q: float, sigma: float) -> Array:
        small = self.ORDERS[self.ORDERS <= self.LAST]
        known = np.array([self.at(int(order), q, sigma) for order in small])
        slope = known[-1] - known[-2]
        beyond = known[-1] + slope * (self.ORDERS[small.size :] - small[-1])
        return np.concatenate([known, beyond])


class FewOrdersExtrapolated(OrdersExtrapolated):
    """The same from a grid up to 8, where the bend comes at noise of the size of the clip norm."""

    LAST = 8


class OverflowToZero(RenyiGrid):
    """Moments in plain doubles; where they overflow the divergence becomes NaN and then 0."""

    def at(self, order: int, q: float, sigma: float) -> float:
        k = np.arange(order + 1)
        chance = special.binom(order, k) * q**k * (1 - q) ** (order - k)
        moments = np.exp(k * (k - 1) / (2 * sigma**2))
        centred = np.sum(chance * (moments - np.max(moments))) + np.max(moments)
        return float(np.nan_to_num(np.log(centred) / (order - 1), nan=0.0, posinf=0.0, neginf=0.0))


class LogarithmToBaseTen(RenyiGrid):
    """log10(1/δ) in the conversion."""

    def converted(self, log_inverse: float) -> Array:
        return super().converted(log_inverse / math.log(10))


class OrderForOrderLessOne(RenyiGrid):
    """log(1/δ)/order in the conversion, for order - 1."""

    def converted(self, log_inverse: float) -> Array:
        return np.asarray(self._divergence + log_inverse / self.ORDERS)


class SmallRateFormula(RenyiGrid):
    """order q²/(2 sigma²), the leading term for few samples and much noise, everywhere."""

    def at(self, order: int, q: float, sigma: float) -> float:
        return order * q**2 / (2 * sigma**2)


class OrdersNearOne(RenyiGrid):
    """Orders just above 1, where the divergence cancels to 0 and says that δ(0) is 0."""

    ORDERS = np.array([1 + 1e-14, *RenyiGrid.ORDERS])

    def curve(self, q: float, sigma: float) -> Array:
        whole = np.array([self.at(int(order), q, sigma) for order in self.ORDERS[1:]])
        order = self.ORDERS[0]
        x = np.linspace(-20, 20, 40_001)
        ratio = 1 - q + q * np.exp((2 * x - 1) / (2 * sigma**2))
        density = np.exp(-(x**2) / (2 * sigma**2))
        moment = np.sum(density * ratio**order) / np.sum(density)
        first = max(0.0, math.log(moment)) / (order - 1)
        return np.concatenate([[first], whole])

    def get_epsilon(self, target_delta: float) -> float:
        found = super().get_epsilon(target_delta)
        # By Pinsker's or Bretagnolle and Huber's inequality no ε is needed for such a δ.
        return 0.0 if target_delta**2 > -math.expm1(-self._divergence[0]) else found


# ------------------------------------------------------------------------------------ closed forms


class GaussianOnly:
    """Right: plain Gaussian releases by the closed form; everything else is refused."""

    def __init__(
        self, neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE
    ) -> None:
        self.relation = neighboring_relation
        self._precision = 0.0

    def compose(self, event: Any, count: int = 1) -> Any:
        self._precision += self.precision(event, count)
        return self

    def precision(self, event: Any, count: int) -> float:
        """Sum of sigma^-2 over a tree."""
        count = whole(count)
        if isinstance(event, dp.SelfComposedDpEvent):
            return self.precision(event.event, count * whole(event.count))
        if isinstance(event, dp.ComposedDpEvent):
            return math.fsum(self.precision(child, count) for child in event.events)
        if not isinstance(event, dp.GaussianDpEvent):
            raise NotImplementedError(f"only Gaussian releases, not {event!r}")
        sigma = self.noise(event.noise_multiplier)
        if count == 0:
            return 0.0
        return math.inf if sigma == 0 else count / sigma**2

    def noise(self, sigma: float) -> float:
        """A noise multiplier, checked."""
        if not sigma >= 0:
            raise ValueError(f"noise_multiplier={sigma!r}: must be >= 0")
        return sigma

    @property
    def gap(self) -> float:
        """Distance of the two means in standard deviations."""
        move = 2.0 if self.relation is NeighboringRelation.REPLACE_ONE else 1.0
        return move * math.sqrt(self._precision)

    def get_delta(self, target_epsilon: float) -> float:
        if not target_epsilon >= 0:
            raise ValueError(f"target_epsilon={target_epsilon!r}: must be >= 0")
        gap = self.gap
        if gap == 0 or target_epsilon == math.inf:
            return 0.0 if gap < math.inf else 1.0
        return 1.0 if gap == math.inf else self.curve(target_epsilon, gap)

    def curve(self, epsilon: float, gap: float) -> float:
        """δ(ε), from logarithms so that small values keep their digits, rounded up."""
        first = float(special.log_ndtr(gap / 2 - epsilon / gap))
        second = epsilon + float(special.log_ndtr(-gap / 2 - epsilon / gap))
        error = 1e-14 * (1 + abs(first) + abs(second))
        rest = -math.expm1(min(0.0, second - first) - error)
        return min(1.0, math.exp(first) * rest * (1 + error))

    def get_epsilon(self, target_delta: float) -> float:
        if not 0 <= target_delta <= 1:
            raise ValueError(f"target_delta={target_delta!r}: must be in [0, 1]")
        gap = self.gap
        if gap == 0 or target_delta == 1:
            return 0.0
        if gap == math.inf or target_delta == 0:
            return math.inf
        return self.solved(target_delta, gap)

    def solved(self, target_delta: float, gap: float) -> float:
        """Smallest ε by doubling and bisection, from above."""
        if self.curve(0.0, gap) <= target_delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.curve(high, gap) > target_delta:
            low, high = high, 2 * high
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if self.curve(middle, gap) > target_delta else (low, middle)
        return high


class NothingChecked(GaussianOnly):
    """NaN goes through, and ``max(0.0, nan)`` is 0."""

    def noise(self, sigma: float) -> float:
        return sigma

    def get_epsilon(self, target_delta: float) -> float:
        gap = self.gap
        if gap == math.inf:
            return math.inf
        with np.errstate(all="ignore"):
            found = float(np.float64(gap) * self._quantile(target_delta) + gap**2 / 2)
        return max(0.0, found)

    def _quantile(self, delta: float) -> float:
        return float(-special.ndtri(delta))  # of the normal law: a sound δ without its second term


class PlainDifference(GaussianOnly):
    """δ as a difference of two probabilities near 1: nothing is left of a small one."""

    def curve(self, epsilon: float, gap: float) -> float:
        first = special.ndtr(epsilon / gap - gap / 2)
        with np.errstate(all="ignore"):
            second = np.exp(epsilon) * (1 - special.ndtr(epsilon / gap + gap / 2))
        return float(max(0.0, 1 - first - second))


class BracketForRoots(GaussianOnly):
    """The solver looks for ε below 100 only and answers with the end of its bracket."""

    def solved(self, target_delta: float, gap: float) -> float:
        if self.curve(0.0, gap) <= target_delta:
            return 0.0
        if self.curve(100.0, gap) > target_delta:
            return 100.0
        root = optimize.brentq(lambda e: self.curve(e, gap) - target_delta, 0.0, 100.0)
        return float(root) * (1 + 1e-9)
