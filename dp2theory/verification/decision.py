"""From scores to a test: where to put the threshold, and what fresh trials then show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dp2theory.problems.protocol import Array
from dp2theory.verification.clopper_pearson import (
    Evidence,
    epsilon_lower,
    lower_chance,
    upper_chance,
)

# Chances are estimated on the wary side where a threshold is chosen: the best of many thresholds
# would otherwise be one that was lucky.
_WARY = 0.25
_CANDIDATES = 400


@dataclass(frozen=True)
class Test:
    """Say "first data set" where the score is above a threshold, or "second" where it is below.

    Attributes
    ----------
    threshold : float
    says_first : bool
        Whether the event is a score above the threshold, whose chance should be large on the
        first data set and small on the second; else it is a score below, and the other way round.
    promise : float
        Lower end of epsilon that so many fresh trials are expected to show.
    """

    __test__ = False  # not a test of pytest's

    threshold: float
    says_first: bool
    promise: float

    def count(self, scores: Array) -> int:
        """Return how often the event happens."""
        said = scores > self.threshold if self.says_first else scores < self.threshold
        return int(np.count_nonzero(said))

    def evidence(self, first: Array, second: Array, error: float) -> Evidence:
        """Count the event among fresh scores of runs on the two data sets."""
        hits, alarms = (first, second) if self.says_first else (second, first)
        return Evidence(
            trials=len(first),
            hits=self.count(hits),
            false_alarms=self.count(alarms),
            error=error,
        )


def choose_test(first: Array, second: Array, *, delta: float, trials: int, error: float) -> Test:
    """Return the threshold that promises the largest lower end of epsilon.

    Parameters
    ----------
    first, second : ndarray, shape (runs,)
        Scores of runs on the two data sets. They must not be used again.
    delta : float
    trials : int
        Fresh runs on each data set that the test will be put to.
    error : float
        Total error probability of the lower end.

    Returns
    -------
    Test
    """
    tests = []
    for says_first in (True, False):
        hits, alarms = (first, second) if says_first else (-second, -first)
        cuts = np.unique(np.quantile(np.concatenate([hits, alarms]), _levels(), method="lower"))
        power = lower_chance(_above(hits, cuts), len(hits), _WARY)
        level = upper_chance(_above(alarms, cuts), len(alarms), _WARY)
        promised = epsilon_lower(
            lower_chance(power * trials, trials, error / 2),
            upper_chance(level * trials, trials, error / 2),
            delta,
        )
        best = int(np.argmax(promised))
        cut = float(cuts[best])
        tests.append(Test(cut if says_first else -cut, says_first, float(promised[best])))
    return max(tests, key=lambda test: test.promise)


def _levels() -> Array:
    """Quantiles to try, dense at both ends."""
    tail = np.geomspace(1e-5, 0.5, _CANDIDATES // 2)
    return np.concatenate([tail, 1 - tail])


def _above(scores: Array, cuts: Array) -> Array:
    ordered = np.sort(scores)
    return (len(ordered) - np.searchsorted(ordered, cuts, side="right")).astype(np.float64)
