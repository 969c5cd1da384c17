"""Theorem C in both modes: a common metric, and a step that decays with its updates."""

from __future__ import annotations

from typing import Any

from sympy import Implies, Integer, Lambda, Or, Sum, sqrt

from bounds.dp2.common_metric import SLOW
from bounds.dp2.common_models import common_models
from bounds.dp2.common_setting import EMA, SIDE_STEPS, SIDES, run
from bounds.dp2.counts import PHASES, in_phase, to_adaptive, updates
from bounds.dp2.master import CAVEATS
from bounds.dp2.relations import Eq, Le
from bounds.dp2.setting import (
    MODES,
    MOMENT_MIXED,
    OVER_J,
    OVER_T,
    growth,
    noise_mixed,
)
from bounds.dp2.symbols import (
    D1,
    D,
    Gam,
    Q,
    R,
    Rj,
    a,
    alpha,
    beta,
    eps,
    eta,
    gap,
    mode,
    nu1,
    nu2,
    omega,
    renew,
    upd,
)
from bounds.dp2.two_modes import NOISE
from bounds.operators import E, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import Step, at, cite, expectation, inequality
from bounds.symbols import T, d, j, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_SOURCE = Source("li2023dp2", "convex analysis", Status.DERIVED)
x, y = Variable("x"), Variable("y")
b = Variable("b", positive=True)

#: sum of the second moments of gradient and noise that a step of mode "common" may have
COMMON_MOMENT = Gam + mode(t) * nu2**2 * D1 + (1 - mode(t)) * nu1**2 * d / eps

DIVIDED_STEPS: tuple[Step, ...] = (
    inequality("damped", Le(eps, D(t, j)), "metric"),
    inequality("inverse-path", Le(1 / D(t, j), 1 / eps), "damped"),
    expectation(
        "inverse",
        Le(Sum(E(1 / D(t, j)), OVER_J), d / eps),
        "inverse-path",
        by=Linearity(over=(OVER_J, E)),
    ),
)
COMMON_MOMENT_STEPS: tuple[Step, ...] = (
    *DIVIDED_STEPS,
    inequality("scale", Implies(x <= y, b * x <= b * y)),
    inequality(
        "moment",
        Le(Sum(MOMENT_MIXED, OVER_J), COMMON_MOMENT),
        "modes",
        "noise",
        "gradient",
        "size",
        "inverse",
    ),
)


def decayed(count: Any) -> tuple[Any, Any]:
    """The step size, and the metric over it, when `count(t)` updates came before step t."""

    def step_size(step: Any) -> Any:
        return eta * alpha ** count(step)

    def metric(step: Any, coordinate: Any) -> Any:
        return D(step, coordinate) / step_size(step)

    return step_size, metric


def _phased(expression: Any) -> Any:
    """With alternating phases for the modes of the steps."""
    return expression.replace(mode, in_phase)


def at_root(expression: Any) -> Any:
    """With the largest decay that the theorem allows."""
    return _phased(expression).subs(alpha, sqrt(beta))


_SIZE, _METRIC = decayed(updates)
_FIRST = alpha ** (-updates(T)) / (2 * eta * T) * Sum(Rj(j) ** 2 * E(D(T, j)), OVER_J)
_SECOND = eta / (2 * T) * Sum(alpha ** updates(t) * COMMON_MOMENT, OVER_T)
_C = Le(Sum(E(gap(t)), OVER_T) / T, _FIRST + _SECOND)

