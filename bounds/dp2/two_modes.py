"""Runs that alternate DP-SGD steps and adaptive steps: what the theorems on them assume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sympy import Implies, Sum

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.relations import Eq, Le
from bounds.dp2.setting import (
    CONVEX,
    FRESH,
    INSIDE,
    MEAN,
    MODES,
    OPTIMUM,
    OVER_J,
    UNBIASED,
    VARIANCE,
)
from bounds.dp2.symbols import D1, C, D, Gam, N, Rj, g, lower, mode, nu, nu1, nu2, w
from bounds.dp2.variation import START
from bounds.operators import E, Max, Min
from bounds.proof.step import Step, inequality
from bounds.symbols import d, j, t

NOISE = Assumption(
    "noise",
    Eq(nu(t), (1 - mode(t)) * nu1 + mode(t) * nu2),
    "the noise is sigma C1/b in DP-SGD steps and sigma C2/b in adaptive ones",
    CODE,
)
IDENTITY = Assumption(
    "identity",
    Implies(Eq(mode(t), 0), Eq(D(t, j), 1)),
    "DP-SGD steps are not preconditioned",
    CODE,
)
KEPT = Assumption(
    "kept",
    Implies(Eq(mode(t), mode(t + 1)), Eq(D(t + 1, j), D(t, j))),
    "within a phase the preconditioner stays",
    CODE,
)
GRADIENT = Assumption(
    "gradient",
    Le(Sum(E(g(t, j) ** 2 / D(t, j)), OVER_J), (1 - mode(t)) * C**2 + mode(t) * Gam),
    "E||g_t||^2 in the metric 1/D_t is at most C^2 in DP-SGD steps and Gamma in adaptive ones",
    CODE,
)
SIZE = Assumption(
    "size",
    Le(Sum(E(D(t, j)), OVER_J), (1 - mode(t)) * d + mode(t) * D1),
    "E||D_t||_1 is at most D1 in adaptive steps",
    CALLER,
)


def run(step_size: Callable[[Any], Any]) -> tuple[Assumption, ...]:
    """The assumptions on a run with these step sizes."""
    moved = w(t, j) - step_size(t) * (g(t, j) / D(t, j) + N(t, j))
    return (
        INSIDE,
        OPTIMUM,
        Assumption(
            "update",
            Eq(w(t + 1, j), Min(Max(moved, lower(j)), lower(j) + Rj(j))),
            "w_{t+1} is w_t - step (g_t/D_t + N_t), clipped to the box in every coordinate",
            CODE,
        ),
        CONVEX,
        UNBIASED,
        FRESH,
        MEAN,
        VARIANCE,
        MODES,
        START,
        NOISE,
        IDENTITY,
        KEPT,
        GRADIENT,
        SIZE,
    )


def moment_bound(step: Any) -> Any:
    """C^2 + d nu1^2 in DP-SGD steps, Gamma + nu2^2 D1 in adaptive ones."""
    sgd = C**2 + d * nu1**2
    adaptive = Gam + nu2**2 * D1
    return (1 - mode(step)) * sgd + mode(step) * adaptive


#: Second moment of what step t adds, over all coordinates.
ONE_MOMENT = Sum(E(g(t, j) ** 2 / D(t, j)) + nu(t) ** 2 * E(D(t, j)), OVER_J)
#: Lemmas that bound it by that of DP-SGD steps and of adaptive ones.
MOMENT_STEPS: tuple[Step, ...] = (
    inequality(
        "noise-size",
        Le(
            nu(t) ** 2 * Sum(E(D(t, j)), OVER_J),
            (1 - mode(t)) * d * nu1**2 + mode(t) * nu2**2 * D1,
        ),
        "noise",
        "modes",
        "size",
    ),
    inequality("moment", Le(ONE_MOMENT, moment_bound(t)), "noise-size", "gradient"),
)
