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

    def accountant(x: float) -> ExactAccountant:
        return ExactAccountant(relation).compose(make_event(math.exp(x)))

    def by_epsilon(x: float) -> float:
        """Logarithm of epsilon over the target; a refusal of small noise counts as too much."""
        try:
            found = accountant(x).get_epsilon(target_delta)
        except AccuracyError:
            return math.inf
        return math.log(found / target_epsilon) if found > 0 else -math.inf

    def by_delta(x: float) -> float:
        """Logarithm of delta over the target: smooth where epsilon jumps from 0 to much."""
        found = accountant(x).get_delta(target_epsilon)
        return math.log(found / target_delta) if found > 0 else -math.inf

    gap = by_epsilon
    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    known: dict[float, float] = {}
    x = min(max(math.log(guess), low), high)
    for _ in range(_EVALUATIONS):
        value = known[x] = gap(x)
        if gap is by_epsilon and min(known.values()) == -math.inf and _bracketed(known):
            gap = by_delta
            known = {end: gap(end) for end in _bracketed(known)}
            value = known.setdefault(x, gap(x))
        if value <= 0 and (value > -TOLERANCE or x <= low):
            break
        if value > 0 and x >= high:
            raise InfeasibleBudgetError(
                f"epsilon={target_epsilon!r} at delta={target_delta!r}: not met by any noise "
                f"multiplier up to {_LARGEST:g}"
            )
        x = min(max(_next(known, x), low), high)
    within = sorted(x for x, value in known.items() if value <= 0)
    for x in within:
        # Both ways of asking round against us, each in its own way: the one that is claimed counts.
        if gap is by_epsilon or by_epsilon(x) <= 0:
            return math.exp(x)
    raise InfeasibleBudgetError(f"epsilon={target_epsilon!r}: no noise multiplier was found")


def _bracketed(known: dict[float, float]) -> tuple[float, ...]:
    """The places next to the budget from both sides, or none while one side is not known."""
    too_little = [x for x, gap in known.items() if gap > 0 and math.isfinite(gap)]
    enough = [x for x, gap in known.items() if gap <= 0]
    return (max(too_little), min(enough)) if too_little and enough else ()


def _next(known: dict[float, float], x: float) -> float:
    """Where to look next, x the last place: along a line of log epsilon in log sigma."""
    value = known[x]
    too_little = max((x for x, gap in known.items() if gap > 0), default=-math.inf)
    enough = min((x for x, gap in known.items() if gap <= 0), default=math.inf)
    near = sorted((abs(gap), x) for x, gap in known.items() if math.isfinite(gap))[:2]
    if len(near) == 2:
        (_, a), (_, b) = near
        rise = known[b] - known[a]
        along = a - (known[a] + TOLERANCE / 2) * (b - a) / rise if rise else math.nan
        if too_little < along < enough and abs(along - x) < 3:
            return along
    if math.isfinite(too_little) and math.isfinite(enough):
        return 0.5 * (too_little + enough)
    # The slope is -1 for much noise and steeper for little.
    step = min(abs(value), 2.0) if math.isfinite(value) else 1.0
    return x + math.copysign(max(0.9 * step, 0.02), value)
