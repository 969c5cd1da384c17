"""The noise multiplier of a budget, from few evaluations of the upper end of epsilon alone.

`accountants.calibration` ends with both ends of epsilon to nine digits, which takes ten times as
long for oracle calls as their upper end to three.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.errors import AccuracyError, InfeasibleBudgetError
from accountants.exact.accountant import ExactAccountant

#: Part of epsilon that may be left over (hand-chosen).
TOLERANCE = 1e-3
_SMALLEST, _LARGEST = 0.05, 1e7
_EVALUATIONS = 60


def smallest_noise(
    make_event: Callable[[float], dp_accounting.DpEvent],
    *,
    target_epsilon: float,
    target_delta: float,
    relation: NeighboringRelation,
    guess: float = 4.0,
) -> float:
    """Return a noise multiplier whose upper end of epsilon is within 0.1 % below the target.

    Parameters
    ----------
    make_event : callable
        From a noise multiplier to the event of a run; its cost falls as the multiplier grows.
    target_epsilon, target_delta : float
    relation : NeighboringRelation
    guess : float
        Where to begin.

    Raises
    ------
    InfeasibleBudgetError
        If no multiplier up to 10^7 meets the budget.
    """

    def gap(x: float) -> float:
        """Logarithm of epsilon over the target; a refusal of small noise counts as too much."""
        accountant = ExactAccountant(relation).compose(make_event(math.exp(x)))
        try:
            found = accountant.get_epsilon(target_delta)
        except AccuracyError:
            return math.inf
        return math.log(found / target_epsilon) if found > 0 else -math.inf

    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    below: tuple[float, float] | None = None  # meets the budget
    above: tuple[float, float] | None = None  # does not
    x = min(max(math.log(guess), low), high)
    for _ in range(_EVALUATIONS):
        value = gap(x)
        if value <= 0:
            below = (x, value)
            if value > -TOLERANCE or x <= low:
                return math.exp(x)
        else:
            above = (x, value)
            if x >= high:
                raise InfeasibleBudgetError(
                    f"epsilon={target_epsilon!r} at delta={target_delta!r}: not met by any noise "
                    f"multiplier up to {_LARGEST:g}"
                )
        x = min(max(_next(x, value, below, above), low), high)
    if below is None:
        raise InfeasibleBudgetError(f"epsilon={target_epsilon!r}: no noise multiplier was found")
    return math.exp(below[0])


def _next(
    x: float,
    value: float,
    below: tuple[float, float] | None,
    above: tuple[float, float] | None,
) -> float:
    """Where to look next: along a line of log epsilon in log sigma, inside of what is known."""
    if below is None or above is None:
        # The slope is -1 for much noise and steeper for little; a little too far is no loss.
        step = min(abs(value), 2.0) if math.isfinite(value) else 1.0
        return x + math.copysign(max(1.05 * step, 0.02), value)
    width = below[0] - above[0]
    if not (math.isfinite(below[1]) and math.isfinite(above[1])) or width <= 1e-12:
        return 0.5 * (below[0] + above[0])
    target = -TOLERANCE / 3
    share = (above[1] - target) / (above[1] - below[1])
    return above[0] + min(max(share, 0.02), 0.98) * width
