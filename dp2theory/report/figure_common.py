"""What the pictures of the paper's figures share: colours, headings, means with intervals."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dp2theory.digits import short
from dp2theory.report.plots import METHOD_COLOURS, METHOD_NAMES, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: From light to dark, for what comes one after the other.
SEQUENCE = ("#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#08306b")
#: What a claim of a figure came to, in words.
OUTCOMES = {True: "holds here", False: "does not hold here", None: "is not decided here"}

#: Figures without any privacy.
OPEN = ("fig2",)


def heading(figure: Figure, result: Mapping[str, Any], *, width: int = 105) -> None:
    """Title, problem and verdict above the axes.

    Parameters
    ----------
    figure : Figure
    result : mapping
        The ``result`` of ``dp2theory figure``.
    width : int
        Characters in a line of the verdict.
    """
    problem, verdict = result["problem"], result["verdict"]
    first = f"{result['title']}: {problem['name']} (n = {problem['dataset_size']:,}, d = "
    first += f"{problem['dimension']:,}, T = {problem['steps']:,})"
    if result["figure"] not in OPEN:
        first += f", privacy of {problem['unit_of_privacy']}"
    text = f"The claim {OUTCOMES[verdict['holds']]}. {verdict['text']}"
    lines = textwrap.wrap(plain(text), width)
    figure.suptitle(
        "\n".join([plain(first), *lines]), x=0.01, ha="left", fontsize=9.5, linespacing=1.35
    )


def plain(text: str) -> str:
    """Text in which a dollar sign is a dollar sign."""
    return text.replace("$", r"\$")


def colour_of(method: str) -> str:
    """The method's colour."""
    return METHOD_COLOURS.get(method, MUTED)


def label_of(arm: Mapping[str, Any]) -> str:
    """How an arm is called in a legend: its method's name, unless it has a label of its own."""
    label, method = str(arm["label"]), str(arm["method"])
    return METHOD_NAMES.get(method, method) if label == method else plain(label)


def value_of(mean: Mapping[str, Any]) -> float | None:
    """A mean as a number, None where a run diverged."""
    value = mean["value"]
    return None if isinstance(value, str) else float(value)


def half_widths(mean: Mapping[str, Any]) -> tuple[float, float]:
    """How far the interval of a mean goes down and up; 0 where there is none."""
    value, interval = value_of(mean), mean["interval"]
    if value is None or interval is None:
        return 0.0, 0.0
    # At least 0: an interval that corrects a bias need not hold the value itself.
    return max(0.0, value - interval["lower"]), max(0.0, interval["upper"] - value)


def draw_points(
    axes: Axes, xs: Sequence[float], means: Sequence[Mapping[str, Any]], **style: Any
) -> None:
    """Means with their intervals, joined; means of runs that diverged are left out."""
    kept = [(x, mean) for x, mean in zip(xs, means, strict=True) if value_of(mean) is not None]
    if not kept:
        return
    sides = [half_widths(mean) for _, mean in kept]
    drawn: dict[str, Any] = {"marker": "o", "capsize": 3, "elinewidth": 1.1, **style}
    axes.errorbar(
        [x for x, _ in kept],
        [value_of(mean) or 0.0 for _, mean in kept],
        yerr=[[low for low, _ in sides], [high for _, high in sides]],
        **drawn,
    )


def draw_line(axes: Axes, mean: Mapping[str, Any], **style: Any) -> None:
    """A mean as a level line with its interval as a band."""
    value = value_of(mean)
    if value is None:
        return
    low, high = half_widths(mean)
    colour = style.get("color")
    axes.axhspan(value - low, value + high, color=colour, alpha=0.15, linewidth=0)
    axes.axhline(value, **style)


def epsilon_of(arms: Sequence[Mapping[str, Any]]) -> str:
    """The largest ε of some arms, for an axis title."""
    ends = [arm["epsilon"]["upper"] for arm in arms]
    numbers = [end for end in ends if not isinstance(end, str)]
    if not numbers:
        return "no privacy"
    return f"ε ≤ {short(max(numbers), 'upper', 3)} for one run"


def show_delays(axes: Axes, delays: Sequence[int]) -> None:
    """Delays on a logarithmic axis, each with its number."""
    axes.set_xscale("log")
    axes.set_xticks(list(delays), [str(delay) for delay in delays])
    axes.minorticks_off()
    axes.set_xlabel("delay s [steps]")
