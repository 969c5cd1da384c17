"""Sums of squared gradients: each record's g_i^2, coordinate by coordinate, clipped, and summed.

The diagonal of the second moments of the gradients is the geometry that an adaptive method is
after. Summed over records it is a statistic of bounded sensitivity once every vector g_i^2 is
scaled down to an l2 norm of at most C0; no (records x coordinates) array is formed where a problem
offers the methods of `SquaredGradients`. Others are served record by record.
"""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import numpy as np

from dp2theory.problems.protocol import (
    Array,
    IndexArray,
    Problem,
    check_batch,
    check_clipping,
    check_parameters,
)

#: Records taken at a time, so that a pass over all of them needs no memory to speak of.
CHUNK = 4096
#: Bins of the logarithm of a norm, half an octave wide: the first holds every norm up to
#: 2^-30 (zeros included), the last every norm beyond 2^20. They are constants, hence public.
LOWEST_EXPONENT, HIGHEST_EXPONENT, BINS_PER_OCTAVE = -30, 20, 2
#: Upper edges of all bins but the last, which has none.
BIN_EDGES: Array = 2.0 ** (
    np.arange(
        LOWEST_EXPONENT * BINS_PER_OCTAVE, HIGHEST_EXPONENT * BINS_PER_OCTAVE + 1, dtype=np.float64
    )
    / BINS_PER_OCTAVE
)
#: Number of bins.
BINS = BIN_EDGES.size + 1


@runtime_checkable
class SquaredGradients(Protocol):
    """A problem that sums squared gradients without forming each."""

    def clipped_squared_gradient_sum(
        self, parameters: Array, batch: IndexArray, *, clip_norm: float
    ) -> Array:
        """Return the sum over `batch` of g_i^2, each scaled down to an l2 norm of `clip_norm`."""

    def squared_gradient_norms(self, parameters: Array, batch: IndexArray) -> Array:
        """Return the l2 norms of the vectors g_i^2 of the records in `batch`."""


def clip_factors(norms: Array, clip_norm: float) -> Array:
    """Return what scales vectors of these norms down to at most `clip_norm` (inf: ones)."""
    if math.isinf(clip_norm):
        return np.ones_like(norms)
    return np.asarray(clip_norm / np.maximum(norms, clip_norm))


def clipped_squared_gradient_sum(
    problem: Problem, parameters: Array, batch: IndexArray, *, clip_norm: float
) -> Array:
    """Return ``sum_i g_i^2 min(1, clip_norm / ||g_i^2||)`` over the train records in `batch`.

    Parameters
    ----------
    problem : Problem
        Any; one without `SquaredGradients` is asked for the gradient of one record at a time.
    parameters : ndarray, shape (dimension,)
    batch : ndarray of int, shape (m,)
        Record indices; repeats count as often as they occur, an empty batch gives zeros.
    clip_norm : float
        Largest l2 norm C0 of a record's vector of squares, > 0; inf means never clipped.

    Returns
    -------
    ndarray, shape (dimension,)
        No entry is negative. Adding or removing a record moves it by at most `clip_norm`.
    """
    point, indices = _checked(problem, parameters, batch)
    check_clipping(clip_norm, None, problem.dimension)
    total = np.zeros(problem.dimension)
    for part in _parts(indices):
        if isinstance(problem, SquaredGradients):
            total += problem.clipped_squared_gradient_sum(point, part, clip_norm=clip_norm)
            continue
        for record in part:
            squares = _single(problem, point, record)
            norm = np.asarray([np.linalg.norm(squares)])
            total += squares * clip_factors(norm, clip_norm)
    return total


def squared_gradient_norms(problem: Problem, parameters: Array, batch: IndexArray) -> Array:
    """Return the l2 norm of g_i^2 for each record in `batch`.

    They are private: what is released of them is the noisy histogram (`norm_histogram`).

    Parameters
    ----------
    problem, parameters, batch
        As in `clipped_squared_gradient_sum`.

    Returns
    -------
    ndarray, shape (m,)
    """
    point, indices = _checked(problem, parameters, batch)
    norms = [np.zeros(0)]
    for part in _parts(indices):
        if isinstance(problem, SquaredGradients):
            norms.append(problem.squared_gradient_norms(point, part))
        else:
            norms += [np.atleast_1d(np.linalg.norm(_single(problem, point, i))) for i in part]
    return np.concatenate(norms)


def norm_histogram(problem: Problem, parameters: Array, batch: IndexArray) -> Array:
    """Return how many records of `batch` have ||g_i^2|| in each bin of `BIN_EDGES`.

    Each record adds 1 to one bin: a one-hot vector, of l2 norm 1.

    Parameters
    ----------
    problem, parameters, batch
        As in `clipped_squared_gradient_sum`.

    Returns
    -------
    ndarray, shape (BINS,)
    """
    norms = squared_gradient_norms(problem, parameters, batch)
    return np.bincount(np.searchsorted(BIN_EDGES, norms), minlength=BINS).astype(np.float64)


def norm_quantile(histogram: Array, share: float, *, noise_std: float = 0.0) -> float:
    """Return the edge of `BIN_EDGES` that about a `share` of the records do not exceed.

    Parameters
    ----------
    histogram : ndarray, shape (BINS,)
        Counts, noisy or not; their sum stands for the number of records.
    share : float
        In (0, 1).
    noise_std : float
        Standard deviation of the noise in each bin. A count beyond an edge is taken for too
        large only where it is so by three standard deviations: noise in empty bins must not push
        the edge up, for a clip norm far too large drowns what is released with it, while one
        too small only weighs the records more evenly.

    Returns
    -------
    float
        The smallest edge above which no edge has more than (1 - share) of the counts beyond it.
    """
    beyond = np.cumsum(histogram[::-1])[::-1][1:]
    bins = np.arange(beyond.size, 0, -1)
    allowed = (1.0 - share) * max(float(histogram.sum()), 0.0) + 3.0 * noise_std * np.sqrt(bins)
    too_many = np.flatnonzero(beyond > allowed)
    first = int(too_many[-1]) + 1 if too_many.size else 0
    return float(BIN_EDGES[min(first, BIN_EDGES.size - 1)])


def _checked(problem: Problem, parameters: Array, batch: IndexArray) -> tuple[Array, IndexArray]:
    return (
        check_parameters(parameters, problem.dimension),
        check_batch(batch, problem.dataset_size),
    )


def _parts(indices: IndexArray) -> list[IndexArray]:
    return [indices[first : first + CHUNK] for first in range(0, indices.size, CHUNK)]


def _single(problem: Problem, parameters: Array, record: int) -> Array:
    gradient = problem.clipped_gradient_sum(
        parameters, np.asarray([record], dtype=np.int64), clip_norm=math.inf
    )
    return np.asarray(gradient * gradient)
