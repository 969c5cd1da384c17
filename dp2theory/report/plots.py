"""Pictures of plans and of runs.

`draw_*` functions put one result on given axes and return them; `plan_figure` and
`runs_figure` put them together; `to_data_uri` and `save_png` write a figure out.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.digits import short
from dp2theory.files import write_through

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Matplotlib's style sheet of all figures.
STYLE = Path(__file__).with_name("dp2theory.mplstyle")

#: One colour per method, everywhere; methods that never meet in a picture may share one.
METHOD_COLOURS = {
    "dp-sgd": "#0072B2",
    "dp2-rmsprop": "#D55E00",
    "dp-rmsprop": "#009E73",
    "sgd": "#56B4E9",
    "rmsprop": "#CC79A7",
    "delayed-rmsprop": "#E69F00",
    "adadps": "#CC79A7",
    "adadps-statistics": "#882255",
    "dp-adagrad-projected": "#999933",
    "dp2-rmsprop-extra-noise": "#CC79A7",
    "dp2-rmsprop-noise-first": "#E69F00",
    "pda-dpmd": "#56B4E9",
    "snapshot": "#332288",
}
#: Methods as people write them.
METHOD_NAMES = {
    "dp-sgd": "DP-SGD",
    "dp2-rmsprop": "DP²-RMSProp",
    "dp-rmsprop": "DP-RMSProp",
    "sgd": "SGD",
    "rmsprop": "RMSProp",
    "delayed-rmsprop": "delayed RMSProp",
    "snapshot": "geometry snapshot",
    "adadps": "AdaDPS, public data",
    "adadps-statistics": "AdaDPS, public statistics",
    "pda-dpmd": "PDA-DPMD",
    "dp-adagrad-projected": "projected DP-AdaGrad",
    "adagrad": "AdaGrad",
    "adam": "Adam",
    "yogi": "Yogi",
    "delayed-adagrad": "delayed AdaGrad",
    "delayed-adam": "delayed Adam",
    "delayed-yogi": "delayed Yogi",
    "dp-adagrad": "DP-AdaGrad",
    "dp-adam": "DP-Adam",
    "dp-yogi": "DP-Yogi",
    "dp-rmsprop-noise-aware": "DP-RMSProp, noise-aware",
    "dp2-adagrad": "DP²-AdaGrad",
    "dp2-adam": "DP²-Adam",
    "dp2-yogi": "DP²-Yogi",
    "dp2-rmsprop-debiased": "DP²-RMSProp, debiased",
    "dp2-rmsprop-noise-aware": "DP²-RMSProp, noise-aware",
    "dp2-rmsprop-extra-noise": "DP²-RMSProp, ablation 1",
    "dp2-rmsprop-noise-first": "DP²-RMSProp, ablation 2",
}
#: The three states of the gate: lower and upper ratio, label, tint.
GATE_BANDS = (
    (1.0, None, "use DP²", "#e4f3ec"),
    (0.3, 1.0, "marginal", "#fdf4dd"),
    (None, 0.3, "use DP-SGD", "#fbe9e4"),
)
#: The advice as part of a title.
ADVICE_WORDS = {
    "dp2": "the advice is DP²",
    "marginal": "the advice is DP², but it is close",
    "dp-sgd": "the advice is DP-SGD",
    None: "no pilot, no advice",
}
#: Colour of what is no data.
MUTED = "#5f6b76"


@contextmanager
def styled() -> Iterator[None]:
    """Matplotlib with the project's style, inside the body only."""
    import matplotlib.style

    with matplotlib.style.context(STYLE):
        yield


