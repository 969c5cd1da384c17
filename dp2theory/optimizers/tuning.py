"""Grid search: the configuration of a method's grid with the smallest train loss.

The grids are in `dp2theory.optimizers.grids`. The choice is made by the train loss on the
private data. That is not accounted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.optimizers.batched import grid_losses
from dp2theory.optimizers.batches import make_sampler
from dp2theory.optimizers.defaults import default_delay
from dp2theory.optimizers.dp2 import Phases, resolve_phases
from dp2theory.optimizers.grids import GridContext, dp_sgd_grid, grid_of
from dp2theory.optimizers.results import describe_optimizer
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.steps import Optimizer
from dp2theory.problems.protocol import Array, Problem
from dp2theory.problems.validation import whole_number, whole_numbers

if TYPE_CHECKING:
    from accountants.sampling import Sampling
    from dp2theory.problems.public import PublicData

#: What is said of every tuned result.
NOT_ACCOUNTED = (
    "The hyper-parameters were chosen by the train loss on the private data; "
    "the privacy cost of this choice is not accounted."
)

#: Tuning seeds start here, far from the small seeds that people evaluate with.
FIRST_TUNING_SEED = 2**32


@dataclass(frozen=True)
class GridRow:
    """One configuration and its final train losses (inf where the run diverged).

    Attributes
    ----------
    optimizer : Optimizer
    losses : tuple of float
        One for each tuning seed.
    """

    optimizer: Optimizer
    losses: tuple[float, ...]

    @property
    def mean_loss(self) -> float:
        """Mean over the tuning seeds."""
        return math.fsum(self.losses) / len(self.losses)


@dataclass(frozen=True)
class TunedOptimizer:
    """The best configuration of a grid.

    Attributes
    ----------
    optimizer : Optimizer
        The configuration with the smallest mean final train loss.
    table : tuple of GridRow
        All configurations, in grid order.
    seeds : tuple of int
        Tuning seeds; evaluate on others (`check_seeds_apart`).
    statement : str
        That the choice is not accounted.
    base : TunedOptimizer or None
        The DP-SGD search made on the way, if there was one.
    """

    optimizer: Optimizer
    table: tuple[GridRow, ...]
    seeds: tuple[int, ...]
    statement: str = NOT_ACCOUNTED
    base: TunedOptimizer | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict; diverged configurations have mean_loss "inf"."""
        rows = [
            describe_optimizer(row.optimizer)
            | {"mean_loss": row.mean_loss if math.isfinite(row.mean_loss) else "inf"}
            for row in self.table
        ]
        return {
            "optimizer": describe_optimizer(self.optimizer),
            "grid": rows,
            "seeds": list(self.seeds),
            "statement": self.statement,
            "base": None if self.base is None else self.base.to_json(),
        }


def tuning_seeds(count: int = 3) -> tuple[int, ...]:
    """Return `count` seeds reserved for tuning."""
    count = whole_number("count", count)
    return tuple(range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + count))


def check_seeds_apart(tuning: Iterable[int], evaluation: Iterable[int]) -> None:
    """Raise ValueError if a seed is used both for tuning and for evaluation."""
    shared = sorted(set(tuning) & set(evaluation))
    if shared:
        raise ValueError(
            f"seeds={shared} were used for tuning, evaluation must use other seeds: on the same "
            "noise the chosen configuration looks better than it is"
        )


def tune(
    problem: Problem,
    method: str,
    *,
    sampling: Sampling,
    steps: int,
    noise_multiplier: float,
    seeds: Sequence[int] | None = None,
    base: DpSgd | None = None,
    delay: int | None = None,
    sgd_steps: int | None = None,
    adaptive_steps: int | None = None,
    public: PublicData | None = None,
    settings: Mapping[str, Any] | None = None,
    initial_parameters: Array | Mapping[int, Array] | None = None,
    progress: Callable[[int, int], None] | None = None,
    executor: Executor | None = None,
) -> TunedOptimizer:
    """Return the configuration of the method's grid with the smallest mean final train loss.

    Parameters
    ----------
    problem : Problem
    method : str
        A key of `dp2theory.optimizers.grids.GRIDS`.
    sampling, steps, noise_multiplier
        Of the runs, as in `dp2theory.optimizers.protocol.run`.
    seeds : sequence of int, optional
        Tuning seeds, three or more are advised; `tuning_seeds()` if None.
    base : DpSgd, optional
        The tuned DP-SGD that the other grids build on; searched for first, at the same noise
        multiplier, if None.
    delay, sgd_steps, adaptive_steps : int, optional
        Phases of DP²; delay = max(1, steps // 40) if none is given.
    public : PublicData, optional
        Side information, for the methods that use it.
    settings : mapping, optional
        Settings that are fixed before the search, for the grids that read them.
    initial_parameters : ndarray or mapping of seed to ndarray, optional
        Start of the runs, for example each seed's pilot iterate.
    progress : callable, optional
        Called with (runs done, runs in all of the present grid).
    executor : concurrent.futures.Executor, optional
        Runs go there; the result does not depend on it.

    Returns
    -------
    TunedOptimizer

    Raises
    ------
    ValueError
        For an unknown method or a value outside its domain.
    ArithmeticError
        When every configuration diverged.
    """
    grid = grid_of(method)
    steps = whole_number("steps", steps)
    seeds = tuning_seeds() if seeds is None else whole_numbers("seeds", seeds, minimum=0)
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds={seeds!r} must be one or more distinct integers")
    runs = _Runs(problem, sampling, steps, seeds, initial_parameters, progress, executor)
    lengths = {"delay": delay, "sgd_steps": sgd_steps, "adaptive_steps": adaptive_steps}
    for name, length in lengths.items():
        if length is not None:
            whole_number(name, length)
    if method == "dp-sgd":
        return _best(runs, grid(GridContext(noise_multiplier, steps)))
    if delay is None and sgd_steps is None and adaptive_steps is None:
        delay = default_delay(steps)
    phases: Phases = resolve_phases(delay, sgd_steps, adaptive_steps)
    searched = None
    if base is None:
        searched = _best(runs, dp_sgd_grid(GridContext(noise_multiplier, steps)))
        assert isinstance(searched.optimizer, DpSgd)  # the grid holds nothing else
        base = searched.optimizer
    divisor = make_sampler(sampling, problem.dataset_size).expected_batch_size
    context = GridContext(noise_multiplier, steps, base, phases, public, divisor, settings or {})
    return _best(runs, grid(context), searched)


@dataclass(frozen=True)
class _Runs:
    problem: Problem
    sampling: Sampling
    steps: int
    seeds: tuple[int, ...]
    initial_parameters: Array | Mapping[int, Array] | None
    progress: Callable[[int, int], None] | None
    executor: Executor | None


def _best(
    runs: _Runs, grid: Sequence[Optimizer], base: TunedOptimizer | None = None
) -> TunedOptimizer:
    losses = grid_losses(
        grid,
        runs.problem,
        sampling=runs.sampling,
        steps=runs.steps,
        seeds=runs.seeds,
        initial_parameters=runs.initial_parameters,
        executor=runs.executor,
        progress=runs.progress,
    )
    table = tuple(
        GridRow(optimizer, tuple(row)) for optimizer, row in zip(grid, losses, strict=True)
    )
    best = min(table, key=lambda row: row.mean_loss)  # the first of equals, in grid order
    if math.isinf(best.mean_loss):
        raise ArithmeticError(
            f"every {best.optimizer.name} configuration diverged on {runs.problem.name}"
        )
    return TunedOptimizer(best.optimizer, table, runs.seeds, base=base)
