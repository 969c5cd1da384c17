"""Exact confidence ends for a chance, and what two of them say about epsilon.

A mechanism that is (epsilon, delta)-private has P(S) <= e^epsilon Q(S) + delta for every set S of
outputs and every two neighbours with output laws P and Q. An S that was fixed before its trials
were seen, with P(S) at least p and Q(S) at most q, therefore shows epsilon >= log((p - delta)/q):
at every delta at once, since only p and q are random. p and q come from counts by the ends of
Clopper and Pearson (Biometrika 1934), which hold at every sample size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from accountants import validation
from dp2theory.problems.protocol import Array
from dp2theory.problems.validation import open_unit, real_in, whole_number

# Ends are moved outward by more than the inverse of the incomplete beta function errs.
_OUTWARD = 1e-9


def lower_chance(successes: ArrayLike, trials: int, error: float) -> Array:
    """Return what a chance is at least, except with probability `error`.

    Parameters
    ----------
    successes : array_like
        Successes among `trials` independent trials; fractions are interpolated, for planning.
    trials : int
    error : float
        In (0, 1).

    Returns
    -------
    ndarray
        0 where there were no successes.
    """
    allowed = f"numbers in [0, trials={trials!r}]"
    count = validation.reals("successes", successes, allowed)
    good = bool(((count >= 0) & (count <= whole_number("trials", trials))).all())
    validation.require(good, "successes", successes, allowed)
    open_unit("error", error)
    inside = np.maximum(count, 1e-12)
    end = special.betaincinv(inside, trials - inside + 1, error)
    return np.where(count > 0, end * (1 - _OUTWARD), 0.0)


def upper_chance(successes: ArrayLike, trials: int, error: float) -> Array:
    """Return what a chance is at most, except with probability `error` (see `lower_chance`)."""
    count = validation.reals("successes", successes, "numbers in [0, trials]")
    failures = whole_number("trials", trials) - count
    good = bool(((count >= 0) & (failures >= 0)).all())
    validation.require(good, "successes", successes, f"numbers in [0, trials={trials!r}]")
    return np.minimum(1.0, np.nextafter(1 - lower_chance(failures, trials, error), 2.0))


def epsilon_lower(power: Array | float, level: Array | float, delta: float) -> Array:
    """Return log((power - delta) / level), the epsilon that a test shows; 0 where it is below 0.

    Parameters
    ----------
    power, level : float or ndarray
        P(S) is at least `power`, Q(S) at most `level` > 0.
    delta : float
        In [0, 1].
    """
    delta = real_in("delta", delta, 0.0, 1.0)
    hit = validation.reals("power", power, "numbers in [0, 1]")
    validation.require(bool(((hit >= 0) & (hit <= 1)).all()), "power", power, "numbers in [0, 1]")
    alarm = validation.reals("level", level, "numbers in (0, 1]")
    good = bool(((alarm > 0) & (alarm <= 1)).all())
    validation.require(good, "level", level, "numbers in (0, 1]")
    ratio = np.maximum(hit - delta, 0.0) / alarm
    return np.log(np.maximum(ratio, 1.0))


@dataclass(frozen=True)
class Evidence:
    """Counts of one test on fresh trials, and what they show.

    Attributes
    ----------
    trials : int
        Independent runs on each of the two data sets.
    hits, false_alarms : int
        How often the test said P among runs on P, and among runs on Q.
    error : float
        Probability that a lower end drawn from this evidence is wrong, both ends together.
    """

    trials: int
    hits: int
    false_alarms: int
    error: float

    def __post_init__(self) -> None:
        trials = whole_number("trials", self.trials)
        whole_number("hits", self.hits, minimum=0, maximum=trials)
        whole_number("false_alarms", self.false_alarms, minimum=0, maximum=trials)
        open_unit("error", self.error)

    @property
    def power(self) -> float:
        """What the chance of a hit is at least."""
        return float(lower_chance(self.hits, self.trials, self.error / 2))

    @property
    def level(self) -> float:
        """What the chance of a false alarm is at most."""
        return float(upper_chance(self.false_alarms, self.trials, self.error / 2))

    def epsilon_lower(self, delta: float) -> float:
        """Return what epsilon is at least at this delta; valid for all deltas at once."""
        return float(epsilon_lower(self.power, self.level, delta))


def largest_provable(trials: int, error: float) -> float:
    """Return the largest epsilon that so many trials can show: all hits and no false alarm."""
    return -math.log(float(upper_chance(0, trials, open_unit("error", error) / 2)))
