"""Data matrices as rows, sparse or dense: what a clipped sum of gradients needs of them.

For a generalised linear model the gradient of record i is (residual_i) * x_i. Hence a batch
needs three operations only: inner products with the parameters, norms of x_i / D, and a
weighted sum of rows. Sparse rows stay sparse in all three.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from dp2theory.problems.protocol import Array, IndexArray


class Rows(Protocol):
    """Rows of a (records x features) matrix."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of records and of features."""

    def dot(self, weights: Array) -> Array:
        """Return all rows times `weights` (features,) or (features, outputs)."""

    def take(self, batch: IndexArray) -> Block:
        """Return the rows in `batch`, in that order, repeats included."""

    def subset(self, records: IndexArray) -> Rows:
        """Return a matrix of its own that holds the rows `records` and no others."""


class Block(Protocol):
    """Some rows, taken out for one step."""

    def dot(self, weights: Array) -> Array:
        """Return the rows times `weights`, (features,) or (features, outputs)."""

    def norms(self) -> Array:
        """Return the l2 norm of each row."""

    def squared_dot(self, weights: Array) -> Array:
        """Return the squared entries times `weights`, (features,) or (features, outputs)."""

    def weighted_sum(self, coefficients: Array) -> Array:
        """Return ``rows.T @ coefficients`` for (m,) or (m, outputs) coefficients."""

    def divided(self, divisor: Array) -> Block:
        """Return the rows with every column divided by `divisor` (features,)."""

    def squared(self) -> Block:
        """Return the rows with every entry squared."""


@dataclass(frozen=True)
class DenseBlock:
    """Rows held as a dense array of shape (m, features).

    Attributes
    ----------
    values : ndarray, shape (m, features)
    """

    values: Array

    def dot(self, weights: Array) -> Array:
        """See `Block.dot`."""
        return np.asarray(self.values @ weights)

    def norms(self) -> Array:
        """See `Block.norms`."""
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", self.values, self.values)))

    def squared_dot(self, weights: Array) -> Array:
        """See `Block.squared_dot`."""
        return np.asarray(self.values**2 @ weights)

    def weighted_sum(self, coefficients: Array) -> Array:
        """See `Block.weighted_sum`."""
        return np.asarray(self.values.T @ coefficients)

    def divided(self, divisor: Array) -> DenseBlock:
        """See `Block.divided`."""
        return DenseBlock(self.values / divisor)

    def squared(self) -> DenseBlock:
        """See `Block.squared`."""
        return DenseBlock(self.values**2)


@dataclass(frozen=True)
class SparseBlock:
    """Rows held as compressed sparse rows; no row may be empty.

    Attributes
    ----------
    values, columns : ndarray, shape (nnz,)
    starts, lengths : ndarray of int, shape (m,)
        Where each row begins, and how many entries it has (at least one).
    features : int
    """

    values: Array
    columns: IndexArray
    starts: IndexArray
    lengths: IndexArray
    features: int

    def _row_sums(self, entries: Array) -> Array:
        if self.starts.size == 0:
            return np.zeros((0, *entries.shape[1:]))
        return np.asarray(np.add.reduceat(entries, self.starts, axis=0))

    def dot(self, weights: Array) -> Array:
        """See `Block.dot`."""
        if weights.ndim == 1:
            return self._row_sums(self.values * weights[self.columns])
        return np.asarray(self._matrix(self.values) @ weights)

    def norms(self) -> Array:
        """See `Block.norms`."""
        return np.sqrt(self._row_sums(self.values * self.values))

    def squared_dot(self, weights: Array) -> Array:
        """See `Block.squared_dot`."""
        return self.squared().dot(weights)

    def weighted_sum(self, coefficients: Array) -> Array:
        """See `Block.weighted_sum`."""
        if coefficients.ndim == 1:
            weights = np.repeat(coefficients, self.lengths) * self.values
            # astype: bincount of no entries answers integers.
            return np.bincount(self.columns, weights=weights, minlength=self.features).astype(
                np.float64, copy=False
            )
        return np.asarray(self._matrix(self.values).T @ coefficients)

    def divided(self, divisor: Array) -> SparseBlock:
        """See `Block.divided`."""
        values = self.values / divisor[self.columns]
        return SparseBlock(values, self.columns, self.starts, self.lengths, self.features)

    def squared(self) -> SparseBlock:
        """See `Block.squared`."""
        values = self.values**2
        return SparseBlock(values, self.columns, self.starts, self.lengths, self.features)

    def _matrix(self, values: Array) -> sparse.csr_array:
        pointers = np.append(self.starts, values.size)
        shape = (self.starts.size, self.features)
        return sparse.csr_array((values, self.columns, pointers), shape=shape)


class DenseRows:
    """A dense data matrix of shape (records, features)."""

    def __init__(self, values: Array) -> None:
        self._values = np.ascontiguousarray(values, dtype=np.float64)
        if self._values.ndim != 2 or not np.all(np.isfinite(self._values)):
            raise ValueError(
                f"values of shape {self._values.shape!r} must be a finite (records, features) array"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of records and of features."""
        return self._values.shape[0], self._values.shape[1]

    def dot(self, weights: Array) -> Array:
        """See `Rows.dot`."""
        return np.asarray(self._values @ weights)

    def take(self, batch: IndexArray) -> DenseBlock:
        """See `Rows.take`."""
        return DenseBlock(self._values[batch])

    def subset(self, records: IndexArray) -> DenseRows:
        """See `Rows.subset`."""
        return DenseRows(self._values[records])


class SparseRows:
    """A sparse data matrix; rows without any entry are refused (an intercept avoids them).

    Taking a batch is done on the three arrays directly: slicing a scipy matrix costs several
    times the arithmetic of a step.
    """

    def __init__(self, matrix: sparse.csr_array) -> None:
        csr = sparse.csr_array(matrix, dtype=np.float64)
        csr.sum_duplicates()
        self._matrix = csr
        self._values: Array = csr.data
        self._columns: IndexArray = csr.indices.astype(np.int64)
        self._pointers: IndexArray = csr.indptr.astype(np.int64)
        self._lengths: IndexArray = np.diff(self._pointers)
        if csr.shape[0] and int(self._lengths.min()) == 0:
            row = int(np.argmin(self._lengths))
            raise ValueError(f"matrix has no entry in row {row}, every row must have one")
        if not np.all(np.isfinite(self._values)):
            raise ValueError("matrix holds NaN or infinity, every entry must be finite")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of records and of features."""
        return self._matrix.shape[0], self._matrix.shape[1]

    @property
    def matrix(self) -> sparse.csr_array:
        """The matrix in compressed sparse rows."""
        return self._matrix

    def dot(self, weights: Array) -> Array:
        """See `Rows.dot`."""
        return np.asarray(self._matrix @ weights)

    def take(self, batch: IndexArray) -> SparseBlock:
        """See `Rows.take`."""
        lengths = self._lengths[batch]
        ends = np.cumsum(lengths)
        starts = ends - lengths
        total = int(ends[-1]) if ends.size else 0
        # Entry e of the block sits at pointers[row] + (e - starts[row]) in the matrix.
        where = np.arange(total) + np.repeat(self._pointers[batch] - starts, lengths)
        return SparseBlock(
            self._values[where], self._columns[where], starts, lengths, self.shape[1]
        )

    def subset(self, records: IndexArray) -> SparseRows:
        """See `Rows.subset`."""
        return SparseRows(self._matrix[records])
