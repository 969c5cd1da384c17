"""The smoothed absolute value in closed form: it attains the bounds on gradients."""

from __future__ import annotations

import sympy
from sympy import Abs, And, Derivative, Eq, Limit, Piecewise, erf, exp, pi, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.operators import E, RandomVariable, StandardNormal, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, cite, expectation, identity, inequality
from bounds.resque import smoothing_models
from bounds.resque.symbols import dist_xy, offset, rho_s
from bounds.theorem import Curve, Kind, Source, Status, Theorem

Z = RandomVariable("Z")
h_ = Variable("h_")
m_ = Variable("m_")
_TV2 = 2 * erf(dist_xy / (2 * sqrt(2) * rho_s))

_ALONG = Assumption(
    "along",
    StandardNormal(Z),
    "the component of xi/rho along the unit vector a is standard normal",
    CODE,
)
_SIGN = Piecewise((1, offset + rho_s * Z > 0), (-1, True))
_ABOVE = -offset / rho_s < Z
_VALUE = offset * erf(offset / (sqrt(2) * rho_s)) + 2 * rho_s * exp(
    -(offset**2) / (2 * rho_s**2)
) / sqrt(2 * pi)
_F5_STATEMENT = And(
    Eq(E(Abs(offset + rho_s * Z)), _VALUE),
    Eq(E(_SIGN), erf(offset / (sqrt(2) * rho_s))),
)

F5 = Theorem(
    id="resque.F5",
    title="The smoothed absolute value in closed form",
    statement=_F5_STATEMENT,
    kind=Kind.IDENTITY,
    source=Source("carmon2023resque", "smoothing of an absolute value", Status.DERIVED),
    assumptions=(_ALONG,),
    steps=(
        inequality(
            "split",
            Eq(
                Abs(offset + rho_s * Z),
                Piecewise((offset + rho_s * Z, _ABOVE), (-offset - rho_s * Z, True)),
            ),
        ),
        inequality("sign", Eq(_SIGN, Piecewise((1, _ABOVE), (-1, True)))),
        expectation(
            "mean-split",
            Eq(
                E(Abs(offset + rho_s * Z)),
                E(Piecewise((offset + rho_s * Z, _ABOVE), (-offset - rho_s * Z, True))),
            ),
            "split",
            by=Linearity(over=(E,)),
        ),
        expectation(
            "mean-sign",
            Eq(E(_SIGN), E(Piecewise((1, _ABOVE), (-1, True)))),
            "sign",
            by=Linearity(over=(E,)),
        ),
        identity(
            "value",
            Eq(
                E(Piecewise((offset + rho_s * Z, _ABOVE), (-offset - rho_s * Z, True))),
                _VALUE,
            ),
            "along",
            evaluate=True,
        ),
        identity(
            "slope",
            Eq(E(Piecewise((1, _ABOVE), (-1, True))), erf(offset / (sqrt(2) * rho_s))),
            "along",
            evaluate=True,
        ),
        inequality("closed-form", _F5_STATEMENT, "mean-split", "mean-sign", "value", "slope"),
    ),
    models=smoothing_models.f5,
    explanation=(
        "For the loss |<a, x> - b| with a unit vector a, the smoothed loss depends on the offset "
        "m = <a, x> - b alone: m (2 Phi(m/rho) - 1) + 2 rho phi(m/rho), and its gradient, the mean "
        "of the subgradients, is (2 Phi(m/rho) - 1) a = erf(m/(sqrt(2) rho)) a. This is a test "
        "case in which every estimate can be compared with the exact answer."
    ),
    evaluations={"bound": _VALUE, "slope": erf(offset / (sqrt(2) * rho_s))},
    curve=Curve(
        along="offset",
        values=tuple(step / 10 for step in range(-30, 31)),
        fixed={"smoothing_std": 1},
        names=("bound", "slope"),
    ),
)

F5_GRADIENT = Theorem(
    id="resque.F5.gradient",
    title="The derivative of the smoothed absolute value",
    statement=Eq(Derivative(E(Abs(m_ + rho_s * Z)), m_), erf(m_ / (sqrt(2) * rho_s))),
    kind=Kind.IDENTITY,
    source=Source("carmon2023resque", "smoothing of an absolute value", Status.DERIVED),
    assumptions=(_ALONG,),
    steps=(
        inequality(
            "value",
            Eq(E(Abs(m_ + rho_s * Z)), _VALUE.xreplace({offset: m_})),
            cite("resque.F5", {offset: m_}),
        ),
        identity(
            "derivative",
            Eq(
                Derivative(E(Abs(m_ + rho_s * Z)), m_),
                erf(m_ / (sqrt(2) * rho_s)),
            ),
            "value",
            evaluate=True,
        ),
    ),
    explanation=(
        "Differentiating the closed form gives the mean of the subgradients of resque.F5: the "
        "gradient of the smoothed loss is the smoothed subgradient."
    ),
    evaluations={"bound": erf(offset / (sqrt(2) * rho_s))},
)


def _slope_at(m: sympy.Expr) -> sympy.Expr:
    return E(_SIGN.xreplace({offset: m}))


_F4_TIGHT = Eq(_slope_at(dist_xy / 2) - _slope_at(-dist_xy / 2), _TV2)
F4_TIGHT = Theorem(
    id="resque.F4.tight",
    title="The absolute value attains the bound on gradients",
    statement=_F4_TIGHT,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "properties of Gaussian smoothing", Status.DERIVED),
    assumptions=(_ALONG,),
    steps=(
        inequality(
            "both",
            _F4_TIGHT,
            cite("resque.F5", {offset: dist_xy / 2}),
            cite("resque.F5", {offset: -dist_xy / 2}),
        ),
    ),
    models=smoothing_models.f4_tight,
    explanation=(
        "For |x| in one dimension (L = 1) the gradients of the smoothed loss at x = delta/2 and "
        "y = -delta/2 differ by exactly the bound of resque.F4."
    ),
    evaluations={"bound": _TV2},
)

_F3_TIGHT = Eq(Limit((_slope_at(h_) - _slope_at(-h_)) / (2 * h_), h_, 0), sqrt(2 / pi) / rho_s)
F3_TIGHT = Theorem(
    id="resque.F3.tight",
    title="The absolute value attains the smoothness constant",
    statement=_F3_TIGHT,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "smoothness after Gaussian smoothing", Status.DERIVED),
    assumptions=(_ALONG,),
    steps=(
        inequality(
            "right", Eq(_slope_at(h_), erf(h_ / (sqrt(2) * rho_s))), cite("resque.F5", {offset: h_})
        ),
        identity(
            "limit",
            Eq(
                Limit(
                    (erf(h_ / (sqrt(2) * rho_s)) + erf(h_ / (sqrt(2) * rho_s))) / (2 * h_), h_, 0
                ),
                sqrt(2 / pi) / rho_s,
            ),
            evaluate=True,
        ),
        identity("curvature", _F3_TIGHT, "right", at("right", {h_: -h_}), "limit"),
    ),
    explanation=(
        "At the kink of |x| the second derivative of the smoothed loss is twice the Gaussian "
        "density at 0, sqrt(2/pi)/rho: the constant of resque.F3 with L = 1."
    ),
    evaluations={"bound": sqrt(2 / pi) / rho_s},
)

THEOREMS: tuple[Theorem, ...] = (F5, F5_GRADIENT, F3_TIGHT, F4_TIGHT)
