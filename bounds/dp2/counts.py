"""Phases, steps and changes of mode are counted: exact numbers, by integer arithmetic.

Phases of s steps alternate, DP-SGD first; step t is in phase floor((t - 1)/s).
"""

from __future__ import annotations

from typing import Any

from sympy import And, Implies, Or, Sum, ceiling, floor

from bounds.assumptions import CODE, Assumption
from bounds.dp2.common_models import count_models
from bounds.dp2.relations import Eq
from bounds.dp2.symbols import mode, s
from bounds.operators import Index, Max, Variable
from bounds.proof.step import Induction, Step, at, cite, inequality
from bounds.symbols import T, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_SOURCE = Source("li2023dp2", "phases", Status.DERIVED)


def phase(step: Any) -> Any:
    """The phase of a step, counted from 0: even ones are DP-SGD."""
    return floor((step - 1) / s)


def in_phase(step: Any) -> Any:
    """The mode of a step when phases of s steps alternate."""
    return phase(step) - 2 * floor(phase(step) / 2)


def to_adaptive(step: Any) -> Any:
    """1 when the step after this one is the first of an adaptive phase."""
    return Max(mode(step + 1) - mode(step), 0)


PHASES = Assumption(
    "phases",
    Eq(mode(t), in_phase(t)),
    "phases of s steps alternate, DP-SGD first",
    CODE,
)


until = Index("until")
_EARLIER, _LATER = phase(t), phase(t + 1)
z = Variable("z", integer=True)
p, q = Variable("p", integer=True), Variable("q", integer=True)
size = Variable("size", integer=True, positive=True)


def _between(number: Any) -> tuple[Any, ...]:
    """An integer below 1 is at most 0, above -1 at least 0."""
    return tuple(at("whole", {z: number + shift}) for shift in (-1, 0, 1))


def _parity() -> tuple[Step, ...]:
    """What a change of phase does to the mode and to the number of updates."""
    x, y, x2, y2 = floor(p / 2), floor((p + 1) / 2), floor(q / 2), floor((q + 1) / 2)
    return (
        inequality("whole", Or(z <= 0, z >= 1), integers=True, note="z is an integer"),
        inequality(
            "parity",
            Implies(
                Or(Eq(q, p), Eq(q, p + 1)),
                Eq(Max(q - 2 * x2 - p + 2 * x, 0), y2 - y),
            ),
            *_between(p - 2 * x),
            *_between(y - x),
            *_between(x2 - x),
            *_between(x2 - y),
            *_between(y2 - y),
            *_between(y2 - x - 1),
            note="the mode rises from an even phase to the next one, and only then",
        ),
    )


def updates(step: Any) -> Any:
    """How often the preconditioner was renewed before a step: at each change to adaptive steps."""
    return floor((phase(step) + 1) / 2)


_RENEWAL = Eq(to_adaptive(t), updates(t + 1) - updates(t))

RENEWAL = Theorem(
    id="dp2.variation.renewal",
    title="When the preconditioner is renewed",
    statement=_RENEWAL,
    kind=Kind.IDENTITY,
    source=_SOURCE,
    assumptions=(PHASES,),
    steps=(
        *_parity(),
        inequality(
            "one",
            _RENEWAL,
            "phases",
            at("phases", {t: t + 1}),
            at("parity", {p: _EARLIER, q: _LATER}),
        ),
    ),
    explanation=(
        "The number of updates before step t is floor((k + 1)/2), where k = floor((t - 1)/s) is "
        "the phase of the step; it grows by one exactly when adaptive steps begin."
    ),
    models=count_models,
)

_COUNT = Eq(Sum(to_adaptive(t), (t, 1, T - 1)), floor(ceiling(T / s) / 2))
_K = ceiling(T / s)

COUNT = Theorem(
    id="dp2.variation.count",
    title="How many adaptive phases a run has",
    statement=_COUNT,
    kind=Kind.IDENTITY,
    source=_SOURCE,
    assumptions=(PHASES,),
    steps=(
        inequality("whole", Or(z <= 0, z >= 1), integers=True, note="z is an integer"),
        inequality("renewal", _RENEWAL, cite("dp2.variation.renewal")),
        inequality(
            "all",
            Eq(Sum(to_adaptive(t), (t, 1, until - 1)), updates(until)),
            at("renewal", {t: until}),
            induction=Induction(until),
        ),
        inequality(
            "last",
            Eq(_K, phase(T) + 1),
            *_between(_K - 1 - phase(T)),
            *_between(T - s * (_K - 1)),
            note="floor((T-1)/s) s < T <= K s and (K-1) s <= T - 1 < (floor((T-1)/s) + 1) s",
        ),
        inequality(
            "sum",
            _COUNT,
            at("all", {until: T}),
            "last",
            *_between(floor(_K / 2) - floor((phase(T) + 1) / 2)),
        ),
    ),
    explanation=(
        "With K = ceil(T/s) phases, DP-SGD first, floor(K/2) of them are adaptive: so often the "
        "preconditioner is renewed and used. T/(2s) is neither an upper nor a lower bound of it."
    ),
    models=count_models,
    evaluations={"bound": floor(ceiling(T / s) / 2)},
    curve=Curve("delay", (1, 2, 5, 10, 20, 50, 100), {"steps": 100}, log_x=True),
)


def adaptive_steps(end: Any) -> Any:
    """How many of the first `end` steps are adaptive."""
    cycles = floor(end / (2 * s))
    return s * cycles + Max(0, end - 2 * s * cycles - s)


_STEPS = Eq(Sum(mode(t), (t, 1, T)), adaptive_steps(T))
_p, _q, _q2 = floor(until / s), floor(until / (2 * s)), floor((until + 1) / (2 * s))

STEPS = Theorem(
    id="dp2.variation.steps",
    title="How many adaptive steps a run has",
    statement=_STEPS,
    kind=Kind.IDENTITY,
    source=_SOURCE,
    assumptions=(PHASES,),
    steps=(
        inequality("whole", Or(z <= 0, z >= 1), integers=True, note="z is an integer"),
        inequality(
            "parity",
            Implies(
                Or(Eq(p, 2 * q), Eq(p, 2 * q + 1)),
                Eq(p - 2 * floor(p / 2), p - 2 * q),
            ),
            *_between(floor(p / 2) - q),
        ),
        inequality(
            "next",
            Or(Eq(_q2, _q), And(Eq(_q2, _q + 1), Eq(until + 1, 2 * s * (_q + 1)))),
        ),
        inequality(
            "one",
            Eq(mode(until + 1), adaptive_steps(until + 1) - adaptive_steps(until)),
            "next",
            at("phases", {t: until + 1}),
            at("parity", {p: _p, q: _q}),
        ),
        inequality(
            "first",
            Eq(mode(1), adaptive_steps(1)),
            at("phases", {t: 1}),
        ),
        inequality(
            "all",
            Eq(Sum(mode(t), (t, 1, until)), adaptive_steps(until)),
            "one",
            "first",
            induction=Induction(until),
        ),
        inequality("sum", _STEPS, at("all", {until: T})),
    ),
    explanation=(
        "Of T steps in alternating phases of s, DP-SGD first, exactly this many are adaptive: s "
        "for each full cycle of 2 s steps, and what is left over beyond s."
    ),
    models=count_models,
    evaluations={"bound": adaptive_steps(T)},
    curve=Curve("delay", (1, 2, 5, 10, 20, 40, 50, 60, 100), {"steps": 100}),
)


THEOREMS: tuple[Theorem, ...] = (RENEWAL, COUNT, STEPS)
