"""Gaussian differential privacy: exact without sampling, an estimate with it.

A mechanism is mu-GDP when no test tells neighbours apart better than one unit-variance normal
sample tells its mean 0 from mu (Dong, Roth and Su, *Gaussian differential privacy*, JRSS B
2022).  ``GaussianDp`` states a guarantee.  ``GaussianDpEstimate`` does not: it is what a central
limit theorem suggests, it can be too small, and none of its methods has the name of a guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from accountants import relations, validation
from accountants.profiles import gaussian_error, log_gaussian_delta
from accountants.relations import NeighboringRelation
from accountants.rounding import above, exp_bracket

Array = NDArray[np.float64]

_HALVINGS = 200
_ROUNDING = 1e-15  # of the normal distribution function and its inverse


@dataclass(frozen=True)
class GaussianDp:
    """mu-GDP, a guarantee.

    Attributes
    ----------
    mu : float
        >= 0; ``inf`` is no guarantee.

    Raises
    ------
    ValueError
        If ``mu`` is negative or NaN.
    """

    mu: float

    def __post_init__(self) -> None:
        _mu(self.mu, "mu")

    @staticmethod
    def from_gaussian(
        noise_multiplier: float,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        count: int = 1,
    ) -> GaussianDp:
        """Exactly what ``count`` unsampled Gaussian releases cost, mu = d sqrt(count)/sigma.

        Parameters
        ----------
        noise_multiplier : float
            sigma: noise std on the sum over the clip norm; 0 gives mu = inf.
        neighboring_relation : NeighboringRelation
            Replacing a record moves the sum by d = 2 clip norms, otherwise d = 1.
        count : int
            >= 0.
        """
        sigma = validation.noise_multiplier(noise_multiplier)
        times = validation.whole(count, "count")
        shift = relations.rule("poisson", neighboring_relation).shift
        if times == 0 or sigma == math.inf:
            return GaussianDp(0.0)
        return GaussianDp(above(shift * math.sqrt(times) / sigma, 3) if sigma else math.inf)

    def compose(self, *others: GaussianDp) -> GaussianDp:
        """Adaptive composition: sqrt(mu_1^2 + mu_2^2 + …), rounded up."""
        parts = [self.mu, *(other.mu for other in others)]
        total = math.hypot(*parts)
        return GaussianDp(above(total, 2) if sum(part > 0 for part in parts) > 1 else total)

    def delta(self, target_epsilon: float) -> float:
        """δ at ``target_epsilon`` in [0, inf]; exact up to rounding, rounded up."""
        epsilon = validation.target_epsilon(target_epsilon)
        if self.mu == math.inf:
            return 1.0
        if self.mu == 0 or epsilon == math.inf:
            return 0.0
        value = _log_delta(self.mu, epsilon)
        return exp_bracket(value, value).upper if value > -math.inf else 5e-324

    def epsilon(self, target_delta: float) -> float:
        """ε at ``target_delta`` in [0, 1]; exact up to rounding, rounded up."""
        delta = validation.target_delta(target_delta)
        if self.mu == 0 or delta == 1:
            return 0.0
        if self.mu == math.inf or delta == 0:
            return math.inf
        return _epsilon(self.mu, math.nextafter(math.log(delta), -math.inf))

    def trade_off(self, alpha: ArrayLike) -> Array:
        """Least type II error of any test of level ``alpha``, rounded down.

        Phi(Phi^-1(1 - alpha) - mu).
        """
        value = _trade_off(alpha, self.mu)
        # A quantile is at most 40; its rounding moves the logarithm by up to its square.
        margin = min(1.0, _ROUNDING * (40 + min(self.mu, 1e9)) ** 2)
        return np.where(value == 1, 1.0, value * (1 - margin))


@dataclass(frozen=True)
class GaussianDpEstimate:
    """What a central limit theorem suggests for many sampled releases; **no bound**.

    Attributes
    ----------
    mu_estimate : float
        >= 0.  The true cost can be larger or smaller; at small δ it is often larger.
    """

    mu_estimate: float

    def __post_init__(self) -> None:
        _mu(self.mu_estimate, "mu_estimate")

    def delta_estimate(self, target_epsilon: float) -> float:
        """δ of mu_estimate-GDP at ``target_epsilon`` in [0, inf]; **no bound**."""
        return GaussianDp(self.mu_estimate).delta(target_epsilon)

    def epsilon_estimate(self, target_delta: float) -> float:
        """ε of mu_estimate-GDP at ``target_delta`` in [0, 1]; **no bound**."""
        return GaussianDp(self.mu_estimate).epsilon(target_delta)

    def trade_off_estimate(self, alpha: ArrayLike) -> Array:
        """Type II errors of mu_estimate-GDP at levels ``alpha``; **no bound**."""
        return _trade_off(alpha, self.mu_estimate)


def central_limit_estimate(
    *,
    sampling_probability: float,
    noise_multiplier: float,
    steps: int,
    neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
) -> GaussianDpEstimate:
    """Central-limit GDP of Poisson-sampled Gaussian releases; an estimate, never a guarantee.

    Parameters
    ----------
    sampling_probability : float
        q in [0, 1].
    noise_multiplier : float
        sigma > 0.
    steps : int
        T >= 0.
    neighboring_relation : NeighboringRelation

    Returns
    -------
    GaussianDpEstimate
        mu = q sqrt(T (e^(1/sigma^2) - 1)), the limit for T q^2 fixed and T large; under
        REPLACE_ONE, where both laws are mixtures, q sqrt(2 T (e^(1/sigma^2) - e^(-1/sigma^2))).

    References
    ----------
    Bu, Dong, Long and Su, *Deep learning with Gaussian differential privacy*, HDSR 2020, for
    adding or removing; the other is the same limit for the pair of docs/proofs/poisson.md.
    """
    q = validation.probability(sampling_probability)
    sigma = validation.noise_multiplier(noise_multiplier)
    validation.require(sigma > 0, "noise_multiplier", sigma, "a number > 0")
    times = validation.whole(steps, "steps")
    ratio = sigma**-2.0 if sigma > 1e-150 else math.inf
    if q == 0 or times == 0:
        return GaussianDpEstimate(0.0)
    with np.errstate(over="ignore"):
        variance = float(np.expm1(ratio))
        if neighboring_relation is NeighboringRelation.REPLACE_ONE:
            variance = float(4 * np.sinh(ratio))
    return GaussianDpEstimate(q * math.sqrt(times * variance))


def _mu(value: float, name: str) -> None:
    allowed = "a number >= 0"
    validation.require(validation.real(name, value, allowed) >= 0, name, value, allowed)


def _log_delta(mu: float, epsilon: float) -> float:
    """log δ(ε) of mu-GDP, rounded up; -inf where even its logarithm is out of range."""
    with np.errstate(all="ignore"):
        value = float(log_gaussian_delta(epsilon, mu))
    if not math.isfinite(value):
        return -math.inf
    return min(0.0, value + gaussian_error(epsilon, mu))


def _epsilon(mu: float, log_delta: float) -> float:
    """Upper end of a bisection of ``_log_delta``."""
    if _log_delta(mu, 0.0) <= log_delta:
        return 0.0
    # Of zCDP: mu^2/2 + mu sqrt(2 log(1/δ)) is enough.
    low, high = 0.0, 0.5 * mu * mu + mu * math.sqrt(-2 * log_delta) * (1 + 1e-12)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if _log_delta(mu, middle) <= log_delta:
            high = middle
        else:
            low = middle
    return high


def _trade_off(alpha: ArrayLike, mu: float) -> Array:
    a = validation.reals("alpha", alpha, "numbers in [0, 1]")
    validation.require(bool(np.all((a >= 0) & (a <= 1))), "alpha", alpha, "numbers in [0, 1]")
    with np.errstate(invalid="ignore"):
        value: Array = special.ndtr(-special.ndtri(a) - mu)
    return np.where(a == 0, 1.0 if mu < math.inf else 0.0, np.where(a == 1, 0.0, value))
