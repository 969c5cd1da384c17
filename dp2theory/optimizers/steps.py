"""The optimizer interface: ask for a release, receive it, move.

An optimizer never sees data or a raw gradient. It states a query (clip norm, preconditioner,
noise multiplier), `dp2theory.optimizers.protocol.run` executes that query on a batch and adds
the noise, and the optimizer moves by the released noisy mean. Whatever it keeps as state is
therefore post-processing of released quantities, by construction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dp2theory.problems.protocol import Array


@dataclass(frozen=True, slots=True)
class Query:
    """One noisy clipped sum that an optimizer asks for.

    Attributes
    ----------
    clip_norm : float
        l2 clip norm C of each (preconditioned) gradient; inf for none.
    noise_multiplier : float
        Noise std on the sum divided by `clip_norm`; 0 for none.
    preconditioner : ndarray or None
        Coordinatewise divisor applied before clipping.
    """

    clip_norm: float
    noise_multiplier: float
    preconditioner: Array | None = None


@dataclass(frozen=True, slots=True)
class OptimizerState:
    """What an optimizer carries from step to step.

    Attributes
    ----------
    step : int
        Steps this optimizer has taken: the phase counter, 0 at a fresh start.
    arrays : mapping of str to ndarray
        Named vectors of shape (dimension,). They are never written in place.
    """

    step: int = 0
    arrays: Mapping[str, Array] = field(default_factory=dict)


class Optimizer(Protocol):
    """A configuration that turns released gradients into parameters."""

    @property
    def name(self) -> str:
        """Name as on the command line, for example "dp-sgd"."""

    @property
    def noise_multiplier(self) -> float:
        """Noise multiplier of every step; 0 for the non-private optimizers."""

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return the state before the first step."""

    def query(self, state: OptimizerState) -> Query:
        """Return what the next step releases."""

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return new parameters and state, given the released noisy mean of the query."""
