"""Between curves and (ε, δ): budgets of concentrated privacy, whole curves, files.

Every number is rounded to the private side.  What is only an estimate lives in
``accountants.gaussian_dp`` and says so in its name; the trade-off curve is in
``accountants.trade_off``.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant
from numpy.typing import ArrayLike, NDArray

from accountants import relations, validation
from accountants.bracket import Bracket
from accountants.files import whole_file
from accountants.rounding import above
from accountants.tcdp.curve import TruncatedCdp

Array = NDArray[np.float64]

_HALVINGS = 200
_SMALL_DELTAS = (1e-12, 1e-9, 1e-6, 1e-3)


def zcdp_to_epsilon(rho: float, target_delta: float) -> float:
    """ε such that every rho-zCDP mechanism is (ε, ``target_delta``)-DP, rounded up."""
    return TruncatedCdp(rho).epsilon(target_delta)


def zcdp_to_delta(rho: float, target_epsilon: float) -> float:
    """δ such that every rho-zCDP mechanism is (``target_epsilon``, δ)-DP, rounded up."""
    return TruncatedCdp(rho).delta(target_epsilon)


def largest_rho(target_epsilon: float, target_delta: float, omega: float = math.inf) -> float:
    """Largest rho whose truncated curve meets a budget, rounded down.

    Parameters
    ----------
    target_epsilon : float
        ε in (0, inf).
    target_delta : float
        δ in (0, 1).
    omega : float
        End of the curve; ``inf`` (default) is zCDP.

    Returns
    -------
    float
        rho with ``TruncatedCdp(rho, omega).epsilon(target_delta) <= target_epsilon``; 0 if the
        orders below ``omega`` do not suffice for any rho > 0 that a float can hold.
    """
    epsilon = validation.target_epsilon(target_epsilon, open_ends=True)
    delta = validation.target_delta(target_delta, open_ends=True)

    def fits(log_rho: float) -> bool:
        return TruncatedCdp(math.exp(log_rho), omega).epsilon(delta) <= epsilon

    low, high = -700.0, 700.0
    if not fits(low):
        return 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if fits(middle) else (low, middle)
    return math.exp(low)


def noise_for_rho(
    rho: float,
    neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
) -> float:
    """Noise multiplier of an unsampled Gaussian release that is rho-zCDP, rounded up.

    Parameters
    ----------
    rho : float
        > 0.
    neighboring_relation : NeighboringRelation
        Replacing a record moves the sum by 2 clip norms, otherwise by 1.

    Returns
    -------
    float
        d / sqrt(2 rho).
    """
    allowed = "a number > 0"
    value = validation.real("rho", rho, allowed)
    validation.require(value > 0, "rho", rho, allowed)
    shift = relations.rule("poisson", neighboring_relation).shift
    return above(shift / math.sqrt(2 * value), 4) if value < math.inf else 0.0


def delta_bracket(accountant: PrivacyAccountant, target_epsilon: float) -> Bracket:
    """Both ends of δ; an accountant without lower ends gets the lower end 0."""
    if hasattr(accountant, "delta_bracket"):
        bracket: Bracket = accountant.delta_bracket(target_epsilon)
        return bracket
    return Bracket(0.0, float(accountant.get_delta(target_epsilon)))


def epsilon_brackets(
    accountant: PrivacyAccountant, target_deltas: Iterable[float]
) -> tuple[Bracket, ...]:
    """ε at several δ, with both ends; a lower end is 0 where the accountant has none."""
    good = isinstance(target_deltas, Iterable)
    validation.require(good, "target_deltas", target_deltas, "several numbers in [0, 1]")
    if hasattr(accountant, "epsilon_bracket"):
        return tuple(accountant.epsilon_bracket(delta) for delta in target_deltas)
    return tuple(Bracket(0.0, float(accountant.get_epsilon(delta))) for delta in target_deltas)


def epsilon_grid(accountant: PrivacyAccountant, points: int = 33) -> tuple[float, ...]:
    """Equal steps from ε = 0 to where δ is small, for curves.

    Parameters
    ----------
    accountant : PrivacyAccountant
    points : int
        >= 2.

    Returns
    -------
    tuple of float
        Up to the ε at δ = 1e-12, or the first of 1e-9, 1e-6, 1e-3 for which there is one;
        only ε = 0 for a run without privacy.
    """
    number = validation.whole(points, "points", 2)
    for delta in _SMALL_DELTAS:
        last = float(accountant.get_epsilon(delta))
        if last < math.inf:
            return tuple(np.linspace(0.0, last or 1.0, number).tolist())
    return (0.0,)


def epsilon_points(epsilons: Sequence[float]) -> tuple[float, ...]:
    """Given ε of a curve, checked to lie in [0, inf]."""
    allowed = "a sequence of numbers in [0, inf]"
    values = validation.reals("epsilons", epsilons, allowed)
    good = values.ndim == 1 and bool((values >= 0).all())
    validation.require(good, "epsilons", epsilons, allowed)
    return tuple(values.tolist())


@dataclass(frozen=True)
class DeltaCurve:
    """δ(ε) at some ε, between two ends.

    Attributes
    ----------
    epsilon, delta_lower, delta_upper : tuple of float
        Equal lengths.
    """

    epsilon: tuple[float, ...]
    delta_lower: tuple[float, ...]
    delta_upper: tuple[float, ...]

    @staticmethod
    def of(accountant: PrivacyAccountant, epsilons: Sequence[float] | None = None) -> DeltaCurve:
        """The curve of ``accountant`` at ``epsilons`` (default: ``epsilon_grid``)."""
        at = epsilon_grid(accountant) if epsilons is None else epsilon_points(epsilons)
        brackets = [delta_bracket(accountant, epsilon) for epsilon in at]
        return DeltaCurve(at, tuple(b.lower for b in brackets), tuple(b.upper for b in brackets))

    def to_csv(self, path: str | Path) -> None:
        """Write columns epsilon, delta_lower, delta_upper; the file is whole or not there.

        Numbers have all their digits; an infinite ε is written as ``inf``.

        Raises
        ------
        OSError
            If the file cannot be written; what stood at ``path`` before stays.
        """
        names = ("epsilon", "delta_lower", "delta_upper")
        columns = (self.epsilon, self.delta_lower, self.delta_upper)
        with whole_file(Path(path), newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(names)
            writer.writerows(zip(*columns, strict=True))


def levels(alpha: ArrayLike) -> Array:
    """Significance levels as an array, checked to lie in [0, 1]."""
    a = np.atleast_1d(validation.reals("alpha", alpha, "numbers in [0, 1]"))
    validation.require(bool(np.all((a >= 0) & (a <= 1))), "alpha", alpha, "numbers in [0, 1]")
    return a
