"""Small convex problems whose constants and optimal value are known exactly.

Targets of the two regressions come in pairs <x, w*> + e and <x, w*> - e for the same x. For a
point loss that is even and convex in the error, l(p - e) + l(p + e) is even and convex in p,
hence smallest at p = 0: w* minimises the mean loss, and its optimal value is mean l(e).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dp2theory.problems.linear import AbsoluteError, HuberError, LinearProblem, PointLoss
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
from dp2theory.problems.rows import DenseRows
from dp2theory.problems.squares import clip_factors
from dp2theory.problems.validation import positive_real, whole_number

_ERROR_STD = 0.1


def least_absolute_deviations(n: int = 1_000, d: int = 10, seed: int = 0) -> LinearProblem:
    """Return mean |<x_i, w> - y_i| with ||x_i|| = 1 and a minimiser in [-1, 1]^d.

    Known: lipschitz 1, diameter 2 sqrt(d) (of the box), optimal value. Not smooth.

    Parameters
    ----------
    n : int
        Number of records, even.
    d : int
        Dimension; there is no intercept.
    seed : int
    """
    return _paired(
        "least-absolute-deviations", AbsoluteError(), n, d, seed, lipschitz=1.0, smooth=False
    )


def huber(n: int = 1_000, d: int = 10, threshold: float = 0.1, seed: int = 0) -> LinearProblem:
    """Return the mean Huber loss of <x_i, w> - y_i with ||x_i|| = 1, minimiser in [-1, 1]^d.

    Known: lipschitz = threshold, smoothness = largest eigenvalue of mean x x^T (an upper
    bound of the Hessian, reached where all errors lie within the threshold), diameter
    2 sqrt(d) (of the box), optimal value.

    Parameters
    ----------
    n : int
        Number of records, even.
    d : int
        Dimension; there is no intercept.
    threshold : float
        Error beyond which the loss is linear.
    seed : int
    """
    threshold = positive_real("threshold", threshold)
    loss = HuberError(threshold)
    return _paired("huber", loss, n, d, seed, lipschitz=threshold, smooth=True)


def _paired(
    name: str, loss: PointLoss, n: int, d: int, seed: int, *, lipschitz: float, smooth: bool
) -> LinearProblem:
    n, d = whole_number("n", n, minimum=2), whole_number("d", d)
    seed = whole_number("seed", seed, minimum=0)
    if n % 2:
        raise ValueError(f"n={n} must be even: targets come in pairs around the minimiser")
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n // 2, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    minimiser = rng.uniform(-1.0, 1.0, size=d)
    errors = _ERROR_STD * rng.standard_normal(n // 2)
    rows = np.vstack([x, x])
    targets = rows @ minimiser + np.concatenate([errors, -errors])
    constants = Constants(
        lipschitz=lipschitz,
        smoothness=float(np.linalg.eigvalsh(rows.T @ rows / n)[-1]) if smooth else None,
        diameter=2.0 * float(np.sqrt(d)),
        optimal_value=float(np.mean(loss.value(errors, np.zeros_like(errors)))),
    )
    return LinearProblem(name, {"train": DenseRows(rows)}, {"train": targets}, loss, constants)


@dataclass(frozen=True)
class QuadraticProblem:
    """Mean over records c_i of 1/2 sum_j curvature_j (w_j - c_ij)^2.

    Attributes
    ----------
    name : str
    centres : ndarray, shape (n, d)
    curvatures : ndarray, shape (d,)
        All > 0.
    constants : Constants
    convex : bool
        True.
    """

    name: str
    centres: Array
    curvatures: Array
    constants: Constants
    convex: bool = True

    @property
    def dataset_size(self) -> int:
        """Number of records."""
        return int(self.centres.shape[0])

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return int(self.centres.shape[1])

    def initial_parameters(self, rng: np.random.Generator) -> Array:
        """Return zeros; `rng` is not used."""
        return np.zeros(self.dimension)

    def loss(self, parameters: Array, *, split: str = "train") -> float:
        """Return the mean loss; there is only the train split."""
        check_split(split, {"train": None})
        weights = check_parameters(parameters, self.dimension)
        return float(0.5 * np.mean((weights - self.centres) ** 2 @ self.curvatures))

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
        scale = self.curvatures if preconditioner is None else self.curvatures / preconditioner
        # Records are dense points here, so the gradients are no larger than the data.
        gradients = scale * (weights - self.centres[indices])
        if np.isfinite(clip_norm):
            norms = np.sqrt(np.einsum("ij,ij->i", gradients, gradients))
            return np.asarray((clip_norm / np.maximum(norms, clip_norm)) @ gradients)
        return np.asarray(gradients.sum(axis=0))

    def squared_gradient_norms(self, parameters: Array, batch: IndexArray) -> Array:
        """Return the norms of squared gradients (see `squares.SquaredGradients`)."""
        return np.asarray(np.linalg.norm(self._squares(parameters, batch), axis=1))

    def clipped_squared_gradient_sum(
        self, parameters: Array, batch: IndexArray, *, clip_norm: float
    ) -> Array:
        """Return the sum of clipped squared gradients (see `squares.SquaredGradients`)."""
        squares = self._squares(parameters, batch)
        return np.asarray(clip_factors(np.linalg.norm(squares, axis=1), clip_norm) @ squares)

    def _squares(self, parameters: Array, batch: IndexArray) -> Array:
        weights = check_parameters(parameters, self.dimension)
        indices = check_batch(batch, self.dataset_size)
        return np.asarray((self.curvatures * (weights - self.centres[indices])) ** 2)

    def subset(self, records: IndexArray, *, with_test: bool = True) -> QuadraticProblem:
        """Return the problem of these records alone (see `public.Divisible`); no test split."""
        centres = self.centres[check_subset(records, self.dataset_size)]
        spread = (centres - centres.mean(axis=0)) ** 2
        optimal_value = float(0.5 * np.mean(spread @ self.curvatures))
        constants = replace(self.constants, optimal_value=optimal_value)
        return replace(self, centres=centres, constants=constants)

    def metrics(self, parameters: Array) -> dict[str, float]:
        """Return train_loss and its excess over the optimal value."""
        loss = self.loss(parameters)
        return {"train_loss": loss, "excess_loss": loss - (self.constants.optimal_value or 0.0)}


def quadratic(
    n: int = 1_000,
    d: int = 10,
    smoothness: float = 1.0,
    strong_convexity: float = 0.1,
    seed: int = 0,
) -> QuadraticProblem:
    """Return a quadratic with curvatures spaced geometrically between the two constants.

    The records are uniform in [-1, 1]^d and the minimiser is their mean. Known: smoothness,
    strong convexity, lipschitz (the supremum of a record's gradient norm over the box
    [-1, 1]^d), diameter 2 sqrt(d) (of the box), optimal value.

    Parameters
    ----------
    n, d : int
        Number of records, dimension.
    smoothness, strong_convexity : float
        Largest and smallest curvature; with d = 1 the curvature is `smoothness` and the two
        must agree.
    seed : int
    """
    n, d = whole_number("n", n), whole_number("d", d)
    seed = whole_number("seed", seed, minimum=0)
    smoothness = positive_real("smoothness", smoothness)
    strong_convexity = positive_real("strong_convexity", strong_convexity)
    if strong_convexity > smoothness or (d == 1 and strong_convexity != smoothness):
        rule = f"smoothness={smoothness!r}"
        raise ValueError(
            f"strong_convexity={strong_convexity!r} must be "
            + (f"equal to {rule} when d=1" if d == 1 else f"<= {rule}")
        )
    rng = np.random.default_rng(seed)
    curvatures = np.geomspace(smoothness, strong_convexity, d)
    centres = rng.uniform(-1.0, 1.0, size=(n, d))
    spread = (centres - centres.mean(axis=0)) ** 2
    farthest = curvatures * (1.0 + np.abs(centres))
    constants = Constants(
        lipschitz=float(np.max(np.linalg.norm(farthest, axis=1))),
        smoothness=smoothness,
        strong_convexity=strong_convexity,
        diameter=2.0 * float(np.sqrt(d)),
        optimal_value=float(0.5 * np.mean(spread @ curvatures)),
    )
    return QuadraticProblem("quadratic", centres, curvatures, constants)
