"""(ε, δ) for groups of records: what it costs a person who has several of them.

Two bounds (docs/proofs/group.md):

- *the group's own pair*, exact, where every release is Poisson-sampled or unsampled: the number
  of the group's records in a batch is binomial, and each moves the sum by its own clip norm;
- *a chain of single records*, for every other sampling: δ_k(kε) <= δ(ε) (e^{kε} - 1)/(e^ε - 1),
  or the releases without sampling, whichever is smaller.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation
from scipy import optimize

from accountants import validation
from accountants.bracket import Bracket
from accountants.errors import AccuracyError
from accountants.exact.accountant import ExactAccountant
from accountants.explain import Explanation, explain_leaves
from accountants.group_chain import (
    dearest_hop,
    equal_records,
    explain_chain,
    group_move,
    log_chain_factor,
)
from accountants.profiles import composed_gap, gaussian_log_delta_upper
from accountants.relations import ONE_RECORD
from accountants.rounding import exp_bracket
from accountants.sampling import GroupedPoisson, OracleDraws, Poisson
from accountants.walk import Leaf, Release, leaves

__all__ = ["GroupAccountant", "group_accountant"]

#: Largest ``group_size`` that is accounted, in records.
LARGEST_GROUP = 10**6

_TRIALS = 60  # steps outward from a solution that rounding left on the wrong side


class GroupAccountant(ExactAccountant):
    """`ExactAccountant` for data sets that differ in a group of at most ``group_size`` records.

    Under ADD_OR_REMOVE_ONE the whole group is present in one of the two data sets and absent from
    the other; under REPLACE_ONE and REPLACE_SPECIAL each of its records is exchanged.  Nobody
    needs to know which records belong together.

    Parameters
    ----------
    neighboring_relation : NeighboringRelation
        What happens to every record of the group.
    direction : {"both", "remove", "add"}
    tightness : {"fast", "tight"}
        Of single records, where a chain of them is used.
    group_size : int
        k, from 1 (a single record) to 10^6.

    Raises
    ------
    ValueError
        If an argument is outside its domain.

    References
    ----------
    Derived in docs/proofs/group.md.  The chain: Dwork and Roth (2014), Theorem 2.2, here for every
    ε of a profile.  The binomial pair: Schuchardt, Stoian, Kosmala and Günnemann, *Unified
    mechanism-specific amplification by subsampling and group privacy amplification* (NeurIPS 2024).

    Examples
    --------
    >>> step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(4.0))
    >>> one = GroupAccountant(group_size=1).compose(step, 1000).get_epsilon(1e-6)
    >>> four = GroupAccountant(group_size=4).compose(step, 1000).get_epsilon(1e-6)
    >>> round(one, 4), round(four, 4)
    (0.3191, 1.4163)
    """

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        direction: str = "both",
        tightness: str = "fast",
        *,
        group_size: int = 1,
    ) -> None:
        super().__init__(neighboring_relation, direction, tightness)
        size = validation.whole(group_size, "group_size", 1)
        allowed = f"at most {LARGEST_GROUP}"
        validation.require(size <= LARGEST_GROUP, "group_size", group_size, allowed)
        self._size = size
        self._chained = False
        # A single record in the run itself, and the dearest single record along a chain.
        self._single = ExactAccountant(neighboring_relation, direction, tightness)
        self._hop = ExactAccountant(neighboring_relation, direction, tightness)
        # A group of equal records, where a chain is used: what it attains.
        self._equal = ExactAccountant(neighboring_relation, direction)

    @property
    def group_size(self) -> int:
        """k, the largest number of records of a group."""
        return self._size

    @property
    def ends_meet(self) -> bool:
        """Whether both ends of every answer come from one pair, so that they are exact."""
        return not self._chained and super().ends_meet

    @property
    def hit_probability_bound(self) -> float:
        """Chance that a record of the group is ever used."""
        if not self._chained:
            return super().hit_probability_bound
        return min(1.0, self._size * self._hop.hit_probability_bound)

    def _refusal(self, found: Sequence[Leaf]) -> str:
        for leaf in (leaf for leaf in found if isinstance(leaf, Release)):
            if self._size > 1 and isinstance(leaf.sampling, OracleDraws):
                return ONE_RECORD
            if self._hop_of(leaf) is None:
                return (
                    f"{leaf.sampling} leaves no data set without a group of {self._size} records "
                    "to draw such batches from; a smaller group, or REPLACE_ONE, is covered"
                )
        return ""

    def _add(self, leaf: Leaf, times: int) -> None:
        super()._add(leaf, times)
        self._single._add(leaf, times)
        relation = self.neighboring_relation
        equal = equal_records(leaf, self._size, relation) if isinstance(leaf, Release) else leaf
        self._equal._add(equal, times)
        hop = self._hop_of(leaf) if isinstance(leaf, Release) else leaf
        assert hop is not None  # refused before
        self._hop._add(hop, times)

    def _moderated(self, release: Release) -> Release | None:
        found = _of_group(release, self._size)
        self._chained = self._chained or found is None
        return release if found is None else found

    def _hop_of(self, release: Release) -> Release | None:
        return dearest_hop(release, self._size, self.neighboring_relation)

    def epsilon_bracket(self, target_delta: float) -> Bracket:
        """Smallest ε at ``target_delta`` for groups; see `ExactAccountant.epsilon_bracket`."""
        if not self._chained:
            with contextlib.suppress(*self._replaceable):
                return super().epsilon_bracket(target_delta)
        delta = validation.target_delta(target_delta)
        upper = self._chain_epsilon(delta)
        lower = max(self._single.epsilon_bracket(delta).lower, self._equal_epsilon(delta))
        lower = min(lower, upper)
        return Bracket(lower, upper)

    def log_delta_bracket(self, target_epsilon: float) -> Bracket:
        """Logarithm of the smallest δ for groups; see `ExactAccountant.log_delta_bracket`."""
        if not self._chained:
            with contextlib.suppress(*self._replaceable):
                return super().log_delta_bracket(target_epsilon)
        epsilon = validation.target_epsilon(target_epsilon)
        upper = self._chain_log_delta(epsilon)
        lower = self._single.log_delta_bracket(epsilon).lower
        with contextlib.suppress(AccuracyError):
            lower = max(lower, self._equal.log_delta_bracket(epsilon).lower)
        return Bracket(min(lower, upper), upper)

    def get_epsilon(self, target_delta: float) -> float:
        """Upper end of ``epsilon_bracket``."""
        if not self._chained:
            with contextlib.suppress(*self._replaceable):
                return super().get_epsilon(target_delta)
        return self._chain_epsilon(validation.target_delta(target_delta))

    def get_delta(self, target_epsilon: float) -> float:
        """Upper end of ``delta_bracket``."""
        return exp_bracket(-math.inf, self.log_delta_upper(target_epsilon)).upper

    def log_delta_upper(
        self, target_epsilon: float, *, rough: bool = False, patient: bool = True
    ) -> float:
        """Upper end of ``log_delta_bracket``; see `ExactAccountant.log_delta_upper`."""
        if not self._chained:
            return super().log_delta_upper(target_epsilon, rough=rough, patient=patient)
        epsilon = validation.target_epsilon(target_epsilon)
        return self._chain_log_delta(epsilon, rough=rough, patient=patient)

    def log_delta_estimate(self, target_epsilon: float) -> float:
        """Saddle-point estimate of log δ, **no bound**; refused where a chain is used."""
        if self._chained:
            raise AccuracyError("a chain of single records has no saddle point to estimate from")
        return super().log_delta_estimate(target_epsilon)

    def unsampled_log_delta(self, target_epsilon: float) -> float:
        """Upper bound on log δ of a group: that of the releases without sampling."""
        if not self._chained:
            return super().unsampled_log_delta(target_epsilon)
        epsilon = validation.target_epsilon(target_epsilon)
        if self._non_private:
            return 0.0
        relation = self.neighboring_relation
        gap = composed_gap(
            (group_move(leaf, self._size, relation) / leaf.noise_multiplier, count)
            for leaf, count in self._single._counts.items()
        )
        return gaussian_log_delta_upper(epsilon, gap)

    def explain(self, event: dp_accounting.DpEvent) -> Explanation:
        """Which theorem gives each end for the releases of ``event``; see `ExactAccountant`."""
        single = self._single.explain(event)  # refuses what has no theorem
        found: list[tuple[Leaf, int]] = []
        for leaf, count in leaves(event, 1, self.neighboring_relation):
            grouped = _of_group(leaf, self._size) if isinstance(leaf, Release) else leaf
            if grouped is None and isinstance(getattr(leaf, "sampling", None), OracleDraws):
                raise ValueError(f"event={event!r}: {ONE_RECORD}")
            if grouped is None:
                return explain_chain(self._size, single)
            found.append((grouped, count))
        return explain_leaves(found, self.neighboring_relation, self.tightness)

    @property
    def _replaceable(self) -> tuple[type[AccuracyError], ...]:
        """Refusals in whose place the chain answers: of pairs with too many parts."""
        return (AccuracyError,) if self._size > 1 else ()

    def _equal_epsilon(self, delta: float) -> float:
        with contextlib.suppress(AccuracyError):
            return self._equal.epsilon_bracket(delta).lower
        return 0.0

    def _chain_log_delta(
        self, epsilon: float, *, rough: bool = False, patient: bool = True
    ) -> float:
        """Upper bound on log δ of the group at ``epsilon``."""
        if self._non_private:
            return 0.0
        if epsilon == math.inf:
            return -math.inf
        best = self.unsampled_log_delta(epsilon)
        # ε/k is rounded down: δ falls in ε, and the hops may take no more than ε together.
        share = math.nextafter(epsilon / self._size, 0.0)
        with contextlib.suppress(AccuracyError):
            one = self._hop.log_delta_upper(share, rough=rough or not patient, patient=patient)
            best = min(best, one + log_chain_factor(share, self._size))
        return min(0.0, best)

    def _chain_epsilon(self, delta: float) -> float:
        """Upper bound on ε of the group at ``delta``: an ε whose own δ was computed."""
        if self._non_private:
            return math.inf
        if delta == 1 or not self._counts:
            return 0.0
        if delta == 0:
            return math.inf
        target = math.nextafter(math.log(delta), -math.inf)

        def excess(epsilon: float) -> float:
            # A hundredth of δ is nothing here, and what takes seconds is not worth them.
            return max(self._chain_log_delta(epsilon, patient=False), -1e6) - target

        if excess(0.0) <= 0:
            return 0.0
        # The hops' own ε is a start from below: further out δ is dear to compute.
        low, high = 0.0, self._size * self._hop.get_epsilon(delta)
        high = high if 0 < high < math.inf else 1.0
        while excess(high) > 0:
            low, high = high, 1.2 * high
            if high > 1e9:
                return math.inf
        found = float(optimize.brentq(excess, low, high, xtol=1e-12, rtol=1e-10))
        reach = 1e-11 * found
        for _ in range(_TRIALS):
            if found + reach >= high:
                break
            if excess(found + reach) <= 0:
                return found + reach
            reach *= 2
        return high


def _of_group(release: Release, size: int) -> Release | None:
    """The release as a group meets it, where one pair says that exactly; else None."""
    sampling, sigma = release.sampling, release.noise_multiplier
    if size == 1:
        return release
    if isinstance(sampling, Poisson):
        return Release(GroupedPoisson(sampling.sampling_probability, size), sigma)
    return None


def group_accountant(
    neighboring_relation: NeighboringRelation,
    direction: str = "both",
    tightness: str = "fast",
    *,
    group_size: int = 1,
) -> ExactAccountant:
    """The accountant of a unit of privacy: a record, or a group of ``group_size`` of them."""
    if validation.whole(group_size, "group_size", 1) == 1:
        return ExactAccountant(neighboring_relation, direction, tightness)
    return GroupAccountant(neighboring_relation, direction, tightness, group_size=group_size)
