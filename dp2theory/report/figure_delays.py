"""Pictures over the delay s: h(s) (Figure 3) and the train loss (Figure 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dp2theory.report.figure_common import (
    colour_of,
    draw_line,
    draw_points,
    epsilon_of,
    heading,
    show_delays,
    value_of,
)
from dp2theory.report.plots import MUTED, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_ratio(axes: Axes, data: Mapping[str, Any]) -> Axes:
    """h(s): measured, with noise alone, and what the theorems make of the measured means."""
    points = data["points"]
    delays = [point["delay"] for point in points]
    axes.set_title("h(s), measured and predicted")
    axes.set_ylabel("h(s)")
    axes.fill_between(
        delays,
        [point["bounds"]["lower"] for point in points],
        [point["bounds"]["upper"] for point in points],
        color="#0072B2", alpha=0.12, linewidth=0, label="bounds (dp2.h.bounds)",
    )  # fmt: skip
    axes.plot(
        delays, [point["folded_normal"] for point in points], color="#0072B2", linestyle="--",
        label="folded normal (dp2.h.folded-normal)",
    )  # fmt: skip
    axes.plot(
        delays, [point["noise_only"] for point in points], color=MUTED, linestyle=":",
        label="noise alone",
    )  # fmt: skip
    measured = [{"value": point["h"], "interval": point["interval"]} for point in points]
    # The largest of several ratios is biased upwards; the bootstrap takes that off.
    label = "measured, with 95% interval (bias taken off)"
    if all(one["interval"] is None for one in measured):
        label = "measured"
    draw_points(axes, delays, measured, color="#D55E00", label=label, linewidth=1.2)
    show_delays(axes, delays)
    axes.set_yscale("log")
    axes.legend(loc="best")
    return axes


def draw_signal(axes: Axes, data: Mapping[str, Any]) -> Axes:
    """Signal to noise of the averages: where it is small, noise alone predicts h(s)."""
    points = data["points"]
    delays = [point["delay"] for point in points]
    axes.set_title("Averaged raw gradient against its noise")
    axes.set_ylabel("signal / noise")
    for key, words, marker in (
        ("signal_to_noise", "mean over the run", "o"),
        ("signal_to_noise_attained", "where h(s) is attained", "D"),
    ):
        axes.plot(
            delays, [point[key] for point in points], marker=marker, label=words,
            color="#1f2933" if marker == "o" else "#D55E00",
        )  # fmt: skip
    axes.axhline(0.1, color=MUTED, linestyle=":", linewidth=1.0)
    axes.annotate(
        "below: noise alone predicts h(s)", (0.02, 0.1), xycoords=axes.get_yaxis_transform(),
        xytext=(0, 3), textcoords="offset points", fontsize=8.5, color=MUTED,
    )  # fmt: skip
    show_delays(axes, delays)
    axes.set_yscale("log")
    axes.legend(loc="best")
    return axes


def ratio_figure(result: Mapping[str, Any]) -> Figure:
    """Figure 3."""
    with styled():
        figure, (left, right) = new_figure(2, size=(12.8, 5.0))
        draw_ratio(left, result["data"])
        draw_signal(right, result["data"])
        heading(figure, result, width=170)
        return figure


def draw_delays(axes: Axes, data: Mapping[str, Any]) -> Axes:
    """Train loss over s, DP-SGD as a line, the best delay and the planner's marked."""
    delays = [one["delay"] for one in data["delays"]]
    means = [one["arm"]["train_loss"] for one in data["delays"]]
    arms = [data["dp_sgd"], *(one["arm"] for one in data["delays"])]
    axes.set_title(f"Last train loss over s, {epsilon_of(arms)}")
    axes.set_ylabel("mean train loss")
    draw_line(axes, data["dp_sgd"]["train_loss"], color=colour_of("dp-sgd"), label="DP-SGD")
    draw_points(
        axes, delays, means, color=colour_of("dp2-rmsprop"), label="DP²-RMSProp, tuned at each s"
    )
    by_delay = dict(zip(delays, means, strict=True))
    best = value_of(by_delay[data["best_delay"]])
    if best is not None:
        axes.plot(
            data["best_delay"], best, marker="*", markersize=15, linestyle="", zorder=5,
            color=colour_of("dp2-rmsprop"), markeredgecolor="white",
            label=f"best: s = {data['best_delay']}",
        )  # fmt: skip
    planner = data["planner"]
    advised = planner["delay"]
    if advised is None:
        axes.plot([], [], linestyle="", label="the planner advises DP-SGD")
    else:
        axes.axvline(
            advised, color="#009E73", linestyle="--", linewidth=1.2,
            label=f"the planner's s = {advised}",
        )  # fmt: skip
    show_delays(axes, delays)
    axes.legend(loc="best")
    return axes


def delays_figure(result: Mapping[str, Any]) -> Figure:
    """Figure 6."""
    with styled():
        figure, (axes,) = new_figure(size=(9.0, 5.6))
        draw_delays(axes, result["data"])
        heading(figure, result, width=115)
        return figure
