"""What the folded normal lies between: Jensen, triangle, root mean square, and 0.798 times it.

The last one is the only one that is not immediate. In units of tau, E|p + Z| is sqrt(2/pi) times
exp(-p^2/2) plus p times the integral of exp(-u^2/2) from 0 to p. From exp(-v) >= 1 - v, two
integrations give at least 1 + p^2/2 - p^4/24, which is above sqrt(1 + p^2) for p^2 <= 5; beyond,
E|p + Z| >= p is enough.
"""

from __future__ import annotations

from typing import Any

from sympy import Abs, And, Eq, Ge, Integral, Lambda, Le, Piecewise, Sum, erf, exp, pi, sqrt

from bounds.dp2.delay_folded import CURVE_MEANS, CURVE_STDS, EXACT, NORMAL, Z, normal_models
from bounds.dp2.symbols import m, tau
from bounds.operators import E, Max, Variable
from bounds.proof.methods import CauchySchwarz, Integrate, Jensen, Linearity
from bounds.proof.step import at, cite, expectation, identity, inequality
from bounds.symbols import d, j
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_x = Variable("x")
_u = Variable("u", nonnegative=True)
_v = Variable("v", nonnegative=True)
_p = Variable("p", nonnegative=True)

#: E|p + Z| is sqrt(2/pi) times this.
_SHAPE = exp(-(_p**2) / 2) + _p * sqrt(pi / 2) * erf(_p / sqrt(2))
_BELL = exp(-(_u**2) / 2)
_AREA = sqrt(pi / 2) * erf(_u / sqrt(2))
_PLUS, _MINUS = E(Abs(_p + Z)), E(Abs(_p - Z))
_FOLD = E(Abs(m(j) + tau * Z))
_ROOT = sqrt(m(j) ** 2 + tau**2)
_STATEMENT = And(
    Le(Abs(m(j)), _FOLD),
    Le(tau * sqrt(2 / pi), _FOLD),
    Le(sqrt(2 / pi) * _ROOT, _FOLD),
    Le(_FOLD, Abs(m(j)) + tau * sqrt(2 / pi)),
    Le(_FOLD, _ROOT),
)

_EXPONENTIAL = (
    identity("mean", Eq(E(Z), 0), "normal", evaluate=True),
    inequality("decay", Le(exp(-_v), 1)),
    identity("primitive", Eq(Integral(exp(-_v), (_v, 0, _p)), 1 - exp(-_p)), evaluate=True),
    expectation(
        "area",
        Le(Integral(exp(-_v), (_v, 0, _p)), Integral(1, (_v, 0, _p))),
        "decay",
        by=Linearity(over=(Integrate(_v, 0, _p),)),
    ),
    inequality("tangent", Le(1 - _p, exp(-_p)), "area", "primitive"),
)

_SERIES = (
    identity("erf", Eq(Integral(_BELL, (_u, 0, _p)), _AREA.xreplace({_u: _p})), evaluate=True),
    identity("shape", Eq(Integral(_AREA, (_u, 0, _p)), _SHAPE - 1), evaluate=True),
    identity("cubic", Eq(Integral(1 - _u**2 / 2, (_u, 0, _p)), _p - _p**3 / 6), evaluate=True),
    identity(
        "quartic",
        Eq(Integral(_u - _u**3 / 6, (_u, 0, _p)), _p**2 / 2 - _p**4 / 24),
        evaluate=True,
    ),
    expectation(
        "bell",
        Le(Integral(1 - _u**2 / 2, (_u, 0, _p)), Integral(_BELL, (_u, 0, _p))),
        at("tangent", {_p: _u**2 / 2}),
        by=Linearity(over=(Integrate(_u, 0, _p),)),
    ),
    inequality("erf_above", Le(_p - _p**3 / 6, _AREA.xreplace({_u: _p})), "bell", "erf", "cubic"),
    expectation(
        "once_more",
        Le(Integral(_u - _u**3 / 6, (_u, 0, _p)), Integral(_AREA, (_u, 0, _p))),
        at("erf_above", {_p: _u}),
        by=Linearity(over=(Integrate(_u, 0, _p),)),
    ),
    inequality("above", Le(1 + _p**2 / 2 - _p**4 / 24, _SHAPE), "once_more", "shape", "quartic"),
)


def _between(mean: Any) -> And:
    """The five bounds on E|mean + Z|, for mean >= 0."""
    value = E(Abs(mean + Z))
    root = sqrt(_p**2 + 1)
    return And(
        Le(_p, value),
        Le(sqrt(2 / pi) * root, value),
        Le(value, _p + sqrt(2 / pi)),
        Le(value, root),
    )


