"""The exponent of the decay: how often a run of T steps switches phase, and what stands for it.

Steps count from 1 and step t lies in phase ``floor((t - 1)/s)``, so that the last step lies in
phase ``ceil(T/s) - 1``. The count ``floor(T/s)`` is one too many exactly when s divides T; the
relaxation ``(2 + u)/(2u)``, u = s/T, is larger again, by up to 3/2.
"""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any

from sympy import And, Implies, Ne, Or, Rational, ceiling, floor

from bounds.assumptions import CODE, Assumption
from bounds.dp2.relations import Eq, Le, Lt
from bounds.dp2.symbols import s, u
from bounds.evaluate_exact import exact_fraction
from bounds.operators import Variable
from bounds.proof.step import Step, at, inequality
from bounds.symbols import T, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

HALF = Rational(1, 2)


def phase(step: Any) -> Any:
    """Phase of a step that counts from 1: 0 is DP-SGD, 1 adaptive, 2 DP-SGD, …"""
    return floor((step - 1) / s)


def adaptive(step: Any) -> Any:
    """The sentence that a step lies in an adaptive phase (an odd one)."""
    return Eq(phase(step) - 2 * floor(phase(step) / 2), 1)


def plain(step: Any) -> Any:
    """The sentence that a step lies in a DP-SGD phase (an even one)."""
    return Eq(phase(step) - 2 * floor(phase(step) / 2), 0)


_x = Variable("x_")
WHOLE = Variable("whole_", integer=True)


def whole_step() -> Step:
    """A whole number `WHOLE` above -1 is at least 0; below 2 as well, it is 0 or 1."""
    return inequality(
        "whole",
        And(
            Implies(WHOLE > -1, WHOLE >= 0),
            Implies(And(WHOLE > -1, WHOLE < 2), Or(Eq(WHOLE, 0), Eq(WHOLE, 1))),
        ),
        integers=True,
    )


HERMITE = Theorem(
    id="dp2.hermite",
    title="Two floors make one: the number of phase switches",
    statement=And(
        Eq(floor(t / (2 * s)) + floor((t + s) / (2 * s)), floor(t / s)),
        Eq(floor(1 / (2 * u)) + floor((1 + u) / (2 * u)), floor(1 / u)),
    ),
    kind=Kind.IDENTITY,
    source=Source(
        "li2023dp2",
        "exponent of the convex theorem",
        Status.STATED,
        "The exponent is stated there as the sum of the two floors; that it is one is Hermite's "
        "identity for two terms.",
    ),
    steps=(
        inequality(
            "double",
            Or(Eq(floor(2 * _x), 2 * floor(_x)), Eq(floor(2 * _x), 2 * floor(_x) + 1)),
        ),
        inequality(
            "half",
            Or(Eq(floor(_x + HALF), floor(_x)), Eq(floor(_x + HALF), floor(_x) + 1)),
        ),
        inequality(
            "two-terms",
            Eq(floor(_x) + floor(_x + HALF), floor(2 * _x)),
            "double",
            "half",
            note="x lies in the lower or in the upper half of its unit interval",
        ),
        inequality(
            "both",
            And(
                Eq(floor(t / (2 * s)) + floor(t / (2 * s) + HALF), floor(t / s)),
                Eq(floor(1 / (2 * u)) + floor(1 / (2 * u) + HALF), floor(1 / u)),
            ),
            at("two-terms", {_x: t / (2 * s)}),
            at("two-terms", {_x: 1 / (2 * u)}),
            note="x = t/(2s) counts steps, x = 1/(2u) fractions of the run",
        ),
        inequality(
            "statement",
            And(
                Eq(floor(t / (2 * s)) + floor((t + s) / (2 * s)), floor(t / s)),
                Eq(floor(1 / (2 * u)) + floor((1 + u) / (2 * u)), floor(1 / u)),
            ),
            "both",
            note="(t + s)/(2s) = t/(2s) + 1/2 and (1 + u)/(2u) = 1/(2u) + 1/2",
        ),
    ),
    explanation=(
        "A run alternates between s steps of DP-SGD and s steps with a preconditioner. Up to "
        "step t + 1 it has switched to the preconditioner floor((t + s)/(2s)) times and back "
        "floor(t/(2s)) times; together that is floor(t/s). The same with u = s/T in place of "
        "steps: floor(1/(2u)) + floor((1 + u)/(2u)) = floor(1/u)."
    ),
    evaluations={
        "bound": floor(T / s),
        "back": floor(T / (2 * s)),
        "forth": floor((T + s) / (2 * s)),
    },
    curve=Curve(
        along="delay",
        values=tuple(range(1, 61)),
        fixed={"steps": 60},
        names=("bound", "forth", "back"),
    ),
    caveats=(
        "At the last step of a phase floor(t/s) is one switch ahead: step t lies in phase "
        "floor((t - 1)/s). What a run of T steps has behind it is ceil(T/s) - 1 (dp2.exponent).",
    ),
)

