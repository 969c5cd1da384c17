"""One composition in one order of the two data sets, and the method that computes it.

No sampled release: one Gaussian, closed form.  One sampled release alone: closed form.
Everything else: ``inversion``.  With two directions the second is computed only where a
proved Chernoff bound does not already put it below the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from accountants.bracket import Bracket
from accountants.exact import estimates, inversion, single
from accountants.exact.composition import Composition
from accountants.exact.moments import AnyPair
from accountants.exact.node_law import ClosedPair, ProfilePair
from accountants.pairs import MixturePair
from accountants.relations import Direction


@dataclass(frozen=True)
class Run:
    """A composition, and what was left out of it.

    Attributes
    ----------
    composition : Composition
    log_kept : float
        log of the chance that nothing was left out (truncated numbers of copies, mass at an
        infinite loss): 0 where nothing was.
    name : str
        What it is the run of.
    """

    composition: Composition
    log_kept: float = 0.0
    name: str = ""

    @property
    def largest_loss(self) -> float:
        """Supremum of the privacy loss, what was left out aside.

        Finite where the record is only ever missing, and for laws of chords.
        """
        if self.composition.gap_squared > 0:
            return math.inf
        return math.fsum(n * largest_of(pair) for pair, n in self.composition.pairs)

    @property
    def epsilon_of_zero(self) -> Bracket:
        """ε(0) of the composition, which is ``largest_loss``, between two ends."""
        loss = self.largest_loss
        # Weights of numbers of copies come from sums of up to some hundred logarithms.
        mixed = any(isinstance(pair, MixturePair) for pair, _ in self.composition.pairs)
        rounding = 1e-13 if mixed else 1e-15
        return Bracket(loss * (1 - rounding), loss * (1 + rounding))

    @property
    def failure(self) -> float:
        """Chance that something that was left out happens."""
        return -math.expm1(self.log_kept)

    @property
    def log_hit_probability(self) -> float:
        """log of the chance that the record is ever sampled, which bounds log δ(ε), ε >= 0.

        Whatever the noise: where the record is never drawn both data sets give the same law.
        """
        if self.composition.gap_squared > 0:
            return 0.0
        if any(pair.chance >= 1 for pair, _ in self.composition.pairs):
            return 0.0
        never = math.fsum(n * math.log1p(-p.chance) for p, n in self.composition.pairs)
        return math.log(-math.expm1(never)) if never < 0 else -math.inf

    @property
    def log_total_variation_bound(self) -> float:
        """log of a bound on δ(0): the total variation distances of all releases, added.

        One release with gap g in standard deviations has 2 Phi(g/2) - 1 <= g / sqrt(2 pi).
        """
        total = math.sqrt(self.composition.gap_squared)
        for pair, count in self.composition.pairs:
            total += count * pair.mean_gap
        return math.log(total) - 0.5 * math.log(2 * math.pi)

    @property
    def closed_form(self) -> single.LogDelta | None:
        """log δ as a function of ε where a closed form exists."""
        pairs = self.composition.pairs
        if not pairs:
            return single.gaussian(math.sqrt(self.composition.gap_squared))
        if len(pairs) > 1 or pairs[0][1] > 1 or self.composition.gap_squared > 0:
            return None
        pair = pairs[0][0]
        try:
            pair.log_delta(1.0)
        except ArithmeticError:
            return None
        return pair.log_delta


def largest_of(pair: AnyPair) -> float:
    """Supremum of the finite losses of one pair."""
    if isinstance(pair, ProfilePair):
        return float(pair.loss[-1])
    if isinstance(pair, ClosedPair) or pair.direction is not Direction.ADD:
        return math.inf
    return -pair.log_rest


def larger_epsilon(run: Run, delta: float, floor: Bracket) -> Bracket:
    """Maximum of ``floor`` and the ε(``delta``) of the run's composition."""
    if delta == 0:
        return floor.hull_of_maximum(run.epsilon_of_zero)
    log_delta = math.log(delta)
    if surely_free(run, log_delta):
        return floor.hull_of_maximum(Bracket(0.0, 0.0))
    closed_form = run.closed_form
    if closed_form is not None:
        return floor.hull_of_maximum(single.epsilon_bracket(closed_form, log_delta))
    if floor.lower > 0 and _surely_below(run, floor.lower, log_delta):
        return floor
    found = inversion.epsilon_bracket(run.composition, log_delta)
    return floor.hull_of_maximum(Bracket(max(0.0, found.lower), max(0.0, found.upper)))


def larger_log_delta(
    run: Run, epsilon: float, floor: Bracket, precision: inversion.Precision = inversion.EXACT
) -> Bracket:
    """Maximum of ``floor`` and the log δ(``epsilon``) of the run's composition."""
    if epsilon >= run.largest_loss:
        return floor
    closed_form = run.closed_form
    if closed_form is not None:
        return floor.hull_of_maximum(single.log_bracket(closed_form, epsilon))
    if floor.lower > -math.inf and _surely_below(run, epsilon, floor.lower):
        return floor
    return floor.hull_of_maximum(inversion.delta_value(run.composition, epsilon, precision))


def surely_free(run: Run, log_delta: float) -> bool:
    """Whether ε(exp(``log_delta``)) = 0 by a simple proved bound on δ(0)."""
    return log_delta >= min(run.log_hit_probability, run.log_total_variation_bound) + 1e-11


def log_delta_estimate(run: Run, epsilon: float) -> float:
    """Estimate of the run's log δ(``epsilon``); see ``estimates.delta_estimate``."""
    if epsilon >= run.largest_loss:
        return -math.inf
    closed_form = run.closed_form
    if closed_form is not None:
        return closed_form(epsilon)[0]
    return estimates.delta_estimate(run.composition, epsilon)


def _surely_below(run: Run, epsilon: float, log_delta: float) -> bool:
    """Whether the run's δ(``epsilon``) is certainly below exp(``log_delta``)."""
    return epsilon >= run.largest_loss or inversion.surely_below(
        run.composition, epsilon, log_delta
    )
