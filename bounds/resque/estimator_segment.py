"""Two lemmas of the difference of estimates: E|m + Z|^p grows with |m|, and Gaussian tilting.

The letters: U and V are the components of xi/rho along b - a and across it, Z is standard normal;
w_1 and w_2 are the weights at the ends of the way from x to x'; a_perp is the component of a across
it and s_ the part of the way. In the lemmas c_ is the mean of a normal variable, k_ a factor >= 0,
z_ the variable of an integral, x_ and y_ stand for any numbers, and i_ numbers two terms.
"""

from __future__ import annotations

import sympy
from sympy import Abs, And, Eq, Implies, Integral, Lambda, Piecewise, Sum, exp, oo

from bounds.operators import E, Index, Max, Min, RandomVariable, Variable
from bounds.proof.methods import Jensen, Linearity, ZeroMean
from bounds.proof.step import Step, at, expectation, identity, inequality
from bounds.resque.estimator import normal_density
from bounds.resque.symbols import H_sep, p_norm, t_rel

U = RandomVariable("U")
V = RandomVariable("V")
Z = RandomVariable("Z")
w_1 = RandomVariable("w_1", positive=True)
w_2 = RandomVariable("w_2", positive=True)
#: Components of a along b - a and across it.
a_par = sympy.Symbol("a_par", real=True)
a_perp = sympy.Symbol("a_perp", real=True)

s_ = Variable("s_")
c_ = Variable("c_")
k_ = Variable("k_", nonnegative=True)
z_ = Variable("z_")
x_ = Variable("x_")
y_ = Variable("y_")
i_ = Index("i_")

#: Component along b - a after the part s_ of the way.
AT_S = a_par + s_ * H_sep


def weight(along: sympy.Expr) -> sympy.Expr:
    """The weight where the shift has the component `along` along b - a."""
    return exp(along * U + a_perp * V - (along**2 + a_perp**2) / 2)


def rate(along: sympy.Expr) -> sympy.Expr:
    """How fast the weight changes on the way from x to x'."""
    return H_sep * (U - along) * weight(along)


#: How fast the weight changes there.
RATE = rate(AT_S)


def moment(mean: sympy.Expr) -> sympy.Expr:
    """E |mean + Z|^p, Z standard normal."""
    return E(Abs(mean + Z) ** p_norm)


#: Shares of the ends k t and -k t when k c, |c| <= t, is written as an average of them.
_ABOVE = Min(Max(t_rel + c_, 0), 2 * t_rel)
_BELOW = Min(Max(t_rel - c_, 0), 2 * t_rel)
_UP = _ABOVE / (2 * t_rel)
_DOWN = _BELOW / (2 * t_rel)
_SHARE = Piecewise((_UP, Eq(i_, 1)), (_DOWN, True))
_END = Piecewise((k_ * t_rel, Eq(i_, 1)), (-k_ * t_rel, True))
_AVERAGE = Sum(_SHARE * (_END + Z), (i_, 1, 2))
_AVERAGES = Sum(_SHARE * Abs(_END + Z) ** p_norm, (i_, 1, 2))
#: The component is inside the ball.
INSIDE = And(-t_rel <= c_, c_ <= t_rel)

