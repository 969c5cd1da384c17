"""Balls contain every value, stay tight when wide, and refuse what they do not know."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from flint import arb

from bounds.evaluate_mpmath import Mp
from bounds.evaluate_scalar import Walk
from bounds.proof.balls import ball_function, enclose

x, y = sympy.symbols("x y", real=True)
p = sympy.Symbol("p", positive=True)
EXPRESSIONS = [
    x**2 - y * x,
    sympy.exp(-(x**2)) * sympy.erf(y) + sympy.erfc(x),
    sympy.Abs(x - y) ** 3 + sympy.Max(x, y, 0) * sympy.Min(x, 1),
    sympy.sqrt(1 + x**2) / (2 + sympy.cos(y)),
    p ** sympy.Rational(3, 2) + p**y + sympy.log(1 + p),
    sympy.Piecewise((x, x < y), (y**2, True)),
    sympy.floor(3 * x) + sympy.ceiling(y) + sympy.sign(x),
    sympy.cosh(x) - sympy.sinh(y) + sympy.tanh(x) + sympy.atan(y) + sympy.sin(x),
    sympy.gamma(1 + p) + sympy.loggamma(2 + p) + sympy.erfinv(sympy.tanh(x) / 2),
    sympy.Sum(x ** sympy.Symbol("k", integer=True), (sympy.Symbol("k", integer=True), 0, 5)),
    x**3 * sympy.pi + sympy.E * y**4,
    2**x + (x**2 + 1) ** -3,
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_ball_contains_every_value(expression: sympy.Expr) -> None:
    rng = np.random.default_rng(5)
    function = ball_function(expression, [x, y, p])
    for _ in range(25):
        middle = rng.uniform(-2, 2, 3)
        radius = 10.0 ** rng.uniform(-12, 0.3, 3)
        middle[2] = abs(middle[2]) + radius[2] + 1e-3
        balls = [arb(m, r) for m, r in zip(middle, radius, strict=True)]
        made = function(*balls)
        for _ in range(4):
            point = middle + rng.uniform(-1, 1, 3) * radius
            exact = dict(zip((x, y, p), map(Fraction, point.tolist()), strict=True))
            value = Walk(Mp(40), exact).number(expression)
            assert not made.is_finite() or made.overlaps(arb(str(value), 1e-25))


def test_wide_balls_stay_tight() -> None:
    def ends(expression: sympy.Expr, low: float, high: float) -> tuple[float, float]:
        made = ball_function(expression, [p])(arb((low + high) / 2, (high - low) / 2))
        return float(made.lower()), float(made.upper())

    for expression, low, high, right in [
        (p**2, 0, 2, (0, 4)),
        (sympy.sqrt(p), 0, 1, (0, 1)),
        (1 / p, 0.5, 2, (0.5, 2)),
        (p ** sympy.Rational(1, 3), 0, 8, (0, 2)),
        (sympy.Abs(p - 1), 0, 2, (0, 1)),
        (sympy.exp(p), 0, 1, (1, math.e)),
        (p**-2, 1, 2, (0.25, 1)),
    ]:
        got = ends(expression, low, high)
        assert got == pytest.approx(right, abs=1e-7)  # a radius has 30 bits
        assert got[0] <= right[0] + 1e-15
        assert got[1] >= right[1] - 1e-15


def test_undefined_is_not_finite() -> None:
    assert not ball_function(1 / x, [x])(arb(0, 1)).is_finite()
    assert not ball_function(sympy.log(x), [x])(arb(0, 1)).is_finite()
    assert not ball_function(sympy.sqrt(x), [x])(arb(0, 1)).is_finite()
    assert not ball_function(1 / x, [x])(0).is_finite()


def test_what_is_not_known_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="besselk is not known"):
        ball_function(sympy.besselk(0, x), [x])
    with pytest.raises(ValueError, match="other symbols: y"):
        ball_function(x + y, [x])
    with pytest.raises(ValueError, match="not known"):
        ball_function(sympy.Function("f")(x), [x])


def test_an_undecided_condition_takes_both_branches() -> None:
    made = ball_function(sympy.Piecewise((-1, x < 0), (1, True)), [x])(arb(0, 1))
    assert made.contains(-1)
    assert made.contains(1)
    one = ball_function(sympy.Piecewise((-1, x < 0), (1, True)), [x])(arb(2, 1))
    assert one.is_exact()
    assert one == 1


def test_enclose_reads_fractions_exactly() -> None:
    made = enclose(x / 3, {x: Fraction(1, 7)})
    assert (21 * made).contains(1)
    assert float(made.rad()) < 1e-60
    assert enclose(sympy.floor(1 / x), {x: Fraction(1, 49)}) == 49
