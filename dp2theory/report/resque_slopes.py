"""Steps of ball acceleration against R/r (``ball-slope``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dp2theory.report.plots import MUTED, new_figure, styled
from dp2theory.report.resque_common import heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Count -> words, colour, marker.
COUNTS = {
    "accepted": ("accepted steps", "#D55E00", "o"),
    "leaping_accepted": ("search from the last multiplier", "#E69F00", "v"),
    "bisection_free": ("without bisection", "#009E73", "D"),
    "naive": ("the oracle alone", "#0072B2", "s"),
}


def draw_steps(axes: Axes, data: Mapping[str, Any], function: str) -> Axes:
    """Counts of one function over R/r with their slopes, and the proved bound.

    Parameters
    ----------
    axes : Axes
    data : mapping
        The ``data`` of ``ball-slope``.
    function : str
    """
    rows = [row for row in data["rows"] if row["function"] == function]
    axes.set_title(function)
    for name, (words, colour, marker) in COUNTS.items():
        known = [(row["ratio"], row[name]) for row in rows if row[name] is not None]
        slope = data["slopes"][name].get(function)
        label = words if slope is None else f"{words}: slope {slope:.2f}"
        axes.plot(
            [ratio for ratio, _ in known], [count for _, count in known], color=colour,
            marker=marker, linewidth=1.3, label=label,
        )  # fmt: skip
    ratios = [row["ratio"] for row in rows]
    axes.plot(
        ratios, [row["bound"] for row in rows], color=MUTED, linestyle="--", linewidth=1.2,
        label="bound on accepted steps",
    )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(ratios, [f"{ratio:g}" for ratio in ratios])
    axes.set_xlabel("R/r")
    axes.legend(loc="upper left", fontsize=8)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * 6)  # room for the legend
    return axes


def slopes_figure(result: Mapping[str, Any]) -> Figure:
    """``ball-slope``."""
    data = result["data"]
    functions = list(dict.fromkeys(row["function"] for row in data["rows"]))
    with styled():
        figure, axes = new_figure(len(functions), size=(3.9 * max(2, len(functions)), 5.6))
        for one, function in zip(axes, functions, strict=True):
            draw_steps(one, data, function)
        axes[0].set_ylabel("steps until f - f* is small")
        heading(figure, result, width=50 * max(2, len(functions)))
        return figure
