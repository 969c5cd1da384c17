"""What the adaptive methods have in common: when v is renewed, and what divides what.

Two kinds of schedule, `EveryStep` and `Delayed`, times two kinds of release, `OpenQueries` and
`ClippedQueries` (or `OpenPhases` and `ClippedPhases`), times a `SecondMoment`. A method names its
settings as dataclass fields, picks one of each, and says its second moment; the classes here
hold no fields of their own.

In a `Delayed` method phases alternate (Li et al., ICLR 2023, algorithm 1). In SGD phases it takes
plain steps and sums the releases; at the last of them v takes in (sum / length) and the sum
starts anew. In adaptive phases D = root(v) + damping stays fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from dp2theory.optimizers import defaults
from dp2theory.optimizers.accumulators import FirstMoment, SecondMoment
from dp2theory.optimizers.phases import Phases, resolve_phases
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array
from dp2theory.problems.validation import positive_real, real_in

#: Settings that must be finite and > 0, and those that weigh an old average.
_POSITIVE = frozenset(
    {
        "learning_rate",
        "clip_norm",
        "adaptive_learning_rate",
        "preconditioned_clip_norm",
        "noise_multiplier",
        "damping",
        "initial_second_moment",
        "expected_batch_size",
        "noise_floor",
    }
)
_WEIGHTS = frozenset({"ema", "gradient_ema"})


class _Method:
    """Checks of settings; subclasses are frozen dataclasses."""

    damping: float

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            if field.name in _POSITIVE:
                positive_real(field.name, getattr(self, field.name))
            elif field.name in _WEIGHTS:
                real_in(field.name, getattr(self, field.name), 0.0, 1.0, open_high=True)

    @classmethod
    def _field_names(cls) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    @property
    def second_moment(self) -> SecondMoment:
        """How v accumulates."""
        raise NotImplementedError

    @property
    def first_moment(self) -> FirstMoment | None:
        """How the direction accumulates; None where each gradient is the direction."""
        return None


class OpenQueries:
    """Means of raw gradients: not private."""

    noise_multiplier: ClassVar[float] = 0.0

    def query(self, state: OptimizerState) -> Query:
        """Return an unclipped query without noise."""
        return Query(clip_norm=float("inf"), noise_multiplier=0.0)


class ClippedQueries:
    """Noisy means of clipped gradients, the same query at every step."""

    clip_norm: float
    noise_multiplier: float

    def query(self, state: OptimizerState) -> Query:
        """Return the clipped noisy query."""
        return Query(clip_norm=self.clip_norm, noise_multiplier=self.noise_multiplier)


class EveryStep(_Method):
    """v takes in every release: w <- w - learning_rate * m / (root(v) + damping)."""

    default_rate: ClassVar[float] = defaults.MOVING_AVERAGE_RATE
    learning_rate: float

    @classmethod
    def default_settings(cls, given: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Return `given` with a learning rate and a clip norm where it has none."""
        return defaults.every_step(given, cls._field_names(), cls.default_rate)

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return the moments before the first step."""
        arrays = {"second_moment": self.second_moment.initial(dimension)}
        if self.first_moment is not None:
            arrays["first_moment"] = np.zeros(dimension)
        return OptimizerState(0, arrays)

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return parameters and state after one step."""
        updates = state.step + 1
        second = self.second_moment.updated(state.arrays["second_moment"], released)
        arrays, direction = {"second_moment": second}, released
        if self.first_moment is not None:
            first = self.first_moment.updated(state.arrays["first_moment"], released)
            arrays["first_moment"] = first
            direction = self.first_moment.value(first, updates)
        divisor = self.second_moment.root(second, updates) + self.damping
        moved = parameters - self.learning_rate * (direction / divisor)
        return moved, OptimizerState(updates, arrays)


