"""SGD and DP-SGD (Abadi et al., CCS 2016) with a constant learning rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from dp2theory.optimizers.defaults import every_step, sgd_rate
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array
from dp2theory.problems.validation import positive_real


@dataclass(frozen=True)
class Sgd:
    """w <- w - learning_rate * mean gradient; not private.

    Attributes
    ----------
    learning_rate : float
        Step size > 0.
    """

    name: ClassVar[str] = "sgd"
    noise_multiplier: ClassVar[float] = 0.0

    learning_rate: float

    def __post_init__(self) -> None:
        positive_real("learning_rate", self.learning_rate)

    @classmethod
    def default_settings(cls, given: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Return `given`, and clip norm 1 and effective step 1 where it is silent."""
        return every_step(given, {each.name for each in fields(cls)}, sgd_rate(given))

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return a fresh state (a step counter)."""
        return OptimizerState()

    def query(self, state: OptimizerState) -> Query:
        """Return an unclipped query without noise."""
        return Query(clip_norm=float("inf"), noise_multiplier=0.0)

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return the parameters after one step, and the state."""
        return parameters - self.learning_rate * released, OptimizerState(state.step + 1)


@dataclass(frozen=True)
class DpSgd:
    """w <- w - learning_rate * (clipped sum + N(0, (noise_multiplier * clip_norm)^2)) / b.

    Attributes
    ----------
    learning_rate, clip_norm, noise_multiplier : float
        All > 0. learning_rate * clip_norm is the effective step.
    """

    name: ClassVar[str] = "dp-sgd"

    learning_rate: float
    clip_norm: float
    noise_multiplier: float

    def __post_init__(self) -> None:
        positive_real("learning_rate", self.learning_rate)
        positive_real("clip_norm", self.clip_norm)
        positive_real("noise_multiplier", self.noise_multiplier)

    @classmethod
    def default_settings(cls, given: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Return `given`, and clip norm 1 and effective step 1 where it is silent."""
        return every_step(given, {each.name for each in fields(cls)}, sgd_rate(given))

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return a fresh state (a step counter)."""
        return OptimizerState()

    def query(self, state: OptimizerState) -> Query:
        """Return the clipped noisy query, the same at every step."""
        return Query(clip_norm=self.clip_norm, noise_multiplier=self.noise_multiplier)

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return the parameters after one step, and the state."""
        return parameters - self.learning_rate * released, OptimizerState(state.step + 1)
