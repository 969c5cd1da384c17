"""Pictures on the pages of accounts, audits, sweeps and verifications."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from dp2theory.report.plots import METHOD_COLOURS, MUTED, new_figure, plain_text, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours: of upper and lower ends, of what is bad and what is close.
UPPER, LOWER, BAD, CLOSE = "#0072B2", "#009E73", "#D55E00", "#E69F00"
#: Of verdicts on theorems.
VERDICT_COLOURS = {"holds": "#009E73", "violated": BAD}
#: Inches: a column of a page, and a phone's screen, show letters of this size without shrinking.
WIDTH = 5.0
#: Of a picture, in inches.
SIZE = (WIDTH, 3.4)
#: Letters of a name down the left side before it is broken in two lines, and what that takes.
LETTERS, ROW = 26, 0.46
#: Theorems in one picture.
MOST = 40
#: Cells of a sweep, lines, and points of a line in one picture.
MOST_CELLS, MOST_LINES, MOST_POINTS = 24, 48, 60
_CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#332288", "#999933")


def finite(value: Any) -> float | None:
    """A finite number, or None: infinities are text in the JSON output."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def answers_figure(answers: Sequence[tuple[str, Any, Any, str]], quantity: str) -> Figure:
    """What each accountant answers: a bar between its ends, or a mark where it has one only.

    Parameters
    ----------
    answers : sequence of (name, lower, upper, kind)
        `lower` is None where there is none; `kind` is "upper" or "reported".
    quantity : str
        Name of the horizontal axis.
    """
    with styled():
        figure, (axes,) = new_figure(size=(WIDTH, 1.6 + ROW * len(answers)))
        axes.set_title("Answers, by accountant")
        axes.set_xlabel(quantity)
        for row, (_, lower, upper, kind) in enumerate(answers):
            low, high = finite(lower), finite(upper)
            colour = UPPER if kind == "upper" else CLOSE
            if high is None:
                axes.annotate(
                    f"{upper}", (0.02, row), xycoords=axes.get_yaxis_transform(), va="center"
                )
                continue
            if low is not None:
                axes.plot([low, high], [row, row], color=LOWER, linewidth=4, zorder=2)
                axes.plot(low, row, marker="|", color=LOWER, markersize=12, zorder=3)
            axes.plot(high, row, marker="v" if kind == "upper" else "x", color=colour, zorder=4)
        _rows(axes, [name for name, *_ in answers])
        axes.margins(x=0.15)
        if not axes.lines:  # a scale without a number on it says nothing
            axes.set_xticks([])
        return figure


def remaining_figure(points: Sequence[tuple[str, Any]], target: float) -> Figure:
    """Upper ends of ε of what has run and of what may follow, with the budget as a line."""
    with styled():
        figure, (axes,) = new_figure(size=(WIDTH, 3.0))
        axes.set_title("ε against the budget")
        axes.set_xlabel("ε, upper end")
        for row, (_, value) in enumerate(points):
            end = finite(value)
            if end is not None:
                over = end > target
                axes.barh(row, end, color=BAD if over else UPPER, height=0.5)
        axes.axvline(target, color="#1f2933", linestyle="--", linewidth=1.2)
        axes.annotate(
            "budget", (target, 1.0), xycoords=axes.get_xaxis_transform(), xytext=(-3, -3),
            textcoords="offset points", ha="right", va="top", fontsize=9,
        )  # fmt: skip
        _rows(axes, [name for name, _ in points])
        return figure


def profile_figure(points: Sequence[Mapping[str, Any]], word: str) -> Figure:
    """What an audit shows and what is accounted, at each δ."""
    from matplotlib.ticker import NullFormatter

    with styled():
        figure, (axes,) = new_figure(size=SIZE)
        axes.set_title(f"ε that was shown, and that is {word}")
        axes.set_xlabel("δ")
        axes.set_ylabel("ε")
        ordered = sorted(points, key=lambda point: point["delta"])
        deltas = [point["delta"] for point in ordered]
        accounted = [finite(point["accounted"]["upper"]) for point in ordered]
        known = [(d, e) for d, e in zip(deltas, accounted, strict=True) if e is not None]
        if known:
            axes.plot(
                *zip(*known, strict=True), marker="v", color=UPPER, label=f"{word}, upper end"
            )
        for point in ordered:
            end = finite(point["accounted"]["upper"])
            beyond = end is not None and point["shown_lower"] > end
            axes.plot(
                point["delta"], point["shown_lower"], marker="^", color=BAD if beyond else LOWER
            )
        axes.plot([], [], marker="^", color=LOWER, linestyle="none", label="shown, lower end")
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(_plain)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xticks(deltas)
        axes.set_ylim(bottom=0)
        axes.legend(loc="best")
        return figure


