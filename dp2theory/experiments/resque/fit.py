"""Slopes of measured counts in log-log scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def log_slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The least-squares slope of log y against log x.

    Parameters
    ----------
    x, y : sequence of float
        Positive, of one length, with at least two distinct x.

    Raises
    ------
    ValueError
        Where no slope exists.
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1 or np.unique(first).size < 2:
        raise ValueError(f"x={list(x)!r}, y={list(y)!r}: a slope needs two points or more")
    if not (first > 0).all() or not (second > 0).all():
        raise ValueError(f"x={list(x)!r}, y={list(y)!r}: logarithms need positive values")
    return float(np.polyfit(np.log(first), np.log(second), 1)[0])
