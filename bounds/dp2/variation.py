"""What it costs to alternate between the identity and a preconditioner, and how often it happens.

Q is the metric relative to that of DP-SGD: 1 in DP-SGD steps, some positive diagonal in adaptive
ones. Phases of s steps alternate, DP-SGD first; step t is in phase floor((t - 1)/s).
"""

from __future__ import annotations

from typing import Any

from sympy import Abs, And, Eq, Implies, Le, Max, Or, Sum, ceiling, floor

from bounds.assumptions import CODE, Assumption
from bounds.dp2.setting import MODES, growth
from bounds.dp2.symbols import Q, mode, s
from bounds.operators import E, Index, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import Induction, Step, at, expectation, identity, inequality
from bounds.symbols import T, j, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_SOURCE = Source("li2023dp2", "convex analysis", Status.DERIVED)


def phase(step: Any) -> Any:
    """The phase of a step, counted from 0: even ones are DP-SGD."""
    return floor((step - 1) / s)


def to_adaptive(step: Any) -> Any:
    """1 when the step after this one is the first of an adaptive phase."""
    return Max(mode(step + 1) - mode(step), 0)


def to_sgd(step: Any) -> Any:
    """1 when the step after this one is the first of a DP-SGD phase."""
    return Max(mode(step) - mode(step + 1), 0)


def in_phase(step: Any) -> Any:
    """The mode of a step when phases of s steps alternate."""
    return phase(step) - 2 * floor(phase(step) / 2)


START = Assumption("start", Eq(mode(1), 0), "the first phase is DP-SGD", CODE)
PLAIN = Assumption(
    "plain",
    Implies(Eq(mode(t), 0), Eq(Q(t, j), 1)),
    "DP-SGD steps have the metric 1",
    CODE,
)
FROZEN = Assumption(
    "frozen",
    Implies(Eq(mode(t), mode(t + 1)), Eq(Q(t + 1, j), Q(t, j))),
    "within a phase the metric stays",
    CODE,
)
PHASES = Assumption(
    "phases",
    Eq(mode(t), in_phase(t)),
    "phases of s steps alternate, DP-SGD first",
    CODE,
)

_until = Index("until")
_EARLIER, _LATER = phase(t), phase(t + 1)
z = Variable("z", integer=True)
p, q = Variable("p", integer=True), Variable("q", integer=True)
size = Variable("size", integer=True, positive=True)


def _split(id: str, term: Any) -> Step:
    """The last term of a sum up to `until` by itself."""
    total = Sum(term, (t, 1, _until - 1)) + term.subs(t, _until)
    return identity(id, Eq(Sum(term, (t, 1, _until)), total), induction=Induction(_until))


def _between(number: Any) -> tuple[Any, ...]:
    """An integer below 1 is at most 0, above -1 at least 0."""
    return tuple(at("whole", {z: number + shift}) for shift in (-1, 0, 1))


def _counting(id: str) -> tuple[Step, ...]:
    """Lemmas on integers, and: a phase is followed by itself or by the next one."""
    x, y, x2, y2 = floor(p / 2), floor((p + 1) / 2), floor(q / 2), floor((q + 1) / 2)
    return (
        inequality("whole", Or(z <= 0, z >= 1), integers=True, note="z is an integer"),
        inequality("divide", Implies(p * size < q * size, p < q)),
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
        inequality(
            id,
            Or(Eq(_LATER, _EARLIER), Eq(_LATER, _EARLIER + 1)),
            at("divide", {p: _EARLIER, q: _LATER + 1, size: s}),
            at("divide", {p: _LATER - 1, q: _EARLIER + 1, size: s}),
            *_between(_LATER - _EARLIER),
            *_between(t - s * _LATER),
        ),
    )


_CHANGE = Max(Q(t + 1, j) - Q(t, j), 0)
_RISE = to_adaptive(t) * Max(Q(t + 1, j) - 1, 0)
_FALL = to_sgd(t) * Max(1 - Q(t, j), 0)
_EXACT = Eq(growth(Q), 1 + Sum(E(_RISE) + E(_FALL), (t, 1, T - 1)))

