"""Figure 3: h(s) over the delay s, beside what noise alone predicts and what the theorems say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dp2theory.experiments.figures.result import NOT_COVERED, FigureResult, Verdict
from dp2theory.experiments.figures.staleness import (
    NOISE_DOMINATES,
    Staleness,
    staleness,
    trace_run,
)
from dp2theory.experiments.tuned import delay_grid
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.planning.methods import Settings, make_optimizer

if TYPE_CHECKING:
    from dp2theory.experiments.figures.request import FigureRequest

TITLE = "h(s): gradients against the averaged gradient that scales them"
CLAIM = "h(s) grows with the delay s, at most linearly (h(s) <= c1 + c2 s)."
#: The noise-only prediction holds when it is this near, where noise dominates.
TOLERANCE = 0.10
THEOREMS = {
    "h": "dp2.h.definition",
    "folded_normal": "dp2.h.folded-normal",
    "bounds": "dp2.h.bounds",
    "saturation": "dp2.h.saturation",
    "claim": "dp2.h.linear",
}
NOTES = (
    "DP²-RMSProp runs with its documented default step sizes, untuned; h(s) depends on them.",
    "Measured from raw clipped gradients on the run's own batches: h(s) is no release, and the "
    "largest of measured ratios overestimates it when runs are few.",
    "The folded normal and its band put the measured means into the theorems. They are exact where "
    "the means do not depend on the noise of their phase; in a run they do, a little.",
    "The saturation bound C/(damping sqrt(d)) of dp2.h.saturation is far off the scale at this "
    "damping; it is in the data.",
)


@dataclass(frozen=True)
class DelayRatios:
    """h(s) at several delays.

    Attributes
    ----------
    optimizer : dict
        Settings of the runs, without the delay.
    epsilon : dict
        Bracket of one run.
    points : tuple of Staleness
        In increasing order of the delay.
    """

    optimizer: dict[str, Any]
    epsilon: dict[str, float]
    points: tuple[Staleness, ...]

    @property
    def slope(self) -> float | None:
        """Least-squares slope of log h against log s; None for a single delay."""
        if len(self.points) < 2:
            return None
        x, y = (np.log([getattr(point, name) for point in self.points])
                for name in ("delay", "measured"))  # fmt: skip
        return float(np.polyfit(x, y, 1)[0])

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "optimizer": self.optimizer,
            "epsilon": self.epsilon,
            "theorems": THEOREMS,
            "slope": self.slope,
            "points": [point.to_json() for point in self.points],
        }


def compute(request: FigureRequest) -> FigureResult:
    """Measure h(s) on runs of DP²-RMSProp, some per delay."""
    setting = request.setting
    steps = setting.run_steps
    calibration = setting.budget().calibrate()
    delays = request.delays_or(delay_grid(steps))
    optimizers = {delay: _optimizer(delay, calibration.noise_multiplier, steps) for delay in delays}
    items = [(setting, optimizers[s], seed) for s in optimizers for seed in request.seeds]
    traces = request.map("measuring h(s)", trace_run, items)
    count = len(request.seeds)
    points = tuple(
        staleness(setting, optimizer, traces[place * count : (place + 1) * count])
        for place, optimizer in enumerate(optimizers.values())
    )
    first = next(iter(optimizers.values()))
    names = (
        "learning_rate", "clip_norm", "adaptive_learning_rate", "preconditioned_clip_norm",
        "noise_multiplier", "ema", "damping",
    )  # fmt: skip
    data = DelayRatios(
        {name: getattr(first, name) for name in names}, calibration.epsilon.to_json(), points
    )
    return request.result("fig3", TITLE, judge(data), data, (*NOTES, NOT_COVERED), tuned=False)


def _optimizer(delay: int, noise_multiplier: float, steps: int) -> Dp2RmsProp:
    made = make_optimizer(
        "dp2-rmsprop", Settings(delay=delay), noise_multiplier=noise_multiplier, steps=steps
    )
    assert isinstance(made, Dp2RmsProp)
    return made


def judge(data: DelayRatios) -> Verdict:
    """Whether h grows from the shortest to the longest delay, and how near the prediction is."""
    points = data.points
    first, last = points[0], points[-1]
    noisy = [point for point in points if point.signal_to_noise_attained < NOISE_DOMINATES]
    if noisy:
        worst = max(abs(point.noise_only_error) for point in noisy)
        where = f"at the {len(noisy)} delays with signal/noise below {NOISE_DOMINATES:g} there"
        prediction = f"noise alone predicts h within {100 * worst:.1f} % {where}"
    else:
        lowest = min(point.signal_to_noise_attained for point in points)
        prediction = (
            f"noise dominates nowhere where h is attained (signal/noise at least {lowest:.2g}), "
            "so that noise alone predicts nothing here"
        )
    if len(points) < 2:
        return Verdict(CLAIM, None, f"h({first.delay}) = {first.measured:.3g}; {prediction}.")
    top = max(points, key=lambda point: point.measured)
    holds: bool | None = None
    if first.upper is not None and last.lower is not None and last.upper is not None:
        assert first.lower is not None
        if last.lower > first.upper:
            holds = data.slope is not None and data.slope <= 1
        elif last.upper < first.lower:
            holds = False
    if holds is None:
        move = "is not seen to grow or fall"
    else:
        move = "grows" if last.measured > first.measured else "falls"
    text = (
        f"h(s) {move} from s = {first.delay} ({first.measured:.3g}) to s = {last.delay} "
        f"({last.measured:.3g}), largest {top.measured:.3g} at s = {top.delay}, log-log slope "
        f"{data.slope:.2f}; {prediction}."
    )
    return Verdict(CLAIM, holds, text)
