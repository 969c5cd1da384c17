"""Several configurations and seeds of a method in lockstep, bit-equal to single runs.

Private runs with equal seeds meet the same batches and the same normals. So a seed's draws are
made once and serve every configuration, and on sparse linear problems the clipped sums of
several runs are one pass over a block-diagonal problem: run k has columns k d … (k + 1) d - 1.
Each sum is then made of the same numbers in the same order as alone.

Measured (``benchmarks/lockstep.py``): a grid of 15 configurations takes about half the time on
`het` and `text` and two thirds on `movielens-small`. Seeds of one configuration share no draws,
and lockstep wins nothing there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dp2theory.optimizers.batches import Sampler, make_sampler
from dp2theory.optimizers.ledger import Ledger
from dp2theory.optimizers.protocol import check_divisor, make_generator, start_parameters
from dp2theory.optimizers.results import RunResult
from dp2theory.optimizers.statistics import statistic_named
from dp2theory.optimizers.steps import Optimizer, OptimizerState, Query
from dp2theory.problems.linear import LinearProblem
from dp2theory.problems.protocol import Array, IndexArray, Problem, check_clipping
from dp2theory.problems.rows import SparseBlock, SparseRows
from dp2theory.problems.validation import positive_real, whole_number, whole_numbers

if TYPE_CHECKING:
    from accountants.sampling import Sampling

#: Configurations that a task of `grid_losses` takes: most of what is shared is shared by five.
CONFIGURATIONS_PER_TASK = 5
#: Coordinates of one stacked pass: beyond that the vectors leave the caches, and nothing is won.
MOST_COORDINATES = 2**15

#: Parameters to begin at: for all runs, for each seed, or the problem's own.
Starts: TypeAlias = Array | Mapping[int, Array] | None


class LockstepError(ValueError):
    """Optimizers whose releases differ in kind cannot run in lockstep."""


@dataclass
class _Seed:
    """The draws that every run of a seed shares."""

    seed: int
    generator: np.random.Generator
    batch: IndexArray | None = None
    normals: dict[tuple[int, ...], Array] = field(default_factory=dict)

    def noise(self, shape: tuple[int, ...]) -> Array:
        """This release's normals, drawn when the first run asks."""
        if shape not in self.normals:
            if self.normals:
                raise LockstepError(
                    f"optimizers release sums of shapes {[*self.normals, shape]} in one step, "
                    "must all release the same to run in lockstep"
                )
            self.normals[shape] = self.generator.standard_normal(shape)
        return self.normals[shape]


@dataclass
class _Lane:
    """One run."""

    optimizer: Optimizer
    draws: _Seed
    parameters: Array
    state: OptimizerState
    ledger: Ledger
    started: int = 0
    diverged: bool = False


def run_batched(
    optimizers: Sequence[Optimizer],
    problem: Problem,
    *,
    sampling: Sampling,
    steps: int,
    seeds: Sequence[int],
    initial_parameters: Starts = None,
    expected_batch_size: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[RunResult]]:
    """Run every optimizer with every seed, and return what `run` would, to the last bit.

    Parameters
    ----------
    optimizers : sequence of Optimizer
        Configurations that make the same kinds of releases in the same order, as those of one
        tuning grid do.
    problem, sampling, steps, expected_batch_size
        As in `dp2theory.optimizers.protocol.run`.
    seeds : sequence of int
        Distinct seeds.
    initial_parameters : ndarray or mapping of seed to ndarray, optional
        Where to start; the problem's own start if None.
    progress : callable, optional
        Called with (steps done, steps).

    Returns
    -------
    list of list of RunResult
        By optimizer, then by seed. A run that diverged has ``completed`` False, and parameters
        and ledger as the partial result of `DivergedRun` has; the others go on.

    Raises
    ------
    ValueError
        For values outside their domain.
    LockstepError
        A ValueError: for optimizers whose releases differ in kind.
    """
    sampler = make_sampler(sampling, problem.dataset_size)
    steps = whole_number("steps", steps, minimum=0)
    if len(set(whole_numbers("seeds", seeds, minimum=0))) < len(seeds):
        raise ValueError(f"seeds={seeds!r} must be one or more distinct integers")
    divisor = sampler.expected_batch_size
    if expected_batch_size is not None:
        divisor = positive_real("expected_batch_size", expected_batch_size)
    lanes: list[list[_Lane]] = [[] for _ in optimizers]
    for seed in seeds:
        generator, number = make_generator(seed)
        assert number is not None
        draws = _Seed(number, generator)
        start = start_parameters(problem, _start_of(initial_parameters, seed), generator)
        for row, optimizer in zip(lanes, optimizers, strict=True):
            check_divisor(optimizer, divisor)
            state = optimizer.initial_state(problem.dimension)
            row.append(_Lane(optimizer, draws, start.copy(), state, Ledger(sampler)))
    everybody = np.arange(problem.dataset_size)
    # By seed, so that one stacked pass shares batches.
    every = [row[k] for k in range(len(seeds)) for row in lanes]
    with np.errstate(over="ignore", invalid="ignore"):
        while active := [lane for lane in every if not lane.diverged]:
            step = active[0].state.step
            if step >= steps:
                break
            _release(active, problem, sampler, divisor, everybody)
            if progress is not None and active[0].state.step > step:
                progress(step + 1, steps)
        return [[_result(lane, problem, sampling) for lane in row] for row in lanes]


