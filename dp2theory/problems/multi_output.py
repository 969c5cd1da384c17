"""Linear models with several outputs: softmax (one label) and sigmoids (several labels).

The gradient of record i is x_i r_i^T with the residual vector r_i, so its norm is
||x_i|| ||r_i||, and with a preconditioner D of shape (features, outputs) its square is
sum_jk x_ij^2 r_ik^2 / D_jk^2: a product of the squared rows with 1/D^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dp2theory.problems.linear import logistic_sigmoid
from dp2theory.problems.protocol import (
    Array,
    Constants,
    IndexArray,
    check_batch,
    check_clipping,
    check_parameters,
    check_split,
)
from dp2theory.problems.rows import Block, Rows
from dp2theory.problems.squares import clip_factors
from dp2theory.problems.subsets import subset_of_rows
from dp2theory.problems.unit import DEFAULT_UNIT

#: Logits that a pass over a split holds at once (a quarter of a gigabyte).
MOST_LOGITS = 2**25


@dataclass(frozen=True)
class MultiOutputProblem:
    """A (features, outputs) weight matrix, flattened row by row, on fixed rows.

    Attributes
    ----------
    name : str
    rows, targets : dict
        Per split: the rows, and 0/1 targets of shape (records, outputs); with `exclusive`
        every target row holds exactly one 1.
    exclusive : bool
        True: softmax cross-entropy. False: sum over outputs of the logistic loss.
    unit : str
        What a record is: the unit of privacy.
    convex : bool
        True.
    constants : Constants
        What is known of the train loss; by default nothing.
    """

    name: str
    rows: dict[str, Rows]
    targets: dict[str, Array]
    exclusive: bool
    convex: bool = True
    constants: Constants = field(default_factory=Constants)
    unit: str = DEFAULT_UNIT

    def __post_init__(self) -> None:
        for split, rows in self.rows.items():
            targets = self.targets[split]
            if targets.ndim != 2 or targets.shape[0] != rows.shape[0]:
                raise ValueError(
                    f"targets[{split!r}] has shape {targets.shape!r}, "
                    f"must be ({rows.shape[0]}, outputs)"
                )

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return int(self.targets["train"].shape[1])

    @property
    def dataset_size(self) -> int:
        """Number of train records."""
        return self.rows["train"].shape[0]

    @property
    def dimension(self) -> int:
        """Features times outputs."""
        return self.rows["train"].shape[1] * self.outputs

    def initial_parameters(self, rng: np.random.Generator) -> Array:
        """Return zeros; `rng` is not used."""
        return np.zeros(self.dimension)

    def _weights(self, parameters: Array) -> Array:
        return check_parameters(parameters, self.dimension).reshape(-1, self.outputs)

    def loss(self, parameters: Array, *, split: str = "train") -> float:
        """Return the mean loss over `split`."""
        check_split(split, self.rows)
        means, sizes = [], []
        for logits, targets in self._chunks(parameters, split):
            if self.exclusive:
                losses = _log_sum_exp(logits) - np.sum(targets * logits, axis=1)
            else:
                losses = np.sum(np.logaddexp(0.0, logits) - targets * logits, axis=1)
            means.append(np.mean(losses))
            sizes.append(logits.shape[0])
        return float(means[0] if len(means) == 1 else np.average(means, weights=sizes))

    def _chunks(self, parameters: Array, split: str) -> Iterator[tuple[Array, Array]]:
        """Logits and targets, in parts where there are too many to be held at once."""
        rows, targets, weights = self.rows[split], self.targets[split], self._weights(parameters)
        records = rows.shape[0]
        if records * self.outputs <= MOST_LOGITS:
            yield rows.dot(weights), targets
            return
        size = max(1, MOST_LOGITS // self.outputs)
        for start in range(0, records, size):
            part = np.arange(start, min(start + size, records))
            yield rows.take(part).dot(weights), targets[part]

    def clipped_gradient_sum(
        self,
        parameters: Array,
        batch: IndexArray,
        *,
        clip_norm: float,
        preconditioner: Array | None = None,
    ) -> Array:
        """Return the sum of clipped gradients (see `Problem.clipped_gradient_sum`)."""
        check_clipping(clip_norm, preconditioner, self.dimension)
        weights = self._weights(parameters)
        block, residuals = self._residuals(weights, batch)
        divisor = None if preconditioner is None else preconditioner.reshape(weights.shape)
        if np.isfinite(clip_norm):
            if divisor is None:
                norms = block.norms() * np.sqrt(np.sum(residuals**2, axis=1))
            else:
                inverse_squares = (1.0 / divisor) ** 2
                squares = residuals**2 * block.squared_dot(inverse_squares)
                norms = np.sqrt(np.sum(squares, axis=1))
            residuals *= (clip_norm / np.maximum(norms, clip_norm))[:, None]
        total = block.weighted_sum(residuals)
        if divisor is not None:
            total = total / divisor
        return np.asarray(total.ravel())

    def _residuals(self, weights: Array, batch: IndexArray) -> tuple[Block, Array]:
        """Rows and residual vectors: the gradient of record i is their outer product."""
        indices = check_batch(batch, self.dataset_size)
        block = self.rows["train"].take(indices)
        logits = block.dot(weights)
        if self.exclusive:
            predicted = np.exp(logits - _log_sum_exp(logits)[:, None])
        else:
            predicted = logistic_sigmoid(logits)
        return block, predicted - self.targets["train"][indices]

    def squared_gradient_norms(self, parameters: Array, batch: IndexArray) -> Array:
        """Return the norms of squared gradients (see `squares.SquaredGradients`)."""
        block, residuals = self._residuals(self._weights(parameters), batch)
        return np.asarray(block.squared().norms() * np.linalg.norm(residuals**2, axis=1))

    def clipped_squared_gradient_sum(
        self, parameters: Array, batch: IndexArray, *, clip_norm: float
    ) -> Array:
        """Return the sum of clipped squared gradients (see `squares.SquaredGradients`)."""
        block, residuals = self._residuals(self._weights(parameters), batch)
        rows, squares = block.squared(), residuals**2
        factors = clip_factors(rows.norms() * np.linalg.norm(squares, axis=1), clip_norm)
        return np.asarray(rows.weighted_sum(squares * factors[:, None]).ravel())

    def subset(self, records: IndexArray, *, with_test: bool = True) -> MultiOutputProblem:
        """Return the problem of these train records alone (see `public.Divisible`)."""
        return subset_of_rows(self, records, with_test=with_test)

    def metrics(self, parameters: Array) -> dict[str, float]:
        """Return train_loss, test_loss and test_accuracy (per label unless exclusive)."""
        correct, total = 0, 0
        for logits, targets in self._chunks(parameters, "test"):
            if self.exclusive:
                hits = np.argmax(logits, axis=1) == np.argmax(targets, axis=1)
            else:
                hits = (logits > 0) == (targets > 0.5)
            correct += int(np.count_nonzero(hits))
            total += hits.size
        return {
            "train_loss": self.loss(parameters),
            "test_loss": self.loss(parameters, split="test"),
            "test_accuracy": correct / total,
        }


def _log_sum_exp(logits: Array) -> Array:
    if logits.shape[0] == 0:
        return np.zeros(0)
    top = np.max(logits, axis=1)
    return np.asarray(top + np.log(np.sum(np.exp(logits - top[:, None]), axis=1)))
