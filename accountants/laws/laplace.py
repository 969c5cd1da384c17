"""The truth about Laplace noise: one release in closed form.

With scale b, and a sum that moves by s (1 where a record is added, removed or exchanged for one
without a contribution, 2 where one is replaced), the loss is at most s/b and

    δ(ε) = 1 - exp((ε - s/b) / 2),   0 <= ε <= s/b.

A vector of L1 norm s with Laplace noise in every coordinate loses no more than s/b either, so that
s/b bounds ε at every δ; the closed form is that of one coordinate, which is attained.
"""

from __future__ import annotations

import math

from accountants.bracket import Bracket
from accountants.rounding import above, below


def one_epsilon(move_over_scale: float, delta: float) -> Bracket:
    """Smallest ε at ``delta`` for one release, max(0, s/b + 2 log(1 - δ)).

    Parameters
    ----------
    move_over_scale : float
        s/b, correctly rounded to a few units.
    delta : float
        In [0, 1].
    """
    if delta >= 1:
        return Bracket(0.0, 0.0)
    cost = 2 * math.log1p(-delta)
    error = 4 * (math.ulp(move_over_scale) + math.ulp(cost))
    value = move_over_scale + cost
    return Bracket(max(0.0, below(value - error)), max(0.0, above(value + error)))


def one_delta(move_over_scale: float, epsilon: float) -> Bracket:
    """δ at ``epsilon`` for one release."""
    excess = move_over_scale - epsilon
    error = 4 * (math.ulp(move_over_scale) + math.ulp(epsilon))
    return Bracket(_chance(excess - error, 1 - 1e-15), _chance(excess + error, 1 + 1e-15))


def _chance(excess: float, factor: float) -> float:
    return min(1.0, -math.expm1(-excess / 2) * factor) if excess > 0 else 0.0
