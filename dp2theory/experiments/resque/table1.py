"""Table 1: rates of parallel methods, beside depths and queries of our runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from bounds.resque.tables import DEPTH, QUERIES, WORK
from dp2theory.experiments.resque.rates import COLUMNS, RateRow, by_method, parallel_rates
from dp2theory.experiments.resque.request import ResqueRequest
from dp2theory.experiments.resque.result import Gate, ResqueResult, ResqueVerdict
from dp2theory.resque.fit import log_slope
from dp2theory.resque.parallel_study import (
    ACCURACIES,
    DATA,
    DIMENSIONS,
    ParallelStudy,
    StudyRow,
    parallel_study,
)

#: Its heading.
TITLE = "Parallel methods: rates, and depths and queries of our runs"
#: What is checked.
CLAIM = (
    "ReSQue reaches accuracy ε in about ε^(-2/3) parallel rounds, d^(1/3) in the dimension, one "
    "round for each ball subproblem."
)
#: What stands below the picture.
CAPTION = (
    "Rates: our evaluations of theorem resque.table1, without constants and logarithms, for L = R "
    "= 1. Recalled, not the paper's statement (* where it is a part): BJL+19's computational depth "
    "and the rate behind DBW12. Measured: runs until f - f* <= ε on the largest distance "
    "to a centre in a coordinate (max: centre decays, max-flat: it does not) and on real data; "
    "rates are of the worst function, these are not the worst. BJL+19 is not implemented. "
    "Constants of the runs are hand-chosen."
)
#: What is said of it besides.
NOTES: tuple[str, ...] = (
    "Slopes are of least squares in log-log scale over all seeds; beside them the slopes of the "
    "rates at the same accuracies and dimensions.",
    "Slopes of total queries and of computational depth are shown, not gated: rates are upper "
    "bounds for the worst function.",
)
#: Said where scikit-learn is missing.
NO_DATA = "scikit-learn is not installed: losses on real data were left out."
#: Sizes of the runs, where no others are asked for.
SIZES: dict[str, Any] = {
    "rate_accuracies": (0.1, 0.01, 0.001, 0.0001),
    "functions": ("max", "max-flat"),
    "dimension": 16,
    "accuracies": ACCURACIES,
    "dimensions": DIMENSIONS,
    "dimension_accuracy": 0.05,
    "data": DATA,
}
#: Method of a run -> row of the table.
ROWS = {
    "sgd": "SGD",
    "randomized-smoothing": "DBW12",
    "resque-1": "Theorem 1",
    "resque-2": "Theorem 2",
}
#: Methods whose slopes are gated.
RESQUE = ("resque-1", "resque-2")
#: Column of the table -> count of a run.
COUNTS = {DEPTH: "query_depth", WORK: "computational_depth", QUERIES: "queries"}
#: Between which the slope of query depth in 1/ε must be: the rate has 2/3.
DEPTH_SLOPES = (0.5, 0.9)
#: The same of its slope in d: the rate has 1/3.
DIMENSION_SLOPES = (0.2, 0.45)
#: f - f* is computed in floating point.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Slope:
    """One measured slope beside that of the rate.

    Attributes
    ----------
    sweep : str
        "accuracy" (against 1/ε) or "dimension" (against d).
    function, method : str
    column : str
    measured : float or None
        None where a count is 0 somewhere, or there is only one point.
    rate : float
        Slope of the rate at the same accuracies and dimensions.
    """

    sweep: str
    function: str
    method: str
    column: str
    measured: float | None
    rate: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


@dataclass(frozen=True)
class ParallelTable:
    """Rates, runs and slopes.

    Attributes
    ----------
    dimension : int
        d of the rates.
    accuracies : tuple of float
        ε of the rates.
    rates : tuple of RateRow
    study : ParallelStudy
    slopes : tuple of Slope
    """

    dimension: int
    accuracies: tuple[float, ...]
    rates: tuple[RateRow, ...]
    study: ParallelStudy
    slopes: tuple[Slope, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        runs = [row.to_json() | {"row": ROWS[row.method]} for row in self.study.rows]
        return {
            "dimension": self.dimension,
            "accuracies": list(self.accuracies),
            "rates": [row.to_json() for row in self.rates],
            "runs": runs,
            "slopes": [slope.to_json() for slope in self.slopes],
        }


def compute(request: ResqueRequest) -> ResqueResult:
    """Evaluate the rates and run every method."""
    sizes = request.sized(SIZES)
    accuracies = tuple(sizes.pop("rate_accuracies"))
    notes = NOTES
    if sizes["data"] and find_spec("sklearn") is None:
        sizes["data"] = {}
        notes += (NO_DATA,)
    study = parallel_study(
        methods=tuple(ROWS),
        seeds=request.seeds,
        executor=request.executor,
        progress=request.counting("parallel runs"),
        **sizes,
    )
    data = ParallelTable(
        request.dimension,
        accuracies,
        parallel_rates(request.dimension, accuracies),
        study,
        slopes_of(study.rows),
    )
    seeds = tuple(request.seeds)
    notes += tuple(beside_each_other(study.rows))
    return ResqueResult("resque-table1", TITLE, judge(data), data, CAPTION, seeds, notes)


def slopes_of(rows: Sequence[StudyRow]) -> tuple[Slope, ...]:
    """Slopes of every count over accuracies and over dimensions, beside those of the rates."""
    found = []
    groups: dict[tuple[str, str, str], list[StudyRow]] = {}
    for row in rows:
        if row.sweep in ("accuracy", "dimension"):
            groups.setdefault((row.sweep, row.function, row.method), []).append(row)
    for (sweep, function, method), runs in groups.items():
        across = [1 / row.accuracy if sweep == "accuracy" else row.dimension for row in runs]
        if len(set(across)) < 2:
            continue
        rates = [
            by_method(parallel_rates(row.dimension, [row.accuracy]))[ROWS[method]] for row in runs
        ]
        for column in COLUMNS:
            counts = [getattr(row, COUNTS[column]) for row in runs]
            measured = log_slope(across, counts) if all(counts) else None
            rate = log_slope(across, [row.values[column][0] for row in rates])
            found.append(Slope(sweep, function, method, column, measured, rate))
    return tuple(found)


def beside_each_other(rows: Sequence[StudyRow]) -> list[str]:
    """Every method's depth and queries at the smallest accuracy, function by function."""
    runs = [row for row in rows if row.sweep == "accuracy"]
    told = []
    for function in dict.fromkeys(row.function for row in runs):
        ours = [row for row in runs if row.function == function]
        smallest = min(row.accuracy for row in ours)
        last = [row for row in ours if row.accuracy == smallest]
        parts = []
        for method in dict.fromkeys(row.method for row in last):
            counts = [(row.query_depth, row.queries) for row in last if row.method == method]
            depth, queries = (sum(each) / len(counts) for each in zip(*counts, strict=True))
            parts.append(f"{ROWS[method]} {depth:,.0f} rounds and {queries:,.0f} queries")
        where = f"ε = {smallest:.3g} and d = {last[0].dimension}"
        told.append(f"{function} at {where}, mean over seeds: {', '.join(parts)}.")
    return told


