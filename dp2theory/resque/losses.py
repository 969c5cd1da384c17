"""Absolute and hinge losses of linear predictions, averaged over the records of a data set."""

from __future__ import annotations

from abc import ABC, abstractmethod
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

#: By how much rounding may make a row longer than it was cut to.
_ROUNDING = 1e-12


def _deviation(smoothing: float) -> float:
    return real_in("smoothing", smoothing, 0.0, np.inf, open_high=True)


def _prepare(loss: Any, names: tuple[str, str]) -> None:
    """Check the fields of a loss and put arrays in their place."""
    features, targets = check_table(loss.features, loss.targets, names)
    start, radius = check_domain(loss.start, loss.radius, features.shape[1])
    lengths = np.linalg.norm(features, axis=1)
    longest = float(lengths.max())
    given = longest if loss.lipschitz is None else loss.lipschitz
    bound = real_in("lipschitz", given, 0.0, np.inf)
    if bound < longest <= bound * (1 + _ROUNDING):
        # Rows that were cut to the bound and are a rounding too long: each by itself.
        scale = np.where(lengths > bound, bound * (1 - _ROUNDING) / np.maximum(lengths, bound), 1.0)
        features = features * scale[:, None]
        longest = float(np.linalg.norm(features, axis=1).max())
    if not longest <= bound < np.inf or bound == 0:
        raise ValueError(
            f"lipschitz={loss.lipschitz!r}: must be finite, > 0 and at least the longest row of "
            f"{names[0]}, {longest:.6g}"
        )
    if loss.optimal_value is not None:
        real_in("optimal_value", loss.optimal_value, 0.0, np.inf, open_high=True)
    # A part of the data, or a neighbour, is made with a bound that is given.
    object.__setattr__(loss, "lipschitz_from_data", loss.lipschitz is None)
    for name, value in (
        ("features", features), ("targets", targets), ("start", start), ("radius", radius),
        ("lipschitz", bound),
    ):  # fmt: skip
        object.__setattr__(loss, name, value)


@dataclass(frozen=True, eq=False)
class LinearLoss(ABC):
    """The mean of phi(<row_i, x> + offset_i), phi a convex function of one variable.

    Parameters
    ----------
    features : ndarray, shape (n, d)
        Rows a_i.
    targets : ndarray, shape (n,)
        b_i, or labels y_i.
    start : ndarray, shape (d,), optional
        Default 0.
    radius : float
        R > 0.
    lipschitz : float, optional
        Bound on the norm of every row that could be in the data; for private runs a public
        number.  Default: the longest row, which is read from the data.
    optimal_value : float, optional
        Smallest value within R of the start, if known.
    name : str
        In results.
    """

    features: Array
    targets: Array
    start: Array = None  # type: ignore[assignment]
    radius: float = 1.0
    lipschitz: float = None  # type: ignore[assignment]
    optimal_value: float | None = None
    name: str = "loss"

    def __post_init__(self) -> None:
        _prepare(self, ("features", "targets"))

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

    def part(self, records: IndexArray) -> Self:
        """Return the mean over some records; the bound L stays that of the whole."""
        chosen = check_records(records, self.sample_size)
        return replace(
            self,
            features=self.features[chosen],
            targets=self.targets[chosen],
            optimal_value=None,
        )

    def value(self, x: Array) -> float:
        """Return f(x)."""
        at = check_vector("x", x, self.dimension)
        return float(self._phi(self._rows @ at + self._offsets, 0.0)[0].mean())

    def subgradients(self, points: Array, samples: IndexArray) -> Array:
        """Return a subgradient of f_s at z for each pair of a point z and a sample s; (N, d)."""
        rows, arguments = self._pairs(points, samples)
        result: Array = self._slope(arguments)[:, None] * rows
        return result

    def smoothed_value(self, x: Array, smoothing: float) -> float:
        """Return E f(x + smoothing Z)."""
        return float(self._smoothed(x, smoothing)[0].mean())

    def smoothed_gradient(self, x: Array, smoothing: float) -> Array:
        """Return the gradient of the average, shape (d,)."""
        result: Array = self._smoothed(x, smoothing)[1] @ self._rows / self.sample_size
        return result

    def smoothed_subgradients(self, points: Array, samples: IndexArray, smoothing: float) -> Array:
        """Return the gradient of the average of f_s at z for each pair of z and s; (N, d)."""
        rows, arguments = self._pairs(points, samples)
        slopes = self._phi(arguments, _deviation(smoothing) * self.lengths[samples])[1]
        result: Array = slopes[:, None] * rows
        return result

    def _pairs(self, points: Array, samples: IndexArray) -> tuple[Array, Array]:
        rows = self._rows[samples]
        return rows, np.einsum("ij,ij->i", rows, points) + self._offsets[samples]

    def _smoothed(self, x: Array, smoothing: float) -> tuple[Array, Array]:
        arguments = self._rows @ check_vector("x", x, self.dimension) + self._offsets
        return self._phi(arguments, _deviation(smoothing) * self.lengths)

    @property
    @abstractmethod
    def _rows(self) -> Array:
        """Shape (n, d)."""

    @property
    @abstractmethod
    def _offsets(self) -> Array:
        """Shape (n,)."""

    @staticmethod
    @abstractmethod
    def _phi(at: Array, deviation: float | Array) -> tuple[Array, Array]:
        """E phi(m + s Z) and its derivative in m."""

    @staticmethod
    @abstractmethod
    def _slope(at: Array) -> Array:
        """A subgradient of phi."""


@dataclass(frozen=True, eq=False)
class AbsoluteLoss(LinearLoss):
    """f(x) = mean of |<a_i, x> - b_i|: regression in l1.

    Parameters are those of `LinearLoss`, ``name`` too; ``targets`` are the b_i.
    """

    name: str = "absolute"

    @property
    def _rows(self) -> Array:
        return self.features

    @cached_property
    def _offsets(self) -> Array:
        return -self.targets

    @staticmethod
    def _phi(at: Array, deviation: float | Array) -> tuple[Array, Array]:
        return smoothed_absolute(at, deviation)

    @staticmethod
    def _slope(at: Array) -> Array:
        return np.sign(at)


@dataclass(frozen=True, eq=False)
class HingeLoss(LinearLoss):
    """f(x) = mean of max(0, 1 - y_i <a_i, x>): a linear support vector machine.

    Parameters are those of `LinearLoss`, ``name`` too; ``targets`` are labels y_i, each -1 or 1.
    """

    name: str = "hinge"

    def __post_init__(self) -> None:
        super().__post_init__()
        wrong = self.targets[np.abs(self.targets) != 1]
        if wrong.size:
            raise ValueError(f"targets holds {wrong[0]}, must be labels -1 and 1")

    @cached_property
    def _rows(self) -> Array:
        return -self.targets[:, None] * self.features

    @cached_property
    def _offsets(self) -> Array:
        return np.ones(self.sample_size)

    @staticmethod
    def _phi(at: Array, deviation: float | Array) -> tuple[Array, Array]:
        return smoothed_hinge(at, deviation)

    @staticmethod
    def _slope(at: Array) -> Array:
        return (at > 0).astype(np.float64)
