"""Bounds on Gamma, the second moment of the gradient in the metric 1/D of an adaptive step.

Whichever is smallest may be put into the convex theorems.
"""

from __future__ import annotations

from sympy import Abs, Implies, Sum, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.relations import Ge, Le
from bounds.dp2.runs_convex import decay_models
from bounds.dp2.setting import OVER_J
from bounds.dp2.symbols import C2, D1, C, D, c1, c2, eps, g, s
from bounds.operators import E, Variable
from bounds.proof.methods import CauchySchwarz, Linearity
from bounds.proof.step import at, expectation, inequality
from bounds.symbols import j, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

#: E||g_t||^2 in the metric 1/D_t
MOMENT = Sum(E(g(t, j) ** 2 / D(t, j)), OVER_J)

DAMPED = Assumption("damped", Ge(D(t, j), eps), "D_t = sqrt(v) + damping", CODE)
CLIPPED = Assumption(
    "clipped",
    Le(Sum(E(g(t, j) ** 2), OVER_J), C**2),
    "the batch gradient has mean square at most C^2 (batches of a fixed size, clipped at C: even "
    "almost surely)",
    CODE,
)
_SIZES = (
    "For batches of a fixed size. Under Poisson sampling with the divisor b put "
    "C^2 (1 + (1 - q)/b) for C^2, q the sampling probability."
)
_SOURCE = Source("li2023dp2", "convex analysis", Status.DERIVED)

x, y = Variable("x"), Variable("y")
low = Variable("low", positive=True)
high = Variable("high", positive=True)

_BOX = Le(MOMENT, C**2 / eps)
BOX = Theorem(
    id="dp2.gamma.damping",
    title="Gradient moment from the damping",
    statement=_BOX,
    kind=Kind.TIGHT,
    source=_SOURCE,
    assumptions=(DAMPED, CLIPPED),
    steps=(
        inequality("divide", Implies(low <= high, x**2 / high <= x**2 / low)),
        inequality(
            "coordinate",
            Le(g(t, j) ** 2 / D(t, j), g(t, j) ** 2 / eps),
            at("divide", {x: g(t, j), low: eps, high: D(t, j)}),
            "damped",
        ),
        expectation(
            "total",
            Le(MOMENT, Sum(E(g(t, j) ** 2), OVER_J) / eps),
            "coordinate",
            by=Linearity(over=(OVER_J, E)),
        ),
        inequality("bounded", _BOX, "total", "clipped"),
    ),
    explanation=(
        "A gradient of norm at most C, divided by a preconditioner of at least the damping, has "
        "a second moment of at most C^2/damping. This holds whatever the preconditioner knows."
    ),
    models=decay_models,
    evaluations={"bound": C**2 / eps},
    curve=Curve(
        "damping", (0.001, 0.01, 0.1, 1.0), {"gradient_bound": 1.0}, log_x=True, log_y=True
    ),
    caveats=(_SIZES,),
)

_NORMS = Le(MOMENT, C * C2)
CLIP = Theorem(
    id="dp2.gamma.clip",
    title="Gradient moment from the two clip norms",
    statement=_NORMS,
    kind=Kind.TIGHT,
    source=_SOURCE,
    assumptions=(
        CLIPPED,
        Assumption(
            "clipped-scaled",
            Le(Sum(E((g(t, j) / D(t, j)) ** 2), OVER_J), C2**2),
            "the preconditioned batch gradient has mean square at most C2^2 (clipped at C2)",
            CODE,
        ),
    ),
    steps=(
        expectation(
            "product",
            Le(
                MOMENT,
                sqrt(Sum(E(g(t, j) ** 2), OVER_J)) * sqrt(Sum(E((g(t, j) / D(t, j)) ** 2), OVER_J)),
            ),
            by=CauchySchwarz(g(t, j), g(t, j) / D(t, j), over=(OVER_J, E)),
        ),
        inequality("bounded", _NORMS, "product", "clipped", "clipped-scaled"),
    ),
    explanation=("<g, g/D> is at most the norm of g times the norm of g/D, and both are clipped."),
    models=decay_models,
    evaluations={"bound": C * C2},
    caveats=(_SIZES,),
)

_STALE = Le(MOMENT, C / eps * (c1 + c2 * s) * D1)
STALE = Theorem(
    id="dp2.gamma.staleness",
    title="Gradient moment from the staleness ratio",
    statement=_STALE,
    kind=Kind.UPPER,
    source=Source("li2023dp2", "convex analysis, h(s)", Status.DERIVED),
    assumptions=(
        DAMPED,
        Assumption(
            "clipped-coordinates",
            Le(Abs(g(t, j)), C),
            "no coordinate of the batch gradient exceeds C",
            CODE,
        ),
        Assumption(
            "stale",
            Le(Sum(E(Abs(g(t, j))), OVER_J), (c1 + c2 * s) * D1),
            "E||g_t||_1 is at most c1 + c2 s times D1 in every step that is counted",
            CALLER,
        ),
    ),
    steps=(
        inequality(
            "divide",
            Implies((low <= y) & (Abs(x) <= high) & (y > 0), x**2 / y <= high / low * Abs(x)),
        ),
        inequality(
            "coordinate",
            Le(g(t, j) ** 2 / D(t, j), C / eps * Abs(g(t, j))),
            at("divide", {x: g(t, j), y: D(t, j), low: eps, high: C}),
            "damped",
            "clipped-coordinates",
        ),
        expectation(
            "total",
            Le(MOMENT, C / eps * Sum(E(Abs(g(t, j))), OVER_J)),
            "coordinate",
            by=Linearity(over=(OVER_J, E)),
        ),
        inequality("scale", Implies(x <= y, low * x <= low * y)),
        inequality(
            "bounded",
            _STALE,
            "total",
            "stale",
            at(
                "scale",
                {low: C / eps, x: Sum(E(Abs(g(t, j))), OVER_J), y: (c1 + c2 * s) * D1},
            ),
        ),
    ),
    explanation=(
        "When the delayed average still describes the gradient (its 1-norm is at most c1 + c2 s "
        "times that of the preconditioner), the moment shrinks with the preconditioner."
    ),
    models=decay_models,
    evaluations={"bound": C / eps * (c1 + c2 * s) * D1},
    curve=Curve(
        "delay",
        (1, 10, 100, 1000),
        {
            "gradient_bound": 1.0,
            "damping": 0.01,
            "staleness_intercept": 0.3,
            "staleness_slope": 0.002,
            "preconditioner_norm": 0.8,
        },
        log_x=True,
    ),
    caveats=(
        "It is below C^2/damping only if (c1 + c2 s) D1 < C; otherwise dp2.gamma.damping is the "
        "better bound and the delay costs nothing in it.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (BOX, CLIP, STALE)
