"""L1 and L2: what an answer may be, and which questions have none."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import dp_accounting
from hypothesis import strategies as st

from accountants.laws import corners, oracle, strategies
from accountants.laws.case import Case
from accountants.laws.catalogue import agreement, judging
from accountants.laws.catalogue.examples import anything, at, delta_cases
from accountants.laws.law import Clause, Held, Law, Outcome, Refused, Scope, Skipped
from accountants.laws.program import Call, Program, Reply, Step, compose, delta_at, epsilon_at
from accountants.laws.report import Finding

_STEP = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
_PRIVATE = dp_accounting.GaussianDpEvent(1.0)
#: Values of δ that few accountants are tried at.
LARGE_DELTAS = (0.5, 0.9, 0.1, 1.0, 0.99)


# ------------------------------------------------------------------------------------------- L1


def _range_corners(scope: Scope) -> list[Case]:
    """Large δ first: there an answer that is not kept at 0 turns negative."""
    first = [dp_accounting.SelfComposedDpEvent(_STEP, 10), _PRIVATE]
    first += [event for _, event, _, delta in corners.REPORTS if delta >= 0.1]
    others = [corners.EVENTS[family][0] for family in strategies.FAMILIES]
    return _unique(
        [
            *(at(event, scope.relation, delta) for delta in (0.9, 0.5) for event in first),
            *(at(event, scope.relation, 0.9) for event in others),
            *(at(event, scope.relation, delta) for event in first for delta in LARGE_DELTAS),
            *(at(event, scope.relation, delta) for delta in (0.5, 1e-5) for event in others),
        ]
    )


def _unique(cases: list[Case]) -> list[Case]:
    return list({repr(case): case for case in cases}.values())


def _epsilon_range(scope: Scope, case: Case) -> Outcome:
    reply = judging.ask_epsilon(scope, case)
    missing = judging.unanswered(reply)
    if missing is not None:
        return missing
    value = reply.value
    if value is None or math.isnan(value):
        return judging.contract("L1", "epsilon", case, reply, "epsilon is no number")
    if value < 0:
        return judging.contract(
            "L1", "epsilon", case, reply, "epsilon is negative", truth=agreement.known(case)
        )
    return Held()


def _delta_range(scope: Scope, case: Case) -> Outcome:
    reply = judging.ask_delta(scope, case)
    missing = judging.unanswered(reply)
    if missing is not None:
        return missing
    value = reply.value
    if value is None or math.isnan(value):
        return judging.contract("L1", "delta", case, reply, "delta is no number")
    if not 0 <= value <= 1 + 1e-12:
        return judging.contract("L1", "delta", case, reply, "delta is outside [0, 1]")
    return Held()


def _delta_corners(scope: Scope) -> list[Case]:
    events = [corners.EVENTS[family][0] for family in strategies.FAMILIES]
    events.append(dp_accounting.SelfComposedDpEvent(_STEP, 1000))
    return [
        Case(event, scope.relation, epsilon=epsilon)
        for event in events
        for epsilon in (1.0, 0.0, 10.0, 100.0, 1e4)
    ]


def _zero(scope: Scope, case: Case) -> Outcome:
    """ε = 0 as soon as δ >= δ(0)."""
    reply = judging.ask_epsilon(scope, case)
    missing = judging.unanswered(reply)
    if missing is not None:
        return missing
    try:
        truth = judging.true_epsilon(case)
    except oracle.NoOracle as error:
        return Skipped(str(error))
    if truth.upper > 0:
        return judging.judge_value("L1", "zero", case, reply)
    if reply.value is not None and reply.value > judging.NEGLIGIBLE:
        return judging.loose(
            "L1", "zero", case, reply.value, truth, "epsilon is positive where delta >= delta(0)"
        )
    return Held()


def _zero_corners(scope: Scope) -> list[Case]:
    return [
        at(corners.EVENTS[family][0], scope.relation, delta)
        for delta in (0.5, 0.9)
        for family in strategies.FAMILIES
    ]


def _non_private_corners(scope: Scope) -> list[Case]:
    nothing = dp_accounting.NonPrivateDpEvent()
    return [
        at(nothing, scope.relation, 1e-5),
        at(dp_accounting.ComposedDpEvent([_PRIVATE, nothing]), scope.relation, 1e-5),
        at(nothing, scope.relation, 0.5),
    ]


def _non_private(scope: Scope, case: Case) -> Outcome:
    return judging.judge_epsilon("L1", "non-private", scope, case)


# ------------------------------------------------------------------------------------------- L2


def _domain_clause(domain: str) -> Clause:
    """One clause for each domain; every label in it is an example."""

    def examples(scope: Scope) -> list[tuple[str, dp_accounting.DpEvent | float]]:
        return list(corners.INVALID[domain])

    def check(scope: Scope, example: tuple[str, dp_accounting.DpEvent | float]) -> Outcome:
        label, what = example
        case, program = _invalid(domain, what, scope)
        reply = scope.ask(program, judging.QUICK)[-1]
        if not reply.answered and not _answers(scope):
            return Refused("answers no valid question either")
        if not reply.answered:
            return Held()  # an error is the right answer, whatever its type
        return judging.contract(
            "L2", domain, case, reply, f"{label} was answered with {_told(reply)}"
        )

    return Clause(domain, examples, check, whole=True)


def _answers(scope: Scope) -> bool:
    """Whether the candidate answers some valid question: else its errors are no evidence."""
    events = [_PRIVATE, _STEP, *(corners.EVENTS[family][0] for family in strategies.FAMILIES)]
    return any(
        judging.ask_epsilon(scope, at(event, scope.relation, 1e-5)).answered for event in events
    )


def _told(reply: Reply) -> str:
    return reply.text if reply.value is None else f"{reply.value:.9g}"


def _invalid(
    domain: str, what: dp_accounting.DpEvent | float, scope: Scope
) -> tuple[Case, Program]:
    """The question in which ``what`` stands in its domain."""
    relation = scope.relation
    if isinstance(what, dp_accounting.DpEvent):
        case = Case(what, relation, delta=1e-5)
        return case, Program(relation, (compose(what), epsilon_at(1e-5)))
    if domain == "compose_count":
        case = Case(_STEP, relation, delta=1e-5, count=what)  # type: ignore[arg-type]
        step = Step(Call.COMPOSE, _STEP, what)  # type: ignore[arg-type]
        return case, Program(relation, (step, epsilon_at(1e-5)))
    if domain == "target_delta":
        return Case(_STEP, relation, delta=what), Program(
            relation, (compose(_STEP, 10), epsilon_at(what))
        )
    return Case(_STEP, relation, epsilon=what), Program(
        relation, (compose(_STEP, 10), delta_at(what))
    )


def _limit_corners(scope: Scope) -> list[tuple[str, Case, float | dp_accounting.DpEvent]]:
    return [
        (label, at(event, scope.relation, 1e-5), meaning)
        for label, event, meaning in corners.LIMITS
    ]


def _limit(scope: Scope, example: tuple[str, Case, float | dp_accounting.DpEvent]) -> Outcome:
    """What must come out at the ends of the domains."""
    label, case, meaning = example
    outcome = judging.judge_epsilon("L2", "limits", scope, case, lambda value, truth: label)
    if not isinstance(outcome, Held):
        return outcome
    try:
        truth = judging.true_epsilon(case)
    except oracle.NoOracle as error:
        return Skipped(str(error))
    value = judging.ask_epsilon(scope, case).value
    if isinstance(meaning, dp_accounting.DpEvent):
        other = judging.ask_epsilon(scope, at(meaning, scope.relation, 1e-5)).value
        if value is None or other is None or value <= other * 1.01 + judging.NEGLIGIBLE:
            return Held()
        message = f"{label}: above {other:.9g}, which is answered for the same mechanism"
        return judging.loose("L2", "limits", case, value, truth, message)
    if value is not None and meaning == 0 and value > judging.NEGLIGIBLE:
        return judging.loose(
            "L2", "limits", case, value, truth, f"{label}: positive, where nothing is revealed"
        )
    return Held()


def _order_examples(scope: Scope) -> list[float]:
    return [1.0, 0.5, math.nan, -2.0, 0.0]


def _order(scope: Scope, order: float) -> Outcome:
    """An order that is none, alone, must not give an ε below the truth."""
    program = Program(scope.relation, (compose(_PRIVATE), epsilon_at(1e-5)), orders=(order,))
    reply = scope.ask(program, judging.QUICK)[-1]
    if not reply.answered:
        return Held()
    case = at(_PRIVATE, scope.relation, 1e-5)
    # Whoever drops such an order and answers by other means does no harm.
    outcome = judging.judge_value("L2", "order", case, reply)
    if isinstance(outcome, Finding):
        return dataclasses.replace(
            outcome, message=f"the only order {order!r} was answered with {_told(reply)}"
        )
    return outcome


def _when_orders(examples: Callable[[Scope], list[float]]) -> Callable[[Scope], list[float]]:
    return lambda scope: examples(scope) if scope.candidate.make_with_orders else []


def _large(scope: Scope) -> st.SearchStrategy[Case]:
    return st.builds(
        lambda case, delta: at(case.event, case.relation, delta),
        anything(scope),
        strategies.deltas(0.1, 1.0),
    )


L1 = Law(
    id="L1",
    title="range",
    statement="epsilon lies in [0, inf] and delta in [0, 1]; neither is NaN; epsilon is 0 as soon "
    "as delta >= delta(0), and infinite where nothing is private",
    needs="get_epsilon; get_delta for the part about delta",
    tolerance=0.0,
    reason="a range has no tolerance",
    source="pytorch/opacus#585, opendp#621",
    clauses=(
        Clause("epsilon", _range_corners, _epsilon_range, _large),
        Clause(
            "delta",
            _delta_corners,
            _delta_range,
            lambda scope: delta_cases(strategies.FAMILIES, scope.relation),
        ),
        Clause("zero", _zero_corners, _zero, _large),
        Clause("non-private", _non_private_corners, _non_private),
    ),
)

L2 = Law(
    id="L2",
    weight=2.0,
    title="domain",
    statement="a parameter outside its domain raises; sigma = 0 gives inf, q = 0 and T = 0 give 0, "
    "q = 1 is the mechanism without sampling",
    needs="get_epsilon",
    tolerance=0.01,
    reason="for q = 1 beside no sampling: two grids of an accountant may differ by that",
    source="google-deepmind/jax_privacy#384, pytorch/opacus#74",
    clauses=(
        *(_domain_clause(domain) for domain in corners.INVALID),
        Clause("limits", _limit_corners, _limit),
        Clause("order", _when_orders(_order_examples), _order, whole=True),
    ),
)
