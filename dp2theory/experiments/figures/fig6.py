"""Figure 6: the effect of the delay s, with DP-SGD and the delay that the planner advises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.experiments.figures.bench import Arm
from dp2theory.experiments.figures.comparison import below, compare
from dp2theory.experiments.figures.fig4 import NOTES as FIG4_NOTES
from dp2theory.experiments.figures.result import FigureResult, Verdict
from dp2theory.experiments.tuned import delay_grid
from dp2theory.planning.plan import make_plan

if TYPE_CHECKING:
    from dp2theory.experiments.figures.request import FigureRequest
    from dp2theory.planning.plan import Plan

#: Its heading.
TITLE = "Effect of the delay"
#: The paper's claim, in our words.
CLAIM = (
    "An interior delay s is best: with shorter ones too little noise is averaged away, with longer "
    "ones the preconditioner is stale."
)
#: What is said of it besides.
NOTES = (
    "DP² is tuned anew at every s, so that its step sizes suit the delay.",
    "The planner's advice is that of a pilot with `dp2theory plan`'s default clip norm and step; "
    "the pilot of the picture is thrown away, and its releases are not in the ε shown.",
    *FIG4_NOTES,
)


@dataclass(frozen=True)
class Delays:
    """DP² over s, DP-SGD, and the planner's advice.

    Attributes
    ----------
    delays : tuple of (int, Arm)
        In increasing order of s.
    dp_sgd : Arm
    plan : Plan
    """

    delays: tuple[tuple[int, Arm], ...]
    dp_sgd: Arm
    plan: Plan

    @property
    def best(self) -> tuple[int, Arm]:
        """The delay with the smallest mean loss."""
        return min(self.delays, key=lambda pair: pair[1].mean.value)

    @property
    def advised(self) -> Arm:
        """What the planner's advice runs: DP² at its delay, or DP-SGD."""
        recommended = self.plan.verdict.recommended_delay
        return self.dp_sgd if recommended is None else dict(self.delays)[recommended]

    @property
    def regret(self) -> float | None:
        """Loss of the advised run over that of the best of all, minus 1; None if that is inf."""
        best = min(self.best[1].mean.value, self.dp_sgd.mean.value)
        value = self.advised.mean.value
        return value / best - 1 if math.isfinite(value) and math.isfinite(best) else None

    def to_json(self) -> dict[str, Any]:
        """Plain values; every arm is compared with DP-SGD."""
        verdict = self.plan.verdict
        return {
            "baseline": self.dp_sgd.label,
            "dp_sgd": self.dp_sgd.to_json(),
            "delays": [
                {"delay": delay, "arm": arm.to_json(self.dp_sgd)} for delay, arm in self.delays
            ],
            "best_delay": self.best[0],
            "planner": {
                "advice": verdict.advice,
                "delay": verdict.recommended_delay,
                "default_delay": verdict.default_delay,
                "snr_at_default_delay": verdict.snr_at_default_delay,
                "reason": verdict.reason,
                "regret": self.regret,
            },
        }


def compute(request: FigureRequest) -> FigureResult:
    """Ask the planner, tune and run DP² at every delay, the planner's among them."""
    setting, bench = request.setting, request.bench()
    plan = make_plan(setting.budget(), setting.load(), seed=request.seeds[0])
    advised = plan.verdict.recommended_delay
    delays = request.delays_or(delay_grid(setting.run_steps))
    if advised is not None:
        delays = sorted({*delays, advised})
    tuned = {f"s = {s}": one for s, one in zip(delays, bench.tune_delays("dp2-rmsprop", delays),
                                               strict=True)}  # fmt: skip
    arms = bench.run({"dp-sgd": bench.base(), **tuned})
    data = Delays(tuple((s, arms[f"s = {s}"]) for s in delays), arms["dp-sgd"], plan)
    return request.result("fig6", TITLE, judge(data), data, NOTES, tuned=True)


def judge(data: Delays) -> Verdict:
    """Whether the best delay lies inside the range, and both ends are worse than it."""
    best_delay, best = data.best
    first, last = data.delays[0], data.delays[-1]
    inside = best_delay not in (first[0], last[0])
    # With a divergent end there is no paired comparison, and no doubt either.
    worse = [
        True if math.isinf(end.mean.value) and math.isfinite(best.mean.value)
        else below(best.against(end))
        for _, end in (first, last)
    ]  # fmt: skip
    holds = False if not inside else True if all(worse) else None
    if inside:
        place = "inside the range" + ("" if holds else ", not told apart from one of the ends")
    else:
        place = "at an end of the range"
    clause = compare(best, data.dp_sgd, name="there DP²-RMSProp")
    text = f"The best of s = {first[0]} … {last[0]} is s = {best_delay}, {place}; {clause}"
    recommended = data.plan.verdict.recommended_delay
    advised = "DP-SGD" if recommended is None else f"s = {recommended}"
    regret = "" if data.regret is None else f", {100 * data.regret:.1f} % above the best of all"
    return Verdict(CLAIM, holds, f"{text}; the planner advises {advised}{regret}.")
