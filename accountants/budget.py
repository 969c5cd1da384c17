"""What a budget still buys: steps, batch size, steps that remain.

Each answer is the largest whole number whose run the accountant finds within the budget, found
by a search that keeps one number that meets it and one that does not until they are neighbours.
Both ends are computed, never inferred: the answer meets the budget, the next number does not.
That no larger number meets it rests on the cost growing with the number.  For steps this is
plain (a longer run can be post-processed to a shorter one).  For batch sizes at a fixed number
of steps it is proved for every sampling here (a smaller batch is a thinned larger one; the fixed
sizes in docs/proofs/fixed-size.md); where the number of steps depends on the batch size
(epochs), it is an assumption.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import validation
from accountants.bracket import Bracket
from accountants.errors import InfeasibleBudgetError
from accountants.exact.accountant import ExactAccountant
from accountants.group import group_accountant
from accountants.integer_search import Cost, Search

__all__ = ["IntegerCalibration", "calibrate_batch_size", "calibrate_steps", "remaining_steps"]

#: Most steps that are looked at; a run that may take as many costs nothing to speak of.
LARGEST_STEPS = 10**12
_START = 256  # steps; single uses at small sampling probabilities are slow to account
_ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE


@dataclass(frozen=True)
class IntegerCalibration:
    """A whole number that meets a budget, and its neighbour that does not.

    Attributes
    ----------
    value : int
        Steps or batch size.
    epsilon : Bracket
        ε at ``value``; its upper end is at most the target.
    next_epsilon : Bracket or None
        ε at ``value + 1``, whose upper end exceeds the target; None where ``value`` is the
        largest number allowed.
    """

    value: int
    epsilon: Bracket
    next_epsilon: Bracket | None


def calibrate_steps(
    make_event: Callable[[int], dp_accounting.DpEvent],
    *,
    target_epsilon: float,
    target_delta: float,
    neighboring_relation: NeighboringRelation = _ADD_OR_REMOVE,
    tightness: str = "fast",
    group_size: int = 1,
) -> IntegerCalibration:
    """Largest number of steps whose run meets a budget.

    Parameters
    ----------
    make_event : callable
        From a number of steps (>= 1) to the event of the whole run.
    target_epsilon : float
        ε in (0, inf).
    target_delta : float
        δ in (0, 1).
    neighboring_relation : NeighboringRelation
    tightness : {"fast", "tight"}
        Of the upper end that must meet the budget (see `ExactAccountant`).
    group_size : int
        The budget is for groups of that many records (see `accountants.group.GroupAccountant`).

    Returns
    -------
    IntegerCalibration

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    InfeasibleBudgetError
        If one step exceeds the budget, or 10^12 steps do not.
    UnsupportedEventError
        If the run has an event without a theorem.
    AccuracyError
        If the accountant cannot keep its stated error at the solution.

    Examples
    --------
    >>> from accountants.events import dp_sgd_event
    >>> from accountants.sampling import Poisson
    >>> run = lambda steps: dp_sgd_event(sampling=Poisson(0.01), noise_multiplier=1.0, steps=steps)
    >>> found = calibrate_steps(run, target_epsilon=2.0, target_delta=1e-6)
    >>> found.value, found.epsilon.upper <= 2.0 < found.next_epsilon.upper
    (874, True)
    """
    budget = _Budget(target_epsilon, target_delta, neighboring_relation, tightness, group_size)
    found = budget.largest(make_event, low=1, high=LARGEST_STEPS, start=_START, what="steps")
    if found.next_epsilon is None:
        raise InfeasibleBudgetError(
            f"{budget}: met by {LARGEST_STEPS} steps; there is nothing to calibrate",
            nearest=f"steps={LARGEST_STEPS}",
        )
    return found


def calibrate_batch_size(
    make_event: Callable[[int], dp_accounting.DpEvent],
    *,
    dataset_size: int,
    target_epsilon: float,
    target_delta: float,
    neighboring_relation: NeighboringRelation = _ADD_OR_REMOVE,
    tightness: str = "fast",
    group_size: int = 1,
) -> IntegerCalibration:
    """Largest batch size, at most ``dataset_size``, whose run meets a budget.

    Parameters
    ----------
    make_event : callable
        From a batch size to the event of the whole run.  That a larger batch costs no less is
        assumed of it; it is proved for a fixed number of steps.
    dataset_size : int
        Largest batch size to consider.
    target_epsilon, target_delta, neighboring_relation, tightness, group_size
        As for `calibrate_steps`.

    Returns
    -------
    IntegerCalibration
        ``next_epsilon`` is None where the whole data set may be one batch.

    Raises
    ------
    ValueError, InfeasibleBudgetError, UnsupportedEventError, AccuracyError
        As for `calibrate_steps`; infeasible where a batch of one record exceeds the budget.
    """
    largest = validation.whole(dataset_size, "dataset_size", 1)
    budget = _Budget(target_epsilon, target_delta, neighboring_relation, tightness, group_size)
    return budget.largest(
        make_event, low=1, high=largest, start=math.isqrt(largest), what="batch_size"
    )


def remaining_steps(
    event_so_far: dp_accounting.DpEvent,
    step_event: dp_accounting.DpEvent,
    *,
    target_epsilon: float,
    target_delta: float,
    neighboring_relation: NeighboringRelation = _ADD_OR_REMOVE,
    tightness: str = "fast",
    group_size: int = 1,
) -> IntegerCalibration:
    """How many more steps a budget allows after what has run.

    Parameters
    ----------
    event_so_far : dp_accounting.DpEvent
        What has run; ``NoOpDpEvent()`` for nothing.
    step_event : dp_accounting.DpEvent
        One further step.
    target_epsilon, target_delta, neighboring_relation, tightness, group_size
        As for `calibrate_steps`; the budget is for everything together.

    Returns
    -------
    IntegerCalibration
        ``value`` further steps, 0 included; the brackets are of everything together.

    Raises
    ------
    ValueError, UnsupportedEventError, AccuracyError
        As for `calibrate_steps`.
    InfeasibleBudgetError
        If what has run exceeds the budget, or 10^12 further steps do not.
    """
    budget = _Budget(target_epsilon, target_delta, neighboring_relation, tightness, group_size)

    def make_event(steps: int) -> dp_accounting.DpEvent:
        if steps == 0:
            return event_so_far
        return dp_accounting.ComposedDpEvent(
            [event_so_far, dp_accounting.SelfComposedDpEvent(step_event, steps)]
        )

    # A step without a theorem is refused even where none is left.
    budget.accountant("fast").compose(step_event, 0)
    found = budget.largest(
        make_event, low=0, high=LARGEST_STEPS, start=_START, what="further steps"
    )
    if found.next_epsilon is None:
        raise InfeasibleBudgetError(
            f"{budget}: met by {LARGEST_STEPS} further steps; the step costs nothing to speak of",
            nearest=f"further steps={LARGEST_STEPS}",
        )
    return found


class _Budget:
    """A target and the accountants that hold runs against it."""

    def __init__(
        self,
        target_epsilon: float,
        target_delta: float,
        relation: NeighboringRelation,
        tightness: str,
        group_size: int,
    ) -> None:
        self.epsilon = validation.target_epsilon(target_epsilon, open_ends=True)
        self.delta = validation.target_delta(target_delta, open_ends=True)
        self.relation = relation
        self.tightness = tightness
        self.group_size = group_size
        self.accountant(tightness)  # refuses an unknown relation or tightness now

    def __str__(self) -> str:
        return f"epsilon={self.epsilon!r} at delta={self.delta!r}"

    def accountant(self, tightness: str) -> ExactAccountant:
        return group_accountant(self.relation, "both", tightness, group_size=self.group_size)

    def cost(self, make_event: Callable[[int], dp_accounting.DpEvent], tightness: str) -> Cost:
        def of(number: int) -> Bracket:
            accountant = self.accountant(tightness).compose(make_event(number))
            return accountant.epsilon_bracket(self.delta)

        return of

    def largest(
        self,
        make_event: Callable[[int], dp_accounting.DpEvent],
        *,
        low: int,
        high: int,
        start: int,
        what: str,
    ) -> IntegerCalibration:
        """Largest number in [low, high] within the budget, by the fast upper end first."""
        fast = Search(self.cost(make_event, "fast"), self.epsilon, low, high)
        left, right = fast.run(start)
        if self.tightness == "fast" or right is None or fast.lower(right) > self.epsilon:
            # Nothing can show `right` to be within the budget: its attained cost exceeds it.
            return self._answer(fast, left, right, low, what)
        # The answer lies between what the fast upper end allows and the lower end forbids.
        forbidden = Search(self.cost(make_event, "fast"), self.epsilon, low, high, end="lower")
        forbidden.known = fast.known
        _, barred = forbidden.run(max(left, low))
        tight = Search(self.cost(make_event, "tight"), self.epsilon, low, high)
        tight.right = barred
        tight.left = left if left >= low else None
        begin = left + 1
        if barred is not None:
            # Near the end that is barred: the tight upper end is close to the lower one.
            begin = min(max(begin, math.floor(0.98 * barred)), barred - 1)
        left, right = tight.run(begin)
        return self._answer(tight, left, right, low, what)

    def _answer(
        self, search: Search, left: int, right: int | None, low: int, what: str
    ) -> IntegerCalibration:
        if left < low:
            assert right is not None
            least = search.cost(low).upper
            said = (
                f"not met by {what}={low}, which costs epsilon <= {least!r}"
                if low
                else f"what has run costs epsilon <= {least!r} already"
            )
            nearest = f"epsilon={least!r}" + (f" for {what}={low}" if low else "")
            raise InfeasibleBudgetError(
                f"{self}: {said}", nearest=nearest if least < math.inf else "no epsilon is finite"
            )
        return IntegerCalibration(
            left, search.cost(left), None if right is None else search.cost(right)
        )
