"""What a release sums over records: a gradient, or another vector of bounded norm.

A statistic returns the sum of one vector per record, each of l2 norm at most the query's clip
norm: the noise that is added rests on this bound. Its shape need not be (dimension,).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from dp2theory.optimizers.steps import Query
from dp2theory.problems.protocol import Array, IndexArray, Problem

Statistic: TypeAlias = Callable[[Problem, Array, IndexArray, Query], Array]


def clipped_gradients(
    problem: Problem, parameters: Array, batch: IndexArray, query: Query
) -> Array:
    """Return the sum over the batch of clip(g_i / D)."""
    return problem.clipped_gradient_sum(
        parameters, batch, clip_norm=query.clip_norm, preconditioner=query.preconditioner
    )


#: Statistics by the name that a `Query` carries.
STATISTICS: dict[str, Statistic] = {
    "gradient": clipped_gradients,
}

#: Length of a statistic's sum where that is not the dimension.
LENGTHS: dict[str, int] = {}


def statistic_named(name: str) -> Statistic:
    """Return a statistic, or raise ValueError with the known names."""
    if name not in STATISTICS:
        raise ValueError(f"statistic={name!r} must be one of {', '.join(STATISTICS)}")
    return STATISTICS[name]
