"""L9 and L15: one mechanism described or composed in several ways."""

from __future__ import annotations

from typing import TypeAlias

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation
from hypothesis import strategies as st

from accountants.laws import corners, strategies
from accountants.laws.case import Case
from accountants.laws.catalogue import agreement, judging
from accountants.laws.catalogue.examples import at, cases
from accountants.laws.law import Clause, Held, Law, Outcome, Refused, Scope
from accountants.laws.program import (
    LENGTH,
    Program,
    Reply,
    Step,
    compose,
    elsewhere,
    epsilon_at,
)
from accountants.laws.report import Kind

#: An event tree of dp_accounting.
Event: TypeAlias = dp_accounting.DpEvent
#: δ at which compositions are asked.
DELTA = 1e-5
_GAUSSIAN = dp_accounting.GaussianDpEvent(1.0)
_STEP = dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(2.0))


def _times(count: int, event: Event) -> Event:
    return dp_accounting.SelfComposedDpEvent(event, count)


def _singles(scope: Scope) -> list[Case]:
    """One event of each family, then more of them."""
    return [
        at(corners.EVENTS[family][i], scope.relation, DELTA)
        for i in (0,)
        for family in strategies.FAMILIES
        if i < len(corners.EVENTS[family])
    ]


def _small(scope: Scope) -> st.SearchStrategy[Case]:
    return cases(
        strategies.FAMILIES,
        scope.relation,
        deltas=strategies.deltas(1e-10, 0.1),
        most_steps=1000,
    )


def _answer(scope: Scope, steps: tuple[Step, ...]) -> Reply:
    """The last reply; the first refusal where there is one."""
    replies = scope.ask(Program(scope.relation, steps), judging.QUICK)
    return next((reply for reply in replies if not reply.answered), replies[-1])


# ------------------------------------------------------------------------------------------ L15


def _split(scope: Scope, case: Case) -> Outcome:
    """compose(e, a + b) = compose(e, a) then compose(e, b)."""
    assert case.delta is not None
    ask = epsilon_at(case.delta)
    for a, b in ((2, 3),):
        whole = Case(case.event, case.relation, case.delta, count=a + b)
        outcome = agreement.agree(
            "L15",
            "split",
            whole,
            [
                (f"compose(e, {a + b})", _answer(scope, (compose(case.event, a + b), ask))),
                (
                    f"compose(e, {a}), compose(e, {b})",
                    _answer(scope, (compose(case.event, a), compose(case.event, b), ask)),
                ),
            ],
        )
        if not isinstance(outcome, Held):
            return outcome
    return Held()


def _folds(scope: Scope, case: Case) -> Outcome:
    """k-fold = k singles, in every way to say it."""
    assert case.delta is not None
    ask, event, k = epsilon_at(case.delta), case.event, 5
    whole = at(_times(k, event), case.relation, case.delta)
    ways = [
        (f"{k} calls of compose(e)", (compose(event),) * k),
        (f"compose(e, {k})", (compose(event, k),)),
        (f"SelfComposedDpEvent(e, {k})", (compose(_times(k, event)),)),
        (f"ComposedDpEvent([e] * {k})", (compose(dp_accounting.ComposedDpEvent([event] * k)),)),
    ]
    replies = [(how, _answer(scope, (*steps, ask))) for how, steps in ways]
    answered = [(how, reply) for how, reply in replies if reply.answered]
    if not answered:
        return agreement.agree("L15", "k-fold", whole, replies)
    return agreement.agree("L15", "k-fold", whole, answered)


def _order_examples(scope: Scope) -> list[tuple[Event, Event]]:
    pairs: list[tuple[Event, Event]] = [
        (_GAUSSIAN, dp_accounting.GaussianDpEvent(3.0)),
        (_GAUSSIAN, _STEP),
        (_times(100, _STEP), _times(10, dp_accounting.GaussianDpEvent(10.0))),
        (dp_accounting.LaplaceDpEvent(1.0), dp_accounting.RandomizedResponseDpEvent(0.5, 2)),
        (_GAUSSIAN, dp_accounting.LaplaceDpEvent(1.0)),
    ]
    return pairs


def _any_two(scope: Scope) -> st.SearchStrategy[tuple[Event, Event]]:
    one = strategies.events(strategies.FAMILIES, most_steps=1000)
    return st.tuples(one, one)


def _order(scope: Scope, pair: tuple[Event, Event]) -> Outcome:
    first, second = pair
    ask = epsilon_at(DELTA)
    whole = at(dp_accounting.ComposedDpEvent([first, second]), scope.relation, DELTA)
    return agreement.agree(
        "L15",
        "order",
        whole,
        [
            ("a then b", _answer(scope, (compose(first), compose(second), ask))),
            ("b then a", _answer(scope, (compose(second), compose(first), ask))),
        ],
    )


def _interleaved(scope: Scope, pair: tuple[Event, Event]) -> Outcome:
    """A question in between changes nothing."""
    first, second = pair
    ask = epsilon_at(DELTA)
    whole = at(dp_accounting.ComposedDpEvent([first, second]), scope.relation, DELTA)
    return agreement.agree(
        "L15",
        "interleaved",
        whole,
        [
            ("asked once, at the end", _answer(scope, (compose(first), compose(second), ask))),
            (
                "asked after each compose",
                _answer(scope, (compose(first), ask, compose(second), ask)),
            ),
            (
                "asked at another delta before",
                _answer(scope, (compose(first), compose(second), epsilon_at(1e-3), ask)),
            ),
        ],
    )


