"""Absolute and hinge losses of linear predictions, averaged over the records of a data set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from dp2theory.problems.validation import real_in
from dp2theory.resque.closed_forms import smoothed_absolute, smoothed_hinge
from dp2theory.resque.functions import (
    Array,
    IndexArray,
    check_domain,
    check_records,
    check_table,
    check_vector,
)


class _Loss:
    """What both losses share: records that can be taken in part, and closed forms of smoothing."""

    features: Array
    targets: Array

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.features.shape[1])

    @property
    def sample_size(self) -> int:
        """Number n of records."""
        return int(self.features.shape[0])

    @cached_property
    def lengths(self) -> Array:
        """l2 norm of every row, shape (n,)."""
        result: Array = np.linalg.norm(self.features, axis=1)
        return result

    def _at(self, x: Array) -> Array:
        return check_vector("x", x, self.dimension)

    def part(self, records: IndexArray) -> Self:
        """Return the mean over some records; the bound L stays that of the whole."""
        chosen = check_records(records, self.sample_size)
        changes: dict[str, Any] = {
            "features": self.features[chosen],
            "targets": self.targets[chosen],
            "optimal_value": None,
        }
        changed: Self = replace(self, **changes)  # type: ignore[type-var]
        return changed


def _deviation(smoothing: float) -> float:
    return real_in("smoothing", smoothing, 0.0, np.inf, open_high=True)


def _prepare(loss: Any, names: tuple[str, str]) -> None:
    """Check the fields of a loss and put arrays in their place."""
    features, targets = check_table(loss.features, loss.targets, names)
    start, radius = check_domain(loss.start, loss.radius, features.shape[1])
    longest = float(np.linalg.norm(features, axis=1).max())
    given = longest if loss.lipschitz is None else loss.lipschitz
    bound = real_in("lipschitz", given, 0.0, np.inf)
    if not longest <= bound < np.inf or bound == 0:
        raise ValueError(
            f"lipschitz={loss.lipschitz!r}: must be finite, > 0 and at least the longest row of "
            f"{names[0]}, {longest:.6g}"
        )
    if loss.optimal_value is not None:
        real_in("optimal_value", loss.optimal_value, 0.0, np.inf, open_high=True)
    for name, value in (
        ("features", features), ("targets", targets), ("start", start), ("radius", radius),
        ("lipschitz", bound),
    ):  # fmt: skip
        object.__setattr__(loss, name, value)


@dataclass(frozen=True, eq=False)
class AbsoluteLoss(_Loss):
    """f(x) = mean of |<a_i, x> - b_i|: regression in l1.

    Parameters
    ----------
    features : ndarray, shape (n, d)
        Rows a_i.
    targets : ndarray, shape (n,)
        b_i.
    start : ndarray, shape (d,), optional
        Default 0.
    radius : float
        R > 0.
    lipschitz : float, optional
        Bound on the norm of every row that could be in the data; for private runs a public
        number.  Default: the longest row, which is read from the data.
    optimal_value : float, optional
        Smallest value within R of the start, if known.
    """

    features: Array
    targets: Array
    start: Array = None  # type: ignore[assignment]
    radius: float = 1.0
    lipschitz: float = None  # type: ignore[assignment]
    optimal_value: float | None = None
    name: str = "absolute"

    def __post_init__(self) -> None:
        _prepare(self, ("features", "targets"))

    def value(self, x: Array) -> float:
        """Return f(x)."""
        return float(np.abs(self.features @ self._at(x) - self.targets).mean())

    def subgradients(self, points: Array, samples: IndexArray) -> Array:
        """Return sign(<a_s, z> - b_s) a_s for each pair of a point z and a sample s; (N, d)."""
        rows = self.features[samples]
        signs = np.sign(np.einsum("ij,ij->i", rows, points) - self.targets[samples])
        result: Array = signs[:, None] * rows
        return result

    def smoothed_value(self, x: Array, smoothing: float) -> float:
        """Return E f(x + smoothing Z)."""
        residuals = self.features @ self._at(x) - self.targets
        return float(smoothed_absolute(residuals, _deviation(smoothing) * self.lengths)[0].mean())

    def smoothed_subgradients(self, points: Array, samples: IndexArray, smoothing: float) -> Array:
        """Return the gradient of the average of f_s at z for each pair of z and s; (N, d)."""
        rows = self.features[samples]
        residuals = np.einsum("ij,ij->i", rows, points) - self.targets[samples]
        slopes = smoothed_absolute(residuals, _deviation(smoothing) * self.lengths[samples])[1]
        result: Array = slopes[:, None] * rows
        return result

    def smoothed_gradient(self, x: Array, smoothing: float) -> Array:
        """Return the gradient of the average, shape (d,)."""
        residuals = self.features @ self._at(x) - self.targets
        slopes = smoothed_absolute(residuals, _deviation(smoothing) * self.lengths)[1]
        result: Array = slopes @ self.features / self.sample_size
        return result


@dataclass(frozen=True, eq=False)
class HingeLoss(_Loss):
    """f(x) = mean of max(0, 1 - y_i <a_i, x>): a linear support vector machine.

    Parameters
    ----------
    features : ndarray, shape (n, d)
        Rows a_i.
    targets : ndarray, shape (n,)
        Labels y_i, each -1 or 1.
    start : ndarray, shape (d,), optional
        Default 0.
    radius : float
        R > 0.
    lipschitz : float, optional
        Bound on the norm of every row that could be in the data; for private runs a public
        number.  Default: the longest row, which is read from the data.
    optimal_value : float, optional
        Smallest value within R of the start, if known.
    """

    features: Array
    targets: Array
    start: Array = None  # type: ignore[assignment]
    radius: float = 1.0
    lipschitz: float = None  # type: ignore[assignment]
    optimal_value: float | None = None
    name: str = "hinge"

    def __post_init__(self) -> None:
        _prepare(self, ("features", "targets"))
        wrong = self.targets[np.abs(self.targets) != 1]
        if wrong.size:
            raise ValueError(f"targets holds {wrong[0]}, must be labels -1 and 1")

    def value(self, x: Array) -> float:
        """Return f(x)."""
        return float(np.maximum(1 - self.targets * (self.features @ self._at(x)), 0.0).mean())

    def subgradients(self, points: Array, samples: IndexArray) -> Array:
        """Return -y_s a_s where the margin of the pair is below 1, else 0; shape (N, d)."""
        rows, labels = self.features[samples], self.targets[samples]
        active = labels * np.einsum("ij,ij->i", rows, points) < 1
        result: Array = np.where(active, -labels, 0.0)[:, None] * rows
        return result

    def smoothed_value(self, x: Array, smoothing: float) -> float:
        """Return E f(x + smoothing Z)."""
        below = 1 - self.targets * (self.features @ self._at(x))
        return float(smoothed_hinge(below, _deviation(smoothing) * self.lengths)[0].mean())

    def smoothed_subgradients(self, points: Array, samples: IndexArray, smoothing: float) -> Array:
        """Return the gradient of the average of f_s at z for each pair of z and s; (N, d)."""
        rows, labels = self.features[samples], self.targets[samples]
        below = 1 - labels * np.einsum("ij,ij->i", rows, points)
        slopes = smoothed_hinge(below, _deviation(smoothing) * self.lengths[samples])[1]
        result: Array = -(slopes * labels)[:, None] * rows
        return result

    def smoothed_gradient(self, x: Array, smoothing: float) -> Array:
        """Return the gradient of the average, shape (d,)."""
        below = 1 - self.targets * (self.features @ self._at(x))
        slopes = smoothed_hinge(below, _deviation(smoothing) * self.lengths)[1]
        result: Array = -(slopes * self.targets) @ self.features / self.sample_size
        return result
