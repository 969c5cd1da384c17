"""Two methods on the same seeds: mean difference and ratio, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accountants import Bracket, validation
from dp2theory.planning.intervals import student_interval, student_quantile
from dp2theory.problems.validation import open_unit


@dataclass(frozen=True)
class PairedComparison:
    """Final losses of two methods, paired by seed.

    Attributes
    ----------
    pairs : int
        Number of seeds.
    mean, baseline_mean : float
        Mean loss of the method and of what it is compared with.
    difference : float
        Mean of (method - baseline); negative when the method is better.
    difference_interval : Bracket or None
        Student interval of that mean over the pairs; None for a single pair.
    ratio : float
        mean / baseline_mean.
    ratio_interval : Bracket or None
        Of the ratio of the means, by Fieller's method: the r for which the mean of
        (method - r * baseline) is not told apart from 0; None for a single pair or when the
        baseline itself is not told apart from 0.
    confidence : float
        Coverage of the intervals, over the randomness of seeds alone (not of data).
    """

    pairs: int
    mean: float
    baseline_mean: float
    difference: float
    difference_interval: Bracket | None
    ratio: float
    ratio_interval: Bracket | None
    confidence: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "pairs": self.pairs,
            "mean": self.mean,
            "baseline_mean": self.baseline_mean,
            "difference": {
                "mean": self.difference,
                "interval": self.difference_interval and self.difference_interval.to_json(),
            },
            "ratio": {
                "value": self.ratio,
                "interval": self.ratio_interval and self.ratio_interval.to_json(),
            },
            "confidence": self.confidence,
        }


def compare_pairs(
    losses: Sequence[float], baseline: Sequence[float], *, confidence: float = 0.95
) -> PairedComparison:
    """Compare two methods whose k-th losses were made with the same seed.

    Parameters
    ----------
    losses, baseline : sequence of float
        Final losses, one per seed, in the same order.
    confidence : float
        Coverage of the intervals, in (0, 1).

    Returns
    -------
    PairedComparison

    Raises
    ------
    ValueError
        If the lengths differ or are zero, a loss is not finite, or `confidence` is no coverage.
    """
    ours = validation.reals("losses", losses, "numbers, one per seed", nan=True)
    theirs = validation.reals("baseline", baseline, "numbers, one per seed", nan=True)
    if ours.ndim != 1 or ours.shape != theirs.shape or not ours.size:
        raise ValueError(
            f"losses has shape {ours.shape}, baseline {theirs.shape}: both must hold one loss "
            "per seed, for the same seeds"
        )
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        raise ValueError("losses and baseline must be finite: a run has diverged")
    open_unit("confidence", confidence)
    pairs = ours.size
    difference = float(np.mean(ours - theirs))
    return PairedComparison(
        pairs=pairs,
        mean=float(ours.mean()),
        baseline_mean=float(theirs.mean()),
        difference=difference,
        difference_interval=student_interval(ours - theirs, confidence) if pairs > 1 else None,
        ratio=float(ours.mean() / theirs.mean()),
        ratio_interval=_fieller(ours, theirs, confidence),
        confidence=confidence,
    )


def _fieller(
    ours: np.ndarray[Any, np.dtype[np.float64]],
    theirs: np.ndarray[Any, np.dtype[np.float64]],
    confidence: float,
) -> Bracket | None:
    pairs = ours.size
    if pairs < 2:
        return None
    (ours_ours, mixed), (_, theirs_theirs) = np.cov(ours, theirs, ddof=1)
    square = student_quantile(pairs, confidence) ** 2 / pairs
    # (x - r y)^2 <= square * var(ours - r theirs) is a quadratic inequality in r.
    a = theirs.mean() ** 2 - square * theirs_theirs
    b = ours.mean() * theirs.mean() - square * mixed
    c = ours.mean() ** 2 - square * ours_ours
    if a <= 0:
        return None
    root = np.sqrt(max(b * b - a * c, 0.0))
    return Bracket(float((b - root) / a), float((b + root) / a))
