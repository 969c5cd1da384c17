"""One direction of a run, and the choice of the method that computes it.

No sampled release: one Gaussian, closed form.  One sampled release alone: closed form.
Everything else: ``inversion``.  With two directions the second is computed only where a
proved Chernoff bound does not already put it below the first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from accountants.bracket import Bracket
from accountants.exact import inversion, single
from accountants.exact.composition import Composition
from accountants.pairs import SampledGaussianPair
from accountants.relations import Direction
from accountants.sampling import Poisson
from accountants.walk import Release


@dataclass(frozen=True)
class Run:
    """A composition in one direction.

    Attributes
    ----------
    composition : Composition
    largest_loss : float
        Supremum of the privacy loss (inf unless the record is only ever missing).
    """

    composition: Composition
    largest_loss: float

    @staticmethod
    def of(counts: Mapping[Release, int], direction: Direction, shift: float) -> Run:
        """Collect counted releases.

        Parameters
        ----------
        counts : mapping from Release to int
            Noise multipliers finite and > 0, probabilities in (0, 1], counts > 0.
        direction : Direction
        shift : float
            Gap of an unsampled release in clip norms.
        """
        squares = []
        pairs = []
        for leaf, count in sorted(counts.items(), key=repr):
            assert isinstance(leaf.sampling, Poisson)
            if leaf.sampling.sampling_probability == 1:
                squares.append(count * (shift / leaf.noise_multiplier) ** 2)
            else:
                pair = SampledGaussianPair(
                    leaf.sampling.sampling_probability, leaf.noise_multiplier, direction
                )
                pairs.append((pair, count))
        composition = Composition(tuple(pairs), math.fsum(squares))
        bounded = direction is Direction.ADD and not squares
        loss = -math.fsum(n * math.log1p(-p.q) for p, n in pairs) if bounded else math.inf
        return Run(composition, loss)

    @property
    def log_hit_probability(self) -> float:
        """log of the chance that the record is ever sampled, which bounds log δ(ε), ε >= 0.

        Whatever the noise: where the record is never drawn both data sets give the same law.
        """
        if self.composition.gap_squared > 0:
            return 0.0
        never = math.fsum(n * math.log1p(-p.q) for p, n in self.composition.pairs)
        return math.log(-math.expm1(never)) if never < 0 else -math.inf

    @property
    def log_total_variation_bound(self) -> float:
        """log of a bound on δ(0): the total variation distances of all releases, added.

        One release with gap g in standard deviations has 2 Phi(g/2) - 1 <= g / sqrt(2 pi).
        """
        total = math.sqrt(self.composition.gap_squared)
        for pair, count in self.composition.pairs:
            shift = 2.0 if pair.direction is Direction.SYMMETRIC else 1.0
            total += count * pair.q * shift / pair.sigma
        return math.log(total) - 0.5 * math.log(2 * math.pi)

    @property
    def closed_form(self) -> single.LogDelta | None:
        """log δ as a function of ε where a closed form exists."""
        pairs = self.composition.pairs
        if not pairs:
            return single.gaussian(math.sqrt(self.composition.gap_squared))
        if len(pairs) == 1 and pairs[0][1] == 1 and self.composition.gap_squared == 0:
            return single.sampled(pairs[0][0])
        return None


def larger_epsilon(run: Run, delta: float, floor: Bracket) -> Bracket:
    """Maximum of ``floor`` and the run's ε(``delta``)."""
    if delta == 0:
        loss = Bracket(run.largest_loss, run.largest_loss)
        return floor.hull_of_maximum(loss)
    log_delta = math.log(delta)
    if log_delta >= min(run.log_hit_probability, run.log_total_variation_bound) + 1e-11:
        return floor.hull_of_maximum(Bracket(0.0, 0.0))
    closed_form = run.closed_form
    if closed_form is not None:
        return floor.hull_of_maximum(single.epsilon_bracket(closed_form, log_delta))
    if floor.lower > 0 and _surely_below(run, floor.lower, log_delta):
        return floor
    found = inversion.epsilon_bracket(run.composition, log_delta)
    return floor.hull_of_maximum(Bracket(max(0.0, found.lower), max(0.0, found.upper)))


def larger_log_delta(run: Run, epsilon: float, floor: Bracket) -> Bracket:
    """Maximum of ``floor`` and the run's log δ(``epsilon``)."""
    if epsilon >= run.largest_loss:
        return floor
    closed_form = run.closed_form
    if closed_form is not None:
        return floor.hull_of_maximum(single.log_bracket(closed_form, epsilon))
    if floor.lower > -math.inf and _surely_below(run, epsilon, floor.lower):
        return floor
    return floor.hull_of_maximum(inversion.delta_value(run.composition, epsilon))


def log_delta_estimate(run: Run, epsilon: float) -> float:
    """Estimate of the run's log δ(``epsilon``); see ``inversion.delta_estimate``."""
    if epsilon >= run.largest_loss:
        return -math.inf
    closed_form = run.closed_form
    if closed_form is not None:
        return closed_form(epsilon)[0]
    return inversion.delta_estimate(run.composition, epsilon)


def _surely_below(run: Run, epsilon: float, log_delta: float) -> bool:
    """Whether the run's δ(``epsilon``) is certainly below exp(``log_delta``)."""
    return epsilon >= run.largest_loss or inversion.surely_below(
        run.composition, epsilon, log_delta
    )
