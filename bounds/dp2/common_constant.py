"""Theorem C-TV: a common metric and a constant step; what is paid is the growth of the metric."""

from __future__ import annotations

from sympy import Abs, And, Implies, Integer, Lambda, Sum, ceiling, floor, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.best_step import best_step, best_step_proof
from bounds.dp2.common_decay import DIVIDED_STEPS
from bounds.dp2.common_models import common_models, metric_models
from bounds.dp2.common_setting import (
    EMA,
    GRADIENTS,
    METRIC,
    RENEWALS,
    SIDE_STEPS,
    SIDES,
    memory,
    run,
)
from bounds.dp2.counts import PHASES, adaptive_steps, to_adaptive
from bounds.dp2.master import CAVEATS
from bounds.dp2.relations import Eq, Ge, Le
from bounds.dp2.setting import MODES, MOMENT_MIXED, OVER_J, OVER_T, growth, noise_mixed
from bounds.dp2.symbols import (
    D1,
    G0,
    V0,
    D,
    Gam,
    Gc,
    R,
    Rj,
    X,
    a,
    beta,
    chi,
    eps,
    eta,
    gap,
    mode,
    nu1,
    nu2,
    omega,
    renew,
    s,
    v,
)
from bounds.dp2.two_modes import NOISE
from bounds.operators import E, Max, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, cite, expectation, inequality
from bounds.symbols import T, d, j, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_SOURCE = Source("li2023dp2", "convex analysis", Status.DERIVED)
x, y = Variable("x"), Variable("y")
b = Variable("b", positive=True)

GAP = Sum(E(gap(t)), OVER_T) / T
_RISE = Max(D(t + 1, j) - D(t, j), 0)
_CHANGE = Max(D(t + 1, j) / eta - D(t, j) / eta, 0)
_COUNT = floor(ceiling(T / s) / 2)

_RENEWED = Le(Sum(E(_RISE), OVER_J), chi * D1)
RENEWED = Theorem(
    id="dp2.CTV.chi",
    title="How much a renewal lets the preconditioner grow",
    statement=_RENEWED,
    kind=Kind.UPPER,
    source=_SOURCE,
    assumptions=(
        METRIC,
        EMA,
        Assumption("ratio", Ge(chi**2, 1 - beta), "chi is sqrt(1 - beta), or larger", CODE),
        RENEWALS,
        memory(renew(t)),
        Assumption(
            "averages",
            Le(Sum(E(Abs(X(t, j))), OVER_J), D1),
            "D1 bounds the 1-norm of the released averages, too",
            CALLER,
        ),
    ),
    steps=(
        inequality(
            "root",
            Implies(
                And(beta < 1, Ge(x, 0), Ge(chi**2, 1 - beta)),
                Le(sqrt(beta * x + (1 - beta) * y**2), sqrt(x) + chi * Abs(y)),
            ),
        ),
        inequality(
            "path",
            Le(_RISE, chi * Abs(X(t, j))),
            "metric",
            at("metric", {t: t + 1}),
            "memory",
            "ema",
            "ratio",
            "renewals",
            at("root", {x: v(t, j), y: X(t, j)}),
        ),
        expectation(
            "mean",
            Le(Sum(E(_RISE), OVER_J), chi * Sum(E(Abs(X(t, j))), OVER_J)),
            "path",
            by=Linearity(over=(OVER_J, E)),
        ),
        inequality("bounded", _RENEWED, "mean", "averages"),
    ),
    explanation=(
        "One update of an EMA adds at most sqrt(1 - beta) times the new average to the root of v. "
        "So chi = sqrt(1 - beta) is always right; a pilot may find a smaller one."
    ),
    models=metric_models,
    evaluations={"bound": sqrt(1 - beta) * D1},
    curve=Curve("ema", (0.0, 0.5, 0.9, 0.99), {"preconditioner_norm": 1.0}),
)

