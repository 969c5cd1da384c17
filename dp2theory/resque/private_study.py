"""Private methods side by side: excess against the number of records at equal epsilon.

All run on l1 regression of random data under the same budget and relation. Excess is that of the
empirical loss over its smallest value in the domain, and, on fresh records, that of the population.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dp2theory.problems.validation import open_unit, positive_real, whole_number
from dp2theory.resque.baselines import BASELINES, run_private_baseline
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.counters import Counts
from dp2theory.resque.functions import Array
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.private import run_private
from dp2theory.resque.private_plan import plan_private
from dp2theory.resque.reference import reference_optimum

if TYPE_CHECKING:
    from accountants import Bracket

#: Every private method, ReSQue last.
METHODS = (*BASELINES, "resque")
#: Records and dimension of each setting: along n at d = 8, along d at n = 2000.
SETTINGS = ((500, 8), (1000, 8), (2000, 8), (4000, 8), (8000, 8), (2000, 2), (2000, 32))
_FRESH = 20_000


@dataclass(frozen=True)
class PrivateRow:
    """Runs of one method in one setting.

    Attributes
    ----------
    method : str
    dataset_size, dimension : int
        n and d.
    epsilon : Bracket
        At `target_delta`, under replacement of a record: what may be claimed.
    target_delta : float
    excess, standard_error : float
        Mean over seeds of the empirical loss above its smallest value within R of the start.
    fresh_excess : float
        Mean of the loss on fresh records above that of the vector that made the data.
    queries, query_depth : float
        Means of gradients and of parallel rounds.
    seeds : int
    """

    method: str
    dataset_size: int
    dimension: int
    epsilon: Bracket
    target_delta: float
    excess: float
    standard_error: float
    fresh_excess: float
    queries: float
    query_depth: float
    seeds: int

    def to_json(self) -> dict[str, Any]:
        """Plain values; epsilon as {lower, upper}."""
        return {**asdict(self), "epsilon": self.epsilon.to_json()}


@dataclass(frozen=True)
class StartRow:
    """Excess of the start, which costs nothing: what a method has to beat.

    Attributes
    ----------
    dataset_size, dimension : int
        n and d.
    excess : float
        Of the empirical loss at the start over its smallest value.
    """

    dataset_size: int
    dimension: int
    excess: float


@dataclass(frozen=True)
class PrivateStudy:
    """Rows of all methods.

    Attributes
    ----------
    rows : tuple of PrivateRow
    starts : tuple of StartRow
    target_epsilon, target_delta : float
    accuracy_factor : float
    """

    rows: tuple[PrivateRow, ...]
    starts: tuple[StartRow, ...]
    target_epsilon: float
    target_delta: float
    accuracy_factor: float

    def best(self, dataset_size: int, dimension: int) -> PrivateRow:
        """Return the row of least mean excess in a setting."""
        here = [
            row
            for row in self.rows
            if (row.dataset_size, row.dimension) == (dataset_size, dimension)
        ]
        if not here:
            raise ValueError(
                f"dataset_size={dataset_size!r}, dimension={dimension!r}: must be a setting of the "
                "study"
            )
        return min(here, key=lambda row: row.excess)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "starts": [asdict(row) for row in self.starts],
            "target_epsilon": self.target_epsilon,
            "target_delta": self.target_delta,
            "accuracy_factor": self.accuracy_factor,
        }


def private_study(
    *,
    settings: Sequence[tuple[int, int]] = SETTINGS,
    methods: Sequence[str] = METHODS,
    target_epsilon: float = 1.0,
    target_delta: float = 1e-6,
    seeds: int = 3,
    first_seed: int = 0,
    accuracy_factor: float = 4.0,
    constants: PrivateConstants | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PrivateStudy:
    """Run every method in every setting.

    Parameters
    ----------
    settings : sequence of (int, int)
        Records and dimension.
    methods : sequence of str
        Of `METHODS`.
    target_epsilon, target_delta : float
        The budget of each run.
    seeds : int
        Runs of each method and setting, >= 2, on the same data.
    first_seed : int
        Of the runs; the others follow.
    accuracy_factor : float
        ReSQue is asked for an accuracy of this times L R max(n^(-1/2), sqrt(d log(1/delta))/(n
        epsilon)), at most L R. Hand-chosen: the rate has no constants, and less costs more
        queries without a smaller excess at these sizes.
    constants : PrivateConstants, optional
        Of ReSQue.
    executor : concurrent.futures.Executor, optional
        Runs settings and methods side by side; the outcome does not depend on it.
    progress : callable, optional
        ``progress(done, all)``, in methods times settings.

    Returns
    -------
    PrivateStudy

    Raises
    ------
    ValueError
        For values outside their domain.
    InfeasibleBudgetError
        When ReSQue finds no noise for the budget.
    """
    for label, value in (("settings", settings), ("methods", methods)):
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ValueError(f"{label}={value!r} must be a sequence")
    if not settings or not methods:
        raise ValueError("settings and methods must not be empty")
    for method in methods:
        if method not in METHODS:
            raise ValueError(f"methods holds {method!r}, must be of {', '.join(METHODS)}")
    budget = (
        positive_real("target_epsilon", target_epsilon),
        open_unit("target_delta", target_delta),
    )
    seeds = whole_number("seeds", seeds, minimum=2)
    first_seed = whole_number("first_seed", first_seed, minimum=0)
    numbers = range(first_seed, first_seed + seeds)
    accuracy_factor = positive_real("accuracy_factor", accuracy_factor)
    chosen = constants or PrivateConstants()
    pairs = [(whole_number("settings", n, minimum=2), whole_number("settings", d))
             for n, d in settings]  # fmt: skip
    tasks = [
        (method, n, d, budget, numbers, accuracy_factor, chosen)
        for n, d in pairs
        for method in methods
    ]
    if progress is not None:
        progress(0, len(tasks))
    work = map if executor is None else executor.map
    optima = dict(zip(pairs, work(_optimum, *zip(*pairs, strict=True)), strict=True))
    rows = []
    for task, found in zip(tasks, work(_runs, *zip(*tasks, strict=True)), strict=True):
        method, n, d = task[:3]
        values = np.array(found.values) - optima[n, d][0]
        rows.append(
            PrivateRow(
                method,
                n,
                d,
                found.epsilon,
                budget[1],
                float(values.mean()),
                float(values.std(ddof=1) / math.sqrt(seeds)),
                float(np.mean(found.fresh)),
                float(np.mean([counts.queries for counts in found.counts])),
                float(np.mean([counts.query_depth for counts in found.counts])),
                seeds,
            )
        )
        if progress is not None:
            progress(len(rows), len(tasks))
    starts = tuple(StartRow(n, d, optima[n, d][1] - optima[n, d][0]) for n, d in pairs)
    return PrivateStudy(tuple(rows), starts, *budget, accuracy_factor)


def accuracy_for(
    function: AbsoluteLoss, *, target_epsilon: float, target_delta: float, factor: float
) -> float:
    """Return the accuracy that the rate allows, times a factor, at most L R."""
    target_epsilon = positive_real("target_epsilon", target_epsilon)
    target_delta = open_unit("target_delta", target_delta)
    factor = positive_real("factor", factor)
    n, d = function.sample_size, function.dimension
    private = math.sqrt(d * -math.log(target_delta)) / (n * target_epsilon)
    relative = min(1.0, factor * max(1 / math.sqrt(n), private))
    return function.lipschitz * function.radius * relative


@dataclass(frozen=True)
class _Found:
    epsilon: Bracket
    values: tuple[float, ...]
    fresh: tuple[float, ...]
    counts: tuple[Counts, ...]


def _loss(records: int, dimension: int, seed: int = 0) -> AbsoluteLoss:
    loss = function_named("absolute", records=records, dimension=dimension, seed=seed)
    assert isinstance(loss, AbsoluteLoss)
    return loss


def _optimum(records: int, dimension: int) -> tuple[float, float]:
    """Lower end of the smallest value, so that no excess is too small; and the start's value."""
    loss = _loss(records, dimension)
    return reference_optimum(loss).lower, loss.value(loss.start)


