"""Pictures of methods side by side: over budgets (Figure 5), ablations (7), the table (1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dp2theory.digits import short
from dp2theory.report.figure_common import (
    colour_of,
    draw_points,
    epsilon_of,
    heading,
    label_of,
    plain,
    value_of,
)
from dp2theory.report.plots import MUTED, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: A second figure to draw over budgets, by name of the problem's metric; the first that is there.
METRICS = {
    "test_accuracy": "test accuracy",
    "test_loss": "mean test loss",
    "test_mse": "test mean squared error",
}


def draw_budgets(
    axes: Axes, budgets: Sequence[Mapping[str, Any]], *, metric: str | None = None
) -> Axes:
    """A figure of each method over ε, on a logarithmic axis.

    Parameters
    ----------
    axes : Axes
    budgets : sequence of mapping
        Each with ``target_epsilon`` and ``arms``.
    metric : str, optional
        Name of a metric; the train loss if None.
    """
    words = "mean train loss" if metric is None else METRICS[metric]
    axes.set_title(f"{words[0].upper()}{words[1:]} over ε")
    axes.set_ylabel(words)
    epsilons = [one["target_epsilon"] for one in budgets]
    for place, first in enumerate(budgets[0]["arms"] if budgets else ()):
        arms = [one["arms"][place] for one in budgets]
        means = [
            arm["train_loss"] if metric is None else arm["metrics"].get(metric) for arm in arms
        ]
        kept = [(x, mean) for x, mean in zip(epsilons, means, strict=True) if mean is not None]
        draw_points(
            axes, [x for x, _ in kept], [mean for _, mean in kept],
            color=colour_of(first["method"]), label=label_of(first),
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.set_xlabel("budget ε of one run")
    axes.legend(loc="best")
    return axes


def budgets_figure(result: Mapping[str, Any]) -> Figure:
    """Figure 5: the train loss, and a test metric where the problem has one."""
    budgets = result["data"]["budgets"]
    known = budgets[0]["arms"][0]["metrics"] if budgets else {}
    metric = next((name for name in METRICS if name in known), None)
    with styled():
        figure, axes = new_figure(1 if metric is None else 2, size=(12.8, 5.0))
        draw_budgets(axes[0], budgets)
        if metric is not None:
            draw_budgets(axes[1], budgets, metric=metric)
        heading(figure, result, width=170)
        return figure


def draw_rows(
    axes: Axes, arms: Sequence[Mapping[str, Any]], baseline: Mapping[str, Any], names: Sequence[str]
) -> Axes:
    """One row per method: seeds as points, mean with interval, the baseline as a line."""
    axes.set_xlabel("mean train loss of the last iterate")
    ends = [value_of(arm["train_loss"]) for arm in arms]
    for place, arm in enumerate(arms):
        row = len(arms) - 1 - place
        colour = colour_of(arm["method"])
        losses = [loss for loss in arm["losses"] if not isinstance(loss, str)]
        axes.plot(losses, [row] * len(losses), ".", color=colour, alpha=0.4)
        value, interval = ends[place], arm["train_loss"]["interval"]
        if value is None:
            axes.text(0.99, row, "diverged", transform=axes.get_yaxis_transform(), ha="right")
            continue
        sides = [[0.0], [0.0]]
        if interval is not None:
            sides = [[value - interval["lower"]], [interval["upper"] - value]]
        axes.errorbar([value], [row], xerr=sides, color=colour, marker="D", capsize=3)
        axes.annotate(
            f"{value:.4f}{_change(arm)}", (value, row), xytext=(0, 9), ha="center",
            textcoords="offset points", fontsize=8.5, color=MUTED,
        )  # fmt: skip
    level = value_of(baseline["train_loss"])
    if level is not None:
        axes.axvline(level, color=colour_of(baseline["method"]), linestyle=":", linewidth=1.2)
    axes.set_yticks(range(len(arms) - 1, -1, -1), list(names))
    axes.set_ylim(-0.6, len(arms) - 0.3)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    return axes


def _change(arm: Mapping[str, Any]) -> str:
    paired = arm["against"]
    if paired is None or paired["difference"]["mean"] == 0:
        return ""
    return f" ({100 * (paired['ratio']['value'] - 1):+.1f} %)"


def _name_with_epsilon(arm: Mapping[str, Any]) -> str:
    upper = arm["epsilon"]["upper"]
    words = short(upper, "upper", 3)
    return f"{label_of(arm)}\nε ≤ {words}"


def ablations_figure(result: Mapping[str, Any]) -> Figure:
    """Figure 7: DP² and its ablations."""
    data = result["data"]
    baseline = next(arm for arm in data["arms"] if arm["label"] == data["baseline"])
    return _rows_figure(
        result,
        baseline,
        [_name_with_epsilon(arm) for arm in data["arms"]],
        f"DP² and its ablations at s = {data['delay']}",
    )


def table_figure(result: Mapping[str, Any]) -> Figure:
    """Table 1: methods with and without side information."""
    data = result["data"]
    baseline = next(arm for arm in data["arms"] if arm["label"] == data["baseline"])
    names = [f"{label_of(arm)}\nknows: {plain(arm['side_information'])}" for arm in data["arms"]]
    return _rows_figure(result, baseline, names, f"At {epsilon_of(data['arms'])}")


def _rows_figure(
    result: Mapping[str, Any], baseline: Mapping[str, Any], names: Sequence[str], title: str
) -> Figure:
    arms = result["data"]["arms"]
    with styled():
        figure, (axes,) = new_figure(size=(9.6, 2.4 + 0.62 * len(arms)))
        axes.set_title(title)
        draw_rows(axes, arms, baseline, names)
        heading(figure, result, width=122)
        return figure
