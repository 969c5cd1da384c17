"""Depths and queries of parallel runs, above the table of rates (``resque-table1``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dp2theory.report.plots import new_figure, styled
from dp2theory.report.resque_common import colour_of, heading
from dp2theory.report.resque_tables import rate_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Matplotlib's markers of the rows.
MARKERS = {"SGD": "s", "DBW12": "D", "Theorem 1": "o", "Theorem 2": "v"}
#: Sweep, count of a run and column of the table, in the order of the panels.
PANELS = (
    ("accuracy", "query_depth", "query depth"),
    ("dimension", "query_depth", "query depth"),
    ("accuracy", "queries", "total queries"),
)


def draw_runs(
    axes: Axes, data: Mapping[str, Any], *, sweep: str, count: str, column: str, function: str
) -> Axes:
    """One count of all methods and seeds over one sweep, with slopes in the legend.

    Parameters
    ----------
    axes : Axes
    data : mapping
        The ``data`` of ``resque-table1``.
    sweep, count, column : str
        As in `PANELS`.
    function : str
    """
    runs = [run for run in data["runs"] if (run["sweep"], run["function"]) == (sweep, function)]
    slopes = {
        one["method"]: one
        for one in data["slopes"]
        if (one["sweep"], one["function"], one["column"]) == (sweep, function, column)
    }
    for method in dict.fromkeys(run["method"] for run in runs):
        ours = [run for run in runs if run["method"] == method]
        name, slope = ours[0]["row"], slopes.get(method)
        label = name
        if slope is not None and slope["measured"] is not None:
            label += f": slope {slope['measured']:.2f} (rate {slope['rate']:.2f})"
        for place, seed in enumerate(dict.fromkeys(run["seed"] for run in ours)):
            shown = [run for run in ours if run["seed"] == seed]
            axes.plot(
                [_across(run, sweep) for run in shown], [run[count] for run in shown],
                color=colour_of(name), marker=MARKERS[name], linewidth=1.2, markersize=4.5,
                label="_" if place else label,
            )  # fmt: skip
    axes.set_title(f"{function}: {column}", fontsize=10)
    axes.set_xscale("log")
    axes.set_yscale("log")
    fixed = {run["dimension"] if sweep == "accuracy" else run["accuracy"] for run in runs}
    where = ", ".join(f"{value:g}" for value in sorted(fixed))
    axes.set_xlabel(f"1/ε, d = {where}" if sweep == "accuracy" else f"d, ε = {where}")
    axes.legend(loc="upper left", fontsize=7.5)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.55)  # room for the legend
    return axes


def _across(run: Mapping[str, Any], sweep: str) -> float:
    return float(1 / run["accuracy"] if sweep == "accuracy" else run["dimension"])


def draw_rates(axes: Axes, data: Mapping[str, Any]) -> Axes:
    """The table of rates: one line per method, a cell for each column and accuracy."""
    title, header, rows = rate_table(data)
    columns = list(dict.fromkeys(row[1] for row in rows))
    values: dict[str, dict[str, Sequence[str]]] = {}
    for place, row in enumerate(rows):
        # A mark belongs to a cell's column, so that names are those of the data.
        name = data["rates"][place // len(columns)]["method"]
        mark = row[0][len(name) :]
        values.setdefault(name, {})[row[1]] = [cell + (" *" if mark else "") for cell in row[2:]]
    axes.set_axis_off()
    axes.set_title(f"{title} (* recalled in part)", fontsize=10)
    cells = [[cell for column in columns for cell in each[column]] for each in values.values()]
    table = axes.table(
        cellText=cells,
        rowLabels=list(values),
        colLabels=[f"{column}\n{one}" for column in columns for one in header[2:]],
        loc="center",
        cellLoc="right",
    )  # fmt: skip
    table.auto_set_font_size(False)
    table.set_fontsize(7.5)
    for (line, _), cell in table.get_celld().items():
        cell.set_edgecolor("#dfe4e9")
        cell.set_height(0.2 if line == 0 else 0.13)
    return axes


def parallel_figure(result: Mapping[str, Any]) -> Figure:
    """``resque-table1``."""
    data = result["data"]
    functions = list(
        dict.fromkeys(run["function"] for run in data["runs"] if run["sweep"] != "data")
    )
    with styled():
        figure, axes = new_figure(3, len(functions) + 1, size=(15.0, 3.7 * len(functions) + 4.0))
        for line, function in enumerate(functions):
            for place, (sweep, count, column) in enumerate(PANELS):
                draw_runs(
                    axes[3 * line + place], data, sweep=sweep, count=count, column=column,
                    function=function,
                )  # fmt: skip
        grid = axes[-1].get_gridspec()
        for one in axes[-3:]:
            one.remove()
        assert grid is not None
        draw_rates(figure.add_subplot(grid[-1, :]), data)
        heading(figure, result, width=190)
        return figure
