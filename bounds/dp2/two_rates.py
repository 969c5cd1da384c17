"""Theorem B: two constant learning rates, eta in DP-SGD steps and rho eta in adaptive ones."""

from __future__ import annotations

from typing import Any

from sympy import Implies, Integer, Lambda, Sum

from bounds.dp2.counts import to_adaptive
from bounds.dp2.master import CAVEATS
from bounds.dp2.relations import Eq, Le
from bounds.dp2.runs_convex import rate_models
from bounds.dp2.setting import MODES, OVER_J, OVER_T, growth
from bounds.dp2.symbols import (
    D,
    Q,
    Rj,
    a,
    eta,
    gap,
    mode,
    omega,
    rho,
)
from bounds.dp2.two_modes import IDENTITY, KEPT, MOMENT_STEPS, ONE_MOMENT, moment_bound, run
from bounds.dp2.variation import START, to_sgd
from bounds.operators import E, Max, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import Step, at, cite, expectation, inequality
from bounds.symbols import T, j, t
from bounds.theorem import Kind, Source, Status, Theorem

_SOURCE = Source("li2023dp2", "convex analysis", Status.DERIVED)
x, y = Variable("x"), Variable("y")
b = Variable("b", positive=True)


def rate(step: Any) -> Any:
    """The learning rate of a step over that of DP-SGD steps: 1 or rho."""
    return rho ** mode(step)


def relative(step: Any, coordinate: Any) -> Any:
    """The metric of a step over that of DP-SGD steps: 1 or D/rho."""
    return D(step, coordinate) / rate(step)


GAP = Sum(E(gap(t)), OVER_T) / T
RISES = to_adaptive(t) * E(Max(D(t + 1, j) / rho - 1, 0)) + to_sgd(t) * E(Max(1 - D(t, j) / rho, 0))
V = Sum(Rj(j) ** 2 * (1 + Sum(RISES, (t, 1, T - 1))), OVER_J)
G = Sum(rate(t) * moment_bound(t), OVER_T)
RUN = run(lambda step: eta * rate(step))

RELATIVE_STEPS: tuple[Step, ...] = (
    inequality(
        "relative-identity",
        Implies(Eq(mode(t), 0), Eq(relative(t, j), 1)),
        "identity",
    ),
    inequality(
        "relative-kept",
        Implies(Eq(mode(t), mode(t + 1)), Eq(relative(t + 1, j), relative(t, j))),
        "kept",
        "modes",
        at("modes", {t: t + 1}),
    ),
)
CITE_Q = {Q: Lambda((t, j), relative(t, j))}

_VARIATION = Eq(growth(relative), 1 + Sum(RISES, (t, 1, T - 1)))

VARIATION = Theorem(
    id="dp2.B.variation",
    title="What a change of learning rate and metric costs",
    statement=_VARIATION,
    kind=Kind.IDENTITY,
    source=_SOURCE,
    assumptions=(MODES, START, IDENTITY, KEPT),
    steps=(
        *RELATIVE_STEPS,
        inequality(
            "rise-path",
            Eq(
                to_adaptive(t) * Max(relative(t + 1, j) - 1, 0)
                + to_sgd(t) * Max(1 - relative(t, j), 0),
                to_adaptive(t) * Max(D(t + 1, j) / rho - 1, 0)
                + to_sgd(t) * Max(1 - D(t, j) / rho, 0),
            ),
            "modes",
            at("modes", {t: t + 1}),
        ),
        expectation(
            "rises",
            Eq(
                Sum(
                    to_adaptive(t) * E(Max(relative(t + 1, j) - 1, 0))
                    + to_sgd(t) * E(Max(1 - relative(t, j), 0)),
                    (t, 1, T - 1),
                ),
                Sum(RISES, (t, 1, T - 1)),
            ),
            "rise-path",
            by=Linearity(over=((t, 1, T - 1), E)),
        ),
        inequality("growth", _VARIATION, "rises", cite("dp2.variation", CITE_Q)),
    ),
    explanation=(
        "With the learning rate rho eta in adaptive steps the metric is D/rho times that of "
        "DP-SGD. Entering an adaptive phase costs what D/rho exceeds 1 by, leaving it what it "
        "falls short of 1 by."
    ),
    models=rate_models,
)

_B = Le(GAP, V / (2 * eta * T) + eta * G / (2 * T))
_METRIC = D(t, j) / (eta * rate(t))
_CHANGE = Max(_METRIC.subs(t, t + 1) - _METRIC, 0)
_COLUMN = E(_METRIC).subs(t, 1) + Sum(E(_CHANGE), (t, 1, T - 1))

B = Theorem(
    id="dp2.B",
    title="Theorem B: two constant learning rates",
    statement=_B,
    kind=Kind.TIGHT,
    source=_SOURCE,
    assumptions=RUN,
    steps=(
        *MOMENT_STEPS,
        inequality("scale", Implies(x <= y, b * x <= b * y)),
        inequality("scale-part", Eq(Max(b * x, 0), b * Max(x, 0))),
        inequality(
            "weighted-moment",
            Le(rate(t) * ONE_MOMENT, rate(t) * moment_bound(t)),
            "moment",
            at("scale", {b: rate(t), x: ONE_MOMENT, y: moment_bound(t)}),
        ),
        expectation(
            "moments",
            Le(Sum(rate(t) * ONE_MOMENT, OVER_T), G),
            "weighted-moment",
            by=Linearity(over=(OVER_T,)),
        ),
        inequality(
            "change-path",
            Eq(_CHANGE, Max(relative(t + 1, j) - relative(t, j), 0) / eta),
            at("scale-part", {b: 1 / eta, x: relative(t + 1, j) - relative(t, j)}),
        ),
        expectation(
            "changes",
            Eq(
                Sum(E(_CHANGE), (t, 1, T - 1)),
                Sum(E(Max(relative(t + 1, j) - relative(t, j), 0)), (t, 1, T - 1)) / eta,
            ),
            "change-path",
            by=Linearity(over=((t, 1, T - 1), E)),
        ),
        inequality(
            "column",
            Eq(Rj(j) ** 2 * _COLUMN, Rj(j) ** 2 * (1 + Sum(RISES, (t, 1, T - 1))) / eta),
            "changes",
            cite("dp2.B.variation"),
        ),
        expectation(
            "columns",
            Eq(Sum(Rj(j) ** 2 * _COLUMN, OVER_J), V / eta),
            "column",
            by=Linearity(over=(OVER_J,)),
        ),
        inequality(
            "sum",
            Le(Sum(E(gap(t)), OVER_T), V / (2 * eta) + eta * G / 2),
            "columns",
            "moments",
            cite(
                "dp2.master",
                {omega: Lambda(t, Integer(1)), a: Lambda(t, eta * rate(t))},
            ),
        ),
        inequality("average", _B, "sum"),
    ),
    explanation=(
        "DP2 as its authors run it: constant steps, eta in DP-SGD phases and rho eta in adaptive "
        "ones. The mean gap pays for each change of mode by how far D/rho is from 1, so the best "
        "rho sits in the middle of the preconditioner's coordinates and a cycle costs their "
        "spread around it; and for each step by the second moment of gradient and noise."
    ),
    models=rate_models,
    caveats=(
        *CAVEATS,
        "For V alone the best rho is a median of the D_j with weights R_j^2 D_j; the moments grow "
        "with rho, so V times the moments is what to minimise.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (VARIATION, B)