_relative = Assumption("relative", Eq(u, s / T), "u is the delay as a fraction of the run", CODE)
_first = phase(T)

_CLAIM = And(
    Eq(_first, ceiling(1 / u) - 1),
    Implies(Eq(floor(1 / u), 1 / u), Eq(ceiling(1 / u) - 1, floor(1 / u) - 1)),
    Implies(Ne(floor(1 / u), 1 / u), Eq(ceiling(1 / u) - 1, floor(1 / u))),
    Eq((2 + u) / (2 * u), 1 / u + HALF),
    Le(floor(1 / u), 1 / u),
    Lt(1 / u, floor(1 / u) + 1),
    Lt(ceiling(1 / u) - 1, 1 / u),
    Le(1 / u, ceiling(1 / u)),
)

EXPONENT = Theorem(
    id="dp2.exponent",
    title="The exponent of the last step, its floor and its relaxation",
    statement=_CLAIM,
    kind=Kind.TIGHT,
    source=Source(
        "li2023dp2",
        "exponent of the convex theorem and its relaxation",
        Status.STATED,
        "Stated there: floor(1/(2u)) + floor((1 + u)/(2u)) and (2 + u)/(2u). The count "
        "ceil(1/u) - 1 is ours.",
    ),
    assumptions=(_relative,),
    steps=(
        inequality(
            "phase-ends",
            And(_first * s + 1 <= T, _first * s + s >= T),
            note="T - 1 < floor((T - 1)/s) s + s, in whole numbers",
        ),
        inequality(
            "bracket",
            And(_first < 1 / u, 1 / u <= _first + 1),
            "phase-ends",
            "relative",
            note="divided by s",
        ),
        inequality(
            "last-phase",
            Eq(_first, ceiling(1 / u) - 1),
            "bracket",
        ),
        inequality(
            "statement",
            _CLAIM,
            "last-phase",
        ),
    ),
    explanation=(
        "Step T of a run, counted from 1, lies in phase floor((T - 1)/s): this many times was the "
        "step size multiplied by the decay. It equals ceil(1/u) - 1 with u = s/T, which is "
        "floor(1/u) - 1 when s divides T and floor(1/u) otherwise. The relaxation (2 + u)/(2u) is "
        "1/u + 1/2: above floor(1/u) by at least 1/2 and less than 3/2, above the exact count by "
        "more than 1/2 and at most 3/2. As the decay is at most 1, a larger exponent gives a "
        "larger, still valid, bound."
    ),
    evaluations={
        "bound": ceiling(T / s) - 1,
        "recalled": floor(T / s),
        "relaxed": T / s + HALF,
        "relative_bound": ceiling(1 / u) - 1,
        "relative_recalled": floor(1 / u),
        "relative_relaxed": (2 + u) / (2 * u),
    },
    curve=Curve(
        along="delay",
        values=tuple(range(3, 61)),
        fixed={"steps": 60},
        names=("bound", "recalled", "relaxed"),
    ),
    caveats=(
        "In floating point 1/(1/49) is below 49: the floors are taken of exact fractions, and a "
        "float u stands for the fraction with denominator up to 10**6 that rounds to it.",
    ),
)


def last_phase(steps: int, delay: int) -> int:
    """Phase of the last step of a run, in whole numbers: ``ceil(T/s) - 1``.

    Parameters
    ----------
    steps : int
        Steps of the run, at least 1.
    delay : int
        Steps of a phase, at least 1.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        When one of them is no positive integer.
    """
    return (_count("steps", steps) - 1) // _count("delay", delay)


def _count(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name} = {value!r} is not allowed: an integer >= 1")
    return int(value)


def exponents_at(relative_delay: Any) -> tuple[int, int, Fraction]:
    """The exact exponent, its recalled form and the relaxation at u = s/T.

    Parameters
    ----------
    relative_delay : float, Fraction, sympy.Rational or pair of int
        In (0, 1]; a float stands for the simple fraction that rounds to it (``1/49`` is one over
        forty-nine).

    Returns
    -------
    tuple of int, int and Fraction
        ``ceil(1/u) - 1``, ``floor(1/u)`` and ``(2 + u)/(2u)``.

    Raises
    ------
    ValueError
        When u lies outside (0, 1].
    """
    exact = exact_fraction(relative_delay)
    if not 0 < exact <= 1:
        raise ValueError(f"relative_delay = {relative_delay!r} is not allowed: in (0, 1]")
    inverse = 1 / exact
    return math.ceil(inverse) - 1, math.floor(inverse), inverse + Fraction(1, 2)


THEOREMS: tuple[Theorem, ...] = (HERMITE, EXPONENT)
