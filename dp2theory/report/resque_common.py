"""What the pictures on ReSQue share: colours, names with what is recalled, heading and caption."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dp2theory.report.figure_common import OUTCOMES, plain
from dp2theory.report.plots import MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: One colour per method; methods that never meet in a picture may share one.
COLOURS = {
    "SGD": "#0072B2",
    "DBW12": "#009E73",
    "BJL+19": "#CC79A7",
    "Theorem 1": "#D55E00",
    "Theorem 2": "#E69F00",
    "FKT20": "#0072B2",
    "AFKT21": "#CC79A7",
    "KLL21": "#009E73",
    "GLL22": "#56B4E9",
    "Theorem 4": "#D55E00",
}
#: Behind the name of a method of whose row something is recalled.
MARK = " *"


def colour_of(method: str) -> str:
    """The method's colour."""
    return COLOURS.get(method, MUTED)


def named(row: Mapping[str, Any], column: str) -> str:
    """The method's name, with a mark where something of this column is recalled."""
    words = row["recalled"].get(column)
    if words is None:
        return str(row["method"])
    return f"{row['method']} (recalled)" if words == "recalled" else f"{row['method']}{MARK}"


def heading(figure: Figure, result: Mapping[str, Any], *, width: int) -> None:
    """Title, claim and what failed above the axes, the caption below them.

    Parameters
    ----------
    figure : Figure
    result : mapping
        The ``result`` of ``dp2theory figure``.
    width : int
        Characters in a line.
    """
    verdict = result["verdict"]
    gates = verdict["gates"]
    failed = [gate for gate in gates if not gate["holds"]]
    told = f"The claim {OUTCOMES[verdict['holds']]}: {len(gates) - len(failed)} of {len(gates)}"
    told += " checks hold" + "".join(f"; not: {one['name']} ({one['text']})" for one in failed)
    lines = [
        result["title"],
        *textwrap.wrap(f"Claim: {verdict['claim']}", width),
        *textwrap.wrap(f"{told}.", width),
    ]
    figure.suptitle(plain("\n".join(lines)), x=0.01, ha="left", fontsize=9.5, linespacing=1.35)
    caption = "\n".join(textwrap.wrap(result["caption"], width))
    figure.supxlabel(
        plain(caption), x=0.01, ha="left", fontsize=8.5, color=MUTED, linespacing=1.3
    )  # fmt: skip


def shade_window(axes: Axes, window: Mapping[str, float], words: str) -> None:
    """The window of accuracies on an axis of 1/ε."""
    axes.axvspan(
        1 / window["upper"], 1 / window["lower"], color="#e4f3ec", linewidth=0, label=words
    )


def log_log(axes: Axes, label: str) -> None:
    """Logarithmic axes over 1/ε."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(label)
