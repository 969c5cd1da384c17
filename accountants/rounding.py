"""Outward rounding, in one place: ends only ever move away from each other."""

from __future__ import annotations

import math

from accountants.bracket import Bracket


def below(value: float, ulps: int = 1) -> float:
    """The float ``ulps`` steps below ``value``."""
    for _ in range(ulps):
        value = math.nextafter(value, -math.inf)
    return value


def above(value: float, ulps: int = 1) -> float:
    """The float ``ulps`` steps above ``value``."""
    for _ in range(ulps):
        value = math.nextafter(value, math.inf)
    return value


def exp_bracket(log_lower: float, log_upper: float) -> Bracket:
    """``[exp(log_lower), exp(log_upper)]`` rounded outward and kept in [0, 1].

    The logarithms are ends already: what exp adds, less than a unit, is opened by two, and by a
    few more where they are large.  A positive value below the smallest float has the smallest
    float as upper end.
    """

    def units(x: float) -> int:
        return 2 + int(min(abs(x), 800.0) / 64)

    lower = math.exp(log_lower) if log_lower > -math.inf else 0.0
    upper = math.exp(min(log_upper, 0.0)) if log_upper > -math.inf else 0.0
    lower = max(0.0, below(lower, units(log_lower))) if lower else 0.0
    if log_upper > -math.inf:
        upper = min(1.0, above(upper, units(log_upper)))
    return Bracket(min(lower, upper), upper)
