"""What it costs to alternate between the identity and a preconditioner, and how often it happens.

Q is the metric relative to that of DP-SGD: 1 in DP-SGD steps, some positive diagonal in adaptive
ones. Phases of s steps alternate, DP-SGD first; step t is in phase floor((t - 1)/s).
"""

from __future__ import annotations

from typing import Any

from sympy import Abs, Implies, Sum, ceiling, floor

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.counts import PHASES, to_adaptive, until
from bounds.dp2.relations import Eq, Le
from bounds.dp2.runs_convex import rate_models
from bounds.dp2.setting import MODES, growth
from bounds.dp2.symbols import Q, kappa, mode, s
from bounds.operators import E, Max
from bounds.proof.methods import Linearity
from bounds.proof.step import Induction, at, cite, expectation, inequality
from bounds.symbols import T, j, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_SOURCE = Source("li2023dp2", "convex analysis", Status.DERIVED)


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
    models=rate_models,
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
        inequality(
            "all",
            Le(
                Sum(E(_CHANGE), (t, 1, until - 1)) + E(_OWED).subs(t, until),
                Sum(E(_SPREAD), (t, 1, until - 1)),
            ),
            "start",
            at("mean", {t: until}),
            induction=Induction(until),
        ),
        inequality("sum", _CYCLES, at("all", {until: T}), "first", at("modes", {t: T})),
    ),
    explanation=(
        "Entering and leaving one adaptive phase costs at most the mean distance of its "
        "preconditioner from 1: what it exceeds 1 by on the way in, what it falls short by on the "
        "way out."
    ),
    models=rate_models,
)

_MONOTONE = Eq(growth(Q), E(Q(T, j)))

MONOTONE = Theorem(
    id="dp2.variation.monotone",
    title="A metric that never shrinks",
    statement=_MONOTONE,
    kind=Kind.IDENTITY,
    source=_SOURCE,
    assumptions=(
        Assumption("grows", Le(Q(t, j), Q(t + 1, j)), "the metric never shrinks in any run", CODE),
    ),
    steps=(
        inequality("path", Eq(_CHANGE, Q(t + 1, j) - Q(t, j)), "grows"),
        expectation(
            "mean",
            Eq(E(_CHANGE), E(Q(t + 1, j)) - E(Q(t, j))),
            "path",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "all",
            Eq(E(Q(1, j)) + Sum(E(_CHANGE), (t, 1, until - 1)), E(Q(until, j))),
            at("mean", {t: until}),
            induction=Induction(until),
        ),
        inequality("sum", _MONOTONE, at("all", {until: T})),
    ),
    explanation=(
        "If the metric never shrinks its growth telescopes, and only the last metric is paid for. "
        "It has to hold in every run: that the metric grows on average is not enough."
    ),
    models=rate_models,
)

_BOUNDED = Le(growth(Q), 1 + kappa(j) * floor(ceiling(T / s) / 2))

BOUNDED = Theorem(
    id="dp2.variation.bounded",
    title="What all cycles cost, before the run",
    statement=_BOUNDED,
    kind=Kind.UPPER,
    source=_SOURCE,
    assumptions=(
        MODES,
        START,
        PLAIN,
        FROZEN,
        PHASES,
        Assumption(
            "spread",
            Implies(Eq(mode(t), 1), Le(E(Abs(Q(t, j) - 1)), kappa(j))),
            "in adaptive steps the relative metric is within kappa_j of 1 on average",
            CALLER,
        ),
    ),
    steps=(
        inequality(
            "once",
            Le(E(_SPREAD), to_adaptive(t) * kappa(j)),
            "modes",
            at("modes", {t: t + 1}),
            at("spread", {t: t + 1}),
        ),
        expectation(
            "all",
            Le(
                Sum(E(_SPREAD), (t, 1, T - 1)),
                kappa(j) * Sum(to_adaptive(t), (t, 1, T - 1)),
            ),
            "once",
            by=Linearity(over=((t, 1, T - 1),)),
        ),
        inequality(
            "counted",
            Eq(
                kappa(j) * Sum(to_adaptive(t), (t, 1, T - 1)),
                kappa(j) * floor(ceiling(T / s) / 2),
            ),
            cite("dp2.variation.count"),
        ),
        inequality("sum", _BOUNDED, "all", "counted", cite("dp2.variation.cycles")),
    ),
    explanation=(
        "The number of adaptive phases, floor(K/2), times the distance of the preconditioner from "
        "1: linear in the number of phases."
    ),
    models=rate_models,
    evaluations={"bound": 1 + kappa(j) * floor(ceiling(T / s) / 2)},
    curve=Curve(
        "delay",
        (1, 2, 5, 10, 20, 50, 100),
        {"steps": 100, "metric_spread": (0.5,), "coordinate": 1},
        log_x=True,
    ),
)

THEOREMS: tuple[Theorem, ...] = (EXACT, CYCLES, MONOTONE, BOUNDED)
