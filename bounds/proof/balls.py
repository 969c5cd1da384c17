"""SymPy to ball arithmetic: enclosures that are rigorous, and tight on wide balls too.

A ball of python-flint stands for all numbers in an interval; every operation here returns a ball
that contains all results. Where a function is monotone, wide balls go through their two ends,
because a midpoint and a radius alone lose much of an interval's information.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import sympy
from flint import arb, ctx, fmpq, fmpz  # python-flint has no types: a ball is Any there

from bounds.evaluate_scalar import FUNCTIONS, Walk, is_kummer

__all__ = ["BITS", "Balls", "ball_function", "enclose"]

#: Precision of balls, in bits.
BITS = 240
_NARROW = 40  # bits of accuracy from which a ball counts as a number
_RISING = {"exp", "log", "erf", "erfinv", "atan", "sinh", "tanh"}


class Balls:
    """Balls as an arithmetic for `bounds.evaluate_scalar.Walk`; the caller sets the precision."""

    def number(self, value: Fraction) -> arb:
        """A fraction, rounded outward."""
        return arb(fmpq(fmpz(value.numerator), fmpz(value.denominator)))

    def constant(self, name: str) -> arb:
        """``pi``, ``exp1`` or ``euler``."""
        made = {"pi": arb.pi, "exp1": arb.const_e, "euler": arb.const_euler}
        return made[name]()

    def add(self, left: arb, right: arb) -> arb:
        """A sum."""
        return left + right

    def multiply(self, left: arb, right: arb) -> arb:
        """A product; wide balls through their ends."""
        if _narrow(left) or _narrow(right):
            return left * right
        ends = (left.lower(), left.upper()), (right.lower(), right.upper())
        return _hull([x * y for x in ends[0] for y in ends[1]])

    def power(self, base: arb, exponent: Any, nonnegative: bool) -> arb:
        """A real power."""
        if nonnegative:
            base = base.nonnegative_part()
        if not isinstance(exponent, Fraction):
            return self._general(base, exponent)
        if exponent < 0:
            return 1 / self.power(base, -exponent, nonnegative)
        if exponent.denominator == 1:
            return self._whole(base, exponent.numerator)
        return _through_ends(lambda x: _broken(x, exponent), base)

    def _whole(self, base: arb, exponent: int) -> arb:
        if _narrow(base):
            return base ** fmpz(exponent)
        if exponent % 2 == 0:
            base = self.function("abs", base)
        return _hull([base.lower() ** fmpz(exponent), base.upper() ** fmpz(exponent)])

    def _general(self, base: arb, exponent: arb) -> arb:
        if base.lower() > 0:
            return self.function("exp", self.multiply(exponent, self.function("log", base)))
        if base.lower() == 0 and exponent > 0 and base.upper() > 0:
            top = base.upper().log()
            tops = [(exponent.lower() * top).exp(), (exponent.upper() * top).exp()]
            return _hull([arb(0), *tops])
        return arb.nan()

    def function(self, name: str, argument: arb) -> arb:
        """A function by name."""
        if name == "abs":
            return _hull([argument.abs_lower(), argument.abs_upper()])
        if name == "erfc":
            return _through_ends(arb.erfc, argument)
        if name == "loggamma":
            return argument.lgamma()
        if name == "cosh":
            return _through_ends(arb.cosh, self.function("abs", argument))
        if name in _RISING:
            return _through_ends(getattr(arb, name), argument)
        made: arb = getattr(argument, name)()
        return made

    def kummer(self, first: arb, second: arb, argument: arb) -> arb:
        """The confluent hypergeometric function 1F1."""
        bits = ctx.prec
        for factor in (1, 4, 16, 64):  # large terms that cancel need more
            with ctx.workprec(bits * factor):
                made = argument.hypgeom_1f1(first, second)
            if made.is_finite() and made.rel_accuracy_bits() > 0:
                return +made
        return made

    def extreme(self, largest: bool, left: arb, right: arb) -> arb:
        """The larger or smaller one."""
        return left.max(right) if largest else left.min(right)

    def floor(self, value: arb) -> Any:
        """All floors of numbers in the ball: a fraction when there is only one."""
        if not value.is_finite():
            return arb.nan()
        low = value.lower().floor().unique_fmpz()
        high = value.upper().floor().unique_fmpz()
        if low is None or high is None:
            return arb.nan()
        if low == high:
            return Fraction(int(low))
        return arb(low).union(arb(high))

    def compare(self, left: arb, right: arb) -> int | None:
        """The order of two balls; None when they overlap."""
        if left < right:
            return -1
        return 1 if left > right else None

    def either(self, left: arb, right: arb) -> arb:
        """A ball around both."""
        return left.union(right)


def _narrow(value: arb) -> bool:
    return bool(value.rel_accuracy_bits() >= _NARROW) or bool(value.is_exact())


def _hull(values: list[arb]) -> arb:
    made = values[0]
    for each in values[1:]:
        made = made.union(each)
    return made


def _through_ends(function: Callable[[arb], arb], argument: arb) -> arb:
    """A monotone function of a ball."""
    if argument.is_exact() or not argument.is_finite() or _narrow(argument):
        return function(argument)
    return function(argument.lower()).union(function(argument.upper()))


def _broken(base: arb, exponent: Fraction) -> arb:
    """A positive power that is no integer."""
    if exponent.denominator == 2:
        return base.sqrt() ** fmpz(exponent.numerator)
    if base == 0:
        return base
    return base ** arb(fmpq(fmpz(exponent.numerator), fmpz(exponent.denominator)))


def enclose(expression: Any, values: dict[Any, Any], *, bits: int = BITS) -> arb:
    """A ball around an expression.

    Parameters
    ----------
    expression : sympy.Expr
    values : mapping of symbol to Fraction or arb
    bits : int
        Working precision.
    """
    with ctx.workprec(bits):
        made: arb = Walk(Balls(), values).number(expression)
        return made


def evaluated(expression: Any, values: Any, read: Any, *, log: bool) -> arb:
    """`bounds.evaluate.evaluate` for backend ``"ball"``; `read` is what floors see."""
    with ctx.workprec(BITS):
        made: arb = Walk(Balls(), values, read).number(expression)
        if log and made.is_zero():
            return arb.neg_inf()
        return made.log() if log else made


def kummer_digits(first: Fraction, second: Fraction, argument: Fraction, digits: int) -> str:
    """1F1 in decimals; python-flint is quick where mpmath does not converge."""
    with ctx.workprec(int(3.4 * digits) + 64):
        balls = Balls()
        made = balls.kummer(*map(balls.number, (first, second, argument)))
        return str(made.mid().str(digits, radius=False))


def ball_function(expression: Any, symbols: Sequence[Any], *, bits: int = 96) -> Callable[..., arb]:
    """A function of balls that encloses an expression.

    Parameters
    ----------
    expression : sympy.Expr
    symbols : sequence of sympy.Symbol
        The arguments, in order.
    bits : int
        Working precision.

    Returns
    -------
    callable
        ``f(*balls)`` returns a ball that contains all values of the expression on the balls; one
        that is not finite where the expression may be undefined.

    Raises
    ------
    ValueError
        At once, when the expression has a symbol or function that is not known.
    """
    missing = expression.free_symbols - set(symbols)
    if missing:
        raise ValueError(f"expression has other symbols: {', '.join(sorted(map(str, missing)))}")
    _check(expression)
    arithmetic = Balls()

    def function(*balls: Any) -> arb:
        with ctx.workprec(bits):
            walk = Walk(arithmetic, dict(zip(symbols, map(_ball, balls), strict=True)))
            try:
                made: arb = walk.number(expression)
            except ZeroDivisionError:
                return arb.nan()
        return made

    return function


def _ball(value: Any) -> Any:
    if isinstance(value, int):
        return Fraction(value)
    return value if isinstance(value, Fraction) else arb(value)


_SHAPES = (
    sympy.Symbol,
    sympy.Number,
    sympy.NumberSymbol,
    sympy.Add,
    sympy.Mul,
    sympy.Pow,
    sympy.Sum,
    sympy.Product,
    sympy.Tuple,
    sympy.Piecewise,
    sympy.functions.elementary.piecewise.ExprCondPair,
    sympy.logic.boolalg.Boolean,
    sympy.floor,
    sympy.ceiling,
    sympy.Max,
    sympy.Min,
    sympy.Mod,
    sympy.Abs,
    sympy.sign,
    sympy.factorial,
    sympy.binomial,
    sympy.hyper,
    *FUNCTIONS,
)


def _check(expression: Any) -> None:
    for here in sympy.preorder_traversal(expression):
        known = isinstance(here, _SHAPES) and (not isinstance(here, sympy.hyper) or is_kummer(here))
        if not known:
            raise ValueError(f"{type(here).__name__} is not known to ball arithmetic: {here}")