def _apart(scope: Scope, pair: tuple[Event, Event]) -> Outcome:
    """Another accountant, alive at the same time, changes nothing."""
    first, second = pair
    ask = epsilon_at(DELTA)
    return agreement.agree(
        "L15",
        "apart",
        at(first, scope.relation, DELTA),
        [
            ("alone", _answer(scope, (compose(first), ask))),
            ("beside another one", _answer(scope, (compose(first), elsewhere(second), ask))),
        ],
    )


def _repeat(scope: Scope, case: Case) -> Outcome:
    assert case.delta is not None
    steps = (compose(case.event), epsilon_at(case.delta))
    replies = [(f"time {i}", _answer(scope, steps)) for i in (1, 2, 3)]
    outcome = agreement.agree("L15", "repeat", case, replies)
    if not isinstance(outcome, Held):
        return outcome
    return agreement.agree("L15", "repeat", case, replies, kind=Kind.LOOSENESS, tolerance=1e-9)


def _length(scope: Scope, case: Case) -> Outcome:
    """Where an accountant has a length, it is the number of steps."""
    event, count = case.event, case.count
    reply = _answer(scope, (compose(event, count), LENGTH))
    if not reply.answered:
        return Refused(reply.refusal or reply.exhausted)
    expected = strategies.total_steps(event) * count
    if reply.value == expected and reply.upper in (None, expected):
        return Held()
    said = f"a length of {reply.value!r}"
    said += "" if reply.upper is None else f", a number of steps of {reply.upper!r}"
    return judging.contract("L15", "length", case, reply, f"{said} after {expected} steps")


def _length_examples(scope: Scope) -> list[Case]:
    return [
        Case(event, scope.relation, DELTA, count=count)
        for event, count in ((_STEP, 100), (_times(100, _STEP), 1), (_GAUSSIAN, 5))
    ]


# ------------------------------------------------------------------------------------------- L9


def _twin_examples(scope: Scope) -> list[tuple[Event, Event]]:
    """Pairs of descriptions of one mechanism."""

    def gaussian(sigma: float) -> Event:
        return dp_accounting.GaussianDpEvent(sigma)

    def sampled(q: float, sigma: float) -> Event:
        return dp_accounting.PoissonSampledDpEvent(q, gaussian(sigma))

    pairs = [
        (gaussian(1.0), _times(4, gaussian(2.0))),
        (gaussian(1.0), sampled(1.0, 1.0)),
        (gaussian(0.5), _times(100, gaussian(5.0))),
        (_times(10, gaussian(1.0)), _times(10, sampled(1.0, 1.0))),
        (gaussian(1.0), _times(10_000, gaussian(100.0))),
        (_times(10, _times(10, _STEP)), _times(100, _STEP)),
        (_times(100, gaussian(10.0)), _times(2, _times(5, _times(10, gaussian(10.0))))),
        (gaussian(1.0), dp_accounting.ComposedDpEvent([gaussian(2.0)] * 4)),
        # one sample, used four times: not four samples
        (sampled(0.5, 2.0), dp_accounting.PoissonSampledDpEvent(0.5, _times(4, gaussian(4.0)))),
    ]
    if scope.relation is NeighboringRelation.REPLACE_ONE:
        everyone = dp_accounting.SampledWithoutReplacementDpEvent(10, 10, gaussian(1.0))
        pairs.append((gaussian(1.0), everyone))
    return pairs


def _twins(scope: Scope, pair: tuple[Event, Event]) -> Outcome:
    first, second = (at(event, scope.relation, DELTA) for event in pair)
    return agreement.agree(
        "L9",
        "twins",
        first,
        [
            ("as in the case", judging.ask_epsilon(scope, first)),
            (f"as {second.describe()}", judging.ask_epsilon(scope, second)),
        ],
        kind=Kind.LOOSENESS,
    )


def _root_twins(scope: Scope) -> st.SearchStrategy[tuple[Event, Event]]:
    return st.builds(
        lambda sigma, root: (
            dp_accounting.GaussianDpEvent(sigma),
            _times(root * root, dp_accounting.GaussianDpEvent(sigma * root)),
        ),
        strategies.noise_multipliers(0.1, 100.0),
        st.integers(2, 1000),
    )


L9 = Law(
    id="L9",
    title="cross",
    statement="one mechanism in two descriptions has one epsilon",
    needs="get_epsilon",
    tolerance=agreement.TOLERANCE,
    reason=agreement.REASON,
    source="google/differential-privacy#378",
    clauses=(Clause("twins", _twin_examples, _twins, _root_twins),),
)
L15 = Law(
    id="L15",
    weight=2.0,
    title="composition",
    statement="composing a + b times is composing a, then b times; order does not matter; k-fold "
    "is k singles; a question or another accountant changes nothing; a length is the number of "
    "steps",
    needs="get_epsilon; a length for its part",
    tolerance=agreement.TOLERANCE,
    reason=agreement.REASON,
    source="google/differential-privacy 0.6.0 (randomized response), pytorch/opacus#834",
    clauses=(
        Clause("split", _singles, _split, _small),
        Clause("k-fold", _singles, _folds, _small),
        Clause("order", _order_examples, _order, _any_two),
        Clause("interleaved", _order_examples, _interleaved, _any_two),
        Clause("repeat", _singles, _repeat, _small),
        Clause("apart", _order_examples, _apart),
        Clause("length", _length_examples, _length),
    ),
)