_UNIT = (
    identity(
        "plus",
        Eq(_PLUS, sqrt(2 / pi) * _SHAPE),
        cite("dp2.h.folded-normal", {m: Lambda(j, _p), tau: 1}),
    ),
    identity(
        "minus",
        Eq(_MINUS, sqrt(2 / pi) * _SHAPE),
        cite("dp2.h.folded-normal", {m: Lambda(j, -_p), tau: 1}),
    ),
    identity(
        "absolute",
        Eq(E(Abs(Z)), sqrt(2 / pi)),
        cite("dp2.h.folded-normal", {m: Lambda(j, 0), tau: 1}),
    ),
    expectation(
        "jensen",
        Le(Abs(_p + E(Z)), _PLUS),
        by=Jensen(Lambda(_x, Abs(_x)), _p + Z),
    ),
    inequality("pointwise", Le(Abs(_p + Z), _p + Abs(Z))),
    expectation("triangle", Le(_PLUS, _p + E(Abs(Z))), "pointwise", by=Linearity(over=(E,))),
    identity("square", Eq(E((_p + Z) ** 2), _p**2 + 1), "normal", evaluate=True),
    expectation(
        "root",
        Le(_PLUS, sqrt(E((_p + Z) ** 2))),
        by=CauchySchwarz(Abs(_p + Z), 1),
    ),
    inequality(
        "lower",
        Le(sqrt(2 / pi) * sqrt(_p**2 + 1), _PLUS),
        "above",
        "plus",
        "jensen",
        "mean",
        note="by the series where p^2 <= 5, by Jensen's inequality where it is larger",
    ),
    inequality(
        "unit", _between(_p), "lower", "jensen", "mean", "triangle", "absolute", "root", "square"
    ),
    inequality("mirrored", _between(-_p), "unit", "plus", "minus"),
)

_FIRST = Piecewise((1, Ge(m(j), 0)), (0, True))
_SCALED = Abs(m(j)) / tau

_SCALING = (
    inequality(
        "scale",
        Eq(
            Abs(m(j) + tau * Z),
            tau * (_FIRST * Abs(_SCALED + Z) + (1 - _FIRST) * Abs(-_SCALED + Z)),
        ),
    ),
    expectation(
        "scaled",
        Eq(
            _FOLD,
            tau * (_FIRST * E(Abs(_SCALED + Z)) + (1 - _FIRST) * E(Abs(-_SCALED + Z))),
        ),
        "scale",
        by=Linearity(over=(E,)),
    ),
    inequality(
        "between",
        _STATEMENT,
        "scaled",
        at("unit", {_p: _SCALED}),
        at("mirrored", {_p: _SCALED}),
    ),
)


def _root_mean_square(constant: Any) -> Sum:
    return Sum(constant * sqrt(m(j) ** 2 + tau**2), (j, 1, d))


BOUNDS = Theorem(
    id="dp2.h.bounds",
    title="Between what the mean of |G/s| lies",
    statement=_STATEMENT,
    kind=Kind.TIGHT,
    source=Source("li2023dp2", "h(s)", Status.DERIVED),
    assumptions=(NORMAL,),
    steps=(*_EXPONENTIAL, *_SERIES, *_UNIT, *_SCALING),
    explanation=(
        "The mean absolute value of an averaged noisy gradient coordinate, mean m_j and noise std "
        "tau, is at least |m_j|, at least what the noise alone gives, tau sqrt(2/pi), and at least "
        "sqrt(2/pi) = 0.798 times the root mean square; it is at most |m_j| plus the noise part, "
        "and at most the root mean square. So the root of a coordinate of v and the averaged "
        "gradient of h(s) agree up to a factor 1.254. Each bound is attained: at tau -> 0 or at "
        "m_j = 0."
    ),
    evaluations={
        "bound": _root_mean_square(1),
        "lower": _root_mean_square(sqrt(2 / pi)),
        "elementary": Sum(Max(Abs(m(j)), tau * sqrt(2 / pi)), (j, 1, d)),
        "triangle": Sum(Abs(m(j)) + tau * sqrt(2 / pi), (j, 1, d)),
    },
    models=normal_models,
    curve=Curve(
        along="averaged_noise_std",
        values=CURVE_STDS,
        fixed=CURVE_MEANS,
        names=("bound", "lower", "elementary", "triangle"),
        log_x=True,
        log_y=True,
    ),
    caveats=(
        "sqrt(m^2 + (2/pi) tau^2) is not a lower bound: at m = tau it is 1.279 tau, and the folded "
        "normal 1.167 tau.",
        EXACT,
    ),
)

THEOREMS: tuple[Theorem, ...] = (BOUNDS,)