#: E |k c + Z|^p is even in c and grows with |c|: convexity and symmetry.
GROWING: tuple[Step, ...] = (
    inequality("shares", Eq(_ABOVE, 2 * t_rel - _BELOW)),
    identity("unit", Eq(Sum(_SHARE, (i_, 1, 2)), 1), "shares", evaluate=True),
    expectation(
        "two-points",
        Abs(_AVERAGE) ** p_norm <= _AVERAGES,
        "unit",
        "order",
        by=Jensen(Lambda(x_, Abs(x_) ** p_norm), _END + Z, (_SHARE, (i_, 1, 2))),
        note="|x|^p is convex",
    ),
    identity(
        "average",
        Eq(
            Abs(_AVERAGE) ** p_norm,
            Abs(_UP * (k_ * t_rel + Z) + _DOWN * (-k_ * t_rel + Z)) ** p_norm,
        ),
        evaluate=True,
    ),
    identity(
        "averages",
        Eq(
            _AVERAGES,
            _UP * Abs(k_ * t_rel + Z) ** p_norm + _DOWN * Abs(-k_ * t_rel + Z) ** p_norm,
        ),
        evaluate=True,
    ),
    identity(
        "collected",
        Eq(
            _UP * (k_ * t_rel + Z) + _DOWN * (-k_ * t_rel + Z),
            k_ * t_rel * (_UP - _DOWN) + Z,
        ),
        "shares",
    ),
    inequality("powers", Implies(Eq(x_, y_), Eq(Abs(x_) ** p_norm, Abs(y_) ** p_norm))),
    inequality(
        "between-ends",
        Abs(k_ * t_rel * (_UP - _DOWN) + Z) ** p_norm
        <= _UP * Abs(k_ * t_rel + Z) ** p_norm + _DOWN * Abs(-k_ * t_rel + Z) ** p_norm,
        "two-points",
        "average",
        "averages",
        "collected",
        at(
            "powers",
            {
                x_: _UP * (k_ * t_rel + Z) + _DOWN * (-k_ * t_rel + Z),
                y_: k_ * t_rel * (_UP - _DOWN) + Z,
            },
        ),
    ),
    expectation(
        "mean-between",
        moment(k_ * t_rel * (_UP - _DOWN))
        <= _UP * moment(k_ * t_rel) + _DOWN * moment(-k_ * t_rel),
        "between-ends",
        by=Linearity(over=(E,)),
    ),
    identity(
        "density",
        Eq(moment(c_), Integral(Abs(c_ + z_) ** p_norm * normal_density(z_), (z_, -oo, oo))),
        "reference",
    ),
    identity(
        "reflect",
        Eq(
            Integral(Abs(c_ + z_) ** p_norm * normal_density(z_), (z_, -oo, oo)),
            Integral(Abs(-c_ + z_) ** p_norm * normal_density(z_), (z_, -oo, oo)),
        ),
        substitute={z_: -z_},
        note="Z and -Z have one law",
    ),
    inequality("even", Eq(moment(c_), moment(-c_)), "density", at("density", {c_: -c_}), "reflect"),
    inequality("congruent", Implies(Eq(x_, y_), Eq(moment(k_ * x_), moment(k_ * y_)))),
    inequality(
        "growing",
        Implies(INSIDE, moment(k_ * c_) <= moment(k_ * t_rel)),
        "mean-between",
        "shares",
        at("even", {c_: k_ * t_rel}),
        at("congruent", {x_: t_rel * (_UP - _DOWN), y_: c_}),
        note="so E|k c + Z|^p is largest at the ends",
    ),
)

#: E of the p-th power of the derivative of the weight along the segment.
TILTED: tuple[Step, ...] = (
    identity(
        "gauss",
        Eq(
            E(exp(p_norm * c_ * U) * Abs(U - c_) ** p_norm),
            Integral(
                exp(p_norm * c_ * z_) * Abs(z_ - c_) ** p_norm * normal_density(z_),
                (z_, -oo, oo),
            ),
        ),
        "along",
    ),
    identity(
        "shift",
        Eq(
            Integral(
                exp(p_norm * c_ * z_) * Abs(z_ - c_) ** p_norm * normal_density(z_),
                (z_, -oo, oo),
            ),
            exp(p_norm**2 * c_**2 / 2)
            * Integral(Abs((p_norm - 1) * c_ + z_) ** p_norm * normal_density(z_), (z_, -oo, oo)),
        ),
        substitute={z_: z_ + p_norm * c_},
        note="complete the square: the tilted Gaussian is centred at p c",
    ),
    inequality(
        "tilt",
        Eq(
            E(exp(p_norm * c_ * U) * Abs(U - c_) ** p_norm),
            exp(p_norm**2 * c_**2 / 2) * moment((p_norm - 1) * c_),
        ),
        "gauss",
        "shift",
        at("density", {c_: (p_norm - 1) * c_}),
    ),
    identity(
        "across-mean",
        Eq(E(exp(p_norm * a_perp * V)), exp(p_norm**2 * a_perp**2 / 2)),
        "across",
        evaluate=True,
    ),
    expectation(
        "factor",
        Eq(
            E(exp(p_norm * c_ * U) * Abs(U - c_) ** p_norm * exp(p_norm * a_perp * V)),
            exp(p_norm**2 * a_perp**2 / 2) * E(exp(p_norm * c_ * U) * Abs(U - c_) ** p_norm),
        ),
        "across-mean",
        "independent",
        by=ZeroMean(),
        note="independent factors",
    ),
    inequality(
        "rate",
        Eq(
            E(Abs(rate(c_)) ** p_norm),
            H_sep**p_norm
            * exp(p_norm * (p_norm - 1) * (c_**2 + a_perp**2) / 2)
            * moment((p_norm - 1) * c_),
        ),
        "factor",
        "tilt",
    ),
)
