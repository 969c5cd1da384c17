"""The first phase alone: plain DP-SGD for s steps bounds the same best gap, often by less."""

from __future__ import annotations

from sympy import And, Implies, Lambda, Sum, ceiling, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.exponent import phase, plain
from bounds.dp2.relations import Eq, Ge, Le
from bounds.dp2.schedule import SIDES, by_phase, last_metric
from bounds.dp2.schedule_closed import CLIPPED
from bounds.dp2.schedule_curve import delay_curve
from bounds.dp2.schedule_metric import PLAIN, SCHEDULE
from bounds.dp2.schedule_models import best_models
from bounds.dp2.setting import ASSUMPTIONS, MOMENT, OVER_J
from bounds.dp2.symbols import (
    C,
    D,
    Dn,
    K,
    R,
    Rj,
    a,
    alpha,
    best_gap,
    eta,
    g,
    gap,
    nu,
    nu1,
    omega,
    s,
)
from bounds.operators import E, Index, Max
from bounds.proof.methods import Linearity
from bounds.proof.step import Induction, Step, at, cite, expectation, inequality
from bounds.symbols import T, d, j, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

OVER_S = (t, 1, s)
BEST = Assumption(
    "best",
    Implies(Le(t, T), Le(best_gap, E(gap(t)))),
    "no step up to T has an expected gap below the best one",
    CODE,
)
PLAIN_NOISE = Assumption(
    "plain-noise",
    Implies(plain(t), Eq(nu(t), nu1)),
    "the noise of DP-SGD phases has standard deviation nu1",
    CODE,
)
LONG = Assumption("long", Le(s, T), "the run has at least one full phase", CODE)
STEP = C**2 + d * nu1**2
SUMMED = R**2 * d / (2 * eta * sqrt(s)) + eta * STEP / (2 * s) * Sum(1 / sqrt(t), OVER_S)
SHORT = (R**2 * d / eta + 2 * eta * STEP) / (2 * sqrt(s))

_until = Index("until")
_fall = Max(D(t, j) / a(t) - D(t + 1, j) / a(t + 1), 0)


def _first_steps() -> tuple[Step, ...]:
    return (
        inequality(
            "first",
            Implies(Le(t, s), Eq(phase(t), 0)),
            note="(t - 1)/s lies in [0, 1)",
        ),
        inequality("first-plain", Implies(Le(t, s), plain(t)), "first", integers=True),
        inequality("one", Implies(Le(t, s), Eq(D(t, j), 1)), "first-plain", "plain"),
        inequality(
            "size",
            Implies(Le(t, s), Eq(a(t), eta / sqrt(t))),
            "first",
            "schedule",
        ),
        inequality("noise", Implies(Le(t, s), Eq(nu(t), nu1)), "first-plain", "plain-noise"),
        inequality(
            "no-fall",
            Implies(Le(t, s - 1), Le(_fall, 0)),
            "one",
            at("one", {t: t + 1}),
            "size",
            at("size", {t: t + 1}),
        ),
    )


def _summed_steps() -> tuple[Step, ...]:
    moment = Sum(MOMENT, OVER_J)
    return (
        inequality(
            "moment-of-coordinate",
            Implies(
                Le(t, s),
                Eq(
                    g(t, j) ** 2 / D(t, j),
                    g(t, j) ** 2,
                ),
            ),
            "one",
        ),
        expectation(
            "gradients",
            Implies(
                Le(t, s),
                Eq(Sum(E(g(t, j) ** 2 / D(t, j)), OVER_J), E(Sum(g(t, j) ** 2, OVER_J))),
            ),
            "moment-of-coordinate",
            by=Linearity(over=(OVER_J, E)),
        ),
        expectation(
            "norms",
            Implies(Le(t, s), Eq(Sum(E(D(t, j)), OVER_J), d)),
            "one",
            by=Linearity(over=(OVER_J, E)),
        ),
        expectation(
            "clipped-mean",
            Le(E(Sum(g(t, j) ** 2, OVER_J)), C**2),
            "clipped",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "moment",
            Implies(Le(t, s), Le(moment, STEP)),
            "gradients",
            "norms",
            "clipped-mean",
            "noise",
        ),
        inequality(
            "weighed-moment",
            Implies(Le(t, s), Le(a(t) * moment, eta * STEP / sqrt(t))),
            "moment",
            "size",
        ),
        expectation(
            "moments",
            Le(Sum(a(t) * moment, OVER_S), eta * STEP * Sum(1 / sqrt(t), OVER_S)),
            "weighed-moment",
            by=Linearity(over=(OVER_S,)),
        ),
        expectation(
            "no-mean-fall",
            Implies(Le(t, s - 1), Le(E(_fall), 0)),
            "no-fall",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "no-fall-side",
            Implies(Le(t, s - 1), Le(Rj(j) ** 2 * E(_fall), 0)),
            "no-mean-fall",
        ),
        expectation(
            "no-falls",
            Le(Sum(Rj(j) ** 2 * E(_fall), (t, 1, s - 1), OVER_J), 0),
            "no-fall-side",
            by=Linearity(over=(OVER_J, (t, 1, s - 1))),
        ),
        inequality("side", Le(Rj(j) ** 2, R**2), "sides"),
        expectation(
            "sides-sum", Le(Sum(Rj(j) ** 2, OVER_J), d * R**2), "side", by=Linearity(over=(OVER_J,))
        ),
        expectation("last-mean", Eq(E(D(s, j)), 1), at("one", {t: s}), by=Linearity(over=(E,))),
        inequality("last-side", Eq(Rj(j) ** 2 * E(D(s, j)), Rj(j) ** 2), "last-mean"),
        expectation(
            "last",
            Eq(Sum(Rj(j) ** 2 * E(D(s, j)), OVER_J), Sum(Rj(j) ** 2, OVER_J)),
            "last-side",
            by=Linearity(over=(OVER_J,)),
        ),
        inequality("early-best", Implies(Le(t, s), Le(best_gap, E(gap(t)))), "best", "long"),
        expectation(
            "best-of-phase",
            Le(s * best_gap, Sum(E(gap(t)), OVER_S)),
            "early-best",
            by=Linearity(over=(OVER_S,)),
        ),
        inequality(
            "roots",
            Le(Sum(1 / sqrt(t), (t, 1, _until)), 2 * sqrt(_until)),
            induction=Induction(_until),
        ),
    )


