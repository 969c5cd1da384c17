"""DP-SGD with a constant step, for comparison: the master inequality with the identity metric."""

from __future__ import annotations

from sympy import Integer, Lambda, Sum, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.master import CAVEATS
from bounds.dp2.relations import Eq, Le
from bounds.dp2.runs_convex import sgd_models
from bounds.dp2.setting import CONVEX, INSIDE, MEAN, OPTIMUM, OVER_J, OVER_T, UNBIASED
from bounds.dp2.symbols import C, D, N, R, Rj, a, eta, g, gap, lower, nu, nu1, omega, w
from bounds.operators import E, Independent, Max, Min
from bounds.proof.methods import Linearity
from bounds.proof.step import cite, expectation, identity, inequality
from bounds.symbols import T, d, i, j, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_SOURCE = Source("abadi2016dpsgd", "convex analysis", Status.DERIVED)

SGD_UPDATE = Assumption(
    "update",
    Eq(
        w(t + 1, j),
        Min(Max(w(t, j) - eta * (g(t, j) + N(t, j)), lower(j)), lower(j) + Rj(j)),
    ),
    "w_{t+1} is w_t - eta (g_t + N_t), clipped to the box in every coordinate",
    CODE,
)
SGD_FRESH = Assumption(
    "fresh",
    Independent(N(t, j), w(t, i), g(t, i)),
    "the noise of a step is drawn independently of the iterate and the batch",
    CODE,
)
SGD_VARIANCE = Assumption(
    "variance", Eq(E(N(t, j) ** 2), nu1**2), "the noise has standard deviation sigma C1/b", CODE
)
CLIPPED = Assumption(
    "clipped",
    Le(Sum(E(g(t, j) ** 2), OVER_J), C**2),
    "the batch gradient has mean square at most C^2",
    CODE,
)
SIDES = Assumption("sides", Le(Rj(j), R), "no side of the box is longer than R", CODE)
ASSUMPTIONS = (
    INSIDE,
    OPTIMUM,
    SGD_UPDATE,
    CONVEX,
    UNBIASED,
    SGD_FRESH,
    MEAN,
    SGD_VARIANCE,
    CLIPPED,
)

GAP = Sum(E(gap(t)), OVER_T) / T
_SECOND = C**2 + d * nu1**2
_ANY = Le(GAP, Sum(Rj(j) ** 2, OVER_J) / (2 * eta * T) + eta * _SECOND / 2)

ANY_STEP = Theorem(
    id="dp2.dp-sgd.any-step",
    title="DP-SGD, any constant step",
    statement=_ANY,
    kind=Kind.TIGHT,
    source=_SOURCE,
    assumptions=ASSUMPTIONS,
    steps=(
        expectation(
            "moments",
            Le(
                Sum(Sum(E(g(t, j) ** 2), OVER_J) + d * nu1**2, OVER_T),
                T * _SECOND,
            ),
            "clipped",
            by=Linearity(over=(OVER_T,)),
        ),
        inequality(
            "bound",
            Le(
                2 * eta * Sum(E(gap(t)), OVER_T),
                Sum(Rj(j) ** 2, OVER_J) + eta**2 * T * _SECOND,
            ),
            "moments",
            cite(
                "dp2.master",
                {
                    D: Lambda((t, j), Integer(1)),
                    a: Lambda(t, eta),
                    omega: Lambda(t, Integer(1)),
                    nu: Lambda(t, nu1),
                },
            ),
        ),
        inequality("average", _ANY, "bound"),
    ),
    explanation=(
        "The mean gap of T steps of DP-SGD: the squared sides of the box over the distance that T "
        "steps can go, plus the step times the second moment of gradient and noise."
    ),
    models=sgd_models,
    evaluations={
        "bound": d * R**2 / (2 * eta * T) + eta * _SECOND / 2,
    },
    curve=Curve(
        "learning_rate",
        tuple(0.01 * 1.3**n for n in range(20)),
        {
            "steps": 1000,
            "dimension": 50,
            "diameter": 1.0,
            "gradient_bound": 1.0,
            "noise_std": 0.0075448,
        },
        log_x=True,
        log_y=True,
    ),
    caveats=CAVEATS,
)

_BEST = Eq(eta, R * sqrt(d / (T * _SECOND)))
_TUNED = Le(GAP, R * sqrt(d * _SECOND / T))

DP_SGD = Theorem(
    id="dp2.dp-sgd",
    title="DP-SGD with the best constant step",
    statement=_TUNED,
    kind=Kind.TIGHT,
    source=_SOURCE,
    assumptions=(
        *ASSUMPTIONS,
        SIDES,
        Assumption("tuned", _BEST, "the step is the best one for these constants", CODE),
    ),
    steps=(
        inequality("squares", Le(Rj(j) ** 2, R**2), "sides"),
        expectation(
            "box",
            Le(Sum(Rj(j) ** 2, OVER_J), d * R**2),
            "squares",
            by=Linearity(over=(OVER_J,)),
        ),
        identity(
            "best-value",
            Eq(d * R**2 / (2 * eta * T) + eta * _SECOND / 2, R * sqrt(d * _SECOND / T)),
            "tuned",
        ),
        inequality(
            "divided", Le(Sum(Rj(j) ** 2, OVER_J) / (2 * eta * T), d * R**2 / (2 * eta * T)), "box"
        ),
        inequality("bound", _TUNED, "divided", "best-value", cite("dp2.dp-sgd.any-step")),
    ),
    explanation=(
        "With the best constant step DP-SGD is within R sqrt(d (C^2 + d nu^2)/T) of the optimum on "
        "average. An adaptive method has to beat this number, at the same privacy."
    ),
    models=sgd_models,
    evaluations={
        "bound": R * sqrt(d * _SECOND / T),
        "learning_rate": R * sqrt(d / (T * _SECOND)),
    },
    curve=Curve(
        "steps",
        (10, 30, 100, 300, 1000, 3000, 10000),
        {"dimension": 50, "diameter": 1.0, "gradient_bound": 1.0, "noise_std": 0.0075448},
        log_x=True,
        log_y=True,
    ),
    caveats=(
        *CAVEATS,
        "C^2 stands for E||g_t||^2. Who knows the gradients from a pilot may put a smaller number, "
        "and compares DP2 with that one.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (ANY_STEP, DP_SGD)