def _runs(
    method: str,
    records: int,
    dimension: int,
    budget: tuple[float, float],
    seeds: range,
    accuracy_factor: float,
    constants: PrivateConstants,
) -> _Found:
    loss = _loss(records, dimension)
    epsilon, delta = budget
    points: list[Array] = []
    counts: list[Counts] = []
    if method == "resque":
        plan = plan_private(
            loss,
            accuracy=accuracy_for(
                loss, target_epsilon=epsilon, target_delta=delta, factor=accuracy_factor
            ),
            target_epsilon=epsilon,
            target_delta=delta,
            constants=constants,
        )
        for seed in seeds:
            private = run_private(loss, plan, rng=np.random.default_rng(seed))
            points.append(private.parameters)
            counts.append(private.counts)
        claimed = private.ledger.epsilon(delta)
    else:
        for seed in seeds:
            baseline = run_private_baseline(
                method,
                loss,
                target_epsilon=epsilon,
                target_delta=delta,
                rng=np.random.default_rng(seed),
            )
            points.append(baseline.parameters)
            counts.append(baseline.counts)
        claimed = baseline.epsilon
    fresh = _loss(_FRESH, dimension, seed=1)
    truth = np.full(dimension, 0.5 * dimension**-0.5)
    least = fresh.value(truth)
    return _Found(
        claimed,
        tuple(loss.value(point) for point in points),
        tuple(fresh.value(point) - least for point in points),
        tuple(counts),
    )
