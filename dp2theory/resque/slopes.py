"""How the steps of ball acceleration grow as balls shrink, beside iteration of the oracle alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dp2theory.problems.validation import positive_real, real_in, whole_number
from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.ball_oracle import ExactBallOracle, ProximalOracle
from dp2theory.resque.ball_potential import accepted_bound, check_potential, potential
from dp2theory.resque.ball_run import Step
from dp2theory.resque.bisection_free import FreeStep, accelerate_without_bisection
from dp2theory.resque.counters import Counter
from dp2theory.resque.distances import MaxDistance, WeightedDistance
from dp2theory.resque.fit import log_slope
from dp2theory.resque.functions import Array
from dp2theory.resque.naive import iterate_oracle
from dp2theory.resque.named_functions import function_named

#: Functions whose minimiser and proximal map are known.
SLOPE_FUNCTIONS = ("max", "max-flat", "l1", "l1-flat")
#: R/r of the runs.
RATIOS = (32.0, 64.0, 128.0, 256.0, 512.0)
#: What can be counted.
COUNTS = ("accepted", "calls", "leaping_accepted", "leaping_calls", "bisection_free", "naive")


@dataclass(frozen=True)
class SlopeRow:
    """Counts for one function and one radius, until f - f* is at most `accuracy`.

    Attributes
    ----------
    function : str
    ratio : float
        R/r.
    accuracy : float
    accepted, calls : int
        Accepted steps and calls of the proximal oracle, the floor tried first in every step.
    leaping_accepted, leaping_calls : int
        The same for a search that begins at the last multiplier.
    bisection_free : int
        Calls of the ball oracle without bisection; each is a step.
    naive : int or None
        Calls of the ball oracle on its own answer; None where not run.
    bound : float
        Of the accepted steps (resque.ball.count).
    potential_rise, free_potential_rise : float
        Largest change of the potential in a step, with bisection (both searches) and without; <= 0
        up to rounding.
    promise_excess : float
        Largest amount, over all steps of the three runs, by which the potential fell less than the
        theorems say; <= 0 up to rounding.
    final_gap : float
        Largest f - f* that a run ended with.
    """

    function: str
    ratio: float
    accuracy: float
    accepted: int
    calls: int
    leaping_accepted: int
    leaping_calls: int
    bisection_free: int
    naive: int | None
    bound: float
    potential_rise: float
    free_potential_rise: float
    promise_excess: float
    final_gap: float


@dataclass(frozen=True)
class SlopeStudy:
    """What `slope_study` returns.

    Attributes
    ----------
    rows : tuple of SlopeRow
        One for every function and ratio, in the order asked for.
    dimension : int
    relative_accuracy : float
        Accuracy over the first suboptimality.
    warm_start : bool
    """

    rows: tuple[SlopeRow, ...]
    dimension: int
    relative_accuracy: float
    warm_start: bool

    def counts(self, function: str, count: str) -> tuple[Array, Array]:
        """Return ratios and counts of one function, where it was counted."""
        if count not in COUNTS:
            raise ValueError(f"count={count!r} must be one of {', '.join(COUNTS)}")
        rows = [each for each in self.rows if each.function == function]
        if not rows:
            known = ", ".join(dict.fromkeys(each.function for each in self.rows))
            raise ValueError(f"function={function!r} must be one of {known}")
        pairs = [(each.ratio, getattr(each, count)) for each in rows]
        table = np.array([pair for pair in pairs if pair[1] is not None], dtype=float)
        table = table.reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def slope(self, function: str, count: str) -> float:
        """Return the slope of log count against log ratio, by least squares.

        Raises
        ------
        ValueError
            Fewer than two ratios, or an unknown name.
        """
        ratios, counts = self.counts(function, count)
        if len(set(ratios)) < 2:
            raise ValueError(f"count={count!r} must be known at two ratios at least for a slope")
        return log_slope(ratios, counts)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict: the settings, and the rows by name of column."""
        return {
            "dimension": self.dimension,
            "relative_accuracy": self.relative_accuracy,
            "warm_start": self.warm_start,
            "rows": [asdict(each) for each in self.rows],
        }


