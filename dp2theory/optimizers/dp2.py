"""Delayed preconditioning: DP²-RMSProp (Li et al., ICLR 2023) and its non-private twin.

Phases alternate. In even phases the optimizer takes SGD steps and sums the released noisy
mean gradients; at the last of these steps v <- ema * v + (1 - ema) * (sum / length)^2, from
v = 0 without bias correction, and the sum starts anew. In odd phases D = sqrt(v) + damping
stays fixed, and each gradient is divided by D *before* clipping and noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array
from dp2theory.problems.validation import positive_real, real_in, whole_number


@dataclass(frozen=True)
class Phases:
    """Lengths of the alternating phases, in steps; the SGD phase comes first."""

    sgd_steps: int
    adaptive_steps: int

    def is_sgd(self, step: int) -> bool:
        """Whether step number `step` (from 0) belongs to an SGD phase."""
        return step % (self.sgd_steps + self.adaptive_steps) < self.sgd_steps

    def ends_sgd(self, step: int) -> bool:
        """Whether `step` is the last step of an SGD phase."""
        return step % (self.sgd_steps + self.adaptive_steps) == self.sgd_steps - 1


def resolve_phases(delay: int | None, sgd_steps: int | None, adaptive_steps: int | None) -> Phases:
    """Return phase lengths from either `delay` (both equal) or the two lengths.

    Raises
    ------
    ValueError
        Unless exactly one of the two forms is given, with integers >= 1.
    """
    if delay is not None:
        if sgd_steps is not None or adaptive_steps is not None:
            raise ValueError(
                f"delay={delay!r} excludes sgd_steps={sgd_steps!r} and "
                f"adaptive_steps={adaptive_steps!r}: give delay, or both lengths"
            )
        length = whole_number("delay", delay)
        return Phases(length, length)
    if sgd_steps is None or adaptive_steps is None:
        raise ValueError(
            f"delay=None with sgd_steps={sgd_steps!r} and adaptive_steps={adaptive_steps!r}: "
            "give delay, or both lengths, as integers >= 1"
        )
    return Phases(
        whole_number("sgd_steps", sgd_steps), whole_number("adaptive_steps", adaptive_steps)
    )


def _initial_state(dimension: int, damping: float) -> OptimizerState:
    return OptimizerState(
        0,
        {
            "gradient_sum": np.zeros(dimension),
            "second_moment": np.zeros(dimension),
            "preconditioner": np.full(dimension, damping),
        },
    )


def _after_sgd_step(
    state: OptimizerState, released: Array, phases: Phases, ema: float, damping: float
) -> OptimizerState:
    """Accumulate the release; at the end of the phase renew v and D from the phase mean."""
    total = state.arrays["gradient_sum"] + released
    if not phases.ends_sgd(state.step):
        return OptimizerState(state.step + 1, {**state.arrays, "gradient_sum": total})
    phase_mean = total / phases.sgd_steps
    second = ema * state.arrays["second_moment"] + (1 - ema) * phase_mean**2
    return OptimizerState(
        state.step + 1,
        {
            "gradient_sum": np.zeros_like(total),
            "second_moment": second,
            "preconditioner": np.sqrt(second) + damping,
        },
    )


@dataclass(frozen=True)
class Dp2RmsProp:
    """DP²-RMSProp with a learning rate and a clip norm of its own in each kind of phase.

    Attributes
    ----------
    learning_rate, clip_norm : float
        Of the SGD phases, both > 0.
    adaptive_learning_rate, preconditioned_clip_norm : float
        Of the adaptive phases, both > 0; the clip norm bounds ||g_i / D||.
    noise_multiplier : float
        Noise std on the sum over the clip norm of the phase, > 0; the same in all phases,
        hence every step is the same event.
    delay : int, optional
        Length s of both kinds of phase; or give both of
    sgd_steps, adaptive_steps : int, optional
        the lengths separately.
    ema : float
        Weight of the old second moment, in [0, 1).
    damping : float
        Constant added to sqrt(v), > 0.
    """

    name: ClassVar[str] = "dp2-rmsprop"

    learning_rate: float
    clip_norm: float
    adaptive_learning_rate: float
    preconditioned_clip_norm: float
    noise_multiplier: float
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    ema: float = 0.9
    damping: float = 1e-7

    def __post_init__(self) -> None:
        for name in (
            "learning_rate",
            "clip_norm",
            "adaptive_learning_rate",
            "preconditioned_clip_norm",
            "noise_multiplier",
            "damping",
        ):
            positive_real(name, getattr(self, name))
        real_in("ema", self.ema, 0.0, 1.0, open_high=True)
        resolve_phases(self.delay, self.sgd_steps, self.adaptive_steps)

    @property
    def phases(self) -> Phases:
        """The phase lengths."""
        return resolve_phases(self.delay, self.sgd_steps, self.adaptive_steps)

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return the state before the first SGD phase (v = 0)."""
        return _initial_state(dimension, self.damping)

    def query(self, state: OptimizerState) -> Query:
        """Return the plain query in SGD phases, the preconditioned one in adaptive phases."""
        if self.phases.is_sgd(state.step):
            return Query(self.clip_norm, self.noise_multiplier)
        return Query(
            self.preconditioned_clip_norm,
            self.noise_multiplier,
            state.arrays["preconditioner"],
        )

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return parameters and state after one step of the current phase."""
        phases = self.phases
        if not phases.is_sgd(state.step):
            moved = parameters - self.adaptive_learning_rate * released
            return moved, OptimizerState(state.step + 1, state.arrays)
        moved = parameters - self.learning_rate * released
        return moved, _after_sgd_step(state, released, phases, self.ema, self.damping)


@dataclass(frozen=True)
class DelayedRmsProp:
    """RMSProp whose second moment is renewed only from means over SGD phases; not private.

    Attributes
    ----------
    learning_rate, adaptive_learning_rate : float
        Of the SGD and of the adaptive phases, both > 0.
    delay, sgd_steps, adaptive_steps, ema, damping
        As in `Dp2RmsProp`.
    """

    name: ClassVar[str] = "delayed-rmsprop"
    noise_multiplier: ClassVar[float] = 0.0

    learning_rate: float
    adaptive_learning_rate: float
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    ema: float = 0.9
    damping: float = 1e-7

    def __post_init__(self) -> None:
        for name in ("learning_rate", "adaptive_learning_rate", "damping"):
            positive_real(name, getattr(self, name))
        real_in("ema", self.ema, 0.0, 1.0, open_high=True)
        resolve_phases(self.delay, self.sgd_steps, self.adaptive_steps)

    @property
    def phases(self) -> Phases:
        """The phase lengths."""
        return resolve_phases(self.delay, self.sgd_steps, self.adaptive_steps)

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return the state before the first SGD phase (v = 0)."""
        return _initial_state(dimension, self.damping)

    def query(self, state: OptimizerState) -> Query:
        """Return an unclipped query without noise."""
        return Query(clip_norm=float("inf"), noise_multiplier=0.0)

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return parameters and state after one step of the current phase."""
        phases = self.phases
        if not phases.is_sgd(state.step):
            direction = released / state.arrays["preconditioner"]
            moved = parameters - self.adaptive_learning_rate * direction
            return moved, OptimizerState(state.step + 1, state.arrays)
        moved = parameters - self.learning_rate * released
        return moved, _after_sgd_step(state, released, phases, self.ema, self.damping)