C = Theorem(
    id="dp2.C",
    title="Theorem C: one metric, a slowly decaying step",
    statement=_C,
    kind=Kind.TIGHT,
    source=_SOURCE,
    assumptions=(
        *run(_SIZE, noise_mixed, to_adaptive(t)),
        MODES,
        NOISE,
        PHASES,
        EMA,
        SLOW,
    ),
    steps=(
        *COMMON_MOMENT_STEPS,
        inequality(
            "renewals",
            Or(Eq(to_adaptive(t), 0), Eq(to_adaptive(t), 1)),
            "modes",
            at("modes", {t: t + 1}),
        ),
        inequality(
            "counted",
            Eq(updates(t + 1), updates(t) + to_adaptive(t)),
            cite("dp2.variation.renewal"),
        ),
        inequality(
            "grows",
            Le(_METRIC(t, j), _METRIC(t + 1, j)),
            cite(
                "dp2.C.metric",
                {
                    a: Lambda(t, _SIZE(t)),
                    upd: Lambda(t, updates(t)),
                    renew: Lambda(t, to_adaptive(t)),
                },
            ),
        ),
        inequality(
            "column",
            Eq(Rj(j) ** 2 * growth(_METRIC), Rj(j) ** 2 * E(_METRIC(T, j))),
            cite("dp2.variation.monotone", {Q: Lambda((t, j), _METRIC(t, j))}),
        ),
        expectation(
            "columns",
            Eq(
                Sum(Rj(j) ** 2 * growth(_METRIC), OVER_J),
                Sum(Rj(j) ** 2 * E(_METRIC(T, j)), OVER_J),
            ),
            "column",
            by=Linearity(over=(OVER_J,)),
        ),
        inequality(
            "weighted-moment",
            Le(_SIZE(t) * Sum(MOMENT_MIXED, OVER_J), _SIZE(t) * COMMON_MOMENT),
            "moment",
            at("scale", {b: _SIZE(t), x: Sum(MOMENT_MIXED, OVER_J), y: COMMON_MOMENT}),
        ),
        expectation(
            "moments",
            Le(
                Sum(_SIZE(t) * Sum(MOMENT_MIXED, OVER_J), OVER_T),
                Sum(_SIZE(t) * COMMON_MOMENT, OVER_T),
            ),
            "weighted-moment",
            by=Linearity(over=(OVER_T,)),
        ),
        inequality(
            "sum",
            Le(
                2 * Sum(E(gap(t)), OVER_T),
                Sum(Rj(j) ** 2 * E(_METRIC(T, j)), OVER_J) + Sum(_SIZE(t) * COMMON_MOMENT, OVER_T),
            ),
            "columns",
            "moments",
            cite(
                "dp2.master.common",
                {omega: Lambda(t, Integer(1)), a: Lambda(t, _SIZE(t))},
            ),
        ),
        inequality("average", _C, "sum"),
    ),
    explanation=(
        "Both kinds of steps are measured in the metric D: collection steps multiply the released "
        "noisy gradient by 1/D, which costs no privacy. The step size falls by alpha at each "
        "update of D and D never falls by more, so only the last metric is paid for. The price is "
        "alpha to the minus number of updates, which is floor(K/2), against alpha^-(K - 1) of the "
        "paper's schedule, and alpha may be sqrt(beta), close to 1."
    ),
    models=common_models,
    caveats=(
        *CAVEATS,
        "Gamma must hold in collection steps, too: there ||g/D|| is not clipped, so C^2/damping "
        "always serves, and the staleness bound does when E||g_t||_1 <= (c1 + c2 s) D1 in all "
        "steps.",
        "It is another algorithm than DP2 as published: collection steps move along (g + N)/D.",
    ),
)

_FIRST_BEFORE = alpha ** (-updates(T)) * R**2 * D1 / (2 * eta * T)
_BEFORE = Le(Sum(E(gap(t)), OVER_T) / T, _FIRST_BEFORE + _SECOND)
BEFORE = Theorem(
    id="dp2.C.apriori",
    title="Theorem C before the run",
    statement=_BEFORE,
    kind=Kind.UPPER,
    source=_SOURCE,
    assumptions=(*C.assumptions, SIDES),
    steps=(
        *SIDE_STEPS,
        inequality(
            "first",
            Le(_FIRST, _FIRST_BEFORE),
            at("last-metric", {t: T}),
            at(
                "scale",
                {
                    b: alpha ** (-updates(T)) / (2 * eta * T),
                    x: Sum(Rj(j) ** 2 * E(D(T, j)), OVER_J),
                    y: R**2 * D1,
                },
            ),
        ),
        inequality("bound", _BEFORE, "first", cite("dp2.C")),
    ),
    explanation=(
        "Theorem C with a bound D1 on E||D||_1 and one length R for all sides of the box: all of "
        "it is known before the run."
    ),
    models=common_models,
    evaluations={
        "bound": at_root(_FIRST_BEFORE + _SECOND),
        "bound-any-decay": _phased(_FIRST_BEFORE + _SECOND),
        "updates": updates(T),
    },
    curve=Curve(
        "delay",
        (50, 83, 100, 125, 166, 200, 250, 333, 500),
        {
            "steps": 1000,
            "dimension": 10,
            "diameter": 2.0,
            "learning_rate": 0.5,
            "ema": 0.5,
            "damping": 0.1,
            "noise_std": 0.03125,
            "preconditioned_noise_std": 0.3125,
            "preconditioned_gradient_moment": 1.0,
            "preconditioner_norm": 2.0,
        },
        log_x=True,
        log_y=True,
    ),
    caveats=C.caveats,
)

THEOREMS: tuple[Theorem, ...] = (C, BEFORE)
