"""Figure 7: what each part of DP² is worth: the two ablations of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.digits import short
from dp2theory.experiments.figures.bench import Arm
from dp2theory.experiments.figures.comparison import below, compare
from dp2theory.experiments.figures.fig4 import NOTES as FIG4_NOTES
from dp2theory.experiments.figures.result import FigureResult, Verdict
from dp2theory.experiments.tuned import delay_grid

if TYPE_CHECKING:
    from dp2theory.experiments.figures.request import FigureRequest

#: Its heading.
TITLE = "Ablations"
#: The paper's claim, in our words.
CLAIM = (
    "Both ablations are worse than DP²-RMSProp: noise of its own for the preconditioner at every "
    "step (1), and noise before the preconditioner (2)."
)
#: The ablations, as the registry names them.
EXTRA_NOISE, NOISE_FIRST = "dp2-rmsprop-extra-noise", "dp2-rmsprop-noise-first"
#: Labels of the arms.
DP2 = "DP²-RMSProp"
#: Their arms, as the figure names them.
EQUAL_NOISE = "ablation 1, equal noise"
#: Ablation 1 with more noise, so that its ε is DP²'s.
EQUAL_PRIVACY = "ablation 1, equal privacy"
#: Ablation 2.
FIRST = "ablation 2, noise first"
#: What all are drawn beside.
DP_SGD = "DP-SGD"
#: Delays that DP² is tuned at, as divisors of the number of steps.
DIVISORS = (160, 80, 40, 20)
#: What is said of it besides.
NOTES = (
    "All have the delay that is best for DP² on the tuning seeds; another delay might suit an "
    "ablation better.",
    "Ablation 1 releases two noisy sums a step. At equal noise each has DP²'s noise multiplier, "
    "and the run costs a larger ε, which is shown; at equal privacy each has more noise.",
    *FIG4_NOTES,
)


@dataclass(frozen=True)
class Ablations:
    """DP² and its ablations by label, all with one delay; all are compared with DP².

    Attributes
    ----------
    arms : dict of label to Arm
    delay : int
        The delay that is best for DP² on the tuning seeds.
    tried : tuple of int
        Delays that it was chosen from.
    """

    arms: dict[str, Arm]
    delay: int
    tried: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "baseline": DP2,
            "delay": self.delay,
            "delays_tried": list(self.tried),
            "arms": [arm.to_json(self.arms[DP2]) for arm in self.arms.values()],
        }


def compute(request: FigureRequest) -> FigureResult:
    """Tune DP² at some delays; tune the ablations at the best of them; run all and DP-SGD."""
    bench, steps = request.bench(), request.setting.run_steps
    delays = request.delays_or(delay_grid(steps, DIVISORS))
    dp2 = min(bench.tune_delays("dp2-rmsprop", delays), key=lambda one: one.mean_loss)
    delay = dp2.delay
    assert delay is not None
    tuned = {
        DP_SGD: bench.base(),
        DP2: dp2,
        EQUAL_NOISE: bench.tune(EXTRA_NOISE, delay=delay, noise_multiplier=dp2.noise_multiplier),
        EQUAL_PRIVACY: bench.tune(EXTRA_NOISE, delay=delay),
        FIRST: bench.tune(NOISE_FIRST, delay=delay),
    }
    data = Ablations(bench.run(tuned), delay, tuple(delays))
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
    words[-1] += f" at ε ≤ {short(spent.upper, 'upper', 3)}"
    return Verdict(CLAIM, holds, f"At s = {data.delay}, " + "; ".join(words) + ".")
