"""How fast the gradient of a smoothed loss changes, and the losses for which this is attained."""

from __future__ import annotations

import sympy
from sympy import (
    Abs,
    And,
    Eq,
    Integral,
    Piecewise,
    erf,
    exp,
    oo,
    pi,
    sqrt,
)

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import E, RandomVariable, StandardNormal, Variable, random_process
from bounds.proof.methods import Integrate, Linearity
from bounds.proof.step import at, cite, expectation, identity, inequality
from bounds.resque.estimator import normal_density
from bounds.resque.symbols import L_lip, dist_xy, rho_s
from bounds.theorem import Curve, Kind, Source, Status, Theorem

Z = RandomVariable("Z")
#: Directional derivative, in a fixed direction e, of the loss at the point v_ on the line through
#: x and y; v_, in units of rho, is 0 in the middle between them.
slope = random_process("slope_e")
grad_x = sympy.Symbol("grad_x", real=True)
grad_y = sympy.Symbol("grad_y", real=True)
v_ = Variable("v_")
u_ = Variable("u_")
h_ = Variable("h_")
c_ = Variable("c_")
m_ = Variable("m_")


_HALF = dist_xy / (2 * rho_s)
_AROUND_X = normal_density(v_ - _HALF)
_AROUND_Y = normal_density(v_ + _HALF)


def _signed(c: sympy.Expr) -> sympy.Expr:
    """Sign of v_ times the density of N(c, 1)."""
    return sympy.sign(v_) * normal_density(v_ - c)


_LINE = Integrate(v_, -oo, oo)
_TV2 = 2 * erf(dist_xy / (2 * sqrt(2) * rho_s))
_PAIR = (
    Assumption(
        "gradient-x",
        Eq(grad_x, E(Integral(slope(v_) * _AROUND_X, (v_, -oo, oo)))),
        "grad_x is the derivative of the smoothed loss at x in a fixed direction e: the mean of "
        "the subgradient around x (resque.E1)",
        CODE,
    ),
    Assumption(
        "gradient-y",
        Eq(grad_y, E(Integral(slope(v_) * _AROUND_Y, (v_, -oo, oo)))),
        "grad_y is the same at y",
        CODE,
    ),
    Assumption(
        "lipschitz",
        And(-L_lip <= slope(v_), slope(v_) <= L_lip),
        "the loss is L-Lipschitz: a subgradient has length at most L",
        CALLER,
    ),
    Assumption(
        "reference", StandardNormal(Z), "Z is standard normal: its mean sign states the bound", CODE
    ),
)

_F4_STATEMENT = Abs(grad_x - grad_y) <= L_lip * _TV2

