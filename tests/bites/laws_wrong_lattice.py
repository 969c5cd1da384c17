"""A small accountant of the privacy loss on a lattice, and what goes wrong when one is written.

``LatticeAccountant`` is right: every rounding is against it, and what it cannot do it refuses.
Its subclasses each have one slip that such code is known for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import dp_accounting as dp
import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import NDArray
from scipy import signal, special, stats

Array = NDArray[np.float64]
Counted = list[tuple[Any, int]]

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
LARGEST = 1 << 16  # points of one law
LOST = 1e-14  # mass that one convolution may lose to rounding
FINEST = 1e-7  # of the lattice: below it the masses have too few digits
WIDEST = 600.0  # of one loss: exp of it is still a double
REACH = 12.0  # noise standard deviations beyond the means


def whole(count: Any) -> int:
    """A number of uses, checked."""
    if not isinstance(count, int) or count < 0:
        raise ValueError(f"count={count!r}: must be a whole number >= 0")
    return count


@dataclass(frozen=True)
class Pair:
    """Two mixtures of Gaussians on the line, in units of the noise; their loss is monotone."""

    weights: Array
    above: Array
    below: Array

    def loss(self, x: Array) -> Array:
        """log of the ratio of the densities at ``x``."""
        return self._log_density(x, self.above) - self._log_density(x, self.below)

    def _log_density(self, x: Array, means: Array) -> Array:
        terms = np.log(self.weights)[:, None] - (x - means[:, None]) ** 2 / 2
        return np.asarray(special.logsumexp(terms, axis=0))

    def masses(self, edges: Array, means: Array) -> Array:
        """Mass of the cells between ``edges``, the outermost cells reaching to infinity."""
        z = edges - means[:, None]
        below, above = special.ndtr(z), special.ndtr(-z)
        right = z[:, :-1] > 0  # from the nearer tail, so that small masses keep their digits
        inner = np.where(right, above[:, :-1] - above[:, 1:], below[:, 1:] - below[:, :-1])
        cells = np.concatenate([below[:, :1], inner, above[:, -1:]], axis=1)
        return np.asarray(self.weights @ cells)


@dataclass(frozen=True)
class Law:
    """Masses at ``step`` times ``start``, ``start`` + 1, …, and the mass at infinity."""

    masses: Array
    start: int
    step: float
    infinity: float

    def then(self, other: Law, tail: float) -> Law:
        """Both in a row; ``tail`` may be cut at either end, against us."""
        masses = np.maximum(signal.fftconvolve(self.masses, other.masses), 0.0)
        infinity = self.infinity + other.infinity + LOST
        return self.trimmed(masses, self.start + other.start, infinity, tail)

    def trimmed(self, masses: Array, start: int, infinity: float, tail: float) -> Law:
        """Without the outermost masses: the lowest are moved up, the highest to infinity."""
        first = int(np.searchsorted(np.cumsum(masses), tail))
        last = masses.size - int(np.searchsorted(np.cumsum(masses[::-1]), tail))
        if last - first > LARGEST:
            raise NotImplementedError("a law on too many points")
        kept = masses[first:last].copy()
        kept[0] += masses[:first].sum()
        return type(self)(kept, start + first, self.step, infinity + float(masses[last:].sum()))

    def delta(self, epsilon: float) -> float:
        """E(1 - exp(epsilon - loss))_+."""
        losses = self.step * (self.start + np.arange(self.masses.size))
        beyond = losses > epsilon
        excess = -np.expm1(epsilon - losses[beyond])
        return self.infinity + float(self.masses[beyond] @ excess)


class LatticeAccountant:
    """(ε, δ) of Poisson and fixed-size batches by convolution of losses on a lattice."""

    law: type[Law] = Law
    tail = 2e-14

    def __init__(self, neighboring_relation: NeighboringRelation = ADD_REMOVE) -> None:
        if neighboring_relation not in (ADD_REMOVE, REPLACE):
            raise NotImplementedError(f"no pair under {neighboring_relation}")
        self._relation = neighboring_relation
        self._counted: Counted = []

    def compose(self, event: Any, count: int = 1) -> Any:
        found = self._found(event, count)
        self._counted += found
        return self

    def _found(self, event: Any, count: int) -> Counted:
        count = whole(count)
        if isinstance(event, dp.SelfComposedDpEvent):
            return self._found(event.event, count * whole(event.count))
        if isinstance(event, dp.ComposedDpEvent):
            return [found for child in event.events for found in self._found(child, count)]
        if isinstance(event, dp.NoOpDpEvent):
            return []
        self.pair(event)
        return [(event, count)] if count else []

    def pair(self, event: Any) -> Pair:
        """Of the data set with the record against the one without it, or with another one."""
        if isinstance(event, dp.GaussianDpEvent):
            event = dp.PoissonSampledDpEvent(1.0, event)
        inner = getattr(event, "event", None)
        if not isinstance(inner, dp.GaussianDpEvent):
            raise NotImplementedError(f"no pair for {event!r}")
        sigma = inner.noise_multiplier
        if not 0.05 <= sigma <= 1e3:
            raise ValueError(f"noise_multiplier={sigma!r}: must be between 0.05 and 1000")
        if isinstance(event, dp.PoissonSampledDpEvent):
            q, move = event.sampling_probability, 1.0
            if not 0 < q <= 1:
                raise ValueError(f"sampling_probability={q!r}: must be in (0, 1]")
            weights = np.array([1 - q, q]) if q < 1 else np.array([1.0])
        else:
            weights, move = self.copies(event), 2.0
        copies = np.arange(weights.size) if weights.size > 1 else np.ones(1)
        above = copies * move / sigma
        mirrored = self._relation is REPLACE and isinstance(event, dp.PoissonSampledDpEvent)
        return Pair(weights, above, -above if mirrored else 0 * above)

    def copies(self, event: Any) -> Array:
        """Law of the number of copies of the record in a batch of fixed size."""
        n, m = event.source_dataset_size, event.sample_size
        if isinstance(event, dp.SampledWithoutReplacementDpEvent) and 0 < m < n:
            return np.array([1 - m / n, m / n])
        if self._relation is not REPLACE and type(event) is dp.SampledWithReplacementDpEvent:
            if m < 1 or n < 2:
                raise ValueError(f"n={n!r}, m={m!r}: must be at least 2 and 1")
            return self.drawn(n, m)
        raise NotImplementedError(f"no pair for {event!r}")

    def drawn(self, n: int, m: int) -> Array:
        """All numbers of copies but those with a chance below 1e-14 in all."""
        most = int(stats.binom.isf(1e-14, m, 1 / n))
        return np.asarray(stats.binom.pmf(np.arange(most + 1), m, 1 / n))

    def one(self, event: Any, step: float, reverse: bool) -> Law:
        """One release on the lattice: each cell's two masses are kept, its losses spread out."""
        pair = self.pair(event)
        low = min(pair.below.min(), 0.0) - REACH
        high = pair.above.max() + REACH
        ends = pair.loss(np.array([low, high]))
        if ends[1] - ends[0] > step * LARGEST or np.abs(ends).max() > WIDEST:
            raise NotImplementedError("losses too far apart")
        lattice = np.arange(math.floor(ends[0] / step), math.ceil(ends[1] / step) + 1)
        left, right = np.full(lattice.size, low), np.full(lattice.size, high)
        for _ in range(60):
            middle = (left + right) / 2
            smaller = pair.loss(middle) < step * lattice
            left, right = np.where(smaller, middle, left), np.where(smaller, right, middle)
        left[0], left[-1] = low, high
        p, q = pair.masses(left, pair.above), pair.masses(left, pair.below)
        if reverse:
            p, q, lattice = q[::-1], p[::-1], -lattice[::-1]
        unseen = max(0.0, 1 - float(pair.weights.sum()))
        law = self.spread(p, q, lattice, step, unseen)
        symmetrised = self._relation is REPLACE and isinstance(
            event, dp.SampledWithoutReplacementDpEvent
        )
        return self.reflected(law) if symmetrised else law

    def spread(
        self, p: Array, q: Array, lattice: NDArray[np.int64], step: float, unseen: float
    ) -> Law:
        """Cells to lattice points; the last cell's loss has no upper end and goes to infinity."""
        with np.errstate(all="ignore"):
            up = (p[1:-1] - q[1:-1] * np.exp(step * lattice[:-1])) / -math.expm1(-step)
        up = np.clip(np.nan_to_num(up, nan=0.0), 0, p[1:-1])
        masses = np.zeros(lattice.size)
        masses[:-1] += p[1:-1] - up
        masses[1:] += up
        masses[1] += p[0]
        return self.law(masses, int(lattice[0]), step, float(p[-1]) + unseen)

    def reflected(self, law: Law) -> Law:
        """The law whose profile holds in both orders: losses > 0, and their image below 0."""
        points = law.start + np.arange(law.masses.size)
        upper = np.where(points > 0, law.masses, 0.0)[max(0, 1 - law.start) :]
        image = self.image(upper, law.step)
        rest = 1 - law.infinity - upper.sum() - image.sum()
        masses = np.concatenate([image[::-1], [max(rest, 0.0)], upper])
        return self.law(masses, -image.size, law.step, law.infinity)

    def image(self, upper: Array, step: float) -> Array:
        """Mass at -l for the masses at l = step, 2 step, …: that of the other distribution."""
        return np.asarray(upper * np.exp(-step * (1 + np.arange(upper.size))))

    def composed(self, reverse: bool) -> Law:
        """All releases in a row, each repeated by squaring."""
        spreads = [self._spread(event) for event, _ in self._counted]
        total = math.sqrt(sum(n * s * s for s, (_, n) in zip(spreads, self._counted, strict=True)))
        step = max(min(spreads) / 8, total / 2000, FINEST)
        whole = self.law(np.array([1.0]), 0, step, 0.0)
        for event, count in self._counted:
            power = self.one(event, step, reverse)
            while count:
                if count & 1:
                    whole = whole.then(power, self.tail)
                count >>= 1
                if count:
                    power = power.then(power, self.tail)
        return whole

    def _spread(self, event: Any) -> float:
        """Standard deviation of the loss, roughly."""
        pair = self.pair(event)
        x = np.linspace(pair.below.min() - REACH, pair.above.max() + REACH, 2001)
        density = pair.weights @ np.exp(-((x - pair.above[:, None]) ** 2) / 2)
        loss = pair.loss(x)
        mean = float(density @ loss / density.sum())
        return math.sqrt(float(density @ (loss - mean) ** 2 / density.sum()))

    def _laws(self) -> list[Law]:
        if self._relation is REPLACE:
            return [self.composed(False)]
        return [self.composed(False), self.composed(True)]

    def get_delta(self, target_epsilon: float) -> float:
        if not target_epsilon >= 0:
            raise ValueError(f"target_epsilon={target_epsilon!r}: must be >= 0")
        if not self._counted:
            return 0.0
        return min(1.0, max(law.delta(target_epsilon) for law in self._laws()))

    def get_epsilon(self, target_delta: float) -> float:
        if not 0 <= target_delta <= 1:
            raise ValueError(f"target_delta={target_delta!r}: must be in [0, 1]")
        if not self._counted:
            return 0.0
        return max(self.solved(law, target_delta) for law in self._laws())

    def solved(self, law: Law, target_delta: float) -> float:
        """Smallest ε of one law, by bisection, from above."""
        low, high = 0.0, law.step * (law.start + law.masses.size)
        if law.infinity > target_delta:
            raise NotImplementedError(f"target_delta={target_delta!r}: below the lattice's error")
        if law.delta(0.0) <= target_delta:
            return 0.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if law.delta(middle) > target_delta else (low, middle)
        return high
