"""L8 and L14: calibration hits the budget from the private side; every answer ends in time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation
from hypothesis import strategies as st

from accountants.laws import corners, oracle, sandbox, strategies
from accountants.laws.case import Case
from accountants.laws.catalogue import agreement, judging
from accountants.laws.catalogue.examples import anything, at
from accountants.laws.law import Clause, Held, Law, Outcome, Refused, Scope, Skipped
from accountants.laws.program import (
    Calibration,
    Program,
    Reply,
    calibrated,
    compose,
    delta_at,
    epsilon_at,
)
from accountants.laws.search import EXHAUSTED

#: Relative, of ε: how far a calibration may stay below its target.
CLOSE = 0.05
_OWN = "the accountant's own two answers"


@dataclass(frozen=True)
class Budget:
    """A run of which the noise multiplier is wanted (1.0 in ``template`` stands for it).

    Attributes
    ----------
    template : DpEvent
        The run.
    relation : NeighboringRelation
        Which data sets are neighbours.
    epsilon, delta : float
        What the run may cost.
    """

    template: dp_accounting.DpEvent
    relation: NeighboringRelation
    epsilon: float
    delta: float

    def run(self, noise_multiplier: float) -> Case:
        """The run with that noise, asked at the budget's δ."""
        return at(calibrated(self.template, noise_multiplier), self.relation, self.delta)


_GAUSSIAN = dp_accounting.GaussianDpEvent(1.0)
_RUNS = (
    _GAUSSIAN,
    dp_accounting.SelfComposedDpEvent(dp_accounting.PoissonSampledDpEvent(0.01, _GAUSSIAN), 1000),
    dp_accounting.SelfComposedDpEvent(_GAUSSIAN, 10),
)
_BUDGETS = ((1.0, 1e-5), (8.0, 1e-5), (0.1, 1e-6), (0.01, 1e-5), (100.0, 1e-5), (1000.0, 1e-5))


def _corners(scope: Scope) -> list[Budget]:
    if scope.candidate.calibrate is None:
        return []
    return [
        Budget(run, scope.relation, epsilon, delta) for epsilon, delta in _BUDGETS for run in _RUNS
    ]


def _hard_corners(scope: Scope) -> list[Budget]:
    """Budgets far from the usual ones first."""
    if scope.candidate.calibrate is None:
        return []
    return [
        Budget(run, scope.relation, epsilon, 1e-5)
        for epsilon in (100.0, 0.01, 1000.0, 1e-3, 1.0)
        for run in _RUNS
    ]


def _any(scope: Scope) -> st.SearchStrategy[Budget]:
    if scope.candidate.calibrate is None:
        return st.nothing()
    return st.builds(
        lambda run, epsilon, delta: Budget(run, scope.relation, epsilon, delta),
        st.sampled_from(_RUNS),
        strategies.epsilons(0.05, 50.0),
        strategies.deltas(1e-10, 1e-2),
    )


def _solve(scope: Scope, budget: Budget) -> Reply:
    return scope.ask(Calibration(budget.relation, budget.template, budget.epsilon, budget.delta))[0]


def _round_trip(scope: Scope, budget: Budget) -> Outcome:
    """The run with the calibrated noise costs at most the budget, and hardly less."""
    reply = _solve(scope, budget)
    missing = judging.unanswered(reply)
    if missing is not None:
        return missing
    sigma = reply.value
    if sigma is None or not 0 < sigma < math.inf:
        return judging.contract(
            "L8",
            "calibration",
            Case(budget.template, budget.relation, budget.delta),
            reply,
            f"no noise multiplier for epsilon = {budget.epsilon!r}",
        )
    case = budget.run(sigma)
    message = f"the noise multiplier {sigma!r} was returned for epsilon = {budget.epsilon!r}"
    truth = agreement.known(case)
    if truth is not None and judging.too_low(budget.epsilon, truth):
        return judging.understated_epsilon(
            "L8", "calibration", case, budget.epsilon, truth, message
        )
    back = judging.ask_epsilon(scope, case)
    if not back.answered or back.value is None:
        return Held()
    if back.value > budget.epsilon * (1 + judging.TOLERANCE):
        return judging.contract(
            "L8",
            "calibration",
            case,
            back,
            f"{message}; its own epsilon there is {back.value:.9g}",
            confirmed_by=_OWN,
            truth=truth,
        )
    if truth is not None and back.value < budget.epsilon * (1 - CLOSE):
        return judging.loose(
            "L8", "calibration", case, budget.epsilon, truth, f"{message}: more than was needed"
        )
    return Held()


