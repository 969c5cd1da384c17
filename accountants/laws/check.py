"""Runs the laws against an accountant."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import validation
from accountants.laws import catalogue
from accountants.laws.candidate import Candidate, Relation
from accountants.laws.law import Law, Scope
from accountants.laws.program import Program, Reply, compose, epsilon_at
from accountants.laws.report import Finding, Kind, LawReport, LawResult, Verdict
from accountants.laws.sandbox import Sandbox
from accountants.laws.search import Searched, never, search

#: Random examples for a law and relation.
DEFAULT_EXAMPLES = 25
#: Seconds of CPU for the search as a whole.
DEFAULT_BUDGET = 30.0
_WARM_UP = 20  # seconds at most
_GENEROUS = 2.0  # times an equal part: most laws need less than theirs


def check_accountant(
    make_accountant: Candidate | Callable[..., Any],
    *,
    laws: str | Iterable[str] = "all",
    relation: Relation | None = None,
    max_examples: int = DEFAULT_EXAMPLES,
    seed: int = 0,
    cpu_budget: float | None = DEFAULT_BUDGET,
    name: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> LawReport:
    """Look for answers of an accountant that break the laws of accounting.

    Every question goes to a fresh accountant in a process of its own, with limits on time and
    memory.  Corners are asked first, then random examples; what breaks a law is shrunk to a simple
    case, and an ε below the truth counts only when ball arithmetic, which shares nothing with our
    engines, confirms it.

    Parameters
    ----------
    make_accountant : callable or Candidate
        A class or function that takes the neighbouring relation (as ``neighboring_relation``,
        ``relation`` or its only required argument) or nothing.  What it makes needs
        ``compose(event, count)`` and ``get_epsilon(target_delta)``, as a
        ``dp_accounting.PrivacyAccountant`` has.
    laws : str or iterable of str
        "all", or ids such as "L4".
    relation : NeighboringRelation, optional
        Default: each one that the accountant can be made for.
    max_examples : int
        Random examples for a law and relation (in addition to the corners), shared by its clauses.
    seed : int
        The same seed repeats the run, bit for bit where ``cpu_budget`` did not cut it.
    cpu_budget : float or None
        Seconds of CPU for the search as a whole; None or inf: no limit.  Where they are short,
        later corners and random examples are left out (each part is asked at least once), and
        the report says so.
    name : str, optional
        For the report.
    progress : callable, optional
        Gets one line before each law.

    Returns
    -------
    LawReport

    Raises
    ------
    ValueError
        If an argument is outside its domain, or python-flint, which confirms violations, is not
        installed.

    Examples
    --------
    >>> from accountants import ExactAccountant
    >>> check_accountant(ExactAccountant, laws="L1", max_examples=2).ok
    True
    """
    catalogue.need_flint()
    validation.require(
        relation is None or isinstance(relation, NeighboringRelation),
        "relation",
        relation,
        "a NeighboringRelation or None",
    )
    candidate = Candidate.from_callable(make_accountant, name=name, relation=relation)
    wanted = catalogue.chosen(laws)
    examples = validation.whole(max_examples, "max_examples", 0)
    number = validation.whole(seed, "seed", 0)
    budget = None
    if cpu_budget is not None:
        allowed = "a number >= 0 (seconds), or None"
        budget = validation.real("cpu_budget", cpu_budget, allowed)
        validation.require(budget >= 0, "cpu_budget", cpu_budget, allowed)
    relations = (relation,) if relation is not None else candidate.relations
    before = time.process_time()
    results: list[LawResult] = []
    answers: dict[str, Reply] = {}
    with Sandbox(candidate) as box:

        def spent() -> float:
            return time.process_time() - before + box.cpu_time

        _warm_up(box, relations)
        budget = None if budget is None else budget + spent()

        for law, under, share in _plan(wanted, relations, candidate):
            if progress is not None:
                progress(f"{law.id} {law.title} under {under.name}")
            scope = Scope(candidate, under, box.ask, answers, number, examples)
            allowance = Allowance(spent, None if budget is None else (budget - spent()) * share)
            least = 0 if _minor(under, relations) and spent() > (budget or math.inf) else 1
            results.append(_result(law, scope, allowance, least))
        results.sort(key=lambda result: list(catalogue.laws()).index(result.law))
        total = spent()
    return LawReport(candidate.name, candidate.version, number, examples, tuple(results), total)


def law_budget(law: str, cpu_budget: float) -> float:
    """Seconds for one law under one relation, where every law is an audit of its own (pytest).

    A tenth of ``cpu_budget`` for each unit of the law's weight: what one law leaves over does not
    reach the others there, so that the parts are larger than in one audit of all.
    """
    return cpu_budget * catalogue.laws()[law].weight / 10


def _minor(relation: Relation, relations: tuple[Relation, ...]) -> bool:
    """Whether a relation comes after the others and with less of the budget."""
    return relation is NeighboringRelation.REPLACE_SPECIAL and len(relations) > 1


def _plan(
    laws: tuple[Law, ...], relations: tuple[Relation, ...], candidate: Candidate
) -> list[tuple[Law, Relation, float]]:
    """Laws and relations in their order, each with its share of what budget is left."""
    todo = [(law, under) for law in laws for under in relations]
    todo.sort(key=lambda pair: _minor(pair[1], relations))
    weights = [
        0.0 if law.applies(candidate) else law.weight * (0.5 if _minor(under, relations) else 1)
        for law, under in todo
    ]
    return [
        (law, under, weights[i] / (sum(weights[i:]) or 1.0)) for i, (law, under) in enumerate(todo)
    ]


class Allowance:
    """Seconds of CPU, to be divided among the clauses of a law.

    Parameters
    ----------
    spent : callable
        Seconds used so far.
    seconds : float or None
        None: without an end.
    """

    def __init__(self, spent: Callable[[], float], seconds: float | None) -> None:
        self._spent = spent
        self._end = None if seconds is None else spent() + _GENEROUS * max(seconds, 0.0)

    def part(self, of: int) -> Callable[[], bool]:
        """Whether one of ``of`` parts that are left is used up, as a function."""
        if self._end is None:
            return never
        now = self._spent()
        end = now + _GENEROUS * max(self._end - now, 0.0) / of if of > 1 else self._end
        return lambda: self._spent() > end


def _warm_up(box: Sandbox, relations: tuple[Relation, ...]) -> None:
    """One question before the clock starts: packages import on first use."""
    for under in relations[:1]:
        event = dp_accounting.GaussianDpEvent(1.0)
        box.ask(Program(under, (compose(event), epsilon_at(1e-5))), _WARM_UP)


def _result(law: Law, scope: Scope, allowance: Allowance, at_least: int) -> LawResult:
    relation = scope.relation.name
    reason = law.applies(scope.candidate)
    if reason:
        return LawResult(law.id, law.title, relation, Verdict.NOT_APPLICABLE, 0, 0, note=reason)
    random = [clause for clause in law.clauses if clause.strategy is not None]
    share = -(-scope.max_examples // len(random)) if random else 0
    seen = []
    for i, clause in enumerate(law.clauses):
        over = allowance.part(len(law.clauses) - i)
        seen.append(search(clause, scope, share, over, at_least))
    findings = tuple(finding for one in seen for finding in one.findings)
    answered, refused = sum(s.answered for s in seen), sum(s.refused for s in seen)
    verdict = _verdict(findings, answered, refused)
    return LawResult(
        law.id, law.title, relation, verdict, answered, refused, findings, _note(verdict, seen)
    )


def _verdict(findings: tuple[Finding, ...], answered: int, refused: int) -> Verdict:
    if any(finding.counts for finding in findings):
        return Verdict.VIOLATED
    if any(finding.kind is not Kind.LOOSENESS for finding in findings):
        return Verdict.SUSPECT
    if answered:
        return Verdict.HOLDS
    return Verdict.REFUSED if refused else Verdict.NOT_APPLICABLE


def _note(verdict: Verdict, seen: list[Searched]) -> str:
    """Why there is no verdict, or what was left out."""
    if verdict in (Verdict.REFUSED, Verdict.NOT_APPLICABLE):
        reasons = [reason for one in seen for reason in one.reasons]
        cut = any(one.cut for one in seen)
        return reasons[0] if reasons else "the CPU budget was spent" if cut else "nothing to ask"
    return "cut short by the CPU budget" if any(one.cut for one in seen) else ""
