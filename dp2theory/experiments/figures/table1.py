"""Table 1: methods that use side information beside DP², which uses none, at equal privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.experiments.figures import fig4
from dp2theory.experiments.figures.bench import Arm
from dp2theory.experiments.figures.comparison import below, compare, name_of
from dp2theory.experiments.figures.result import FigureResult, Verdict

if TYPE_CHECKING:
    from dp2theory.experiments.figures.request import FigureRequest

#: Its heading.
TITLE = "Side information"
#: The paper's claim, in our words.
CLAIM = "DP²-RMSProp needs no side information and is as good as methods that have some."
#: Public share of the records where the setting has none.
PUBLIC_SHARE = 0.01
#: "As good": within this share of the best train loss with side information.
TOLERANCE = 0.02
#: Method to what it knows besides its releases.
METHODS = {
    "dp-sgd": "nothing",
    "dp-rmsprop": "nothing",
    "dp2-rmsprop": "nothing",
    "snapshot": "nothing (pays for a release over all records)",
    "adadps": "public records",
    "adadps-statistics": "public sum of squared gradients",
    "pda-dpmd": "public records",
    "dp-adagrad-projected": "public records",
}
#: Methods that know nothing.
WITHOUT = tuple(name for name, known in METHODS.items() if known.startswith("nothing"))


@dataclass(frozen=True)
class SideInformation:
    """Tuned methods with what they know; all are compared with DP-SGD.

    Attributes
    ----------
    arms : dict of method to Arm
    refused : dict of method to str
        Methods that cannot run on this problem, with the reason.
    public_records : int
    """

    arms: dict[str, Arm]
    refused: dict[str, str]
    public_records: int

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "baseline": "dp-sgd",
            "arms": [
                arm.to_json(self.arms["dp-sgd"]) | {"side_information": METHODS[name]}
                for name, arm in self.arms.items()
            ],
            "refused": self.refused,
            "public_records": self.public_records,
        }


def compute(request: FigureRequest) -> FigureResult:
    """Tune and run all methods on the private part of the records."""
    share = request.setting.public_share or PUBLIC_SHARE
    request = request.on(public_share=share)
    bench, delay = request.bench(), request.delay_or_default()
    tuned, refused = {}, {}
    for name in METHODS:
        try:
            tuned[name] = bench.tune(name, delay=delay)
        except (ValueError, ArithmeticError) as error:
            # Not every method suits every problem, but the three of the other figures do.
            if name in fig4.METHODS:
                raise
            refused[name] = " ".join(str(error).split())
    setting = request.setting
    private = setting.load().dataset_size
    data = SideInformation(bench.run(tuned), refused, round(private * share / (1 - share)))
    notes = (
        f"{share:.1%} of the records are public; n counts the others, on which every method runs "
        "and which ε protects. Public records are drawn from the same data: the friendliest case.",
        fig4.HELD,
        *fig4.NOTES,
    )
    return request.result("table1", TITLE, judge(data), data, notes, tuned=True)


def judge(data: SideInformation) -> Verdict:
    """DP² against the best of those with side information."""
    dp2 = data.arms["dp2-rmsprop"]
    informed = [arm for name, arm in data.arms.items() if name not in WITHOUT]
    against = compare(dp2, data.arms["dp-sgd"])
    if not informed:
        return Verdict(CLAIM, None, f"No method with side information runs here; {against}.")
    best = min(informed, key=lambda arm: arm.mean.value)
    paired = dp2.against(best)
    holds: bool | None = None
    if paired is not None and paired.ratio_interval is not None:
        if paired.ratio_interval.upper <= 1 + TOLERANCE:
            holds = True
        elif paired.ratio_interval.lower > 1 + TOLERANCE:
            holds = False
    text = f"{compare(dp2, best)}, the best with side information; {against}"
    if "snapshot" in data.arms:
        snapshot = data.arms["snapshot"]
        text += f"; {compare(snapshot, data.arms['dp-sgd'])}"
        if below(snapshot.against(dp2)):
            text += f" and better than {name_of('dp2-rmsprop')}"
    return Verdict(CLAIM, holds, text + ".")
