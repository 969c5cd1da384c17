"""The page of an account: ε (or δ) of a run between its two ends, and what else was asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dp2theory.digits import short
from dp2theory.report import curves, html_plots, tables
from dp2theory.report.html_numbers import Entry, datum, kind_mark, numbers_table
from dp2theory.report.html_page import (
    About,
    cards,
    figure,
    notes,
    pictures,
    unit_of,
    verdict,
    write_page,
)
from dp2theory.report.tables import Markup

#: Letter of what is asked for.
SYMBOL = {"epsilon": "ε", "delta": "δ"}
#: Its unit.
UNIT = {"epsilon": "nats", "delta": "probability"}
#: What is said of a run without a finite ε.
NOTHING = "ε is infinite: what was released may reveal a record outright"
#: Names of accountants as people write them.
ACCOUNTANTS = {"exact": "exact", "renyi": "Rényi", "tcdp": "truncated CDP"}


def write_account_report(
    path: str | Path, document: Mapping[str, Any], about: About | None = None
) -> None:
    """Write the page of an account; the file appears only when it is complete.

    Parameters
    ----------
    path : str or Path
    document : mapping
        The object that ``dp2theory account --json`` prints.
    about : About, optional
    """
    write_page(
        path,
        document,
        title="Privacy account",
        subtitle="What a run costs, as a bracket around the exact value",
        sections=account_sections(document),
        about=about,
    )


def account_sections(document: Mapping[str, Any]) -> list[str]:
    """The parts of the page, its inputs apart."""
    result = document["result"]
    made = _remaining(document) if "remaining_steps" in result else _account(document)
    return made + notes("What to know about it", result["notes"])


def _account(document: Mapping[str, Any]) -> list[str]:
    result, inputs = document["result"], document["inputs"]
    asked = "epsilon" if "epsilon" in result else "delta"
    given = "delta" if asked == "epsilon" else "epsilon"
    symbol, unit = SYMBOL[asked], unit_of(inputs)
    two_sided = result["answers"][0]["claim"] == "two-sided"
    explained = result["explanation"]
    top = datum(document, f"result.{asked}.upper", "upper", digits=6)
    end = datum(document, f"result.{asked}.lower", "lower", digits=6)
    at = f"at {SYMBOL[given]} = {tables.number(inputs[given]['value'], 4)}, for {unit}"
    finite = html_plots.finite(result[asked]["upper"]) is not None
    parts = [
        *([] if finite else [verdict("No privacy", NOTHING, "dp-sgd")]),
        cards(
            [
                (Markup(f"{symbol} ≤ {top}"), f"proved upper end, {at}"),
                (Markup(f"{symbol} ≥ {end}") if two_sided else "–", "attained lower end"),
                (datum(document, "result.steps", digits=6), "releases"),
            ]
        ),
        _pictures(result, inputs, asked),
    ]
    entries = [
        Entry(symbol, f"result.{asked}.upper", UNIT[asked], "upper",
              explained["upper"] if explained else "see the answers"),
    ]  # fmt: skip
    if two_sided:
        lower = explained["lower"] if explained else ""
        entries.append(Entry(symbol, f"result.{asked}.lower", UNIT[asked], "lower", lower))
    if asked == "delta":
        entries.append(Entry("log δ", "result.log_delta.upper", "natural logarithm", "upper"))
        if two_sided:
            entries.append(Entry("log δ", "result.log_delta.lower", "natural logarithm", "lower"))
    entries.append(Entry("releases", "result.steps", "steps", "counted"))
    parts += ["<h2>Numbers</h2>", numbers_table(document, entries)]
    if explained and explained["source"]:
        said = f"Proofs: {explained['source']}."
        if explained["exact"] and finite:
            said += " Both ends come from one pair of distributions and differ by rounding only."
        parts += [f"<p>{tables.escaped(said)}</p>"]
    parts += ["<h2>Answers</h2>", _answers(document, asked)]
    parts += _alternatives(document, asked)
    return parts + _peers(document, symbol)


def _pictures(result: Mapping[str, Any], inputs: Mapping[str, Any], asked: str) -> str:
    rows: list[tuple[str, Any, Any, str]] = []
    for answer in result["answers"]:
        name = ACCOUNTANTS.get(answer["accountant"], answer["accountant"])
        if asked in answer:
            lower = answer[asked]["lower"] if answer["claim"] == "two-sided" else None
            rows.append((name, lower, answer[asked]["upper"], "upper"))
        else:
            rows.append((name, None, "not supported", "upper"))
    rows += [
        (peer["name"], None, peer["value"], "reported")
        for peer in result.get("peers", ())
        if peer["value"] is not None
    ]
    said = "; ".join(f"{name} {short(upper, kind, 4)}" for name, _, upper, kind in rows)
    made = [
        figure(
            html_plots.answers_figure(rows, SYMBOL[asked]),
            f"answers by accountant: {said}",
            "Triangles: proved upper ends; bars go down to the attained lower end; crosses: what "
            "other packages report.",
        )
    ]
    if result.get("against_steps"):
        delta = inputs["delta"]["value"]
        first = result["answers"][0]
        both = first.get("tightness") == "tight" and not result["explanation"]["exact"]
        tight = result["epsilon"] if both else None
        drawn = curves.account_figure(
            result["against_steps"], delta=delta, tight=tight, size=html_plots.SIZE
        )
        alt = f"ε against the number of steps at δ = {tables.number(delta, 3)}"
        caption = "ε after ever more steps of the run by the fast ends; triangle: the tight end."
        made.append(figure(drawn, alt, caption))
    return pictures(*made)


def _answers(document: Mapping[str, Any], asked: str) -> str:
    rows = []
    for place, answer in enumerate(document["result"]["answers"]):
        name = ACCOUNTANTS.get(answer["accountant"], answer["accountant"])
        field = f"result.answers.{place}.{asked}"
        if asked not in answer:
            rows.append([name, "–", "–", "–", f"not supported: {answer['refused']}"])
            continue
        two_sided = answer["claim"] == "two-sided"
        rows.append(
            [
                name,
                datum(document, f"{field}.lower", "lower", digits=8) if two_sided else "–",
                datum(document, f"{field}.upper", "upper", digits=8),
                datum(document, f"result.answers.{place}.releases"),
                f"both ends, {answer['tightness']}" if two_sided else "upper end only",
            ]
        )
    symbol = SYMBOL[asked]
    header = (
        "accountant",
        f"{symbol} ≥ (attained)",
        f"{symbol} ≤ (proved)",
        "releases (counted)",
        "claim",
    )
    return tables.html_table(header, rows)


def _alternatives(document: Mapping[str, Any], asked: str) -> list[str]:
    others = document["result"].get("alternatives", ())
    if not others:
        return []
    rows = [
        [
            other["sampling"],
            other["relation"],
            datum(document, f"result.alternatives.{place}.{asked}.lower", "lower", digits=8),
            datum(document, f"result.alternatives.{place}.{asked}.upper", "upper", digits=8),
        ]
        for place, other in enumerate(others)
    ]
    symbol = SYMBOL[asked]
    header = ("sampling", "relation", f"{symbol} ≥ (attained)", f"{symbol} ≤ (proved)")
    return [
        "<h2>The same noise, batches and steps with sampled batches</h2>",
        tables.html_table(header, rows),
    ]


def _peers(document: Mapping[str, Any], symbol: str) -> list[str]:
    peers = document["result"].get("peers", ())
    if not peers:
        return []
    rows = [
        [
            peer["name"] + (f" {peer['version']}" if peer["version"] else ""),
            datum(document, f"result.peers.{place}.value", "reported"),
            kind_mark("reported") if peer["value"] is not None else "–",
            str(peer["claim"] or "–"),
            str(peer["about"] or "–")
            + (" (another question)" if peer["about"] and not peer["same_question"] else ""),
            str(peer["note"] or ""),
        ]
        for place, peer in enumerate(peers)
    ]
    header = ("package", symbol, "kind", "its claim", "about", "note")
    table = tables.html_table(header, rows)
    return ["<h2>What other packages answer</h2>", f"<div class='words'>{table}</div>"]


def _remaining(document: Mapping[str, Any]) -> list[str]:
    result = document["result"]
    target = document["inputs"]["remaining"]["value"]
    steps = tables.number(result["remaining_steps"])
    entries = [
        Entry("steps that remain", "result.remaining_steps", "steps", "chosen",
              "the most whose proved ε keeps the budget"),
        Entry("epochs that remain", "result.remaining_epochs", "passes", "chosen"),
    ]  # fmt: skip
    points = []
    for field, words in (
        ("spent", "spent so far"),
        ("epsilon", "with the remaining steps"),
        ("next_epsilon", "with one more"),
    ):
        if result[field] is None:
            continue
        points.append((words, result[field]["upper"]))
        entries += [
            Entry(f"ε {words}", f"result.{field}.{kind}", "nats", kind, "exact accountant")
            for kind in ("upper", "lower")
        ]
    said = ", ".join(f"{words} {short(value, 'upper', 4)}" for words, value in points)
    caption = "Upper ends of ε; the dashed line is the budget."
    drawn = html_plots.remaining_figure(points, target)
    return [
        verdict(
            f"{steps} steps remain",
            f"They keep ε within {tables.number(target)}, and one more would not",
            "kept" if result["remaining_steps"] else "none",
        ),
        pictures(figure(drawn, f"upper ends of ε: {said}; budget {target}", caption)),
        "<h2>Numbers</h2>",
        numbers_table(document, entries),
    ]
