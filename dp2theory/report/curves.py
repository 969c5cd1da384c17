"""Pictures of accounts: ε against steps, as a band between its two ends."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.digits import short
from dp2theory.files import write_through
from dp2theory.report.plots import MUTED, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Accountants that give an upper end only: colour, line style and name.
UPPER_ENDS = {
    "renyi": ("#D55E00", "--", "Rényi, upper end"),
    "tcdp": ("#009E73", ":", "truncated CDP, upper end"),
}
#: Colour of what lies between two ends.
BAND = "#0072B2"


def draw_against_steps(
    axes: Axes,
    series: Mapping[str, Any],
    *,
    delta: float,
    tight: Mapping[str, float] | None = None,
    title: str | None = None,
) -> Axes:
    """ε against the number of steps: a band from the attained cost to the guarantee.

    Parameters
    ----------
    axes : Axes
    series : mapping
        ``steps``; ``exact`` with the lists ``lower`` and ``upper``; optionally ``renyi`` and
        ``tcdp`` with a list ``upper``.
    delta : float
        The δ at which ε was asked.
    tight : mapping, optional
        ``lower`` and ``upper`` of the last step by a tighter method.
    title : str, optional
    """
    steps = series["steps"]
    axes.set_title(title or f"ε against steps at δ = {delta:.3g}")
    axes.set_xlabel("steps")
    axes.set_ylabel("ε")
    if not steps:
        axes.text(0.5, 0.5, "nothing was released", transform=axes.transAxes, ha="center")
        return axes
    lower, upper = (_floats(series["exact"][end]) for end in ("lower", "upper"))
    axes.fill_between(steps, lower, upper, color=BAND, alpha=0.25, linewidth=0)
    axes.plot(steps, upper, color=BAND, label=_label("guarantee (upper end)", upper))
    attained = _label("attained (lower end)", lower, "lower")
    axes.plot(steps, lower, color=BAND, linewidth=1.0, label=attained)
    for name, (colour, style, words) in UPPER_ENDS.items():
        if name in series and len(series[name]["upper"]) == len(steps):
            ends = _floats(series[name]["upper"])
            axes.plot(steps, ends, color=colour, linestyle=style, label=_label(words, ends))
    if tight is not None:
        axes.plot(
            steps[-1], tight["upper"], marker="v", color=BAND, zorder=4,
            label=f"tight upper end: {short(tight['upper'], 'upper', 4)}",
        )  # fmt: skip
    if not any(map(math.isfinite, (*lower, *upper))):
        axes.set_yticks([])
    axes.set_xscale("log")
    if _positive(lower) and _positive(upper):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(_plain)
        axes.yaxis.set_minor_formatter(_plain)
    axes.grid(color=MUTED, alpha=0.2, linewidth=0.6)
    axes.legend(loc="best")
    return axes


def _floats(ends: Sequence[Any]) -> list[float]:
    """Numbers of the JSON output, where infinities are text."""
    return [float(end) for end in ends]


def _plain(value: float, _position: float) -> str:
    return f"{value:g}"


def _positive(ends: Sequence[float]) -> bool:
    return all(0 < end < math.inf for end in ends)


def _label(words: str, ends: Sequence[float], kind: str = "upper") -> str:
    return f"{words}: {short(ends[-1], kind, 4)}"


def account_figure(
    series: Mapping[str, Any],
    *,
    delta: float,
    tight: Mapping[str, float] | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """One picture of an account, so many inches; arguments as for `draw_against_steps`."""
    with styled():
        figure, (axes,) = new_figure(size=size)
        draw_against_steps(axes, series, delta=delta, tight=tight)
        return figure


def save_picture(figure: Figure, path: str | Path) -> None:
    """Write the figure as PNG or SVG, by the name's ending; whole or not there.

    The same figure gives the same bytes: no date is in it.
    """

    def write(temporary: Path) -> None:
        ending = temporary.suffix.lower().removeprefix(".")
        with styled():
            figure.savefig(
                temporary, format=ending, metadata={"Date": None} if ending == "svg" else None
            )

    write_through(path, write)
