"""Slopes of measured counts in log-log scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def log_slope(x: ArrayLike, y: ArrayLike) -> float:
    """The least-squares slope of log y against log x.

    Parameters
    ----------
    x, y : array_like
        Positive, of one length, with at least two distinct x.

    Raises
    ------
    ValueError
        Where no slope exists.
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    shown = f"x={first.tolist()!r}, y={second.tolist()!r}"
    if first.shape != second.shape or first.ndim != 1 or np.unique(first).size < 2:
        raise ValueError(f"{shown}: a slope needs two points or more")
    if not (first > 0).all() or not (second > 0).all():
        raise ValueError(f"{shown}: logarithms need positive values")
    return float(np.polyfit(np.log(first), np.log(second), 1)[0])
