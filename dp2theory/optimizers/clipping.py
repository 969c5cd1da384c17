"""The release: clip, sum, add Gaussian noise, divide by the public expected batch size."""

from __future__ import annotations

import numpy as np

from dp2theory.optimizers.statistics import statistic_named
from dp2theory.optimizers.steps import Query
from dp2theory.problems.protocol import Array, IndexArray, Problem


def release_mean(
    problem: Problem,
    parameters: Array,
    batch: IndexArray,
    query: Query,
    *,
    expected_batch_size: float,
    rng: np.random.Generator,
) -> Array:
    """Return (sum_i clip(g_i / D) + N(0, (sigma C)^2 I)) / b, or so for another statistic.

    Parameters
    ----------
    problem : Problem
    parameters : ndarray, shape (dimension,)
    batch : ndarray of int
        Records of this batch.
    query : Query
        Clip norm C, noise multiplier sigma, preconditioner D, and what is summed.
    expected_batch_size : float
        The divisor b. It must be public: the size of a Poisson batch is not.
    rng : numpy.random.Generator
        One normal per coordinate of the sum is drawn from it when sigma > 0. A seeded
        generator is not a source of randomness for a deployment: whoever knows the seed
        removes the noise.

    Returns
    -------
    ndarray, shape (dimension,) for gradients
        The noise in it has standard deviation sigma C / b per coordinate.
    """
    total = statistic_named(query.statistic)(problem, parameters, batch, query)
    if query.noise_multiplier == 0:
        return total / expected_batch_size
    # Sampled after summing: one draw per step, on the sum.
    noisy = rng.standard_normal(total.shape)
    noisy *= query.noise_multiplier * query.clip_norm
    noisy += total
    noisy /= expected_batch_size
    return noisy