FIRST_PHASE_BOUND = Theorem(
    id="dp2.first-phase.bound",
    title="The first phase alone",
    statement=And(Le(best_gap, SUMMED), Le(SUMMED, SHORT)),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "comparison with DP-SGD", Status.DERIVED),
    assumptions=(
        *ASSUMPTIONS,
        SCHEDULE,
        PLAIN,
        PLAIN_NOISE,
        SIDES,
        CLIPPED,
        LONG,
        BEST,
    ),
    steps=(
        *_first_steps(),
        *_summed_steps(),
        inequality(
            "sum",
            Le(
                s * best_gap,
                d * R**2 * sqrt(s) / (2 * eta) + eta * STEP * Sum(1 / sqrt(t), OVER_S) / 2,
            ),
            cite("dp2.master.down", {omega: Lambda(t, 1), T: s}),
            "best-of-phase",
            "no-falls",
            "last",
            "sides-sum",
            "moments",
            at("size", {t: s}),
        ),
        inequality("divided", Le(best_gap, SUMMED), "sum"),
        inequality(
            "closed",
            Le(SUMMED, SHORT),
            at("roots", {_until: s}),
        ),
        inequality("statement", And(Le(best_gap, SUMMED), Le(SUMMED, SHORT)), "divided", "closed"),
    ),
    explanation=(
        "The first phase of DP² is s steps of plain DP-SGD, and the best of all iterates is at "
        "least as good as the best of these. So the bound of DP-SGD with s steps holds for the "
        "whole run, whatever happens later. `summed` keeps the sum of 1/sqrt(t), `bound` "
        "replaces it by 2 sqrt(s)."
    ),
    evaluations={"bound": SHORT, "summed": SUMMED},
    models=best_models,
    curve=Curve(
        along="delay",
        values=(30, 40, 50, 60, 75, 100, 120, 150, 200, 300, 400, 500, 600),
        fixed={
            "dimension": 10,
            "diameter": 2.0,
            "learning_rate": 1.0,
            "gradient_bound": 1.0,
            "noise_std": 1 / 32,
        },
        names=("bound", "summed"),
    ),
    caveats=("It bounds the smallest gap, not the mean of the gaps over the run.",),
)

_RATIO = 1 + 2 * eta**2 * STEP / (d * R**2)
PHASES = Assumption("phases", Eq(K, ceiling(T / s)), "the run has K = ceil(T/s) phases", CODE)
GROWN = Assumption(
    "grown",
    Ge(Dn(T) / (d * alpha ** phase(T)), sqrt(K) * _RATIO),
    "E||D_T||_1 alpha^-(K - 1)/d is at least sqrt(K) (1 + 2 eta^2 (C^2 + d nu1^2)/(d R^2))",
    CODE,
)

DOMINATION = Theorem(
    id="dp2.first-phase",
    title="The first phase alone is below theorem A",
    statement=Le(SHORT, last_metric()),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "comparison with DP-SGD", Status.DERIVED),
    assumptions=(PHASES, GROWN),
    steps=(
        inequality("enough-phases", Le(T, K * s), "phases", note="ceil(T/s) s is at least T"),
        inequality(
            "swap",
            Le(_RATIO / sqrt(s), Dn(T) / (d * alpha ** phase(T)) / sqrt(T)),
            "enough-phases",
            "grown",
        ),
        inequality(
            "scaled",
            Le(
                R**2 * d / (2 * eta) * _RATIO / sqrt(s),
                last_metric(),
            ),
            "swap",
        ),
        inequality("statement", Le(SHORT, last_metric()), "scaled"),
    ),
    evaluations={
        "bound": SHORT,
        "needed": sqrt(ceiling(T / s)) * _RATIO,
        "growth": by_phase(Dn(T) / (d * alpha ** phase(T))),
    },
    explanation=(
        "As soon as E||D_T||_1 alpha^-(K - 1)/d is at least sqrt(K) times a number near 1, the "
        "bound for the first phase alone is below the first term of theorem A (and of its closed "
        "form). With alpha at most 1/2 that is so from the third phase on unless gradients and "
        "noise dominate the diameter: theorem A says something for very few phases only."
    ),
    models=best_models,
    curve=delay_curve("learning_rate gradient_bound", names=("needed", "growth")),
    caveats=(
        "It compares two upper bounds. That the first phase alone has the smaller bound does not "
        "say that later phases do not help.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (FIRST_PHASE_BOUND, DOMINATION)
