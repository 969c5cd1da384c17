"""Theorem C-TV in mode "freeze": a constant step, collection steps do not move."""

from __future__ import annotations

from sympy import Implies, Integer, Lambda, Or, Sum, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.common_models import freeze_models
from bounds.dp2.common_setting import (
    FROZEN_MOMENT,
    FROZEN_MOMENT_STEPS,
    FROZEN_NOISE,
    SIDE_STEPS,
    SIDES,
    run,
)
from bounds.dp2.counts import adaptive_steps, phase, until
from bounds.dp2.master import CAVEATS
from bounds.dp2.relations import Eq, Le
from bounds.dp2.setting import MOMENT, OVER_J, growth, noise_after
from bounds.dp2.symbols import D1, D, R, Rj, Tm, a, chi, eta, gap, omega, s
from bounds.operators import E, Max, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import Induction, at, cite, expectation, inequality
from bounds.symbols import T, j, t
from bounds.theorem import Kind, Source, Status, Theorem

_SOURCE = Source("li2023dp2", "convex analysis", Status.DERIVED)
x, y = Variable("x"), Variable("y")
b = Variable("b", positive=True)
p, q = Variable("p", integer=True), Variable("q", integer=True)
size = Variable("size", integer=True, positive=True)

_FROZEN = (t, 1, Tm)
_BEFORE_LAST = (t, 1, Tm - 1)
_RISE = Max(D(t + 1, j) - D(t, j), 0)
_CHANGE = Max(D(t + 1, j) / eta - D(t, j) / eta, 0)
_RENEWAL = phase(t + 1) - phase(t)
_V = R**2 * D1 * (1 + chi * phase(Tm))
_BOUND = R * sqrt(D1 * (1 + chi * phase(Tm)) * FROZEN_MOMENT / Tm)
_GAP = Sum(E(gap(t)), _FROZEN) / Tm
_ANY = _V / (2 * eta * Tm) + eta * FROZEN_MOMENT / 2
_STATEMENT = Le(_GAP, _BOUND)

