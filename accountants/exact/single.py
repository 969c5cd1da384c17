"""Runs with a closed form: plain Gaussian releases, and one sampled release."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import optimize

from accountants.bracket import Bracket
from accountants.errors import AccuracyError
from accountants.exact.cumulants import ROUND
from accountants.pairs import SampledGaussianPair
from accountants.profiles import log_gaussian_delta, log_sampled_delta

LogDelta = Callable[[float], float]


def gaussian(gap: float) -> LogDelta:
    """log δ as a function of ε for plain Gaussian releases with total ``gap``."""
    return lambda epsilon: float(log_gaussian_delta(epsilon, gap))


def sampled(pair: SampledGaussianPair) -> LogDelta:
    """log δ as a function of ε for one sampled Gaussian release."""
    return lambda epsilon: log_sampled_delta(epsilon, pair.q, pair.sigma, pair.direction)


def bar(log_delta: float, epsilon: float) -> float:
    """Error bar of the closed forms, absolute in log δ.

    Rounding in the threshold, of relative size 2^-53, moves log δ by about its own size and
    that of ε; the factor covers every case of a comparison with 60 digits (tests).
    """
    return ROUND * (2000 + 64 * abs(log_delta) + 16 * abs(epsilon))


def log_bracket(log_delta: LogDelta, epsilon: float) -> Bracket:
    """log δ(ε) with its bar."""
    value = log_delta(epsilon)
    if value == -math.inf:
        return Bracket(-math.inf, -math.inf)
    margin = bar(value, epsilon)
    return Bracket(value - margin, min(0.0, value + margin))


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
    while log_delta(high) > target:
        high *= 4
        if high > 1e18:
            raise AccuracyError(f"epsilon exceeds 1e18 at log delta = {target:.6g}")
    low = 0.0
    while high > 1e-280 and log_delta(high / 4) <= target:
        high /= 4

    def excess(epsilon: float) -> float:
        return max(log_delta(epsilon), -1e300) - target

    low = high / 4 if log_delta(high / 4) > target else 0.0
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
