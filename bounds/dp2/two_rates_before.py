"""Theorem B with numbers that are known before the run, and with the best step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from sympy import Abs, Implies, Lambda, Sum, ceiling, floor, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.best_step import best_step, best_step_proof
from bounds.dp2.counts import PHASES, adaptive_steps
from bounds.dp2.master import CAVEATS
from bounds.dp2.relations import Eq, Ge, Le
from bounds.dp2.runs import Run, perturbed, signs
from bounds.dp2.runs_convex import rate_models
from bounds.dp2.setting import OVER_J, OVER_T
from bounds.dp2.symbols import (
    D1,
    G0,
    V0,
    C,
    D,
    Dup,
    Gam,
    Rj,
    eps,
    eta,
    kappa,
    mode,
    nu1,
    nu2,
    rho,
    s,
)
from bounds.dp2.two_modes import moment_bound
from bounds.dp2.two_rates import CITE_Q, GAP, RELATIVE_STEPS, RISES, RUN, G, V, rate, relative
from bounds.model import Model
from bounds.operators import E, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, cite, expectation, inequality
from bounds.symbols import T, d, j, t
from bounds.theorem import Kind, Source, Status, Theorem

_SOURCE = Source("li2023dp2", "convex analysis", Status.DERIVED)
x, y = Variable("x"), Variable("y")
b = Variable("b", positive=True)

#: bound on E|D_j/rho - 1|
_SPREAD = (Dup(j) - eps) / rho + Abs(eps / rho - 1)
_CYCLES = floor(ceiling(T / s) / 2)
_V = Sum(Rj(j) ** 2 * (1 + _SPREAD * _CYCLES), OVER_J)
_SGD = C**2 + d * nu1**2
_ADAPTIVE = rho * (Gam + nu2**2 * D1)
_G = (T - adaptive_steps(T)) * _SGD + adaptive_steps(T) * _ADAPTIVE

ASSUMPTIONS = (
    *RUN,
    PHASES,
    Assumption(
        "damped", Implies(Eq(mode(t), 1), Ge(D(t, j), eps)), "D_t = sqrt(v) + damping", CODE
    ),
    Assumption(
        "mean-size",
        Implies(Eq(mode(t), 1), Le(E(D(t, j)), Dup(j))),
        "in adaptive steps the mean of D_j is at most the bound on it",
        CALLER,
    ),
    Assumption("bound-size", Ge(Dup(j), eps), "the bound on E D_j is at least the damping", CODE),
)

_BEFORE = Le(GAP, _V / (2 * eta * T) + eta * _G / (2 * T))
_EXACT_COLUMN = 1 + Sum(RISES, (t, 1, T - 1))
_BOUND_COLUMN = 1 + _SPREAD * _CYCLES

BEFORE = Theorem(
    id="dp2.B.apriori",
    title="Theorem B before the run",
    statement=_BEFORE,
    kind=Kind.UPPER,
    source=_SOURCE,
    assumptions=ASSUMPTIONS,
    steps=(
        *RELATIVE_STEPS,
        inequality(
            "spread-path",
            Implies(
                Eq(mode(t), 1),
                Le(Abs(relative(t, j) - 1), (D(t, j) - eps) / rho + Abs(eps / rho - 1)),
            ),
            "damped",
        ),
        expectation(
            "spread-mean",
            Implies(
                Eq(mode(t), 1),
                Le(E(Abs(relative(t, j) - 1)), (E(D(t, j)) - eps) / rho + Abs(eps / rho - 1)),
            ),
            "spread-path",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "spread",
            Implies(Eq(mode(t), 1), Le(E(Abs(relative(t, j) - 1)), _SPREAD)),
            "spread-mean",
            "mean-size",
        ),
        inequality("scale", Implies(x <= y, b * x <= b * y)),
        inequality(
            "growth",
            Le(_EXACT_COLUMN, _BOUND_COLUMN),
            "bound-size",
            cite("dp2.B.variation"),
            cite("dp2.variation.bounded", {**CITE_Q, kappa: Lambda(j, _SPREAD)}),
        ),
        inequality(
            "column",
            Le(Rj(j) ** 2 * _EXACT_COLUMN, Rj(j) ** 2 * _BOUND_COLUMN),
            "growth",
            at("scale", {b: Rj(j) ** 2, x: _EXACT_COLUMN, y: _BOUND_COLUMN}),
        ),
        expectation("columns", Le(V, _V), "column", by=Linearity(over=(OVER_J,))),
        inequality(
            "moment",
            Eq(rate(t) * moment_bound(t), (1 - mode(t)) * _SGD + mode(t) * _ADAPTIVE),
            "modes",
        ),
        expectation(
            "moments",
            Eq(G, (T - Sum(mode(t), OVER_T)) * _SGD + Sum(mode(t), OVER_T) * _ADAPTIVE),
            "moment",
            by=Linearity(over=(OVER_T,)),
        ),
        inequality("counted", Eq(G, _G), "moments", cite("dp2.variation.steps")),
        inequality("divide", Implies(x <= y, x / (2 * eta * T) <= y / (2 * eta * T))),
        inequality(
            "bound",
            _BEFORE,
            "counted",
            "columns",
            at("divide", {x: V, y: _V}),
            cite("dp2.B"),
        ),
    ),
    explanation=(
        "Theorem B with exact counts: floor(K/2) cycles, each costing at most the spread of the "
        "preconditioner around rho, and the exact numbers of DP-SGD and adaptive steps. Bounds "
        "on E D_j, for instance from a pilot, are all it needs to know."
    ),
    models=rate_models,
    evaluations={
        "bound": _V / (2 * eta * T) + eta * _G / (2 * T),
        "variation": _V,
        "moments": _G,
    },
    caveats=CAVEATS,
)

_BEST = Le(GAP, sqrt(V0 * G0) / T)


def _tuned_models(rng: np.random.Generator) -> Iterator[Model]:
    """Runs with the best step for their constants; claims that are too small or too large."""
    for steps, delay, damping, noise in ((6, 2, 0.5, 0.2), (4, 3, 0.7, 0.2), (40, 9, 0.9, 0.0)):
        mode = (np.arange(steps) // delay) % 2
        draws = noise * signs(steps) if noise else np.zeros((steps, 1, 1))
        rate = float(rng.uniform(0.5, 1.5))
        run = Run(
            steps,
            delay,
            np.ones((steps, 1)),
            draws,
            np.where(mode == 1, damping, 1.0)[:, None],
            0.1 * rate**mode,
            parameters={"rho": rate, "eps": damping, "eta": 0.1},
        )
        known = run.model()
        cost, moment = (float(np.squeeze(known.value(each))) for each in (_V, _G))
        step = float(np.sqrt(cost / moment))
        found = {"rho": rate, "eps": damping, "eta": step, "V0": cost, "G0": moment}
        tuned = replace(run, sizes=step * rate**mode, parameters=found)
        yield tuned.model()
        for other in perturbed(tuned, "V0 G0 eta C D1 Gam Dup nu Rj"):
            yield other.model()


TUNED = Theorem(
    id="dp2.B.tuned",
    title="Theorem B with the best step",
    statement=_BEST,
    kind=Kind.UPPER,
    source=_SOURCE,
    assumptions=(
        *ASSUMPTIONS,
        Assumption("variation", Eq(_V, V0), "V is what the cycles cost at most", CODE),
        *best_step(_G),
    ),
    steps=best_step_proof(_BEST, GAP, "variation", "dp2.B.apriori"),
    explanation=(
        "With the best step the two terms of theorem B are equal, and the bound is the root of "
        "their product."
    ),
    models=_tuned_models,
    evaluations={
        "bound": sqrt(_V * _G) / T,
        "learning_rate": sqrt(_V / _G),
        "variation": _V,
        "moments": _G,
    },
    caveats=CAVEATS,
)

THEOREMS: tuple[Theorem, ...] = (BEFORE, TUNED)