def slope_study(
    function_names: Sequence[str] = SLOPE_FUNCTIONS,
    ratios: Sequence[float] = RATIOS,
    *,
    dimension: int = 400,
    relative_accuracy: float = 0.02,
    warm_start: bool = True,
    naive_up_to: float | None = None,
) -> SlopeStudy:
    """Count steps and calls of the exact methods at shrinking radii; nothing is random.

    Parameters
    ----------
    function_names : sequence of str
        Of `SLOPE_FUNCTIONS`.
    ratios : sequence of float
        R/r, each >= 1.
    dimension : int
    relative_accuracy : float
        Runs stop at this part of the first suboptimality, in (0, 1).
    warm_start : bool
        As for `accelerate`.
    naive_up_to : float, optional
        Largest ratio at which the oracle alone is iterated; all where not given.

    Returns
    -------
    SlopeStudy
    """
    whole_number("dimension", dimension)
    relative_accuracy = real_in("relative_accuracy", relative_accuracy, 0.0, 1.0, open_high=True)
    positive_real("relative_accuracy", relative_accuracy)
    for label, value in (("function_names", function_names), ("ratios", ratios)):
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ValueError(f"{label}={value!r} must be a sequence")
    if not function_names or not len(ratios):
        raise ValueError("function_names and ratios must not be empty")
    for name in function_names:
        if name not in SLOPE_FUNCTIONS:
            raise ValueError(
                f"function_names holds {name!r}, must be of {', '.join(SLOPE_FUNCTIONS)}"
            )
    if naive_up_to is not None:
        real_in("naive_up_to", naive_up_to, 0.0, np.inf)
    for ratio in ratios:
        real_in("ratios", ratio, 1.0, np.inf, open_high=True)
    rows = [
        _row(
            name,
            float(ratio),
            dimension,
            relative_accuracy,
            warm_start,
            naive_up_to is None or ratio <= naive_up_to,
        )
        for name in function_names
        for ratio in ratios
    ]
    return SlopeStudy(tuple(rows), dimension, relative_accuracy, warm_start)


def _row(
    name: str, ratio: float, dimension: int, part: float, warm: bool, with_naive: bool
) -> SlopeRow:
    function: Any = function_named(name, dimension=dimension)
    assert isinstance(function, MaxDistance | WeightedDistance)
    start, radius = function.start, function.radius / ratio
    accuracy = part * (function.value(start) - function.optimal_value)
    domain: dict[str, Any] = {
        "domain_radius": function.radius,
        "lipschitz": function.lipschitz,
        "accuracy": accuracy,
    }
    known: dict[str, Any] = {
        "start": start,
        "minimiser": function.center,
        "optimal_value": function.optimal_value,
        "value": function.value,
    }

    def reached(x: Array) -> bool:
        return function.value(x) - function.optimal_value <= accuracy

    rises, excesses, gaps = [], [], []

    def held(steps: Sequence[Any], x: Array) -> None:
        values = potential(steps, **known)
        rises.append(float(np.diff(values).max(initial=-np.inf)))
        excesses.append(check_potential(values, [each.promised_fall for each in steps]).excess)
        gaps.append(function.value(x) - function.optimal_value)

    searches = []
    for floor_first in (True, False):
        counter = Counter()
        steps: list[Step] = []
        run = accelerate(
            ProximalOracle(function, radius, counter),
            start=start,
            **domain,
            stop=reached,
            warm_start=warm,
            floor_first=floor_first,
            observe=steps.append,
            counter=counter,
        )
        held(steps, run.x)
        searches.append((run.accepted, counter.oracle_calls))
    counter = Counter()
    free_steps: list[FreeStep] = []
    oracle = ExactBallOracle(function, radius, counter)
    free = accelerate_without_bisection(
        oracle, start=start, **domain, stop=reached, observe=free_steps.append, counter=counter
    )
    held(free_steps, free.x)
    naive = None
    if with_naive:
        again = iterate_oracle(oracle, start=start, stop=reached, counter=counter)
        naive = again.calls
        gaps.append(function.value(again.x) - function.optimal_value)
    return SlopeRow(
        function=name,
        ratio=ratio,
        accuracy=accuracy,
        accepted=searches[0][0],
        calls=searches[0][1],
        leaping_accepted=searches[1][0],
        leaping_calls=searches[1][1],
        bisection_free=free.calls,
        naive=naive,
        bound=accepted_bound(ball_radius=radius, **domain),
        potential_rise=max(rises[:2]),
        free_potential_rise=rises[2],
        promise_excess=max(excesses),
        final_gap=max(gaps),
    )
