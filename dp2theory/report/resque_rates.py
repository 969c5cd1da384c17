"""The rates of both tables as curves (``resque-fig1``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dp2theory.report.plots import MUTED, new_figure, styled
from dp2theory.report.resque_common import colour_of, heading, log_log, named, shade_window

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Curves that lie on each other are drawn in different widths and strokes.
STROKES = {"BJL+19": (4.0, "-", 0.45), "Theorem 2": (1.6, ":", 1.0)}
#: Rows whose exponents of n are all above it are left out of the picture.
HIGHEST_EXPONENT = 2.1


def draw_parallel(axes: Axes, data: Mapping[str, Any], column: str, *, only: str = "") -> Axes:
    """One column of Table 1 against 1/ε, with the window shaded and crossings marked.

    Parameters
    ----------
    axes : Axes
    data : mapping
        The ``data`` of ``resque-fig1``.
    column : str
        "query depth", "computational depth" or "total queries".
    only : str
        Crossings whose name begins so are marked.
    """
    axes.set_title(f"{column.capitalize()}, d = {data['dimension']:,}")
    xs = [1 / accuracy for accuracy in data["accuracies"]]
    shade_window(axes, data["window"], "1/d ≤ ε ≤ d^(-1/4)")
    for row in data["parallel"]:
        width, stroke, opacity = STROKES.get(row["method"], (1.8, "-", 1.0))
        axes.plot(
            xs, row["values"][column], color=colour_of(row["method"]), linewidth=width,
            linestyle=stroke, alpha=opacity, label=named(row, column),
        )  # fmt: skip
    log_log(axes, "1/ε (accuracy)")
    for one in data["crossings"]:
        if one["what"].startswith(only) and one["at"] is not None and only:
            axes.axvline(1 / one["at"], color=MUTED, linewidth=0.9, linestyle="--")
    axes.legend(loc="upper left", fontsize=8)
    return axes


def draw_exponents(axes: Axes, data: Mapping[str, Any]) -> Axes:
    """Exponents of n of Table 2 against theta, d = n^theta, for losses that need not be smooth."""
    axes.set_title("Private: queries are n to this power")
    thetas = data["thetas"]
    for row in data["private"]:
        for column, values in row["values"].items():
            if column == "smooth losses" or min(values) > HIGHEST_EXPONENT:
                continue
            label = named(row, column)
            if column == "value queries":
                label += " (function values)"
            axes.plot(
                thetas, values, color=colour_of(row["method"]), label=label,
                linewidth=2.6 if row["method"] == "Theorem 4" else 1.6,
            )  # fmt: skip
    for one in data["meetings"]:
        if one["at"] is not None:
            axes.axvline(one["at"], color=MUTED, linewidth=0.9, linestyle="--")
    axes.set_xlabel("theta (d = n^theta)")
    axes.set_ylabel("exponent of n")
    axes.set_ylim(0.95, HIGHEST_EXPONENT)
    axes.legend(loc="upper left", fontsize=8, bbox_to_anchor=(0.0, 0.91))
    return axes


def rates_figure(result: Mapping[str, Any]) -> Figure:
    """``resque-fig1``."""
    with styled():
        figure, (depth, total, private) = new_figure(3, size=(15.0, 5.8))
        data = result["data"]
        draw_parallel(depth, data, "query depth", only="query depths")
        draw_parallel(total, data, "total queries", only="total queries")
        draw_exponents(private, data)
        heading(figure, result, width=190)
        return figure
