"""What it costs to alternate between the identity and a preconditioner, and how often it happens.

Q is the metric relative to that of DP-SGD: 1 in DP-SGD steps, some positive diagonal in adaptive
ones. Phases of s steps alternate, DP-SGD first; step t is in phase floor((t - 1)/s).
"""

from __future__ import annotations

from typing import Any

from sympy import Abs, Eq, Implies, Le, Max, Or, Sum, ceiling, floor

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
    Eq(mode(t), phase(t) - 2 * floor(phase(t) / 2)),
    "phases of s steps alternate, DP-SGD first",
    CODE,
)

_until = Index("until")
p, q = Variable("p", integer=True), Variable("q", integer=True)
size = Variable("size", integer=True, positive=True)


def _split(id: str, term: Any) -> Step:
    """The last term of a sum up to `until` by itself."""
    total = Sum(term, (t, 1, _until - 1)) + term.subs(t, _until)
    return identity(id, Eq(Sum(term, (t, 1, _until)), total), induction=Induction(_until))


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
_EARLIER, _LATER = phase(t), phase(t + 1)

COUNT = Theorem(
    id="dp2.variation.count",
    title="How many adaptive phases a run has",
    statement=_COUNT,
    kind=Kind.IDENTITY,
    source=_SOURCE,
    assumptions=(PHASES,),
    steps=(
        inequality(
            "next",
            Or(Eq(_LATER, _EARLIER), Eq(_LATER, _EARLIER + 1)),
            integers=True,
            note="a phase is followed by itself or by the next one",
        ),
        _split("split", to_adaptive(t)),
        inequality(
            "parity",
            Implies(
                Or(Eq(q, p), Eq(q, p + 1)),
                Eq(
                    Max(q - 2 * floor(q / 2) - p + 2 * floor(p / 2), 0),
                    floor((q + 1) / 2) - floor((p + 1) / 2),
                ),
            ),
            integers=True,
            note="from an even phase to the next one, and only then",
        ),
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
            integers=True,
        ),
        inequality("divide", Implies(p * size < q * size, p < q)),
        inequality("whole", Implies(p < q, p + 1 <= q), integers=True),
        inequality(
            "below",
            phase(T) < ceiling(T / s),
            at("divide", {p: phase(T), q: ceiling(T / s), size: s}),
            note="floor((T-1)/s) s <= T - 1 < T <= ceil(T/s) s",
        ),
        inequality(
            "above",
            ceiling(T / s) - 1 < phase(T) + 1,
            at("divide", {p: ceiling(T / s) - 1, q: phase(T) + 1, size: s}),
            at("whole", {p: s * (ceiling(T / s) - 1), q: T}),
            note="(ceil(T/s) - 1) s <= T - 1 < (floor((T-1)/s) + 1) s",
        ),
        inequality(
            "last",
            Eq(ceiling(T / s), phase(T) + 1),
            "below",
            "above",
            at("whole", {p: phase(T), q: ceiling(T / s)}),
            at("whole", {p: ceiling(T / s) - 1, q: phase(T) + 1}),
        ),
        inequality("sum", _COUNT, at("all", {_until: T}), "last", integers=True),
    ),
    explanation=(
        "With K = ceil(T/s) phases, DP-SGD first, floor(K/2) of them are adaptive: so often the "
        "preconditioner is renewed and used. T/(2s) is neither an upper nor a lower bound of it."
    ),
    evaluations={"bound": floor(ceiling(T / s) / 2)},
    curve=Curve("delay", (1, 2, 5, 10, 20, 50, 100), {"steps": 100}, log_x=True),
)

_SHARE = s * floor(T / (2 * s)) + Max(0, T - 2 * s * floor(T / (2 * s)) - s)
_STEPS = Eq(Sum(mode(t), (t, 1, T)), _SHARE)

THEOREMS: tuple[Theorem, ...] = (EXACT, CYCLES, COUNT)
