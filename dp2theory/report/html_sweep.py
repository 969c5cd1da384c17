"""The page of a sweep: a table and two pictures for each setting."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from dp2theory.report import html_plots, sweep_tables, tables
from dp2theory.report.html_numbers import bracket, datum
from dp2theory.report.html_page import About, cards, figure, notes, pictures, verdict, write_page
from dp2theory.report.tables import Markup

#: Settings with pictures, and runs in them: a page of hundreds must still open at once.
MOST_DRAWN, MOST_RUNS = 6, 1600
#: The header of the page's table, with the kind of each number.
HEADER = (
    "method",
    "settings",
    "noise multiplier [clip norms] (chosen)",
    "ε of one run [nats] (attained lower end, proved upper end)",
    "runs (counted)",
    "mean train loss (measured)",
    "over the first (measured)",
    "its interval (estimate, 95 %)",
    "diverged (counted)",
)


def write_sweep_report(
    path: str | Path, document: Mapping[str, Any], about: About | None = None
) -> None:
    """Write the page of a sweep; the file appears only when it is complete.

    Parameters
    ----------
    path : str or Path
    document : mapping
        The object that ``dp2theory sweep --json`` prints.
    about : About, optional
    """
    write_page(
        path,
        document,
        title=f"Sweep: {document['inputs']['spec']['value']}",
        subtitle="Runs of methods over settings and seeds, each within its budget",
        sections=sweep_sections(document),
        about=about,
    )


def sweep_sections(document: Mapping[str, Any]) -> list[str]:
    """The parts of the page, its inputs apart."""
    result = document["result"]
    parts = []
    if document["status"] == "interrupted":
        parts.append(verdict("Interrupted", "Runs are missing; the page shows those made", "none"))
    tuned = result["tuning_seeds"]
    parts.append(
        cards(
            [
                (datum(document, "result.runs", digits=6), "runs"),
                (str(len(result["seeds"])), f"seeds: {_listed(result['seeds'])}"),
                (str(len(result["groups"])), "settings"),
                (
                    "no" if tuned is None else f"{len(tuned)} seeds",
                    "tuning" if tuned is None else f"tuned on other seeds: {_listed(tuned)}",
                ),
            ]
        )
    )
    drawn = _drawn(result["groups"])
    for place, group in enumerate(result["groups"]):
        parts += _group(document, place, group, drawn=place < drawn)
    left_out = len(result["groups"]) - drawn
    if left_out > 0:
        parts.append(
            f"<p>Pictures are those of the first {drawn} settings; {left_out} more are in the "
            "tables.</p>"
        )
    if not result["groups"]:
        parts.append("<p>There are no settings to show.</p>")
    return parts + notes("What the figures cover", result["notes"])


def _drawn(groups: Sequence[Mapping[str, Any]]) -> int:
    """How many settings have pictures: the first, and more while they are few and small."""
    runs = list(accumulate(sum(len(cell["runs"]) for cell in one["cells"]) for one in groups))
    few = sum(1 for total in runs[:MOST_DRAWN] if total <= MOST_RUNS)
    return max(few, min(1, len(groups)))


def _listed(seeds: Sequence[int]) -> str:
    most = 8
    return ", ".join(map(str, seeds[:most])) + (", …" if len(seeds) > most else "")


def _group(
    document: Mapping[str, Any], place: int, group: Mapping[str, Any], *, drawn: bool
) -> list[str]:
    cells = group["cells"]
    shown = sweep_tables.settings_shown(cells)
    labels = [
        cell["method"] + (f", {settings}" if settings else "")
        for cell, settings in zip(cells, shown, strict=True)
    ]
    rows = [
        _row(document, f"result.groups.{place}.cells.{number}", cell, settings,
             first=number == group["baseline"])
        for number, (cell, settings) in enumerate(zip(cells, shown, strict=True))
    ]  # fmt: skip
    return [
        f"<h2>{html.escape(group['problem'])}</h2>",
        f"<p>{html.escape(sweep_tables.title(group))}.</p>",
        tables.html_table(HEADER, rows),
        *(_pictures(cells, labels) if drawn else ()),
        "<details><summary>all settings</summary>",
        tables.html_table(
            ("method", "settings"),
            [
                [
                    label,
                    ", ".join(
                        f"{name} {tables.number(value, 6)}"
                        for name, value in cell["settings"].items()
                    ),
                ]
                for label, cell in zip(labels, cells, strict=True)
            ],
        ),
        "</details>",
    ]


def _pictures(cells: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> list[str]:
    most = html_plots.MOST_CELLS
    means = "; ".join(
        f"{label} {tables.number(cell['mean_train_loss'], 4)}"
        for cell, label in zip(cells[:most], labels, strict=False)
    )
    rows = f" The first {most} rows of {len(cells)}." if len(cells) > most else ""
    shown = html_plots.runs_shown(cells)
    seeds = "" if shown is None else f" The first {shown} of each row."
    return [
        pictures(
            figure(
                html_plots.cells_figure(cells[:most], labels[:most]),
                f"mean final train losses: {means}",
                "Points are seeds, bars their mean. Losses are computed on the records without "
                "noise and are not covered by ε." + rows,
            ),
            figure(
                html_plots.curves_figure(cells[:most], labels[:most]),
                "train loss against steps, a line for each run",
                "A line for each run, a colour for each row of the table." + rows + seeds,
            ),
        )
    ]


def _row(
    document: Mapping[str, Any], field: str, cell: Mapping[str, Any], settings: str, *, first: bool
) -> list[str]:
    ratio: Markup | str = datum(document, f"{field}.paired.ratio.value", "measured", digits=4)
    kinds = ("estimate", "estimate")
    return [
        cell["method"],
        settings or "–",
        datum(document, f"{field}.noise_multiplier", "chosen", digits=5),
        bracket(document, f"{field}.epsilon"),
        str(len(cell["runs"])),
        datum(document, f"{field}.mean_train_loss", "measured", digits=6),
        "1" if first else ratio,
        bracket(document, f"{field}.paired.ratio.interval", kinds),
        datum(document, f"{field}.diverged"),
    ]
