"""The reweighted stochastic query estimator and its pools of queries.

A pool is drawn around a centre in one parallel round.  Afterwards it gives unbiased estimates of
the gradient of the smoothed function at every point of a ball, without another query: the
gradient that was found at ``center + xi`` counts with the weight
density(center + xi - x) / density(xi) of the Gaussian.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Self

import numpy as np

from dp2theory.problems.validation import positive_real, whole_number
from dp2theory.resque.counters import Counter
from dp2theory.resque.functions import (
    Array,
    IndexArray,
    StochasticFunction,
    check_function,
    check_generator,
    check_numbers,
    check_records,
    check_vector,
)

#: Queries of one task of an executor; part of the random stream, so that it is not an option.
BLOCK = 4096
_ALL = slice(None)


def log_weights(displacement: Array, offsets: Array, smoothing: float) -> Array:
    """Logarithm of the weight of each query, for a point that lies `displacement` off the centre.

    Parameters
    ----------
    displacement : ndarray, shape (d,) or (N, d)
        u = x - center; one for all queries, or one for each.
    offsets : ndarray, shape (N, d)
        xi, Gaussian with standard deviation `smoothing` in each coordinate.
    smoothing : float
        rho > 0.

    Returns
    -------
    ndarray, shape (N,)
        <u, xi>/rho^2 - ||u||^2/(2 rho^2); its mean exponential is 1 (theorems resque.E2, E7).
    """
    positive_real("smoothing", smoothing)
    offsets = check_numbers("offsets", offsets)
    u = check_numbers("displacement", displacement)
    if offsets.ndim != 2 or u.shape not in (offsets.shape, offsets.shape[1:]):
        raise ValueError(
            f"displacement has shape {u.shape} and offsets {offsets.shape}, must be (d,) or (N, d) "
            "and (N, d)"
        )
    u = u / smoothing
    product = offsets @ u if u.ndim == 1 else np.einsum("ij,ij->i", offsets, u)
    result: Array = product / smoothing - 0.5 * np.square(u).sum(axis=-1)
    return result


@dataclass(frozen=True, eq=False)
class QueryPool:
    """Gradients at random points around a centre, fit for any point of a ball around it.

    Attributes
    ----------
    center : ndarray, shape (d,)
    offsets : ndarray, shape (N, d)
        Gaussian with standard deviation `smoothing`; gradients are those at center + offsets.
    samples : ndarray of int, shape (N,)
        Which sample of the function each query asked.
    gradients : ndarray, shape (N, d)
    smoothing : float
        rho.
    """

    center: Array
    offsets: Array
    samples: IndexArray
    gradients: Array
    smoothing: float

    @classmethod
    def draw(
        cls,
        function: StochasticFunction,
        center: Array,
        *,
        smoothing: float,
        size: int,
        rng: np.random.Generator,
        counter: Counter | None = None,
        executor: Executor | None = None,
        samples: IndexArray | None = None,
    ) -> Self:
        """Ask for `size` gradients in one parallel round.

        Parameters
        ----------
        function : StochasticFunction
        center : ndarray, shape (d,)
        smoothing : float
            rho > 0.
        size : int
            N >= 1.
        rng : numpy.random.Generator
            The result depends on its state alone, not on the executor or its workers.
        counter : Counter, optional
            Gets one round of `size` queries.
        executor : concurrent.futures.Executor, optional
            Where blocks of queries run; None: here.
        samples : ndarray of int, shape (size,), optional
            Which samples to ask; None: uniform draws with replacement.

        Raises
        ------
        ValueError
            If an argument is outside its domain.
        """
        check_function(function)
        check_generator(rng)
        center = check_vector("center", center, function.dimension)
        smoothing = positive_real("smoothing", smoothing)
        size = whole_number("size", size)
        if samples is not None:
            samples = check_records(samples, function.sample_size, "samples")
            if samples.size != size:
                raise ValueError(f"samples has {samples.size} entries, must have size={size}")
        if counter is not None:
            counter.round(size)
        parts = list(_blocks(function, center, smoothing, size, rng, executor, samples))
        offsets, drawn, gradients = (
            parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        )
        return cls(center, offsets, drawn, gradients, smoothing)

    @property
    def size(self) -> int:
        """Number N of queries."""
        return len(self.samples)

    def weights(self, point: Array, part: slice = _ALL) -> Array:
        """Weight of each query of a part for a point, shape (m,)."""
        point = check_vector("point", point, self.center.size)
        offsets = self.offsets[part]
        if offsets.ndim != 2 or not len(offsets):
            raise ValueError(f"part={part!r} must be a slice that is not empty")
        result: Array = np.exp(log_weights(point - self.center, offsets, self.smoothing))
        return result

    def estimates(self, point: Array, part: slice = _ALL) -> Array:
        """An unbiased estimate of the smoothed gradient from each query (theorem resque.E1).

        Parameters
        ----------
        point : ndarray, shape (d,)
            Within `smoothing` of the centre the second moment is at most e L^2 (resque.E4);
            further away the estimates stay unbiased and become heavy-tailed.
        part : slice
            Which queries; all by default.

        Returns
        -------
        ndarray, shape (m, d)
        """
        return self.weights(point, part)[:, None] * self.gradients[part]

    def mean(self, point: Array, part: slice = _ALL) -> Array:
        """The mean of `estimates`, shape (d,)."""
        weights = self.weights(point, part)
        result: Array = weights @ self.gradients[part] / len(weights)
        return result


def _blocks(
    function: StochasticFunction,
    center: Array,
    smoothing: float,
    size: int,
    rng: np.random.Generator,
    executor: Executor | None,
    samples: IndexArray | None,
) -> Iterable[tuple[Array, IndexArray, Array]]:
    starts = range(0, size, BLOCK)
    # Entropy from the stream: it goes on by the same amount whatever the number of queries.
    root = np.random.SeedSequence(rng.integers(0, 2**32, size=4).tolist())
    tasks = [
        (
            function,
            center,
            smoothing,
            min(BLOCK, size - start),
            seed,
            None if samples is None else samples[start : start + BLOCK],
        )
        for start, seed in zip(starts, root.spawn(len(starts)), strict=True)
    ]
    if executor is None:
        return map(_ask, *zip(*tasks, strict=True))
    return executor.map(_ask, *zip(*tasks, strict=True))


def _ask(
    function: StochasticFunction,
    center: Array,
    smoothing: float,
    size: int,
    seed: np.random.SeedSequence,
    samples: IndexArray | None,
) -> tuple[Array, IndexArray, Array]:
    """Offsets, samples and gradients of one block."""
    rng = np.random.default_rng(seed)
    offsets = smoothing * rng.standard_normal((size, center.size))
    if samples is None:
        samples = rng.integers(0, function.sample_size, size=size)
    gradients = np.asarray(function.subgradients(center + offsets, samples))
    if gradients.shape != offsets.shape:
        raise ValueError(
            f"function.subgradients: gave an array of shape {gradients.shape}, must be one "
            f"gradient for each query, {offsets.shape}"
        )
    return offsets, samples, gradients
