"""Comparisons of tuned methods at equal privacy, run by run as tasks.

Every method has its fixed grid (`dp2theory.optimizers.grids`) around the tuned DP-SGD, and the
noise multiplier with which its *whole* event meets the budget of the setting, whatever it releases
besides its steps. Seeds that tune are not seeds that judge. What is chosen is chosen by the train
loss on the private data, which no ledger covers; every result says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dp2theory.experiments.configurations import Configuration, configurations
from dp2theory.experiments.tasks import ResultStore, Task, TaskResult, run_tasks
from dp2theory.optimizers.grids import grid_of
from dp2theory.optimizers.ledger import planned_event
from dp2theory.optimizers.registry import is_private
from dp2theory.optimizers.tuning import NOT_ACCOUNTED, check_seeds_apart
from dp2theory.planning.paired import PairedComparison, compare_pairs
from dp2theory.problems.validation import real_in, whole_number, whole_numbers

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from accountants import Bracket
    from dp2theory.experiments.settings import Setting

#: Delays that a sweep over s tries, as divisors of the number of steps.
DELAY_DIVISORS = (320, 160, 80, 40, 20, 10, 4)
#: Tuning seeds on which a whole grid is run where only its best configurations see all of them.
SCREENING_SEEDS = 2


@dataclass(frozen=True)
class Candidate:
    """One configuration of a grid and its final train losses (inf where a run diverged).

    Where only finalists are run on all tuning seeds, the others have fewer losses.

    Attributes
    ----------
    settings : mapping of str to value
    noise_multiplier : float
        Of the main releases; 0 for a method without noise.
    losses : tuple of float
        One for each tuning seed.
    """

    settings: Mapping[str, Any]
    noise_multiplier: float
    losses: tuple[float, ...]

    @property
    def mean_loss(self) -> float:
        """Mean over the tuning seeds."""
        return math.fsum(self.losses) / len(self.losses)


@dataclass(frozen=True)
class Tuned:
    """The best configuration of a method's grid on one setting.

    Attributes
    ----------
    setting : Setting
    method : str
    settings : mapping of str to value
        Hyper-parameters of the configuration with the smallest mean final train loss.
    noise_multiplier : float
        Of the main releases; 0 for a method without noise.
    epsilon : Bracket or None
        Of the whole event at the setting's delta; None for a method without noise.
    table : tuple of Candidate
        All configurations in grid order.
    seeds : tuple of int
        Tuning seeds.
    base : Tuned or None
        The DP-SGD around which the grid is laid.
    statement : str
        That the choice is not accounted.
    """

    setting: Setting
    method: str
    settings: Mapping[str, Any]
    noise_multiplier: float
    epsilon: Bracket | None
    table: tuple[Candidate, ...]
    seeds: tuple[int, ...]
    base: Tuned | None = None
    statement: str = NOT_ACCOUNTED

    @property
    def mean_loss(self) -> float:
        """Mean final train loss of the chosen configuration on the tuning seeds."""
        return _best(self.table).mean_loss

    @property
    def delay(self) -> int | None:
        """The delay, where the method has one."""
        value = self.settings.get("delay")
        return None if value is None else int(value)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict; configurations that diverged have mean_loss "inf"."""
        return {
            "method": self.method,
            "settings": dict(self.settings),
            "noise_multiplier": self.noise_multiplier,
            "epsilon": None if self.epsilon is None else self.epsilon.to_json(),
            "tuning_seeds": list(self.seeds),
            "grid": [
                {
                    "settings": dict(row.settings),
                    "noise_multiplier": row.noise_multiplier,
                    "mean_loss": row.mean_loss if math.isfinite(row.mean_loss) else "inf",
                    "seeds": len(row.losses),
                }
                for row in self.table
            ],
            "statement": self.statement,
        }


