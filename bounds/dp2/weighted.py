"""Theorem W: steps weighted by their step sizes. The schedule's exponential factor is gone."""

from __future__ import annotations

from typing import Any

from sympy import Abs, Implies, Lambda, Sum, ceiling, floor, sqrt

from bounds.assumptions import CALLER, Assumption
from bounds.dp2.counts import PHASES, in_phase, phase, to_adaptive
from bounds.dp2.master import CAVEATS
from bounds.dp2.relations import Eq, Le
from bounds.dp2.runs_convex import rate_models
from bounds.dp2.setting import OVER_J, OVER_T, growth
from bounds.dp2.symbols import D, Q, Rj, a, alpha, eta, gap, kappa, mode, omega, s
from bounds.dp2.two_modes import MOMENT_STEPS, ONE_MOMENT, moment_bound, run
from bounds.dp2.variation import to_sgd
from bounds.operators import E, Max, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, cite, expectation, inequality
from bounds.symbols import T, j, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_SOURCE = Source("li2023dp2", "convex analysis", Status.DERIVED)
x, y = Variable("x"), Variable("y")
b = Variable("b", positive=True)

GAPS = Sum(a(t) * E(gap(t)), OVER_T)
MOMENTS = Sum(a(t) ** 2 * moment_bound(t), OVER_T)
RISES = to_adaptive(t) * E(Max(D(t + 1, j) - 1, 0)) + to_sgd(t) * E(Max(1 - D(t, j), 0))
VARIATION = Sum(Rj(j) ** 2 * (1 + Sum(RISES, (t, 1, T - 1))), OVER_J)

_W = Le(GAPS / Sum(a(t), OVER_T), (VARIATION + MOMENTS) / (2 * Sum(a(t), OVER_T)))
W = Theorem(
    id="dp2.W",
    title="Theorem W: step-size weights instead of an exponential factor",
    statement=_W,
    kind=Kind.TIGHT,
    source=_SOURCE,
    assumptions=run(a),
    steps=(
        *MOMENT_STEPS,
        inequality("scale", Implies(x <= y, b * x <= b * y)),
        inequality(
            "weighted-moment",
            Le(a(t) ** 2 * ONE_MOMENT, a(t) ** 2 * moment_bound(t)),
            "moment",
            at("scale", {b: a(t) ** 2, x: ONE_MOMENT, y: moment_bound(t)}),
        ),
        expectation(
            "moments",
            Le(Sum(a(t) ** 2 * ONE_MOMENT, OVER_T), MOMENTS),
            "weighted-moment",
            by=Linearity(over=(OVER_T,)),
        ),
        inequality(
            "growth",
            Eq(
                Rj(j) ** 2 * (E(D(1, j)) + Sum(E(Max(D(t + 1, j) - D(t, j), 0)), (t, 1, T - 1))),
                Rj(j) ** 2 * (1 + Sum(RISES, (t, 1, T - 1))),
            ),
            cite("dp2.variation", {Q: Lambda((t, j), D(t, j))}),
        ),
        expectation(
            "growths",
            Eq(
                Sum(
                    Rj(j) ** 2
                    * (E(D(1, j)) + Sum(E(Max(D(t + 1, j) - D(t, j), 0)), (t, 1, T - 1))),
                    OVER_J,
                ),
                VARIATION,
            ),
            "growth",
            by=Linearity(over=(OVER_J,)),
        ),
        inequality(
            "sum",
            Le(GAPS, (VARIATION + MOMENTS) / 2),
            "growths",
            "moments",
            cite("dp2.master", {omega: Lambda(t, a(t))}),
        ),
        inequality("weighted-mean", _W, "sum"),
    ),
    explanation=(
        "The step-size-weighted mean of the expected gaps. It pays for every change of mode by "
        "how far the preconditioner is from 1 there, and no longer by a power of 1/decay: the "
        "price grows linearly with the number of phases. Nothing in the algorithm changes, only "
        "which average of the iterates is taken; no cap on v and no condition on the decay."
    ),
    models=rate_models,
    caveats=(
        *CAVEATS,
        "The schedule itself stops: the step sizes add up to at most about "
        "2 eta sqrt(s)/(1 - decay), however long the run is.",
    ),
)

_CYCLES = floor(ceiling(T / s) / 2)
_BEFORE = Sum(Rj(j) ** 2 * (1 + kappa(j) * _CYCLES), OVER_J)
_APRIORI = Le(GAPS / Sum(a(t), OVER_T), (_BEFORE + MOMENTS) / (2 * Sum(a(t), OVER_T)))


def _scheduled(expression: Any) -> Any:
    """With alternating phases and the step sizes of the paper's schedule."""

    def size(step: Any) -> Any:
        return eta * alpha ** phase(step) / sqrt(step)

    return expression.replace(a, size).replace(mode, in_phase)


APRIORI = Theorem(
    id="dp2.W.apriori",
    title="Theorem W before the run",
    statement=_APRIORI,
    kind=Kind.UPPER,
    source=_SOURCE,
    assumptions=(
        *run(a),
        PHASES,
        Assumption(
            "spread",
            Implies(Eq(mode(t), 1), Le(E(Abs(D(t, j) - 1)), kappa(j))),
            "in adaptive steps the preconditioner is within kappa_j of 1 on average",
            CALLER,
        ),
    ),
    steps=(
        inequality("scale", Implies(x <= y, b * x <= b * y)),
        inequality(
            "column",
            Le(
                Rj(j) ** 2 * growth(D),
                Rj(j) ** 2 * (1 + kappa(j) * _CYCLES),
            ),
            cite("dp2.variation.bounded", {Q: Lambda((t, j), D(t, j))}),
            at("scale", {b: Rj(j) ** 2, x: growth(D), y: 1 + kappa(j) * _CYCLES}),
        ),
        inequality(
            "column-exact",
            Eq(Rj(j) ** 2 * (1 + Sum(RISES, (t, 1, T - 1))), Rj(j) ** 2 * growth(D)),
            cite("dp2.variation", {Q: Lambda((t, j), D(t, j))}),
        ),
        inequality(
            "column-bound",
            Le(
                Rj(j) ** 2 * (1 + Sum(RISES, (t, 1, T - 1))),
                Rj(j) ** 2 * (1 + kappa(j) * _CYCLES),
            ),
            "column",
            "column-exact",
        ),
        expectation(
            "columns", Le(VARIATION, _BEFORE), "column-bound", by=Linearity(over=(OVER_J,))
        ),
        inequality("bound", _APRIORI, "columns", cite("dp2.W")),
    ),
    explanation=(
        "Theorem W with numbers that are known before the run: floor(K/2) adaptive phases, and a "
        "bound on how far the preconditioner is from 1."
    ),
    models=rate_models,
    evaluations={
        "bound": _scheduled((_BEFORE + MOMENTS) / (2 * Sum(a(t), OVER_T))),
    },
    curve=Curve(
        "delay",
        (30, 60, 100, 150, 200, 300, 600),
        {
            "steps": 600,
            "dimension": 10,
            "side": (2.0,) * 10,
            "metric_spread": (0.5,) * 10,
            "learning_rate": 1.0,
            "decay": 0.5,
            "gradient_bound": 1.0,
            "noise_std": 0.03125,
            "preconditioned_noise_std": 0.0625,
            "preconditioned_gradient_moment": 2.0,
            "preconditioner_norm": 8.0,
        },
        log_x=True,
        log_y=True,
    ),
    caveats=CAVEATS,
)

THEOREMS: tuple[Theorem, ...] = (W, APRIORI)