EXACT = Theorem(
    id="dp2.variation",
    title="What a change of mode costs",
    statement=_EXACT,
    kind=Kind.IDENTITY,
    source=_SOURCE,
    assumptions=(MODES, START, PLAIN, FROZEN),
    steps=(
        inequality(
            "path",
            Eq(_CHANGE, _RISE + _FALL),
            "modes",
            at("modes", {t: t + 1}),
            "plain",
            at("plain", {t: t + 1}),
            "frozen",
        ),
        expectation(
            "total",
            Eq(
                Sum(E(_CHANGE), (t, 1, T - 1)),
                Sum(E(_RISE) + E(_FALL), (t, 1, T - 1)),
            ),
            "path",
            by=Linearity(over=((t, 1, T - 1), E)),
        ),
        inequality("first-path", Eq(Q(1, j), 1), at("plain", {t: 1}), "start"),
        expectation("first", Eq(E(Q(1, j)), 1), "first-path", by=Linearity(over=(E,))),
        inequality("sum", _EXACT, "total", "first"),
    ),
    explanation=(
        "The growth of the metric over a run is 1 and, at every change to adaptive steps, what "
        "the preconditioner exceeds 1 by, and at every change back, what it falls short of 1 by. "
        "Inside a phase nothing is paid."
    ),
)

_SPREAD = to_adaptive(t) * Abs(Q(t + 1, j) - 1)
_OWED = mode(t) * Max(1 - Q(t, j), 0)
_CYCLES = Le(growth(Q), 1 + Sum(E(_SPREAD), (t, 1, T - 1)))

CYCLES = Theorem(
    id="dp2.variation.cycles",
    title="What a cycle of two phases costs",
    statement=_CYCLES,
    kind=Kind.TIGHT,
    source=_SOURCE,
    assumptions=(MODES, START, PLAIN, FROZEN),
    steps=(
        inequality(
            "path",
            Le(_CHANGE + _OWED.subs(t, t + 1), _SPREAD + _OWED),
            "modes",
            at("modes", {t: t + 1}),
            "plain",
            at("plain", {t: t + 1}),
            "frozen",
            note="a phase that is entered owes what it will pay when it is left",
        ),
        expectation(
            "mean",
            Le(E(_CHANGE) + E(_OWED.subs(t, t + 1)), E(_SPREAD) + E(_OWED)),
            "path",
            by=Linearity(over=(E,)),
        ),
        inequality("first-path", Eq(Q(1, j), 1), at("plain", {t: 1}), "start"),
        expectation("first", Eq(E(Q(1, j)), 1), "first-path", by=Linearity(over=(E,))),
        _split("split-changes", E(_CHANGE)),
        _split("split-spreads", E(_SPREAD)),
        inequality(
            "all",
            Le(
                Sum(E(_CHANGE), (t, 1, _until - 1)) + E(_OWED).subs(t, _until),
                Sum(E(_SPREAD), (t, 1, _until - 1)),
            ),
            "start",
            at("mean", {t: _until}),
            "split-changes",
            "split-spreads",
            induction=Induction(_until),
        ),
        inequality("sum", _CYCLES, at("all", {_until: T}), "first", at("modes", {t: T})),
    ),
    explanation=(
        "Entering and leaving one adaptive phase costs at most the mean distance of its "
        "preconditioner from 1: what it exceeds 1 by on the way in, what it falls short by on the "
        "way out."
    ),
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
        *_counting("next"),
        _split("split", to_adaptive(t)),
        inequality(
            "one",
            Eq(to_adaptive(t), floor((_LATER + 1) / 2) - floor((_EARLIER + 1) / 2)),
            "next",
            "phases",
            at("phases", {t: t + 1}),
            at("parity", {p: _EARLIER, q: _LATER}),
        ),
        inequality(
            "all",
            Eq(Sum(to_adaptive(t), (t, 1, _until - 1)), floor((phase(_until) + 1) / 2)),
            at("one", {t: _until}),
            "split",
            induction=Induction(_until),
        ),
        inequality(
            "last",
            Eq(_K, phase(T) + 1),
            *_between(_K - 1 - phase(T)),
            at("divide", {p: phase(T), q: _K, size: s}),
            at("divide", {p: _K - 1, q: phase(T) + 1, size: s}),
            *_between(T - s * (_K - 1)),
            note="floor((T-1)/s) s < T <= K s and (K-1) s <= T - 1 < (floor((T-1)/s) + 1) s",
        ),
        inequality(
            "sum",
            _COUNT,
            at("all", {_until: T}),
            "last",
            *_between(floor(_K / 2) - floor((phase(T) + 1) / 2)),
        ),
    ),
    explanation=(
        "With K = ceil(T/s) phases, DP-SGD first, floor(K/2) of them are adaptive: so often the "
        "preconditioner is renewed and used. T/(2s) is neither an upper nor a lower bound of it."
    ),
    evaluations={"bound": floor(ceiling(T / s) / 2)},
    curve=Curve("delay", (1, 2, 5, 10, 20, 50, 100), {"steps": 100}, log_x=True),
)


