"""The page of an audit: what was found, worst first, and the verdict on each law."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dp2theory.report import audit_tables, tables
from dp2theory.report.audit_plots import audit_figure
from dp2theory.report.html_page import About, capital, cards, figure, verdict, write_page

#: What the picture shows.
CAPTION = (
    "Left: the verdict on each law. Right: what was answered over the end of the truth that it "
    "misses; grey bars are the interval in which the truth lies. Answers that are no positive "
    "number stand at the left edge."
)

#: Headers of the page's tables, with the kinds of the numbers.
FINDING_HEADER = ("law", "answered (as reported)", "truth (proved ends)", "off by", "case")
#: Of the table of verdicts, with the kind of each number.
VERDICT_HEADER = ("law", "relation", "examples (counted)", "refused (counted)", "verdict")


def audit_sections(document: Mapping[str, Any]) -> list[str]:
    """The parts of the page, its inputs apart.

    Parameters
    ----------
    document : mapping
        The object that ``dp2theory audit-accountant --json`` prints.

    Returns
    -------
    list of str
        HTML fragments.
    """
    result = document["result"]
    parts = [_verdict(result), _cards(result)]
    parts.append(
        figure(audit_figure(result), "answers over the truth, and verdicts", CAPTION, wide=True)
    )
    for group, heading in audit_tables.GROUPS:
        if result[group]:
            parts.append(f"<h2>{html.escape(heading)}</h2>")
            rows = audit_tables.finding_rows(result[group])
            parts.append(tables.html_table(FINDING_HEADER, rows))
            parts += [_finding(finding) for finding in result[group]]
    parts.append("<h2>Law by law</h2>")
    rows = audit_tables.verdict_rows(result["results"])
    parts.append(tables.html_table(VERDICT_HEADER, rows))
    return parts


def write_audit_report(
    path: str | Path, document: Mapping[str, Any], about: About | None = None
) -> None:
    """Write the page of an audit; the file appears only when it is complete.

    Parameters
    ----------
    path : str or Path
    document : mapping
        The object that ``dp2theory audit-accountant --json`` prints.
    about : About, optional
    """
    result = document["result"]
    name = result["name"] + (f" {result['version']}" if result["version"] else "")
    write_page(
        path,
        document,
        title=f"Audit of {name}",
        subtitle="Laws of privacy accountants, tested on examples",
        sections=audit_sections(document),
        about=about,
    )


def _verdict(result: Mapping[str, Any]) -> str:
    title = "No violation was found" if result["ok"] else "Laws are violated"
    style = "kept" if result["ok"] else "broken"
    return verdict(title, capital(audit_tables.summary(result)), style)


def _cards(result: Mapping[str, Any]) -> str:
    counts = [
        (str(len(result["understatements"])), "answers below the truth, confirmed"),
        (str(len(result["violations"])), "other confirmed violations"),
        (str(len(result["suspects"])), "suspects, not confirmed"),
        (str(len(result["looseness"])), "loose answers"),
        (f"{result['cpu_seconds']:.3g} s", "of CPU (measured)"),
    ]
    return cards(counts)


def _finding(finding: Mapping[str, Any]) -> str:
    settled = finding["confirmed_by"]
    lines = [
        f"<b>{html.escape(finding['law'])} {html.escape(finding['clause'])}</b>: "
        + html.escape(finding["message"]),
        f"<code>{html.escape(finding['case']['code'])}</code>",
    ]
    worst = audit_tables.worst_of(finding)
    if worst is not finding:
        lines.append(f"Worst: {html.escape(audit_tables.answer(worst))}")
    if settled is not None:
        lines.append(f"Confirmed: {html.escape(settled)}")
    body = "".join(f"<p>{line}</p>" for line in lines)
    return f"<div class='finding'>{body}</div>"
