"""Elementary functions of second order at 0, without cancellation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Unit of rounding of doubles: half the distance from 1 to the next one.
ROUND = 2.0**-53
_NEAR = 0.25
_LOG = tuple((-1) ** k / (k * (k - 1)) for k in range(27, 1, -1))


def entropy_excess(w: Array, log_ratio: Array) -> Array:
    """(1 + w) log(1 + w) - w >= 0, where ``log_ratio`` is log(1 + w)."""
    near = np.abs(w) < _NEAR
    inner = np.where(near, w, 0.0)
    total = np.zeros_like(inner)
    for coefficient in _LOG:
        total = total * inner + coefficient
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(near, total * inner * inner, (1 + w) * log_ratio - w)


def log_excess(w: Array, log_ratio: Array) -> Array:
    """w - log(1 + w) >= 0, where ``log_ratio`` is log(1 + w)."""
    # w - log(1+w) = w log(1+w) - ((1+w) log(1+w) - w), and both terms are of second order.
    near = np.abs(w) < _NEAR
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(near, w * log_ratio - entropy_excess(w, log_ratio), w - log_ratio)
