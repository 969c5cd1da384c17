"""What an audit found, law by law."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from accountants.bracket import Bracket
from accountants.laws.case import Case, plain

#: Of the JSON of a report.
SCHEMA_VERSION = 1


class Verdict(enum.StrEnum):
    """What is known about one law and one relation."""

    HOLDS = "holds"
    VIOLATED = "violated"
    SUSPECT = "suspect"
    NOT_APPLICABLE = "not applicable"
    REFUSED = "refused"


class Kind(enum.StrEnum):
    """What is wrong with an answer."""

    UNDERSTATEMENT = "understatement"  # smaller than the truth
    CONTRACT = "contract"  # no sensible answer, whatever the truth is
    LOOSENESS = "looseness"  # larger than it could be; no violation


@dataclass(frozen=True)
class Finding:
    """One answer that breaks a law.

    Attributes
    ----------
    law, clause : str
        "L4", and the part of the law.
    kind : Kind
    case : Case
        The smallest that was found.
    value : float or str
        What was answered.
    oracle : Bracket or None
        The truth, between two ends.
    confirmed_by : str or None
        What settles it; None where nothing independent does ("suspect").
    message : str
        One sentence.
    shortfall : float
        How far ``value`` lies below the lower end of the truth, 0 where it does not.
    settle : callable or None
        Looks for a confirmation that is independent of the oracle; returns it as a sentence.
    worst : Finding or None
        The confirmed one of this clause with the largest relative shortfall.
    """

    law: str
    clause: str
    kind: Kind
    case: Case
    value: float | str
    oracle: Bracket | None
    confirmed_by: str | None
    message: str
    shortfall: float = 0.0
    settle: Callable[[], str | None] | None = field(default=None, repr=False, compare=False)
    worst: Finding | None = field(default=None, repr=False, compare=False)

    @property
    def counts(self) -> bool:
        """Whether it is a violation."""
        return self.kind is not Kind.LOOSENESS and self.confirmed_by is not None

    @property
    def relative_shortfall(self) -> float:
        """Shortfall over the lower end of the truth, in [0, 1]."""
        if not self.shortfall:
            return 0.0
        lower = math.inf if self.oracle is None else self.oracle.lower
        return 1.0 if lower == math.inf else min(1.0, self.shortfall / lower)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "law": self.law,
            "clause": self.clause,
            "kind": str(self.kind),
            "case": self.case.to_json(),
            "case_text": self.case.describe(),
            "value": plain(self.value),
            "oracle": None if self.oracle is None else self.oracle.to_json(),
            "confirmed_by": self.confirmed_by,
            "message": self.message,
            "shortfall": plain(self.shortfall),
            "relative_shortfall": plain(self.relative_shortfall),
            "worst": None if self.worst is None else self.worst.to_json(),
        }

    def describe(self) -> str:
        """A few lines for a person."""
        lines = [f"{self.law} {self.clause}: {self.message}", f"  case: {self.case.describe()}"]
        if self.oracle is not None:
            lines.append(f"  value {self.value!r}, truth in {_interval(self.oracle)}")
        if self.worst is not None and self.worst.case != self.case:
            lines.append(
                f"  worst: {self.worst.value!r}, truth in {_interval(self.worst.oracle)}: "
                f"{self.worst.case.describe()}"
            )
        if self.confirmed_by:
            lines.append(f"  confirmed by: {self.confirmed_by}")
        elif self.kind is not Kind.LOOSENESS:
            lines.append("  not confirmed by an independent enclosure")
        return "\n".join(lines)


def _interval(bracket: Bracket | None) -> str:
    if bracket is None:
        return "no oracle"
    return f"[{bracket.lower:.9g}, {bracket.upper:.9g}]"


@dataclass(frozen=True)
class LawResult:
    """One law under one relation.

    Attributes
    ----------
    law, title : str
        Its id and its name.
    relation : str
        Name of the relation.
    verdict : Verdict
    examples, refusals : int
        Questions that were answered, and those that were refused.
    findings : tuple of Finding
        One for each broken clause (and kind).
    note : str
        Why there is no verdict, or how refusals read.
    """

    law: str
    title: str
    relation: str
    verdict: Verdict
    examples: int
    refusals: int
    findings: tuple[Finding, ...] = ()
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "law": self.law,
            "title": self.title,
            "relation": self.relation,
            "verdict": str(self.verdict),
            "examples": self.examples,
            "refusals": self.refusals,
            "findings": [finding.to_json() for finding in self.findings],
            "note": self.note,
        }

    def describe(self) -> str:
        """One line for a person."""
        told = f"{self.law:<4}{self.title:<18}{self.relation:<18} {self.verdict}"
        if self.verdict is Verdict.HOLDS:
            told += f" on {self.examples} examples"
            told += f", {self.refusals} refused" if self.refusals else ""
        return told + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class LawReport:
    """The result of an audit.

    Attributes
    ----------
    name : str
    version : str or None
    seed, max_examples : int
        What repeats this run.
    results : tuple of LawResult
    cpu_seconds : float
        CPU time of the audit, the accountant's included.
    """

    name: str
    version: str | None
    seed: int
    max_examples: int
    results: tuple[LawResult, ...]
    cpu_seconds: float

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings in the order of the laws."""
        return tuple(finding for result in self.results for finding in result.findings)

    @property
    def violations(self) -> tuple[Finding, ...]:
        """Confirmed findings: under-statements first, the worst of them first."""
        found = [finding for finding in self.findings if finding.counts]
        return tuple(
            sorted(
                found,
                key=lambda f: (
                    f.kind is not Kind.UNDERSTATEMENT,
                    -(f.worst or f).relative_shortfall,
                ),
            )
        )

    @property
    def understatements(self) -> tuple[Finding, ...]:
        """Confirmed answers below the truth, the worst first."""
        return tuple(f for f in self.violations if f.kind is Kind.UNDERSTATEMENT)

    @property
    def suspects(self) -> tuple[Finding, ...]:
        """Findings that nothing independent confirms."""
        return tuple(
            f for f in self.findings if f.kind is not Kind.LOOSENESS and not f.confirmed_by
        )

    @property
    def looseness(self) -> tuple[Finding, ...]:
        """Answers larger than they could be."""
        return tuple(f for f in self.findings if f.kind is Kind.LOOSENESS)

    @property
    def answered(self) -> bool:
        """Whether any question was answered: else the audit says nothing."""
        return any(result.examples for result in self.results)

    @property
    def ok(self) -> bool:
        """Whether nothing counts as a violation."""
        return not self.violations

    @property
    def exit_code(self) -> int:
        """0, or 3 where a violation is confirmed or nothing was answered at all."""
        return 0 if self.ok and self.answered else 3

    @property
    def status(self) -> str:
        """``"violated"``, ``"unchecked"`` where nothing was answered at all, or ``"ok"``."""
        if not self.ok:
            return "violated"
        return "ok" if self.answered else "unchecked"

    def check(self) -> None:
        """Raise ``AssertionError`` with the report if a violation is confirmed.

        The same where nothing was answered at all: such an audit could not fail.
        """
        if not self.ok or not self.answered:
            raise AssertionError(self.describe())

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "schema_version": SCHEMA_VERSION,
            "name": self.name,
            "version": self.version,
            "seed": self.seed,
            "max_examples": self.max_examples,
            "cpu_seconds": round(self.cpu_seconds, 3),
            "ok": self.ok,
            "answered": self.answered,
            "understatements": [f.to_json() for f in self.understatements],
            "violations": [
                f.to_json() for f in self.violations if f.kind is not Kind.UNDERSTATEMENT
            ],
            "suspects": [f.to_json() for f in self.suspects],
            "looseness": [f.to_json() for f in self.looseness],
            "results": [result.to_json() for result in self.results],
        }

    def describe(self) -> str:
        """The whole report as text."""
        title = self.name if self.version is None else f"{self.name} {self.version}"
        other = [f for f in self.violations if f.kind is not Kind.UNDERSTATEMENT]
        lines = [
            f"{title}: seed {self.seed}, {self.max_examples} examples a law, "
            f"{self.cpu_seconds:.1f} s of CPU"
        ]
        if not self.answered:
            lines += ["", "nothing was checked: no question was answered"]
        for heading, found in (
            ("epsilon below the truth", self.understatements),
            ("other violations", other),
            ("suspect", self.suspects),
            ("loose (no violation)", self.looseness),
        ):
            if found:
                lines += ["", f"{heading}:"]
                lines += ["  " + f.describe().replace("\n", "\n  ") for f in found]
        lines += ["", *(result.describe() for result in self.results)]
        return "\n".join(lines)