FREEZE = Theorem(
    id="dp2.CTV.freeze",
    title="Theorem C-TV when collection steps do not move",
    statement=_STATEMENT,
    kind=Kind.UPPER,
    source=_SOURCE,
    assumptions=(
        *run(lambda step: eta, noise_after, _RENEWAL),
        FROZEN_NOISE,
        SIDES,
        Assumption(
            "variation",
            Implies(Eq(_RENEWAL, 1), Le(Sum(E(_RISE), OVER_J), chi * D1)),
            "at each update the preconditioner grows by at most chi D1 in mean 1-norm",
            CALLER,
        ),
        Assumption("noisy", FROZEN_MOMENT > 0, "there is a gradient or noise", CODE),
        Assumption(
            "tuned",
            Eq(eta, R * sqrt(D1 * (1 + chi * phase(Tm)) / (Tm * FROZEN_MOMENT))),
            "eta is the best step for these constants",
            CODE,
        ),
    ),
    steps=(
        *SIDE_STEPS,
        *FROZEN_MOMENT_STEPS,
        expectation(
            "moments",
            Le(Sum(Sum(MOMENT, OVER_J), _FROZEN), Tm * FROZEN_MOMENT),
            "moment",
            by=Linearity(over=(_FROZEN,)),
        ),
        inequality("divide", Implies(p * size < q * size, p < q)),
        inequality(
            "renewals",
            Or(Eq(_RENEWAL, 0), Eq(_RENEWAL, 1)),
            at("divide", {p: phase(t), q: phase(t + 1) + 1, size: s}),
            at("divide", {p: phase(t + 1) - 1, q: phase(t) + 1, size: s}),
            integers=True,
        ),
        inequality(
            "kept",
            Eq(_RISE, _RENEWAL * _RISE),
            "metric",
            at("metric", {t: t + 1}),
            "memory",
            "renewals",
        ),
        expectation(
            "kept-mean", Eq(E(_RISE), _RENEWAL * E(_RISE)), "kept", by=Linearity(over=(E,))
        ),
        expectation(
            "kept-sum",
            Eq(Sum(E(_RISE), OVER_J), _RENEWAL * Sum(E(_RISE), OVER_J)),
            "kept-mean",
            by=Linearity(over=(OVER_J,)),
        ),
        inequality(
            "rise",
            Le(Sum(E(_RISE), OVER_J), chi * D1 * _RENEWAL),
            "kept-sum",
            "variation",
            "renewals",
        ),
        inequality("rise-scale", Implies(x <= y, x * E(_RISE) <= y * E(_RISE))),
        inequality(
            "rise-side",
            Le(Rj(j) ** 2 * E(_RISE), R**2 * E(_RISE)),
            "squares",
            at("rise-scale", {x: Rj(j) ** 2, y: R**2}),
        ),
        expectation(
            "rise-sides",
            Le(Sum(Rj(j) ** 2 * E(_RISE), OVER_J), R**2 * Sum(E(_RISE), OVER_J)),
            "rise-side",
            by=Linearity(over=(OVER_J,)),
        ),
        inequality(
            "rise-box",
            Le(Sum(Rj(j) ** 2 * E(_RISE), OVER_J), R**2 * chi * D1 * _RENEWAL),
            "rise-sides",
            "rise",
            at("scale", {b: R**2, x: Sum(E(_RISE), OVER_J), y: chi * D1 * _RENEWAL}),
        ),
        expectation(
            "rises",
            Le(
                Sum(Sum(Rj(j) ** 2 * E(_RISE), OVER_J), _BEFORE_LAST),
                R**2 * chi * D1 * Sum(_RENEWAL, _BEFORE_LAST),
            ),
            "rise-box",
            by=Linearity(over=(_BEFORE_LAST,)),
        ),
        inequality(
            "telescope",
            Eq(Sum(_RENEWAL, (t, 1, until - 1)), phase(until)),
            induction=Induction(until),
        ),
        inequality(
            "counted",
            Eq(R**2 * chi * D1 * Sum(_RENEWAL, _BEFORE_LAST), R**2 * chi * D1 * phase(Tm)),
            at("telescope", {until: Tm}),
        ),
        inequality(
            "growth",
            Le(Sum(Rj(j) ** 2 * growth(D).subs(T, Tm), OVER_J), _V),
            "rises",
            "counted",
            at("last-metric", {t: 1}),
        ),
        inequality("scale-part", Eq(Max(b * x, 0), b * Max(x, 0))),
        inequality(
            "change-path",
            Eq(_CHANGE, _RISE / eta),
            at("scale-part", {b: 1 / eta, x: D(t + 1, j) - D(t, j)}),
        ),
        expectation(
            "change-mean", Eq(E(_CHANGE), E(_RISE) / eta), "change-path", by=Linearity(over=(E,))
        ),
        inequality(
            "change-weighted",
            Eq(Rj(j) ** 2 * E(_CHANGE), Rj(j) ** 2 * E(_RISE) / eta),
            "change-mean",
        ),
        expectation(
            "changes",
            Eq(
                Sum(Rj(j) ** 2 * Sum(E(_CHANGE), _BEFORE_LAST), OVER_J),
                Sum(Rj(j) ** 2 * Sum(E(_RISE), _BEFORE_LAST), OVER_J) / eta,
            ),
            "change-weighted",
            by=Linearity(over=(OVER_J, _BEFORE_LAST)),
        ),
        inequality(
            "sum",
            Le(2 * Sum(E(gap(t)), _FROZEN), _V / eta + eta * Tm * FROZEN_MOMENT),
            "changes",
            "growth",
            "moments",
            cite("dp2.master", {omega: Lambda(t, Integer(1)), a: Lambda(t, eta), T: Tm}),
        ),
        inequality("any-step", Le(_GAP, _ANY), "sum"),
        inequality("value", Eq(_ANY, _BOUND), "tuned", "noisy", integers=True),
        inequality("bound", _STATEMENT, "any-step", "value"),
    ),
    explanation=(
        "Collection steps leave the iterate where it is, t counts the T' adaptive steps. The "
        "first metric is already an average, so of the r = ceil(T'/s) updates only r - 1 happen "
        "between two steps that move."
    ),
    models=freeze_models,
    evaluations={
        "bound": _BOUND.subs(Tm, adaptive_steps(T)),
    },
    slack={
        "phase memory": "Shifting the one phase index that is shifted makes both equal: then v is "
        "never renewed, a special case of what is proved.",
    },
    caveats=(
        *CAVEATS,
        "A run of T steps with delay s has exactly T' = s floor(T/2s) + max(0, T - 2s floor(T/2s) "
        "- s) adaptive steps (dp2.variation.steps), and needs s < T to have any.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (FREEZE,)
