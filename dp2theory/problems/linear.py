"""Generalised linear models with one output: loss_i(w) = l(<x_i, w>, y_i).

The gradient of record i is l'(<x_i, w>, y_i) * x_i, so its norm is |l'| * ||x_i||, and after
a coordinatewise preconditioner D it is |l'| * ||x_i / D||: clipping needs row norms only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

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
from dp2theory.problems.validation import positive_real


class PointLoss(Protocol):
    """A loss of predictions, entry by entry: its value and derivative in the prediction."""

    @property
    def classifies(self) -> bool:
        """Whether targets are 0 or 1 and the sign of the prediction is the decision."""

    def value(self, predictions: Array, targets: Array) -> Array:
        """Return the losses, one per prediction."""

    def derivative(self, predictions: Array, targets: Array) -> Array:
        """Return the derivatives in the predictions (at a kink, a subgradient)."""


def logistic_sigmoid(logits: Array) -> Array:
    """Return 1 / (1 + exp(-logits)); tanh keeps it free of overflow at both ends."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * logits))


@dataclass(frozen=True)
class Logistic:
    """log(1 + exp(z)) - y z for targets y in {0, 1}."""

    classifies: ClassVar[bool] = True

    def value(self, predictions: Array, targets: Array) -> Array:
        """See `PointLoss.value`."""
        return np.asarray(np.logaddexp(0.0, predictions) - targets * predictions)

    def derivative(self, predictions: Array, targets: Array) -> Array:
        """See `PointLoss.derivative`."""
        return logistic_sigmoid(predictions) - targets


@dataclass(frozen=True)
class AbsoluteError:
    """|z - y|; the derivative at 0 is 0, a valid subgradient."""

    classifies: ClassVar[bool] = False

    def value(self, predictions: Array, targets: Array) -> Array:
        """See `PointLoss.value`."""
        return np.abs(predictions - targets)

    def derivative(self, predictions: Array, targets: Array) -> Array:
        """See `PointLoss.derivative`."""
        return np.sign(predictions - targets)


@dataclass(frozen=True)
class HuberError:
    """e^2 / 2 for |e| <= threshold, linear with slope `threshold` beyond; e = z - y."""

    classifies: ClassVar[bool] = False

    threshold: float

    def __post_init__(self) -> None:
        positive_real("threshold", self.threshold)

    def value(self, predictions: Array, targets: Array) -> Array:
        """See `PointLoss.value`."""
        error = np.abs(predictions - targets)
        inner = np.minimum(error, self.threshold)
        return np.asarray(inner * (error - 0.5 * inner))

    def derivative(self, predictions: Array, targets: Array) -> Array:
        """See `PointLoss.derivative`."""
        return np.clip(predictions - targets, -self.threshold, self.threshold)


@dataclass(frozen=True)
class LinearProblem:
    """A linear model on fixed rows (see `dp2theory.problems.protocol.Problem`).

    Attributes
    ----------
    name : str
    rows, targets : dict
        Per split ("train", and "test" where there is one): the rows and the targets.
    point_loss : PointLoss
    constants : Constants
    convex : bool
        True: every loss here is convex in the prediction, hence in the parameters.
    unit : str
        What a record is: the unit of privacy.
    """

    name: str
    rows: dict[str, Rows]
    targets: dict[str, Array]
    point_loss: PointLoss
    constants: Constants = field(default_factory=Constants)
    convex: bool = True
    unit: str = DEFAULT_UNIT

    def __post_init__(self) -> None:
        for split, rows in self.rows.items():
            if self.targets[split].shape != (rows.shape[0],):
                raise ValueError(
                    f"targets[{split!r}] has shape {self.targets[split].shape!r}, "
                    f"must be ({rows.shape[0]},), one per row"
                )

    @property
    def dataset_size(self) -> int:
        """Number of train records."""
        return self.rows["train"].shape[0]

    @property
    def dimension(self) -> int:
        """Number of parameters, the intercept included."""
        return self.rows["train"].shape[1]

    def initial_parameters(self, rng: np.random.Generator) -> Array:
        """Return zeros; `rng` is not used."""
        return np.zeros(self.dimension)

    def loss(self, parameters: Array, *, split: str = "train") -> float:
        """Return the mean loss over `split`."""
        check_split(split, self.rows)
        weights = check_parameters(parameters, self.dimension)
        predictions = self.rows[split].dot(weights)
        return float(np.mean(self.point_loss.value(predictions, self.targets[split])))

    def clipped_gradient_sum(
        self,
        parameters: Array,
        batch: IndexArray,
        *,
        clip_norm: float,
        preconditioner: Array | None = None,
    ) -> Array:
        """Return the sum of clipped gradients (see `Problem.clipped_gradient_sum`)."""
        weights = check_parameters(parameters, self.dimension)
        indices = check_batch(batch, self.dataset_size)
        check_clipping(clip_norm, preconditioner, self.dimension)
        block = self.rows["train"].take(indices)
        slopes = self.point_loss.derivative(block.dot(weights), self.targets["train"][indices])
        if preconditioner is not None:
            block = block.divided(preconditioner)
        if np.isfinite(clip_norm):
            norms = np.abs(slopes) * block.norms()
            slopes = slopes * (clip_norm / np.maximum(norms, clip_norm))
        return block.weighted_sum(slopes)

    def squared_gradient_norms(self, parameters: Array, batch: IndexArray) -> Array:
        """Return the norms of squared gradients (see `squares.SquaredGradients`)."""
        block, coefficients = self._squares(parameters, batch)
        return coefficients * block.norms()

    def clipped_squared_gradient_sum(
        self, parameters: Array, batch: IndexArray, *, clip_norm: float
    ) -> Array:
        """Return the sum of clipped squared gradients (see `squares.SquaredGradients`)."""
        block, coefficients = self._squares(parameters, batch)
        factors = clip_factors(coefficients * block.norms(), clip_norm)
        return block.weighted_sum(coefficients * factors)

    def _squares(self, parameters: Array, batch: IndexArray) -> tuple[Block, Array]:
        """Squared rows and squared slopes: g_i^2 is their product, row by row."""
        weights = check_parameters(parameters, self.dimension)
        indices = check_batch(batch, self.dataset_size)
        block = self.rows["train"].take(indices)
        slopes = self.point_loss.derivative(block.dot(weights), self.targets["train"][indices])
        return block.squared(), slopes**2

    def subset(self, records: IndexArray, *, with_test: bool = True) -> LinearProblem:
        """Return the problem of these train records alone (see `public.Divisible`)."""
        return subset_of_rows(self, records, with_test=with_test)

    def metrics(self, parameters: Array) -> dict[str, float]:
        """Return train_loss, and test_loss and test_accuracy where they exist."""
        result = {"train_loss": self.loss(parameters)}
        if "test" in self.rows:
            result["test_loss"] = self.loss(parameters, split="test")
            if self.point_loss.classifies:
                decisions = self.rows["test"].dot(np.asarray(parameters)) > 0
                result["test_accuracy"] = float(np.mean(decisions == (self.targets["test"] > 0.5)))
        return result
