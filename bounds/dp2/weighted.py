"""Theorem W: steps weighted by their step sizes. The schedule's exponential factor is gone."""

from __future__ import annotations

from sympy import Eq, Implies, Lambda, Le, Max, Sum

from bounds.dp2.master import CAVEATS
from bounds.dp2.setting import OVER_J, OVER_T
from bounds.dp2.symbols import (
    D1,
    D,
    Q,
    Rj,
    a,
    g,
    gap,
    mode,
    nu,
    nu1,
    nu2,
    omega,
)
from bounds.dp2.two_modes import GRADIENT, RUN, SIZE, moment_bound
from bounds.dp2.counts import to_adaptive
from bounds.dp2.variation import to_sgd
from bounds.operators import E, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, cite, expectation, inequality
from bounds.symbols import T, d, j, t
from bounds.theorem import Kind, Source, Status, Theorem

_SOURCE = Source("li2023dp2", "convex analysis", Status.DERIVED)
x, y = Variable("x"), Variable("y")
b = Variable("b", positive=True)

GAPS = Sum(a(t) * E(gap(t)), OVER_T)
MOMENTS = Sum(a(t) ** 2 * moment_bound(t), OVER_T)
RISES = to_adaptive(t) * E(Max(D(t + 1, j) - 1, 0)) + to_sgd(t) * E(Max(1 - D(t, j), 0))
VARIATION = Sum(Rj(j) ** 2 * (1 + Sum(RISES, (t, 1, T - 1))), OVER_J)

_ONE_MOMENT = Sum(E(g(t, j) ** 2 / D(t, j)) + nu(t) ** 2 * E(D(t, j)), OVER_J)
MOMENT_STEPS = (
    inequality(
        "noise-size",
        Le(
            nu(t) ** 2 * Sum(E(D(t, j)), OVER_J), (1 - mode(t)) * d * nu1**2 + mode(t) * nu2**2 * D1
        ),
        "noise",
        "modes",
        "size",
    ),
    inequality("moment", Le(_ONE_MOMENT, moment_bound(t)), "noise-size", "gradient"),
)

_W = Le(GAPS / Sum(a(t), OVER_T), (VARIATION + MOMENTS) / (2 * Sum(a(t), OVER_T)))
W = Theorem(
    id="dp2.W",
    title="Theorem W: step-size weights instead of an exponential factor",
    statement=_W,
    kind=Kind.TIGHT,
    source=_SOURCE,
    assumptions=(*RUN, GRADIENT, SIZE),
    steps=(
        *MOMENT_STEPS,
        inequality("scale", Implies(x <= y, b * x <= b * y)),
        inequality(
            "weighted-moment",
            Le(a(t) ** 2 * _ONE_MOMENT, a(t) ** 2 * moment_bound(t)),
            "moment",
            at("scale", {b: a(t) ** 2, x: _ONE_MOMENT, y: moment_bound(t)}),
        ),
        expectation(
            "moments",
            Le(Sum(a(t) ** 2 * _ONE_MOMENT, OVER_T), MOMENTS),
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
    caveats=(
        *CAVEATS,
        "The schedule itself stops: the step sizes add up to at most about "
        "2 eta sqrt(s)/(1 - decay), however long the run is.",
    ),
)

THEOREMS = (W,)