def _start_of(given: Starts, seed: int) -> Array | None:
    if isinstance(given, Mapping):
        if seed not in given:
            raise ValueError(f"initial_parameters has no entry for seed {seed}")
        return given[seed]
    return given


def _release(
    lanes: Sequence[_Lane],
    problem: Problem,
    sampler: Sampler,
    divisor: float,
    everybody: IndexArray,
) -> None:
    """One release of every lane."""
    queries = [lane.optimizer.query(lane.state) for lane in lanes]
    kinds = {
        (q.records, q.statistic, q.noise_multiplier > 0, lane.state.step, lane.state.stage)
        for q, lane in zip(queries, lanes, strict=True)
    }
    if len(kinds) > 1:
        raise LockstepError(
            f"optimizers ask for releases of different kinds, {sorted(kinds)!r:.200}, must all "
            "ask for the same to run in lockstep"
        )
    whole, new = queries[0].records == "all", queries[0].records == "new-batch"
    for draws in {id(lane.draws): lane.draws for lane in lanes}.values():
        draws.normals.clear()
        if new:
            draws.batch = sampler.sample(draws.generator)
    batches = [
        everybody if whole or lane.draws.batch is None else lane.draws.batch for lane in lanes
    ]
    totals = _sums(problem, lanes, queries, batches)
    for lane, query, total in zip(lanes, queries, totals, strict=True):
        if query.noise_multiplier == 0:
            released = total / (1.0 if whole else divisor)
        else:  # the operations of `release_mean`, in its order
            released = lane.draws.noise(total.shape) * (query.noise_multiplier * query.clip_norm)
            released += total
            released /= 1.0 if whole else divisor
        lane.ledger.add(query)
        lane.started += new
        if not math.isfinite(released.sum()):
            lane.diverged = True
            continue
        lane.parameters, lane.state = lane.optimizer.apply(lane.parameters, lane.state, released)


def _sums(
    problem: Problem,
    lanes: Sequence[_Lane],
    queries: Sequence[Query],
    batches: Sequence[IndexArray],
) -> Iterator[Array]:
    """The clipped sum of each lane, stacked where that is known to pay."""
    size = MOST_COORDINATES // problem.dimension
    if queries[0].statistic != "gradient" or size < 2 or not _is_sparse_linear(problem):
        statistic = statistic_named(queries[0].statistic)
        for lane, query, batch in zip(lanes, queries, batches, strict=True):
            yield statistic(problem, lane.parameters, batch, query)
        return
    assert isinstance(problem, LinearProblem)
    asked = list(zip(lanes, queries, batches, strict=True))
    # Lanes with and without a preconditioner are apart: dividing by ones is not free.
    for _, alike in groupby(asked, key=lambda one: one[1].preconditioner is None):
        part = list(alike)
        for first in range(0, len(part), size):
            yield from _stacked(problem, part[first : first + size])


def _is_sparse_linear(problem: Problem) -> bool:
    # A subclass may have its own clipped sum.
    return type(problem) is LinearProblem and type(problem.rows["train"]) is SparseRows


