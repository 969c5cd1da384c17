"""The page of a plan for the geometry snapshot: noise of each release, and what the whole costs."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dp2theory.digits import short
from dp2theory.report import html_plots, tables
from dp2theory.report.html_numbers import Entry, datum, numbers_table
from dp2theory.report.html_page import About, cards, figure, notes, pictures, unit_of, write_page
from dp2theory.report.tables import Markup

#: Kinds of releases, in words.
RELEASES = {
    "histogram": "a histogram of norms, for the clip norm of snapshots",
    "snapshot": "a snapshot: mean squares of all records' gradients",
    "gradient": "a sum of clipped gradients",
}
#: Which records a release is of, in words.
RECORDS = {"all": "all records", "batch": "a batch"}


def write_snapshot_report(
    path: str | Path, document: Mapping[str, Any], about: About | None = None
) -> None:
    """Write the page of a plan for snapshots; the file appears only when it is complete.

    Parameters
    ----------
    path : str or Path
    document : mapping
        The object that ``dp2theory plan --method snapshot --json`` prints.
    about : About, optional
    """
    inputs = document["inputs"]
    name = inputs["problem"]["value"] if "problem" in inputs else "sizes only"
    write_page(
        path,
        document,
        title=f"Snapshot plan: {name}",
        subtitle="Noise of each release of the geometry snapshot, within a privacy budget",
        sections=snapshot_sections(document),
        about=about,
    )


def snapshot_sections(document: Mapping[str, Any]) -> list[str]:
    """The parts of the page, its inputs apart."""
    plan, inputs = document["result"], document["inputs"]
    upper = datum(document, "result.epsilon.upper", "upper", digits=6)
    settings = plan["settings"]
    entries: list[tuple[str, str]] = [
        (
            datum(document, "result.noise_multiplier", "chosen", digits=6),
            "noise multiplier σ of gradients [clip norms]",
        ),
        (
            Markup(f"ε ≤ {upper}"),
            f"proved upper end at δ = {tables.number(inputs['delta']['value'], 3)}, all releases, "
            f"for {unit_of(inputs)}",
        ),
        (
            datum(document, "result.settings.refreshes"),
            "snapshot" if settings["refreshes"] == 1 else "snapshots",
        ),
        (
            datum(document, "result.settings.snapshot_noise_multiplier", "chosen", digits=6),
            "noise multiplier of each snapshot [bounds of a record]",
        ),
    ]
    noises = [(each["what"], each["noise_multiplier"]) for each in plan["releases"]]
    said = ", ".join(f"{what} {short(value, 'chosen', 4)}" for what, value in noises)
    rows = [
        [
            RELEASES.get(each["what"], each["what"]),
            datum(document, f"result.releases.{place}.count"),
            RECORDS.get(each["records"], each["records"]),
            datum(document, f"result.releases.{place}.noise_multiplier", "chosen"),
        ]
        for place, each in enumerate(plan["releases"])
    ]
    header = ("release", "times (counted)", "on", "noise multiplier (chosen)")
    return [
        cards(entries),
        pictures(
            figure(
                html_plots.noises_figure(noises, plan["noise_multiplier_without"]),
                f"noise multipliers: {said}; of gradients without snapshots "
                f"{short(plan['noise_multiplier_without'], 'chosen', 4)}",
                "Noise of each kind of release, in units of what one record can add to it. The "
                "dashed line: what gradients would have without the other releases.",
            )
        ),
        "<h2>Numbers</h2>",
        numbers_table(document, _entries(plan, inputs)),
        "<h2>Releases</h2>",
        tables.html_table(header, rows),
        "<h2>Run it</h2>",
        f"<pre class='command'>{html.escape(plan['train_command'])}</pre>",
        *notes("How to read this", plan["notes"]),
    ]


def _entries(plan: Mapping[str, Any], inputs: Mapping[str, Mapping[str, Any]]) -> list[Entry]:
    whole = f"nats, all releases, {unit_of(inputs)}"
    rule = "rule of thumb, docs/planning.md"
    entries = [
        Entry("noise multiplier σ of gradients", "result.noise_multiplier", "clip norms", "chosen",
              "the least found whose proved ε keeps the budget"),
        Entry("the same without snapshots", "result.noise_multiplier_without", "clip norms",
              "chosen", "the least found, for DP-SGD"),
        Entry("ε of all releases", "result.epsilon.upper", whole, "upper", "exact accountant"),
        Entry("ε of all releases", "result.epsilon.lower", whole, "lower", "exact accountant"),
        Entry("steps", "result.steps", "steps", "counted"),
        Entry("snapshots", "result.settings.refreshes", "snapshots", "chosen", rule),
        Entry("a snapshot every", "result.settings.period", "steps", "chosen", rule),
        Entry("noise multiplier of a snapshot", "result.settings.snapshot_noise_multiplier",
              "bounds of a record", "chosen", rule),
        Entry("noise multiplier of the histogram", "result.settings.histogram_noise_multiplier",
              "records", "chosen", rule),
        Entry("clip norm C0 of squares", "result.settings.statistic_clip_norm",
              "norm of squared gradients", "given", "public"),
        Entry("share of the budget that snapshots take", "result.snapshot_share", "1", "estimate",
              "Gaussian releases over all records"),
        Entry("share of the budget that the histogram takes", "result.histogram_share", "1",
              "estimate", "Gaussian releases over all records"),
        Entry("largest signal of a snapshot over its noise", "result.reach", "1", "estimate",
              "squares spread evenly over all coordinates"),
    ]  # fmt: skip
    if "group" in plan:
        group = f"nats, {plan['group']['size']} records of one person"
        entries += [
            Entry("ε for a group", f"result.group.epsilon.{kind}", group, kind)
            for kind in ("upper", "lower")
        ]
    return entries
