"""The optimizer interface: ask for a release, receive it, move.

An optimizer never sees data or a raw gradient. It states a query (clip norm, preconditioner,
noise multiplier), `dp2theory.optimizers.protocol.run` executes that query on a batch and adds
the noise, and the optimizer moves by the released noisy mean. Whatever it keeps as state is
therefore post-processing of released quantities, by construction.

A step may take several releases: `apply` then answers a state of the same step and the next
stage, and is asked again. What kind of release comes next may depend on step and stage alone,
never on what was released: hence the ledger of a run can be foretold
(`dp2theory.optimizers.ledger.planned_event`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from dp2theory.problems.protocol import Array

#: Which records a release reads: a fresh batch, this step's batch again, or every record once.
Records: TypeAlias = Literal["new-batch", "same-batch", "all"]


@dataclass(frozen=True, slots=True)
class Query:
    """One noisy clipped sum that an optimizer asks for.

    Attributes
    ----------
    clip_norm : float
        l2 norm C to which each record's contribution is clipped; inf for none.
    noise_multiplier : float
        Noise std on the sum divided by `clip_norm`; 0 for none.
    preconditioner : ndarray or None
        Coordinatewise divisor applied before clipping.
    statistic : str
        What is summed, a key of `dp2theory.optimizers.statistics.STATISTICS`.
    records : {"new-batch", "same-batch", "all"}
        Which records are summed over. Each step asks for exactly one new batch, and for the
        same batch only after it, by a query that does not depend on what that step released.
    """

    clip_norm: float
    noise_multiplier: float
    preconditioner: Array | None = None
    statistic: str = "gradient"
    records: Records = "new-batch"


@dataclass(frozen=True, slots=True)
class OptimizerState:
    """What an optimizer carries from step to step.

    Attributes
    ----------
    step : int
        Steps this optimizer has taken: the phase counter, 0 at a fresh start.
    arrays : mapping of str to ndarray
        Named vectors of shape (dimension,). They are never written in place.
    stage : int
        Releases made within the step so far.
    numbers : mapping of str to float
        Named numbers.
    """

    step: int = 0
    arrays: Mapping[str, Array] = field(default_factory=dict)
    stage: int = 0
    numbers: Mapping[str, float] = field(default_factory=dict)


class Optimizer(Protocol):
    """A configuration that turns released gradients into parameters."""

    @property
    def name(self) -> str:
        """Name as on the command line, for example "dp-sgd"."""

    @property
    def noise_multiplier(self) -> float:
        """Noise multiplier of the steps' releases; 0 for the non-private optimizers."""

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return the state before the first step."""

    def query(self, state: OptimizerState) -> Query:
        """Return what is released next."""

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return new parameters and state, given what the query released.

        `released` is the noisy sum over a batch divided by the expected batch size; over all
        records it is the noisy sum itself, since their number is not public.
        """
