"""The two-sided accountant, a dp_accounting ``PrivacyAccountant``."""

from __future__ import annotations

import contextlib
import math

import dp_accounting
import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import validation
from accountants.bracket import Bracket
from accountants.counting import CountingAccountant
from accountants.errors import AccuracyError
from accountants.exact import two_sided
from accountants.exact.domination import is_exact
from accountants.explain import Explanation, explain_leaves
from accountants.profiles import composed_gap, gaussian_log_delta_upper
from accountants.relations import REPLACE, resolve_directions, rule
from accountants.rounding import exp_bracket
from accountants.walk import Release, UnsupportedLeaf, leaves

#: What ``tightness`` may be: milliseconds, or seconds for a smaller upper end.
TIGHTNESS = ("fast", "tight")


class ExactAccountant(CountingAccountant):
    """Two-sided (ε, δ) of adaptive compositions of Gaussian releases under any sampling.

    The upper end is proved for every pair of neighbouring data sets; the lower end is attained
    by explicit ones.  Where one pair of distributions does both (``explain`` says where), the
    ends differ by the error bar of the arithmetic only, and what cannot be computed to a
    relative error of 1e-6 in δ raises ``AccuracyError``.  Under REPLACE_ONE with batches of
    fixed size the ends are apart: by up to a third with ``tightness="fast"``, by a few percent
    with ``"tight"``.

    Parameters
    ----------
    neighboring_relation : NeighboringRelation
        Default ADD_OR_REMOVE_ONE.  Noise multipliers are relative to the clip norm under
        every relation: replacing a record moves the sum by up to twice that norm.
    direction : {"both", "remove", "add"}
        Which order of the two data sets; "both" is the maximum and the guarantee.
    tightness : {"fast", "tight"}
        "fast" answers in milliseconds.  "tight" also runs the adaptive recursion (seconds)
        wherever the fast ends are apart, and keeps the smaller upper end.

    Raises
    ------
    ValueError
        If the relation, the direction or the tightness is unknown.

    References
    ----------
    Pairs: derived in docs/proofs/poisson.md, docs/proofs/fixed-size.md and
    docs/proofs/lower-ends.md.  Engine: docs/proofs/contour.md.  Tight upper ends:
    docs/proofs/adaptive.md.

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
        tightness: str = "fast",
    ) -> None:
        super().__init__(neighboring_relation)
        self._directions = resolve_directions(direction, neighboring_relation)
        if tightness not in TIGHTNESS:
            raise ValueError(f"tightness={tightness!r}: must be one of {', '.join(TIGHTNESS)}")
        self._direction = direction
        self._tightness = tightness

    @property
    def direction(self) -> str:
        """The direction(s) that the answers are about."""
        return self._direction

    @property
    def tightness(self) -> str:
        """How upper ends are computed where they are apart from the lower ones."""
        return self._tightness

    @property
    def ends_meet(self) -> bool:
        """Whether both ends of every answer come from one pair, so that they are exact."""
        return is_exact(self._counts, self.neighboring_relation)

    def settings(self) -> dict[str, str]:
        """The constructor's arguments, fit for JSON."""
        return {
            "neighboring_relation": self.neighboring_relation.name,
            "direction": self._direction,
            "tightness": self._tightness,
        }

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
        found = two_sided.epsilon_bracket(
            self._counts, self.neighboring_relation, self._directions, delta
        )
        upper = self._tightened_epsilon(found.upper, delta)
        return Bracket(found.lower, max(found.lower, upper))

    def rough_epsilon_bracket(self, target_delta: float) -> Bracket:
        """An interval that holds the true ε as ``epsilon_bracket`` does, in less time.

        Meant for curves. Where one pair of distributions gives both ends, they are those of
        ``epsilon_bracket``; elsewhere the upper end is that of ``tightness="fast"`` and the lower
        end is attained by the pair of data sets that usually costs most, the only one tried.

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
        return two_sided.epsilon_bracket(
            self._counts, self.neighboring_relation, self._directions, delta, rough=True
        )

    def _tightened_epsilon(self, upper: float, delta: float) -> float:
        if not self._may_tighten(upper) or delta == 0:
            return upper
        from accountants.tight.engine import tight_epsilon

        with contextlib.suppress(AccuracyError):
            return min(upper, tight_epsilon(self._counts, delta).value)
        return upper

    def _tightened_log_delta(self, upper: float, epsilon: float) -> float:
        if not self._may_tighten(upper):
            return upper
        from accountants.tight.engine import tight_log_delta

        with contextlib.suppress(AccuracyError):
            return min(upper, tight_log_delta(self._counts, epsilon).value)
        return upper

    def _may_tighten(self, upper: float) -> bool:
        """Whether the recursion can bring an upper end down."""
        return (
            self._tightness == "tight"
            and self.neighboring_relation is REPLACE
            and 0 != upper > -math.inf
            and not self.ends_meet
            and all(
                rule(leaf.sampling.scheme, self.neighboring_relation).additive
                for leaf in self._counts
            )
        )

    @property
    def hit_probability_bound(self) -> float:
        """Chance that a record is ever used: an upper bound on δ at every ε, for any noise."""
        if self._non_private:
            return 1.0
        never = math.fsum(n * leaf.log_absent for leaf, n in self._counts.items())
        # A record's own chance, and the sum, are good to some units.
        return min(1.0, -math.expm1(never) * (1 + 1e-12))

    def unsampled_log_delta(self, target_epsilon: float) -> float:
        """Upper bound on log δ, for any sampling: that of the releases without sampling.

        Sampling mixes each release with one that ignores the record, which by joint convexity
        does not raise the divergence.  Where calls may fail, their failures are added.
        """
        epsilon = validation.target_epsilon(target_epsilon)
        if self._non_private:
            return 0.0
        gap = composed_gap(
            (self._largest_move(leaf) / leaf.noise_multiplier, count)
            for leaf, count in self._counts.items()
        )
        value, log_failure = gaussian_log_delta_upper(epsilon, gap), self._log_failure()
        if log_failure == -math.inf:
            return value
        return min(0.0, float(np.logaddexp(value, log_failure)) + 1e-12)

    def _log_failure(self) -> float:
        """log of the chance that the bound behind any call fails; -inf where none can."""
        kept = math.fsum(
            n * (math.log1p(-leaf.failure) if leaf.failure < 1 else -math.inf)
            for leaf, n in self._counts.items()
        )
        return math.log(-math.expm1(kept)) if kept < 0 else -math.inf

    def _largest_move(self, leaf: Release) -> float:
        shift = rule(leaf.sampling.scheme, self.neighboring_relation).shift
        return shift * leaf.most_copies

    def log_delta_bracket(self, target_epsilon: float) -> Bracket:
        """Natural logarithm of ``delta_bracket``, for δ below the range of floats."""
        epsilon = validation.target_epsilon(target_epsilon)
        if self._non_private:
            return Bracket(0.0, 0.0)
        if not self._counts or epsilon == math.inf:
            return Bracket(-math.inf, -math.inf)
        found = two_sided.log_delta_bracket(
            self._counts, self.neighboring_relation, self._directions, epsilon
        )
        upper = self._tightened_log_delta(found.upper, epsilon)
        return Bracket(found.lower, max(found.lower, upper))

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
        return two_sided.log_delta_estimate(
            self._counts, self.neighboring_relation, self._directions[0], epsilon
        )

    def explain(self, event: dp_accounting.DpEvent) -> Explanation:
        """Which theorem gives each end for the releases of ``event``.

        Raises
        ------
        ValueError
            If the event has a part without a theorem, or a parameter outside its domain.
        """
        try:
            found = list(leaves(event, 1, self.neighboring_relation))
        except UnsupportedLeaf as error:
            raise ValueError(f"event={error.event!r}: {error.reason}") from None
        return explain_leaves(found, self.neighboring_relation, self._tightness)

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
        """Upper end of ``epsilon_bracket``, without the time that the lower end takes."""
        delta = validation.target_delta(target_delta)
        if self._non_private or not self._counts or delta == 1:
            return self.epsilon_bracket(delta).upper
        upper = two_sided.epsilon_upper(
            self._counts, self.neighboring_relation, self._directions, delta
        )
        return self._tightened_epsilon(upper, delta)

    def get_delta(self, target_epsilon: float) -> float:
        """Upper end of ``delta_bracket``, without the time that the lower end takes."""
        return exp_bracket(-math.inf, self.log_delta_upper(target_epsilon)).upper

    def log_delta_upper(
        self, target_epsilon: float, *, rough: bool = False, patient: bool = True
    ) -> float:
        """Upper end of ``log_delta_bracket``, without the time that the lower end takes.

        A ``rough`` one is still an upper end, up to a hundredth of δ larger and often faster.
        Without patience it is rough, and what takes seconds is refused.
        """
        epsilon = validation.target_epsilon(target_epsilon)
        if self._non_private or not self._counts or epsilon == math.inf:
            return self.log_delta_bracket(epsilon).upper
        upper = two_sided.log_delta_upper(
            self._counts,
            self.neighboring_relation,
            self._directions,
            epsilon,
            rough=rough,
            patient=patient,
        )
        return self._tightened_log_delta(upper, epsilon)
