"""Student intervals of a mean over runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from accountants import Bracket


def student_quantile(count: int, confidence: float) -> float:
    """The two-sided Student quantile for the mean of `count` values.

    Parameters
    ----------
    count : int
        At least 2.
    confidence : float
        In (0, 1).
    """
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, (1 + confidence) / 2))


def student_interval(values: np.ndarray[Any, np.dtype[np.float64]], confidence: float) -> Bracket:
    """The interval of the mean.

    Parameters
    ----------
    values : ndarray, shape (count,)
        At least two.
    confidence : float
        In (0, 1).
    """
    mean = float(values.mean())
    quantile = student_quantile(values.size, confidence)
    half = quantile * float(values.std(ddof=1)) / math.sqrt(values.size)
    return Bracket(mean - half, mean + half)
