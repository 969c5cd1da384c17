"""Rows of what an audit of an accountant found, from the ``result`` of ``audit-accountant``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dp2theory.digits import within
from dp2theory.report.tables import number

#: One finding, as the command's JSON has it.
Finding = Mapping[str, Any]

#: Of the table of findings.
FINDING_HEADER = ("law", "answered", "truth", "off by", "case")
#: Of the table of verdicts.
VERDICT_HEADER = ("law", "relation", "examples", "refused", "verdict")
#: The lists of findings of a result, in the order in which they are shown, with their headings.
GROUPS = (
    ("understatements", "Below the truth (confirmed; the worst first)"),
    ("violations", "Other confirmed violations"),
    ("suspects", "Suspect: not confirmed, no effect on the exit code"),
    ("looseness", "Loose: correct, and larger than it could be"),
)


def value(said: Any, digits: int = 6) -> str:
    """A number, or the text that stands for one, as in "nan"."""
    return number(said, digits) if isinstance(said, int | float) else str(said)


def finite(said: Any) -> float | None:
    """What was answered, where it is a finite number."""
    return float(said) if isinstance(said, int | float) else None


def asked(finding: Finding) -> str:
    """The quantity in question: ``epsilon`` where the case has a δ, else ``delta``."""
    return "epsilon" if finding["case"]["delta"] is not None else "delta"


def truth(finding: Finding) -> str:
    """Both ends of the truth, one number where they agree to six digits, a dash where unknown."""
    oracle = finding["oracle"]
    if oracle is None:
        return "–"
    lower, upper = value(oracle["lower"]), value(oracle["upper"])
    return lower if lower == upper else within(oracle)


def answer(finding: Finding) -> str:
    """What was answered, the truth, and the case, in one line."""
    said = f"{asked(finding)} = {value(finding['value'])}"
    return f"{said} where the truth is {truth(finding)}: {finding['case_text']}"


def ratio(finding: Finding) -> float | None:
    """The answer over the end of the truth that it misses; None where there is no such number.

    Below 1 for an answer below the truth, above 1 for a loose one.
    """
    said, oracle = finite(finding["value"]), finding["oracle"]
    if said is None or oracle is None:
        return None
    end = finite(oracle["upper" if finding["kind"] == "looseness" else "lower"])
    return said / end if end else None


def off_by(finding: Finding) -> str:
    """How far the answer lies below the truth, or how many times the truth a loose one is."""
    found, kind = ratio(finding), finding["kind"]
    if kind == "looseness" and found is not None:
        return f"x {found:.3g}"
    if kind == "understatement":
        if finding["oracle"] is not None and finding["oracle"]["lower"] == "inf":
            return "no finite bound"
        if found is not None and 0 <= found < 1:
            return f"{100 * (1 - found):.3g} % short"
    return "–"


def relation(name: str) -> str:
    """A relation as options write it."""
    return name.lower().replace("_", "-")


def finding_rows(findings: Sequence[Finding]) -> list[list[str]]:
    """Rows for `FINDING_HEADER`."""
    return [
        [
            f"{finding['law']} {finding['clause']}",
            f"{asked(finding)} = {value(finding['value'])}",
            truth(finding),
            off_by(finding),
            finding["case_text"],
        ]
        for finding in findings
    ]


def verdict_rows(results: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Rows for `VERDICT_HEADER`."""
    return [
        [
            f"{result['law']} {result['title']}",
            relation(result["relation"]),
            number(result["examples"]),
            number(result["refusals"]),
            result["verdict"] + (f" ({result['note']})" if result["note"] else ""),
        ]
        for result in results
    ]


def worst_of(finding: Finding) -> Finding:
    """The answer to the same clause that falls short most: the finding itself, or its ``worst``."""
    further: Finding | None = finding["worst"]
    return finding if further is None or _short(further) <= _short(finding) else further


def _short(finding: Finding) -> float:
    """Relative shortfall; among equal ones to three digits the simplest case is the one to show."""
    return round(float(finding["relative_shortfall"]), 3)


def worst(result: Mapping[str, Any]) -> Finding | None:
    """The worst confirmed under-statement of ε, or None."""
    about = [
        worst_of(finding) for finding in result["understatements"] if asked(finding) == "epsilon"
    ]
    return max(about, key=_short, default=None)


def summary(result: Mapping[str, Any]) -> str:
    """The audit in one sentence."""
    confirmed = len(result["understatements"]) + len(result["violations"])
    if not result["answered"]:
        reason = next((law["note"] for law in result["results"] if law["note"]), "")
        told = "nothing was checked: no question was answered"
        return f"{told} ({reason})" if reason else told
    if not confirmed:
        return "no violation of the laws was found"
    told = f"{confirmed} confirmed violation{'s' if confirmed > 1 else ''} of the laws"
    found = worst(result)
    if found is not None:
        told += f"; worst under-statement: {answer(found)}"
    return told
