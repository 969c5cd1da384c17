"""Figure 5: train loss against the privacy budget, every method tuned anew at each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.experiments.figures.bench import Arm
from dp2theory.experiments.figures.comparison import below, compare
from dp2theory.experiments.figures.fig4 import HELD, METHODS, NOTES
from dp2theory.experiments.figures.result import FigureResult, Verdict

if TYPE_CHECKING:
    from dp2theory.experiments.figures.request import FigureRequest

#: Its heading.
TITLE = "Privacy against utility"
#: The paper's claim, in our words.
CLAIM = "At every privacy budget DP²-RMSProp's train loss is below DP-SGD's and DP-RMSProp's."
#: Budgets, where no others are given.
EPSILONS = (0.5, 1.0, 2.8, 8.0)


@dataclass(frozen=True)
class Budgets:
    """Tuned methods at several budgets.

    Attributes
    ----------
    budgets : tuple of (float, dict of method to Arm)
        In increasing order of the budget's epsilon.
    """

    budgets: tuple[tuple[float, dict[str, Arm]], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values; every arm is compared with DP-SGD at its budget."""
        return {
            "baseline": "dp-sgd",
            "budgets": [
                {
                    "target_epsilon": epsilon,
                    "arms": [arm.to_json(arms["dp-sgd"]) for arm in arms.values()],
                }
                for epsilon, arms in self.budgets
            ],
        }


def compute(request: FigureRequest) -> FigureResult:
    """Tune and run the three methods at each budget."""
    delay = request.delay_or_default()
    found = []
    for epsilon in sorted(request.epsilons or EPSILONS):
        bench = request.bench().at(target_epsilon=epsilon)
        tuned = {name: bench.tune(name, delay=delay) for name in METHODS}
        found.append((epsilon, bench.run(tuned)))
    data = Budgets(tuple(found))
    return request.result("fig5", TITLE, judge(data), data, (HELD, *NOTES), tuned=True)


def judge(data: Budgets) -> Verdict:
    """At how many budgets DP² is below both, told apart by the seeds."""
    wins, losses, words = 0, 0, []
    for epsilon, arms in data.budgets:
        dp2 = arms["dp2-rmsprop"]
        outcome = [below(dp2.against(arms[name])) for name in ("dp-sgd", "dp-rmsprop")]
        wins += all(one is True for one in outcome)
        losses += any(one is False for one in outcome)
        words.append(f"at ε = {epsilon:g} {compare(dp2, arms['dp-sgd'])}")
    count = len(data.budgets)
    holds = True if wins == count else False if losses else None
    return Verdict(
        CLAIM,
        holds,
        f"DP²-RMSProp is below both at {wins} of {count} budgets, above one of them at {losses} "
        f"(told apart by the seeds): {'; '.join(words)}.",
    )
