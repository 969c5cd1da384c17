"""Smooth nonconvex losses: the gradients of DP² become small, in the mean over the steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sympy import Abs, And, Eq, Expr, Ge, Implies, Le, Or, Sum, floor, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.symbols import (
    D1,
    D,
    L,
    N,
    Tad,
    eps,
    eta,
    g,
    gap,
    gap1,
    grad,
    mode,
    nu,
    nu1,
    nu2,
    s,
    tau_g,
    w,
)
from bounds.operators import Conditional, E, Independent, Max, Min
from bounds.proof.methods import CauchySchwarz, Linearity, Tower, ZeroMean
from bounds.proof.step import Induction, Step, at, cite, expectation, identity, inequality
from bounds.symbols import T, b, d, i, j, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

if TYPE_CHECKING:
    import numpy as np

    from bounds.model import Model

_J, _T = (j, 1, d), (t, 1, T)
_MOVE = w(t + 1, j) - w(t, j)
_ERROR = g(t, j) - grad(t, j)

_UPDATE = Assumption(
    "update",
    Eq(w(t + 1, j), w(t, j) - eta * (g(t, j) / D(t, j) + N(t, j))),
    "steps of constant size, without projection",
    CODE,
)
_SMOOTH = Assumption(
    "smooth",
    Le(gap(t + 1), gap(t) + Sum(grad(t, j) * _MOVE, _J) + L * Sum(_MOVE**2, _J) / 2),
    "F is L-smooth: above it is at most the quadratic at w_t",
)
_START = Assumption("start", Le(E(gap(1)), gap1), "F(w_1) is at most gap1 above the infimum of F")
_MODES = Assumption(
    "modes", Or(Eq(mode(t), 0), Eq(mode(t), 1)), "a step is a DP-SGD step or adaptive", CODE
)
_METRIC = Assumption(
    "metric",
    And(Implies(Eq(mode(t), 0), Eq(D(t, j), 1)), Implies(Eq(mode(t), 1), Ge(D(t, j), eps))),
    "D is 1 in DP-SGD steps and at least eps in adaptive ones",
    CODE,
)
_STDS = Assumption(
    "stds",
    Eq(nu(t), (1 - mode(t)) * nu1 + mode(t) * nu2),
    "the noise has std nu1 in DP-SGD steps and nu2 in adaptive ones",
    CODE,
)
_COUNT = Assumption("count", Eq(Tad, Sum(mode(t), _T)), "Tad counts the adaptive steps", CODE)
_STEP_SIZE = Assumption(
    "step_size", Le(eta * L, Min(1, eps)), "the step size is at most min(1, eps)/L", CODE
)
_UNBIASED = Assumption(
    "unbiased",
    Conditional(g(t, j), grad(t, j), grad(t, j), D(t, j)),
    "given the past, g_t has mean grad F(w_t); D_t is known before",
)
_FRESH = Assumption(
    "fresh",
    Independent(N(t, j), g(t, j), grad(t, j), D(t, j)),
    "the noise of a step is independent of its gradient and of the past",
    CODE,
)
_MEAN = Assumption("mean", Eq(E(N(t, j)), 0), "the noise has mean 0", CODE)
_VARIANCE = Assumption(
    "variance", Eq(E(N(t, j) ** 2), nu(t) ** 2), "the noise of step t has std nu_t", CODE
)
_SAMPLING = Assumption(
    "sampling",
    Le(Sum(E(_ERROR**2), _J), tau_g**2 / b),
    "a batch of b records has mean square deviation tau_g^2/b from grad F",
)
ASSUMPTIONS = (
    _UPDATE,
    _SMOOTH,
    _START,
    _MODES,
    _METRIC,
    _STDS,
    _COUNT,
    _STEP_SIZE,
    _UNBIASED,
    _FRESH,
    _MEAN,
    _VARIANCE,
    _SAMPLING,
)

_LOCAL = Sum(E(grad(t, j) ** 2 / D(t, j)), _J)
AVERAGE = Sum(_LOCAL, _T) / T
_ENERGY = (1 - mode(t) + mode(t) / eps**2) * tau_g**2 / b + d * (
    (1 - mode(t)) * nu1**2 + mode(t) * nu2**2
)


def right_side() -> Expr:
    """2 gap1/(eta T) and the noise of both kinds of steps."""
    sgd = tau_g**2 / b + d * nu1**2
    adaptive = tau_g**2 / (eps**2 * b) + d * nu2**2
    return 2 * gap1 / (eta * T) + L * eta / T * ((T - Tad) * sgd + Tad * adaptive)


_STATEMENT = Le(AVERAGE, right_side())

_COORDINATE: tuple[Step, ...] = (
    expectation(
        "towards",
        Eq(E(grad(t, j) * g(t, j) / D(t, j)), E(grad(t, j) ** 2 / D(t, j))),
        "unbiased",
        by=Tower(),
    ),
    expectation("across", Eq(E(grad(t, j) * N(t, j)), 0), "fresh", "mean", by=ZeroMean()),
    identity(
        "inner",
        Eq(
            E(grad(t, j) * _MOVE),
            -eta * E(grad(t, j) * g(t, j) / D(t, j)) - eta * E(grad(t, j) * N(t, j)),
        ),
        "update",
    ),
    expectation("mixed", Eq(E(g(t, j) * N(t, j) / D(t, j)), 0), "fresh", "mean", by=ZeroMean()),
    identity(
        "moved",
        Eq(
            E(_MOVE**2),
            eta**2
            * (
                E(g(t, j) ** 2 / D(t, j) ** 2)
                + 2 * E(g(t, j) * N(t, j) / D(t, j))
                + E(N(t, j) ** 2)
            ),
        ),
        "update",
    ),
    expectation(
        "known",
        Eq(E(grad(t, j) * g(t, j) / D(t, j) ** 2), E(grad(t, j) ** 2 / D(t, j) ** 2)),
        "unbiased",
        by=Tower(),
    ),
    inequality(
        "metric_square",
        Le(Min(1, eps) * grad(t, j) ** 2 / D(t, j) ** 2, grad(t, j) ** 2 / D(t, j)),
        "metric",
        "modes",
    ),
    expectation(
        "metric_mean",
        Le(Min(1, eps) * E(grad(t, j) ** 2 / D(t, j) ** 2), E(grad(t, j) ** 2 / D(t, j))),
        "metric_square",
        by=Linearity(over=(E,)),
    ),
    inequality(
        "error_square",
        Le(_ERROR**2 / D(t, j) ** 2, (1 - mode(t) + mode(t) / eps**2) * _ERROR**2),
        "metric",
        "modes",
    ),
    expectation(
        "error_mean",
        Le(E(_ERROR**2 / D(t, j) ** 2), (1 - mode(t) + mode(t) / eps**2) * E(_ERROR**2)),
        "error_square",
        by=Linearity(over=(E,)),
    ),
)
_RESIDUE = (1 - mode(t) + mode(t) / eps**2) * E(_ERROR**2) + nu(t) ** 2

_STEPS: tuple[Step, ...] = (
    *_COORDINATE,
    inequality(
        "coordinate",
        Le(
            E(grad(t, j) * _MOVE) + L * E(_MOVE**2) / 2,
            -eta * E(grad(t, j) ** 2 / D(t, j)) / 2 + L * eta**2 * _RESIDUE / 2,
        ),
        "towards",
        "across",
        "inner",
        "mixed",
        "moved",
        "known",
        "metric_mean",
        "error_mean",
        "variance",
        "step_size",
    ),
    expectation(
        "coordinates",
        Le(
            Sum(E(grad(t, j) * _MOVE) + L * E(_MOVE**2) / 2, _J),
            Sum(-eta * E(grad(t, j) ** 2 / D(t, j)) / 2 + L * eta**2 * _RESIDUE / 2, _J),
        ),
        "coordinate",
        by=Linearity(over=(_J,)),
    ),
    expectation(
        "descent",
        Le(
            E(gap(t + 1)),
            E(gap(t)) + Sum(E(grad(t, j) * _MOVE) + L * E(_MOVE**2) / 2, _J),
        ),
        "smooth",
        by=Linearity(over=(E,)),
    ),
    inequality(
        "energy",
        Le((1 - mode(t) + mode(t) / eps**2) * Sum(E(_ERROR**2), _J) + d * nu(t) ** 2, _ENERGY),
        "sampling",
        "modes",
        "stds",
    ),
    inequality(
        "step",
        Le(eta * _LOCAL / 2, E(gap(t)) - E(gap(t + 1)) + L * eta**2 * _ENERGY / 2),
        "descent",
        "coordinates",
        "energy",
    ),
    expectation(
        "steps",
        Le(
            eta * Sum(_LOCAL, _T) / 2,
            Sum(E(gap(t)) - E(gap(t + 1)), _T) + L * eta**2 * Sum(_ENERGY, _T) / 2,
        ),
        "step",
        by=Linearity(over=(_T,)),
    ),
    identity(
        "telescope",
        Eq(Sum(E(gap(i)) - E(gap(i + 1)), (i, 1, t)), E(gap(1)) - E(gap(t + 1))),
        induction=Induction(t),
    ),
    inequality(
        "nonconvex",
        _STATEMENT,
        "steps",
        at("telescope", {t: T}),
        "start",
        "count",
    ),
)

_NORM = Le((Sum(E(Abs(grad(t, j))), _J, _T) / T) ** 2, right_side() * Sum(E(D(t, j)), _J, _T) / T)

_CYCLES = floor(T / (2 * s))
#: Adaptive steps among T: s of every whole cycle, and of the last one those after its first s.
ADAPTIVE_STEPS = s * _CYCLES + Max(0, T - 2 * s * _CYCLES - s)
_BOUND = right_side().xreplace({Tad: ADAPTIVE_STEPS})

CURVE = Curve(
    along="delay",
    values=(1, 2, 5, 10, 20, 50, 100, 200, 400),
    fixed={
        "steps": 400,
        "initial_gap": 0.25,
        "learning_rate": 0.05,
        "smoothness": 0.5,
        "gradient_std": 0.5,
        "batch_size": 32,
        "dimension": 10,
        "noise_std": 1 / 32,
        "preconditioned_noise_std": 1 / 32,
        "damping": 0.3,
        "preconditioner_norm": 10.0,
    },
    log_x=True,
)


def _fixed(*left_out: str) -> Curve:
    kept = {name: value for name, value in CURVE.fixed.items() if name not in left_out}
    return replace(CURVE, fixed=kept)


def run_models(rng: np.random.Generator) -> Iterator[Model]:
    """Runs on smooth losses of one variable, with all their outcomes."""
    from bounds.dp2.nonconvex_models import models

    return models(rng)


NONCONVEX = Theorem(
    id="dp2.nonconvex",
    title="DP² on a smooth nonconvex loss",
    statement=_STATEMENT,
    kind=Kind.TIGHT,
    source=Source("li2023dp2", "nonconvex analysis", Status.DERIVED),
    assumptions=ASSUMPTIONS,
    steps=_STEPS,
    explanation=(
        "With a constant step size of at most min(1, eps)/L the squared gradient norm, measured in "
        "the metric of the preconditioner and averaged over the steps, is at most a term that "
        "falls like 1/T and a term of the noise: sampling and privacy noise, each as it enters in "
        "DP-SGD steps and in adaptive ones. The preconditioner may depend on the past in any way."
    ),
    models=run_models,
    evaluations={"bound": _BOUND, "adaptive_steps": ADAPTIVE_STEPS},
    curve=_fixed("preconditioner_norm"),
    caveats=(
        "There is no best delay in this bound: s enters through the number of adaptive steps only.",
        "With a projection the gradient would have to be replaced by the gradient mapping: this "
        "theorem is for steps without one.",
        "Gradients are unbiased: clipping must not be active. If C2 = C/eps makes sure of that in "
        "adaptive steps, nu2 = nu1/eps.",
        "tau_g^2/b is the sampling variance of batches of a fixed size; under Poisson sampling "
        "with the fixed divisor b put C for tau_g.",
    ),
)

L1 = Theorem(
    id="dp2.nonconvex.l1",
    title="The same for the l1 norm of the gradient",
    statement=_NORM,
    kind=Kind.TIGHT,
    source=Source("li2023dp2", "nonconvex analysis", Status.DERIVED),
    assumptions=ASSUMPTIONS,
    steps=(
        expectation(
            "norms",
            Le(
                Sum(E(Abs(grad(t, j))), _J, _T) ** 2,
                Sum(_LOCAL, _T) * Sum(E(D(t, j)), _J, _T),
            ),
            by=CauchySchwarz(Abs(grad(t, j)) / sqrt(D(t, j)), sqrt(D(t, j)), over=(_T, _J, E)),
        ),
        inequality("l1", _NORM, "norms", cite("dp2.nonconvex")),
    ),
    explanation=(
        "The mean l1 norm of the gradient over the steps, squared, is at most the bound of "
        "dp2.nonconvex times the mean of E||D_t||_1. A small preconditioner makes the metric "
        "strict, and this says what it means in a norm that does not depend on it."
    ),
    models=run_models,
    evaluations={"bound": sqrt(_BOUND * D1)},
    curve=CURVE,
    caveats=("The evaluation takes a bound D1 on E||D_t||_1 that holds in every step.",),
)

THEOREMS: tuple[Theorem, ...] = (NONCONVEX, L1)
