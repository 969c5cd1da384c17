"""Theorem C in mode "freeze": collection steps do not move, t counts the steps that do."""

from __future__ import annotations

from typing import Any

from sympy import Implies, Integer, Lambda, Or, Sum

from bounds.dp2.common_decay import at_root, decayed
from bounds.dp2.common_metric import SLOW
from bounds.dp2.common_models import freeze_models
from bounds.dp2.common_setting import (
    EMA,
    FROZEN_MOMENT,
    FROZEN_MOMENT_STEPS,
    FROZEN_NOISE,
    SIDE_STEPS,
    SIDES,
    run,
)
from bounds.dp2.counts import adaptive_steps, phase
from bounds.dp2.master import CAVEATS
from bounds.dp2.relations import Eq, Le
from bounds.dp2.setting import MOMENT, OVER_J, growth, noise_after
from bounds.dp2.symbols import D1, D, Q, R, Rj, Tm, a, alpha, eta, gap, omega, renew, s, upd
from bounds.operators import E, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, cite, expectation, inequality
from bounds.symbols import T, j, t
from bounds.theorem import Kind, Source, Status, Theorem

_SOURCE = Source("li2023dp2", "convex analysis", Status.DERIVED)
x, y = Variable("x"), Variable("y")
b = Variable("b", positive=True)
p, q = Variable("p", integer=True), Variable("q", integer=True)
size = Variable("size", integer=True, positive=True)

_FROZEN = (t, 1, Tm)


def _moved(step: Any) -> Any:
    """Updates before a step that moves the iterate: one comes before each adaptive phase."""
    return phase(step) + 1


_FROZEN_SIZE, _FROZEN_METRIC = decayed(_moved)
_FROZEN_RENEWAL = phase(t + 1) - phase(t)
_FROZEN_BOUND = alpha ** (-_moved(Tm)) * R**2 * D1 / (2 * eta * Tm) + eta / (2 * Tm) * Sum(
    alpha ** _moved(t) * FROZEN_MOMENT, _FROZEN
)
_FREEZE = Le(Sum(E(gap(t)), _FROZEN) / Tm, _FROZEN_BOUND)
_FROZEN_GROWTH = growth(_FROZEN_METRIC).subs(T, Tm)

FREEZE = Theorem(
    id="dp2.C.freeze",
    title="Theorem C when collection steps do not move",
    statement=_FREEZE,
    kind=Kind.UPPER,
    source=_SOURCE,
    assumptions=(
        *run(_FROZEN_SIZE, noise_after, _FROZEN_RENEWAL),
        FROZEN_NOISE,
        EMA,
        SLOW,
        SIDES,
    ),
    steps=(
        *SIDE_STEPS,
        *FROZEN_MOMENT_STEPS,
        inequality("divide", Implies(p * size < q * size, p < q)),
        inequality(
            "renewals",
            Or(Eq(_FROZEN_RENEWAL, 0), Eq(_FROZEN_RENEWAL, 1)),
            at("divide", {p: phase(t), q: phase(t + 1) + 1, size: s}),
            at("divide", {p: phase(t + 1) - 1, q: phase(t) + 1, size: s}),
            integers=True,
        ),
        inequality(
            "grows",
            Le(_FROZEN_METRIC(t, j), _FROZEN_METRIC(t + 1, j)),
            cite(
                "dp2.C.metric",
                {
                    a: Lambda(t, _FROZEN_SIZE(t)),
                    upd: Lambda(t, _moved(t)),
                    renew: Lambda(t, _FROZEN_RENEWAL),
                },
            ),
        ),
        inequality(
            "column",
            Eq(Rj(j) ** 2 * _FROZEN_GROWTH, Rj(j) ** 2 * E(_FROZEN_METRIC(Tm, j))),
            cite("dp2.variation.monotone", {Q: Lambda((t, j), _FROZEN_METRIC(t, j)), T: Tm}),
        ),
        expectation(
            "columns",
            Eq(
                Sum(Rj(j) ** 2 * _FROZEN_GROWTH, OVER_J),
                Sum(Rj(j) ** 2 * E(_FROZEN_METRIC(Tm, j)), OVER_J),
            ),
            "column",
            by=Linearity(over=(OVER_J,)),
        ),
        inequality(
            "weighted-moment",
            Le(_FROZEN_SIZE(t) * Sum(MOMENT, OVER_J), _FROZEN_SIZE(t) * FROZEN_MOMENT),
            "moment",
            at("scale", {b: _FROZEN_SIZE(t), x: Sum(MOMENT, OVER_J), y: FROZEN_MOMENT}),
        ),
        expectation(
            "moments",
            Le(
                Sum(_FROZEN_SIZE(t) * Sum(MOMENT, OVER_J), _FROZEN),
                Sum(_FROZEN_SIZE(t) * FROZEN_MOMENT, _FROZEN),
            ),
            "weighted-moment",
            by=Linearity(over=(_FROZEN,)),
        ),
        inequality(
            "last",
            Le(Sum(Rj(j) ** 2 * E(_FROZEN_METRIC(Tm, j)), OVER_J), R**2 * D1 / _FROZEN_SIZE(Tm)),
            at("last-metric", {t: Tm}),
            at(
                "scale",
                {
                    b: 1 / _FROZEN_SIZE(Tm),
                    x: Sum(Rj(j) ** 2 * E(D(Tm, j)), OVER_J),
                    y: R**2 * D1,
                },
            ),
        ),
        inequality(
            "sum",
            Le(
                2 * Sum(E(gap(t)), _FROZEN),
                R**2 * D1 / _FROZEN_SIZE(Tm) + Sum(_FROZEN_SIZE(t) * FROZEN_MOMENT, _FROZEN),
            ),
            "columns",
            "moments",
            "last",
            cite(
                "dp2.master",
                {omega: Lambda(t, Integer(1)), a: Lambda(t, _FROZEN_SIZE(t)), T: Tm},
            ),
        ),
        inequality("average", _FREEZE, "sum"),
    ),
    explanation=(
        "Collection steps only collect: they leave the iterate where it is, so t counts the T' "
        "adaptive steps. Averaged gradient and noise of a phase are then independent. Half the "
        "steps are spent, and the rate is worse by about sqrt(2)."
    ),
    models=freeze_models,
    evaluations={
        "bound": at_root(_FROZEN_BOUND).subs(Tm, adaptive_steps(T)),
    },
    caveats=(
        *CAVEATS,
        "A run of T steps with delay s has exactly T' = s floor(T/2s) + max(0, T - 2s floor(T/2s) "
        "- s) adaptive steps (dp2.variation.steps), and needs s < T to have any.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (FREEZE,)