def new_figure(
    columns: int = 1, rows: int = 1, *, size: tuple[float, float] | None = None
) -> tuple[Figure, list[Axes]]:
    """A figure with a row or grid of axes, in reading order; no window system is touched."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size or (6.4 * columns, 4.0 * rows))
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.ravel())


def draw_snr(axes: Axes, plan: Mapping[str, Any], *, title: str | None = None) -> Axes:
    """Signal-to-noise ratio against block length, with the gate's bands and the delays.

    Parameters
    ----------
    axes : Axes
    plan : mapping
        The ``result`` of ``dp2theory plan``.
    title : str, optional
    """
    blocks = plan["snr"]["blocks"]
    axes.set_title(title or "Signal to noise of averaged released gradients")
    axes.set_xlabel("block length m [steps]")
    axes.set_ylabel("signal / noise")
    if not blocks:
        axes.text(0.5, 0.5, "no pilot was made", transform=axes.transAxes, ha="center")
        axes.set_xticks([])
        axes.set_yticks([])
        return axes
    lengths = [block["length"] for block in blocks]
    seen = [block["value"] for block in blocks if block["value"] > 0]
    low = min([*seen, 0.3]) / 2.5
    high = max([*seen, 1.0]) * 3
    default, recommended = plan["delay"]["default"], plan["delay"]["recommended"]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(min(lengths) / 1.35, max([*lengths, default]) * 1.35)
    axes.set_ylim(low, high)
    _bands(axes, low, high)
    axes.plot(
        lengths,
        [max(block["value"], low * 1.15) for block in blocks],
        color="#1f2933",
        zorder=3,
    )
    for block in blocks:
        floor = block["value"] <= 0  # a negative estimate counts as no signal
        axes.plot(
            block["length"],
            low * 1.15 if floor else block["value"],
            marker="v" if floor else "o",
            color="white" if floor else "#1f2933",
            markeredgecolor="#1f2933",
            zorder=4,
        )
    _delay_line(axes, default, f"default\n$s = {default}$", "--", "bottom")
    if recommended is not None and recommended != default:
        _delay_line(axes, recommended, f"advised\n$s = {recommended}$", "-", "top")
    at_default = plan["snr"]["at_default_delay"]
    if at_default:
        axes.plot(
            default, max(at_default, low), marker="D", color="#D55E00", markersize=7, zorder=5
        )
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(_plain_number)
    return axes


def _plain_number(value: float, _position: float) -> str:
    return f"{value:g}"


def _bands(axes: Axes, low: float, high: float) -> None:
    for lower, upper, label, tint in GATE_BANDS:
        bottom, top = lower or low, upper or high
        axes.axhspan(bottom, top, color=tint, zorder=0, linewidth=0)
        axes.annotate(
            label, (1, min(top, high)), xycoords=axes.get_yaxis_transform(), xytext=(-7, -5),
            textcoords="offset points", ha="right", va="top", fontsize=8.5, color=MUTED, zorder=6,
            bbox={"facecolor": tint, "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip
    for threshold in (0.3, 1.0):
        axes.axhline(threshold, color=MUTED, linewidth=0.8, linestyle=":", zorder=1)


def _delay_line(axes: Axes, delay: int, label: str, style: str, end: str) -> None:
    axes.axvline(delay, color="#D55E00", linewidth=1.1, linestyle=style, zorder=2)
    axes.annotate(
        label, (delay, 0.02 if end == "bottom" else 0.98), xycoords=axes.get_xaxis_transform(),
        xytext=(4, 0), textcoords="offset points", ha="left", va=end, fontsize=8.5,
        color="#D55E00", zorder=6,
    )  # fmt: skip


def draw_pilot_loss(axes: Axes, plan: Mapping[str, Any], *, title: str | None = None) -> Axes:
    """Train loss along the pilot, and where the run would go on.

    Parameters
    ----------
    axes : Axes
    plan : mapping
        The ``result`` of ``dp2theory plan``.
    title : str, optional
    """
    records = plan["pilot"]["losses"]
    axes.set_title(title or "Train loss along the pilot")
    axes.set_xlabel("step")
    axes.set_ylabel("mean train loss")
    if not records:
        axes.text(0.5, 0.5, "no loss was recorded", transform=axes.transAxes, ha="center")
        axes.set_xticks([])
        axes.set_yticks([])
        return axes
    steps = [record["step"] for record in records]
    axes.plot(steps, [record["train_loss"] for record in records], color="#0072B2")
    axes.plot(steps[-1], records[-1]["train_loss"], marker="o", color="#0072B2")
    axes.annotate(
        f"switch, step {steps[-1]} of {plan['steps']}",
        (steps[-1], records[-1]["train_loss"]),
        xytext=(-6, -8), textcoords="offset points", ha="right", va="top", fontsize=9, color=MUTED,
    )  # fmt: skip
    axes.margins(y=0.15)
    return axes


def draw_runs(axes: Axes, arms: Sequence[Mapping[str, Any]], *, title: str | None = None) -> Axes:
    """Train loss against steps: each seed faint, the mean of the seeds strong.

    Parameters
    ----------
    axes : Axes
    arms : sequence of mapping
        Per method as in the ``result`` of ``dp2theory train``: ``method``, ``runs`` with
        ``loss_steps`` and ``losses``, ``mean_curve``, ``mean_train_loss``; optional ``label``.
    title : str, optional
    """
    axes.set_title(title or "Train loss")
    axes.set_xlabel("step")
    axes.set_ylabel("mean train loss")
    seen: list[float] = []
    matters: list[float] = []
    for arm in arms:
        colour = METHOD_COLOURS.get(arm["method"], MUTED)
        for run in arm["runs"]:
            axes.plot(run["loss_steps"], run["losses"], color=colour, alpha=0.25, linewidth=0.9)
        curve = arm["mean_curve"]
        if not curve["losses"]:
            continue
        axes.plot(
            curve["steps"], curve["losses"], color=colour,
            label=f"{_label(arm)}: {arm['mean_train_loss']:.4f}",
        )  # fmt: skip
        seen += curve["losses"]
        matters += [curve["losses"][0], sorted(curve["losses"])[-1 - len(curve["losses"]) // 5]]
    if seen:
        # The first adaptive phases may spike far above what matters.
        lowest, margin = min(seen), 0.15 * (max(matters) - min(seen))
        top = min(axes.get_ylim()[1], max(matters) + margin)
        axes.set_ylim(lowest - margin / 2, top)
        spikes = f" (spikes to {max(seen):.3g}, off the scale)" if max(seen) > top else ""
        axes.legend(loc="upper right", title=f"final mean{spikes}")
    return axes


def _label(arm: Mapping[str, Any]) -> str:
    return str(arm.get("label") or METHOD_NAMES.get(arm["method"], arm["method"]))


def draw_final_losses(
    axes: Axes, arms: Sequence[Mapping[str, Any]], *, title: str | None = None
) -> Axes:
    """Final losses per seed, seeds joined by lines across methods, means as bars.

    Parameters
    ----------
    axes : Axes
    arms : sequence of mapping
        As for `draw_runs`; runs are paired by position.
    title : str, optional
    """
    axes.set_title(title or "Final train loss, paired by seed")
    axes.set_ylabel("mean train loss")
    columns = [[run["train_loss"] for run in arm["runs"]] for arm in arms]
    for pair in zip(*columns, strict=False):
        axes.plot(range(len(pair)), pair, color="#b6c0c9", linewidth=0.9, zorder=1)
    for place, (arm, losses) in enumerate(zip(arms, columns, strict=True)):
        if not losses:
            continue
        colour = METHOD_COLOURS.get(arm["method"], MUTED)
        axes.plot([place] * len(losses), losses, "o", color=colour, zorder=2)
        mean = arm["mean_train_loss"]
        axes.plot([place - 0.18, place + 0.18], [mean, mean], color=colour, linewidth=2.5)
    axes.set_xticks(range(len(arms)), [_label(arm) for arm in arms])
    axes.set_xlim(-0.5, len(arms) - 0.5)
    return axes


def plan_figure(plan: Mapping[str, Any]) -> Figure:
    """Signal to noise and the pilot's loss, side by side."""
    with styled():
        figure, (left, right) = new_figure(2)
        draw_snr(left, plan)
        draw_pilot_loss(right, plan)
        return figure


