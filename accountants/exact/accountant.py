"""The exact accountant: a dp_accounting ``PrivacyAccountant`` with two-sided answers."""

from __future__ import annotations

import copy
import math
from typing import Any

import dp_accounting
import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant

from accountants import validation
from accountants.bracket import Bracket
from accountants.exact import run as engine
from accountants.profiles import gaussian_error, log_gaussian_delta
from accountants.relations import resolve_directions, rule
from accountants.rounding import exp_bracket
from accountants.walk import NonPrivate, Release, UnsupportedLeaf, leaves

_NO_LOSS = Bracket(-math.inf, -math.inf)


class ExactAccountant(PrivacyAccountant):
    """Exact (ε, δ) of adaptive compositions of Gaussian and Poisson-sampled Gaussian releases.

    The pairs of distributions that are composed dominate every pair of neighbouring data sets
    and are attained by some, so that the answer is the true cost of the mechanism up to the
    error bar of the arithmetic; both ends of that bar are returned.  Whatever cannot be
    computed to a relative error of 1e-6 in δ raises ``AccuracyError``.

    Parameters
    ----------
    neighboring_relation : NeighboringRelation
        Default ADD_OR_REMOVE_ONE.  Noise multipliers are relative to the clip norm under
        every relation: replacing a record moves the sum by up to twice that norm.
    direction : {"both", "remove", "add"}
        Which order of the two data sets; "both" is the maximum and the guarantee.

    Raises
    ------
    ValueError
        If the relation or the direction is unknown.

    References
    ----------
    Pairs: derived in docs/proofs/poisson.md.  Engine: derived in docs/proofs/contour.md.

    Examples
    --------
    >>> import dp_accounting
    >>> step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
    >>> accountant = ExactAccountant().compose(step, 1000)
    >>> round(accountant.get_epsilon(1e-6), 6)
    2.124515
    """

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        direction: str = "both",
    ) -> None:
        if not isinstance(neighboring_relation, NeighboringRelation):
            raise ValueError(
                f"neighboring_relation={neighboring_relation!r}: must be one of "
                + ", ".join(r.name for r in NeighboringRelation)
            )
        super().__init__(neighboring_relation)
        self._directions = resolve_directions(direction, neighboring_relation)
        self._rule = rule("poisson", neighboring_relation)
        self._direction = direction
        self._counts: dict[Release, int] = {}
        self._steps = 0
        self._non_private = False

    @property
    def direction(self) -> str:
        """The direction(s) that the answers are about."""
        return self._direction

    @property
    def steps(self) -> int:
        """Number of releases composed so far."""
        return self._steps

    def __len__(self) -> int:
        return self._steps

    def __bool__(self) -> bool:
        return True

    def __copy__(self) -> ExactAccountant:
        return copy.deepcopy(self)  # a shallow copy would share the counts

    def compose(self, event: dp_accounting.DpEvent, count: int = 1) -> ExactAccountant:
        """Compose ``event`` ``count`` times; see ``PrivacyAccountant.compose``.

        Raises
        ------
        ValueError
            If a parameter of the event or ``count`` is outside its domain.
        UnsupportedEventError
            If no theorem covers a part of the event; the message says which and why.
        """
        count = validation.whole(count, "count")
        if count == 0 or _is_empty(event):
            error = self._maybe_compose(event, 0, False)
            if error is None:
                return self
        super().compose(event, count)
        return self

    def _maybe_compose(
        self, event: dp_accounting.DpEvent, count: int, do_compose: bool
    ) -> PrivacyAccountant.CompositionErrorDetails | None:
        try:
            found = list(leaves(event, count, self.neighboring_relation))
        except UnsupportedLeaf as error:
            return self.CompositionErrorDetails(
                invalid_event=error.event, error_message=error.reason
            )
        if do_compose:
            for leaf, times in found:
                self._add(leaf, times)
        return None

    def _add(self, leaf: Any, times: int) -> None:
        self._steps += times
        if times == 0:
            return
        if isinstance(leaf, NonPrivate) or leaf.reveals_everything:
            self._non_private = True
        elif not leaf.reveals_nothing:
            self._counts[leaf] = self._counts.get(leaf, 0) + times

    def epsilon_bracket(self, target_delta: float) -> Bracket:
        """Smallest ε such that the composition is (ε, ``target_delta``)-DP, between two ends.

        Parameters
        ----------
        target_delta : float
            δ in [0, 1].

        Returns
        -------
        Bracket

        Raises
        ------
        ValueError
            If ``target_delta`` is outside [0, 1].
        AccuracyError
            If the stated error cannot be kept.
        """
        delta = validation.target_delta(target_delta)
        if self._non_private:
            return Bracket(math.inf, math.inf)
        if not self._counts or delta == 1:
            return Bracket(0.0, 0.0)
        answer = Bracket(0.0, 0.0)
        for direction in self._directions:
            run = engine.Run.of(self._counts, direction, self._rule.shift)
            answer = engine.larger_epsilon(run, delta, answer)
        return answer

    @property
    def hit_probability_bound(self) -> float:
        """Chance that a record is ever used: an upper bound on δ at every ε, for any noise."""
        if self._non_private:
            return 1.0
        runs = (engine.Run.of(self._counts, d, self._rule.shift) for d in self._directions)
        return max(math.exp(run.log_hit_probability) for run in runs)

    def unsampled_log_delta(self, target_epsilon: float) -> float:
        """Upper bound on log δ, for any sampling: that of the releases without sampling.

        Sampling mixes each release with one that ignores the record, which by joint convexity
        does not raise the divergence.
        """
        epsilon = validation.target_epsilon(target_epsilon)
        if self._non_private:
            return 0.0
        terms = [
            count * (self._rule.shift / leaf.noise_multiplier) ** 2
            for leaf, count in self._counts.items()
        ]
        gap = math.sqrt(math.fsum(terms))
        if gap == 0 or epsilon == math.inf:
            return -math.inf
        with np.errstate(all="ignore"):
            value = float(log_gaussian_delta(epsilon, gap))
        if not math.isfinite(value):
            return -math.inf
        return min(0.0, value + gaussian_error(epsilon, gap))

    def log_delta_bracket(self, target_epsilon: float) -> Bracket:
        """Natural logarithm of ``delta_bracket``, for δ below the range of floats."""
        epsilon = validation.target_epsilon(target_epsilon)
        if self._non_private:
            return Bracket(0.0, 0.0)
        answer = _NO_LOSS
        if not self._counts or epsilon == math.inf:
            return answer
        for direction in self._directions:
            run = engine.Run.of(self._counts, direction, self._rule.shift)
            answer = engine.larger_log_delta(run, epsilon, answer)
        return answer

    def log_delta_estimate(self, target_epsilon: float) -> float:
        """Saddle-point estimate of log δ: fast, **no bound**, for first guesses of a solve.

        Raises
        ------
        ValueError
            If ``target_epsilon`` is negative or NaN.
        AccuracyError
            If there is no saddle point to estimate from.
        """
        epsilon = validation.target_epsilon(target_epsilon)
        if self._non_private:
            return 0.0
        if not self._counts or epsilon == math.inf:
            return -math.inf
        # One direction will do: for ε >= 0 adding a record rarely costs more than removing one.
        run = engine.Run.of(self._counts, self._directions[0], self._rule.shift)
        return engine.log_delta_estimate(run, epsilon)

    def delta_bracket(self, target_epsilon: float) -> Bracket:
        """Smallest δ such that the composition is (``target_epsilon``, δ)-DP, between two ends.

        Parameters
        ----------
        target_epsilon : float
            ε in [0, inf].

        Returns
        -------
        Bracket

        Raises
        ------
        ValueError
            If ``target_epsilon`` is negative or NaN.
        AccuracyError
            If the stated error cannot be kept.
        """
        logs = self.log_delta_bracket(target_epsilon)
        if logs.upper == 0.0 and logs.lower == 0.0:
            return Bracket(1.0, 1.0)
        return exp_bracket(logs.lower, logs.upper)

    def get_epsilon(self, target_delta: float) -> float:
        """Upper end of ``epsilon_bracket``."""
        return self.epsilon_bracket(target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        """Upper end of ``delta_bracket``."""
        return self.delta_bracket(target_epsilon).upper


def _is_empty(event: dp_accounting.DpEvent) -> bool:
    return isinstance(event, dp_accounting.SelfComposedDpEvent) and (
        validation.whole(event.count, "SelfComposedDpEvent.count") == 0 or _is_empty(event.event)
    )
