"""Figure 4: learning curves at equal privacy, every method tuned by its fixed grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.experiments.figures.bench import Arm
from dp2theory.experiments.figures.comparison import compare, decided, name_of
from dp2theory.experiments.figures.result import INTERVALS, NOT_COVERED, FigureResult, Verdict
from dp2theory.optimizers.tuning import NOT_ACCOUNTED

if TYPE_CHECKING:
    from dp2theory.experiments.figures.request import FigureRequest

#: Its heading.
TITLE = "Learning curves at equal privacy"
#: The paper's claim, in our words.
CLAIM = (
    "At equal privacy DP²-RMSProp reaches a lower train loss than DP-SGD and DP-RMSProp, and "
    "gets there sooner."
)
#: What is compared, in the order of the legend.
METHODS = ("dp-sgd", "dp-rmsprop", "dp2-rmsprop")
#: What is said of it besides.
NOTES = (INTERVALS, NOT_ACCOUNTED, NOT_COVERED)
#: Said where no delay is given.
HELD = "DP²'s delay is T // 40 unless one is given; fig6 shows what other delays do."


@dataclass(frozen=True)
class Curves:
    """Tuned methods with their curves, all compared with the first, DP-SGD.

    Attributes
    ----------
    arms : tuple of Arm
    steps : int
        Steps of a run.
    reached : int or None
        First recorded step at which DP²-RMSProp's mean loss is at most DP-SGD's last; None if
        it never is.
    """

    arms: tuple[Arm, ...]
    steps: int
    reached: int | None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "baseline": self.arms[0].label,
            "arms": [arm.to_json(self.arms[0]) for arm in self.arms],
            "steps": self.steps,
            "dp2_reaches_dp_sgd_at": self.reached,
        }


def compute(request: FigureRequest) -> FigureResult:
    """Tune and run the three methods."""
    bench = request.bench()
    delay = request.delay_or_default()
    tuned = {name: bench.tune(name, delay=delay) for name in METHODS}
    arms = bench.run(tuned, curves=True)
    data = Curves(
        tuple(arms.values()),
        request.setting.run_steps,
        first_reached(arms["dp2-rmsprop"], arms["dp-sgd"]),
    )
    return request.result("fig4", TITLE, judge(data), data, (HELD, *NOTES), tuned=True)


def first_reached(ours: Arm, theirs: Arm) -> int | None:
    """First recorded step, after the start, at which our mean loss is at most their last."""
    curve, other = ours.curve(), theirs.curve()
    if not other["losses"] or "inf" in (other["losses"][-1], *curve["losses"]):
        return None
    goal = other["losses"][-1]
    pairs = zip(curve["steps"], curve["losses"], strict=True)
    return next((step for step, loss in pairs if step and loss <= goal), None)


def judge(data: Curves) -> Verdict:
    """Whether DP² is below both others, told apart by the seeds."""
    by_method = {arm.tuned.method: arm for arm in data.arms}
    dp2, others = by_method["dp2-rmsprop"], [by_method["dp-sgd"], by_method["dp-rmsprop"]]
    text = "; ".join(compare(dp2, other) for other in others)
    if data.reached is not None:
        text += (
            f"; it reaches {name_of('dp-sgd')}'s last loss at step {data.reached} of {data.steps} "
            f"({data.steps / data.reached:.1f} times sooner)"
        )
    else:
        text += f"; it does not reach {name_of('dp-sgd')}'s last loss"
    return Verdict(CLAIM, decided([dp2.against(other) for other in others]), text + ".")
