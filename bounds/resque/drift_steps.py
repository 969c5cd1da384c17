"""Inequalities between numbers behind the drift of two runs: Taylor, Young, Minkowski.

The letters of the lemmas: x_ is the distance ||x - x'||; a_ and b_ are a step's components along it
and across, and d_ is the positive number that its square is increased by; s_ is the part of the
step that is taken. X_ and Y_ are the sizes of distance and step; u_, v_, n_ > 0 and l_, y_ stand
for any numbers, and i_ numbers the two terms of an average.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import And, Eq, Implies, Integral, Lambda, Piecewise, Sum, exp, log

from bounds.operators import Index, Variable
from bounds.proof.methods import Integrate, Jensen, Linearity
from bounds.proof.step import Step, at, expectation, identity, inequality
from bounds.resque.symbols import h_step

#: The order is p = 2 + 2 e.
e = sympy.Symbol("half_excess", positive=True)
#: The order p.
ORDER = 2 + 2 * e
#: p (p - 1)/2
PAIRS = (1 + e) * (1 + 2 * e)

x_ = Variable("x_", nonnegative=True)
a_ = Variable("a_")
b_ = Variable("b_")
d_ = Variable("d_", positive=True)
s_ = Variable("s_")
X_ = Variable("X_", positive=True)
Y_ = Variable("Y_", positive=True)
u_ = Variable("u_", positive=True)
v_ = Variable("v_", positive=True)
n_ = Variable("n_", positive=True)
l_ = Variable("l_")
y_ = Variable("y_")
i_ = Index("i_")


def square(s: Any) -> Any:
    """Squared distance after the part s of a step, plus d_."""
    return (x_ - a_ * s) ** 2 + (b_ * s) ** 2 + d_


_SLOPE = -2 * a_ * (x_ - a_ * s_) + 2 * b_**2 * s_
_BEND = (1 + e) * e * square(s_) ** e / square(s_) * _SLOPE**2 + 2 * (1 + e) * (
    a_**2 + b_**2
) * square(s_) ** e
_REST = Integral((1 - s_) * _BEND, (s_, 0, 1))
_LARGEST = 2 * PAIRS * Y_**2 * (X_ + Y_) ** (2 * e)
_ON = And(s_ >= 0, s_ <= 1)
_SIZES = And(Eq(X_**2, x_**2 + d_), a_**2 + b_**2 <= Y_**2)
_ONE_STEP = Implies(
    _SIZES,
    square(1) ** (1 + e)
    <= X_**ORDER - ORDER * X_ ** (2 * e) * a_ * x_ + PAIRS * Y_**2 * (X_ + Y_) ** (2 * e),
)

#: With D for the step: ||Phi - D||^p is at most
#: ||Phi||^p - p ||Phi||^(p-2) <Phi, D> + (p(p-1)/2) (||Phi|| + ||D||)^(p-2) ||D||^2.
_TAYLOR: tuple[Step, ...] = (
    identity(
        "taylor",
        Eq(
            _REST,
            square(1) ** (1 + e)
            - (x_**2 + d_) ** (1 + e)
            + 2 * (1 + e) * (x_**2 + d_) ** e * a_ * x_,
        ),
        antiderivative=Lambda(
            s_,
            square(s_) ** (1 + e) + (1 - s_) * (1 + e) * square(s_) ** e * _SLOPE,
        ),
        note="Taylor's formula along the step, with its integral remainder",
    ),
    inequality("powers", Implies(u_ <= v_, u_**e <= v_**e)),
    inequality(
        "curvature",
        Implies(And(_ON, _SIZES), (1 - s_) * _BEND <= (1 - s_) * _LARGEST),
        at("powers", {u_: square(s_), v_: (X_ + Y_) ** 2}),
    ),
    expectation(
        "remainder",
        Implies(_SIZES, Integral((1 - s_) * _LARGEST, (s_, 0, 1)) >= _REST),
        "curvature",
        by=Linearity(over=(Integrate(s_, 0, 1),)),
    ),
)

#: Lemmas on one step, by Taylor's formula.
ONE_STEP: tuple[Step, ...] = (
    *_TAYLOR,
    identity(
        "half",
        Eq(Integral((1 - s_) * _LARGEST, (s_, 0, 1)), PAIRS * Y_**2 * (X_ + Y_) ** (2 * e)),
        evaluate=True,
    ),
    inequality("same", Implies(Eq(u_, v_), Eq(u_**e, v_**e))),
    inequality(
        "one-step",
        _ONE_STEP,
        "taylor",
        "remainder",
        "half",
        at("same", {u_: x_**2 + d_, v_: X_**2}),
    ),
)

_SHARE = Piecewise((e / (1 + e), Eq(i_, 1)), (1 / (1 + e), True))
_LOGS = Piecewise(((1 + e) * l_, Eq(i_, 1)), ((1 + e) * y_, True))
_PARTS = Piecewise((1 / (1 + h_step), Eq(i_, 1)), (h_step / (1 + h_step), True))
_WHOLE = (X_ + Y_) / (1 + h_step)
#: h^2 (1 + h)^(p - 2), what a step of relative length h costs.
SCALE = h_step**2 * (1 + h_step) ** (2 * e)
_ENDS = Piecewise((X_, Eq(i_, 1)), (Y_ / h_step, True))

#: Hölder and Minkowski, as inequalities between numbers that are averaged afterwards.
MEANS: tuple[Step, ...] = (
    identity("shares", Eq(Sum(_SHARE, (i_, 1, 2)), 1), evaluate=True),
    expectation(
        "geometric",
        exp(Sum(_SHARE * _LOGS, (i_, 1, 2))) <= Sum(_SHARE * exp(_LOGS), (i_, 1, 2)),
        "shares",
        by=Jensen(Lambda(y_, exp(y_)), _LOGS, (_SHARE, (i_, 1, 2))),
        note="the geometric mean is at most the arithmetic one",
    ),
    identity(
        "geometric-mean",
        Eq(exp(Sum(_SHARE * _LOGS, (i_, 1, 2))), exp(e * l_) * exp(y_)),
        evaluate=True,
    ),
    identity(
        "arithmetic-mean",
        Eq(
            Sum(_SHARE * exp(_LOGS), (i_, 1, 2)),
            (e * exp((1 + e) * l_) + exp((1 + e) * y_)) / (1 + e),
        ),
        evaluate=True,
    ),
    inequality(
        "logs",
        exp(e * l_) * exp(y_) <= (e * exp((1 + e) * l_) + exp((1 + e) * y_)) / (1 + e),
        "geometric",
        "geometric-mean",
        "arithmetic-mean",
    ),
    identity("power-1", Eq(exp(2 * e * log(u_)), u_ ** (2 * e))),
    inequality(
        "young",
        u_ ** (2 * e) * v_**2 <= (e * u_**ORDER + v_**ORDER) / (1 + e),
        at("logs", {l_: 2 * log(u_), y_: 2 * log(v_)}),
        "power-1",
        at("power-1", {u_: v_}),
        note="Young's inequality",
    ),
    identity("parts", Eq(Sum(_PARTS, (i_, 1, 2)), 1), evaluate=True),
    expectation(
        "convex",
        Sum(_PARTS * _ENDS, (i_, 1, 2)) ** ORDER <= Sum(_PARTS * _ENDS**ORDER, (i_, 1, 2)),
        "parts",
        by=Jensen(Lambda(u_, u_**ORDER), _ENDS, (_PARTS, (i_, 1, 2))),
        note="x^p is convex",
    ),
    identity(
        "sum",
        Eq(Sum(_PARTS * _ENDS, (i_, 1, 2)) ** ORDER, ((X_ + Y_) / (1 + h_step)) ** ORDER),
        evaluate=True,
    ),
    identity(
        "sum-of-powers",
        Eq(
            Sum(_PARTS * _ENDS**ORDER, (i_, 1, 2)),
            (X_**ORDER + h_step * (Y_ / h_step) ** ORDER) / (1 + h_step),
        ),
        evaluate=True,
    ),
    inequality(
        "minkowski",
        ((X_ + Y_) / (1 + h_step)) ** ORDER
        <= (X_**ORDER + h_step * (Y_ / h_step) ** ORDER) / (1 + h_step),
        "convex",
        "sum",
        "sum-of-powers",
    ),
    inequality("scaled", Implies(l_ <= y_, n_ * l_ <= n_ * y_)),
    inequality(
        "split-power",
        sympy.Le(
            v_**2 * (n_ * u_) ** (2 * e), v_**2 * n_ ** (2 * e) * u_ ** (2 * e), evaluate=False
        ),
    ),
    inequality(
        "remainder-young",
        Y_**2 * (X_ + Y_) ** (2 * e)
        <= SCALE * (e * _WHOLE**ORDER + (Y_ / h_step) ** ORDER) / (1 + e),
        at("young", {u_: _WHOLE, v_: Y_ / h_step}),
        at("split-power", {n_: 1 + h_step, u_: _WHOLE, v_: Y_}),
        at(
            "scaled",
            {
                l_: _WHOLE ** (2 * e) * (Y_ / h_step) ** 2,
                y_: (e * _WHOLE**ORDER + (Y_ / h_step) ** ORDER) / (1 + e),
                n_: SCALE,
            },
        ),
    ),
    inequality(
        "minkowski-scaled",
        SCALE * e / (1 + e) * _WHOLE**ORDER
        <= SCALE * e / (1 + e) * (X_**ORDER + h_step * (Y_ / h_step) ** ORDER) / (1 + h_step),
        "minkowski",
        at(
            "scaled",
            {
                l_: _WHOLE**ORDER,
                y_: (X_**ORDER + h_step * (Y_ / h_step) ** ORDER) / (1 + h_step),
                n_: SCALE * e / (1 + e),
            },
        ),
    ),
    inequality(
        "remainder-mean",
        Y_**2 * (X_ + Y_) ** (2 * e)
        <= SCALE * e / (1 + e) * (X_**ORDER + h_step * (Y_ / h_step) ** ORDER) / (1 + h_step)
        + SCALE * (Y_ / h_step) ** ORDER / (1 + e),
        "remainder-young",
        "minkowski-scaled",
    ),
)