CTV_CAVEATS = (
    *CAVEATS,
    "chi and D1 must hold for the run. chi = sqrt(1 - beta) always does when D1 also bounds "
    "E||X||_1 of the released averages; numbers from a pilot are promises.",
    "The number of updates is r = floor(ceil(T/s)/2). T/(2s) in its place is no bound.",
    "C C2 bounds the gradient moment in adaptive steps only: collection steps clip the gradient "
    "before the preconditioner, so Gamma_c is C^2/damping or the staleness bound.",
    "Collection steps really pay nu1^2 d/damping for noise; the larger of that and of the "
    "adaptive noise is charged. They agree on which is larger when C2 = C1/damping.",
)

PILOT = Assumption(
    "variation",
    Implies(Eq(to_adaptive(t), 1), Le(Sum(E(_RISE), OVER_J), chi * D1)),
    "at each update the preconditioner grows by at most chi D1 in mean 1-norm (chi = "
    "sqrt(1 - beta) always holds, dp2.CTV.chi)",
    CALLER,
)

_V = R**2 * D1 * (1 + chi * _COUNT)
_ADAPTIVE = Gam + nu2**2 * D1
_COLLECTING = Gc + Max(nu2**2 * D1, nu1**2 * d / eps)
_G = adaptive_steps(T) * _ADAPTIVE + (T - adaptive_steps(T)) * _COLLECTING
_MOMENT = mode(t) * _ADAPTIVE + (1 - mode(t)) * _COLLECTING

_ANY = Le(GAP, _V / (2 * eta * T) + eta * _G / (2 * T))
ANY_STEP = Theorem(
    id="dp2.CTV.any-step",
    title="Theorem C-TV: one metric, a constant step",
    statement=_ANY,
    kind=Kind.UPPER,
    source=_SOURCE,
    assumptions=(
        *run(lambda step: eta, noise_mixed, to_adaptive(t), GRADIENTS),
        MODES,
        NOISE,
        PHASES,
        SIDES,
        PILOT,
    ),
    steps=(
        *SIDE_STEPS,
        *DIVIDED_STEPS,
        inequality(
            "moment",
            Le(Sum(MOMENT_MIXED, OVER_J), _MOMENT),
            "modes",
            "noise",
            "gradient",
            "size",
            "inverse",
        ),
        expectation(
            "moments",
            Le(Sum(Sum(MOMENT_MIXED, OVER_J), OVER_T), Sum(_MOMENT, OVER_T)),
            "moment",
            by=Linearity(over=(OVER_T,)),
        ),
        inequality(
            "steps",
            Le(Sum(Sum(MOMENT_MIXED, OVER_J), OVER_T), _G),
            "moments",
            cite("dp2.variation.steps"),
        ),
        inequality(
            "kept",
            Eq(_RISE, to_adaptive(t) * _RISE),
            "metric",
            at("metric", {t: t + 1}),
            "memory",
            "modes",
            at("modes", {t: t + 1}),
        ),
        expectation(
            "kept-mean", Eq(E(_RISE), to_adaptive(t) * E(_RISE)), "kept", by=Linearity(over=(E,))
        ),
        expectation(
            "kept-sum",
            Eq(Sum(E(_RISE), OVER_J), to_adaptive(t) * Sum(E(_RISE), OVER_J)),
            "kept-mean",
            by=Linearity(over=(OVER_J,)),
        ),
        inequality(
            "rise",
            Le(Sum(E(_RISE), OVER_J), chi * D1 * to_adaptive(t)),
            "kept-sum",
            "variation",
            "modes",
            at("modes", {t: t + 1}),
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
            Le(Sum(Rj(j) ** 2 * E(_RISE), OVER_J), R**2 * chi * D1 * to_adaptive(t)),
            "rise-sides",
            "rise",
            at("scale", {b: R**2, x: Sum(E(_RISE), OVER_J), y: chi * D1 * to_adaptive(t)}),
        ),
        expectation(
            "rises",
            Le(
                Sum(Sum(Rj(j) ** 2 * E(_RISE), OVER_J), (t, 1, T - 1)),
                R**2 * chi * D1 * Sum(to_adaptive(t), (t, 1, T - 1)),
            ),
            "rise-box",
            by=Linearity(over=((t, 1, T - 1),)),
        ),
        inequality(
            "counted",
            Eq(R**2 * chi * D1 * Sum(to_adaptive(t), (t, 1, T - 1)), R**2 * chi * D1 * _COUNT),
            cite("dp2.variation.count"),
        ),
        inequality(
            "growth",
            Le(Sum(Rj(j) ** 2 * growth(D), OVER_J), _V),
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
            "change-mean",
            Eq(E(_CHANGE), E(_RISE) / eta),
            "change-path",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "change-weighted",
            Eq(
                Rj(j) ** 2 * E(_CHANGE),
                Rj(j) ** 2 * E(_RISE) / eta,
            ),
            "change-mean",
        ),
        expectation(
            "changes",
            Eq(
                Sum(
                    Rj(j) ** 2 * Sum(E(_CHANGE), (t, 1, T - 1)),
                    OVER_J,
                ),
                Sum(Rj(j) ** 2 * Sum(E(_RISE), (t, 1, T - 1)), OVER_J) / eta,
            ),
            "change-weighted",
            by=Linearity(over=(OVER_J, (t, 1, T - 1))),
        ),
        inequality(
            "sum",
            Le(2 * Sum(E(gap(t)), OVER_T), _V / eta + eta * _G),
            "changes",
            "growth",
            "steps",
            cite("dp2.master.common", {omega: Lambda(t, Integer(1)), a: Lambda(t, eta)}),
        ),
        inequality("average", _ANY, "sum"),
    ),
    explanation=(
        "With a constant step the growth of the metric is paid for: D at the start, and chi D1 at "
        "each of the floor(K/2) updates. Linear in the number of updates, with no exponential "
        "factor; the step counts in both modes are exact."
    ),
    models=common_models,
    evaluations={
        "bound": _V / (2 * eta * T) + eta * _G / (2 * T),
        "variation": _V,
        "moments": _G,
    },
    caveats=CTV_CAVEATS,
)

