"""Fifty digits: mpmath as an arithmetic for `bounds.evaluate_scalar.Walk`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from mpmath.ctx_mp import MPContext

from bounds.evaluate_exact import to_fraction
from bounds.proof.tools import load

__all__ = ["DIGITS", "GUARD", "Mp"]

_LARGE = 500
_FAR = 10**30
#: Decimal digits that are wanted.
DIGITS = 50
#: Digits that are carried besides.
GUARD = 30


class Mp:
    """Numbers of a context of their own, so that nobody's global precision is touched.

    Parameters
    ----------
    digits : int
        Decimal digits that are kept.
    """

    def __init__(self, digits: int = DIGITS + GUARD) -> None:
        self.mp = MPContext()
        self.mp.dps = digits

    def number(self, value: Fraction) -> Any:
        """A fraction, rounded."""
        return self.mp.mpf(value.numerator) / value.denominator

    def constant(self, name: str) -> Any:
        """``pi``, ``exp1`` or ``euler``."""
        return +{"pi": self.mp.pi, "exp1": self.mp.e, "euler": self.mp.euler}[name]

    def add(self, left: Any, right: Any) -> Any:
        """A sum."""
        return left + right

    def multiply(self, left: Any, right: Any) -> Any:
        """A product."""
        return left * right

    def power(self, base: Any, exponent: Any, nonnegative: bool) -> Any:
        """A real power; undefined ones raise ValueError."""
        if isinstance(exponent, Fraction):
            if exponent.denominator == 1:
                return base**exponent.numerator
            if exponent.denominator == 2 and base >= 0:
                return self.mp.sqrt(base) ** exponent.numerator
            exponent = self.number(exponent)
        if base < 0 and exponent != self.mp.floor(exponent):
            raise ValueError(f"a negative number ({self.mp.nstr(base, 8)}) to a broken power")
        if base == 0 and exponent < 0:
            raise ZeroDivisionError
        return base**exponent

    def function(self, name: str, argument: Any) -> Any:
        """A function by name; undefined values raise ValueError."""
        if name == "abs":
            return abs(argument)
        if (name == "exp" and argument < -_FAR) or (name == "erfc" and argument > _FAR):
            return self.mp.mpf(0)  # exp(-1e30): no exponent is that large
        if name == "erf" and abs(argument) > _FAR:
            return self.mp.sign(argument)
        if name == "log" and argument <= 0:
            raise ValueError(f"the log of {self.mp.nstr(argument, 8)}")
        if name == "erfinv" and not -1 < argument < 1:
            raise ValueError(f"the inverse error function of {self.mp.nstr(argument, 8)}")
        made = getattr(self.mp, name)(argument)
        if isinstance(made, self.mp.mpc):
            raise ValueError(f"{name} of {self.mp.nstr(argument, 8)} is not real")
        return made

    def kummer(self, first: Any, second: Any, argument: Any) -> Any:
        """The confluent hypergeometric function 1F1; large ones need python-flint."""
        if max(abs(first), abs(argument)) < _LARGE:
            return self.mp.hyp1f1(first, second, argument)
        load("flint")
        from bounds.proof.balls import kummer_digits

        a, b, x = (to_fraction(self.mp.mpf(each)) for each in (first, second, argument))
        return self.mp.mpf(kummer_digits(a, b, x, self.mp.dps))

    def extreme(self, largest: bool, left: Any, right: Any) -> Any:
        """The larger or smaller one."""
        return max(left, right) if largest else min(left, right)

    def floor(self, value: Any) -> Any:
        """A fraction; a number that is an integer to all but the last digits is that integer."""
        near = self.mp.nint(value)
        if abs(value - near) <= self.mp.mpf(10) ** (10 - self.mp.dps) * (1 + abs(value)):
            return Fraction(int(near))
        return Fraction(int(self.mp.floor(value)))

    def compare(self, left: Any, right: Any) -> int | None:
        """The order of two rounded numbers."""
        return int(left > right) - int(left < right)

    def either(self, left: Any, right: Any) -> Any:
        """Never asked: every comparison is decided."""
        raise ValueError("an undecided condition")
