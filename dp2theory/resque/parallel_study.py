"""Depths and queries of the parallel methods, measured over accuracies, dimensions and data.

What comes out depends on the function: on ``max-flat`` in 256 dimensions ReSQue needs a third of
the rounds of randomised smoothing at eps = 0.0016, on ``max``, whose centre decays, half as many
more. Table 1 is about the worst function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, NamedTuple

from dp2theory.problems.validation import positive_real, whole_number, whole_numbers
from dp2theory.resque.fit import log_slope
from dp2theory.resque.losses import AbsoluteLoss, HingeLoss
from dp2theory.resque.named_functions import FUNCTIONS, function_named
from dp2theory.resque.parallel import METHODS, solve_parallel
from dp2theory.resque.reference import reference_optimum

__all__ = ["ACCURACIES", "DATA", "DIMENSIONS", "ParallelStudy", "StudyRow", "parallel_study"]

#: eps of the runs over accuracies.
ACCURACIES = tuple(0.1 / 2**k for k in range(7))
#: d of the runs over dimensions.
DIMENSIONS = (4, 16, 64, 256)
#: Losses on real data, with the accuracies they are run to.
DATA: Mapping[str, Sequence[float]] = {
    "svm-breast-cancer": (0.2, 0.1, 0.05, 0.025),
    "l1-diabetes": (0.2, 0.1, 0.05, 0.025),
}
#: What a slope can be fitted to.
COUNTS = ("accepted", "query_depth", "computational_depth", "queries")


@dataclass(frozen=True)
class StudyRow:
    """One run.

    Attributes
    ----------
    sweep : str
        ``"accuracy"``, ``"dimension"`` or ``"data"``.
    method, function : str
    dimension : int
    accuracy : float
    seed : int
    accepted : int or None
        Accepted ball steps of the ReSQue methods.
    oracle_calls, query_depth, computational_depth, queries : int
        The row of `dp2theory.resque.counters.Counts`.
    suboptimality : float or None
        f(x) - f* at the end.
    stopped : str
    """

    sweep: str
    method: str
    function: str
    dimension: int
    accuracy: float
    seed: int
    accepted: int | None
    oracle_calls: int
    query_depth: int
    computational_depth: int
    queries: int
    suboptimality: float | None
    stopped: str

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return dict(vars(self))


@dataclass(frozen=True)
class ParallelStudy:
    """Rows of a study.

    Attributes
    ----------
    rows : tuple of StudyRow
    """

    rows: tuple[StudyRow, ...]

    def slope(self, sweep: str, method: str, count: str, *, function: str = "max") -> float:
        """Return the least-squares slope of log(count) over all seeds of one sweep.

        Parameters
        ----------
        sweep : str
            ``"accuracy"`` (against log(1/eps)) or ``"dimension"`` (against log d).
        method : str
        count : str
            One of accepted, query_depth, computational_depth, queries.
        function : str

        Raises
        ------
        ValueError
            For another sweep or count, when there are not two different values to fit, or when
            one of them is 0 (the start was good enough).
        """
        if sweep not in ("accuracy", "dimension"):
            raise ValueError(f"sweep={sweep!r} must be 'accuracy' or 'dimension'")
        if count not in COUNTS:
            raise ValueError(f"count={count!r} must be one of {', '.join(COUNTS)}")
        wanted = (sweep, method, function)
        rows = [row for row in self.rows if (row.sweep, row.method, row.function) == wanted]
        across = [1 / row.accuracy if sweep == "accuracy" else row.dimension for row in rows]
        values = [getattr(row, count) for row in rows]
        if len(set(across)) < 2 or not all(values):
            raise ValueError(
                f"method={method!r}: {count} in the {len(rows)} rows of function={function!r} in "
                f"this sweep must be > 0 and at two different values at least"
            )
        return log_slope(across, values)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {"rows": [row.to_json() for row in self.rows]}


class _Task(NamedTuple):
    sweep: str
    method: str
    function: str
    dimension: int | None
    accuracy: float
    seed: int
    optimal_value: float | None


def parallel_study(
    *,
    methods: Sequence[str] = METHODS,
    functions: Sequence[str] = ("max", "max-flat"),
    dimension: int = 16,
    accuracies: Sequence[float] = ACCURACIES,
    dimensions: Sequence[int] = DIMENSIONS,
    dimension_accuracy: float = 0.05,
    data: Mapping[str, Sequence[float]] = DATA,
    seeds: Sequence[int] = (0, 1),
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ParallelStudy:
    """Run every method over accuracies at one dimension, over dimensions, and on real data.

    Parameters
    ----------
    methods : sequence of str
        Of `dp2theory.resque.parallel.METHODS`.
    functions : sequence of str
        Named functions without samples, with a dimension and a known optimum (`function_named`).
    dimension : int
        d of the runs over accuracies.
    accuracies : sequence of float
        May be empty.
    dimensions : sequence of int
        May be empty.
    dimension_accuracy : float
        eps of the runs over dimensions.
    data : mapping of str to sequence of float
        Losses on data with their accuracies; compared with `reference_optimum`, its lower end.
    seeds : sequence of int
        SGD takes the first one only where a function has no samples: it is deterministic there.
    executor : concurrent.futures.Executor, optional
        Runs go there one by one; rows do not depend on it.
    progress : callable, optional
        ``progress(done, all)``.

    Returns
    -------
    ParallelStudy
        About 20 CPU seconds with the defaults, most of it SGD's.

    Raises
    ------
    ValueError
        For an unknown method or function, or numbers outside their domains.
    MissingExtraError
        When data need scikit-learn and it is not there; ``data={}`` leaves them out.
    """
    for label, value in (
        ("methods", methods), ("functions", functions), ("accuracies", accuracies),
        ("dimensions", dimensions),
    ):  # fmt: skip
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ValueError(f"{label}={value!r} must be a sequence")
    if not methods:
        raise ValueError(f"methods={methods!r} must not be empty")
    for method in methods:
        if method not in METHODS:
            raise ValueError(f"methods holds {method!r}, must be of {', '.join(METHODS)}")
    seeds = whole_numbers("seeds", seeds, minimum=0)
    whole_number("dimension", dimension)
    for each in dimensions:
        whole_number("dimensions", each)
    for accuracy in (*accuracies, dimension_accuracy, *(e for each in data.values() for e in each)):
        positive_real("accuracy", accuracy)
    # Names that stand for nothing are refused before anything runs.
    sizes = dict.fromkeys((*([dimension] if accuracies else []), *dimensions))
    for name in functions:
        if name not in tuple(FUNCTIONS):
            raise ValueError(f"functions holds {name!r}, must be of {', '.join(FUNCTIONS)}")
        for size in sizes:
            made = function_named(name, dimension=size)
            if made.sample_size != 1 or made.optimal_value is None:
                raise ValueError(
                    f"functions holds {name!r}, must be without samples and with a known optimum"
                )
    places: list[tuple[str, str, int | None, float, float | None]] = []
    for function in functions:
        places += [("accuracy", function, dimension, each, None) for each in accuracies]
        places += [("dimension", function, each, dimension_accuracy, None) for each in dimensions]
    for name, wanted in data.items():
        loss = function_named(name)
        known = isinstance(loss, (AbsoluteLoss, HingeLoss)) and loss.optimal_value is None
        best = reference_optimum(loss).lower if known else loss.optimal_value
        places += [("data", name, None, each, best) for each in wanted]
    tasks = [
        _Task(sweep, method, name, size, accuracy, seed, best)
        for sweep, name, size, accuracy, best in places
        for method in methods
        for seed in (seeds[:1] if method == "sgd" and sweep != "data" else seeds)
    ]
    rows = []
    for row in map(_run, tasks) if executor is None else executor.map(_run, tasks):
        rows.append(row)
        if progress is not None:
            progress(len(rows), len(tasks))
    return ParallelStudy(tuple(rows))


def _run(task: _Task) -> StudyRow:
    options = {} if task.dimension is None else {"dimension": task.dimension}
    function = function_named(task.function, **options)
    run = solve_parallel(
        function,
        accuracy=task.accuracy,
        method=task.method,
        rng=task.seed,
        optimal_value=task.optimal_value,
    )
    return StudyRow(
        task.sweep, task.method, task.function, function.dimension, task.accuracy, task.seed,
        run.accepted, **run.counts.to_json(), suboptimality=run.suboptimality, stopped=run.stopped,
    )  # fmt: skip
