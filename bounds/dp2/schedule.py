"""Theorem A: DP² with the paper's decaying step sizes and a capped second moment."""

from __future__ import annotations

from typing import Any

from sympy import Lambda, Piecewise, Sum, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.exponent import adaptive, phase
from bounds.dp2.relations import Eq, Le
from bounds.dp2.schedule_curve import delay_curve
from bounds.dp2.schedule_metric import CAPPED, RULES
from bounds.dp2.schedule_models import run_models
from bounds.dp2.setting import ASSUMPTIONS, MOMENT, OVER_J, OVER_T
from bounds.dp2.symbols import (
    D1,
    C,
    D,
    Dn,
    Gam,
    Gamt,
    R,
    Rj,
    a,
    alpha,
    eta,
    g,
    gap,
    nu,
    nu1,
    nu2,
    omega,
)
from bounds.operators import E, Max
from bounds.proof.methods import Linearity
from bounds.proof.step import Step, at, cite, expectation, identity, inequality
from bounds.symbols import T, d, j, t
from bounds.theorem import Kind, Source, Status, Theorem

SIDES = Assumption("sides", Le(Rj(j), R), "no side of the box is longer than R", CODE)
NORMS = Assumption(
    "norms",
    Le(Sum(E(D(t, j)), OVER_J), Dn(t)),
    "an upper bound on E||D_t||_1 is known for each step (d in even phases)",
    CALLER,
)
MOMENTS = Assumption(
    "moments",
    Le(Sum(E(g(t, j) ** 2 / D(t, j)), OVER_J), Gamt(t)),
    "an upper bound on E||g_t||^2 in the norm of D_t^-1 is known for each step",
    CALLER,
)
AVERAGE_GAP = Sum(E(gap(t)), OVER_T) / T


def last_metric() -> Any:
    """R^2 E||D_T||_1/(2 a_T T): what the metric costs when it never shrinks."""
    return R**2 * Dn(T) / (2 * eta * sqrt(T) * alpha ** phase(T))


def added(moment: Any) -> Any:
    """(1/2T) sum_t a_t (moment of the gradient + moment of the noise)."""
    return eta / (2 * T) * Sum(alpha ** phase(t) / sqrt(t) * (moment + nu(t) ** 2 * Dn(t)), OVER_T)


def by_phase(expression: Any) -> Any:
    """Sequences of a bound replaced by one value for each of the two kinds of phases."""
    return (
        expression.replace(Dn, Lambda(t, Piecewise((D1, adaptive(t)), (d, True))))
        .replace(Gamt, Lambda(t, Piecewise((Gam, adaptive(t)), (C**2, True))))
        .replace(nu, Lambda(t, Piecewise((nu2, adaptive(t)), (nu1, True))))
    )


BOUND_A = last_metric() + added(Gamt(t))


def summed_steps() -> tuple[Step, ...]:
    """The second moments of the steps, put under their bounds and summed."""
    return (
        inequality(
            "moment",
            Le(Sum(MOMENT, OVER_J), Gamt(t) + nu(t) ** 2 * Dn(t)),
            "norms",
            "moments",
        ),
        inequality(
            "weighed-moment",
            Le(a(t) * Sum(MOMENT, OVER_J), a(t) * (Gamt(t) + nu(t) ** 2 * Dn(t))),
            "moment",
        ),
        expectation(
            "summed-moments",
            Le(
                Sum(a(t) * Sum(MOMENT, OVER_J), OVER_T),
                Sum(a(t) * (Gamt(t) + nu(t) ** 2 * Dn(t)), OVER_T),
            ),
            "weighed-moment",
            by=Linearity(over=(OVER_T,)),
        ),
    )


