"""Reference values for fixed-size batches: picks a method, says how many digits it vouches for."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from . import closed_forms, contour, convolution
from .contour import Choice, Composition
from .fixed_size import Run, single_delta, single_profile, solve_epsilon
from .laws import (
    Copies,
    Mixture,
    MixtureLaw,
    copies_with_tail,
    to_arb,
    with_replacement,
)
from .oracle import Value, _ball_text, _text
from .pairs import Step
from .symmetric import SymmetricLaw

CHOICES = (contour.FIRST, contour.SECOND)
# enough for a dozen digits, at a third of the cost: for the many random settings
LIGHT = (
    Choice(bits=125, margin=32.0, abscissa_factor=1.0, node_margin=38.0),
    Choice(bits=146, margin=37.0, abscissa_factor=0.83, node_margin=45.0),
)
LONGEST = 10**6  # steps that positive convolution takes


def with_largest(run: Run, largest: int) -> list[tuple[Any, int]]:
    """PQ with the measure of K <= largest as it is, not divided by its mass."""
    copies = Copies(run.batch_size, run.dataset_size, largest)
    return [(with_replacement(copies, run.sigma), run.count)]


def delta(parts: Composition, epsilon: Fraction, budget: float = 3e9) -> Value:
    """delta of a composition, by two contours."""
    ball, digits = contour.delta_reference(parts, epsilon, budget, CHOICES)
    return Value(_ball_text(ball, digits), digits, "two contours, python-flint")


def epsilon(
    run: Run,
    pair: str,
    target: Fraction,
    budget: float = 4e7,
    choices: tuple[Choice, Choice] = CHOICES,
    coarser: float = 1.0,
    enough: float = 13.0,
) -> Value:
    """epsilon at delta = target of a named pair; 0 where delta(0) is smaller.

    Raises
    ------
    contour.ReferenceTooSlow
        If no method serves the setting.
    """
    log_delta = math.log(target.numerator) - math.log(target.denominator)
    closed = _closed(run, pair, target, log_delta)
    if closed is not None:
        return Value(_text(closed, 25), 25.0, "closed form, mpmath")
    return solve(run.parts(pair, log_delta), target, is_rare(run), budget, choices, coarser, enough)


def solve(
    parts: Composition,
    target: Fraction,
    rare: bool,
    budget: float,
    choices: tuple[Choice, Choice],
    coarser: float,
    enough: float,
) -> Value:
    """epsilon of any composition by inversion; by convolution when ``rare`` or out of reach."""
    served = len(parts) == 1 and _convolves(parts[0][0])
    steps = sum(count for _, count in parts)
    if not (rare and served) and (found := _invert(parts, target, budget, choices, enough)):
        return found
    if not served or steps > LONGEST:
        raise contour.ReferenceTooSlow("no method")
    for finer in (1.0, 0.5):
        if finer < 1 and (found := _invert(parts, target, budget / 4, choices, enough)):
            return found
        value, digits = convolution.epsilon_reference(parts, float(target), coarser * finer)
        if value == 0:
            steps_used = convolution.Steps(0.03 * coarser, 0.03 * coarser, 400.0)
            mass = convolution.Profile(parts, steps_used).mass()
            if abs(mass - 1) < 1e-6:  # else the tables lost the law
                return Value("0", 25.0, "positive convolution")
            break
        digits = min(digits, 12.0, 15.5 - math.log10(max(steps, 1e4))) - 1
        if digits >= 7.5:
            return Value(_text(mpmath.mpf(value), digits + 2), digits, "positive convolution")
    if found := _invert(parts, target, 10 * budget, choices, enough):
        return found
    raise contour.ReferenceTooSlow(f"{digits} digits by convolution")


def _invert(
    parts: Composition,
    target: Fraction,
    budget: float,
    choices: tuple[Choice, Choice],
    enough: float,
) -> Value | None:
    try:
        ball, digits = contour.epsilon_reference(
            parts, target, budget, choices, start(parts, target)
        )
    except (contour.ReferenceTooSlow, ArithmeticError):
        return None
    if digits < enough:
        return None
    if ball > 0:
        return Value(_ball_text(ball, digits), digits, "two contours, python-flint")
    try:  # 0 is the answer only if delta(0) says so
        at_zero, _ = contour.delta_reference(parts, Fraction(0), budget, choices)
    except (contour.ReferenceTooSlow, ArithmeticError):
        return None
    small = at_zero < to_arb(target)
    return Value("0", 25.0, "two contours, python-flint") if small else None


def start(parts: Composition, target: Fraction) -> float:
    """A first epsilon: the Chernoff bound with few copies (with all of them it is of no use)."""
    log_delta = math.log(target.numerator) - math.log(target.denominator)
    few = [(_with_few(law, log_delta - math.log(count) - 2), count) for law, count in parts]
    return max(chernoff(few, log_delta), 1e-9)


def _with_few(law: Any, log_tail: float) -> Any:
    if isinstance(law, SymmetricLaw) and law.copies is not None:
        return replace(law, copies=_few(law.copies, log_tail))
    if isinstance(law, MixtureLaw):
        return replace(
            law, upper=_shorter(law.upper, log_tail), lower=_shorter(law.lower, log_tail)
        )
    return law


def _few(copies: Copies, log_tail: float) -> Copies:
    few = copies_with_tail(copies.draws, copies.among, log_tail)
    return replace(copies, largest=min(copies.largest, few.largest))


def _shorter(mixture: Mixture, log_tail: float) -> Mixture:
    if not isinstance(mixture.weights, Copies):
        return mixture
    copies = _few(mixture.weights, log_tail)
    return Mixture(copies, mixture.shifts[: copies.largest + 1])


def _convolves(law: Any) -> bool:
    try:
        return isinstance(law, MixtureLaw) and convolution.kind(law) != "" and law.sigma > 0
    except ValueError:
        return False


def _closed(run: Run, pair: str, target: Fraction, log_delta: float) -> Any:
    """One step, or batches of everything: no composition needed."""
    whole = run.sampling == "without" and run.q == 1
    if whole and pair in ("PQ", "QP", "symmetrised", "special z=-1 real", "special z=0 real"):
        shift = 1 if pair.startswith("special") else 2
        one = Step(Fraction(1), run.sigma / shift, run.count)
        return closed_forms.single_epsilon(one, "remove", target)
    if run.count > 1 or pair == "mixed":
        return None
    if pair == "symmetrised":
        name = "tight" if run.sampling == "without" else "balle"
        largest = None if run.sampling == "without" else run.copies(log_delta).largest
        return solve_epsilon(lambda e: single_profile(run, name, e, largest), target)
    law = run.mixture(pair, log_delta)
    if not _convolves(law):
        return None
    return solve_epsilon(lambda e: single_delta(law, e), target)


def is_rare(run: Run) -> bool:
    """Few uses of a record: the characteristic function decays too slowly for inversion."""
    return float(run.q) * run.count < 6


def upper(run: Run, target: Fraction) -> Value:
    """An upper bound on epsilon where the symmetrised pair cannot be inverted.

    The smaller of two: from moments of that pair, delta <= M(c)^T e^(-c epsilon) (1/(1+c))
    (c/(1+c))^c for every c > 0; and T epsilon_1(delta / T) with the profile of one step.
    """
    log_delta = math.log(target.numerator) - math.log(target.denominator)
    moments = max(chernoff(run.parts("symmetrised", log_delta), log_delta), 0.0) * (1 + 1e-6)
    share = 1 - 1e-9  # of delta; the rest pays for the copies left out
    one = shorter(run, 1)
    single = _closed(one, "symmetrised", target * Fraction(share) / run.count, log_delta)
    basic = float(single * run.count) * (1 + 1e-12)
    if moments < basic:
        return Value(_text(mpmath.mpf(moments), 8), 7.0, "moments of the symmetrised pair")
    return Value(_text(mpmath.mpf(basic), 15), 12.0, "basic composition of one step")


def chernoff(parts: Composition, log_delta: float) -> float:
    """The same for any composition, in double precision."""
    best, at = math.inf, 1.0

    def bound(c: float) -> float:
        e = (contour._exponent(parts, c) - log_delta - math.log1p(c)) / c
        return e + math.log(c / (1 + c))

    for c in np.geomspace(1e-3, 1e6, 90):
        e = bound(float(c))
        if e < best:
            best, at = e, float(c)
        if e > 3 * abs(best) + 50:
            break
    return min(best, *(bound(at * f) for f in (0.91, 0.95, 1.05, 1.1)))


def best_pair(run: Run, names: tuple[str, ...], target: Fraction, room: float) -> list[str]:
    """The names whose Chernoff bound comes within the share ``room`` of the best one."""
    log_delta = math.log(target.numerator) - math.log(target.denominator)
    costs = {name: chernoff(run.parts(name, log_delta), log_delta) for name in names}
    top = max(costs.values())
    return sorted((n for n in names if costs[n] >= top * (1 - room)), key=lambda n: -costs[n])


def shorter(run: Run, count: int) -> Run:
    """The same batches, another number of steps."""
    return replace(run, count=count)
