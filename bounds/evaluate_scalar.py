"""One number at a time: a walk over an expression, whatever the arithmetic.

Rational subexpressions stay exact fractions as long as they are short; what is not rational goes
to the arithmetic (mpmath with 60 digits, or balls of `bounds.proof.balls`). Floors are taken of
exact fractions wherever their argument is rational.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import sympy
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.core.function import AppliedUndef

from bounds.evaluate_exact import exact_root
from bounds.evaluate_truth import ORDERS, decide

__all__ = ["FUNCTIONS", "Arithmetic", "Walk", "free_symbols", "is_kummer", "kummer"]

_LONGEST = 4096  # bits of a fraction that stays exact
_MOST_TERMS = 2_000_000

#: SymPy function -> name in an arithmetic
FUNCTIONS: dict[Any, str] = {
    sympy.exp: "exp",
    sympy.log: "log",
    sympy.erf: "erf",
    sympy.erfc: "erfc",
    sympy.erfinv: "erfinv",
    sympy.gamma: "gamma",
    sympy.loggamma: "loggamma",
    sympy.sin: "sin",
    sympy.cos: "cos",
    sympy.tan: "tan",
    sympy.atan: "atan",
    sympy.sinh: "sinh",
    sympy.cosh: "cosh",
    sympy.tanh: "tanh",
}


class Arithmetic(Protocol):
    """What a walk needs of numbers that are no fractions."""

    def number(self, value: Fraction) -> Any:
        """A fraction as a number."""

    def constant(self, name: str) -> Any:
        """``pi``, ``exp1`` or ``euler``."""

    def add(self, left: Any, right: Any) -> Any:
        """A sum."""

    def multiply(self, left: Any, right: Any) -> Any:
        """A product."""

    def power(self, base: Any, exponent: Any, nonnegative: bool) -> Any:
        """A power; the exponent is a fraction or a number; whether the base is known >= 0."""

    def function(self, name: str, argument: Any) -> Any:
        """A function of `FUNCTIONS`, or ``abs``."""

    def kummer(self, first: Any, second: Any, argument: Any) -> Any:
        """The confluent hypergeometric function 1F1."""

    def extreme(self, largest: bool, left: Any, right: Any) -> Any:
        """The larger or the smaller one."""

    def floor(self, value: Any) -> Any:
        """The floor of a number that is no fraction."""

    def compare(self, left: Any, right: Any) -> int | None:
        """-1, 0 or 1; None when it is not known."""

    def either(self, left: Any, right: Any) -> Any:
        """What contains both values of an undecided Piecewise."""


@lru_cache(maxsize=200_000)
def free_symbols(expression: Any) -> frozenset[Any]:
    """Free symbols; remembered, because a walk asks again and again.

    SymPy's own are slow for sums, whose bound symbols it renames first.
    """
    if expression.is_Symbol:
        return frozenset([expression])
    if not isinstance(expression, ExprWithLimits):
        return frozenset().union(*map(free_symbols, expression.args))
    found = free_symbols(expression.function)
    for limit in expression.limits:
        found = found - {limit[0]}
        found = found.union(*map(free_symbols, limit[1:]))
    return found


def is_kummer(here: Any) -> bool:
    """Whether an expression is a confluent hypergeometric function, ``hyper((a,), (b,), x)``."""
    return isinstance(here, sympy.hyper) and len(here.args[0]) == len(here.args[1]) == 1


def kummer(here: Any) -> tuple[Any, Any, Any]:
    """Its a, b and x."""
    return here.args[0][0], here.args[1][0], here.args[2]


class Walk:
    """Values of expressions at one point.

    Parameters
    ----------
    arithmetic : Arithmetic
    values : mapping
        Symbol -> Fraction or a number of the arithmetic; function -> sequence of them by index,
        index 1 first.
    read : mapping, optional
        What the values stand for inside floors and ceilings.
    """

    def __init__(
        self,
        arithmetic: Arithmetic,
        values: Mapping[Any, Any],
        read: Mapping[Any, Any] | None = None,
    ) -> None:
        self.arithmetic = arithmetic
        self.values = dict(values)
        self.reading = self if read is None else Walk(arithmetic, read)
        self.bound: frozenset[Any] = frozenset()
        self.known: dict[Any, Any] = {}

    def value(self, expression: Any) -> Any:
        """A Fraction or a number of the arithmetic."""
        if expression in self.known:
            return self.known[expression]
        made = self._value(expression)
        if not self.bound or not (self.bound & free_symbols(expression)):
            self.known[expression] = made
        return made

    def number(self, expression: Any) -> Any:
        """The value as a number of the arithmetic."""
        return self._lift(self.value(expression))

    def _lift(self, value: Any) -> Any:
        return self.arithmetic.number(value) if isinstance(value, Fraction) else value

    def _value(self, here: Any) -> Any:
        if here.is_Symbol:
            return self._symbol(here)
        if here.is_Number:
            return self._constant(here)
        if here.is_NumberSymbol:
            names = {sympy.pi: "pi", sympy.E: "exp1", sympy.EulerGamma: "euler"}
            if here not in names:
                raise _unknown(here)
            return self.arithmetic.constant(names[here])
        if here.is_Add:
            return self._fold(here.args, self._plus)
        if here.is_Mul:
            return self._fold(here.args, self._times)
        if here.is_Pow:
            return self._power(here.base, self.value(here.base), self.value(here.exp))
        if isinstance(here, sympy.Sum | sympy.Product):
            return self._repeat(here)
        if isinstance(here, sympy.Piecewise):
            return self._piecewise(here)
        if isinstance(here, AppliedUndef):
            return self._entry(here)
        if isinstance(here, sympy.floor | sympy.ceiling):
            return self._floor(here)
        if isinstance(here, sympy.Max | sympy.Min):
            return self._extreme(here)
        if isinstance(here, sympy.Mod):
            return self.value(
                here.args[0] - here.args[1] * sympy.floor(here.args[0] / here.args[1])
            )
        if isinstance(here, sympy.Abs | sympy.sign):
            return self._sign(here)
        if isinstance(here, sympy.factorial):
            return self._gamma(self.value(here.args[0]), here)
        if isinstance(here, sympy.binomial):
            return self._binomial(here)
        if is_kummer(here):
            first, second, argument = (self.number(each) for each in kummer(here))
            return self.arithmetic.kummer(first, second, argument)
        if here.func in FUNCTIONS:
            return self._function(here)
        return self.other(here)

    def other(self, here: Any) -> Any:
        """What a walk of another kind may know: expectations, integrals."""
        raise _unknown(here)

    def _symbol(self, symbol: Any) -> Any:
        if symbol not in self.values:
            raise ValueError(f"{symbol} is missing")
        return self.values[symbol]

    def _constant(self, here: Any) -> Any:
        if here.is_Rational:
            return Fraction(int(here.p), int(here.q))
        if here.is_Float:
            # Through SymPy's Rational, which keeps all digits of a long float.
            exact = sympy.Rational(here)
            return Fraction(int(exact.p), int(exact.q))
        raise _unknown(here)

    def _fold(self, arguments: Any, combine: Any) -> Any:
        made = self.value(arguments[0])
        for each in arguments[1:]:
            made = combine(made, self.value(each))
        return made

    def _plus(self, left: Any, right: Any) -> Any:
        if isinstance(left, Fraction) and isinstance(right, Fraction):
            return self._short(left + right)
        return self.arithmetic.add(self._lift(left), self._lift(right))

    def _times(self, left: Any, right: Any) -> Any:
        if isinstance(left, Fraction) and isinstance(right, Fraction):
            return self._short(left * right)
        return self.arithmetic.multiply(self._lift(left), self._lift(right))

    def _short(self, value: Fraction) -> Any:
        if value.numerator.bit_length() + value.denominator.bit_length() > _LONGEST:
            return self.arithmetic.number(value)
        return value

    def _power(self, written: Any, base: Any, exponent: Any) -> Any:
        if isinstance(exponent, Fraction) and isinstance(base, Fraction):
            if exponent == 0:
                return Fraction(1)
            if base in (0, 1) and (base == 1 or exponent > 0):
                return base
            if exponent.denominator == 1:
                bits = base.numerator.bit_length() + base.denominator.bit_length()
                if bits * abs(exponent.numerator) <= _LONGEST:
                    return base**exponent.numerator
            elif base > 0:
                root = exact_root(base, exponent.denominator)
                if root is not None:
                    return self._power(written, root, Fraction(exponent.numerator))
        known = not isinstance(exponent, Fraction) or exponent.denominator != 1
        nonnegative = known and bool(written.is_nonnegative)
        return self.arithmetic.power(self._lift(base), exponent, nonnegative)

    def _function(self, here: Any) -> Any:
        argument = self.value(here.args[0])
        if len(here.args) != 1:
            raise _unknown(here)
        if argument == 0 and here.func in (sympy.exp, sympy.cos, sympy.cosh, sympy.erfc):
            return Fraction(1)
        return self.arithmetic.function(FUNCTIONS[here.func], self._lift(argument))

    def _sign(self, here: Any) -> Any:
        argument = self.value(here.args[0])
        if isinstance(here, sympy.Abs):
            if isinstance(argument, Fraction):
                return abs(argument)
            return self.arithmetic.function("abs", argument)
        order = self._order(argument, Fraction(0))
        if order is None:
            return self.arithmetic.either(self._lift(Fraction(-1)), self._lift(Fraction(1)))
        return Fraction(order)

    def _gamma(self, value: Any, here: Any) -> Any:
        if isinstance(value, Fraction) and value.denominator == 1 and 0 <= value <= 300:
            return Fraction(math.factorial(int(value)))
        if isinstance(value, Fraction) and value.denominator == 1 and value < 0:
            raise ValueError(f"{here} is not defined at {value}")
        return self.arithmetic.function("gamma", self._lift(self._plus(value, Fraction(1))))

    def _binomial(self, here: Any) -> Any:
        top, under = (self.value(each) for each in here.args)
        if isinstance(top, Fraction) and isinstance(under, Fraction):
            whole = top.denominator == under.denominator == 1
            if whole and 0 <= top <= 100_000:
                return self._short(Fraction(math.comb(int(top), int(under)) if under >= 0 else 0))
        minus = self._plus(top, self._times(Fraction(-1), under))
        below = self._times(self._gamma(under, here), self._gamma(minus, here))
        inverse = self._power(sympy.S.One, below, Fraction(-1))
        return self._times(self._gamma(top, here), inverse)

    def _extreme(self, here: Any) -> Any:
        largest = isinstance(here, sympy.Max)

        def pick(left: Any, right: Any) -> Any:
            if isinstance(left, Fraction) and isinstance(right, Fraction):
                return max(left, right) if largest else min(left, right)
            return self.arithmetic.extreme(largest, self._lift(left), self._lift(right))

        return self._fold(here.args, pick)

    def _floor(self, here: Any) -> Any:
        up = isinstance(here, sympy.ceiling)
        # Read anew: inside a floor a float stands for the fraction it rounds.
        value = self._read(here.args[0])
        if isinstance(value, Fraction):
            return Fraction(math.ceil(value) if up else math.floor(value))
        if not up:
            return self.arithmetic.floor(value)
        minus = self.arithmetic.number(Fraction(-1))
        down = self.arithmetic.floor(self.arithmetic.multiply(minus, value))
        return self._times(Fraction(-1), down)

    def _read(self, expression: Any) -> Any:
        if self.reading is not self:
            for symbol in self.bound:  # summation indices mean the same inside
                self.reading.values[symbol] = self.values[symbol]
            self.reading.bound = self.bound
        return self.reading.value(expression)

    def integer(self, expression: Any) -> int:
        """A whole number: a limit of a sum, an index."""
        value = self._read(expression)
        if not isinstance(value, Fraction) or value.denominator != 1:
            raise ValueError(f"{expression} = {value} is not allowed: an integer")
        return int(value)

    def _repeat(self, here: Any) -> Any:
        """A sum or product over one index after the other."""
        body, *limits = here.args
        if len(limits) > 1:
            body = here.func(body, *limits[:-1])
        index, low, high = limits[-1]
        first, last = self.integer(low), self.integer(high)
        if last - first >= _MOST_TERMS:
            raise ValueError(f"{here.func.__name__} over {last - first + 1} terms: too many")
        adds = isinstance(here, sympy.Sum)
        made: Any = Fraction(0 if adds else 1)
        outer_bound, outer_value = self.bound, self.values.get(index)
        self.bound = outer_bound | {index}
        try:
            for at in range(first, last + 1):
                self.values[index] = Fraction(at)
                made = (self._plus if adds else self._times)(made, self.value(body))
        finally:
            self.bound = outer_bound
            if outer_value is None:
                self.values.pop(index, None)
            else:
                self.values[index] = outer_value
        return made

    def _entry(self, here: Any) -> Any:
        table = self.values.get(here.func)
        if table is None:
            raise ValueError(f"{here.func.__name__} is missing")
        for argument in here.args:
            at = self.integer(argument)
            if not 1 <= at <= len(table):
                raise ValueError(f"{here.func.__name__} has entries 1 to {len(table)}, not {at}")
            table = table[at - 1]
        return table

    def _piecewise(self, here: Any) -> Any:
        made: Any = None
        for expression, condition in here.args:
            holds = self.truth(condition)
            if holds is False:
                continue
            value = self.value(expression)
            made = value if made is None else self._either(made, value)
            if holds:
                return made
        if made is None:
            raise ValueError(f"{here} is not defined here")
        return made

    def _either(self, left: Any, right: Any) -> Any:
        return self.arithmetic.either(self._lift(left), self._lift(right))

    def _order(self, left: Any, right: Any) -> int | None:
        if isinstance(left, Fraction) and isinstance(right, Fraction):
            return (left > right) - (left < right)
        return self.arithmetic.compare(self._lift(left), self._lift(right))

    def truth(self, sentence: Any) -> bool | None:
        """Whether a Boolean holds; None when the arithmetic cannot tell."""
        return decide(sentence, self._relation)

    def _relation(self, here: Any) -> bool | None:
        order = self._order(self.value(here.lhs), self.value(here.rhs))
        return None if order is None else bool(ORDERS[here.func](order, 0))


def _unknown(here: Any) -> ValueError:
    return ValueError(f"{type(here).__name__} cannot be evaluated: {str(here)[:80]}")
