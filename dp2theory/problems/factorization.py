"""Matrix factorisation of ratings with bias columns (see `dp2theory.problems.protocol`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from dp2theory.problems.protocol import (
    Array,
    Constants,
    IndexArray,
    check_batch,
    check_clipping,
    check_parameters,
    check_split,
    check_subset,
)
from dp2theory.problems.squares import clip_factors


@dataclass(frozen=True)
class Ratings:
    """Ratings as three arrays of one length: user index, item index, value.

    Attributes
    ----------
    users, items : ndarray of int, shape (m,)
        Indices from 0.
    values : ndarray, shape (m,)
        Ratings.
    """

    users: IndexArray
    items: IndexArray
    values: Array


@dataclass(frozen=True)
class MatrixFactorization:
    """Squared error of ``offset + <p_u, q_i> + b_u + c_i``; one record is one rating.

    Parameters are the rows (p_u, b_u) of all users followed by the rows (q_i, c_i) of all
    items, flattened; the dimension is (users + items) * (factors + 1). The unit of privacy
    is a rating, not a user.

    Attributes
    ----------
    name : str
    splits : dict
        "train" and "test" ratings.
    users, items, factors : int
    offset : float
        Constant of the prediction, public.
    initial_std : float
        Standard deviation of the normal start of all parameters.
    convex : bool
        False: a product of parameters.
    constants : Constants
        What is known of the train loss; by default nothing.
    """

    unit: ClassVar[str] = "a rating, not a user"

    name: str
    splits: dict[str, Ratings]
    users: int
    items: int
    factors: int = 8
    offset: float = 3.0
    initial_std: float = 0.1
    convex: bool = False
    constants: Constants = field(default_factory=Constants)

    @property
    def dataset_size(self) -> int:
        """Number of train ratings."""
        return self.splits["train"].values.size

    @property
    def dimension(self) -> int:
        """(users + items) * (factors + 1)."""
        return (self.users + self.items) * (self.factors + 1)

    def initial_parameters(self, rng: np.random.Generator) -> Array:
        """Return independent normals of standard deviation `initial_std`."""
        return self.initial_std * rng.standard_normal(self.dimension)

    def _table(self, parameters: Array) -> Array:
        return check_parameters(parameters, self.dimension).reshape(-1, self.factors + 1)

    def _predict(self, user_rows: Array, item_rows: Array) -> Array:
        k = self.factors
        products = np.einsum("ij,ij->i", user_rows[:, :k], item_rows[:, :k])
        return np.asarray(self.offset + products + user_rows[:, k] + item_rows[:, k])

    def loss(self, parameters: Array, *, split: str = "train") -> float:
        """Return the mean squared error over `split`."""
        check_split(split, self.splits)
        table, ratings = self._table(parameters), self.splits[split]
        predicted = self._predict(table[ratings.users], table[self.users + ratings.items])
        return float(np.mean((predicted - ratings.values) ** 2))

    def clipped_gradient_sum(
        self,
        parameters: Array,
        batch: IndexArray,
        *,
        clip_norm: float,
        preconditioner: Array | None = None,
    ) -> Array:
        """Return the sum of clipped gradients (see `Problem.clipped_gradient_sum`).

        A rating touches 2 (factors + 1) coordinates, so a batch needs an (m, 2, factors + 1)
        array: the non-zeros of its gradients, and no more.
        """
        check_clipping(clip_norm, preconditioner, self.dimension)
        rows, gradients = self._gradients(parameters, batch)
        if preconditioner is not None:
            gradients /= preconditioner.reshape(-1, self.factors + 1)[rows]
        if np.isfinite(clip_norm):
            gradients *= (clip_norm / np.maximum(_norms(gradients), clip_norm))[:, None, None]
        return self._scattered(rows, gradients)

    def _gradients(self, parameters: Array, batch: IndexArray) -> tuple[IndexArray, Array]:
        """Table rows (m, 2) that each rating touches, and its gradient there."""
        table = self._table(parameters)
        indices = check_batch(batch, self.dataset_size)
        train = self.splits["train"]
        rows = np.stack([train.users[indices], self.users + train.items[indices]], axis=1)
        own = table[rows]
        errors = self._predict(own[:, 0], own[:, 1]) - train.values[indices]
        # The derivative in one side's factors is the other side's; in a bias it is 1.
        gradients = own[:, ::-1].copy()
        gradients[:, :, self.factors] = 1.0
        gradients *= 2.0 * errors[:, None, None]
        return rows, gradients

    def _scattered(self, rows: IndexArray, vectors: Array) -> Array:
        """The sum over ratings of vectors that live in these table rows."""
        width = self.factors + 1
        where = (rows * width)[:, :, None] + np.arange(width)
        # astype: bincount of no entries answers integers.
        return np.bincount(where.ravel(), weights=vectors.ravel(), minlength=self.dimension).astype(
            np.float64, copy=False
        )

    def squared_gradient_norms(self, parameters: Array, batch: IndexArray) -> Array:
        """Return the norms of squared gradients (see `squares.SquaredGradients`)."""
        return _norms(self._gradients(parameters, batch)[1] ** 2)

    def clipped_squared_gradient_sum(
        self, parameters: Array, batch: IndexArray, *, clip_norm: float
    ) -> Array:
        """Return the sum of clipped squared gradients (see `squares.SquaredGradients`)."""
        rows, gradients = self._gradients(parameters, batch)
        squares = gradients**2
        squares *= clip_factors(_norms(squares), clip_norm)[:, None, None]
        return self._scattered(rows, squares)

    def subset(self, records: IndexArray, *, with_test: bool = True) -> MatrixFactorization:
        """Return the problem of these train ratings alone (see `public.Divisible`)."""
        chosen, train = check_subset(records, self.dataset_size), self.splits["train"]
        kept = Ratings(train.users[chosen], train.items[chosen], train.values[chosen])
        others = {k: v for k, v in self.splits.items() if k != "train" and with_test}
        return replace(self, splits={"train": kept} | others)

    def metrics(self, parameters: Array) -> dict[str, float]:
        """Return train_loss and test_mse (the test loss under its usual name)."""
        return {
            "train_loss": self.loss(parameters),
            "test_mse": self.loss(parameters, split="test"),
        }


def _norms(vectors: Array) -> Array:
    """The l2 norms of (m, 2, width) vectors, one for each rating."""
    return np.asarray(np.sqrt(np.einsum("ijk,ijk->i", vectors, vectors)))
