"""Probabilities of intervals under a location pair, in balls, and the same in doubles for choices.

Outputs are in units of the noise.  Doubles choose where to cut; every number that enters a claim
is a ball.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from accountants.laws.ball_pairs import LocationPair, ball

Array = NDArray[np.float64]

#: Copies of one record in a batch that are told apart, at the most.
MOST_COPIES = 400


class OutOfReach(Exception):
    """The enclosure would need more work than is allowed; carries the reason."""


@lru_cache(maxsize=64)
def copies_needed(draws: int, share: Fraction, log_tail: float) -> int:
    """Number of copies beyond which there is less than exp(``log_tail``), by a Chernoff bound."""
    if share == 1:
        return draws
    w = float(share)
    for k in range(1, min(draws, MOST_COPIES) + 1):
        if k >= draws:
            return draws
        x = (k + 1) / draws
        if x <= w:
            continue
        other = (1 - x) * math.log((1 - x) / (1 - w)) if x < 1 else 0.0
        if -draws * (x * math.log(x / w) + other) < log_tail:
            return k
    if draws > MOST_COPIES:
        raise OutOfReach(f"more than {MOST_COPIES} copies of one record matter")
    return draws


class Masses:
    """One location pair at the working precision.

    Attributes
    ----------
    weights : list of balls
        P(K = k), k = 0 ... largest (only k = draws where the record is certain).
    tail : ball
        Contains 0 and P(K > largest): what the weights leave out, on both sides.
    lost : ball
        The same chance where the pair is taken given K <= largest, and ``tail`` is 0.
    """

    def __init__(self, pair: LocationPair, log_tail: float, *, conditioned: bool = False) -> None:
        self.pair = pair
        self.lost = flint.arb(0)
        self._scale = ball(pair.variance).sqrt()
        if pair.plain:
            numbers, self.weights = [pair.draws], [flint.arb(1)]
            self.tail = flint.arb(0)
        else:
            largest = copies_needed(pair.draws, pair.share, log_tail)
            numbers = list(range(largest + 1))
            self.weights, self.tail = _binomial(pair.draws, pair.share, largest)
            if conditioned:  # given K <= largest; the rest is lost (docs/proofs/enclosure.md)
                kept = 1 - self.tail
                self.weights = [weight / kept for weight in self.weights]
                self.lost, self.tail = self.tail, flint.arb(0)
        places: dict[Fraction, int] = {}
        self._of_first = [places.setdefault(k * pair.first, len(places)) for k in numbers]
        self._of_second = [places.setdefault(k * pair.second, len(places)) for k in numbers]
        self._centers = [ball(place) / self._scale for place in places]
        self._double_centers = np.array([float(center) for center in self._centers])
        self._double_weights = np.array([_log(weight) for weight in self.weights])
        self.normal, self.monotone = pair.noise == "normal", pair.monotone

    @property
    def centers(self) -> Array:
        """Means of all components, in units of the noise."""
        return self._double_centers

    @property
    def first_centers(self) -> Array:
        """Means of the components of P."""
        return self._double_centers[self._of_first]

    @property
    def components(self) -> list[tuple[float, float, float]]:
        """(chance, mean under P, mean under Q) of each number of copies, in doubles."""
        places = self._double_centers
        return [
            (float(weight), float(places[i]), float(places[j]))
            for weight, i, j in zip(self.weights, self._of_first, self._of_second, strict=True)
        ]

    def log_densities(self, x: Array) -> tuple[Array, Array]:
        """(log dP, log dQ) at ``x`` in doubles, up to one constant."""
        distance = np.abs(x[None, :] - self._double_centers[:, None])
        logs = -0.5 * distance * distance if self.normal else -distance

        def mixture(places: list[int]) -> Array:
            terms = logs[places] + self._double_weights[:, None]
            top = terms.max(axis=0)
            return np.asarray(top + np.log(np.exp(terms - top).sum(axis=0)))

        return mixture(self._of_first), mixture(self._of_second)

    def log_ratio(self, x: Array) -> Array:
        """The privacy loss at ``x`` in doubles."""
        first, second = self.log_densities(x)
        return first - second

    def at(self, x: float | Any) -> list[tuple[bool, Any]]:
        """For each mean c: whether x is right of it, and the chance beyond x, away from c."""
        point = flint.arb(x)
        return [self._beyond(point - center) for center in self._centers]

    def _beyond(self, distance: Any) -> tuple[bool, Any]:
        right = not distance <= 0
        size = distance if right else -distance
        if self.normal:  # holds for either sign, should the ball contain 0
            return right, (size / flint.arb(2).sqrt()).erfc() / 2
        chance = (-abs(size)).exp() / 2
        return right, chance if size >= 0 else chance.union(1 - chance)

    def between(
        self, low: list[tuple[bool, Any]] | None, high: list[tuple[bool, Any]] | None
    ) -> tuple[Any, Any]:
        """(P, Q) of the outputs between two cuts (``at``); None is the end of the line."""
        parts = [
            _interval(low[i] if low is not None else None, high[i] if high is not None else None)
            for i in range(len(self._centers))
        ]
        first, second = self.tail, self.tail
        for weight, i, j in zip(self.weights, self._of_first, self._of_second, strict=True):
            first = first + weight * parts[i]
            second = second + weight * parts[j]
        return first, second

    def density_ratio(self, x: float | Any) -> Any:
        """dP/dQ at x as a ball, of the pair given that there are no further copies."""
        point = flint.arb(x)
        values = []
        for center in self._centers:
            distance = point - center
            if self.normal:
                values.append((center * (point - center / 2)).exp())
            else:
                values.append((-abs(distance) + abs(point)).exp())
        first, second = flint.arb(0), flint.arb(0)
        for weight, i, j in zip(self.weights, self._of_first, self._of_second, strict=True):
            first, second = first + weight * values[i], second + weight * values[j]
        return first / second


def _interval(low: tuple[bool, Any] | None, high: tuple[bool, Any] | None) -> Any:
    if low is None and high is None:
        return flint.arb(1)
    if low is None:
        assert high is not None
        return 1 - high[1] if high[0] else high[1]
    if high is None:
        return low[1] if low[0] else 1 - low[1]
    if low[0]:
        return low[1] - high[1]
    if not high[0]:
        return high[1] - low[1]
    return 1 - low[1] - high[1]


def _binomial(draws: int, share: Fraction, largest: int) -> tuple[list[Any], Any]:
    with flint.ctx.workprec(flint.ctx.prec + 70):  # draws up to 1e18 cost 60 bits
        log_absent = ball(-share).log1p()
        odds = ball(share / (1 - share))
        out = [(draws * log_absent).exp()]
        for k in range(largest):
            out.append(out[-1] * odds * (draws - k) / (k + 1))
        if largest >= draws:
            return out, flint.arb(0)
        following = out[-1] * odds * (draws - largest) / (largest + 1)
        ratio = odds * (draws - largest - 1) / (largest + 2)
        if not ratio < 1:
            raise OutOfReach("too few copies of a record are kept")
        rest = (following / (1 - ratio)).upper()
        return out, rest.union(flint.arb(0))


def _log(value: Any) -> float:
    return float(value.log()) if value > 0 else -math.inf
