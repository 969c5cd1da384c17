"""One metric for both modes: what theorems C and C-TV assume, and how its preconditioner moves.

Mode "common": collection steps move the iterate along (g + N)/D. Mode "freeze": they do not move
it, and t counts the steps that do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sympy import Implies, Or, Sum, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.relations import Eq, Le, Lt
from bounds.dp2.setting import (
    CONVEX,
    FRESH,
    INSIDE,
    MEAN,
    MOMENT,
    OPTIMUM,
    OVER_J,
    UNBIASED,
    VARIANCE,
    Field,
)
from bounds.dp2.symbols import (
    D1,
    D,
    Gam,
    Gc,
    R,
    Rj,
    X,
    beta,
    eps,
    g,
    lower,
    mode,
    nu,
    nu2,
    renew,
    v,
    w,
)
from bounds.operators import E, Max, Min, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import Step, at, expectation, inequality
from bounds.symbols import j, t

METRIC = Assumption("metric", Eq(D(t, j), sqrt(v(t, j)) + eps), "D = sqrt(v) + damping", CODE)
EMA = Assumption("ema", Lt(beta, 1), "the EMA constant is below 1", CODE)
RENEWALS = Assumption(
    "renewals",
    Or(Eq(renew(t), 0), Eq(renew(t), 1)),
    "after a step the preconditioner is renewed (1) or kept (0)",
    CODE,
)
GRADIENT = Assumption(
    "gradient",
    Le(Sum(E(g(t, j) ** 2 / D(t, j)), OVER_J), Gam),
    "E||g_t||^2 in the metric 1/D_t is at most Gamma in every step that moves the iterate",
    CODE,
)
GRADIENTS = Assumption(
    "gradient",
    Le(Sum(E(g(t, j) ** 2 / D(t, j)), OVER_J), mode(t) * Gam + (1 - mode(t)) * Gc),
    "E||g_t||^2 in the metric 1/D_t is at most Gamma in adaptive steps and Gamma_c in the others",
    CODE,
)
SIZE = Assumption(
    "size", Le(Sum(E(D(t, j)), OVER_J), D1), "E||D_t||_1 is at most D1 in every step", CALLER
)
SIDES = Assumption("sides", Le(Rj(j), R), "no side of the box is longer than R", CODE)
FROZEN_NOISE = Assumption(
    "noise", Eq(nu(t), nu2), "the steps that move the iterate have the noise sigma C2/b", CODE
)


def memory(renewal: Any) -> Assumption:
    """v is an EMA of squared averages, renewed where `renewal` is 1."""
    return Assumption(
        "memory",
        Eq(v(t + 1, j), v(t, j) + renewal * (1 - beta) * (X(t, j) ** 2 - v(t, j))),
        "v becomes beta v + (1 - beta) X^2 where it is renewed, and is kept elsewhere",
        CODE,
    )


def run(
    step_size: Callable[[Any], Any],
    noise: Field,
    renewal: Any,
    gradient: Assumption = GRADIENT,
) -> tuple[Assumption, ...]:
    """The assumptions on a run in one metric."""
    moved = w(t, j) - step_size(t) * (g(t, j) / D(t, j) + noise(t, j))
    return (
        INSIDE,
        OPTIMUM,
        Assumption(
            "update",
            Eq(w(t + 1, j), Min(Max(moved, lower(j)), lower(j) + Rj(j))),
            "w_{t+1} is w_t - step (g_t/D_t + noise), clipped to the box in every coordinate",
            CODE,
        ),
        CONVEX,
        UNBIASED,
        FRESH,
        MEAN,
        VARIANCE,
        METRIC,
        memory(renewal),
        gradient,
        SIZE,
    )


#: Letters of lemmas about numbers.
x, y = Variable("x"), Variable("y")
#: A factor > 0 of such a lemma.
b = Variable("b", positive=True)

#: what E D_j weighs with the sides of the box
SIDE_STEPS: tuple[Step, ...] = (
    inequality("squares", Le(Rj(j) ** 2, R**2), "sides"),
    inequality("size-scale", Implies(x <= y, x * E(D(t, j)) <= y * E(D(t, j)))),
    inequality(
        "side",
        Le(Rj(j) ** 2 * E(D(t, j)), R**2 * E(D(t, j))),
        "squares",
        at("size-scale", {x: Rj(j) ** 2, y: R**2}),
    ),
    expectation(
        "sides-sum",
        Le(Sum(Rj(j) ** 2 * E(D(t, j)), OVER_J), R**2 * Sum(E(D(t, j)), OVER_J)),
        "side",
        by=Linearity(over=(OVER_J,)),
    ),
    inequality("scale", Implies(x <= y, b * x <= b * y)),
    inequality(
        "last-metric",
        Le(Sum(Rj(j) ** 2 * E(D(t, j)), OVER_J), R**2 * D1),
        "sides-sum",
        "size",
        at("scale", {b: R**2, x: Sum(E(D(t, j)), OVER_J), y: D1}),
    ),
)

#: second moments of gradient and noise in a step that moves the iterate, mode "freeze"
FROZEN_MOMENT = Gam + nu2**2 * D1
#: Lemmas that bound one moment of a run whose collection steps do not move.
FROZEN_MOMENT_STEPS: tuple[Step, ...] = (
    inequality(
        "noise-size",
        Le(nu(t) ** 2 * Sum(E(D(t, j)), OVER_J), nu2**2 * D1),
        "noise",
        "size",
    ),
    inequality("moment", Le(Sum(MOMENT, OVER_J), FROZEN_MOMENT), "noise-size", "gradient"),
)
