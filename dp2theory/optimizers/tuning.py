"""Structured tuning grids for the private optimizers.

Free random search over six hyper-parameters often fails for DP², while a grid around the
DP-SGD optimum works. Step sizes are effective steps eta = learning_rate * clip norm, the
farthest one record can move the iterate in a step, times the expected batch size:

- DP-SGD: eta in {0.3, 1, 3, 10}, clip norm in {0.5, 1, 2}.
- DP-RMSProp: clip norm of the tuned DP-SGD, learning rate in {0.003, 0.01, 0.03, 0.1, 0.3}
  (its step does not scale with the clip norm).
- DP²-RMSProp: clip norm C1 of the tuned DP-SGD, eta1 in {0.1, 0.3, 1} and eta2 in
  {1, 3, 10, 30, 100} times its eta; C2 = 500, damping 1e-7, ema 0.9. In the adaptive phases
  eta2 = adaptive_learning_rate * C2.

The choice is made by the train loss on the private data. That is not accounted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.optimizers.dp2 import Dp2RmsProp, resolve_phases
from dp2theory.optimizers.protocol import DivergedRun, run
from dp2theory.optimizers.results import describe_optimizer
from dp2theory.optimizers.rmsprop import DpRmsProp
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.steps import Optimizer
from dp2theory.problems.protocol import Array, Problem
from dp2theory.problems.validation import whole_number

if TYPE_CHECKING:
    from accountants.sampling import Sampling

NOT_ACCOUNTED = (
    "The hyper-parameters were chosen by the train loss on the private data; "
    "the privacy cost of this choice is not accounted."
)
METHODS = ("dp-sgd", "dp-rmsprop", "dp2-rmsprop")
DP_SGD_STEPS = (0.3, 1.0, 3.0, 10.0)
DP_SGD_CLIP_NORMS = (0.5, 1.0, 2.0)
DP_RMSPROP_LEARNING_RATES = (0.003, 0.01, 0.03, 0.1, 0.3)
DP2_SGD_FACTORS = (0.1, 0.3, 1.0)
DP2_ADAPTIVE_FACTORS = (1.0, 3.0, 10.0, 30.0, 100.0)
PRECONDITIONED_CLIP_NORM = 500.0

#: Tuning seeds start here, far from the small seeds that people evaluate with.
FIRST_TUNING_SEED = 2**32


@dataclass(frozen=True)
class GridRow:
    """One configuration and its final train losses (inf where the run diverged)."""

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


def dp_sgd_grid(noise_multiplier: float) -> list[Optimizer]:
    """Return the DP-SGD grid."""
    return [
        DpSgd(step / clip, clip, noise_multiplier)
        for clip in DP_SGD_CLIP_NORMS
        for step in DP_SGD_STEPS
    ]


def dp_rmsprop_grid(base: DpSgd, noise_multiplier: float) -> list[Optimizer]:
    """Return the DP-RMSProp grid at the clip norm of `base`."""
    return [DpRmsProp(rate, base.clip_norm, noise_multiplier) for rate in DP_RMSPROP_LEARNING_RATES]


def dp2_rmsprop_grid(
    base: DpSgd, noise_multiplier: float, *, sgd_steps: int, adaptive_steps: int
) -> list[Optimizer]:
    """Return the DP²-RMSProp grid around the DP-SGD configuration `base`."""
    eta = base.learning_rate * base.clip_norm
    phases: dict[str, int] = (
        {"delay": sgd_steps}
        if sgd_steps == adaptive_steps
        else {"sgd_steps": sgd_steps, "adaptive_steps": adaptive_steps}
    )
    return [
        Dp2RmsProp(
            learning_rate=sgd_factor * base.learning_rate,
            clip_norm=base.clip_norm,
            adaptive_learning_rate=adaptive_factor * eta / PRECONDITIONED_CLIP_NORM,
            preconditioned_clip_norm=PRECONDITIONED_CLIP_NORM,
            noise_multiplier=noise_multiplier,
            **phases,
        )
        for sgd_factor in DP2_SGD_FACTORS
        for adaptive_factor in DP2_ADAPTIVE_FACTORS
    ]


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
    initial_parameters: Array | Mapping[int, Array] | None = None,
    progress: Callable[[int, int], None] | None = None,
    executor: Executor | None = None,
) -> TunedOptimizer:
    """Return the configuration of the method's grid with the smallest mean final train loss.

    Parameters
    ----------
    problem : Problem
    method : str
        "dp-sgd", "dp-rmsprop" or "dp2-rmsprop".
    sampling, steps, noise_multiplier
        Of the runs, as in `dp2theory.optimizers.protocol.run`.
    seeds : sequence of int, optional
        Tuning seeds, three or more are advised; `tuning_seeds()` if None.
    base : DpSgd, optional
        The tuned DP-SGD that the other two grids build on; searched for first if None.
    delay, sgd_steps, adaptive_steps : int, optional
        Phases of DP²; delay = max(1, steps // 40) if none is given.
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
    if method not in METHODS:
        raise ValueError(f"method={method!r} has no grid, must be one of {', '.join(METHODS)}")
    steps = whole_number("steps", steps)
    seeds = tuning_seeds() if seeds is None else tuple(seeds)
    if not seeds or len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds={seeds!r} must be one or more distinct integers")
    runs = _Runs(problem, sampling, steps, seeds, initial_parameters, progress, executor)
    if method == "dp-sgd":
        return _best(runs, dp_sgd_grid(noise_multiplier))
    if delay is None and sgd_steps is None and adaptive_steps is None:
        delay = max(1, steps // 40)
    phases = resolve_phases(delay, sgd_steps, adaptive_steps)
    searched = None
    if base is None:
        searched = _best(runs, dp_sgd_grid(noise_multiplier))
        assert isinstance(searched.optimizer, DpSgd)  # the grid holds nothing else
        base = searched.optimizer
    if method == "dp-rmsprop":
        return _best(runs, dp_rmsprop_grid(base, noise_multiplier), searched)
    grid = dp2_rmsprop_grid(
        base,
        noise_multiplier,
        sgd_steps=phases.sgd_steps,
        adaptive_steps=phases.adaptive_steps,
    )
    return _best(runs, grid, searched)


@dataclass(frozen=True)
class _Runs:
    problem: Problem
    sampling: Sampling
    steps: int
    seeds: tuple[int, ...]
    initial_parameters: Array | Mapping[int, Array] | None
    progress: Callable[[int, int], None] | None
    executor: Executor | None

    def start(self, seed: int) -> Array | None:
        if isinstance(self.initial_parameters, Mapping):
            if seed not in self.initial_parameters:
                raise ValueError(f"initial_parameters has no entry for tuning seed {seed}")
            return self.initial_parameters[seed]
        return self.initial_parameters

    def losses(self, grid: Sequence[Optimizer]) -> list[float]:
        tasks = [
            (optimizer, self.problem, self.sampling, self.steps, seed, self.start(seed))
            for optimizer in grid
            for seed in self.seeds
        ]
        outcomes: Iterable[float] = map(_final_loss, tasks)
        if self.executor is not None:
            outcomes = self.executor.map(_final_loss, tasks)  # in the order of the tasks
        losses: list[float] = []
        for loss in outcomes:
            losses.append(loss)
            if self.progress is not None:
                self.progress(len(losses), len(tasks))
        return losses


def _final_loss(task: tuple[Optimizer, Problem, Sampling, int, int, Array | None]) -> float:
    optimizer, problem, sampling, steps, seed, start = task
    try:
        loss = run(
            optimizer, problem, sampling=sampling, steps=steps, rng=seed, initial_parameters=start
        ).final_loss
    except DivergedRun:
        return math.inf
    return loss if math.isfinite(loss) else math.inf


def _best(
    runs: _Runs, grid: Sequence[Optimizer], base: TunedOptimizer | None = None
) -> TunedOptimizer:
    losses, k = runs.losses(grid), len(runs.seeds)
    table = tuple(
        GridRow(optimizer, tuple(losses[i * k : (i + 1) * k])) for i, optimizer in enumerate(grid)
    )
    best = min(table, key=lambda row: row.mean_loss)  # the first of equals, in grid order
    if math.isinf(best.mean_loss):
        raise ArithmeticError(
            f"every {best.optimizer.name} configuration diverged on {runs.problem.name}"
        )
    return TunedOptimizer(best.optimizer, table, runs.seeds, base=base)
