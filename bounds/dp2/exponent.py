"""The exponent of the decay: how often a run of T steps switches phase, and what stands for it.

Steps count from 1 and step t lies in phase ``floor((t - 1)/s)``, so that the last step lies in
phase ``ceil(T/s) - 1``. The count ``floor(T/s)`` is one too many exactly when s divides T; the
relaxation ``(2 + u)/(2u)``, u = s/T, is larger again, by up to 3/2.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import And, Eq, Implies, Le, Lt, Ne, Rational, ceiling, floor

from bounds.assumptions import CODE, Assumption
from bounds.dp2.symbols import s, u
from bounds.operators import Variable
from bounds.proof.step import at, identity, inequality
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
_y = Variable("y_")

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
            "two-terms",
            Eq(floor(_x) + floor(_x + HALF), floor(2 * _x)),
            integers=True,
            note="linear in x once the three floors are integers: x lies in the lower or in the "
            "upper half of its unit interval",
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

EXPONENT = Theorem(
    id="dp2.exponent",
    title="The exponent of the last step, its floor and its relaxation",
    statement=And(
        Eq(_first, ceiling(1 / u) - 1),
        Implies(Eq(floor(1 / u), 1 / u), Eq(ceiling(1 / u) - 1, floor(1 / u) - 1)),
        Implies(Ne(floor(1 / u), 1 / u), Eq(ceiling(1 / u) - 1, floor(1 / u))),
        Eq((2 + u) / (2 * u), 1 / u + HALF),
        Le(floor(1 / u), 1 / u),
        Lt(1 / u, floor(1 / u) + 1),
        Lt(ceiling(1 / u) - 1, 1 / u),
        Le(1 / u, ceiling(1 / u)),
    ),
    kind=Kind.TIGHT,
    source=Source(
        "li2023dp2",
        "exponent of the convex theorem and its relaxation",
        Status.STATED,
        "Stated there: floor(1/(2u)) + floor((1 + u)/(2u)) and (2 + u)/(2u). The count "
        "ceil(1/u) - 1 is ours.",
    ),
    assumptions=(_relative,),
    steps=(),
    evaluations={
        "bound": ceiling(T / s) - 1,
        "recalled": floor(T / s),
        "relaxed": T / s + HALF,
    },
)

THEOREMS: tuple[Theorem, ...] = (HERMITE, EXPONENT)
