"""One step of two runs at a whole order: Taylor's formula and the binomial theorem, for numbers.

Its letters are those of `bounds.resque.drift_steps` (x_, a_, b_, d_, s_, u_, v_, l_, y_), with
w_ >= 0 for the n_ of the lemma "scaled".
"""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Implies, Integral, Lambda

from bounds.operators import Variable
from bounds.proof.methods import Integrate, Linearity
from bounds.proof.step import Step, at, cite, expectation, identity, inequality
from bounds.resque import drift_binomial
from bounds.resque.drift_binomial import X_, Y_, higher_powers
from bounds.resque.symbols import n_ord as n

__all__ = [
    "ONE_STEP", "ORDER", "X_", "Y_", "a_", "b_", "d_", "e", "l_", "u_", "v_", "w_", "x_", "y_",
]  # fmt: skip

#: The order is p = n + 2.
ORDER = n + 2
#: The order is 2 + 2 e.
e = n / 2
#: p (p - 1)/2, the pairs of p factors.
PAIRS = (1 + e) * (1 + 2 * e)

x_ = Variable("x_", nonnegative=True)
a_ = Variable("a_")
b_ = Variable("b_")
d_ = Variable("d_", positive=True)
s_ = Variable("s_", nonnegative=True)
u_ = Variable("u_", positive=True)
v_ = Variable("v_", positive=True)
l_ = Variable("l_")
y_ = Variable("y_")
w_ = Variable("w_", nonnegative=True)


def square(s: Any) -> Any:
    """Squared distance after the part s of a step, plus d_."""
    return (x_ - a_ * s) ** 2 + (b_ * s) ** 2 + d_


_SLOPE = -2 * a_ * (x_ - a_ * s_) + 2 * b_**2 * s_
_BEND = (1 + e) * e * square(s_) ** e / square(s_) * _SLOPE**2 + 2 * (1 + e) * (
    a_**2 + b_**2
) * square(s_) ** e
_REST = Integral((1 - s_) * _BEND, (s_, 0, 1))
_FAR = X_ + s_ * Y_
_LARGEST = 2 * PAIRS * Y_**2 * _FAR**n
_ON = And(s_ >= 0, s_ <= 1)
_SIZES = And(Eq(X_**2, x_**2 + d_), a_**2 + b_**2 <= Y_**2)
_WHOLE = (X_ + Y_) ** ORDER
_ONE = Implies(
    _SIZES,
    square(1) ** (1 + e)
    <= X_**ORDER - ORDER * X_**n * a_ * x_ + _WHOLE - X_**ORDER - ORDER * X_ ** (n + 1) * Y_,
)

#: With D for the step: ||Phi - D||^p is at most
#: ||Phi||^p - p ||Phi||^(p-2) <Phi, D> + (||Phi|| + ||D||)^p - ||Phi||^p - p ||Phi||^(p-1) ||D||,
#: and the last three terms are the higher powers of the binomial theorem.
ONE_STEP: tuple[Step, ...] = (
    identity(
        "taylor",
        Eq(
            _REST,
            square(1) ** (1 + e)
            - (x_**2 + d_) ** (1 + e)
            + 2 * (1 + e) * (x_**2 + d_) ** e * a_ * x_,
        ),
        antiderivative=Lambda(
            s_, square(s_) ** (1 + e) + (1 - s_) * (1 + e) * square(s_) ** e * _SLOPE
        ),
        note="Taylor's formula along the step, with its integral remainder",
    ),
    inequality("powers", Implies(u_ <= v_, u_**e <= v_**e)),
    inequality(
        "reach",
        Implies(And(_ON, _SIZES), square(s_) <= _FAR**2),
        note="the distance after a part of the step",
    ),
    inequality("scaled", Implies(l_ <= y_, w_ * l_ <= w_ * y_)),
    inequality(
        "bend",
        2 * PAIRS * (a_**2 + b_**2) * square(s_) ** e >= _BEND,
        at(
            "scaled",
            {
                l_: _SLOPE**2,
                y_: 4 * (a_**2 + b_**2) * square(s_),
                w_: (1 + e) * e * square(s_) ** e / square(s_),
            },
        ),
    ),
    inequality(
        "curvature",
        Implies(And(_ON, _SIZES), _BEND <= _LARGEST),
        "reach",
        "bend",
        at("powers", {u_: square(s_), v_: _FAR**2}),
        at("scaled", {l_: a_**2 + b_**2, y_: Y_**2, w_: 2 * PAIRS * square(s_) ** e}),
        at("scaled", {l_: square(s_) ** e, y_: _FAR**n, w_: 2 * PAIRS * Y_**2}),
    ),
    inequality(
        "under",
        Implies(And(_ON, _SIZES), (1 - s_) * _BEND <= (1 - s_) * _LARGEST),
        "curvature",
    ),
    expectation(
        "remainder",
        Implies(_SIZES, Integral((1 - s_) * _LARGEST, (s_, 0, 1)) >= _REST),
        "under",
        by=Linearity(over=(Integrate(s_, 0, 1),)),
    ),
    identity(
        "scalar",
        Eq(
            Integral((1 - s_) * _LARGEST, (s_, 0, 1)),
            _WHOLE - X_**ORDER - ORDER * X_ ** (n + 1) * Y_,
        ),
        antiderivative=Lambda(s_, _FAR**ORDER + (1 - s_) * ORDER * Y_ * _FAR ** (n + 1)),
        note="the same formula for numbers",
    ),
    inequality("same", Implies(Eq(u_, v_), Eq(u_**e, v_**e))),
    inequality(
        "one-step",
        _ONE,
        "taylor",
        "remainder",
        "scalar",
        at("same", {u_: x_**2 + d_, v_: X_**2}),
    ),
    inequality(
        "whole",
        Eq(_WHOLE, X_**ORDER + ORDER * X_ ** (n + 1) * Y_ + higher_powers(n + 1, X_, Y_)),
        cite("resque.drift.binomial", {drift_binomial.n: n + 1}),
        note="the binomial theorem",
    ),
)
