"""Logarithms of expressions, computed in logarithms: ``alpha**-1000`` overflows nothing.

A value is its sign and the log of its size. Where an expression is no product, power, sum or
exponential, its plain value is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

from bounds.evaluate_functions import LOG_KUMMER
from bounds.evaluate_mpmath import Mp
from bounds.evaluate_numpy import Arrays, Values
from bounds.evaluate_scalar import free_symbols, is_kummer, kummer

__all__ = ["SignLog", "sign_log"]

#: Signs, and logarithms of absolute values.
SignLog = tuple[Values, Values]

_MP = Mp(30)


def sign_log(here: Any, arrays: Arrays) -> SignLog:
    """Sign (-1, 0, 1) and log of the size of an expression.

    Parameters
    ----------
    here : sympy.Expr
    arrays : Arrays
        The point; values are as there.
    """
    with np.errstate(all="ignore"):
        return _Logs(arrays).pair(here)


class _Logs:
    def __init__(self, arrays: Arrays, outer: _Logs | None = None) -> None:
        self.arrays = arrays
        self.outer = outer
        self.known: dict[Any, SignLog] = {}

    def pair(self, here: Any) -> SignLog:
        if self.outer is not None and self.arrays.index not in free_symbols(here):
            return self.outer.pair(here)
        found = self.known.get(here)
        if found is None:
            found = self.known[here] = self._pair(here)
        return found

    def _pair(self, here: Any) -> SignLog:
        if here.is_Mul:
            pairs = [self.pair(each) for each in here.args]
            return _product(pairs)
        if here.is_Add:
            return _sum_of([self.pair(each) for each in here.args])
        if here.is_Pow:
            return self._power(here)
        if isinstance(here, sympy.exp):
            exponent = self.arrays.value(here.args[0])
            return np.ones_like(exponent), exponent
        if isinstance(here, sympy.Abs):
            sign, size = self.pair(here.args[0])
            return np.abs(sign), size
        if isinstance(here, sympy.log):
            sign, size = self.pair(here.args[0])
            return _plain(np.where(sign > 0, size, np.nan))
        if isinstance(here, sympy.Max | sympy.Min):
            return self._extreme(here)
        if isinstance(here, sympy.Sum | sympy.Product):
            return self._repeat(here)
        if isinstance(here, sympy.Piecewise):
            return self._piecewise(here)
        if here.func in _LOGS and len(here.args) == 1:
            argument = self.arrays.value(here.args[0])
            return np.ones_like(argument), np.asarray(_LOGS[here.func](argument), dtype=float)
        if is_kummer(here):
            value = self.arrays.value(here)
            logs = LOG_KUMMER(*map(self.arrays.value, kummer(here)))
            return np.sign(value), np.asarray(logs, dtype=float)
        return _plain(self.arrays.value(here))

    def _power(self, here: Any) -> SignLog:
        sign, size = self.pair(here.base)
        exponent = self.arrays.value(here.exp)
        made = np.where(exponent == 0, 0.0, exponent * size)
        odd = np.mod(exponent, 2) == 1
        whole = exponent == np.floor(exponent)
        negative = np.where(whole, np.where(odd, -1.0, 1.0), np.nan)
        signs = np.where(sign < 0, negative, np.where(exponent == 0, 1.0, sign))
        signs = np.where((sign == 0) & (exponent < 0), np.nan, signs)
        return signs, made

    def _extreme(self, here: Any) -> SignLog:
        made = self.pair(here.args[0])
        for each in here.args[1:]:
            other = self.pair(each)
            difference, _ = _sum_of([made, (-other[0], other[1])])
            first = difference > 0 if isinstance(here, sympy.Max) else difference < 0
            undefined = np.isnan(difference)
            made = (
                np.where(undefined, np.nan, np.where(first, made[0], other[0])),
                np.where(first, made[1], other[1]),
            )
        return made

    def _repeat(self, here: Any) -> SignLog:
        body, *limits = here.args
        if len(limits) > 1:
            body = here.func(body, *limits[:-1])
        adds = isinstance(here, sympy.Sum)
        pairs: list[SignLog] = []
        for inner, active in self.arrays.terms(limits[-1]):
            sign, size = _Logs(inner, self).pair(body)
            sign = np.where(active, sign, 0.0 if adds else 1.0)
            size = np.where(active, size, -np.inf if adds else 0.0)
            pairs.append(_along(sign, size) if adds else (sign.prod(axis=0), size.sum(axis=0)))
        shape = (1,) * self.arrays.axes
        if not pairs:
            return np.full(shape, 0.0 if adds else 1.0), np.full(shape, -np.inf if adds else 0.0)
        return _sum_of(pairs) if adds else _product(pairs)

    def _piecewise(self, here: Any) -> SignLog:
        made: SignLog = (np.asarray(np.nan), np.asarray(np.nan))
        for expression, condition in reversed(here.args):
            holds = self.arrays.truth(condition)
            pair = self.pair(expression)
            made = np.where(holds, pair[0], made[0]), np.where(holds, pair[1], made[1])
        return made


def _plain(value: Values) -> SignLog:
    return np.sign(value), np.log(np.abs(value))


def _product(pairs: list[SignLog]) -> SignLog:
    sign, size = pairs[0]
    for other_sign, other_size in pairs[1:]:
        sign, size = sign * other_sign, size + other_size
    # Zero times anything finite is zero: -inf + inf would be NaN.
    return sign, np.where(sign == 0, -np.inf, size)


def _sum_of(pairs: list[SignLog]) -> SignLog:
    shape = np.broadcast_shapes(*(part.shape for pair in pairs for part in pair))
    signs = np.stack([np.broadcast_to(pair[0], shape) for pair in pairs])
    sizes = np.stack([np.broadcast_to(pair[1], shape) for pair in pairs])
    return _along(signs, sizes)


def _along(signs: Values, sizes: Values) -> SignLog:
    """A sum along the first axis."""
    sizes = np.where(signs == 0, -np.inf, sizes)
    largest = sizes.max(axis=0)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    total = (signs * np.exp(sizes - shift)).sum(axis=0)
    return np.sign(total), np.log(np.abs(total)) + shift


def _log_erfc(x: float) -> float:
    if x < 20:
        return math.log(math.erfc(x))
    if x > 1e6:  # two terms of the asymptotic series are exact to the last bit
        return -x * x - math.log(x) - 0.5 * math.log(math.pi)
    return float(_MP.mp.log(_MP.mp.erfc(x)))


def _log_factorial(x: float) -> float:
    return math.lgamma(x + 1) if x > -1 else math.nan


_LOGS: dict[Any, Callable[..., Any]] = {
    sympy.erfc: np.frompyfunc(_log_erfc, 1, 1),
    sympy.factorial: np.frompyfunc(_log_factorial, 1, 1),
    sympy.gamma: np.frompyfunc(lambda x: _log_factorial(x - 1), 1, 1),
}
