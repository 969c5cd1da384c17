"""How often one record is drawn into a batch of independent draws."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from accountants import validation
from accountants.errors import AccuracyError
from accountants.sampling import OracleDraws, Repeating

Array = NDArray[np.float64]

_LARGEST = 400  # copies beyond which the sums over copies take too long
_ROUND_UP = 1 + 1e-9  # the incomplete beta function is good to better than this


@dataclass(frozen=True)
class CopyLaw:
    """Law of K, the number of copies, given K <= kappa.

    Attributes
    ----------
    probabilities : tuple of float
        P(K = k | K <= kappa), k = 0 … kappa.
    tail : float
        Upper bound on P(K > kappa).
    """

    probabilities: tuple[float, ...]
    tail: float

    @property
    def largest(self) -> int:
        """kappa."""
        return len(self.probabilities) - 1

    @property
    def absent(self) -> float:
        """Probability of no copy, given K <= kappa."""
        return self.probabilities[0]

    @property
    def present(self) -> float:
        """Probability of a copy, given K <= kappa; summed, so that a small one keeps its digits."""
        return math.fsum(self.probabilities[1:])

    def lumped(self) -> CopyLaw:
        """The whole law with more than kappa copies counted as kappa of them.

        On one ray that brings means nearer, so that no divergence grows: a lower end needs
        nothing more for what was cut off.
        """
        kept = [p * (1 - self.tail) for p in self.probabilities]
        return CopyLaw((*kept[:-1], kept[-1] + self.tail), 0.0)

    def failing(self, probability: float) -> CopyLaw:
        """The same law where a use that draws the record fails with ``probability`` besides.

        What is cut off has the weight 1 - (1 - tail)(1 - present * probability), rounded up
        (docs/proofs/resque.md); truncating K and cutting off failures is one cut of both laws.
        """
        if probability == 0:
            return self
        kept = math.log1p(-self.tail) if self.tail < 1 else -math.inf
        fails = min(1.0, self.present) * probability
        kept += math.log1p(-fails) if fails < 1 else -math.inf
        return CopyLaw(self.probabilities, min(1.0, -math.expm1(kept) * (1 + 1e-12)))

    @staticmethod
    def of(draws: int, probability: float, *, largest: int) -> CopyLaw:
        """The law for ``draws`` independent draws that each give the record.

        Parameters
        ----------
        draws : int
            m >= 1.
        probability : float
            Chance of one draw to give the record, in (0, 1).
        largest : int
            kappa >= 1; more than ``draws`` means no truncation.

        Returns
        -------
        CopyLaw

        Raises
        ------
        ValueError
            If an argument is outside its domain.
        """
        draws = validation.whole(draws, "draws", 1)
        largest = min(validation.whole(largest, "largest", 1), draws)
        _probability(probability)
        k = np.arange(largest + 1, dtype=np.float64)
        ratio = np.ones(largest + 1)
        ratio[1:] = (draws - k[:-1]) / k[1:] * (probability / (1 - probability))
        log_p = draws * math.log1p(-probability) + np.cumsum(np.log(ratio))
        if log_p[0] < -650:
            raise AccuracyError(
                f"{draws} draws of probability {probability:g} nearly always give the record: "
                "the chance that none does is below what is computed here"
            )
        # What underflows is left to the tail.
        p = np.exp(log_p[: 1 + max(1, int(np.count_nonzero(log_p[1:] > -650)))])
        tail = _tails(draws, probability, np.array([p.size - 1]))[0]
        p /= p.sum()
        return CopyLaw(tuple(p.tolist()), float(tail))


def copy_law_of(sampling: Repeating, largest: int) -> CopyLaw:
    """The law of a scheme, with what its own bound leaves out: failures of oracle calls.

    Parameters
    ----------
    sampling : Repeating
    largest : int
        kappa >= 1; more than the draws of a batch means no truncation.

    Raises
    ------
    AccuracyError
        If the chance that no draw gives the record is too small to be computed.
    """
    law = CopyLaw.of(sampling.batch_size, sampling.draw_probability, largest=largest)
    return law.failing(sampling.failure_probability) if isinstance(sampling, OracleDraws) else law


def copies_for_tail(draws: int, probability: float, tail: float) -> int:
    """Smallest kappa >= 1 with P(K > kappa) <= ``tail``.

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    AccuracyError
        If it would exceed 400 copies.
    """
    draws = validation.whole(draws, "draws", 1)
    _probability(probability)
    allowed = "a number > 0"
    validation.require(validation.real("tail", tail, allowed) > 0, "tail", tail, allowed)
    k = np.arange(1, min(draws, _LARGEST) + 1)
    enough = np.flatnonzero(_tails(draws, probability, k) <= tail)
    if not enough.size:
        raise AccuracyError(
            f"a record is drawn more than {_LARGEST} times with probability above {tail:g}"
        )
    return int(k[enough[0]])


def _probability(value: float) -> None:
    result = validation.real("probability", value, "a number in (0, 1)")
    validation.require(0 < result < 1, "probability", value, "a number in (0, 1)")


def _tails(draws: int, probability: float, k: NDArray[np.int_]) -> Array:
    """P(K > k), rounded up; 0 from k = ``draws`` on."""
    inside = k < draws
    at = np.where(inside, k, 0)
    values = special.betainc(at + 1.0, draws - at.astype(np.float64), probability)
    return np.where(inside, np.minimum(values * _ROUND_UP + 5e-324, 1.0), 0.0)
