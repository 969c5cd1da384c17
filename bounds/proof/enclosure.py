"""Rule ``ball``: a strict analytic inequality on a box, by branch and bound in ball arithmetic."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from typing import Any

import sympy
from sympy.core.relational import Relational

from bounds.proof.step import Box, Step
from bounds.proof.tools import Outcome, load


def check(step: Step, premises: Sequence[sympy.Basic]) -> Outcome:
    """Check one step of rule ``ball``."""
    how = step.by if isinstance(step.by, Box) else Box()
    goal, conditions = step.conclusion, list(premises)
    if isinstance(goal, sympy.Implies):
        conditions.append(goal.args[0])
        goal = goal.args[1]
    if goal in (True, sympy.true):
        return Outcome(True)
    if not isinstance(goal, Relational) or isinstance(goal, sympy.Eq | sympy.Ne):
        return Outcome(False, "ball arithmetic decides one inequality")
    small, large = (
        goal.args if isinstance(goal, sympy.Lt | sympy.Le) else tuple(reversed(goal.args))
    )
    difference = small - large
    symbols = sorted(difference.free_symbols, key=str)
    ranges = _ranges(conditions)
    for symbol in symbols:
        low, high = ranges.get(symbol, (None, None))
        if low is None or high is None:
            return Outcome(False, f"{symbol} has no finite range among the premises")
    strict = isinstance(goal, sympy.Lt | sympy.Gt)
    box = tuple((ranges[symbol][0], ranges[symbol][1]) for symbol in symbols)
    return _negative(difference, symbols, box, strict=strict, budget=how.budget)


def _ranges(conditions: Sequence[Any]) -> dict[Any, tuple[Any, Any]]:
    """The intersection of the ranges that inequalities between a symbol and a number give."""
    found: dict[Any, tuple[Any, Any]] = {}
    stack = list(conditions)
    while stack:
        here = stack.pop()
        if isinstance(here, sympy.And):
            stack.extend(here.args)
            continue
        if not isinstance(here, sympy.Le | sympy.Lt | sympy.Ge | sympy.Gt):
            continue
        small, large = (
            here.args if isinstance(here, sympy.Le | sympy.Lt) else tuple(reversed(here.args))
        )
        if small.is_Symbol and large.is_Rational:
            low, high = found.get(small, (None, None))
            found[small] = (low, large if high is None else min(high, large))
        elif large.is_Symbol and small.is_Rational:
            low, high = found.get(large, (None, None))
            found[large] = (small if low is None else max(low, small), high)
    return found


def _negative(
    expression: Any, symbols: Sequence[Any], box: Any, *, strict: bool, budget: int
) -> Outcome:
    """Whether an expression is < 0 (or <= 0) on a whole box."""
    flint = load("flint")
    from bounds.proof.balls import ball_function

    function = ball_function(expression, symbols)

    def ball(low: Any, high: Any) -> Any:
        ends = [flint.arb(flint.fmpq(int(end.p), int(end.q))) for end in (low, high)]
        return ends[0].union(ends[1])

    def certain(value: Any) -> bool:
        return bool(value < 0) if strict else bool(value <= 0)

    count = itertools.count()
    queue = [(0.0, next(count), box)]
    used = 0
    while queue:
        _, _, here = heapq.heappop(queue)
        used += 1
        if certain(function(*[ball(*side) for side in here])):
            continue
        middle = [(low + high) / 2 for low, high in here]
        value = function(*[ball(point, point) for point in middle])
        if bool(value > 0) or (strict and bool(value >= 0)):
            point = ", ".join(f"{s} = {float(x):.6g}" for s, x in zip(symbols, middle, strict=True))
            return Outcome(False, f"false at {point}: left - right is {value.str(6)}")
        if used >= budget:
            return Outcome(
                False, f"undecided after {budget} boxes, near {_box_text(symbols, here)}: no proof"
            )
        widest = max(range(len(here)), key=lambda place: here[place][1] - here[place][0])
        low, high = here[widest]
        for side in ((low, middle[widest]), (middle[widest], high)):
            piece = (*here[:widest], side, *here[widest + 1 :])
            heapq.heappush(queue, (-float(side[1] - side[0]), next(count), piece))
    return Outcome(True, f"{used} boxes")


def _box_text(symbols: Sequence[Any], box: Any) -> str:
    return ", ".join(
        f"{symbol} in [{float(low):.6g}, {float(high):.6g}]"
        for symbol, (low, high) in zip(symbols, box, strict=True)
    )
