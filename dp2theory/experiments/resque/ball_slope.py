"""Steps of ball acceleration against R/r: with bisection, without it, and of the oracle alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dp2theory.experiments.resque.request import ResqueRequest
from dp2theory.experiments.resque.result import Gate, ResqueResult, ResqueVerdict
from dp2theory.resque.slopes import COUNTS, RATIOS, SLOPE_FUNCTIONS, SlopeStudy, slope_study

#: Its heading.
TITLE = "Steps of ball acceleration against R/r"
#: What is checked.
CLAIM = (
    "Ball acceleration needs about (R/r)^(2/3) steps, with bisection never more than its proved "
    "bound, and about as many without bisection, where the ball oracle alone needs R/r."
)
#: What stands below the picture.
CAPTION = (
    "Our runs with exact oracles on f = max |x_i - c_i| and f = sum w_i |x_i - c_i| in "
    "{dimension} dimensions, until f - f* is {share:.0%} of what it was; centres decay as "
    "i^(-1/2) or are flat. The bound is that of theorem resque.ball.count on accepted steps of "
    "the method with bisection; of the method without bisection only the fall of the potential "
    "is proved, its count is measured. 2/3 is the exponent of the worst function."
)
#: What is said of it besides.
NOTES = (
    "Two searches for the multiplier: the floor is tried first in every step, or the search begins "
    "at the last multiplier (fewer calls).",
)
#: Sizes of the runs, where no others are asked for.
SIZES: dict[str, Any] = {
    "functions": SLOPE_FUNCTIONS,
    "ratios": RATIOS,
    "dimension": 400,
    "relative_accuracy": 0.02,
}
#: Where slopes must lie: 2/3 is a worst case, and counts are whole numbers.
STEP_SLOPES = (0.45, 0.75)
#: Between which the slope of the oracle alone in R/r must be.
NAIVE_SLOPES = (0.95, 1.05)
#: Slopes that are gated, with what they are of.
STEPS = {
    "accepted": "accepted steps",
    "leaping_accepted": "accepted steps, search from the last multiplier",
    "bisection_free": "steps without bisection",
}
#: Rounding of a potential of size 1/2.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Slopes:
    """The study with its slopes.

    Attributes
    ----------
    study : SlopeStudy
    """

    study: SlopeStudy

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions in the order of their rows."""
        return tuple(dict.fromkeys(row.function for row in self.study.rows))

    def slopes(self, count: str) -> dict[str, float]:
        """Function -> slope of log count against log R/r."""
        return {function: self.study.slope(function, count) for function in self.functions}

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**self.study.to_json(), "slopes": {count: self.slopes(count) for count in COUNTS}}


def compute(request: ResqueRequest) -> ResqueResult:
    """Count steps at shrinking radii, function by function."""
    sizes = request.sized(SIZES)
    ratios, options = sizes["ratios"], (sizes["dimension"], sizes["relative_accuracy"])
    items = [(name, tuple(ratios), *options) for name in sizes["functions"]]
    parts = request.map("counting steps", study_of, items)
    rows = tuple(row for part in parts for row in part.rows)
    data = Slopes(replace(parts[0], rows=rows))
    caption = CAPTION.format(dimension=sizes["dimension"], share=sizes["relative_accuracy"])
    return ResqueResult("ball-slope", TITLE, judge(data), data, caption, notes=NOTES)


def study_of(
    function: str, ratios: Sequence[float], dimension: int, relative_accuracy: float
) -> SlopeStudy:
    """The study of one function; a process can be told of it."""
    return slope_study([function], ratios, dimension=dimension, relative_accuracy=relative_accuracy)


def judge(data: Slopes) -> ResqueVerdict:
    """Gate by gate: slopes, the proved bound, the potential, what was reached."""
    return ResqueVerdict(
        CLAIM,
        (
            *(slope_gate(words, data.slopes(count), STEP_SLOPES) for count, words in STEPS.items()),
            slope_gate("steps of the oracle alone", data.slopes("naive"), NAIVE_SLOPES),
            bound_gate(data),
            potential_gate(data),
            reached_gate(data),
        ),
    )


def slope_gate(words: str, slopes: dict[str, float], allowed: tuple[float, float]) -> Gate:
    """Every slope is in the band."""
    low, high = allowed
    return Gate(
        f"slope of {words} in [{low:g}, {high:g}]",
        all(low <= slope <= high for slope in slopes.values()),
        ", ".join(f"{function} {slope:.3f}" for function, slope in slopes.items()),
    )


def bound_gate(data: Slopes) -> Gate:
    """No run accepts more steps than the proved bound."""
    rows = data.study.rows
    worst = max(max(row.accepted, row.leaping_accepted) / row.bound for row in rows)
    free = max(row.bisection_free / row.bound for row in rows)
    return Gate(
        "accepted steps at most the proved bound", worst <= 1,
        f"at most {worst:.3f} of it in {2 * len(rows)} runs (without bisection, where no bound is "
        f"proved, {free:.3f})",
    )  # fmt: skip


def potential_gate(data: Slopes) -> Gate:
    """The potential falls in every step, and by what the theorems promise."""
    rise = max(max(row.potential_rise, row.free_potential_rise) for row in data.study.rows)
    excess = max(row.promise_excess for row in data.study.rows)
    return Gate(
        "the potential falls in every step", rise <= ROUNDING and excess <= ROUNDING,
        f"largest change {rise:.2g}, falls short of its promise by at most {excess:.1g}",
    )  # fmt: skip


def reached_gate(data: Slopes) -> Gate:
    """Every run ends with the accuracy asked for."""
    worst = max(row.final_gap / row.accuracy for row in data.study.rows)
    return Gate("f - f* at most the accuracy at the end", worst <= 1, f"at most {worst:.3f} of it")