_TUNED = Le(GAP, sqrt(V0 * G0) / T)
TUNED = Theorem(
    id="dp2.CTV",
    title="Theorem C-TV with the best step: the certified bound on a delay",
    statement=_TUNED,
    kind=Kind.UPPER,
    source=_SOURCE,
    assumptions=(
        *ANY_STEP.assumptions,
        Assumption("variation-cost", Eq(_V, V0), "V is what the updates cost at most", CODE),
        *best_step(_G),
    ),
    steps=best_step_proof(_TUNED, GAP, "variation-cost", "dp2.CTV.any-step"),
    explanation=(
        "The best constant step makes both terms equal: R sqrt(D1 (1 + chi r) (Gamma + noise)/T) "
        "when all steps have the same moment, with exactly r = floor(K/2) updates. Many updates "
        "cost through r, few through the staleness in Gamma: where Gamma is its staleness branch "
        "there is a best delay in between."
    ),
    models=common_models,
    evaluations={
        "bound": sqrt(_V * _G) / T,
        "learning_rate": sqrt(_V / _G),
        "variation": _V,
        "moments": _G,
    },
    curve=Curve(
        "delay",
        (1, 10, 30, 50, 66, 67, 80, 100, 200, 300, 500, 1000),
        {
            "steps": 1000,
            "dimension": 50,
            "diameter": 1.0,
            "variation_ratio": 0.05,
            "damping": 0.01,
            "preconditioner_norm": 0.81,
            "preconditioned_gradient_moment": 35.0,
            "collecting_gradient_moment": 35.0,
            "noise_std": 0.0075448,
            "preconditioned_noise_std": 0.75448,
        },
        log_x=True,
    ),
    caveats=CTV_CAVEATS,
)

THEOREMS: tuple[Theorem, ...] = (RENEWED, ANY_STEP, TUNED)
