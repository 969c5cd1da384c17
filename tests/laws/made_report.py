"""A report of an audit made by hand: one finding of each kind, one law for each verdict."""

from typing import Any

import dp_accounting as dp

from accountants.bracket import Bracket
from accountants.laws.case import Case
from accountants.laws.report import Finding, Kind, LawReport, LawResult, Verdict
from accountants.relations import NeighboringRelation

RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE
EVENT = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000)


def finding(
    kind: Kind = Kind.UNDERSTATEMENT,
    confirmed: str | None = "a <proof>",
    value: float | str = 1.0,
    truth: tuple[float, float] | None = (2.0, 2.5),
    *,
    law: str = "L4",
    relation: NeighboringRelation = RELATION,
    worst: Finding | None = None,
    **case: Any,
) -> Finding:
    """A finding; by default 1.0 was answered where the truth lies in [2, 2.5]."""
    oracle = None if truth is None else Bracket(*truth)
    short = 0.0
    if kind is Kind.UNDERSTATEMENT and oracle is not None and not isinstance(value, str):
        short = oracle.lower - value
    return Finding(
        law=law,
        clause="upper end",
        kind=kind,
        case=Case(EVENT, relation, **({"delta": 1e-5} | case)),
        value=value,
        oracle=oracle,
        confirmed_by=confirmed,
        message=f"a {kind} & what it means",
        shortfall=short,
        worst=worst,
    )


NAN, INFINITY = float("nan"), float("inf")
WORST = finding(value=0.25, truth=(2.0, 2.0), delta=1e-6)
#: Law -> verdict, findings, note; every law that is not named holds.
FOUND: dict[str, tuple[Verdict, tuple[Finding, ...], str]] = {
    "L2": (
        Verdict.VIOLATED,
        (
            finding(Kind.CONTRACT, value="nan", truth=None, law="L2", delta=NAN, count=3),
            finding(value=0.0, truth=(INFINITY, INFINITY), law="L2", delta=None, epsilon=1.0),
        ),
        "",
    ),
    "L3": (Verdict.SUSPECT, (finding(confirmed=None, value=1.9, law="L3"),), ""),
    "L4": (Verdict.VIOLATED, (finding(worst=WORST),), ""),
    "L5": (Verdict.REFUSED, (), "NotImplementedError: not this one"),
    "L6": (Verdict.NOT_APPLICABLE, (), "takes no orders"),
    "L7": (
        Verdict.HOLDS,
        (finding(Kind.LOOSENESS, None, 5.0, (2.0, 2.5), law="L7"),),
        "",
    ),
}
LAWS = tuple(f"L{number}" for number in range(1, 16))


def made_result(law: str, relation: NeighboringRelation = RELATION) -> LawResult:
    """What `FOUND` says of one law."""
    verdict, findings, note = FOUND.get(law, (Verdict.HOLDS, (), ""))
    return LawResult(law, f"title of {law}", relation.name, verdict, 7, 2, findings, note)


def made_report(
    laws: tuple[str, ...] = LAWS,
    *,
    name: str = "mine:Mine",
    version: str | None = None,
    seed: int = 0,
    max_examples: int = 25,
) -> LawReport:
    """A report on these laws."""
    results = tuple(map(made_result, laws))
    return LawReport(name, version, seed, max_examples, results, 1.25)
