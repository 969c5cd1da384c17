"""How answers are compared with the truth; shared by the laws."""

from __future__ import annotations

import math
from collections.abc import Callable

from accountants.bracket import Bracket
from accountants.laws import enclosure, oracle
from accountants.laws.case import Case
from accountants.laws.law import Held, Outcome, Refused, Scope, Skipped
from accountants.laws.program import (
    Program,
    Reply,
    Step,
    bracket_at,
    compose,
    delta_at,
    epsilon_at,
)
from accountants.laws.report import Finding, Kind

TOLERANCE = 1e-6  #: of epsilon: the error that our own lower ends may have in delta
NEGLIGIBLE = 1e-9  #: of epsilon, absolute: nobody's guarantee rests on it
#: What confirms a finding that no truth is needed for.
BY_DEFINITION = "by definition"

_cache: dict[str, Bracket | oracle.NoOracle] = {}
_CACHED = 20_000


def true_epsilon(case: Case) -> Bracket:
    """The oracle at the case's δ, remembered.

    Raises
    ------
    NoOracle
        If no truth is known.
    """
    assert case.delta is not None
    at = case.delta
    return _remembered(case, lambda: oracle.epsilon_bracket(case.whole, case.relation, at))


def true_delta(case: Case) -> Bracket:
    """The oracle at the case's ε, remembered."""
    assert case.epsilon is not None
    at = case.epsilon
    return _remembered(case, lambda: oracle.delta_bracket(case.whole, case.relation, at))


def _remembered(case: Case, find: Callable[[], Bracket]) -> Bracket:
    key = repr(case)
    if key not in _cache:
        if len(_cache) >= _CACHED:
            _cache.clear()
        try:
            _cache[key] = find()
        except oracle.NoOracle as error:
            _cache[key] = error
        except (ArithmeticError, ValueError) as error:  # a fault of ours must not end an audit
            _cache[key] = oracle.NoOracle(f"the oracle failed: {type(error).__name__}: {error}")
    found = _cache[key]
    if isinstance(found, oracle.NoOracle):
        raise found
    return found


def ask(scope: Scope, case: Case, *questions: Step) -> tuple[Reply, ...]:
    """Compose the case on a fresh accountant and put the questions to it."""
    steps = (compose(case.event, case.count), *questions)
    return scope.ask(Program(case.relation, steps), QUICK)[1:]


QUICK = 2  #: seconds of CPU for one answer, where not resources are what is looked at


def ask_epsilon(scope: Scope, case: Case) -> Reply:
    """ε at the case's δ; a case that was asked before is not asked again."""
    assert case.delta is not None
    key = repr(case)
    if key not in scope.answers:
        scope.answers[key] = ask(scope, case, epsilon_at(case.delta))[0]
    return scope.answers[key]


def ask_delta(scope: Scope, case: Case) -> Reply:
    """δ at the case's ε."""
    assert case.epsilon is not None
    return ask(scope, case, delta_at(case.epsilon))[0]


def ask_bracket(scope: Scope, case: Case) -> Reply:
    """Both ends of ε at the case's δ."""
    assert case.delta is not None
    return ask(scope, case, bracket_at(case.delta))[0]


def unanswered(reply: Reply) -> Refused | None:
    """The outcome of an example whose answer is missing."""
    if reply.exhausted:
        return Refused(reply.exhausted)
    return Refused(reply.refusal) if reply.refusal else None


def contract(
    law: str,
    clause: str,
    case: Case,
    reply: Reply | float | str,
    message: str,
    *,
    confirmed_by: str | None = BY_DEFINITION,
    truth: Bracket | None = None,
    settle: Callable[[], str | None] | None = None,
) -> Finding:
    """A finding that is no under-statement."""
    value: float | str
    if isinstance(reply, Reply):
        value = reply.text if reply.value is None else reply.value
    else:
        value = reply
    return Finding(
        law, clause, Kind.CONTRACT, case, value, truth, confirmed_by, message, settle=settle
    )


def loose(law: str, clause: str, case: Case, value: float, truth: Bracket, message: str) -> Finding:
    """A finding about an answer that is larger than need be."""
    return Finding(law, clause, Kind.LOOSENESS, case, value, truth, None, message)


def understated_epsilon(
    law: str, clause: str, case: Case, value: float, truth: Bracket, message: str
) -> Finding:
    """An ε below the lower end of the truth."""
    assert case.delta is not None
    claim = (max(value, 0.0), case.delta)
    return _understated(law, clause, case, value, truth, message, claim)


def understated_delta(
    law: str, clause: str, case: Case, value: float, truth: Bracket, message: str
) -> Finding:
    """A δ below the lower end of the truth."""
    assert case.epsilon is not None
    claim = (case.epsilon, max(value, 0.0))
    return _understated(law, clause, case, value, truth, message, claim)


def _understated(
    law: str,
    clause: str,
    case: Case,
    value: float,
    truth: Bracket,
    message: str,
    claim: tuple[float, float],
) -> Finding:
    """A finding that is settled by refuting the claimed (ε, δ)."""

    def settle() -> str | None:
        if truth.lower == math.inf:
            return BY_DEFINITION
        return enclosure.too_small(case.whole, case.relation, *claim)

    return Finding(
        law,
        clause,
        Kind.UNDERSTATEMENT,
        case,
        value,
        truth,
        None,
        message,
        shortfall=truth.lower - value,
        settle=settle,
    )


def too_low(value: float, truth: Bracket) -> bool:
    """Whether an ε lies below the truth by more than the tolerance."""
    if truth.lower == math.inf:
        return value < math.inf
    return max(value, 0.0) < truth.lower * (1 - TOLERANCE) - NEGLIGIBLE


def judge_epsilon(
    law: str,
    clause: str,
    scope: Scope,
    case: Case,
    explain: Callable[[float, Bracket], str] | None = None,
) -> Outcome:
    """Ask for ε and compare with the truth; ``explain`` says more about a value too low."""
    reply = ask_epsilon(scope, case)
    missing = unanswered(reply)
    if missing is not None:
        return missing
    return judge_value(law, clause, case, reply, explain)


def judge_value(
    law: str,
    clause: str,
    case: Case,
    reply: Reply,
    explain: Callable[[float, Bracket], str] | None = None,
) -> Outcome:
    """Compare an answered ε with the truth."""
    value = reply.value
    if value is None or math.isnan(value):
        return contract(law, clause, case, reply, "epsilon is no number")
    try:
        truth = true_epsilon(case)
    except oracle.NoOracle as error:
        return Skipped(str(error))
    if too_low(value, truth):
        more = "" if explain is None else explain(value, truth)
        message = "epsilon below the truth" + (f": {more}" if more else "")
        return understated_epsilon(law, clause, case, value, truth, message)
    return Held()


def judge_delta(law: str, clause: str, scope: Scope, case: Case) -> Outcome:
    """Ask for δ and compare with the truth."""
    reply = ask_delta(scope, case)
    missing = unanswered(reply)
    if missing is not None:
        return missing
    if reply.value is None or math.isnan(reply.value):
        return contract(law, clause, case, reply, "delta is no number")
    try:
        truth = true_delta(case)
    except oracle.NoOracle as error:
        return Skipped(str(error))
    if reply.value < truth.lower * (1 - 1e-5) - 1e-300:
        return understated_delta(law, clause, case, reply.value, truth, "delta below the truth")
    return Held()
