"""Which cases a law asks first, and the strategies for the others."""

from __future__ import annotations

from collections.abc import Collection

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation
from hypothesis import strategies as st

from accountants.laws import corners, strategies
from accountants.laws.case import Case
from accountants.laws.law import Scope

#: Values of δ that every run is asked at.
USUAL_DELTAS = (1e-5, 1e-6, 1e-3, 1e-10)
_WIDE_DELTAS = (1e-5, 0.1, 1e-10)  # at the simplest events of a family
_WIDE = 3
#: Steps of a drawn run, at the most.
MOST_STEPS = 10_000


def family_cases(
    family: str, relation: NeighboringRelation, *, only: Collection[float] = USUAL_DELTAS
) -> list[Case]:
    """The corner events of a family, each at one δ, the simplest at several."""
    deltas = tuple(only)
    cases = []
    for i, event in enumerate(corners.EVENTS[family]):
        wide = _WIDE_DELTAS if i < _WIDE and deltas == USUAL_DELTAS else ()
        for delta in dict.fromkeys((deltas[i % len(deltas)], *wide)):
            cases.append(Case(event, relation, delta=delta))
    return cases


def reported_cases(family: str, relation: NeighboringRelation) -> list[Case]:
    """The inputs of public reports that belong to a family."""
    events = corners.EVENTS[family]
    return [
        Case(event, asked, delta=delta)
        for _, event, asked, delta in corners.REPORTS
        if asked is relation and event in events
    ]


@st.composite
def cases(
    draw: st.DrawFn,
    families: tuple[str, ...],
    relation: NeighboringRelation,
    deltas: st.SearchStrategy[float] | None = None,
    most_steps: int = MOST_STEPS,
) -> Case:
    """Events of some families at some δ."""
    event = draw(strategies.events(families, most_steps=most_steps))
    return Case(
        event, relation, delta=draw(strategies.deltas(1e-15, 1.0) if deltas is None else deltas)
    )


@st.composite
def delta_cases(draw: st.DrawFn, families: tuple[str, ...], relation: NeighboringRelation) -> Case:
    """Events of some families at some ε."""
    event = draw(strategies.events(families, most_steps=MOST_STEPS))
    return Case(event, relation, epsilon=draw(strategies.epsilons(1e-6, 100.0)))


def anything(scope: Scope) -> st.SearchStrategy[Case]:
    """Cases of every family."""
    return cases(strategies.FAMILIES, scope.relation)


def at(event: dp_accounting.DpEvent, relation: NeighboringRelation, delta: float) -> Case:
    """Short for a case about ε."""
    return Case(event, relation, delta=delta)
