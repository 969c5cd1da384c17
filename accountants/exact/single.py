"""Runs with a closed form: plain Gaussian releases, and one sampled release."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import optimize

from accountants.bracket import Bracket
from accountants.errors import AccuracyError
from accountants.profiles import gaussian_error, log_gaussian_delta

#: From ε to log δ and the error bar of that logarithm.
LogDelta = Callable[[float], tuple[float, float]]


def gaussian(gap: float) -> LogDelta:
    """ε to log δ and its error bar, for plain Gaussian releases with total ``gap``."""

    def log_delta(epsilon: float) -> tuple[float, float]:
        return float(log_gaussian_delta(epsilon, gap)), gaussian_error(epsilon, gap)

    return log_delta


def log_bracket(log_delta: LogDelta, epsilon: float) -> Bracket:
    """log δ(ε) with its bar."""
    value, error = log_delta(epsilon)
    if value == -math.inf:
        return Bracket(-math.inf, -math.inf)
    return Bracket(min(value - error, 0.0), min(value + error, 0.0))


def epsilon_bracket(log_delta: LogDelta, target: float) -> Bracket:
    """ε >= 0 with log δ(ε) = ``target``, verified at both ends.

    Parameters
    ----------
    log_delta : callable
        Decreasing function of ε >= 0.
    target : float
        log of the δ wanted, < 0.
    """
    if log_bracket(log_delta, 0.0).upper <= target:
        return Bracket(0.0, 0.0)
    high = 1.0
    while log_delta(high)[0] > target:
        high *= 4
        if high > 1e18:
            raise AccuracyError(f"epsilon exceeds 1e18 at log delta = {target:.6g}")
    low = 0.0
    while high > 1e-280 and log_delta(high / 4)[0] <= target:
        high /= 4

    def excess(epsilon: float) -> float:
        return max(log_delta(epsilon)[0], -1e300) - target

    low = high / 4 if log_delta(high / 4)[0] > target else 0.0
    if excess(low) <= 0:
        root = low
    else:
        root = optimize.brentq(excess, low, high, xtol=1e-300, rtol=1e-15, maxiter=300)
    reach = 4 * math.ulp(root)
    for _ in range(80):
        upper, lower = root + reach, max(0.0, root - reach)
        above = log_bracket(log_delta, upper).upper <= target
        below = lower == 0.0 or log_bracket(log_delta, lower).lower >= target
        if above and below:
            return Bracket(lower, upper)
        reach *= 2
    raise AccuracyError(f"epsilon near {root:.6g} cannot be enclosed at log delta = {target:.6g}")
