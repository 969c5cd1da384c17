"""The truth about randomized response under replacement, any number of times.

The input's bucket comes out with probability a = 1 - p + p/k and each other one with o = p/k.
Replacing the record exchanges two buckets: the loss of one release is ℓ = log(a/o) with chance a,
-ℓ with chance o, and 0 with r = (k - 2) o.  With h_j the chance that T losses add up to (T - j) ℓ,

    a (j+1) h_{j+1} = r (T - j) h_j + o (2T - j + 1) h_{j-1},   h_0 = a^T,

for a generating polynomial (a + r x + o x^2)^T and its derivative; all terms are >= 0 while j <= T,
so that nothing cancels.  Then δ(ε) = Σ h_j (1 - exp(ε - (T - j) ℓ))+.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from accountants.bracket import Bracket
from accountants.rounding import above, below

Array = NDArray[np.float64]

#: Uses whose law is summed, at the most.
MOST_TIMES = 20_000


@dataclass(frozen=True)
class Response:
    """T-fold randomized response.

    Attributes
    ----------
    noise_parameter : float
        p, in (0, 1).
    num_buckets : int
        k > 1.
    times : int
        T >= 1.
    """

    noise_parameter: float
    num_buckets: int
    times: int

    @property
    def log_chances(self) -> tuple[float, float, float]:
        """Logarithms of a, r and o, each to a few units of rounding."""
        p, k = Fraction(self.noise_parameter), self.num_buckets
        other = p / k
        return _log(1 - p + other), _log(other * (k - 2)), _log(other)

    @property
    def loss(self) -> float:
        """ℓ, to a few units of rounding."""
        p = Fraction(self.noise_parameter)
        return _log(1 + self.num_buckets * (1 - p) / p)

    def log_delta(self, epsilon: float) -> Bracket:
        """log δ(ε) between two ends."""
        # An error in ℓ or in ε moves the loss; one in the chances moves each logarithm.
        total = self.times * self.loss
        move = 1e-15 * (total + epsilon) + 5e-324
        noise = 4e-16 * (self.times + 20) * (1 + abs(self.log_chances[0])) + 1e-15 * self.loss
        low, high = self._sum(epsilon + move), self._sum(max(0.0, epsilon - move))
        noise += 1e-15 * (1 + (abs(high) if math.isfinite(high) else 0.0))
        return Bracket(low - noise, min(0.0, max(low, high) + noise))

    def _sum(self, epsilon: float) -> float:
        steps = np.arange(self.times, 0.0, -1.0)  # T - j
        excess = self.loss * steps - epsilon
        used = int(np.count_nonzero(excess > 0))
        if not used:
            return -math.inf
        weights = np.log(-np.expm1(-excess[:used]))
        return float(np.logaddexp.reduce(_log_law(self)[:used] + weights))


def _log(value: Fraction) -> float:
    """The logarithm of a rational, also where it is no float."""
    if value == 0:
        return -math.inf
    if abs(value - 1) < Fraction(1, 2):
        return math.log1p(float(value - 1))
    try:
        return math.log(value)
    except (OverflowError, ValueError):
        return math.log(value.numerator) - math.log(value.denominator)


@lru_cache(maxsize=16)
def _log_law(response: Response) -> Array:
    """log h_j, j = 0 ... T - 1."""
    a, r, o = response.log_chances
    times = response.times
    start = times * a
    second = math.exp(o - a)
    if r == -math.inf:  # two buckets: j is even, and the law is binomial
        law = np.full(times, -math.inf)
        ratios = [second * (times - i) / (i + 1) for i in range((times - 1) // 2)]
        law[::2] = start + _running([math.log(ratio) for ratio in ratios])
        return law
    first = math.exp(r - a)
    ratios = [first * times] if times > 1 else []
    for j in range(1, times - 1):
        back = second * (2 * times - j + 1) / ratios[-1]
        ratios.append((first * (times - j) + back) / (j + 1))
    return start + _running([math.log(ratio) for ratio in ratios])


def _running(terms: list[float]) -> Array:
    """0 and the partial sums, with the rounding of each addition carried along (Kahan)."""
    sums = [0.0]
    total, rest = 0.0, 0.0
    for term in terms:
        wanted = term - rest
        following = total + wanted
        rest = (following - total) - wanted
        total = following
        sums.append(total)
    return np.array(sums)


def delta(response: Response, epsilon: float) -> Bracket:
    """δ at ``epsilon``."""
    logs = response.log_delta(epsilon)
    low = 0.0 if logs.lower == -math.inf else max(0.0, below(math.exp(logs.lower), 4))
    high = 0.0 if logs.upper == -math.inf else min(1.0, above(math.exp(logs.upper), 4))
    return Bracket(low, max(low, high))


def epsilon(response: Response, target: float) -> Bracket:
    """Smallest ε at δ = ``target``, by bisection on both ends of δ."""
    if target >= 1:
        return Bracket(0.0, 0.0)
    full = response.times * response.loss
    top = above(full * (1 + 1e-14), 2)
    if target == 0:
        return Bracket(below(full * (1 - 1e-14), 2), top)
    goal = math.log(target)
    upper = _crossing(lambda at: response.log_delta(at).upper > goal, top)[1]
    lower = _crossing(lambda at: response.log_delta(at).lower > goal, upper)[0]
    return Bracket(lower, upper)


def _crossing(is_above: Callable[[float], bool], top: float) -> tuple[float, float]:
    """Two points around the one where ``is_above`` turns false; (0, 0) if it is never true."""
    if not is_above(0.0):
        return 0.0, 0.0
    low, high = 0.0, top
    while high - low > 1e-13 * high:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if is_above(middle):
            low = middle
        else:
            high = middle
    return low, high
