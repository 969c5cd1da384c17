"""What the theorems on alternating modes assume: DP-SGD steps and adaptive steps in turn."""

from __future__ import annotations

from typing import Any

from sympy import Eq, Implies, Le, Sum

from bounds.assumptions import CALLER, CODE, Assumption
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
    noise_after,
    update,
)
from bounds.dp2.symbols import C, D, D1, Gam, g, mode, nu, nu1, nu2
from bounds.dp2.variation import START
from bounds.operators import E
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

RUN = (
    INSIDE,
    OPTIMUM,
    update(noise_after),
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
)


def moment_bound(step: Any) -> Any:
    """C^2 + d nu1^2 in DP-SGD steps, Gamma + nu2^2 D1 in adaptive ones."""
    sgd = C**2 + d * nu1**2
    adaptive = Gam + nu2**2 * D1
    return (1 - mode(step)) * sgd + mode(step) * adaptive
