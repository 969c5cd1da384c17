"""L13: tiny δ, huge ε, little and much noise, very many steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import dp_accounting
from hypothesis import strategies as st

from accountants.laws import corners, oracle, strategies
from accountants.laws.case import Case
from accountants.laws.catalogue import judging
from accountants.laws.catalogue.examples import at, cases
from accountants.laws.law import Clause, Held, Law, Outcome, Refused, Scope, Skipped

#: Values of δ near and far below the unit of rounding.
TINY = (1e-16, 1e-12, 1e-30, 1e-300)


def _times(count: int, event: dp_accounting.DpEvent) -> dp_accounting.DpEvent:
    return dp_accounting.SelfComposedDpEvent(event, count)


def _sampled(q: float, sigma: float) -> dp_accounting.DpEvent:
    return dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(sigma))


_RUNS = (
    dp_accounting.GaussianDpEvent(1.0),
    _times(1000, _sampled(0.01, 1.0)),
    _times(1000, dp_accounting.GaussianDpEvent(10.0)),
    _times(1000, _sampled(0.00512, 1.0)),
)


def _tiny_corners(scope: Scope) -> list[Case]:
    small = [at(event, scope.relation, delta) for event in _RUNS for delta in TINY]
    other = [
        at(corners.EVENTS[family][0], scope.relation, delta)
        for family in strategies.FAMILIES
        for delta in (1e-16,)
    ]
    other += [at(_sampled(0.01, sigma), scope.relation, 1e-12) for sigma in (4.0, 10.0)]
    reported = [
        at(event, relation, delta)
        for _, event, relation, delta in corners.REPORTS
        if relation is scope.relation and delta <= 1e-10
    ]
    return list({repr(case): case for case in [*small, *other, *reported]}.values())


def _huge_corners(scope: Scope) -> list[Case]:
    gaussian = dp_accounting.GaussianDpEvent
    events = [
        gaussian(0.02),
        gaussian(0.01),
        gaussian(1e4),
        _times(10**8, gaussian(1e4)),
        _times(10**8, gaussian(1.0)),
        _times(10**8, _sampled(1e-5, 1.0)),
        _times(1000, _sampled(0.125, 0.8)),
        _sampled(0.5, 0.02),
        _sampled(1e-9, 1e4),
        dp_accounting.LaplaceDpEvent(0.01),
        dp_accounting.RandomizedResponseDpEvent(1e-9, 2),
    ]
    return [at(event, scope.relation, delta) for event in events for delta in (1e-5, 1e-10)]


def _finite(clause: str, scope: Scope, case: Case) -> Outcome:
    """A finite answer that is sound, or an error."""
    reply = judging.ask_epsilon(scope, case)
    missing = judging.unanswered(reply)
    if missing is not None:
        return missing
    if reply.value == math.inf:
        try:
            truth = judging.true_epsilon(case)
        except oracle.NoOracle as error:
            return Skipped(str(error))
        if truth.upper < math.inf:
            return judging.contract(
                "L13",
                clause,
                case,
                reply,
                "neither a finite epsilon nor an error, where the truth is finite",
                confirmed_by="releases with noise have a finite epsilon at every delta > 0",
                truth=truth,
            )
        return Held()
    return judging.judge_value("L13", clause, case, reply)


@dataclass(frozen=True)
class TwoDeltas:
    """One run asked at a δ and at a smaller one.

    Attributes
    ----------
    larger, smaller : Case
        The same run at each of them.
    """

    larger: Case
    smaller: Case


def _plateau_corners(scope: Scope) -> list[TwoDeltas]:
    return [
        TwoDeltas(at(event, scope.relation, a), at(event, scope.relation, b))
        for event in _RUNS
        for a, b in ((1e-16, 1e-30), (1e-12, 1e-16), (1e-9, 1e-12), (1e-5, 1e-9))
    ]


def _plateau(scope: Scope, pair: TwoDeltas) -> Outcome:
    first, second = (judging.ask_epsilon(scope, c) for c in (pair.larger, pair.smaller))
    missing = judging.unanswered(first) or judging.unanswered(second)
    if missing is not None:
        return missing
    if first.value is None or second.value is None or first.value == math.inf:
        return Refused("no finite number")
    try:
        before, after = judging.true_epsilon(pair.larger), judging.true_epsilon(pair.smaller)
    except oracle.NoOracle as error:
        return Skipped(str(error))
    if first.value != second.value or after.lower <= before.upper * 1.001:
        return Held()
    message = f"the same epsilon at delta={pair.larger.delta!r} and {pair.smaller.delta!r}"
    if judging.too_low(second.value, after):
        return judging.understated_epsilon(
            "L13", "plateau", pair.smaller, second.value, after, message
        )
    return judging.loose("L13", "plateau", pair.larger, first.value, before, message)


def _anything(scope: Scope) -> st.SearchStrategy[Case]:
    return cases(strategies.FAMILIES, scope.relation, deltas=strategies.deltas(1e-30, 1e-11))


L13 = Law(
    id="L13",
    weight=3.0,
    title="tiny and huge",
    statement="a finite and sound answer or an error at delta = 1e-300, epsilon = 1e4, sigma from "
    ".01 to 1e4, T = 1e8; no plateau: epsilon changes when delta does",
    needs="get_epsilon",
    tolerance=judging.TOLERANCE,
    reason="as for L4",
    source="microsoft/prv_accountant#17, pytorch/opacus#604",
    clauses=(
        Clause(
            "tiny delta",
            _tiny_corners,
            lambda scope, case: _finite("tiny delta", scope, case),
            _anything,
        ),
        Clause(
            "huge",
            _huge_corners,
            lambda scope, case: _finite("huge", scope, case),
            lambda scope: cases(strategies.FAMILIES, scope.relation, most_steps=10**8),
        ),
        Clause("plateau", _plateau_corners, _plateau),
    ),
)
