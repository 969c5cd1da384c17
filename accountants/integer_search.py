"""The largest whole number whose cost is within a target."""

from __future__ import annotations

import math
from collections.abc import Callable

from accountants.bracket import Bracket
from accountants.errors import AccuracyError

__all__ = ["Cost", "Search"]

_EVALUATIONS = 200
_PACE = 64  # a search that has no upper end yet grows by this factor at most
_STARTS, _GROWTH = 5, 16  # numbers to try, each so much larger, where none can be computed yet
_PATIENCE = 5  # one end moving this often in a row: halve instead of estimating
_SLOPE = 0.7  # d log ε / d log steps lies in 0.5 to 1 over most of its range

#: From a whole number to the bracket of its ε.
Cost = Callable[[int], Bracket]


class Search:
    """Largest whole number whose cost is within a target, by interpolation that stays inside.

    Parameters
    ----------
    cost : callable
        From a number to the bracket of its ε.
    target : float
        ε > 0.
    low, high : int
        Numbers to consider, ends included.
    end : {"upper", "lower"}
        Which end of the bracket must be within the target.
    """

    def __init__(self, cost: Cost, target: float, low: int, high: int, end: str = "upper") -> None:
        self._cost, self.target, self.low, self.high, self.end = cost, target, low, high, end
        self.known: dict[int, Bracket | AccuracyError] = {}
        self.left: int | None = None  # largest number seen that meets the target
        self.right: int | None = None  # smallest number seen that does not

    def cost(self, number: int) -> Bracket:
        """Bracket of ε at ``number``, computed once; raises what the accountant raised."""
        if number not in self.known:
            try:
                self.known[number] = self._cost(number)
            except AccuracyError as error:
                self.known[number] = error
        found = self.known[number]
        if isinstance(found, AccuracyError):
            raise found
        return found

    def lower(self, number: int) -> float:
        """Lower end of ε at ``number``."""
        return self.cost(number).lower

    def _value(self, number: int) -> float:
        try:
            bracket = self.cost(number)
        except AccuracyError:
            return math.inf  # cannot be shown to meet the target
        return bracket.upper if self.end == "upper" else bracket.lower

    def run(self, start: int) -> tuple[int, int | None]:
        """Neighbours ``(meets, does not)``: ``low - 1`` where none meets, None where all do."""
        number = self._first(start)
        repeated = 0
        for _ in range(_EVALUATIONS):
            before = (self.left, self.right)
            if self._value(number) <= self.target:
                self.left = number
                repeated = repeated + 1 if before[0] is not None else 0
            else:
                self.right = number
                repeated = repeated + 1 if before[1] is not None else 0
            left = self.low - 1 if self.left is None else self.left
            right = self.high + 1 if self.right is None else self.right
            if right - left <= 1:
                if self.right is None:
                    return left, None
                self.cost(right)  # an answer may not rest on what could not be computed
                return left, right
            number = min(max(self._next(left, right, repeated), left + 1), right - 1)
        raise AccuracyError("the search for a whole number within the budget did not end")

    def _first(self, start: int) -> int:
        """``start``, or a larger number where the cost can be computed and there it cannot.

        Few uses are harder to account than many, and a number beyond the answer is as good a
        beginning as one below it.
        """
        number = start
        for _ in range(_STARTS):
            try:
                self.cost(number)
            except AccuracyError:
                number = min(_GROWTH * number, (self.right or self.high + 1) - 1)
            else:
                return number
        return start

    def _next(self, left: int, right: int, repeated: int) -> int:
        """Where to look next; where the estimate is good, its two neighbours end the search."""
        guess = self._estimated()
        if self.right is None:
            least, most = 2 * max(left, 0) + 1, _PACE * max(left, 1)
            return math.floor(most if math.isnan(guess) else min(max(guess, least), most))
        if math.isnan(guess) or repeated > _PATIENCE:
            return math.floor(math.sqrt(max(left, 0.5) * right))  # halves the range of magnitudes
        return math.floor(guess)

    def _estimated(self) -> float:
        """Where log ε, linear in the log of the number, meets the target; NaN without a hint."""
        points = []
        for number in self.known:
            value = self._value(number)
            if number > 0 and 0 < value < math.inf:
                points.append((math.log(number), math.log(value / self.target)))
        if not points:
            return math.nan
        points.sort(key=lambda point: abs(point[1]))
        (x, f), slope = points[0], _SLOPE
        if len(points) > 1:
            y, g = points[1]
            slope = (g - f) / (y - x)
        log_guess = x - f / slope if slope > 0 else math.nan
        return math.exp(log_guess) if log_guess < 60 else math.nan
