"""A problem that lets an experimenter see the raw clipped sums of a run.

What is seen here is not released and not private. A run over a watched problem is bit for bit the
run over the problem itself: sums are passed through, and watching draws no random numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dp2theory.problems.protocol import Array, Constants, IndexArray, Problem
from dp2theory.problems.unit import unit_of

#: Called with parameters, batch, preconditioner (None in plain steps) and the raw sum.
Watch: TypeAlias = Callable[[Array, IndexArray, Array | None, Array], None]


@dataclass(frozen=True, eq=False)
class WatchedProblem:
    """`problem` with every clipped sum shown to `watch` before it is returned.

    Attributes
    ----------
    problem : Problem
    watch : callable
    """

    problem: Problem
    watch: Watch

    @property
    def name(self) -> str:
        """See `Problem.name`."""
        return self.problem.name

    @property
    def dataset_size(self) -> int:
        """See `Problem.dataset_size`."""
        return self.problem.dataset_size

    @property
    def dimension(self) -> int:
        """See `Problem.dimension`."""
        return self.problem.dimension

    @property
    def convex(self) -> bool:
        """See `Problem.convex`."""
        return self.problem.convex

    @property
    def constants(self) -> Constants:
        """See `Problem.constants`."""
        return self.problem.constants

    @property
    def unit(self) -> str:
        """What one record is, and so what is protected."""
        return unit_of(self.problem)

    def initial_parameters(self, rng: np.random.Generator) -> Array:
        """See `Problem.initial_parameters`."""
        return self.problem.initial_parameters(rng)

    def loss(self, parameters: Array, *, split: str = "train") -> float:
        """See `Problem.loss`."""
        return self.problem.loss(parameters, split=split)

    def metrics(self, parameters: Array) -> dict[str, float]:
        """See `Problem.metrics`."""
        return self.problem.metrics(parameters)

    def clipped_gradient_sum(
        self,
        parameters: Array,
        batch: IndexArray,
        *,
        clip_norm: float,
        preconditioner: Array | None = None,
    ) -> Array:
        """See `Problem.clipped_gradient_sum`."""
        total = self.problem.clipped_gradient_sum(
            parameters, batch, clip_norm=clip_norm, preconditioner=preconditioner
        )
        self.watch(parameters, batch, preconditioner, total)
        return total
