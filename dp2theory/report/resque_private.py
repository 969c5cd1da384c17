"""Exponents, four accountants and private runs (``resque-table2``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dp2theory.report.plots import MUTED, new_figure, styled
from dp2theory.report.resque_common import heading
from dp2theory.report.resque_rates import draw_exponents

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Accountant -> words, colour, marker.
ACCOUNTANTS = {
    "exact": ("exact", "#0072B2", "o"),
    "renyi": ("Rényi", "#009E73", "D"),
    "tcdp": ("truncated CDP", "#E69F00", "x"),
    "advanced": ("advanced composition", "#D55E00", "s"),
}
#: Method -> words, colour, marker.
METHODS = {
    "noisy-sgd": ("noisy SGD", "#0072B2", "s"),
    "phased-localization": ("phased localisation, smoothed loss", "#009E73", "D"),
    "phased-localization-raw": ("phased localisation, raw loss", "#56B4E9", "v"),
    "resque": ("ReSQue", "#D55E00", "o"),
}


def draw_accountants(axes: Axes, data: Mapping[str, Any]) -> Axes:
    """Upper ends of ε in every setting, and the lower end that all share.

    Parameters
    ----------
    axes : Axes
    data : mapping
        The ``data`` of ``resque-table2``.
    """
    rows = data["accounted"]
    heights = list(range(len(rows), 0, -1))
    axes.set_title(f"ε of all oracle calls, δ = {rows[0]['target_delta']:g}")
    for name, (words, colour, marker) in ACCOUNTANTS.items():
        shown = [
            (row["epsilon"][name]["upper"], height)
            for row, height in zip(rows, heights, strict=True)
            if not isinstance(row["epsilon"][name]["upper"], str)
        ]
        axes.plot(
            [x for x, _ in shown], [y for _, y in shown], linestyle="", marker=marker,
            color=colour, label=words,
        )  # fmt: skip
    axes.plot(
        [row["epsilon"]["exact"]["lower"] for row in rows], heights, linestyle="", marker="|",
        markersize=11, color=MUTED, label="lower end",
    )  # fmt: skip
    labels = [
        f"n = {row['dataset_size']:,}, d = {row['dimension']:,}\n{row['calls']} calls of "
        f"{row['draws']} draws\nnoise/sensitivity {row['noise_over_sensitivity']:g}"
        for row in rows
    ]
    axes.set_yticks(heights, labels, fontsize=7.5)
    axes.set_ylim(0.5, len(rows) + 1.6)  # room for the legend
    axes.set_xscale("log")
    axes.set_xlabel("ε (upper end)")
    axes.grid(axis="x")
    axes.legend(loc="upper left", fontsize=8, ncols=2)
    return axes


def draw_excess(axes: Axes, data: Mapping[str, Any]) -> Axes:
    """Excess over n of every method, with standard errors, beside that of the start."""
    study = data["study"]
    axes.set_title(f"Our runs at ε = {study['target_epsilon']:g}: excess over n")
    starts = study["starts"]
    axes.plot(
        [row["dataset_size"] for row in starts], [row["excess"] for row in starts], color=MUTED,
        linestyle="--", label="the start (costs nothing)",
    )  # fmt: skip
    for method, (words, colour, marker) in METHODS.items():
        rows = [row for row in study["rows"] if row["method"] == method]
        if rows:
            axes.errorbar(
                [row["dataset_size"] for row in rows], [row["excess"] for row in rows],
                yerr=[row["standard_error"] for row in rows], color=colour, marker=marker,
                capsize=3, linewidth=1.2, label=words,
            )  # fmt: skip
    sizes = sorted({row["dataset_size"] for row in starts})
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("n")
    axes.set_ylabel("excess of the loss")
    axes.legend(loc="best", fontsize=8)
    return axes


def private_figure(result: Mapping[str, Any]) -> Figure:
    """``resque-table2``."""
    data = result["data"]
    with styled():
        figure, (left, middle, right) = new_figure(3, size=(15.5, 6.0))
        draw_exponents(left, data)
        draw_accountants(middle, data)
        draw_excess(right, data)
        heading(figure, result, width=195)
        return figure
