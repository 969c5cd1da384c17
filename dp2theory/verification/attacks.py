"""Attacks: each learns what it needs from some trials and then scores others.

Scores are larger for runs that look like the first data set. Attacks are chosen, and their
thresholds set, on trials of their own; only one is then put to the test on fresh trials, so
that trying many costs no confidence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dp2theory.problems.protocol import Array
from dp2theory.verification.joint import joint_scores, measured_covariance, ways_of
from dp2theory.verification.learned import fit_logistic
from dp2theory.verification.likelihood import (
    Divisor,
    Model,
    counted_divisor,
    drawn_divisor,
    public_divisor,
    step_scores,
)
from dp2theory.verification.trials import Release, Trials

#: From trials to one number a run; larger looks more like the first data set.
Score: TypeAlias = Callable[[Trials], Array]

# Noise is taken to be at least this much of what was asked for: none at all has no density.
_LEAST_NOISE = 1e-6
# One step's log-likelihood ratio beyond this is not told apart by what is learned.
_CAP = 30.0


class Attack(ABC):
    """A way to tell two data sets apart."""

    name: str

    @abstractmethod
    def fit(self, first: Trials, second: Trials) -> Score:
        """Learn from trials on the two data sets and return a score of trials, (runs,)."""


@dataclass(frozen=True)
class LikelihoodRatio(Attack):
    """log p_first - log p_second of all releases under a model of the mechanism.

    With the accounted model it is the best test there is, if the mechanism is what is accounted.

    Attributes
    ----------
    name : str
        As reports print it.
    divisor : Divisor
        What sums are divided by in the model.
    measured : bool
        Whether the noise is measured in trials on the second data set, and not taken as stated.
    """

    name: str = "likelihood ratio"
    divisor: Divisor = public_divisor
    measured: bool = False

    def fit(self, first: Trials, second: Trials) -> Score:
        """Measure the noise, if asked to; see `Attack.fit`."""
        noise = measured_noise(second) if self.measured else None
        model = Model(self.divisor, noise)
        return lambda trials: step_scores(trials, model).sum(axis=1)


@dataclass(frozen=True)
class JointLikelihoodRatio(Attack):
    """The likelihood ratio of whole runs, with the covariance of noise between releases measured.

    It finds noise that was used twice.

    Attributes
    ----------
    name : str
        As reports print it.
    """

    name: str = "likelihood ratio, joint noise as measured"

    def fit(self, first: Trials, second: Trials) -> Score:
        """Measure the covariance; see `Attack.fit`."""
        covariance = measured_covariance(second)
        assert covariance is not None
        return lambda trials: joint_scores(trials, covariance)

    @staticmethod
    def works_on(trials: Trials) -> bool:
        """Whether there are few enough ways to fill the batches, and noise to measure."""
        shared = all(np.array_equal(*release.scales) for release in trials.releases)
        return (
            shared
            and len(trials.releases) > 1
            and all(ways_of(trials, index) is not None for index in (0, 1))
            and measured_covariance(trials) is not None
        )


@dataclass(frozen=True)
class Strays(Attack):
    """Which data set's replay do the final parameters and state agree with?

    Attributes
    ----------
    name : str
        As reports print it.
    """

    name: str = "final iterate against replays"

    def fit(self, first: Trials, second: Trials) -> Score:
        """Nothing to learn; see `Attack.fit`."""
        return lambda trials: trials.strays[1] - trials.strays[0]


@dataclass(frozen=True)
class Learned(Attack):
    """Logistic regression on summaries of every release and of the final parameters.

    Attributes
    ----------
    name : str
        As reports print it.
    """

    name: str = "learned from summaries"

    def fit(self, first: Trials, second: Trials) -> Score:
        """Fit the regression; see `Attack.fit`."""
        noise = measured_noise(second)
        fitted = fit_logistic(_summaries(first, noise), _summaries(second, noise))
        return lambda trials: fitted.score(_summaries(trials, noise))


def attacks_on(trials: Trials) -> list[Attack]:
    """Return the attacks that make sense on such trials; all divisors look alike on some."""
    attacks: list[Attack] = [
        LikelihoodRatio(),
        LikelihoodRatio("likelihood ratio, noise as measured", measured=True),
        Learned(),
    ]
    sides = trials.neighbours.sides
    for name, divisor in (("batch", drawn_divisor), ("data set", counted_divisor)):
        given = [divisor(side, 1.0, *side.batches()[:2]) for side in sides]
        if np.ptp(np.concatenate(given)) > 0:
            attacks.append(LikelihoodRatio(f"likelihood ratio, divisor the {name}'s size", divisor))
    if JointLikelihoodRatio.works_on(trials):
        attacks.append(JointLikelihoodRatio())
    if trials.strays.any():
        attacks.append(Strays())
    return attacks


def measured_noise(trials: Trials) -> tuple[float, ...]:
    """Return each release's noise over what was asked for, from coordinates without gradients."""
    return tuple(_measured(release, trials.side) for release in trials.releases)


def _measured(release: Release, side: int) -> float:
    untouched = release.untouched
    if not untouched.any():
        return 1.0
    noise = release.values[:, untouched] / release.scales[side][:, None]
    return max(_LEAST_NOISE, float(np.sqrt(np.mean(noise**2))))


def _summaries(trials: Trials, noise: tuple[float, ...]) -> Array:
    """Features of each run: ratios step by step, projections and sizes of every release."""
    columns = [
        np.clip(step_scores(trials, model), -_CAP, _CAP) for model in (Model(), Model(noise=noise))
    ]
    for release in trials.releases:
        values = release.values / release.scales[0][:, None]
        sizes = [np.log(_LEAST_NOISE**2 + np.mean(values[:, release.untouched] ** 2, axis=1))]
        sizes += [_along(values, part) for part in (release.records[0], release.others[0])]
        columns += [np.column_stack([size, size**2]) for size in sizes]
    drifts = np.nan_to_num(trials.drifts, nan=0.0, posinf=0.0, neginf=0.0)
    columns.append(drifts)
    return np.nan_to_num(np.hstack(columns), nan=0.0, posinf=1e6, neginf=-1e6)


def _along(values: Array, direction: Array) -> Array:
    length = np.maximum(np.linalg.norm(direction, axis=1), 1e-300)
    return np.asarray(np.einsum("ij,ij->i", values, direction) / length)
