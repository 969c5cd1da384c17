"""What a law is: a statement, what it needs, and clauses that examples can break."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dp_accounting.privacy_accountant import NeighboringRelation
from hypothesis import strategies as st

from accountants.laws.candidate import Candidate
from accountants.laws.program import Reply
from accountants.laws.report import Finding


@dataclass(frozen=True)
class Held:
    """The example obeys the clause."""


@dataclass(frozen=True)
class Refused:
    """The candidate gave no answer; ``reason`` is its own."""

    reason: str


@dataclass(frozen=True)
class Skipped:
    """The example says nothing, for instance because no truth is known for it.

    Attributes
    ----------
    reason : str
        Why it says nothing.
    """

    reason: str


#: What one example says about a law.
Outcome = Held | Refused | Skipped | Finding


@dataclass(frozen=True)
class Scope:
    """What a clause may look at: one candidate under one relation.

    Attributes
    ----------
    candidate : Candidate
    relation : NeighboringRelation
    ask : callable
        Carries out a request on the candidate, within a limit of CPU seconds if one is given.
    answers : dict
        What `judging.ask_epsilon` was answered before, by case: laws share their questions.
    seed : int
        For clauses that choose among stored rows.
    max_examples : int
        How many rows such a clause may choose.
    """

    candidate: Candidate
    relation: NeighboringRelation
    ask: Callable[..., tuple[Reply, ...]]
    answers: dict[str, Reply]
    seed: int
    max_examples: int


@dataclass(frozen=True)
class Clause:
    """One property of a law.

    Attributes
    ----------
    name : str
    corners : callable
        From a scope to fixed examples, simplest first.
    check : callable
        From a scope and an example to an outcome.
    strategy : callable or None
        From a scope to a Hypothesis strategy for more examples.
    whole : bool
        Whether every broken corner is reported, because corners differ in kind (domains).
    """

    name: str
    corners: Callable[[Scope], Iterable[Any]]
    check: Callable[[Scope, Any], Outcome]
    strategy: Callable[[Scope], st.SearchStrategy[Any]] | None = None
    whole: bool = False


@dataclass(frozen=True)
class Law:
    """A property of every accountant.

    Attributes
    ----------
    id : str
        "L1" to "L15".
    title : str
        One or two words.
    statement : str
    needs : str
        What a candidate must offer for the law to apply.
    tolerance : float
        Relative.
    reason : str
        Why that much is allowed.
    source : str
        Public reports behind the law.
    clauses : tuple of Clause
    weight : float
        Its part of a budget of CPU time, beside the other laws.
    applies : callable
        From a candidate to "" where the law applies, else why it does not.
    """

    id: str
    title: str
    statement: str
    needs: str
    tolerance: float
    reason: str
    source: str
    clauses: tuple[Clause, ...]
    weight: float = 1.0
    applies: Callable[[Candidate], str] = lambda candidate: ""