def delay_grid(steps: int, divisors: Sequence[int] = DELAY_DIVISORS) -> tuple[int, ...]:
    """Return the delays T // divisor, at least 1, each once, in increasing order."""
    steps = whole_number("steps", steps)
    divisors = whole_numbers("divisors", divisors)
    return tuple(sorted({max(1, steps // divisor) for divisor in divisors}))


def tune_setting(
    setting: Setting,
    method: str,
    *,
    tune_seeds: Sequence[int],
    delay: int | None = None,
    base: Tuned | None = None,
    noise_multiplier: float | None = None,
    settings: Mapping[str, Any] | None = None,
    finalists: int | None = None,
    executor: Executor | None = None,
    store: ResultStore | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tuned:
    """Return the configuration of the method's grid with the smallest mean final train loss.

    Parameters
    ----------
    setting : Setting
        Problem, sizes and budget.
    method : str
        A method with a grid.
    tune_seeds : sequence of int
        Distinct seeds; evaluate on others.
    delay : int, optional
        Delay s of a method with phases; T // 40 if None.
    base : Tuned, optional
        The tuned DP-SGD that the grid is laid around; searched for first if None.
    noise_multiplier : float, optional
        Take this one instead of the one that meets the budget (a comparison at equal noise).
    settings : mapping, optional
        Settings that are fixed before the search, for the grids that read them. A method that
        derives some from the budget does so for those that are not given.
    finalists : int, optional
        Run the whole grid on the first `SCREENING_SEEDS` tuning seeds only, and that many best
        configurations on the others too; the best of these wins. All on all if None.
    executor : concurrent.futures.Executor, optional
        Runs go there; the result does not depend on it.
    store : Store, optional
        Keeps every run; what it has is not run again.
    progress : callable, optional
        Called with (runs done, runs in all).

    Returns
    -------
    Tuned

    Raises
    ------
    ValueError
        For a method without a grid, or tuning seeds that are none or not distinct.
    ArithmeticError
        When every configuration diverged.
    """
    (tuned,) = tune_delays(
        setting,
        method,
        (delay,),
        tune_seeds=tune_seeds,
        base=base,
        noise_multiplier=noise_multiplier,
        settings=settings,
        finalists=finalists,
        executor=executor,
        store=store,
        progress=progress,
    )
    return tuned


def tune_delays(
    setting: Setting,
    method: str,
    delays: Sequence[int | None],
    *,
    tune_seeds: Sequence[int],
    base: Tuned | None = None,
    noise_multiplier: float | None = None,
    settings: Mapping[str, Any] | None = None,
    finalists: int | None = None,
    executor: Executor | None = None,
    store: ResultStore | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Tuned]:
    """Tune one method anew for each of several delays; see `tune_setting`.

    Returns
    -------
    list of Tuned
        One per delay, in their order. `min(..., key=lambda one: one.mean_loss)` is the best on
        the tuning seeds.
    """
    grid_of(method)
    seeds = whole_numbers("tune_seeds", tune_seeds, minimum=0)
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"tune_seeds={seeds!r} must be one or more distinct integers")
    if finalists is not None:
        finalists = whole_number("finalists", finalists)
    if noise_multiplier is not None:
        real_in("noise_multiplier", noise_multiplier, 0.0, math.inf, open_high=True)
    if not isinstance(delays, Iterable):
        raise ValueError(f"delays={delays!r} must be integers >= 1, or None")
    for delay in delays:
        if delay is not None:
            whole_number("delay", delay)
    if base is None and method != "dp-sgd" and is_private(method):
        base = tune_setting(
            setting,
            "dp-sgd",
            tune_seeds=seeds,
            finalists=finalists,
            executor=executor,
            store=store,
            progress=progress,
        )
    around = None if base is None else base.settings
    grids = [
        configurations(
            setting,
            method,
            delay=delay,
            base=around,
            noise_multiplier=noise_multiplier,
            given=settings,
        )
        for delay in delays
    ]

    def run_all(
        grids: Sequence[Sequence[Configuration]], seeds: Sequence[int]
    ) -> list[tuple[Candidate, ...]]:
        tasks = [
            Task(setting, method, settings, sigma, seed, None)
            for grid in grids
            for settings, sigma in grid
            for seed in seeds
        ]
        losses = map(_loss, run_tasks(tasks, executor=executor, store=store, progress=progress))
        return [
            tuple(
                Candidate(settings, sigma, tuple(itertools.islice(losses, len(seeds))))
                for settings, sigma in grid
            )
            for grid in grids
        ]

    if finalists is None or len(seeds) <= SCREENING_SEEDS:
        tables = run_all(grids, seeds)
    else:
        tables = run_all(grids, seeds[:SCREENING_SEEDS])
        places = [_first(table, finalists) for table in tables]
        chosen = [[grid[i] for i in some] for grid, some in zip(grids, places, strict=True)]
        more = run_all(chosen, seeds[SCREENING_SEEDS:])
        tables = [
            _extended(table, dict(zip(some, extra, strict=True)))
            for table, some, extra in zip(tables, places, more, strict=True)
        ]
    return [_tuned(setting, method, table, seeds, base) for table in tables]


def evaluate(
    setting: Setting,
    tuned: Tuned,
    *,
    seeds: Sequence[int],
    record_every: int | None = None,
    executor: Executor | None = None,
    store: ResultStore | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[TaskResult]:
    """Run a tuned configuration on fresh seeds.

    Parameters
    ----------
    setting : Setting
    tuned : Tuned
    seeds : sequence of int
        None of them a tuning seed. Methods that share seeds meet the same batches and normals.
    record_every : int, optional
        Steps between records of the train loss.
    executor, store, progress
        As in `tune_setting`.

    Returns
    -------
    list of TaskResult
        In the order of `seeds`.

    Raises
    ------
    ValueError
        When a seed was used for tuning.
    """
    seeds = whole_numbers("seeds", seeds, minimum=0)
    check_seeds_apart(tuned.seeds, seeds)
    return run_tasks(
        [
            Task(setting, tuned.method, tuned.settings, tuned.noise_multiplier, seed, record_every)
            for seed in seeds
        ],
        executor=executor,
        store=store,
        progress=progress,
    )


def paired(
    ours: Iterable[TaskResult], theirs: Iterable[TaskResult], *, confidence: float = 0.95
) -> PairedComparison:
    """Compare the final train losses of two methods run on the same seeds, in the same order."""
    return compare_pairs(
        [result.final_loss for result in ours],
        [result.final_loss for result in theirs],
        confidence=confidence,
    )


def _first(table: Sequence[Candidate], count: int) -> list[int]:
    """Places of the best configurations, in grid order."""
    order = sorted(range(len(table)), key=lambda i: (table[i].mean_loss, i))
    return sorted(order[:count])


def _extended(table: Sequence[Candidate], more: Mapping[int, Candidate]) -> tuple[Candidate, ...]:
    return tuple(
        replace(row, losses=row.losses + more[i].losses) if i in more else row
        for i, row in enumerate(table)
    )


def _best(table: Sequence[Candidate]) -> Candidate:
    """The smallest mean among those run on most seeds; the first of equals, in grid order."""
    most = max(len(row.losses) for row in table)
    return min((row for row in table if len(row.losses) == most), key=lambda row: row.mean_loss)


def _tuned(
    setting: Setting,
    method: str,
    table: tuple[Candidate, ...],
    seeds: tuple[int, ...],
    base: Tuned | None,
) -> Tuned:
    best = _best(table)
    if math.isinf(best.mean_loss):
        raise ArithmeticError(f"every {method} configuration diverged on {setting.problem}")
    epsilon = None
    if is_private(method):
        budget = setting.budget()
        task = Task(setting, method, best.settings, best.noise_multiplier, seeds[0])
        epsilon = budget.account(
            planned_event(task.optimizer(), budget.sampling, budget.dataset_size, budget.steps)
        )
    return Tuned(setting, method, best.settings, best.noise_multiplier, epsilon, table, seeds, base)


def _loss(result: TaskResult) -> float:
    return math.inf if result.diverged else float(result.final_loss)
