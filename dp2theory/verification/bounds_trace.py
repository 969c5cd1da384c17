"""Runs of the reference optimizers, with everything that a theorem speaks of written down.

The optimizer is the one that users run. It is wrapped: iterates are kept in a box, step sizes may
follow a schedule, and the three ways in which the theorems use the preconditioner in collection
steps are told apart. The problem is wrapped too, so that the gradient of every batch is seen
before noise is added; the noise is what the release holds besides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array, IndexArray, Problem

if TYPE_CHECKING:
    from accountants.sampling import Sampling

#: What the preconditioner does in SGD phases: nothing, divide as well, or the iterate rests.
PLAIN, COMMON, FREEZE = "plain", "common", "freeze"


@dataclass(frozen=True)
class Boxed:
    """DP²-RMSProp in a box, its step sizes on a schedule.

    Attributes
    ----------
    optimizer : Dp2RmsProp
        What moves, but for `mode`; its second moment is the one that is used.
    low, high : float
        Ends of the box, the same in every coordinate; infinite for none.
    sizes : callable, optional
        Step size of step t = 0, 1, ... in both kinds of phase; else those of the optimizer.
    mode : str
        ``"plain"``: SGD phases take plain steps, as the optimizer does. ``"common"``: released
        gradients are divided by the preconditioner there, too. ``"freeze"``: nothing moves there.
    seen : list
        The preconditioner before each step is appended.
    """

    optimizer: Dp2RmsProp
    low: float
    high: float
    sizes: Callable[[int], float] | None = None
    mode: str = PLAIN
    seen: list[Array] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        """Of the optimizer inside."""
        return self.optimizer.name

    @property
    def noise_multiplier(self) -> float:
        """Of the optimizer inside."""
        return self.optimizer.noise_multiplier

    def initial_state(self, dimension: int) -> OptimizerState:
        """Of the optimizer inside."""
        return self.optimizer.initial_state(dimension)

    def query(self, state: OptimizerState) -> Query:
        """Of the optimizer inside; the preconditioner is written down."""
        self.seen.append(np.array(state.arrays["preconditioner"]))
        return self.optimizer.query(state)

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Move as the optimizer does, or as `mode` says, and clip to the box."""
        inner = self.optimizer
        if self.sizes is not None:
            size = self.sizes(state.step)
            inner = replace(inner, learning_rate=size, adaptive_learning_rate=size)
        moved, after = inner.apply(parameters, state, released)
        if self.mode != PLAIN and inner.phases.is_sgd(state.step):
            divided = released / state.arrays["preconditioner"]
            rate = inner.learning_rate if self.mode == COMMON else 0.0
            moved = parameters - rate * divided
        return np.clip(moved, self.low, self.high), after


@dataclass(frozen=True, eq=False)
class Watched:
    """A problem that writes down what is asked of it.

    Attributes
    ----------
    problem : Problem
    points, sums : list
        Where each clipped sum was asked for, and the sum.
    """

    problem: Problem
    points: list[Array] = field(default_factory=list)
    sums: list[Array] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)

    def clipped_gradient_sum(
        self,
        parameters: Array,
        batch: IndexArray,
        *,
        clip_norm: float,
        preconditioner: Array | None = None,
    ) -> Array:
        """Of the problem inside; it is written down."""
        total = self.problem.clipped_gradient_sum(
            parameters, batch, clip_norm=clip_norm, preconditioner=preconditioner
        )
        self.points.append(np.array(parameters))
        self.sums.append(np.array(total))
        return total


@dataclass(frozen=True, eq=False)
class Traces:
    """What S runs of T steps in d dimensions did; step 1 is at position 0, runs come last.

    Attributes
    ----------
    w : ndarray, shape (T + 1, d, S)
        Iterates; the last is the one after step T.
    g, N, D : ndarray, shape (T, d, S)
        Mean gradient of the batch, noise as it stands in the release, preconditioner.
    adaptive : ndarray of bool, shape (T,)
    grad : ndarray, shape (T + 1, d, S)
        Subgradient of the whole loss at the iterate.
    gap : ndarray, shape (T + 1, S)
        Loss less its minimum.
    """

    w: Array
    g: Array
    N: Array
    D: Array
    adaptive: Any
    grad: Array
    gap: Array

    @property
    def runs(self) -> int:
        """S."""
        return int(self.w.shape[-1])


def play(
    make: Callable[[], Boxed],
    problem: Problem,
    *,
    sampling: Sampling,
    batch_size: float,
    steps: int,
    start: Array,
    seeds: Sequence[int],
    optimal_value: float,
) -> Traces:
    """Run an optimizer from each seed.

    Parameters
    ----------
    make : callable
        A fresh `Boxed` for each run.
    problem : Problem
    sampling : Sampling
    batch_size : float
        Its expected size: the divisor of the sums.
    steps : int
    start : ndarray, shape (d,)
    seeds : sequence of int
    optimal_value : float
        Of the loss.
    """
    found = [
        _one(make(), problem, sampling, batch_size, steps, start, seed, optimal_value)
        for seed in seeds
    ]
    w, g, N, D, grad, gap = (np.stack(each, axis=-1) for each in zip(*found, strict=True))
    phases = make().optimizer.phases
    adaptive = np.array([not phases.is_sgd(step) for step in range(steps)])
    return Traces(w, g, N, D, adaptive, grad, gap)


def _one(
    optimizer: Boxed,
    problem: Problem,
    sampling: Sampling,
    batch_size: float,
    steps: int,
    start: Array,
    seed: int,
    optimal_value: float,
) -> tuple[Array, ...]:
    watched = Watched(problem)
    releases: list[Array] = []
    result = run(
        optimizer,
        watched,
        sampling=sampling,
        steps=steps,
        rng=int(seed),
        initial_parameters=start,
        on_release=lambda _, released: releases.append(np.array(released)),
    )
    phases, mode = optimizer.optimizer.phases, optimizer.mode
    # The last point and sum are not of a step: the final loss is asked through `loss` alone.
    w = np.stack([*watched.points[:steps], result.parameters])
    asked = np.stack(watched.sums[:steps]) / batch_size
    noise = np.stack(releases) - asked
    seen = np.stack(optimizer.seen[:steps])
    sgd = np.array([phases.is_sgd(step) for step in range(steps)])[:, None]
    D = np.where(sgd, 1.0, seen) if mode == PLAIN else seen
    g = np.where(sgd, asked, asked * seen)
    everybody = np.arange(problem.dataset_size)
    grad = np.stack([problem.clipped_gradient_sum(each, everybody, clip_norm=np.inf) for each in w])
    gap = np.array([problem.loss(each) for each in w]) - optimal_value
    return w, g, noise, D, grad / problem.dataset_size, gap
