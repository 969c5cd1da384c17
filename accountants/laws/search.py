"""Looks for an example that breaks a clause, and for the simplest such example."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from accountants.laws.law import Clause, Outcome, Refused, Scope, Skipped
from accountants.laws.report import Finding, Kind

EXHAUSTED = "no answer"  #: the value of a finding about a limit that was passed
SHRINKS = 40  #: questions spent on a simpler example
_ROBUST = 0.1  # of the first relative shortfall: borderline examples are hard to confirm
_CONFIRMATIONS = 3


@dataclass
class Searched:
    """What a search saw.

    Attributes
    ----------
    findings : list of Finding
    answered, refused, skipped : int
        Different examples of each outcome.
    cut : bool
        Whether the budget ended the search before all examples were asked.
    reasons : list of str
        Reasons of refusals and skips, in the order of their first appearance.
    """

    findings: list[Finding] = field(default_factory=list)
    answered: int = 0
    refused: int = 0
    skipped: int = 0
    cut: bool = False
    reasons: list[str] = field(default_factory=list)


class _Broken(Exception):
    """Raised inside a Hypothesis test where an example breaks the clause."""


class _Memory:
    """Outcomes by example.

    An example is put to the candidate once: its answers may depend on what was asked before, and
    Hypothesis needs an example that it replays to end as it did.
    """

    def __init__(self, clause: Clause, scope: Scope) -> None:
        self._clause, self._scope = clause, scope
        self._outcomes: dict[str, Outcome] = {}

    def __contains__(self, example: Any) -> bool:
        return repr(example) in self._outcomes

    def outcome(self, example: Any) -> Outcome:
        key = repr(example)
        if key not in self._outcomes:
            self._outcomes[key] = self._clause.check(self._scope, example)
        return self._outcomes[key]

    def broken(self) -> list[Finding]:
        return [found for found in self._outcomes.values() if isinstance(found, Finding)]

    def count(self) -> Searched:
        seen = Searched()
        for outcome in self._outcomes.values():
            if isinstance(outcome, (Refused, Skipped)):
                if outcome.reason not in seen.reasons:
                    seen.reasons.append(outcome.reason)
                seen.refused += isinstance(outcome, Refused)
                seen.skipped += isinstance(outcome, Skipped)
            else:
                seen.answered += 1
        return seen


def never() -> bool:
    """A budget without an end."""
    return False


def search(
    clause: Clause,
    scope: Scope,
    examples: int,
    over: Callable[[], bool] = never,
    at_least: int = 1,
) -> Searched:
    """Ask every corner and up to ``examples`` more; return what was seen.

    Parameters
    ----------
    clause : Clause
    scope : Scope
    examples : int
        Random examples, drawn from the scope's seed.
    over : callable
        Whether the budget is spent.
    at_least : int
        Corners that are asked whether or not it is.

    Returns
    -------
    Searched
        With at most one finding of each kind (with ``clause.whole``: one for each corner).
    """
    memory = _Memory(clause, scope)
    cut = False
    for asked, corner in enumerate(clause.corners(scope)):
        if asked >= at_least and over():
            cut = True
            break
        outcome = memory.outcome(corner)
        if isinstance(outcome, Finding) and outcome.value == EXHAUSTED:
            break  # each further one may cost as much
    if clause.strategy is not None and examples and _worth_more(memory):
        cut = _try(memory, clause.strategy(scope), _seed(clause, scope), examples, over) or cut
    seen = memory.count()
    seen.cut = cut
    broken = memory.broken()
    if clause.whole:
        seen.findings = [_settled([finding]) for finding in broken]
        return seen
    for kind in Kind:
        found = [finding for finding in broken if finding.kind is kind]
        if found:
            simplest = found[0]
            if clause.strategy is not None and simplest.value != EXHAUSTED and not over():
                strategy = clause.strategy(scope)
                simplest = _simplest(memory, strategy, _seed(clause, scope), found, over)
            seen.findings.append(_with_worst(_settled(_in_order(simplest, found)), found))
    return seen


def _worth_more(memory: _Memory) -> bool:
    """Not where every corner was refused, nor where one is broken already."""
    seen = memory.count()
    return not memory.broken() and (seen.answered > 0 or seen.refused == 0)


def _try(
    memory: _Memory,
    strategy: st.SearchStrategy[Any],
    seed: int,
    examples: int,
    over: Callable[[], bool],
) -> bool:
    """Ask random examples; whether the budget ended that."""
    cut = False

    def example_holds(example: Any) -> None:
        nonlocal cut
        if example not in memory:  # Hypothesis replays what broke, whatever the clock says then
            cut = cut or over()
            if cut:
                return
        if isinstance(memory.outcome(example), Finding):
            raise _Broken

    _hypothesis(example_holds, strategy, seed, examples, (Phase.generate,))
    return cut


def _simplest(
    memory: _Memory,
    strategy: st.SearchStrategy[Any],
    seed: int,
    found: list[Finding],
    over: Callable[[], bool],
) -> Finding:
    """The last failing example of Hypothesis' shrinking, or the first that was found."""
    first = found[0]
    needed = _ROBUST * max(finding.relative_shortfall for finding in found)
    left = SHRINKS
    last: Finding | None = None

    def example_holds(example: Any) -> None:
        nonlocal left, last
        if example not in memory:
            if left == 0 or over():
                return
            left -= 1
        outcome = memory.outcome(example)
        if (
            isinstance(outcome, Finding)
            and outcome.kind is first.kind
            and outcome.value != EXHAUSTED
            and outcome.relative_shortfall >= needed
        ):
            last = outcome
            raise _Broken

    _hypothesis(example_holds, strategy, seed, SHRINKS, (Phase.generate, Phase.shrink))
    return first if last is None else last


def _hypothesis(
    test: Callable[[Any], None],
    strategy: st.SearchStrategy[Any],
    seed: int,
    examples: int,
    phases: tuple[Phase, ...],
) -> None:
    if examples < 1:
        return
    wrapped = hypothesis.seed(seed)(
        settings(
            max_examples=examples,
            phases=phases,
            database=None,
            deadline=None,
            derandomize=False,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )(hypothesis.given(strategy)(test))
    )
    # Flaky: cannot happen while outcomes are remembered, and is no reason to lose an audit
    with contextlib.suppress(_Broken, hypothesis.errors.Unsatisfiable, hypothesis.errors.Flaky):
        wrapped()


def _seed(clause: Clause, scope: Scope) -> int:
    """The same for every run with this seed, different between clauses and relations."""
    text = f"{scope.seed} {clause.name} {scope.relation.name}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _in_order(simplest: Finding, found: list[Finding]) -> list[Finding]:
    worst = sorted(found, key=lambda finding: -finding.relative_shortfall)
    return [simplest, *(finding for finding in worst if finding is not simplest)]


def _settled(found: list[Finding]) -> Finding:
    """The first finding that can be confirmed, else the first."""
    for finding in found[:_CONFIRMATIONS]:
        if finding.kind is Kind.LOOSENESS or finding.confirmed_by is not None:
            return finding
        proof = finding.settle() if finding.settle is not None else None
        if proof is not None:
            return replace(finding, confirmed_by=proof)
    return found[0]


def _with_worst(finding: Finding, found: list[Finding]) -> Finding:
    """``finding`` with the worst of ``found`` that is confirmed, if it is an under-statement."""
    if not finding.shortfall or finding.confirmed_by is None:
        return finding
    worst = _settled(sorted(found, key=lambda other: -other.relative_shortfall))
    return replace(finding, worst=worst if worst.confirmed_by is not None else finding)