def last_steps() -> tuple[Step, ...]:
    """R_j^2 D_T/a_T, summed over the coordinates."""
    return (
        inequality("squares", Le(Rj(j) ** 2, R**2), "sides"),
        inequality(
            "last-path",
            Le(E(D(T, j)) * Rj(j) ** 2, E(D(T, j)) * R**2),
            "squares",
        ),
        expectation(
            "last",
            Le(Sum(Rj(j) ** 2 * E(D(T, j)), OVER_J), R**2 * Sum(E(D(T, j)), OVER_J)),
            "last-path",
            by=Linearity(over=(OVER_J,)),
        ),
        inequality(
            "last-norm",
            Le(Sum(Rj(j) ** 2 * E(D(T, j)), OVER_J) / a(T), R**2 * Dn(T) / a(T)),
            "last",
            at("norms", {t: T}),
        ),
    )


def _no_decline() -> tuple[Step, ...]:
    fall = Max(D(t, j) / a(t) - D(t + 1, j) / a(t + 1), 0)
    return (
        inequality("no-fall", Le(fall, 0), cite("dp2.A.metric")),
        expectation("no-mean-fall", Le(E(fall), 0), "no-fall", by=Linearity(over=(E,))),
        inequality(
            "no-fall-side",
            Le(Rj(j) ** 2 * E(fall), 0),
            "no-mean-fall",
        ),
        expectation(
            "no-falls",
            Le(Sum(Rj(j) ** 2 * E(fall), (t, 1, T - 1), OVER_J), 0),
            "no-fall-side",
            by=Linearity(over=(OVER_J, (t, 1, T - 1))),
        ),
    )


_one = {omega: Lambda(t, 1)}

THEOREM_A = Theorem(
    id="dp2.A",
    title="DP² with decaying step sizes, second moment capped",
    statement=Le(AVERAGE_GAP, BOUND_A),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "convex theorem", Status.DERIVED),
    assumptions=(*ASSUMPTIONS, *RULES, *CAPPED, SIDES, NORMS, MOMENTS),
    steps=(
        *summed_steps(),
        *last_steps(),
        *_no_decline(),
        inequality(
            "sum",
            Le(
                Sum(E(gap(t)), OVER_T),
                R**2 * Dn(T) / (2 * a(T)) + Sum(a(t) * (Gamt(t) + nu(t) ** 2 * Dn(t)), OVER_T) / 2,
            ),
            cite("dp2.master.down", _one),
            "no-falls",
            "last-norm",
            "summed-moments",
        ),
        identity(
            "sizes",
            Eq(
                R**2 * Dn(T) / (2 * a(T) * T)
                + Sum(a(t) * (Gamt(t) + nu(t) ** 2 * Dn(t)), OVER_T) / (2 * T),
                BOUND_A,
            ),
            "schedule",
            at("schedule", {t: T}),
        ),
        inequality("statement", Le(AVERAGE_GAP, BOUND_A), "sum", "sizes"),
    ),
    explanation=(
        "DP² alternates phases of s steps of DP-SGD and of preconditioned DP-SGD; in phase k the "
        "step size carries alpha^k. The mean of the optimality gaps of the run, and so the "
        "smallest of them, is at most the sum of two terms: the squared diameter in the last "
        "metric, which grows by 1/alpha with each phase, and the second moments of what the "
        "steps added, gradients and noise. E||D_T||_1 is d when the last phase is one of DP-SGD."
    ),
    evaluations={"bound": by_phase(BOUND_A), "by_step": BOUND_A},
    models=run_models,
    curve=delay_curve(
        "learning_rate gradient_bound preconditioned_gradient_moment preconditioned_noise_std"
    ),
    caveats=(
        "The evaluation `bound` takes one bound D1 on E||D_t||_1 and one bound Gamma on "
        "E||g_t||^2 in D_t^-1 for all adaptive phases; `by_step` takes them step by step. "
        "Gamma may be C^2/damping or C C2 (dp2.gamma.*), or what was measured on public data.",
        "||g_t|| <= C on every path holds for batches of a fixed size. Under Poisson sampling "
        "with a fixed divisor use C^2 (1 + (1 - q)/b) in place of C^2.",
        "The first term grows exponentially with the number of phases: the theorem says "
        "something for a few phases only (dp2.first-phase). dp2.W has no exponential.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (THEOREM_A,)