def _there_and_back(scope: Scope, case: Case) -> Outcome:
    """δ(ε(δ)) <= δ."""
    assert case.delta is not None
    reply = judging.ask_epsilon(scope, case)
    missing = judging.unanswered(reply)
    if missing is not None:
        return missing
    if reply.value is None or not 0 < reply.value < math.inf:
        return Refused("epsilon is 0, infinite or no number")
    back = judging.ask(scope, case, delta_at(reply.value))[0]
    missing = judging.unanswered(back)
    if missing is not None:
        return missing
    if back.value is None or back.value <= case.delta * 1.01 + 1e-300:
        return Held()
    try:
        truth = judging.true_epsilon(case)
    except oracle.NoOracle as error:
        return Skipped(str(error))
    if judging.too_low(reply.value, truth):
        return judging.understated_epsilon(
            "L8", "delta of epsilon", case, reply.value, truth, f"delta there is {back.value:.9g}"
        )
    return judging.loose(
        "L8",
        "delta of epsilon",
        case,
        reply.value,
        truth,
        f"delta at this epsilon is {back.value / case.delta:.6g} times the delta asked for",
    )


def _there_corners(scope: Scope) -> list[Case]:
    return [
        at(event, scope.relation, delta)
        for event in (*_RUNS, *(corners.EVENTS[family][0] for family in strategies.FAMILIES))
        for delta in (1e-5, 1e-9)
    ]


def _falling(scope: Scope, pair: tuple[Budget, Budget]) -> Outcome:
    """A larger budget needs no more noise."""
    small, large = pair
    first, second = _solve(scope, small), _solve(scope, large)
    missing = judging.unanswered(first) or judging.unanswered(second)
    if missing is not None:
        return missing
    if first.value is None or second.value is None or second.value <= first.value * 1.01:
        return Held()
    return judging.contract(
        "L8",
        "monotone calibration",
        small.run(first.value),
        first,
        f"sigma {first.value:.9g} for ({small.epsilon!r}, {small.delta!r}) but {second.value:.9g} "
        f"for the larger budget ({large.epsilon!r}, {large.delta!r})",
        confirmed_by=_OWN,
    )


def _falling_corners(scope: Scope) -> list[tuple[Budget, Budget]]:
    if scope.candidate.calibrate is None:
        return []
    steps = (((1.0, 1e-5), (2.0, 1e-5)), ((1.0, 1e-6), (1.0, 1e-5)), ((0.1, 1e-5), (0.2, 1e-5)))
    return [
        (Budget(run, scope.relation, *small), Budget(run, scope.relation, *large))
        for run in _RUNS[:2]
        for small, large in steps
    ]


# ------------------------------------------------------------------------------------------ L14


def _in_time(scope: Scope, case: Case) -> Outcome:
    program = Program(scope.relation, (compose(case.event), epsilon_at(case.delta or 0.0)))
    reply = scope.ask(program)[-1]
    if reply.exhausted:
        return judging.contract("L14", "epsilon", case, EXHAUSTED, reply.exhausted)
    return judging.unanswered(reply) or Held()


def _all_corners(scope: Scope) -> list[Case]:
    tiny = [at(event, scope.relation, delta) for event in _RUNS[:2] for delta in (1e-16, 1e-30)]
    usual = [
        at(event, scope.relation, 1e-5)
        for family in strategies.FAMILIES
        for event in corners.EVENTS[family]
    ]
    return [*tiny, *usual]


def _solved_in_time(scope: Scope, budget: Budget) -> Outcome:
    reply = _solve(scope, budget)
    if reply.exhausted:
        case = Case(budget.template, budget.relation, budget.delta)
        return judging.contract(
            "L14",
            "calibration",
            case,
            EXHAUSTED,
            f"sigma for epsilon = {budget.epsilon!r} (1.0 in the case stands for it): "
            f"{reply.exhausted}",
        )
    return judging.unanswered(reply) or Held()


L8 = Law(
    id="L8",
    weight=2.0,
    title="round trip",
    statement="a calibrated sigma meets the budget and hardly more; delta(epsilon(delta)) <= delta;"
    " a larger budget needs no more noise",
    needs="a calibration, get_delta; each for its part",
    tolerance=judging.TOLERANCE,
    reason="the budget is met from the private side",
    source="pytorch/opacus#604, google/dpsynth#71",
    clauses=(
        Clause("calibration", _corners, _round_trip, _any),
        Clause("monotone calibration", _falling_corners, _falling),
        Clause("delta of epsilon", _there_corners, _there_and_back, anything),
    ),
)
L14 = Law(
    id="L14",
    weight=3.0,
    title="resources",
    statement=f"an answer or an error within {sandbox.CPU_SECONDS} s of CPU and "
    f"{sandbox.MEMORY_BYTES // 2**30} GiB, calibration included",
    needs="get_epsilon; a calibration for its part",
    tolerance=0.0,
    reason="limits are limits",
    source="pytorch/opacus#604, google/dpsynth#71, microsoft/prv_accountant#36",
    clauses=(
        Clause("calibration", _hard_corners, _solved_in_time),
        Clause("epsilon", _all_corners, _in_time),
    ),
)
