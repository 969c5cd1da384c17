"""Generalised linear models with one output: loss_i(w) = l(<x_i, w>, y_i).

The gradient of record i is l'(<x_i, w>, y_i) * x_i, so its norm is |l'| * ||x_i||, and after
a coordinatewise preconditioner D it is |l'| * ||x_i / D||: clipping needs row norms only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

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
from dp2theory.problems.rows import Rows


@dataclass(frozen=True)
class PointLoss:
    """A loss of one prediction and its derivative in the prediction (both vectorised).

    Attributes
    ----------
    value, derivative : callable
        Functions of (predictions, targets), arrays of equal shape.
    classifies : bool
        Whether targets are 0 or 1 and the sign of the prediction is the decision.
    """

    value: Callable[[Array, Array], Array]
    derivative: Callable[[Array, Array], Array]
    classifies: bool = False


def logistic_sigmoid(logits: Array) -> Array:
    """Return 1 / (1 + exp(-logits)); tanh keeps it free of overflow at both ends."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * logits))


#: Logistic loss for targets in {0, 1}.
LOGISTIC = PointLoss(
    value=lambda z, y: np.logaddexp(0.0, z) - y * z,
    derivative=lambda z, y: logistic_sigmoid(z) - y,
    classifies=True,
)
#: Absolute error; the derivative at 0 is 0, a valid subgradient.
ABSOLUTE = PointLoss(
    value=lambda z, y: np.abs(z - y),
    derivative=lambda z, y: np.sign(z - y),
)


def huber_loss(threshold: float) -> PointLoss:
    """Return the Huber loss: e^2/2 for |e| <= threshold, linear with that slope beyond."""

    def value(z: Array, y: Array) -> Array:
        error = np.abs(z - y)
        inner = np.minimum(error, threshold)
        return np.asarray(inner * (error - 0.5 * inner))

    def derivative(z: Array, y: Array) -> Array:
        return np.asarray(np.clip(z - y, -threshold, threshold))

    return PointLoss(value=value, derivative=derivative)


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
    """

    name: str
    rows: dict[str, Rows]
    targets: dict[str, Array]
    point_loss: PointLoss
    constants: Constants = field(default_factory=Constants)
    convex: bool = True

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

    def metrics(self, parameters: Array) -> dict[str, float]:
        """Return train_loss, and test_loss and test_accuracy where they exist."""
        result = {"train_loss": self.loss(parameters)}
        if "test" in self.rows:
            result["test_loss"] = self.loss(parameters, split="test")
            if self.point_loss.classifies:
                decisions = self.rows["test"].dot(np.asarray(parameters)) > 0
                result["test_accuracy"] = float(np.mean(decisions == (self.targets["test"] > 0.5)))
        return result
