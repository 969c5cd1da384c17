"""The page of an audit of an optimizer: what attacks have shown, against what is accounted."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor
from pathlib import Path
from typing import Any

from dp2theory.digits import short
from dp2theory.report import html_plots, tables
from dp2theory.report.html_numbers import Entry, bracket, datum, numbers_table
from dp2theory.report.html_page import About, cards, figure, pictures, verdict, write_page
from dp2theory.report.tables import Markup


def write_optimizer_audit_report(
    path: str | Path, document: Mapping[str, Any], about: About | None = None
) -> None:
    """Write the page of an audit; the file appears only when it is complete.

    Parameters
    ----------
    path : str or Path
    document : mapping
        The object that ``dp2theory audit --json`` prints.
    about : About, optional
    """
    write_page(
        path,
        document,
        title=f"Audit of {document['result']['optimizer']}",
        subtitle="What attacks on many runs show of ε, against what is accounted",
        sections=audit_sections(document),
        about=about,
    )


def audit_sections(document: Mapping[str, Any]) -> list[str]:
    """The parts of the page, its inputs apart."""
    result = document["result"]
    word = "claimed" if result["claimed"] else "accounted"
    return [
        _verdict(result, word),
        _cards(document, word),
        _pictures(result, word),
        "<h2>Numbers</h2>",
        numbers_table(document, _entries(result, word)),
        f"<h2>The same evidence at every δ: shown and {word}</h2>",
        _profile(document, word),
        "<h2>Attacks that were compared</h2>",
        _attempts(document),
    ]


def _verdict(result: Mapping[str, Any], word: str) -> str:
    worst, asked = result["worst"], result["epsilon"]
    if result["violated"]:
        return verdict(
            "Violated: more was shown than is " + word,
            f"ε is at least {short(worst['shown_lower'], 'lower')} at δ = "
            f"{tables.number(worst['delta'], 3)}, where "
            f"{short(worst['accounted']['upper'], 'upper')} is {word}",
            "broken",
        )
    return verdict(
        "Nothing was found",
        f"Attacks show {floor(100 * result['power'])} % of the ε that is {word} at δ = "
        f"{tables.number(asked['delta'], 3)}; this is no proof of it",
        "kept",
    )


def _cards(document: Mapping[str, Any], word: str) -> str:
    result = document["result"]
    shown = datum(document, "result.epsilon.shown_lower", "lower", digits=4)
    upper = datum(document, "result.epsilon.accounted.upper", "upper", digits=6)
    sure = f"{100 * result['confidence']:.4g} %"
    proved = "" if result["claimed"] else " (proved upper end)"
    return cards(
        [
            (Markup(f"ε ≥ {shown}"), f"measured, with confidence {sure}"),
            (
                Markup(f"ε ≤ {upper}"),
                f"{word}{proved}, at δ = {tables.number(result['epsilon']['delta'])}",
            ),
            (
                datum(document, "result.evidence.trials", digits=6),
                "fresh runs on each of two data sets",
            ),
            (str(result["attack"]), f"on the data sets '{result['data_sets']}'"),
        ]
    )


def _pictures(result: Mapping[str, Any], word: str) -> str:
    points = [result["epsilon"], *result["profile"]]
    said = "; ".join(
        f"δ {tables.number(p['delta'], 2)}: {short(p['shown_lower'], 'lower', 3)} of "
        f"{short(p['accounted']['upper'], 'upper', 3)}"
        for p in points
    )
    return pictures(
        figure(
            html_plots.profile_figure(points, word),
            f"ε shown, of the ε {word}: {said}",
            "One set of runs bounds ε from below at every δ at once. A lower end above the line "
            "is a violation.",
        ),
        figure(
            html_plots.attempts_figure(result["attempts"]),
            "attacks by the ε that they promised before the test",
            "On runs apart from those of the test; the best one was put to it.",
        ),
    )


def _entries(result: Mapping[str, Any], word: str) -> list[Entry]:
    sure = f"confidence {100 * result['confidence']:.4g} %"
    kinds = ("reported", "reported") if result["claimed"] else ("upper", "lower")
    source = "the claim" if result["claimed"] else "exact accountant, the run's ledger"
    return [
        Entry("ε shown, lower end", "result.epsilon.shown_lower", "nats", "measured", sure),
        Entry(f"ε {word}", "result.epsilon.accounted.upper", "nats", kinds[0], source),
        Entry(f"ε {word}", "result.epsilon.accounted.lower", "nats", kinds[1], source),
        Entry("shown over " + word, "result.power", "1", "measured", sure),
        Entry("confidence", "result.confidence", "probability", "chosen"),
        Entry("hits", "result.evidence.hits", "runs", "counted"),
        Entry("false alarms", "result.evidence.false_alarms", "runs", "counted"),
        Entry("fresh runs on each data set", "result.evidence.trials", "runs", "counted"),
        Entry("chance of a hit, lower end", "result.evidence.hit_chance_lower", "probability",
              "measured", "Clopper-Pearson"),
        Entry("chance of a false alarm, upper end", "result.evidence.false_alarm_chance_upper",
              "probability", "measured", "Clopper-Pearson"),
        Entry("most that so many runs can show", "result.evidence.largest_provable", "nats",
              "chosen", "the number of runs"),
    ]  # fmt: skip


def _profile(document: Mapping[str, Any], word: str) -> str:
    kinds = ("reported", "reported") if document["result"]["claimed"] else ("lower", "upper")
    fields = ["result.epsilon"]
    fields += [f"result.profile.{k}" for k in range(len(document["result"]["profile"]))]
    rows = [
        [
            datum(document, f"{field}.delta", digits=4),
            datum(document, f"{field}.shown_lower", "lower", digits=5),
            bracket(document, f"{field}.accounted", kinds),
        ]
        for field in fields
    ]
    claim = (
        "as reported" if document["result"]["claimed"] else "attained lower end, proved upper end"
    )
    header = ("δ", "ε at least (measured)", f"ε {word} ({claim})")
    return tables.html_table(header, rows)


def _attempts(document: Mapping[str, Any]) -> str:
    rows = [
        [
            each["attack"],
            each["data_sets"],
            datum(document, f"result.attempts.{place}.promise", "estimate", digits=5),
        ]
        for place, each in enumerate(document["result"]["attempts"])
    ]
    return tables.html_table(("attack", "data sets", "ε promised (estimate)"), rows)