def judge(data: ParallelTable) -> ResqueVerdict:
    """Gate by gate: slopes of the query depth, what was reached, one round for each subproblem."""
    return ResqueVerdict(
        CLAIM,
        (
            slope_gate(data.slopes, "accuracy", "1/ε", DEPTH_SLOPES),
            slope_gate(data.slopes, "dimension", "d", DIMENSION_SLOPES),
            reached_gate(data.study.rows),
            round_gate(data.study.rows),
        ),
    )


def slope_gate(
    slopes: Sequence[Slope], sweep: str, words: str, allowed: tuple[float, float]
) -> Gate:
    """ReSQue's query depth grows in the band, for both theorems and all functions."""
    low, high = allowed
    ours = [s for s in slopes if s.sweep == sweep and s.column == DEPTH and s.method in RESQUE]
    told = ", ".join(
        f"{ROWS[s.method]} on {s.function} "
        + ("unknown" if s.measured is None else f"{s.measured:.3f}")
        for s in ours
    )
    holds = all(s.measured is not None and low <= s.measured <= high for s in ours)
    name = f"slope of query depth against {words} in [{low:g}, {high:g}]"
    return Gate(name, bool(ours) and holds, told or "no runs")


def reached_gate(rows: Sequence[StudyRow]) -> Gate:
    """Every run ends with f - f* at most ε; where f* is not known, nothing is said."""
    known = [row.suboptimality / row.accuracy for row in rows if row.suboptimality is not None]
    worst = max(known, default=float("inf"))
    return Gate(
        "f - f* at most ε at the end", worst <= 1 + ROUNDING,
        f"at most {worst:.4f} of it in {len(known)} of {len(rows)} runs",
    )  # fmt: skip


def round_gate(rows: Sequence[StudyRow]) -> Gate:
    """Every ball subproblem is one parallel round."""
    ours = [row for row in rows if row.method in RESQUE]
    broken = [row for row in ours if row.query_depth != row.oracle_calls]
    return Gate(
        "one round for each subproblem", bool(ours) and not broken,
        f"{sum(row.query_depth for row in ours)} rounds for "
        f"{sum(row.oracle_calls for row in ours)} subproblems in {len(ours)} runs",
    )  # fmt: skip
