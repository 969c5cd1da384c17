"""The page of training runs: losses, what one run costs, and what theorems say of the runs."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dp2theory.digits import short
from dp2theory.report import html_plots, plots, tables
from dp2theory.report.html_numbers import Entry, bracket, datum, kind_mark, numbers_table
from dp2theory.report.html_page import (
    About,
    capital,
    cards,
    figure,
    notes,
    pictures,
    theorem_link,
    unit_of,
    verdict,
    write_page,
)
from dp2theory.report.tables import Markup

#: The header of the page's table of methods, with the kind of each number.
RUN_HEADER = ("method", "seeds", "mean final train loss (measured)", "other means (measured)")
#: Of the table of settings.
SETTING_HEADER = (
    "method",
    "σ [clip norms]",
    "ε of one run [nats] (proved upper end)",
    "releases (counted)",
    "settings",
)
#: Of the table of what the theorems say of the runs.
CERTIFICATE_HEADER = (
    "theorem",
    "gap of",
    "bound [loss]",
    "kind",
    "measured gap [loss], with its interval",
    "runs above their own side",
    "holds",
)


def write_runs_report(
    path: str | Path, document: Mapping[str, Any], about: About | None = None
) -> None:
    """Write the page of training runs; the file appears only when it is complete.

    Parameters
    ----------
    path : str or Path
    document : mapping
        The object that ``dp2theory train --json`` prints.
    about : About, optional
    """
    name = document["inputs"]["problem"]["value"]
    write_page(
        path,
        document,
        title=f"Runs on {name}",
        subtitle="A reference optimizer, with the ledger it wrote",
        sections=runs_sections(document),
        about=about,
    )


def runs_sections(document: Mapping[str, Any]) -> list[str]:
    """The parts of a page of runs, its inputs apart.

    Parameters
    ----------
    document : mapping
        The object that ``dp2theory train --json`` prints.
    """
    result = document["result"]
    arms = [arm for arm in (result["method"], result["compare"]) if arm is not None]
    parts = [*_violation(result), _cards(document)]
    if any(arm["mean_curve"]["losses"] for arm in arms):
        parts.append(_pictures(arms))
    parts += ["<h2>Numbers</h2>", numbers_table(document, _entries(document))]
    parts.append("<h2>Methods</h2>")
    parts.append(tables.html_table(RUN_HEADER, tables.run_rows(arms, plots.METHOD_NAMES)))
    rows = tables.setting_rows(arms, plots.METHOD_NAMES)
    parts.append("<h2>What was run</h2>")
    parts.append(tables.html_table(SETTING_HEADER, rows))
    parts += _certificate(document)
    parts += notes("What the figures cover", result.get("notes", ()))
    return parts


def _pictures(arms: Sequence[Mapping[str, Any]]) -> str:
    said = "; ".join(f"{_name(arm)} {short(arm['mean_train_loss'])}" for arm in arms)
    with plots.styled():
        left, (curves,) = plots.new_figure(size=html_plots.SIZE)
        plots.draw_runs(curves, arms)
        right, (last,) = plots.new_figure(size=html_plots.SIZE)
        plots.draw_final_losses(last, arms)
    return pictures(
        figure(
            left,
            "train loss against steps, the mean of the seeds for each method",
            "Mean train loss; faint lines are single seeds. Losses are computed on the records "
            "without noise and are not covered by ε.",
        ),
        figure(
            right,
            f"mean final train loss: {said}",
            "Final losses: grey lines join the same seed, bars are means.",
        ),
    )


def _name(arm: Mapping[str, Any]) -> str:
    return str(arm.get("label") or plots.METHOD_NAMES.get(arm["method"], arm["method"]))


def _cards(document: Mapping[str, Any]) -> str:
    result, inputs = document["result"], document["inputs"]

    def upper(field: str) -> Markup:
        return Markup(f"ε ≤ {datum(document, f'result.{field}.upper', 'upper', digits=6)}")

    entries: list[tuple[str, str]] = [
        (
            datum(document, "result.noise_multiplier", "chosen", digits=6),
            "noise multiplier σ [clip norms]",
        ),
        (
            upper("epsilon"),
            f"proved upper end at δ = {tables.number(inputs['delta']['value'], 3)}, "
            f"{result['releases']:,} releases in all, for {unit_of(inputs)}",
        ),
    ]
    if "group" in result:
        size = result["group"]["size"]
        entries.append(
            (upper("group.epsilon"), f"of the same run, for {size} records of one person")
        )
    paired = result["paired"]
    if paired is None:
        entries.append(
            (
                datum(document, "result.method.mean_train_loss", "measured", digits=6),
                "mean final train loss (measured)",
            )
        )
        return cards(entries)
    compared = result["compare"]["method"]
    ratio = paired["ratio"]
    pairs = f"{paired['pairs']} paired seed{'s' if paired['pairs'] > 1 else ''}"
    against = plots.METHOD_NAMES.get(compared, compared)
    if isinstance(ratio["value"], int | float):
        entries.append(
            (
                f"{100 * (ratio['value'] - 1):+.1f} %",
                f"mean final train loss against {against}, {pairs} (measured)",
            )
        )
    if ratio["interval"] is not None:
        entries.append(
            (
                bracket(document, "result.paired.ratio.interval", ("estimate", "estimate")),
                f"{paired['confidence']:.0%} interval of the ratio of means (estimate)",
            )
        )
    return cards(entries)


def _entries(document: Mapping[str, Any]) -> list[Entry]:
    result, inputs = document["result"], document["inputs"]
    given = "epsilon" not in inputs
    ledger = "exact accountant, the ledger of one run"
    entries = [
        Entry("noise multiplier σ", "result.noise_multiplier", "clip norms",
              "given" if given else "chosen",
              "" if given else "the least found whose proved ε keeps the budget"),
    ]  # fmt: skip
    labelled = [("ε of one run", "epsilon", ledger)]
    if "group" in result:
        words = f"ε of one run, for {result['group']['size']} records"
        labelled.append((words, "group.epsilon", f"{ledger}, for groups"))
    if result["compare"] is not None:
        words = f"ε of one run of {_name(result['compare'])}"
        labelled.append((words, "compare.epsilon", ledger))
    if result["discarded_pilot"] is not None:
        words = "ε that the discarded pilot spent, part of the whole"
        labelled.append((words, "discarded_pilot.epsilon_spent", "exact accountant, its ledger"))
    entries += [
        Entry(words, f"result.{field}.{kind}", "nats", kind, origin)
        for words, field, origin in labelled
        for kind in ("upper", "lower")
    ]
    entries += [
        Entry("releases of one run", "result.releases", "releases", "counted", "the ledger"),
        Entry("steps of one run", "result.steps", "steps", "counted"),
    ]
    for role in ("method", "compare"):
        if result[role] is None:
            continue
        count = sum(run["completed"] for run in result[role]["runs"])
        entries.append(
            Entry(f"mean final train loss of {_name(result[role])}",
                  f"result.{role}.mean_train_loss", "loss", "measured",
                  f"{count} run{'s' if count != 1 else ''}, not covered by ε")
        )  # fmt: skip
    paired = result["paired"]
    if paired is not None:
        over = f"Student, {paired['confidence']:.0%}, over paired seeds"
        entries += [
            Entry("ratio of the means", "result.paired.ratio.value", "1", "measured"),
            *(Entry(f"ratio of the means, {end} end", f"result.paired.ratio.interval.{end}", "1",
                    "estimate", over) for end in ("lower", "upper")),
            Entry("mean difference", "result.paired.difference.mean", "loss", "measured"),
            *(Entry(f"mean difference, {end} end", f"result.paired.difference.interval.{end}",
                    "loss", "estimate", over) for end in ("lower", "upper")),
        ]  # fmt: skip
    return entries


def _violation(result: Mapping[str, Any]) -> list[str]:
    """The box on top of a page whose runs are above what a theorem allows."""
    found = result.get("certificate")
    if found is None or not found["violated"]:
        return []
    worst = next(each for each in found["bounds"] if not each["holds"])
    text = (
        f"{worst['theorem']}: the bound on the gap of the {worst['gap_of']} is "
        f"{short(worst['bound'], worst['kind'])}, and measured is {short(worst['gap'])}"
    )
    return [verdict("Violated: a measured gap is above its bound", text, "broken")]


def _certificate(document: Mapping[str, Any]) -> list[str]:
    found = document["result"].get("certificate")
    if found is None:
        return []
    box = found["box"]
    trivial = datum(document, "result.certificate.trivial", "upper", digits=6)
    optimal = datum(document, "result.certificate.optimal_value", "measured", digits=6)
    said = html.escape(
        f"Iterates are kept in the box [{box['low']:g}, {box['high']:g}]^{box['dimension']}. Gaps "
        "are train losses above the least one there, "
    )
    vacuous = (
        "<p><b>The bounds are vacuous</b>: they say no more than that the iterates are in the "
        "box.</p>"
        if found["vacuous"]
        else ""
    )
    kinds = ("estimate", "estimate")
    rows = [
        [
            theorem_link(each["theorem"]),
            each["gap_of"],
            Markup(
                datum(document, f"{field}.bound", each["kind"], digits=6)
                + _interval(document, f"{field}.bound_interval", kinds)
            ),
            kind_mark(each["kind"]),
            Markup(
                datum(document, f"{field}.gap", "measured", digits=6)
                + _interval(document, f"{field}.gap_interval", kinds)
            ),
            datum(document, f"{field}.runs_above"),
            Markup(f"<span class='kind {'upper' if each['holds'] else 'bad'}'>"
                   f"{'yes' if each['holds'] else 'no: violated'}</span>"),
        ]
        for each, field in _with_fields(found["bounds"])
    ]  # fmt: skip
    table = tables.html_table(CERTIFICATE_HEADER, rows)
    return [
        "<h2>What theorems say of these runs</h2>",
        f"<p><b>{html.escape(capital(found['statement']))}.</b> {said}{optimal} (measured); "
        f"no gap in the box exceeds {trivial} (proved upper end). Intervals are Student's, at "
        f"{found['confidence']:.0%} over the runs.</p>",
        vacuous,
        f"<div class='words bounds'>{table}</div>",
        pictures(
            figure(
                html_plots.certificate_figure(found["bounds"]),
                "bounds and measured gaps: "
                + "; ".join(
                    f"{each['theorem']}, {each['gap_of']}: {short(each['bound'], each['kind'], 4)} "
                    f"over {short(each['gap'], '', 4)}"
                    for each in found["bounds"]
                ),
                "Triangles: what theorems allow; points: what was measured, with intervals over "
                "the runs.",
            )
        ),
        *notes(
            "Theorems that say nothing here",
            [f"{name}: {why}" for name, why in found["not_applicable"].items()],
        ),
    ]


def _with_fields(bounds: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], str]]:
    return [(each, f"result.certificate.bounds.{place}") for place, each in enumerate(bounds)]


def _interval(document: Mapping[str, Any], field: str, kinds: tuple[str, str]) -> str:
    shown = bracket(document, field, kinds)
    return "" if shown == "–" else f" {shown}"
