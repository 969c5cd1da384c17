"""Pictures of an audit: answers over the truth, and the verdict on each law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dp2theory.report.audit_tables import Finding, asked, finite, ratio, relation, value
from dp2theory.report.plots import MUTED, plain_text, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Findings in one picture; the page's tables hold them all.
MOST = 24
#: Where the legends hang, in heights of the axes.
BELOW = -0.13
#: Group of findings -> colour, marker, words of the legend.
MARKS = {
    "understatements": ("#D55E00", "o", "below the truth"),
    "violations": ("#CC79A7", "D", "other violation"),
    "suspects": ("#E69F00", "s", "suspect"),
    "looseness": ("#0072B2", "^", "loose"),
}
#: Colours of verdicts.
VERDICTS = {
    "holds": "#009E73",
    "violated": "#D55E00",
    "suspect": "#E69F00",
    "refused": "#b6c0c9",
    "not applicable": "#e9edf1",
}


def draw_answers(axes: Axes, result: Mapping[str, Any], *, title: str | None = None) -> Axes:
    """Each finding's answer over the end of the truth that it misses, on a logarithmic scale.

    An answer without such a ratio (NaN, negative, zero, infinite, or where no truth is known)
    stands at the edge, in words.

    Parameters
    ----------
    axes : Axes
    result : mapping
        The ``result`` of ``dp2theory audit-accountant``.
    title : str, optional
    """
    from matplotlib.ticker import NullFormatter

    axes.set_title(title or "Answered / truth, by finding")
    axes.set_xlabel("answered / truth (1: exact; below 1: less privacy than promised)")
    shown = [(group, finding) for group in MARKS for finding in result[group]]
    if not shown:
        axes.text(0.5, 0.5, "nothing was found", transform=axes.transAxes, ha="center")
        axes.set_yticks([])
        axes.set_xticks([])
        return axes
    left_out = len(shown) - MOST
    shown = shown[:MOST]
    ratios = [found for _, finding in shown if (found := _positive(finding)) is not None]
    low, high = min([*ratios, 0.5]) / 1.6, max([*ratios, 2.0]) * 1.6
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.axvline(1.0, color=MUTED, linewidth=1.0)
    for row, (group, finding) in enumerate(shown):
        colour, marker, _ = MARKS[group]
        found = _positive(finding)
        if found is None:
            axes.annotate(
                f"{asked(finding)} = {plain_text(value(finding['value']))}", (low, row),
                xytext=(6, 0), textcoords="offset points", va="center", color=colour, fontsize=8,
            )  # fmt: skip
            continue
        band = _band(finding)
        if band is not None:
            axes.plot(band, [row, row], color=MUTED, alpha=0.35, linewidth=5, zorder=1)
        axes.plot(found, row, marker=marker, color=colour, linestyle="none", zorder=3)
    axes.set_yticks(range(len(shown)), [_label(finding) for _, finding in shown], fontsize=7)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.grid(axis="y", color=MUTED, alpha=0.15)
    for group in dict.fromkeys(group for group, _ in shown):
        colour, marker, words = MARKS[group]
        axes.plot([], [], marker=marker, color=colour, linestyle="none", label=words)
    axes.xaxis.set_major_formatter(_short)
    axes.xaxis.set_minor_formatter(_short if high / low < 40 else NullFormatter())
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, BELOW), ncols=4)
    if left_out > 0:
        axes.set_xlabel(axes.get_xlabel() + f"\n{left_out} more findings are in the tables")
    return axes


def draw_verdicts(axes: Axes, result: Mapping[str, Any], *, title: str | None = None) -> Axes:
    """A cell for each law and relation, coloured by its verdict.

    Parameters
    ----------
    axes : Axes
    result : mapping
        The ``result`` of ``dp2theory audit-accountant``.
    title : str, optional
    """
    from matplotlib.patches import Patch, Rectangle

    results = result["results"]
    laws = list(dict.fromkeys(f"{entry['law']} {entry['title']}" for entry in results))
    relations = list(dict.fromkeys(relation(entry["relation"]) for entry in results))
    axes.set_title(title or "Verdicts")
    for entry in results:
        column = relations.index(relation(entry["relation"]))
        row = laws.index(f"{entry['law']} {entry['title']}")
        axes.add_patch(
            Rectangle((column - 0.46, row - 0.42), 0.92, 0.84, color=VERDICTS[entry["verdict"]])
        )
    axes.set_xlim(-0.5, len(relations) - 0.5)
    axes.set_ylim(len(laws) - 0.4, -0.6)
    axes.set_xticks(range(len(relations)), relations, fontsize=8)
    axes.set_yticks(range(len(laws)), [plain_text(law) for law in laws], fontsize=8)
    axes.grid(visible=False)
    met = dict.fromkeys(entry["verdict"] for entry in results)
    handles = [
        Patch(color=VERDICTS[verdict], label=verdict) for verdict in VERDICTS if verdict in met
    ]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, BELOW), ncols=3)
    return axes


def audit_figure(result: Mapping[str, Any]) -> Figure:
    """Verdicts on the left, answers over the truth on the right."""
    from matplotlib.figure import Figure

    findings = sum(len(result[group]) for group in MARKS)
    height = max(4.0, 0.30 * max(min(findings, MOST), len({e["law"] for e in result["results"]})))
    with styled():
        figure = Figure(figsize=(13.5, height + 1.2))
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.7))
        draw_verdicts(left, result)
        draw_answers(right, result)
        return figure


def _positive(finding: Finding) -> float | None:
    found = ratio(finding)
    return found if found is not None and found > 0 else None


def _band(finding: Finding) -> tuple[float, float] | None:
    """Both ends of the truth over the end that counts."""
    lower, upper = finite(finding["oracle"]["lower"]), finite(finding["oracle"]["upper"])
    end = upper if finding["kind"] == "looseness" else lower
    if lower is None or upper is None or not end or lower == upper:
        return None
    return max(lower / end, 1e-300), upper / end


def _label(finding: Finding) -> str:
    text = f"{finding['law']} {finding['case_text']}"
    return plain_text(text if len(text) <= 64 else text[:63] + "…")


def _short(number: float, _position: float) -> str:
    return f"{number:.3g}"