class Delayed(_Method):
    """v takes in the mean over an SGD phase; the adaptive phase that follows uses it.

    With a `first_moment`, adaptive steps move along the average of the adaptive directions of
    their phase so far. It starts anew with each phase, since every phase has a D of its own.
    """

    learning_rate: float
    adaptive_learning_rate: float
    delay: int | None
    sgd_steps: int | None
    adaptive_steps: int | None

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.phases  # raises where the lengths make no sense

    @classmethod
    def default_settings(cls, given: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Return `given` with phase lengths, learning rates and clip norms where it has none."""
        return defaults.delayed(given, cls._field_names(), steps)

    @property
    def phases(self) -> Phases:
        """The phase lengths."""
        return resolve_phases(self.delay, self.sgd_steps, self.adaptive_steps)

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return the state before the first SGD phase."""
        arrays = {
            "gradient_sum": np.zeros(dimension),
            "second_moment": self.second_moment.initial(dimension),
            "preconditioner": np.full(dimension, self.damping),
        }
        if self.first_moment is not None:
            arrays["first_moment"] = np.zeros(dimension)
        return OptimizerState(0, arrays)

    def direction(self, state: OptimizerState, released: Array) -> Array:
        """Return the preconditioned gradient that an adaptive step's release stands for."""
        raise NotImplementedError

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return parameters and state after one step of the current phase."""
        if self.phases.is_sgd(state.step):
            moved = parameters - self.learning_rate * released
            return moved, self._after_sgd_step(state, released)
        arrays, direction = state.arrays, self.direction(state, released)
        if self.first_moment is not None:
            first = self.first_moment.updated(state.arrays["first_moment"], direction)
            arrays = {**state.arrays, "first_moment": first}
            position = self.phases.adaptive_position(state.step)
            direction = self.first_moment.value(first, position)
        moved = parameters - self.adaptive_learning_rate * direction
        return moved, OptimizerState(state.step + 1, arrays)

    def _after_sgd_step(self, state: OptimizerState, released: Array) -> OptimizerState:
        phases = self.phases
        arrays = {**state.arrays, "gradient_sum": state.arrays["gradient_sum"] + released}
        if phases.ends_sgd(state.step):
            renewals = state.step // phases.cycle + 1
            arrays = self.renewed(arrays, phases.sgd_steps, renewals)
        return OptimizerState(state.step + 1, arrays)

    def renewed(
        self, arrays: Mapping[str, Array], summed_steps: int, renewals: int
    ) -> dict[str, Array]:
        """Return the arrays with v and D renewed from the summed releases, and a fresh sum.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            Of the state, the last release added to the sum.
        summed_steps : int
            Number of releases in the sum.
        renewals : int
            How often v has been renewed, this time included.
        """
        total = arrays["gradient_sum"]
        second = self.second_moment.updated(arrays["second_moment"], total / summed_steps)
        new = {
            **arrays,
            "gradient_sum": np.zeros_like(total),
            "second_moment": second,
            "preconditioner": self.second_moment.root(second, renewals) + self.damping,
        }
        if "first_moment" in new:
            new["first_moment"] = np.zeros_like(total)
        return new


class OpenPhases(OpenQueries, Delayed):
    """Raw means in all phases, divided by D in the adaptive ones: not private."""

    def direction(self, state: OptimizerState, released: Array) -> Array:
        """Return the raw mean over D."""
        return released / state.arrays["preconditioner"]


class ClippedPhases(Delayed):
    """DP²: in adaptive phases gradients are divided by D *before* clipping and noise."""

    clip_norm: float
    preconditioned_clip_norm: float
    noise_multiplier: float

    def query(self, state: OptimizerState) -> Query:
        """Return the plain query in SGD phases, the preconditioned one in adaptive phases."""
        if self.phases.is_sgd(state.step):
            return Query(self.clip_norm, self.noise_multiplier)
        return self.preconditioned_query(state)

    def preconditioned_query(self, state: OptimizerState) -> Query:
        """Return the query of gradients over D."""
        return Query(
            self.preconditioned_clip_norm,
            self.noise_multiplier,
            state.arrays["preconditioner"],
        )

    def direction(self, state: OptimizerState, released: Array) -> Array:
        """Return the release itself: it is preconditioned already."""
        return released
