"""RMSProp, and DP-RMSProp: the same update on the released noisy gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array
from dp2theory.problems.validation import positive_real, real_in


def _rmsprop_step(
    parameters: Array,
    state: OptimizerState,
    released: Array,
    learning_rate: float,
    ema: float,
    damping: float,
) -> tuple[Array, OptimizerState]:
    second = ema * state.arrays["second_moment"] + (1 - ema) * released**2
    moved = parameters - learning_rate * (released / (np.sqrt(second) + damping))
    return moved, OptimizerState(state.step + 1, {"second_moment": second})


@dataclass(frozen=True)
class RmsProp:
    """v <- ema v + (1 - ema) g^2, w <- w - learning_rate g / (sqrt(v) + damping); not private.

    Attributes
    ----------
    learning_rate : float
        Step size > 0.
    ema : float
        Weight of the old second moment, in [0, 1). v starts at 0, without bias correction.
    damping : float
        Constant added to sqrt(v), > 0.
    """

    name: ClassVar[str] = "rmsprop"
    noise_multiplier: ClassVar[float] = 0.0

    learning_rate: float
    ema: float = 0.9
    damping: float = 1e-7

    def __post_init__(self) -> None:
        positive_real("learning_rate", self.learning_rate)
        real_in("ema", self.ema, 0.0, 1.0, open_high=True)
        positive_real("damping", self.damping)

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return a second moment of zeros."""
        return OptimizerState(0, {"second_moment": np.zeros(dimension)})

    def query(self, state: OptimizerState) -> Query:
        """Return an unclipped query without noise."""
        return Query(clip_norm=float("inf"), noise_multiplier=0.0)

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return parameters and state after one step."""
        return _rmsprop_step(
            parameters, state, released, self.learning_rate, self.ema, self.damping
        )


@dataclass(frozen=True)
class DpRmsProp:
    """RMSProp on the clipped noisy mean gradient: noise first, preconditioner after.

    Attributes
    ----------
    learning_rate, clip_norm, noise_multiplier : float
        All > 0.
    ema, damping : float
        As in `RmsProp`.
    """

    name: ClassVar[str] = "dp-rmsprop"

    learning_rate: float
    clip_norm: float
    noise_multiplier: float
    ema: float = 0.9
    damping: float = 1e-7

    def __post_init__(self) -> None:
        positive_real("learning_rate", self.learning_rate)
        positive_real("clip_norm", self.clip_norm)
        positive_real("noise_multiplier", self.noise_multiplier)
        real_in("ema", self.ema, 0.0, 1.0, open_high=True)
        positive_real("damping", self.damping)

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return a second moment of zeros."""
        return OptimizerState(0, {"second_moment": np.zeros(dimension)})

    def query(self, state: OptimizerState) -> Query:
        """Return the clipped noisy query, the same at every step."""
        return Query(clip_norm=self.clip_norm, noise_multiplier=self.noise_multiplier)

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return parameters and state after one step."""
        return _rmsprop_step(
            parameters, state, released, self.learning_rate, self.ema, self.damping
        )