def adaptive_steps(end: Any) -> Any:
    """How many of the first `end` steps are adaptive."""
    cycles = floor(end / (2 * s))
    return s * cycles + Max(0, end - 2 * s * cycles - s)


_STEPS = Eq(Sum(mode(t), (t, 1, T)), adaptive_steps(T))
_p, _q, _q2 = floor(_until / s), floor(_until / (2 * s)), floor((_until + 1) / (2 * s))

STEPS = Theorem(
    id="dp2.variation.steps",
    title="How many adaptive steps a run has",
    statement=_STEPS,
    kind=Kind.IDENTITY,
    source=_SOURCE,
    assumptions=(PHASES,),
    steps=(
        inequality("whole", Or(z <= 0, z >= 1), integers=True, note="z is an integer"),
        inequality("divide", Implies(p * size < q * size, p < q)),
        inequality(
            "half",
            Or(Eq(_p, 2 * _q), Eq(_p, 2 * _q + 1)),
            at("divide", {p: 2 * _q, q: _p + 1, size: s}),
            at("divide", {p: _p, q: 2 * _q + 2, size: s}),
            *_between(_p - 2 * _q),
        ),
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
            Or(Eq(_q2, _q), And(Eq(_q2, _q + 1), Eq(_until + 1, 2 * s * (_q + 1)))),
            at("divide", {p: _q, q: _q2 + 1, size: 2 * s}),
            at("divide", {p: _q2 - 1, q: _q + 1, size: 2 * s}),
            *_between(_q2 - _q),
            *_between(_until - 2 * s * _q2),
            *_between(_until - 2 * s * (_q + 1)),
        ),
        inequality(
            "one",
            Eq(mode(_until + 1), adaptive_steps(_until + 1) - adaptive_steps(_until)),
            "half",
            "next",
            at("phases", {t: _until + 1}),
            at("parity", {p: _p, q: _q}),
            *_between(_until + 1 - s * (2 * _q + 1)),
        ),
        inequality(
            "first",
            Eq(mode(1), adaptive_steps(1)),
            at("phases", {t: 1}),
            at("divide", {p: 1, q: floor(1 / (2 * s)), size: 2 * s}),
            *_between(floor(1 / (2 * s))),
        ),
        inequality(
            "all",
            Eq(Sum(mode(t), (t, 1, _until)), adaptive_steps(_until)),
            "one",
            "first",
            induction=Induction(_until),
        ),
        inequality("sum", _STEPS, at("all", {_until: T})),
    ),
    explanation=(
        "Of T steps in alternating phases of s, DP-SGD first, exactly this many are adaptive: s "
        "for each full cycle of 2 s steps, and what is left over beyond s."
    ),
    evaluations={"bound": adaptive_steps(T)},
    curve=Curve("delay", (1, 2, 5, 10, 20, 40, 50, 60, 100), {"steps": 100}),
)

THEOREMS: tuple[Theorem, ...] = (EXACT, CYCLES, COUNT, STEPS)
