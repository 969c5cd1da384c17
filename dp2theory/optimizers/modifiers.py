"""Momentum and learning-rate decay around any optimizer.

Both act on displacements: the wrapped optimizer asks its queries and takes its step as ever, and
the wrapper changes by how much the parameters follow. Queries, noise and ledger are the wrapped
optimizer's. Where that projects its iterate onto a set, the changed iterate may leave the set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dp2theory.optimizers.steps import Optimizer, OptimizerState, Query
from dp2theory.problems.protocol import Array
from dp2theory.problems.validation import real_in, whole_number

#: Schedules by name: the factor at step t of T, as a function of t / T.
SCHEDULES = ("linear", "cosine", "inverse-sqrt")


class _Wrapper:
    optimizer: Optimizer

    @property
    def noise_multiplier(self) -> float:
        """Of the wrapped optimizer."""
        return self.optimizer.noise_multiplier

    @property
    def dimension(self) -> int:
        """Of the wrapped optimizer, if it is made for a certain dimension."""
        dimension: int = self.optimizer.dimension  # type: ignore[attr-defined]
        return dimension

    @property
    def expected_batch_size(self) -> float:
        """Of the wrapped optimizer, if it reckons with one."""
        size: float = self.optimizer.expected_batch_size  # type: ignore[attr-defined]
        return size

    def _check_optimizer(self) -> None:
        for name in ("initial_state", "query", "apply"):
            if not callable(getattr(self.optimizer, name, None)):
                raise ValueError(f"optimizer={self.optimizer!r} must be an optimizer to wrap")


@dataclass(frozen=True)
class Momentum(_Wrapper):
    """Heavy-ball momentum (Polyak, 1964) on an optimizer's displacements.

    velocity <- momentum * velocity + (displacement of the step), w <- w + velocity, from
    velocity 0. Around DP-SGD it is DP-SGD with momentum.

    Attributes
    ----------
    optimizer : Optimizer
        What is wrapped.
    momentum : float
        Weight of the old velocity, in [0, 1); 0 changes nothing.

    Privacy
    -------
    That of the wrapped optimizer: the velocity is made from its iterates.
    """

    optimizer: Optimizer
    momentum: float = 0.9

    def __post_init__(self) -> None:
        self._check_optimizer()
        real_in("momentum", self.momentum, 0.0, 1.0, open_high=True)
        if any(isinstance(inner, Momentum) for inner in _layers(self.optimizer)):
            raise ValueError(f"optimizer={self.optimizer.name} has momentum already")

    @property
    def name(self) -> str:
        """Name of the wrapped optimizer and "+momentum"."""
        return f"{self.optimizer.name}+momentum"

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return the wrapped optimizer's state with a velocity of zeros."""
        state, zeros = self.optimizer.initial_state(dimension), np.zeros(dimension)
        return replace(state, arrays={**state.arrays, "velocity": zeros, "displacement": zeros})

    def query(self, state: OptimizerState) -> Query:
        """Return the wrapped optimizer's query."""
        return self.optimizer.query(_without_own(state))

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Take the wrapped step; where it ends, move by the velocity in its stead."""
        moved, inner = self.optimizer.apply(parameters, _without_own(state), released)
        velocity = state.arrays["velocity"]
        # A step of several releases may move at each; the velocity takes in their sum.
        displacement = state.arrays["displacement"] + (moved - parameters)
        if inner.step > state.step:
            moved = moved + self.momentum * velocity
            velocity = self.momentum * velocity + displacement
            displacement = np.zeros_like(velocity)
        own = {"velocity": velocity, "displacement": displacement}
        return moved, replace(inner, arrays={**inner.arrays, **own})


@dataclass(frozen=True)
class LearningRateDecay(_Wrapper):
    """Displacements times a factor that falls from 1 with the step.

    With x = step / steps: linear 1 - x, cosine (1 + cos(pi x)) / 2, and inverse-sqrt
    1 / sqrt(1 + step), which does not depend on `steps`. The first two stay at their last
    value above 0, that of step `steps` - 1, should the run go on longer.

    Attributes
    ----------
    optimizer : Optimizer
        What is wrapped.
    schedule : {"linear", "cosine", "inverse-sqrt"}
        How the factor falls.
    steps : int
        Steps T of the run.

    Privacy
    -------
    That of the wrapped optimizer: the factor depends on the step alone.
    """

    optimizer: Optimizer
    schedule: Literal["linear", "cosine", "inverse-sqrt"]
    steps: int

    def __post_init__(self) -> None:
        self._check_optimizer()
        whole_number("steps", self.steps)
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule={self.schedule!r} must be one of {', '.join(SCHEDULES)}")

    @property
    def name(self) -> str:
        """Name of the wrapped optimizer, "+" and the schedule, and "-decay"."""
        return f"{self.optimizer.name}+{self.schedule}-decay"

    def factor(self, step: int) -> float:
        """Return the factor in (0, 1] of step number `step`, from 0."""
        if self.schedule == "inverse-sqrt":
            return 1 / math.sqrt(1 + step)
        share = min(step, self.steps - 1) / self.steps
        return 1 - share if self.schedule == "linear" else (1 + math.cos(math.pi * share)) / 2

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return the wrapped optimizer's state."""
        return self.optimizer.initial_state(dimension)

    def query(self, state: OptimizerState) -> Query:
        """Return the wrapped optimizer's query."""
        return self.optimizer.query(state)

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Take the wrapped step, scaled."""
        moved, new = self.optimizer.apply(parameters, state, released)
        # Written so that a factor of 1 leaves every bit of the wrapped step.
        return moved - (1 - self.factor(state.step)) * (moved - parameters), new


def _layers(optimizer: object) -> list[object]:
    layers = [optimizer]
    while isinstance(layers[-1], _Wrapper):
        layers.append(layers[-1].optimizer)
    return layers


def _without_own(state: OptimizerState) -> OptimizerState:
    own = ("velocity", "displacement")
    return replace(state, arrays={k: v for k, v in state.arrays.items() if k not in own})
