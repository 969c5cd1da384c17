"""Picture of second moments along a run (Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dp2theory.digits import short
from dp2theory.report.figure_common import SEQUENCE, heading
from dp2theory.report.plots import new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_moments(
    axes: Axes,
    data: Mapping[str, Any],
    rows: Sequence[Sequence[float]],
    *,
    title: str,
    noise: float | None = None,
) -> Axes:
    """v over coordinates, one curve per checkpoint.

    Parameters
    ----------
    axes : Axes
    data : mapping
        With ``ranks`` and ``checkpoints``.
    rows : sequence of sequence of float
        ``plain`` or ``noisy``.
    title : str
    noise : float, optional
        What noise alone adds to v, drawn as a line.
    """
    axes.set_title(title)
    axes.set_xlabel("coordinate, sorted by v at the first checkpoint without noise")
    axes.set_ylabel("second moment v")
    axes.set_yscale("log", nonpositive="mask")
    for place, (step, row) in enumerate(zip(data["checkpoints"], rows, strict=True)):
        axes.plot(
            data["ranks"], row, color=SEQUENCE[min(place, len(SEQUENCE) - 1)], linewidth=1.0,
            label=f"step {step}",
        )  # fmt: skip
    if noise is not None:
        axes.axhline(noise, color="#D55E00", linestyle="--", linewidth=1.2, label="noise alone")
    axes.legend(loc="lower right")
    return axes


def moments_figure(result: Mapping[str, Any]) -> Figure:
    """Without noise on the left, with noise on the right, on one scale."""
    data = result["data"]
    with styled():
        figure, (left, right) = new_figure(2, size=(12.8, 5.0))
        draw_moments(left, data, data["plain"], title="RMSProp, without noise")
        draw_moments(
            right,
            data,
            data["noisy"],
            title=f"DP-RMSProp, ε ≤ {short(data['epsilon']['upper'], 'upper', 3)}",
            noise=data["noise_variance"],
        )
        positive = [v for row in (*data["plain"], *data["noisy"]) for v in row if v > 0]
        if positive:
            low, high = min(positive), max(positive)
            for axes in (left, right):
                axes.set_ylim(max(low, high * 1e-14) / 2, high * 2)
        heading(figure, result, width=170)
        return figure