F4 = Theorem(
    id="resque.F4",
    title="Gradients of a smoothed loss at any two points",
    statement=_F4_STATEMENT,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "properties of Gaussian smoothing", Status.DERIVED),
    assumptions=_PAIR,
    steps=(
        inequality(
            "up",
            slope(v_) * (_AROUND_X - _AROUND_Y) <= L_lip * (_signed(_HALF) - _signed(-_HALF)),
            "lipschitz",
        ),
        inequality(
            "down",
            -slope(v_) * (_AROUND_X - _AROUND_Y) <= L_lip * (_signed(_HALF) - _signed(-_HALF)),
            "lipschitz",
        ),
        expectation(
            "mean-up",
            E(Integral(slope(v_) * (_AROUND_X - _AROUND_Y), (v_, -oo, oo)))
            <= L_lip * Integral(_signed(_HALF) - _signed(-_HALF), (v_, -oo, oo)),
            "up",
            by=Linearity(over=(E, _LINE)),
        ),
        expectation(
            "mean-down",
            -E(Integral(slope(v_) * (_AROUND_X - _AROUND_Y), (v_, -oo, oo)))
            <= L_lip * Integral(_signed(_HALF) - _signed(-_HALF), (v_, -oo, oo)),
            "down",
            by=Linearity(over=(E, _LINE)),
        ),
        identity(
            "centred",
            Eq(
                Integral(_signed(c_), (v_, -oo, oo)),
                Integral(sympy.sign(v_ + c_) * normal_density(v_), (v_, -oo, oo)),
            ),
            substitute={v_: v_ + c_},
        ),
        identity(
            "normal",
            Eq(
                E(sympy.sign(Z + c_)),
                Integral(sympy.sign(v_ + c_) * normal_density(v_), (v_, -oo, oo)),
            ),
            "reference",
        ),
        inequality("sign-below", sympy.sign(Z + c_) <= Piecewise((1, Z + c_ >= 0), (-1, True))),
        inequality("sign-above", Piecewise((1, Z + c_ > 0), (-1, True)) <= sympy.sign(Z + c_)),
        expectation(
            "mean-below",
            E(sympy.sign(Z + c_)) <= E(Piecewise((1, Z + c_ >= 0), (-1, True))),
            "sign-below",
            by=Linearity(over=(E,)),
        ),
        expectation(
            "mean-above",
            E(Piecewise((1, Z + c_ > 0), (-1, True))) <= E(sympy.sign(Z + c_)),
            "sign-above",
            by=Linearity(over=(E,)),
        ),
        identity(
            "upper",
            Eq(E(Piecewise((1, Z + c_ >= 0), (-1, True))), erf(c_ / sqrt(2))),
            "reference",
            evaluate=True,
        ),
        identity(
            "lower",
            Eq(E(Piecewise((1, Z + c_ > 0), (-1, True))), erf(c_ / sqrt(2))),
            "reference",
            evaluate=True,
        ),
        inequality(
            "mean-sign",
            Eq(Integral(_signed(c_), (v_, -oo, oo)), erf(c_ / sqrt(2))),
            "centred",
            "normal",
            "mean-below",
            "mean-above",
            "upper",
            "lower",
            note="the mean sign of a Gaussian of mean c and variance 1",
        ),
        inequality(
            "apart",
            _F4_STATEMENT,
            "mean-up",
            "mean-down",
            at("mean-sign", {c_: _HALF}),
            at("mean-sign", {c_: -_HALF}),
            "gradient-x",
            "gradient-y",
        ),
    ),
    explanation=(
        "The gradient of the smoothed loss is a mean of subgradients of length at most L under a "
        "Gaussian around the point. Moving the point changes the mean by at most 2 L times the "
        "total variation distance of the two Gaussians, which is "
        "2 Phi(||x - y||/(2 rho)) - 1 = erf(||x - y||/(2 sqrt(2) rho)). This holds at all "
        "distances, and |x| at y = -x attains it (resque.F4.tight). The statement is about one "
        "direction e; as it holds for all of them it bounds the norm."
    ),
    evaluations={"bound": L_lip * _TV2, "linear": sqrt(2 / pi) * L_lip * dist_xy / rho_s},
    curve=Curve(
        along="distance",
        values=tuple(step / 10 for step in range(1, 61)),
        fixed={"lipschitz": 1, "smoothing_std": 1},
        names=("bound", "linear"),
    ),
)

_REACH = dist_xy / (2 * sqrt(2) * rho_s)
_F3_STATEMENT = Abs(grad_x - grad_y) <= sqrt(2 / pi) * L_lip * dist_xy / rho_s

F3 = Theorem(
    id="resque.F3",
    title="A smoothed loss is sqrt(2/pi) L/rho-smooth",
    statement=_F3_STATEMENT,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "smoothness after Gaussian smoothing", Status.DERIVED),
    assumptions=_PAIR,
    steps=(
        inequality(
            "flat",
            2 / sqrt(pi) * exp(-(u_**2)) <= 2 / sqrt(pi),
            note="the Gaussian density is largest at 0",
        ),
        expectation(
            "integrated",
            Integral(2 / sqrt(pi) * exp(-(u_**2)), (u_, 0, _REACH)) <= 2 / sqrt(pi) * _REACH,
            "flat",
            by=Linearity(over=(Integrate(u_, 0, _REACH),)),
        ),
        identity(
            "error-function",
            Eq(Integral(2 / sqrt(pi) * exp(-(u_**2)), (u_, 0, _REACH)), erf(_REACH)),
            evaluate=True,
        ),
        inequality(
            "smooth",
            _F3_STATEMENT,
            cite("resque.F4"),
            "integrated",
            "error-function",
        ),
    ),
    explanation=(
        "The gradient of the smoothed loss is Lipschitz with constant sqrt(2/pi) L/rho = "
        "0.798 L/rho, a little better than the usual L/rho. It follows from resque.F4, as the "
        "error function lies below its tangent at 0, and |x| attains it at the kink "
        "(resque.F3.tight)."
    ),
    evaluations={"bound": sqrt(2 / pi) * L_lip / rho_s, "usual": L_lip / rho_s},
    curve=Curve(
        along="smoothing_std",
        values=tuple(step / 20 for step in range(2, 41)),
        fixed={"lipschitz": 1},
        names=("bound", "usual"),
        log_y=True,
    ),
)

THEOREMS: tuple[Theorem, ...] = (F3, F4)
