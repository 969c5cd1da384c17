"""ε of a δ, and δ of an ε, between two ends from one composition on a lattice."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from accountants.bracket import Bracket
from accountants.laws.ball_lattice import Curve
from accountants.laws.ball_masses import OutOfReach
from accountants.laws.ball_pairs import Pair, Product, ball
from accountants.laws.ball_runs import LATTICE_BITS, Run, Target, closed_form, gathered
from accountants.rounding import above, below


def epsilon_bracket(
    products: Sequence[Product], delta: float, top: float, seconds: float, fineness: float = 4.0
) -> Bracket:
    """Smallest ε at ``delta`` over dominating products, or its lower end if they are not.

    Parameters
    ----------
    products : sequence of Product
    delta : float
        In (0, 1).
    top : float
        A proved upper end, or inf.
    seconds : float
    fineness : float
        Divides the first spacing of a run.

    Raises
    ------
    OutOfReach
        If the lattice would be too long or time runs out.
    """
    deadline = time.process_time() + seconds
    lower, upper = 0.0, 0.0
    with flint.ctx.workprec(LATTICE_BITS):
        for product in products:
            parts = gathered(product)
            target = Target(None, math.log(delta), top if math.isfinite(top) else 0.0)
            run = Run(parts, target)
            spacing = run.first_spacing / (1.0 if run.exact else fineness)
            lower = max(lower, _last_above(run.lower(spacing, deadline), delta, top))
            if product.dominating:
                upper = max(upper, _first_below(run.upper(spacing, deadline), delta, top))
            else:
                upper = top
    upper = min(upper, top)
    return Bracket(min(lower, upper), upper)


def delta_bracket(
    products: Sequence[Product], epsilon: float, seconds: float, fineness: float = 4.0
) -> Bracket:
    """δ at ``epsilon`` over dominating products (upper end 1 if they are not)."""
    deadline = time.process_time() + seconds
    lower, upper = 0.0, 0.0
    with flint.ctx.workprec(LATTICE_BITS):
        at = ball(Fraction(epsilon))
        for product in products:
            parts = gathered(product)
            found = closed_form(parts, Target(at, -760.0))
            if found is None:
                found = _on_lattice(
                    parts, Target(at, -760.0), product.dominating, deadline, fineness
                )
            low, high = found
            lower = max(lower, float_below(low))
            upper = max(upper, float_above(high) if product.dominating else 1.0)
    return Bracket(min(lower, upper), upper)


def _on_lattice(
    parts: Sequence[tuple[Pair, int]],
    target: Target,
    dominating: bool,
    deadline: float,
    fineness: float,
) -> tuple[Any, Any]:
    run = Run(parts, target)
    if run.log_bound > -740:
        run = Run(parts, Target(target.epsilon, min(0.0, run.log_bound) - 20.0))
    spacing = run.first_spacing / (1.0 if run.exact else fineness)
    low = run.lower(spacing, deadline).delta(target.epsilon)
    high = run.upper(spacing, deadline).delta(target.epsilon) if dominating else flint.arb(1)
    return low, high


def _guess(curve: Curve, delta: float) -> float:
    """Where the curve crosses ``delta``, in doubles."""
    losses, logs = curve.sketch()
    if not losses.size:
        return 0.0
    goal = math.log(delta)
    rest = float(curve.missing)
    tilt, cut_off = float(curve.tilt), curve.cut_off
    log_cut = float(cut_off.log()) if cut_off > 0 else -math.inf

    def log_delta(epsilon: float) -> float:
        keep = losses > epsilon
        terms = logs[keep] + np.log(-np.expm1(epsilon - losses[keep]))
        extra = log_cut - tilt * (epsilon + float(curve.moved))
        found = float(np.logaddexp.reduce(np.append(terms, extra)))
        return float(np.logaddexp(found, math.log(rest))) if rest > 0 else found

    low, high = min(0.0, float(losses[0])), float(losses[-1])
    for _ in range(60):
        middle = 0.5 * (low + high)
        if log_delta(middle) > goal:
            low = middle
        else:
            high = middle
        if high - low < 1e-13 * max(abs(high), 1e-6):
            break
    return max(high, 0.0)


def _last_above(curve: Curve, delta: float, top: float) -> float:
    """An ε at which the lower end of δ is certainly above ``delta``, or 0."""
    claim = flint.arb(delta)
    at, move = min(_guess(curve, delta), top), 1e-12
    for _ in range(40):
        candidate = below(at * (1 - move))
        if candidate <= 0:
            return 0.0
        if curve.delta(flint.arb(candidate)) > claim:
            return candidate
        move *= 2
    return 0.0


def _first_below(curve: Curve, delta: float, top: float) -> float:
    """An ε at which the upper end of δ is certainly at most ``delta``, or ``top``."""
    claim = flint.arb(delta)
    if curve.delta(flint.arb(0)) <= claim:
        return 0.0
    at, move = _guess(curve, delta), 1e-12
    for _ in range(40):
        candidate = above(at * (1 + move) + 1e-300)
        if candidate >= top:
            return top
        if curve.delta(flint.arb(candidate)) <= claim:
            return candidate
        move *= 2
    return top


def float_below(value: Any) -> float:
    """A float at most the ball, in [0, 1]."""
    low = float(value.lower())
    if math.isnan(low):
        return 0.0
    while low > 0 and not flint.arb(low) <= value:
        low = math.nextafter(low, 0.0)
    return min(max(low, 0.0), 1.0)


def float_above(value: Any) -> float:
    """A float at least the ball, in [0, 1]."""
    high = float(value.upper())
    if math.isnan(high):
        return 1.0
    high = max(high, 0.0)
    while high < 1 and not flint.arb(high) >= value:
        high = math.nextafter(high, 2.0)
    return min(high, 1.0)


__all__ = ["OutOfReach", "delta_bracket", "epsilon_bracket", "float_above", "float_below"]
