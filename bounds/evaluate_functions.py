"""SymPy's functions and constants on NumPy arrays (NumPy has no erf, and no scipy is wanted)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from mpmath.ctx_mp import MPContext
from numpy.typing import NDArray

from bounds.evaluate_mpmath import Mp

__all__ = ["BINOMIAL", "FUNCTIONS", "KUMMER", "LOG_KUMMER", "MP", "Values", "constant"]

Values = NDArray[Any]


def _each(function: Callable[[float], float]) -> Callable[[Values], Values]:
    """A function of one float for arrays; NaN where it is undefined, inf where it overflows."""

    def guarded(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    made = np.frompyfunc(guarded, 1, 1)
    return lambda values: np.asarray(made(values), dtype=float)


def _erfinv(x: float) -> float:
    return float(MP.mp.erfinv(x))


#: Arithmetic of 25 digits for functions that NumPy and SciPy lack.
MP = Mp(25)
#: SymPy's functions on arrays of doubles.
FUNCTIONS: dict[Any, Callable[[Values], Values]] = {
    sympy.exp: np.exp,
    sympy.log: np.log,
    sympy.Abs: np.abs,
    sympy.sign: np.sign,
    sympy.sin: np.sin,
    sympy.cos: np.cos,
    sympy.tan: np.tan,
    sympy.atan: np.arctan,
    sympy.sinh: np.sinh,
    sympy.cosh: np.cosh,
    sympy.tanh: np.tanh,
    sympy.erf: _each(math.erf),
    sympy.erfc: _each(math.erfc),
    sympy.erfinv: _each(_erfinv),
    sympy.gamma: _each(math.gamma),
    sympy.loggamma: _each(math.lgamma),
    sympy.factorial: _each(lambda x: math.gamma(x + 1)),
}


def _binomial(top: float, under: float) -> float:
    try:
        if top == int(top) and under == int(under) and top >= 0:
            return float(math.comb(int(top), int(under))) if under >= 0 else 0.0
        return float(MP.mp.binomial(top, under))
    except (OverflowError, ValueError):
        return math.nan if math.isnan(top + under) else math.inf


def _kummer_mp(first: float, second: float, argument: float) -> Any:
    if not all(map(math.isfinite, (first, second, argument))):
        return math.nan
    try:
        return MP.kummer(first, second, argument)
    except MPContext.NoConvergence:
        return math.nan


def _kummer(first: float, second: float, argument: float) -> float:
    return float(_kummer_mp(first, second, argument))


def _log_kummer(first: float, second: float, argument: float) -> float:
    return float(MP.mp.log(abs(_kummer_mp(first, second, argument))))


#: Binomial coefficients of real arguments, elementwise.
BINOMIAL = np.frompyfunc(_binomial, 2, 1)
#: Kummer's function M(a, b, z), elementwise.
KUMMER = np.frompyfunc(_kummer, 3, 1)
#: log of its absolute value, elementwise.
LOG_KUMMER = np.frompyfunc(_log_kummer, 3, 1)


@lru_cache(maxsize=10_000)
def constant(here: Any) -> Values:
    """A number of SymPy as an array."""
    if here.is_Rational:
        value = float(Fraction(int(here.p), int(here.q)))
    elif here is sympy.S.Infinity:
        value = math.inf
    elif here is sympy.S.NegativeInfinity:
        value = -math.inf
    else:
        value = float(here.evalf(20))
    made = np.asarray([value])
    made.setflags(write=False)
    return made
