"""Runs in a box, with what the master inequality speaks of written down along the way.

The theorem is about iterates that are clipped to a box in every coordinate. The optimizer is the
one that users run, with that clipping around it; clipping to a box that is fixed beforehand is
post-processing and costs no privacy. Watching a run changes none of its bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from dp2theory.experiments.figures.watched import WatchedProblem
from dp2theory.optimizers.batches import make_sampler
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.sgd import DpSgd, Sgd
from dp2theory.planning.trial import run_seed

if TYPE_CHECKING:
    from accountants.sampling import Sampling
    from dp2theory.optimizers.steps import Optimizer, OptimizerState, Query
    from dp2theory.planning.trial import SeededRun
    from dp2theory.problems.protocol import Array, IndexArray, Problem

#: Problems whose minimiser lies in [-1, 1]^d, by their construction (problems/convex.py).
KNOWN_BOXES = dict.fromkeys(("least-absolute-deviations", "huber", "quadratic"), (-1.0, 1.0))
#: Methods that move along g/D + noise, with a D that is fixed before the step. Most others divide
#: a gradient by something that it is a part of itself, and no theorem here speaks of them.
METHODS = (Sgd, DpSgd, Dp2RmsProp)
#: Numbers that the traces of all runs may hold together.
LARGEST = 20_000_000
#: Chance below which noise is held to be of another deviation than is said.
UNSEEN = 1e-12
#: What a clipped sum may differ from the whole one by, relative: rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class InBox:
    """An optimizer whose iterates are clipped to [box_low, box_high] in every coordinate.

    Attributes
    ----------
    optimizer : Optimizer
    box_low, box_high : float
    watch : callable, optional
        Called with each query, and with each release before it is applied.
    """

    optimizer: Optimizer
    box_low: float
    box_high: float
    watch: Callable[[Query | Array], None] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Of the optimizer inside."""
        return self.optimizer.name

    @property
    def noise_multiplier(self) -> float:
        """Of the optimizer inside."""
        return self.optimizer.noise_multiplier

    @property
    def delay(self) -> int | None:
        """Of the optimizer inside, where it has one."""
        found: int | None = getattr(self.optimizer, "delay", None)
        return found

    def initial_state(self, dimension: int) -> OptimizerState:
        """Of the optimizer inside."""
        return self.optimizer.initial_state(dimension)

    def query(self, state: OptimizerState) -> Query:
        """Of the optimizer inside."""
        asked = self.optimizer.query(state)
        if self.watch is not None:
            self.watch(asked)
        return asked

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Move as the optimizer does, and clip to the box."""
        if self.watch is not None:
            self.watch(released)
        moved, after = self.optimizer.apply(parameters, state, released)
        return np.clip(moved, self.box_low, self.box_high), after


@dataclass(frozen=True, eq=False)
class Trace:
    """One run of T steps in d dimensions; step 1 is at position 0.

    Attributes
    ----------
    w : ndarray, shape (T + 1, d)
        Iterates; the last is the one after step T.
    g, N, D : ndarray, shape (T, d)
        Mean gradient of the batch, noise as it stands in the (preconditioned) release, and the
        preconditioner, 1 where there is none.
    a, nu : ndarray, shape (T,)
        Step size, and noise standard deviation of a coordinate of the release.
    gap : ndarray, shape (T,)
        Train loss at the iterate before each step, less its minimum over the box.
    average_gap : float
        The same at the mean of these iterates.
    clipped : int
        Steps in which clipping changed the sum of the batch.
    clip_norm : float
        Of the steps that divide by D, or of all where there are none.
    low, high : float
        The box.
    """

    w: Array
    g: Array
    N: Array
    D: Array
    a: Array
    nu: Array
    gap: Array
    average_gap: float
    clipped: int
    clip_norm: float
    low: float
    high: float

    def check(self) -> None:
        """Refuse a trace that is not what the theorem's update rule makes.

        Raises
        ------
        ValueError
            When an iterate lies outside the box, or is not the one before it moved along g/D + N
            with step size a and clipped to the box: a trace of another run, or of another step.
            When the noise is not of the deviation that the bound pays for. When gradients were
            clipped.
        """
        if self.clipped:
            raise ValueError(
                f"{'clip_norm' if (self.D == 1).all() else 'preconditioned_clip_norm'}="
                f"{self.clip_norm!r}: must be larger, it changed the gradients of {self.clipped} "
                "steps of a run: clipped gradients are biased, and the bounds are for unbiased ones"
            )
        side = self.high - self.low
        if self.w.min() < self.low or self.w.max() > self.high:
            raise ValueError(f"trace: an iterate lies outside the box [{self.low}, {self.high}]")
        moved = self.w[:-1] - self.a[:, None] * (self.g / self.D + self.N)
        off = np.abs(np.clip(moved, self.low, self.high) - self.w[1:]).max(axis=1)
        wrong = np.flatnonzero(off > _ROUNDING * side)
        if wrong.size:
            raise ValueError(
                f"trace: step {wrong[0] + 1} does not lead from its iterate to the next one "
                f"(off by {off[wrong[0]]:.3g}): it is of another run, or of another step size"
            )
        self._check_noise()

    def _check_noise(self) -> None:
        """Refuse noise whose squares nobody would see at these deviations."""
        from scipy.special import chdtr, chdtrc

        # N is a difference of two numbers, and known to their rounding only.
        slip = 8 * np.finfo(float).eps * (np.abs(self.g / self.D) + np.abs(self.N))
        silent = self.nu == 0
        least = np.maximum(np.abs(self.N) - slip, 0)
        squares = (least[~silent] / self.nu[~silent, None]) ** 2
        most = ((np.abs(self.N) + slip)[~silent] / self.nu[~silent, None]) ** 2
        count = squares.size
        odd = count and min(chdtrc(count, squares.sum()), chdtr(count, most.sum())) < UNSEEN
        if least[silent].any() or odd:
            raise ValueError(
                "trace: its noise is not of the standard deviation nu: the bound would pay for "
                "other noise than the run has"
            )


def box_of(problem: Problem) -> tuple[float, float]:
    """The box of a problem that the master inequality can be evaluated on.

    Raises
    ------
    ValueError
        Where the loss is not convex, or box or optimal value are not known; it says which.
    """
    known, name = problem.constants, problem.name
    if not problem.convex:
        raise ValueError(
            f"problem={name!r}: its loss is not convex, the bounds are for convex ones"
        )
    if known.diameter is None or name not in KNOWN_BOXES:
        raise ValueError(
            f"problem={name!r}: no box is known that holds its minimiser; those of "
            f"{', '.join(KNOWN_BOXES)} are"
        )
    if known.optimal_value is None or known.lipschitz is None:
        raise ValueError(f"problem={name!r}: its optimal value is not known, so that no gap is")
    low, high = KNOWN_BOXES[name]
    assert np.isclose(known.diameter, (high - low) * sqrt(problem.dimension))
    return low, high


def check_method(optimizer: Optimizer, problem: Problem) -> None:
    """Refuse a method without a theorem, and clip norms that are sure to clip.

    Raises
    ------
    ValueError
    """
    if not isinstance(optimizer, METHODS):
        names = ", ".join(each.name for each in METHODS)
        raise ValueError(
            f"method={optimizer.name!r}: no theorem here speaks of it with these settings; "
            f"certified are plain {names}"
        )
    clip, largest = getattr(optimizer, "clip_norm", None), problem.constants.lipschitz
    if clip is not None and largest is not None and clip < largest * (1 - _ROUNDING):
        raise ValueError(
            f"clip_norm={clip!r}: must be at least {largest:.6g}, the largest norm of a record's "
            f"gradient on {problem.name}: clipped gradients are biased, and the bounds are for "
            "unbiased ones"
        )


def check_size(steps: int, dimension: int, runs: int) -> None:
    """Refuse traces that are too large to keep.

    Raises
    ------
    ValueError
    """
    if 5 * steps * dimension * runs > LARGEST:
        raise ValueError(
            f"steps={steps}: the traces of {runs} runs in {dimension} dimensions are too large to "
            f"keep; their product must be at most {LARGEST // 5}"
        )


def record_run(
    optimizer: Optimizer,
    problem: Problem,
    *,
    sampling: Sampling,
    steps: int,
    seed: int,
    record_every: int | None = None,
    on_step: Callable[[int], None] | None = None,
) -> tuple[SeededRun, Trace]:
    """One run in the problem's box, and its trace. The arguments are those of `run_seed`.

    Raises
    ------
    ValueError
        Of `box_of` and `check_method`.
    """
    low, high = box_of(problem)
    check_method(optimizer, problem)
    seen = _Seen(problem)
    boxed = InBox(optimizer, low, high, seen.watch)
    made = run_seed(
        boxed,
        WatchedProblem(problem, seen.summed),
        sampling=sampling,
        steps=steps,
        seed=seed,
        record_every=record_every,
        on_step=on_step,
    )
    made = replace(made, result=replace(made.result, optimizer=replace(boxed, watch=None)))
    divisor = make_sampler(sampling, problem.dataset_size).expected_batch_size
    return made, seen.trace(optimizer, made.result.parameters, divisor, low, high)


class _Seen:
    """What a run shows, step by step."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.points: list[Array] = []
        self.sums: list[Array] = []
        self.divisors: list[Array] = []
        self.adaptive: list[bool] = []
        self.deviations: list[float] = []
        self.releases: list[Array] = []
        self.clip_norm = np.inf
        self.clipped = 0

    def watch(self, shown: Query | Array) -> None:
        """Take in a query or a release."""
        if isinstance(shown, np.ndarray):
            self.releases.append(shown.copy())
            return
        self.clip_norm = shown.clip_norm
        noisy = shown.noise_multiplier > 0
        self.deviations.append(shown.noise_multiplier * shown.clip_norm if noisy else 0.0)

    def summed(
        self, parameters: Array, batch: IndexArray, preconditioner: Array | None, total: Array
    ) -> None:
        """Take in the sum of one batch."""
        self.points.append(parameters.copy())
        self.sums.append(total.copy())
        self.adaptive.append(preconditioner is not None)
        self.divisors.append(
            np.ones_like(total) if preconditioner is None else preconditioner.copy()
        )
        if np.isfinite(self.clip_norm):
            whole = self.problem.clipped_gradient_sum(
                parameters, batch, clip_norm=np.inf, preconditioner=preconditioner
            )
            scale = self.clip_norm * max(batch.size, 1)
            self.clipped += bool(np.linalg.norm(whole - total) > _ROUNDING * scale)

    def trace(
        self, optimizer: Optimizer, last: Array, divisor: float, low: float, high: float
    ) -> Trace:
        """What was seen, as a trace."""
        rate = float(getattr(optimizer, "learning_rate"))  # noqa: B009, all methods here have one
        later = float(getattr(optimizer, "adaptive_learning_rate", rate))
        asked, D = np.array(self.sums) / divisor, np.array(self.divisors)
        w = np.array([*self.points, last])
        optimal = self.problem.constants.optimal_value
        assert optimal is not None  # `box_of` has looked
        return Trace(
            w=w,
            g=asked * D,
            N=np.array(self.releases) - asked,
            D=D,
            a=np.where(self.adaptive, later, rate),
            nu=np.array(self.deviations) / divisor,
            gap=np.array([self.problem.loss(each) for each in w[:-1]]) - optimal,
            average_gap=self.problem.loss(w[:-1].mean(axis=0)) - optimal,
            clipped=self.clipped,
            clip_norm=float(getattr(optimizer, "preconditioned_clip_norm", self.clip_norm)),
            low=low,
            high=high,
        )
