"""What a release sums over records: a gradient, or another vector of bounded norm.

A statistic returns the sum of one vector per record, each of l2 norm at most the query's clip
norm: the noise that is added rests on this bound. Its shape need not be (dimension,).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from dp2theory.optimizers.steps import Query
from dp2theory.problems.protocol import Array, IndexArray, Problem
from dp2theory.problems.squares import BINS, clipped_squared_gradient_sum, norm_histogram

#: Problem, parameters, records and query to every record's contribution to the sum.
Statistic: TypeAlias = Callable[[Problem, Array, IndexArray, Query], Array]


def clipped_gradients(
    problem: Problem, parameters: Array, batch: IndexArray, query: Query
) -> Array:
    """Return the sum over the batch of clip(g_i / D)."""
    return problem.clipped_gradient_sum(
        parameters, batch, clip_norm=query.clip_norm, preconditioner=query.preconditioner
    )


def clipped_squared_gradients(
    problem: Problem, parameters: Array, batch: IndexArray, query: Query
) -> Array:
    """Return the sum over the batch of clip(g_i^2), squares coordinate by coordinate."""
    _refuse_preconditioner(query)
    return clipped_squared_gradient_sum(problem, parameters, batch, clip_norm=query.clip_norm)


def squared_norm_histogram(
    problem: Problem, parameters: Array, batch: IndexArray, query: Query
) -> Array:
    """Return the number of records of the batch whose ||g_i^2|| lies in each public bin."""
    _refuse_preconditioner(query)
    if query.clip_norm != 1.0:
        raise ValueError(
            f"clip_norm={query.clip_norm!r} must be 1 for a histogram: a record adds 1 to one bin"
        )
    return norm_histogram(problem, parameters, batch)


def _refuse_preconditioner(query: Query) -> None:
    if query.preconditioner is not None:
        raise ValueError(f"preconditioner must be None for statistic={query.statistic!r}")


#: Statistics by the name that a `Query` carries.
STATISTICS: dict[str, Statistic] = {
    "gradient": clipped_gradients,
    "squared-gradient": clipped_squared_gradients,
    "squared-norm-histogram": squared_norm_histogram,
}

#: Length of a statistic's sum where that is not the dimension.
LENGTHS: dict[str, int] = {"squared-norm-histogram": BINS}


def statistic_named(name: str) -> Statistic:
    """Return a statistic, or raise ValueError with the known names."""
    if name not in STATISTICS:
        raise ValueError(f"statistic={name!r} must be one of {', '.join(STATISTICS)}")
    return STATISTICS[name]
