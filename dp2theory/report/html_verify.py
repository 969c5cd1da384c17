"""The page of a verification: each theorem with its proof, its tests and its verdict."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dp2theory.report import html_plots, tables
from dp2theory.report.html_numbers import datum
from dp2theory.report.html_page import (
    About,
    cards,
    figure,
    notes,
    pictures,
    theorem_link,
    verdict,
    with_theorems,
    write_page,
)
from dp2theory.report.tables import Markup

#: Of the table of theorems.
HEADER = (
    "theorem",
    "title",
    "kind",
    "proof",
    "verdict",
    "bound / measured (smallest found)",
    "tested",
    "CPU time [s] (measured)",
)
#: A count of the report -> what it counts.
COUNTS = {
    "theorems": "theorems",
    "violated": "violated",
    "proved": "proved, nothing assumed",
    "assuming": "proved, with assumed steps",
    "failed": "proofs that fail",
    "tested_on_runs": "tested on runs or draws",
    "tested_on_models_only": "tested on finite models or points only",
    "not_tested": "not tested",
}
#: A verdict -> the class of its mark.
MARKS = {"holds": "upper", "violated": "bad"}


def write_verify_report(
    path: str | Path, document: Mapping[str, Any], about: About | None = None
) -> None:
    """Write the page of a verification; the file appears only when it is complete.

    Parameters
    ----------
    path : str or Path
    document : mapping
        The object that ``dp2theory verify --json`` prints.
    about : About, optional
    """
    write_page(
        path,
        document,
        title="Theorems, verified",
        subtitle="Proofs replayed, and statements put to the test on runs",
        sections=verify_sections(document),
        about=about,
    )


def verify_sections(document: Mapping[str, Any]) -> list[str]:
    """The parts of the page, its inputs apart."""
    verdicts = document["result"]["theorems"]
    broken = [each for each in verdicts if each["verdict"] == "violated"]
    rows = [_row(document, place, each) for place, each in enumerate(verdicts)]
    tested = [each for each in verdicts if each["tested"]]
    unfinished = document["result"]["unfinished"]
    parts = [*_verdicts(broken, len(verdicts), len(unfinished)), _cards(document)]
    drawn = html_plots.slack_figures(tested)
    if drawn:
        label = f"bound over measurement, picture {{}} of {len(drawn)}; the table has the figures"
        caption = (
            "Bound over measurement, the smallest that was found; 1 is tight, below 1 is violated. "
            "Infinite ratios are in the table only."
        )
        parts.append(
            pictures(
                *(
                    figure(one, label.format(place), caption if place == 1 else "")
                    for place, one in enumerate(drawn, 1)
                )
            )
        )
    parts += [
        "<h2>Theorem by theorem</h2>",
        f"<div class='words theorems'>{tables.html_table(HEADER, rows)}</div>",
    ]
    if tested or broken:
        parts.append("<h2>Tests</h2>")
        shown = [*broken, *(each for each in tested if each not in broken)]
        parts += [_tests(document, verdicts.index(each), each) for each in shown]
    parts += notes("Without a verdict", unfinished)
    return parts + notes("What was left out", document["result"].get("notes", ()))


def _verdicts(broken: list[Mapping[str, Any]], count: int, unfinished: int) -> list[str]:
    """The boxes on top: what is violated comes first, what is missing next."""
    boxes = []
    if broken:
        named = ", ".join(str(each["id"]) for each in broken)
        are = "theorem is" if count == 1 else "theorems are"
        boxes.append(verdict(f"{len(broken)} of {count} {are} violated", named, "broken"))
    if unfinished:
        text = (
            f"{unfinished} of {count + unfinished} theorems have no verdict; they are named below"
        )
        boxes.append(verdict("Interrupted", text, "none"))
    if not broken:
        looked = "1 theorem was" if count == 1 else f"{count} theorems were"
        title = "No violation was found" + (" so far" if unfinished else "")
        boxes.append(verdict(title, f"{looked} looked at", "none" if unfinished else "kept"))
    return boxes


def _cards(document: Mapping[str, Any]) -> str:
    result = document["result"]
    entries: list[tuple[str, str]] = [
        (datum(document, f"result.counts.{name}"), COUNTS.get(name, name.replace("_", " ")))
        for name in result["counts"]
    ]
    entries.append((datum(document, "result.seconds", "measured", digits=4), "seconds of CPU"))
    entries.append((str(result["level"]), "level"))
    return cards(entries)


def _row(document: Mapping[str, Any], place: int, each: Mapping[str, Any]) -> list[str]:
    field = f"result.theorems.{place}"
    proof = str(each["proof"])
    for word in ("assumed", "failed"):
        if each[word]:
            proof += f"; {word}: {', '.join(each[word])}"
    word = str(each["verdict"])
    mark = Markup(f"<span class='kind {MARKS.get(word, '')}'>{html.escape(word)}</span>")
    tested = str(each["words"]) + (f": {each['why_not']}" if each["why_not"] else "")
    return [
        theorem_link(each["id"]),
        str(each["title"]),
        str(each["kind"]),
        proof,
        mark,
        datum(document, f"{field}.slack", "measured", digits=5),
        with_theorems(tested),
        datum(document, f"{field}.seconds", "measured", digits=3),
    ]


def _tests(document: Mapping[str, Any], place: int, each: Mapping[str, Any]) -> str:
    lines = [f"<p><b>{html.escape(each['id'])}</b> {html.escape(each['title'])}</p>"]
    for number, test in enumerate(each["tested"]):
        field = f"result.theorems.{place}.tested.{number}"
        on = test["on"].removesuffix("s") if test["count"] == 1 else test["on"]
        said = f"{datum(document, f'{field}.count')} {html.escape(on)}"
        which = test["what"].removeprefix(f"{test['count']} {test['on']}")
        said += html.escape(which if which.startswith(" ") else f": {which}")
        if test["slack"] is not None:
            said += f"; bound / measured {datum(document, f'{field}.slack', 'measured', digits=6)}"
        if test["interval"] is not None:
            ends = [datum(document, f"{field}.interval.{k}", "estimate", digits=6) for k in (0, 1)]
            said += f", 99 % interval over seeds [{ends[0]}, {ends[1]}]"
        if test["searched"]:
            said += f"; {datum(document, f'{field}.searched')} instances searched for a smaller one"
        lines.append(f"<p>{said}</p>")
        if test["violation"]:
            lines.append(f"<p><b>Violated:</b> {html.escape(test['violation'])}</p>")
    lines += [f"<p><b>Proof fails:</b> {html.escape(step)}</p>" for step in each["failed"]]
    return f"<div class='finding'>{''.join(lines)}</div>"
