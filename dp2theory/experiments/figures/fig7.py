"""Figure 7: what each part of DP² is worth: the two ablations of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.experiments.figures.bench import Arm
from dp2theory.experiments.figures.comparison import below, compare
from dp2theory.experiments.figures.fig4 import NOTES as FIG4_NOTES
from dp2theory.experiments.figures.result import FigureResult, Verdict

if TYPE_CHECKING:
    from dp2theory.experiments.figures.request import FigureRequest

TITLE = "Ablations"
CLAIM = (
    "Both ablations are worse than DP²-RMSProp: noise of its own for the preconditioner at every "
    "step (1), and noise before the preconditioner (2)."
)
EXTRA_NOISE, NOISE_FIRST = "dp2-rmsprop-extra-noise", "dp2-rmsprop-noise-first"
#: Labels of the arms.
DP2 = "DP²-RMSProp"
EQUAL_NOISE = "ablation 1, equal noise"
EQUAL_PRIVACY = "ablation 1, equal privacy"
FIRST = "ablation 2, noise first"
DP_SGD = "DP-SGD"
NOTES = (
    "Ablation 1 releases two noisy sums a step. At equal noise each has DP²'s noise multiplier, "
    "and the run costs a larger ε, which is shown; at equal privacy each has more noise.",
    *FIG4_NOTES,
)


@dataclass(frozen=True)
class Ablations:
    """DP² and its ablations by label; all are compared with DP²."""

    arms: dict[str, Arm]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "baseline": DP2,
            "arms": [arm.to_json(self.arms[DP2]) for arm in self.arms.values()],
        }


def compute(request: FigureRequest) -> FigureResult:
    """Tune and run DP², the ablations and DP-SGD."""
    bench, delay = request.bench(), request.delay_or_default()
    dp2 = bench.tune("dp2-rmsprop", delay=delay)
    tuned = {
        DP_SGD: bench.base(),
        DP2: dp2,
        EQUAL_NOISE: bench.tune(EXTRA_NOISE, delay=delay, noise_multiplier=dp2.noise_multiplier),
        EQUAL_PRIVACY: bench.tune(EXTRA_NOISE, delay=delay),
        FIRST: bench.tune(NOISE_FIRST, delay=delay),
    }
    data = Ablations(bench.run(tuned))
    return request.result("fig7", TITLE, judge(data), data, NOTES, tuned=True)


def judge(data: Ablations) -> Verdict:
    """Whether DP² is below the ablations at equal privacy, told apart by the seeds."""
    dp2 = data.arms[DP2]
    outcome = [below(dp2.against(data.arms[label])) for label in (EQUAL_PRIVACY, FIRST)]
    holds = False if False in outcome else None if None in outcome else True
    words = [
        compare(data.arms[label], dp2, name=label, other=DP2)
        for label in (EQUAL_PRIVACY, FIRST, EQUAL_NOISE)
    ]
    spent = data.arms[EQUAL_NOISE].tuned.epsilon
    assert spent is not None
    words[-1] += f" at ε ≤ {spent.upper:.3g}"
    return Verdict(CLAIM, holds, "; ".join(words) + ".")