def attempts_figure(attempts: Sequence[Mapping[str, Any]], most: int = 8) -> Figure:
    """What each attack promised, on runs apart from those of the test."""
    shown = attempts[:most]
    with styled():
        figure, (axes,) = new_figure(size=(WIDTH, 1.4 + ROW * len(shown)))
        axes.set_title("Attacks, by the ε they promised")
        axes.set_xlabel("ε promised (estimate)")
        axes.barh(range(len(shown)), [each["promise"] for each in shown], color=CLOSE, height=0.6)
        _rows(axes, [f"{each['data_sets']}: {each['attack']}" for each in shown])
        return figure


def cells_figure(cells: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> Figure:
    """Final train loss of each cell: a point for each seed, a bar for the mean."""
    with styled():
        figure, (axes,) = new_figure(size=(WIDTH, 1.5 + ROW * len(cells)))
        axes.set_title("Final train loss")
        axes.set_xlabel("mean train loss")
        axes.locator_params(axis="x", nbins=5)
        for row, (cell, colour) in enumerate(zip(cells, _colours(cells), strict=True)):
            losses = [
                loss for run in cell["runs"] if (loss := finite(run["train_loss"])) is not None
            ]
            axes.plot(losses, [row] * len(losses), "o", color=colour, alpha=0.6)
            mean = finite(cell["mean_train_loss"])
            if mean is not None:
                axes.plot([mean, mean], [row - 0.3, row + 0.3], color=colour, linewidth=2.5)
        _rows(axes, labels)
        return figure


def runs_shown(cells: Sequence[Mapping[str, Any]]) -> int | None:
    """Runs of each cell in a picture of their curves; None for all of them."""
    shown = max(1, MOST_LINES // max(1, min(len(cells), MOST_CELLS)))
    return shown if any(len(cell["runs"]) > shown for cell in cells) else None


def curves_figure(cells: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> Figure:
    """Train loss against steps, a line for each run, a colour for each cell."""
    with styled():
        figure, (axes,) = new_figure(size=SIZE)
        axes.set_title("Train loss, run by run")
        axes.set_xlabel("step")
        axes.set_ylabel("mean train loss")
        most = runs_shown(cells)
        for cell, colour, label in zip(cells, _colours(cells), labels, strict=True):
            for place, run in enumerate(cell["runs"][:most]):
                pairs = [
                    (step, loss)
                    for step, said in zip(run["loss_steps"], run["losses"], strict=True)
                    if (loss := finite(said)) is not None
                ]
                pairs = pairs[:: 1 + len(pairs) // MOST_POINTS]
                if pairs:
                    axes.plot(
                        *zip(*pairs, strict=True), color=colour, alpha=0.7, linewidth=1.1,
                        label=None if place else plain_text(label),
                    )  # fmt: skip
        if axes.lines and len(cells) <= len(_CYCLE):
            axes.legend(loc="best", fontsize=8)
        return figure


def certificate_figure(bounds: Sequence[Mapping[str, Any]]) -> Figure:
    """What theorems allow of the gaps of some runs, over what was measured, with intervals."""
    with styled():
        figure, (axes,) = new_figure(size=(WIDTH, 1.8 + ROW * len(bounds)))
        axes.set_title("Gaps of the runs, and their bounds")
        axes.set_xlabel("gap [loss]")
        for row, each in enumerate(bounds):
            for field, mark, colour in (("gap", "o", LOWER), ("bound", "v", UPPER)):
                colour = colour if each["holds"] else BAD
                value, interval = finite(each[field]), each[f"{field}_interval"]
                ends = [e for end in (interval or {}).values() if (e := finite(end)) is not None]
                if len(ends) == 2:
                    axes.plot(ends, [row, row], color=colour, linewidth=3, alpha=0.4)
                if value is not None:
                    axes.plot(value, row, marker=mark, color=colour, linestyle="none")
        axes.plot([], [], marker="o", color=LOWER, linestyle="none", label="measured")
        axes.plot([], [], marker="v", color=UPPER, linestyle="none", label="bound")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=2)
        _rows(axes, [f"{each['theorem']}: {each['gap_of']}" for each in bounds])
        return figure


def noises_figure(noises: Sequence[tuple[str, Any]], without: float) -> Figure:
    """Noise of each kind of release of a plan for snapshots.

    Parameters
    ----------
    noises : sequence of (name, noise multiplier)
    without : float
        Noise multiplier of gradients if nothing else were released.
    """
    from matplotlib.ticker import NullFormatter

    with styled():
        figure, (axes,) = new_figure(size=(WIDTH, 1.8 + ROW * len(noises)))
        axes.set_title("Noise of each release")
        axes.set_xlabel("noise multiplier")
        for row, (_, value) in enumerate(noises):
            axes.plot(value, row, marker="o", color=UPPER)
        axes.axvline(without, color=MUTED, linestyle="--", linewidth=1.2)
        axes.set_xscale("log")
        values = [value for _, value in noises]
        axes.set_xlim(min([*values, without]) / 1.6, max(values) * 1.6)
        axes.xaxis.set_major_formatter(_plain)
        axes.xaxis.set_minor_formatter(NullFormatter())
        _rows(axes, [name for name, _ in noises])
        return figure


def slack_figures(verdicts: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Bound over measurement, theorem by theorem, on one logarithmic scale; 1 is tight.

    So many theorems to a figure that their names can be read; none where no ratio is known.
    """
    shown = [each for each in verdicts if (finite(each["slack"]) or 0.0) > 0]
    slacks = [float(each["slack"]) for each in shown]
    limits = min([*slacks, 0.8]) / 1.2, max([*slacks, 1.6]) * 1.2
    size = -(-len(shown) // max(1, -(-len(shown) // MOST)))  # alike in height
    return [
        _slacks(shown[first : first + size], limits) for first in range(0, len(shown), size or 1)
    ]


def _slacks(verdicts: Sequence[Mapping[str, Any]], limits: tuple[float, float]) -> Figure:
    from matplotlib.ticker import MaxNLocator, NullFormatter

    with styled():
        figure, (axes,) = new_figure(size=(WIDTH, 1.6 + 0.24 * max(len(verdicts), 4)))
        axes.set_title("Bound / measured, smallest that was found")
        axes.set_xlabel("bound / measured (1: tight; below 1: violated)")
        axes.set_xscale("log")
        axes.set_xlim(*limits)
        axes.xaxis.set_major_formatter(_plain)
        axes.xaxis.set_minor_formatter(NullFormatter())
        if limits[1] / limits[0] < 10:
            axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.axvline(1.0, color=MUTED, linewidth=1.0)
        for row, each in enumerate(verdicts):
            colour = VERDICT_COLOURS.get(each["verdict"], MUTED)
            axes.plot(each["slack"], row, "o", color=colour)
        _rows(axes, [str(each["id"]) for each in verdicts], size=7.5, letters=48)
        return figure


def _plain(value: float, _position: float) -> str:
    return f"{value:.3g}"


def _rows(axes: Axes, names: Sequence[str], size: float = 8.5, letters: int = LETTERS) -> None:
    """Names down the left side, the first on top."""
    shown = ["\n".join(wrap(name, letters, max_lines=2, placeholder="…")) for name in names]
    axes.set_yticks(range(len(names)), [plain_text(name) for name in shown], fontsize=size)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x", color=MUTED, alpha=0.2)
    axes.grid(visible=False, axis="y")


def _colours(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """The colour of its method for each cell; other colours where a method comes twice."""
    methods = [cell["method"] for cell in cells]
    if len(set(methods)) == len(methods):
        return [METHOD_COLOURS.get(method, MUTED) for method in methods]
    return [_CYCLE[place % len(_CYCLE)] for place in range(len(cells))]
