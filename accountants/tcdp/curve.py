"""Truncated concentrated privacy: one line over the orders up to a bound.

A mechanism is (rho, omega)-tCDP when D_a(M(D)||M(D')) <= rho a for all 1 < a < omega and all
neighbours D, D' in both orders (Bun, Dwork, Rothblum and Steinke, STOC 2018).  The Rényi
divergence is left continuous in a, so that the bound also holds at a = omega.  Every number
here is rounded so that the statement made stays true: rho, ε and δ up, omega down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants import relations, validation
from accountants.relations import NeighboringRelation
from accountants.rounding import above, below, exp_bracket
from accountants.tcdp import orders


@dataclass(frozen=True)
class TruncatedCdp:
    """D_a <= ``rho`` a for all orders 1 < a < ``omega``.

    Attributes
    ----------
    rho : float
        >= 0; ``inf`` is no guarantee at all.
    omega : float
        > 1; ``inf`` (default) is zero-concentrated privacy, rho-zCDP.

    Raises
    ------
    ValueError
        If a field is outside its domain.

    Notes
    -----
    *Post-processing*: any function of the output, randomised or not, satisfies the same curve
    (data processing for Rényi divergences); there is nothing to compute.

    Examples
    --------
    >>> step = TruncatedCdp.from_gaussian(10.0, NeighboringRelation.REPLACE_ONE)
    >>> round(step.repeated(5).epsilon(1e-6), 3)
    2.142
    """

    rho: float
    omega: float = math.inf

    def __post_init__(self) -> None:
        allowed = "a number >= 0"
        validation.require(validation.real("rho", self.rho, allowed) >= 0, "rho", self.rho, allowed)
        allowed = "an order > 1 (inf for zCDP)"
        omega = validation.real("omega", self.omega, allowed)
        validation.require(omega > 1, "omega", self.omega, allowed)

    @staticmethod
    def from_gaussian(
        noise_multiplier: float,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
    ) -> TruncatedCdp:
        """Curve of one unsampled Gaussian release, rho = d^2/(2 sigma^2), omega = inf.

        Parameters
        ----------
        noise_multiplier : float
            sigma: noise std on the sum over the clip norm; 0 gives rho = inf.
        neighboring_relation : NeighboringRelation
            Replacing a record moves the sum by d = 2 clip norms, otherwise d = 1.

        Returns
        -------
        TruncatedCdp
            The divergence is exactly rho a: nothing is lost here.

        Raises
        ------
        ValueError
            If ``noise_multiplier`` is negative or NaN.
        """
        sigma = validation.noise_multiplier(noise_multiplier)
        shift = relations.rule("poisson", neighboring_relation).shift
        if sigma == 0:
            return TruncatedCdp(math.inf)
        ratio = shift / sigma
        return TruncatedCdp(above(ratio * ratio / 2, 3) if ratio > 0 else 0.0)

    @staticmethod
    def from_pure(epsilon: float) -> TruncatedCdp:
        """Curve of an ε-DP mechanism: (ε^2/2)-zCDP (Bun and Steinke 2016, Proposition 3.3).

        Parameters
        ----------
        epsilon : float
            In [0, inf].

        Returns
        -------
        TruncatedCdp
        """
        value = validation.target_epsilon(epsilon)
        return TruncatedCdp(above(value * value / 2, 2) if 0 < value < math.inf else value)

    def divergence(self, order: ArrayLike) -> NDArray[np.float64]:
        """Upper bound on the Rényi divergence at the given orders.

        Parameters
        ----------
        order : array_like, shape (A,)
            Orders > 1.

        Returns
        -------
        ndarray, shape (A,)
            rho a up to omega, ``inf`` beyond.
        """
        a = np.atleast_1d(validation.reals("order", order, "orders > 1"))
        validation.require(bool(np.all(a > 1)), "order", order, "orders > 1")
        return np.where(a <= self.omega, np.nextafter(self.rho * a, np.inf), np.inf)

    def compose(self, *others: TruncatedCdp) -> TruncatedCdp:
        """Adaptive composition: rho adds, the smallest omega stays."""
        parts = [self.rho, *(other.rho for other in others)]
        total = math.fsum(parts) if all(map(math.isfinite, parts)) else math.inf
        exact = sum(part > 0 for part in parts) <= 1
        omega = min(self.omega, *(other.omega for other in others), math.inf)
        return TruncatedCdp(total if exact else above(total), omega)

    def repeated(self, count: int) -> TruncatedCdp:
        """Adaptive composition of ``count`` >= 0 mechanisms with this curve."""
        times = validation.whole(count, "count")
        if times <= 1:
            return self if times else TruncatedCdp(0.0)
        return TruncatedCdp(above(self.rho * times, 2) if self.rho else 0.0, self.omega)

    def group(self, size: int) -> TruncatedCdp:
        """Curve for data sets that are ``size`` neighbouring steps apart.

        Parameters
        ----------
        size : int
            k >= 1.

        Returns
        -------
        TruncatedCdp
            (k^2 rho, omega/k); Bun et al. 2018, derived in docs/proofs/truncated-cdp.md.

        Raises
        ------
        ValueError
            If omega/k is not above 1: no order is left.
        """
        k = validation.whole(size, "size", 1)
        if k == 1:
            return self
        omega = below(self.omega / k) if self.omega < math.inf else math.inf
        if not omega > 1:
            raise ValueError(
                f"size={size!r}: must be below omega={self.omega!r}; a group of k keeps the "
                "orders below omega/k only"
            )
        return TruncatedCdp(above(self.rho * k * k, 3) if self.rho else 0.0, omega)

    def log_delta(self, target_epsilon: float) -> float:
        """Natural logarithm of ``delta``, for δ below the range of floats."""
        epsilon = validation.target_epsilon(target_epsilon)
        if self.rho == 0:
            return -math.inf
        if self.rho == math.inf:
            return 0.0
        if epsilon == math.inf:
            return -math.inf  # the divergence is finite, hence so is the privacy loss
        return min(orders.log_delta(self.rho, self.omega, epsilon), self._log_distance)

    @property
    def _log_distance(self) -> float:
        """log of a bound on the total variation, hence on δ at every ε >= 0.

        D_1 <= rho; Pinsker and Bretagnolle-Huber.
        """
        squared = min(self.rho / 2, -math.expm1(-self.rho))
        return min(0.0, above(0.5 * math.log(squared), 4)) if squared > 0 else -math.inf

    def delta(self, target_epsilon: float) -> float:
        """δ such that the curve implies (``target_epsilon``, δ)-DP, rounded up.

        Parameters
        ----------
        target_epsilon : float
            ε in [0, inf].

        Returns
        -------
        float
            The best that one order of the curve gives, or the bound on the total variation.
        """
        value = self.log_delta(target_epsilon)
        return 1.0 if value == 0 else exp_bracket(value, value).upper

    def epsilon(self, target_delta: float) -> float:
        """ε such that the curve implies (ε, ``target_delta``)-DP, rounded up.

        Parameters
        ----------
        target_delta : float
            δ in [0, 1].

        Returns
        -------
        float
            ``inf`` where nothing is promised (δ = 0 with rho > 0).
        """
        delta = validation.target_delta(target_delta)
        if self.rho == 0 or delta == 1:
            return 0.0
        if self.rho == math.inf or delta == 0:
            return math.inf
        wanted = below(math.log(delta), 2)
        if self._log_distance <= wanted:
            return 0.0
        return orders.epsilon(self.rho, self.omega, wanted)

    def to_json(self) -> dict[str, Any]:
        """Fields, with infinities as the string ``"inf"``."""
        return {name: _plain(getattr(self, name)) for name in ("rho", "omega")}


@dataclass(frozen=True)
class ApproximateTruncatedCdp:
    """A curve that holds outside events of probability ``failure_probability``.

    For all neighbours P = (1 - δ0) P' + δ0 E and Q = (1 - δ0) Q' + δ0 F with the **same** δ0
    on both sides, P' and Q' obey ``curve``, and E, F are any distributions.

    Attributes
    ----------
    curve : TruncatedCdp
    failure_probability : float
        δ0 in [0, 1].

    Notes
    -----
    There is no ``group``: the good parts of neighbouring hops need not be the same
    distribution, and no theorem is known to us that covers it.  A smoothed divergence (P near
    P' in total variation) is a weaker statement whose conversion costs δ0 (1 + exp(ε)); never
    put such a δ0 here.
    """

    curve: TruncatedCdp
    failure_probability: float = 0.0

    def __post_init__(self) -> None:
        validation.probability(self.failure_probability, "failure_probability")

    def compose(self, *others: ApproximateTruncatedCdp) -> ApproximateTruncatedCdp:
        """Adaptive composition: curves compose, the good events are met together.

        For adaptive mechanisms each δ0 has to hold for every prefix.
        """
        curve = self.curve.compose(*(other.curve for other in others))
        failures = [p.failure_probability for p in (self, *others) if p.failure_probability]
        if len(failures) <= 1:
            return ApproximateTruncatedCdp(curve, failures[0] if failures else 0.0)
        if 1.0 in failures:
            return ApproximateTruncatedCdp(curve, 1.0)
        survival = math.fsum(math.log1p(-failure) for failure in failures)
        return ApproximateTruncatedCdp(curve, _up_to_one(-math.expm1(survival)))

    def repeated(self, count: int) -> ApproximateTruncatedCdp:
        """Adaptive composition of ``count`` >= 0 mechanisms of this kind."""
        times = validation.whole(count, "count")
        curve, failure = self.curve.repeated(times), self.failure_probability
        if times <= 1 or failure in (0.0, 1.0):
            return ApproximateTruncatedCdp(curve, failure if times else 0.0)
        total = -math.expm1(times * math.log1p(-failure))
        return ApproximateTruncatedCdp(curve, _up_to_one(total))

    def delta(self, target_epsilon: float) -> float:
        """δ0 + (1 - δ0) δ'(ε), where δ' is that of the curve; rounded up."""
        failure, inner = self.failure_probability, self.curve.delta(target_epsilon)
        if failure == 0:
            return inner
        return _up_to_one(failure + (1 - failure) * inner)

    def epsilon(self, target_delta: float) -> float:
        """ε of the curve at (δ - δ0)/(1 - δ0); ``inf`` unless δ exceeds δ0."""
        delta = validation.target_delta(target_delta)
        failure = self.failure_probability
        if failure == 0 or delta == 1:
            return self.curve.epsilon(delta)
        inner = below((delta - failure) / (1 - failure), 3) if failure < 1 else 0.0
        return self.curve.epsilon(inner) if inner > 0 else math.inf

    def to_json(self) -> dict[str, Any]:
        """Fields of the curve and the failure probability."""
        return {**self.curve.to_json(), "failure_probability": self.failure_probability}


def _up_to_one(value: float) -> float:
    return min(1.0, above(value, 4))


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
