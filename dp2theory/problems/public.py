"""Side information: records, and statistics of them, that nobody needs to protect.

`split_public` takes a share of the train records out of a problem and calls them public. They
leave the private data set: its size, its loss and its ledger are those of the records that stay.
What is called public is not protected at all, also where the same person has private records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dp2theory.problems.protocol import Array, IndexArray, Problem
from dp2theory.problems.squares import clipped_squared_gradient_sum, squared_gradient_norms
from dp2theory.problems.validation import real_in, whole_number

#: Records whose single gradients are looked at for a subspace, at most.
SUBSPACE_RECORDS = 1_000


@runtime_checkable
class Divisible(Protocol):
    """A problem whose records can be taken apart."""

    def subset(self, records: IndexArray, *, with_test: bool = True) -> Problem:
        """Return the problem of these train records alone, in that order."""


@dataclass(frozen=True, eq=False)
class PublicData:
    """Public records with the private problem's model.

    Attributes
    ----------
    problem : Problem
        Its train records are the public ones; it has no other split.
    source : str
        Where they come from, for reports.
    """

    problem: Problem
    source: str

    @property
    def dimension(self) -> int:
        """Number d of parameters."""
        return self.problem.dimension

    @property
    def dataset_size(self) -> int:
        """Number of public records."""
        return self.problem.dataset_size

    def describe(self) -> dict[str, Any]:
        """Return what reports say of the side information."""
        return {
            "source": self.source,
            "records": self.dataset_size,
            "dimension": self.dimension,
        }

    @cached_property
    def start(self) -> Array:
        """The model's starting point with seed 0: where statistics are taken."""
        return self.problem.initial_parameters(np.random.default_rng(0))

    @cached_property
    def squared_sum(self) -> Array:
        """The sum over public records of g_i^2 at `start`, unclipped."""
        return clipped_squared_gradient_sum(
            self.problem, self.start, self._everybody, clip_norm=math.inf
        )

    @cached_property
    def squared_norm(self) -> float:
        """Root mean square of ||g_i^2|| at `start`: what one record adds to `squared_sum`."""
        norms = squared_gradient_norms(self.problem, self.start, self._everybody)
        return float(np.sqrt(np.mean(norms**2)))

    def gradient(self, parameters: Array, batch_size: int, step: int) -> Array:
        """Return the mean gradient over a public batch.

        Parameters
        ----------
        parameters : ndarray, shape (dimension,)
        batch_size : int
            Records of the batch; all of them if there are fewer.
        step : int
            Number of the batch: batches walk through the records in their order, around and
            around.
        """
        size = min(whole_number("batch_size", batch_size), self.dataset_size)
        batch = (whole_number("step", step, minimum=0) * size + np.arange(size)) % self.dataset_size
        total = self.problem.clipped_gradient_sum(parameters, batch, clip_norm=math.inf)
        return total / size

    @property
    def largest_rank(self) -> int:
        """Rank of the matrix of single public gradients that `directions` looks at."""
        return int(self._singular_vectors.shape[0])

    def directions(self, rank: int) -> Array:
        """Return orthonormal rows (rank, dimension): the main directions of public gradients.

        They are the leading right singular vectors of the matrix of single gradients, at
        `start`, of the first `SUBSPACE_RECORDS` records.

        Raises
        ------
        ValueError
            When `rank` exceeds the rank of that matrix.
        """
        rank = whole_number("rank", rank)
        vectors = self._singular_vectors
        if rank > vectors.shape[0]:
            raise ValueError(
                f"rank={rank} must be at most {vectors.shape[0]}, the rank of the public gradients"
            )
        return vectors[:rank]

    @cached_property
    def _singular_vectors(self) -> Array:
        matrix = np.stack(
            [
                self.problem.clipped_gradient_sum(
                    self.start, np.asarray([record]), clip_norm=math.inf
                )
                for record in range(min(SUBSPACE_RECORDS, self.dataset_size))
            ]
        )
        _, singular, right = np.linalg.svd(matrix, full_matrices=False)
        cut = singular[0] * max(matrix.shape) * np.finfo(np.float64).eps
        return np.asarray(right[singular > cut])

    @property
    def _everybody(self) -> IndexArray:
        return np.arange(self.dataset_size)


def split_public(problem: Problem, share: float, *, seed: int = 0) -> tuple[Problem, PublicData]:
    """Take a share of the train records as public data.

    Parameters
    ----------
    problem : Problem
    share : float
        In (0, 1); round(share * n) records become public, at least one.
    seed : int
        Of the permutation that chooses them. The choice does not look at the records.

    Returns
    -------
    Problem
        The records that stay private, with the problem's test split.
    PublicData
        The others; no private record, and no test record, is in it.

    Raises
    ------
    ValueError
        For a share that leaves no private or no public record, or a problem that cannot be
        taken apart.
    """
    share = real_in("share", share, 0.0, 1.0, open_high=True)
    seed = whole_number("seed", seed, minimum=0)
    if not isinstance(problem, Divisible):
        raise ValueError(
            f"problem={problem.name!r} cannot be split into private and public records: it has "
            "no method `subset`"
        )
    n = problem.dataset_size
    count = round(share * n)
    if not 0 < count < n:
        raise ValueError(
            f"share={share!r} makes {count} of {n} records public, must leave one of each kind"
        )
    order = np.random.default_rng(seed).permutation(n)
    public, private = order[:count], np.sort(order[count:])
    source = f"{count} of the {n} train records of {problem.name}, chosen with seed {seed}"
    return problem.subset(private), PublicData(problem.subset(public, with_test=False), source)