def runs_figure(arms: Sequence[Mapping[str, Any]]) -> Figure:
    """Loss curves and final losses, side by side."""
    with styled():
        figure, (left, right) = new_figure(2)
        draw_runs(left, arms)
        draw_final_losses(right, arms)
        return figure


def scenes_figure(scenes: Sequence[Mapping[str, Any]]) -> Figure:
    """One row per problem: what the plan saw, the loss curves, the final losses.

    Parameters
    ----------
    scenes : sequence of mapping
        Each with ``plan`` and ``runs``, the objects that the command line prints as JSON.
    """
    with styled():
        figure, axes = new_figure(3, len(scenes), size=(15.5, 4.3 * len(scenes)))
        for row, scene in enumerate(scenes):
            left, middle, right = axes[3 * row : 3 * row + 3]
            plan, runs = scene["plan"]["result"], scene["runs"]["result"]
            name = scene["plan"]["inputs"]["problem"]["value"]
            advice = ADVICE_WORDS[plan["advice"]]
            draw_snr(left, plan, title=f"{name}: {advice}")
            arms = [runs["method"], runs["compare"]]
            spent = short(runs["epsilon"]["upper"], "upper", 3)
            draw_runs(middle, arms, title=f"{name}: train loss at ε ≤ {spent}")
            draw_final_losses(right, arms)
        return figure


def to_data_uri(figure: Figure) -> str:
    """The figure as a ``data:`` address of an SVG picture, the same bytes each time."""
    import base64

    stream = io.StringIO()
    with styled():
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode("ascii")


def plain_text(text: str) -> str:
    """Text that matplotlib does not read as a formula."""
    return text.replace("$", r"\$")


def save_png(figure: Figure, path: str | Path) -> None:
    """Write the figure as a PNG; the file appears only when it is complete."""

    def write(temporary: Path) -> None:
        with styled():
            figure.savefig(temporary, format="png")

    write_through(path, write)
