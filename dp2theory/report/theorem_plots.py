"""The picture of a theorem: what it evaluates to against one parameter."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.files import write_through
from dp2theory.report.plots import MUTED, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: One line may lie on another.
STYLES = ("-", "--", ":", "-.")
#: Digits to which two machines agree on a point.
DIGITS = 6


def draw_curve(axes: Axes, curve: Mapping[str, Any], *, title: str | None = None) -> Axes:
    """Each evaluation of a theorem against the parameter that varies.

    Parameters
    ----------
    axes : Axes
    curve : mapping
        ``id``, ``along``, ``along_unit``, ``values``, ``series``, ``fixed``, ``log_x``, ``log_y``.
    title : str, optional
    """
    axes.set_title(title or str(curve["id"]))
    unit = "" if curve["along_unit"] == "1" else f" [{curve['along_unit']}]"
    axes.set_xlabel(curve["along"].replace("_", " ") + unit)
    drawn = []
    for (name, points), style in zip(curve["series"].items(), cycle(STYLES), strict=False):
        shown = [point if math.isfinite(point) else math.nan for point in points]
        axes.plot(curve["values"], shown, linestyle=style, label=name.replace("_", " "))
        drawn += [point for point in shown if point > 0]
    if curve["log_x"]:
        axes.set_xscale("log")
    if curve["log_y"]:
        axes.set_yscale("log")
        if drawn and max(drawn) < 30 * min(drawn):  # too few powers of ten to name
            axes.yaxis.set_major_formatter(_plain)
            axes.yaxis.set_minor_formatter(_plain)
    if len(curve["series"]) > 1:
        axes.legend(loc="best")
    else:
        axes.set_ylabel(next(iter(curve["series"])).replace("_", " "))
    axes.grid(color=MUTED, alpha=0.2, linewidth=0.6)
    return axes


def _plain(value: float, _position: float) -> str:
    return f"{value:g}"


def theorem_figure(curve: Mapping[str, Any]) -> Figure:
    """The picture of a theorem; the argument as for `draw_curve`."""
    with styled():
        figure, (axes,) = new_figure(size=(5.6, 3.5))
        draw_curve(axes, curve)
        return figure


def mark(curve: Mapping[str, Any]) -> str:
    """What tells whether a picture is of these points: a digest of them, rounded."""

    def rounded(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: rounded(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [rounded(item) for item in value]
        # via the decimal text: 0.1 + 0.2 and 0.3 are one point
        return f"{value:.{DIGITS}g}" if isinstance(value, float) else value

    text = json.dumps(rounded(curve), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def save_theorem_picture(curve: Mapping[str, Any], path: str | Path) -> None:
    """Write the picture as SVG with its `mark` in it; the same points give the same bytes.

    Text stays text, for a file a third as large.
    """
    import matplotlib

    figure = theorem_figure(curve)
    metadata = {"Date": None, "Creator": None, "Description": f"points {mark(curve)}"}

    def write(temporary: Path) -> None:
        with (
            styled(),
            matplotlib.rc_context({"svg.hashsalt": str(curve["id"]), "svg.fonttype": "none"}),
        ):
            figure.savefig(temporary, format="svg", metadata=metadata)

    write_through(path, write)
