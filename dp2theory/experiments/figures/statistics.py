"""Small statistics over seeds: means with intervals, rank correlation, words for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accountants.validation import reals
from dp2theory.experiments.figures.result import CONFIDENCE
from dp2theory.planning.intervals import student_interval
from dp2theory.problems.protocol import Array

#: Ratios from here on are told as factors: what diverged, or nearly.
FAR = 10.0


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with its Student interval.

    Attributes
    ----------
    value : float
        inf where a run diverged.
    lower, upper : float or None
        None for a single seed, or where a run diverged.
    """

    value: float
    lower: float | None
    upper: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite mean is the string "inf"."""
        value: float | str = self.value if math.isfinite(self.value) else "inf"
        interval = None if self.lower is None else {"lower": self.lower, "upper": self.upper}
        return {"value": value, "interval": interval}


def mean_over_seeds(values: Sequence[float]) -> Mean:
    """The mean of one figure per seed, with its interval.

    Parameters
    ----------
    values : sequence of float
        One or more; inf or NaN stands for a run that diverged.

    Raises
    ------
    ValueError
        For no numbers, and for what is none.
    """
    numbers = reals("values", values, "one number per seed", nan=True)
    if numbers.ndim != 1 or not numbers.size:
        raise ValueError(f"values has shape {numbers.shape}: must hold one number per seed")
    if not np.isfinite(numbers).all():
        return Mean(math.inf, None, None)
    value = float(numbers.mean())
    if numbers.size == 1:
        return Mean(value, None, None)
    interval = student_interval(numbers, CONFIDENCE)
    return Mean(value, interval.lower, interval.upper)


def rank_correlation(first: Array, second: Array) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None where one is constant."""
    from scipy.stats import rankdata

    ranks = np.vstack([rankdata(first), rankdata(second)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    scale = float(np.sqrt((ranks[0] @ ranks[0]) * (ranks[1] @ ranks[1])))
    return None if scale == 0 else float(ranks[0] @ ranks[1]) / scale


def percent(ratio: float) -> str:
    """A ratio of means as a signed change: 0.94 -> "-6.0 %"; far ones as a factor: "x 1.3e+04"."""
    return f"{100 * (ratio - 1):+.1f} %" if abs(ratio) < FAR else f"x {ratio:.2g}"


def percent_interval(lower: float, upper: float) -> str:
    """Two ratios as an interval of changes: "[-7.1 %, -5.0 %]"."""
    return f"[{percent(lower)}, {percent(upper)}]"
