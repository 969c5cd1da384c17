"""Drift of coupled runs (``drift``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dp2theory.report.plots import MUTED, new_figure, styled
from dp2theory.report.resque_common import heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Method -> words, colour, marker.
METHODS = {
    "raw": ("raw subgradients", "#0072B2", "s"),
    "independent": ("independent noise", "#CC79A7", "D"),
    "shared": ("ReSQue, shared noise", "#D55E00", "o"),
}
#: Bounds beyond this are not drawn but named.
HIGHEST = 100.0


def draw_growth(axes: Axes, parts: Sequence[Mapping[str, Any]], *, title: str) -> Axes:
    """Drift against T, seed by seed, with sqrt(T)/2.

    Parameters
    ----------
    axes : Axes
    parts : sequence of mapping
        Tables of one part, one per seed.
    title : str
    """
    axes.set_title(title)
    steps = sorted({row["steps"] for part in parts for row in part["rows"]})
    for method, (words, colour, marker) in METHODS.items():
        for place, part in enumerate(parts):
            rows = [row for row in part["rows"] if row["method"] == method]
            if not rows:
                continue
            axes.errorbar(
                [row["steps"] for row in rows], [row["drift"] for row in rows],
                yerr=[row["standard_error"] for row in rows], color=colour, marker=marker,
                linewidth=1.3, label="_" if place else words,
            )  # fmt: skip
    axes.plot(
        steps, [each**0.5 / 2 for each in steps], color=MUTED, linestyle="--", linewidth=1.1,
        label="sqrt(T)/2",
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(steps, [str(each) for each in steps])
    axes.minorticks_off()
    axes.set_xlabel("T [steps]")
    axes.set_ylabel("drift / (2 η L), root mean square")
    axes.legend(loc="best", fontsize=8)
    return axes


def draw_moments(axes: Axes, parts: Sequence[Mapping[str, Any]]) -> Axes:
    """Moments of coupled drift, each below its two bounds.

    Parameters
    ----------
    axes : Axes
    parts : sequence of mapping
        All tables of one seed.
    """
    axes.set_title("Moments and their bounds")
    rows = [
        (f"{part['kind']}, r/ρ = {row['ratio']:g}, p = {row['order']:g}", row)
        for part in parts
        for row in part["rows"]
        if row["bound"] is not None and part["part"] not in ("hard", "independent")
    ]
    heights = list(range(len(rows), 0, -1))
    axes.set_yticks(heights, [words for words, _ in rows], fontsize=7.5)
    axes.errorbar(
        [row["drift"] for _, row in rows], heights,
        xerr=[row["standard_error"] for _, row in rows], linestyle="", marker="o", markersize=4,
        color="#D55E00", label="measured",
    )  # fmt: skip
    for name, words, marker, colour in (
        ("sharp_bound", "resque.drift.powers", "|", "#009E73"),
        ("bound", "resque.drift(.orders)", ">", MUTED),
    ):
        shown = [
            (row[name], height)
            for (_, row), height in zip(rows, heights, strict=True)
            if isinstance(row[name], float) and row[name] <= HIGHEST
        ]
        axes.plot(
            [x for x, _ in shown], [y for _, y in shown], linestyle="", marker=marker,
            markersize=8 if marker == "|" else 4, markeredgewidth=1.6, color=colour, label=words,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel(f"drift / (2 η L), p-th moment; bounds up to {HIGHEST:g}")
    axes.grid(axis="x")
    axes.legend(loc="upper right", fontsize=8)
    return axes


def drift_figure(result: Mapping[str, Any]) -> Figure:
    """``drift``."""
    parts = result["data"]["parts"]
    first = [part for part in parts if part["seed"] == parts[0]["seed"]]
    with styled():
        figure, (left, middle, right) = new_figure(3, size=(15.0, 5.6))
        draw_growth(left, [p for p in parts if p["part"] == "hard"], title="Hard losses")
        draw_growth(
            middle, [p for p in parts if p["part"] == "independent"],
            title="Absolute losses: noise shared or not",
        )  # fmt: skip
        draw_moments(right, first)
        heading(figure, result, width=190)
        return figure
