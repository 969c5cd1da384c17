"""What a problem is: a mean loss over records whose clipped gradients can be summed.

A problem never returns the gradient of a single record. Private optimizers need only
``sum_i clip(g_i / D)`` over a batch, and for the models here that sum follows from norms of
data rows, so no (records x coordinates) array of gradients is ever formed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from accountants import validation
from dp2theory.problems.validation import positive_real, real_in

Array: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Constants:
    """Constants of the train loss that are known exactly; None means unknown.

    Attributes
    ----------
    lipschitz : float or None
        Largest l2 norm of a record's (sub)gradient, over the box when `diameter` is given.
    smoothness : float or None
        Lipschitz constant of the gradient of the mean loss.
    strong_convexity : float or None
        Strong-convexity constant of the mean loss.
    diameter : float or None
        l2 diameter of the box that holds the minimiser.
    optimal_value : float or None
        Minimum of the mean train loss.
    """

    lipschitz: float | None = None
    smoothness: float | None = None
    strong_convexity: float | None = None
    diameter: float | None = None
    optimal_value: float | None = None

    def __post_init__(self) -> None:
        for name in ("lipschitz", "smoothness", "strong_convexity", "diameter"):
            if (value := getattr(self, name)) is not None:
                real_in(name, value, 0.0, math.inf, open_high=True)
        if self.optimal_value is not None:
            most = sys.float_info.max
            real_in("optimal_value", self.optimal_value, -most, most)


@runtime_checkable
class Problem(Protocol):
    """A data set with a model: mean loss, clipped gradient sums, metrics.

    A problem may have an attribute ``unit``, a text that says what one record is (the unit of
    privacy), such as "a rating, not a user"; see `dp2theory.problems.unit`.
    """

    @property
    def name(self) -> str:
        """Name under which the registry knows the problem."""

    @property
    def dataset_size(self) -> int:
        """Number n of train records."""

    @property
    def dimension(self) -> int:
        """Number d of parameters."""

    @property
    def convex(self) -> bool:
        """Whether every record's loss is convex in the parameters."""

    @property
    def constants(self) -> Constants:
        """Known constants of the train loss."""

    def initial_parameters(self, rng: np.random.Generator) -> Array:
        """Return a starting point of shape (dimension,)."""

    def loss(self, parameters: Array, *, split: str = "train") -> float:
        """Return the mean loss over the records of `split` ("train" or "test")."""

    def clipped_gradient_sum(
        self,
        parameters: Array,
        batch: IndexArray,
        *,
        clip_norm: float,
        preconditioner: Array | None = None,
    ) -> Array:
        """Return ``sum_i clip(g_i / preconditioner)`` over the train records in `batch`.

        Parameters
        ----------
        parameters : ndarray, shape (dimension,)
        batch : ndarray of int, shape (m,)
            Record indices; repeats count as often as they occur, an empty batch gives zeros.
        clip_norm : float
            l2 norm to which each (preconditioned) gradient is scaled down; inf means never.
        preconditioner : ndarray, shape (dimension,), optional
            Positive coordinatewise divisor, applied before clipping.
        """

    def metrics(self, parameters: Array) -> dict[str, float]:
        """Return figures to report: ``train_loss`` and, where a test split exists, others."""


def check_parameters(parameters: Array, dimension: int, name: str = "parameters") -> Array:
    """Return `parameters` as a float array of shape (dimension,), or raise ValueError."""
    array = validation.reals(name, parameters, "real numbers", nan=True)
    if array.shape != (dimension,):
        raise ValueError(f"{name} has shape {array.shape!r}, must be ({dimension},), the dimension")
    return array


def check_batch(batch: IndexArray, dataset_size: int, name: str = "batch") -> IndexArray:
    """Return `batch` as a 1-d index array within [0, dataset_size), or raise ValueError."""
    try:
        array = np.asarray(batch)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape!r}, must be one-dimensional")
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} has dtype {array.dtype}, must hold integer record indices")
    # Negative indices would silently count from the end: some other person's record.
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= dataset_size:
        bad = low if low < 0 else high
        raise ValueError(f"{name} holds index {bad}, must lie in [0, {dataset_size - 1}]")
    return array.astype(np.int64, copy=False)


def check_subset(records: IndexArray, dataset_size: int) -> IndexArray:
    """Return the indices of records that stay, at least one of them, or raise ValueError."""
    chosen = check_batch(records, dataset_size, "records")
    if not chosen.size:
        raise ValueError("records is empty, must hold one record at least")
    return chosen


def check_clipping(clip_norm: float, preconditioner: Array | None, dimension: int) -> None:
    """Raise ValueError unless the clip norm and the preconditioner are usable."""
    positive_real("clip_norm", clip_norm, allow_infinite=True)
    if preconditioner is None:
        return
    validation.reals("preconditioner", preconditioner, "numbers > 0", nan=True)
    if np.shape(preconditioner) != (dimension,):
        raise ValueError(
            f"preconditioner has shape {np.shape(preconditioner)!r}, must be ({dimension},)"
        )
    smallest = float(np.min(preconditioner))
    if not smallest > 0:
        raise ValueError(f"preconditioner has minimum {smallest!r}, every entry must be > 0")


def check_split(split: str, available: Mapping[str, Any]) -> str:
    """Return `split` if it is one of `available`, or raise ValueError listing those."""
    if split not in available:
        raise ValueError(f"split={split!r} must be one of {sorted(available)}")
    return split