def _stacked(problem: LinearProblem, asked: Sequence[tuple[_Lane, Query, IndexArray]]) -> Array:
    """The sums of `LinearProblem.clipped_gradient_sum` for several runs, one a row."""
    d = problem.dimension
    for _, query, _ in asked:
        check_clipping(query.clip_norm, query.preconditioner, d)
    indices = np.concatenate([batch for _, _, batch in asked])
    sizes = [batch.size for _, _, batch in asked]
    taken = problem.rows["train"].take(indices)
    assert isinstance(taken, SparseBlock)
    offsets = np.repeat(np.repeat(np.arange(len(asked)) * d, sizes), taken.lengths)
    block = SparseBlock(
        taken.values, taken.columns + offsets, taken.starts, taken.lengths, len(asked) * d
    )
    weights = np.concatenate([lane.parameters for lane, _, _ in asked])
    targets = problem.targets["train"][indices]
    slopes = problem.point_loss.derivative(block.dot(weights), targets)
    if asked[0][1].preconditioner is not None:
        divisor: Any = [query.preconditioner for _, query, _ in asked]
        block = block.divided(np.concatenate(divisor))
    limits = np.array([query.clip_norm for _, query, _ in asked])
    if np.isfinite(limits).all():
        each = np.repeat(limits, sizes)
        norms = np.abs(slopes) * block.norms()
        slopes = slopes * (each / np.maximum(norms, each))
    elif np.isfinite(limits).any():
        raise LockstepError("optimizers with and without a clip norm cannot run in lockstep")
    return block.weighted_sum(slopes).reshape(len(asked), d)


def _result(lane: _Lane, problem: Problem, sampling: Sampling) -> RunResult:
    return RunResult(
        problem=problem.name,
        optimizer=lane.optimizer,
        sampling=sampling,
        parameters=lane.parameters,
        state=lane.state,
        steps=lane.started,
        start_step=0,
        final_loss=problem.loss(lane.parameters),
        loss_steps=np.zeros(0, dtype=np.int64),
        losses=np.zeros(0),
        ledger=lane.ledger.event(lane.optimizer.noise_multiplier),
        seed=lane.draws.seed,
        bit_generator=type(lane.draws.generator.bit_generator).__name__,
        completed=not lane.diverged and bool(np.isfinite(lane.parameters).all()),
    )


def grid_losses(
    grid: Sequence[Optimizer],
    problem: Problem,
    *,
    sampling: Sampling,
    steps: int,
    seeds: Sequence[int],
    initial_parameters: Starts = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[float]]:
    """Return the final train losses of a grid, by configuration and then by seed.

    A run that diverged, or whose loss is not finite, has the loss inf. The losses are those of
    single runs to the last bit, and do not depend on the executor.

    Parameters
    ----------
    grid, problem, sampling, steps, seeds, initial_parameters
        As in `run_batched`. Configurations whose releases differ in kind are run one by one.
    executor : concurrent.futures.Executor, optional
        Tasks of one seed and a few configurations go there.
    progress : callable, optional
        Called with (runs done, runs in all).
    """
    whole_numbers("seeds", seeds, minimum=0)
    parts = [
        tuple(grid[first : first + CONFIGURATIONS_PER_TASK])
        for first in range(0, len(grid), CONFIGURATIONS_PER_TASK)
    ]
    tasks = [
        (part, problem, sampling, steps, seed, _start_of(initial_parameters, seed))
        for part in parts
        for seed in seeds
    ]
    mapped = map if executor is None else executor.map  # both in the order of the tasks
    found: list[list[float]] = []
    done = 0
    for losses in mapped(_part_losses, tasks):
        found.append(losses)
        done += len(losses)
        if progress is not None:
            progress(done, len(grid) * len(seeds))
    k = len(seeds)
    return [
        [found[k * place + column][row] for column in range(k)]
        for place, part in enumerate(parts)
        for row in range(len(part))
    ]


def _part_losses(
    task: tuple[tuple[Optimizer, ...], Problem, Sampling, int, int, Array | None],
) -> list[float]:
    part, problem, sampling, steps, seed, start = task
    settings: dict[str, Any] = {
        "sampling": sampling,
        "steps": steps,
        "seeds": [seed],
        "initial_parameters": start,
    }
    try:
        rows = run_batched(part, problem, **settings)
    except LockstepError:
        rows = [row for one in part for row in run_batched([one], problem, **settings)]
    return [
        one.final_loss if one.completed and math.isfinite(one.final_loss) else math.inf
        for (one,) in rows
    ]
