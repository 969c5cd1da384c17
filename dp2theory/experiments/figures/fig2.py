"""Figure 2: RMSProp that renews its preconditioner rarely, against RMSProp, without noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from dp2theory.experiments.figures.bench import Arm, Bench
from dp2theory.experiments.figures.result import INTERVALS, FigureResult, Verdict
from dp2theory.experiments.figures.statistics import percent, percent_interval
from dp2theory.experiments.tasks import Task, run_tasks
from dp2theory.experiments.tuned import SCREENING_SEEDS, Candidate, Tuned

if TYPE_CHECKING:
    from dp2theory.experiments.figures.request import FigureRequest

#: Its heading.
TITLE = "Delayed RMSProp against RMSProp, without noise"
#: The paper's claim, in our words.
CLAIM = (
    "Without noise, RMSProp with a preconditioner that is renewed only every s steps trains about "
    "as well as RMSProp, for a wide range of s."
)
#: "About as well": within this share of RMSProp's train loss.
TOLERANCE = 0.05
#: Delays, as divisors of the number of steps.
DIVISORS = (160, 40, 20, 10)
#: The grid of SGD.
SGD_LEARNING_RATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
#: The grid of RMSProp.
RMSPROP_LEARNING_RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
#: Times the learning rates that were found for SGD and for RMSProp.
SGD_FACTORS = (0.1, 0.3, 1.0)
#: Learning rates of the adaptive phases over the tuned RMSProp's.
ADAPTIVE_FACTORS = (0.1, 0.3, 0.5, 1.0)
#: What is said of it besides.
NOTES = (
    "Each method and each delay was tuned by a fixed grid on seeds of its own: SGD's and "
    "RMSProp's learning rate, and around them those of the two kinds of phases.",
    "There is no clipping and no noise: no privacy at all (ε is infinite).",
    INTERVALS,
)


@dataclass(frozen=True)
class Delayed:
    """RMSProp, SGD, and delayed RMSProp at several delays.

    Attributes
    ----------
    rmsprop, sgd : Arm
    delayed : tuple of (int, Arm)
        Delay in steps, and its arm.
    """

    rmsprop: Arm
    sgd: Arm
    delayed: tuple[tuple[int, Arm], ...]

    @property
    def arms(self) -> tuple[Arm, ...]:
        """All of them, RMSProp first."""
        return (self.rmsprop, *(arm for _, arm in self.delayed), self.sgd)

    def to_json(self) -> dict[str, Any]:
        """Plain values; every arm is compared with RMSProp."""
        return {
            "baseline": self.rmsprop.label,
            "delays": [delay for delay, _ in self.delayed],
            "arms": [arm.to_json(self.rmsprop) for arm in self.arms],
        }


def compute(request: FigureRequest) -> FigureResult:
    """Tune SGD, RMSProp, and delayed RMSProp at each delay; run them on the seeds."""
    bench, steps = request.bench(), request.setting.run_steps
    delays = request.delays_or([max(1, steps // one) for one in DIVISORS])
    sgd = _best(bench, "sgd", [{"learning_rate": rate} for rate in SGD_LEARNING_RATES])
    rmsprop = _best(bench, "rmsprop", [{"learning_rate": rate} for rate in RMSPROP_LEARNING_RATES])
    tuned = {"RMSProp": rmsprop}
    labels = {delay: f"delayed RMSProp, s = {delay}" for delay in delays}
    for delay, label in labels.items():
        grid = [
            {
                "learning_rate": first * sgd.settings["learning_rate"],
                "adaptive_learning_rate": second * rmsprop.settings["learning_rate"],
                "delay": delay,
            }
            for first in SGD_FACTORS
            for second in ADAPTIVE_FACTORS
        ]
        tuned[label] = _best(bench, "delayed-rmsprop", grid)
    arms = bench.run(tuned | {"SGD": sgd}, curves=True)
    data = Delayed(
        arms["RMSProp"], arms["SGD"], tuple((delay, arms[labels[delay]]) for delay in labels)
    )
    return request.result("fig2", TITLE, judge(data), data, NOTES, tuned=True)


def _best(bench: Bench, method: str, grid: Sequence[dict[str, Any]]) -> Tuned:
    """The configuration with the smallest mean loss: all on two seeds, the best of them on all."""
    seeds = bench.tune_seeds
    table = _losses(bench, method, grid, seeds[:SCREENING_SEEDS])
    if len(seeds) > SCREENING_SEEDS and bench.finalists is not None:
        chosen = sorted(table, key=lambda row: row.mean_loss)[: bench.finalists]
        more = _losses(bench, method, [row.settings for row in chosen], seeds[SCREENING_SEEDS:])
        final = [
            Candidate(row.settings, 0.0, row.losses + rest.losses)
            for row, rest in zip(chosen, more, strict=True)
        ]
    else:
        final = table
    best = min(final, key=lambda row: row.mean_loss)
    if math.isinf(best.mean_loss):
        raise ArithmeticError(f"every {method} configuration diverged on {bench.setting.problem}")
    return Tuned(bench.setting, method, best.settings, 0.0, None, tuple(table), seeds)


def _losses(
    bench: Bench, method: str, grid: Sequence[Mapping[str, Any]], seeds: Sequence[int]
) -> list[Candidate]:
    tasks = [Task(bench.setting, method, one, 0.0, seed) for one in grid for seed in seeds]
    results = run_tasks(
        tasks,
        executor=bench.executor,
        store=bench.store,
        progress=bench.counting(f"tuning {method}"),
    )
    losses = iter([math.inf if one.diverged else one.final_loss for one in results])
    return [Candidate(one, 0.0, tuple(islice(losses, len(seeds)))) for one in grid]


def judge(data: Delayed) -> Verdict:
    """Whether delayed RMSProp is within `TOLERANCE` of RMSProp at every delay, and where it is."""
    words: list[str] = []
    near: list[int] = []
    far: list[int] = []
    for delay, arm in data.delayed:
        paired = arm.against(data.rmsprop)
        if paired is None:
            words.append(f"s = {delay}: a run diverged")
            far.append(delay)
            continue
        (near if paired.ratio <= 1 + TOLERANCE else far).append(delay)
        shown = percent(paired.ratio)
        if paired.ratio_interval is not None:
            interval = paired.ratio_interval
            shown += f" {percent_interval(interval.lower, interval.upper)}"
        words.append(f"s = {delay}: {shown}")
    if not far:
        start = f"Delayed RMSProp is within {TOLERANCE:.0%} of RMSProp at every delay tried"
    elif near:
        start = (
            f"Delayed RMSProp is within {TOLERANCE:.0%} of RMSProp at s = "
            f"{', '.join(map(str, near))}, not at s = {', '.join(map(str, far))}"
        )
    else:
        start = f"Delayed RMSProp is within {TOLERANCE:.0%} of RMSProp at no delay tried"
    text = f"{start} (train loss against RMSProp: {'; '.join(words)})."
    return Verdict(CLAIM, not far, text)
