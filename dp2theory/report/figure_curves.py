"""Pictures of learning curves (Figures 2 and 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dp2theory.report.figure_common import (
    SEQUENCE,
    colour_of,
    draw_points,
    epsilon_of,
    heading,
    label_of,
    value_of,
)
from dp2theory.report.plots import new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Losses that differ by more than this factor are drawn on a logarithmic scale.
FAR = 3.0


def draw_curves(
    axes: Axes, arms: Sequence[Mapping[str, Any]], colours: Sequence[str], *, title: str
) -> Axes:
    """Mean train loss against steps, with the interval of the mean as a band where it is narrow."""
    axes.set_title(title)
    axes.set_xlabel("step")
    axes.set_ylabel("mean train loss")
    curves = [_numbers(arm["curve"]["losses"]) for arm in arms]
    shown = [loss for losses in curves if losses for loss in (losses[0], min(losses))]
    if not shown:
        return axes
    # What climbs above the start is cut off, so that it does not squeeze the others.
    low, high = min(shown), max(shown)
    margin = 0.08 * (high - low) or 0.01
    for arm, losses, colour in zip(arms, curves, colours, strict=True):
        curve, last = arm["curve"], value_of(arm["train_loss"])
        tail = "diverged" if last is None else f"{last:.4f}"
        axes.plot(curve["steps"], losses, color=colour, label=f"{label_of(arm)}: {tail}")
        if losses and None not in (*curve["lower"], *curve["upper"]):
            ends = list(zip(curve["lower"], curve["upper"], strict=True))
            # A band as wide as the picture says nothing but that a run went astray, and shreds of
            # a band that mostly is as wide (few seeds) say less.
            narrow = [above - below < (high - low) / 2 for below, above in ends]
            if 2 * sum(narrow) > len(narrow):
                axes.fill_between(
                    curve["steps"], curve["lower"], curve["upper"], color=colour, alpha=0.15,
                    where=narrow, linewidth=0,
                )  # fmt: skip
    axes.set_ylim(low - margin, high + margin)
    axes.legend(loc="upper right", frameon=True, framealpha=0.85, edgecolor="none")
    return axes


def _numbers(losses: Sequence[float | str]) -> list[float]:
    return [float("nan") if isinstance(one, str) else one for one in losses]


def draw_final(axes: Axes, arms: Sequence[Mapping[str, Any]], colours: Sequence[str]) -> Axes:
    """Final train losses: one point per seed, means with intervals."""
    axes.set_title("Last iterate, one point per seed")
    axes.set_ylabel("mean train loss")
    for place, (arm, colour) in enumerate(zip(arms, colours, strict=True)):
        losses = [loss for loss in arm["losses"] if not isinstance(loss, str)]
        axes.plot([place] * len(losses), losses, ".", color=colour, alpha=0.45)
        draw_points(
            axes, [place + 0.18], [arm["train_loss"]], color=colour, linestyle="", marker="D"
        )
    ends = [loss for arm in arms for loss in arm["losses"] if not isinstance(loss, str)]
    if ends and max(ends) > FAR * min(ends) > 0:
        axes.set_yscale("log")
    names = [label_of(arm).replace(", ", "\n").replace(" RMSProp\n", "\n") for arm in arms]
    axes.set_xticks(range(len(arms)), names, fontsize=8)
    axes.set_xlim(-0.5, len(arms) - 0.5)
    return axes


def delayed_figure(result: Mapping[str, Any]) -> Figure:
    """Figure 2: RMSProp, delayed RMSProp at several delays, and SGD."""
    arms = result["data"]["arms"]
    return _pair(result, arms, _in_sequence(arms), "Train loss without noise")


def _in_sequence(arms: Sequence[Mapping[str, Any]]) -> list[str]:
    """Colours: the methods' own, and shades for the delays."""
    shades = iter(SEQUENCE[1:] * len(arms))
    delayed = "delayed-rmsprop"
    return [
        next(shades) if arm["method"] == delayed else
        "#D55E00" if arm["method"] == "rmsprop" else "#5f6b76"
        for arm in arms
    ]  # fmt: skip


def curves_figure(result: Mapping[str, Any]) -> Figure:
    """Figure 4: the methods at equal privacy."""
    arms = result["data"]["arms"]
    colours = [colour_of(arm["method"]) for arm in arms]
    return _pair(result, arms, colours, f"Train loss, {epsilon_of(arms)}")


def _pair(
    result: Mapping[str, Any],
    arms: Sequence[Mapping[str, Any]],
    colours: Sequence[str],
    title: str,
) -> Figure:
    with styled():
        figure, (left, right) = new_figure(2, size=(12.8, 5.0))
        draw_curves(left, arms, colours, title=title)
        draw_final(right, arms, colours)
        heading(figure, result, width=170)
        return figure
