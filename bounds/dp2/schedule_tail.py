"""How far an uncapped second moment can exceed what the decay allows for.

sqrt(v) is at most C sqrt(1 - beta^r) plus the norm of truly independent Gaussian noise, on every
path, because norms obey the triangle inequality. A norm of Gaussian noise is close to its mean:
that is the one step here that is cited and not proved.
"""

from __future__ import annotations

from sympy import Abs, Lambda, erfc, pi, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.relations import Eq, Le
from bounds.dp2.schedule_models import tail_models
from bounds.dp2.symbols import C, alpha, beta, eps, lip, margin, nu1, s, v, xbar, ynorm, zbar
from bounds.operators import E, Independent, Index, Max, StandardNormal, Variable
from bounds.proof.methods import Jensen, Linearity
from bounds.proof.step import Induction, assumed, at, expectation, identity, inequality
from bounds.symbols import j, k
from bounds.theorem import Curve, Kind, Source, Status, Theorem

STD = nu1 / sqrt(s)
LIPSCHITZ = sqrt(1 - beta) * STD
TAIL = lip * sqrt(pi / 2) * erfc(margin / sqrt(2))

FIRST_UPDATE = Assumption(
    "first-update",
    Eq(v(2, j), (1 - beta) * (xbar(1, j) + STD * zbar(1, j)) ** 2),
    "the first adaptive phase uses (1 - beta) times the square of the first released average",
    CODE,
)
UPDATE = Assumption(
    "ema",
    Eq(
        v(2 * k + 2, j),
        beta * v(2 * k, j) + (1 - beta) * (xbar(k + 1, j) + STD * zbar(k + 1, j)) ** 2,
    ),
    "v is the EMA of squared released averages, raw average plus averaged noise, not capped",
    CODE,
)
RAW = Assumption(
    "raw",
    Le(Abs(xbar(k, j)), C),
    "no coordinate of an averaged raw gradient exceeds C",
    CALLER,
)
NOISE_FIRST = Assumption(
    "noise-first",
    Eq(ynorm(1, j) ** 2, (1 - beta) * STD**2 * zbar(1, j) ** 2),
    "y is the EMA norm of the averaged noise: its square starts like v",
    CODE,
)
NOISE_NEXT = Assumption(
    "noise-next",
    Eq(ynorm(k + 1, j) ** 2, beta * ynorm(k, j) ** 2 + (1 - beta) * STD**2 * zbar(k + 1, j) ** 2),
    "and goes on like v",
    CODE,
)
GAUSSIAN = Assumption(
    "gaussian",
    StandardNormal(zbar(k, j)),
    "the averaged noise of a phase is Gaussian with standard deviation nu1/sqrt(s)",
    CODE,
)
NEW_NOISE = Assumption(
    "new-noise",
    Independent(zbar(k + 1, j), ynorm(k, j)),
    "the noise of a phase is independent of the noise of the phases before",
    CODE,
)
EMA = Assumption("ema-constant", beta < 1, "the EMA constant is below 1", CODE)
SPREAD = Assumption(
    "spread",
    Eq(lip, LIPSCHITZ),
    "lambda = sqrt((1 - beta)/s) nu1 is the Lipschitz constant of y as a function of the noise",
    CODE,
)
CLEAR = Assumption(
    "clear",
    Eq(1 / alpha, eps + C + STD + margin * lip),
    "1/alpha is the damping plus C plus the noise std, plus a margin of so many stds",
    CODE,
)

_until = Index("until")
_y = Variable("y_", nonnegative=True)
EXCESS = Max(sqrt(v(2 * k, j)) + eps - 1 / alpha, 0)
_CENTRED = Max(ynorm(k, j) - E(ynorm(k, j)) - margin * lip, 0)

TAIL_THEOREM = Theorem(
    id="dp2.A0.tail",
    title="How far an uncapped second moment exceeds 1/alpha",
    statement=Le(E(EXCESS), TAIL),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "convex theorem", Status.DERIVED),
    assumptions=(
        FIRST_UPDATE,
        UPDATE,
        RAW,
        NOISE_FIRST,
        NOISE_NEXT,
        GAUSSIAN,
        NEW_NOISE,
        EMA,
        SPREAD,
        CLEAR,
    ),
    steps=(
        inequality(
            "path",
            Le(v(2 * _until, j), (C + ynorm(_until, j)) ** 2),
            "ema-constant",
            "first-update",
            "noise-first",
            at("raw", {k: 1}),
            at("raw", {k: _until + 1}),
            at("ema", {k: _until}),
            at("noise-next", {k: _until}),
            induction=Induction(_until),
        ),
        identity("unit", Eq(E(zbar(k, j) ** 2), 1), "gaussian", evaluate=True),
        expectation(
            "first-mean",
            Eq(E(ynorm(1, j) ** 2), (1 - beta) * STD**2 * E(zbar(1, j) ** 2)),
            "noise-first",
            by=Linearity(over=(E,)),
        ),
        expectation(
            "next-mean",
            Eq(
                E(ynorm(k + 1, j) ** 2),
                beta * E(ynorm(k, j) ** 2) + (1 - beta) * STD**2 * E(zbar(k + 1, j) ** 2),
            ),
            "noise-next",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "mean-squares",
            Le(E(ynorm(_until, j) ** 2), STD**2),
            "first-mean",
            at("next-mean", {k: _until}),
            at("unit", {k: 1}),
            at("unit", {k: _until + 1}),
            "ema-constant",
            induction=Induction(_until),
        ),
        expectation(
            "jensen",
            Le(E(ynorm(k, j)) ** 2, E(ynorm(k, j) ** 2)),
            by=Jensen(Lambda(_y, _y**2), ynorm(k, j)),
        ),
        inequality("mean", Le(E(ynorm(k, j)), STD), "jensen", at("mean-squares", {_until: k})),
        assumed(
            "concentration",
            Le(E(_CENTRED), TAIL),
            "noise-first",
            "noise-next",
            "gaussian",
            "new-noise",
            "ema-constant",
            "spread",
            note="boucheron2013concentration, Theorem 5.6: y is a function of independent standard "
            "normals with Lipschitz constant lambda, hence "
            "P(y - E y > x) <= exp(-x^2/(2 lambda^2)); integrated over x from theta lambda",
        ),
        inequality(
            "excess",
            Le(EXCESS, _CENTRED),
            at("path", {_until: k}),
            "mean",
            "clear",
        ),
        expectation("mean-excess", Le(E(EXCESS), E(_CENTRED)), "excess", by=Linearity(over=(E,))),
        inequality("statement", Le(E(EXCESS), TAIL), "mean-excess", "concentration"),
    ),
    explanation=(
        "sqrt(v) is at most C plus the EMA norm of the averaged noise on every path, by the "
        "triangle inequality, and that norm is a function of independent Gaussians that exceeds "
        "its mean by many standard deviations hardly ever. So when 1/alpha clears the damping, C "
        "and the noise by theta of them, sqrt(v) + damping exceeds 1/alpha by a tiny amount in "
        "the mean."
    ),
    evaluations={"bound": TAIL.subs(lip, LIPSCHITZ), "noise_norm_std": LIPSCHITZ},
    models=tail_models,
    curve=Curve(
        along="decay_margin",
        values=tuple(n / 4 for n in range(33)),
        fixed={"noise_std": 1.93 / 256, "delay": 100, "ema": 0.9},
        log_y=True,
    ),
    caveats=(
        "Gaussian concentration is cited, not proved.",
        "C bounds every coordinate of the raw averages; they may depend on the noise of their "
        "own phase in any way.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (TAIL_THEOREM,)
