"""Arrays at a time: a walk over an expression with NumPy.

Every value is an array whose last axis runs over the scenarios of a finite probability space (one
entry for a deterministic value); the axes before it are those of the parameters, and every sum
puts its index in front. `bounds.evaluate` uses one scenario, `bounds.model.Model` many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.core.function import AppliedUndef

from bounds.evaluate_exact import exact_fraction
from bounds.evaluate_functions import BINOMIAL, FUNCTIONS, KUMMER, MP, Values, constant
from bounds.evaluate_scalar import Walk, free_symbols, is_kummer, kummer
from bounds.evaluate_truth import ORDERS

__all__ = ["Arrays", "Values"]

_BLOCK = 4_000_000  # numbers of one block of a sum
_EXACT = 2.0**53
_LOST = 1e-4  # of a sum's terms: what is left has 12 digits


class Arrays:
    """Values of expressions on arrays.

    Parameters
    ----------
    values : mapping of symbol to array
        Floats or integers that broadcast against each other, scenario axis last.
    tables : mapping of str to array
        Values of processes and sequences by letter: index axes first (index 1 at position 0),
        scenario axis last.
    axes : int
        Number of axes of the values, the scenario axis included.
    weights : array, optional
        Probabilities of the scenarios.
    read : callable, optional
        What a float stands for inside a floor.

    Attributes
    ----------
    slips : list of str
        Overflows and underflows on the way.
    doubt : array or None
        With `careful`: where digits were lost because a sum cancelled, or a log was near 0.
    """

    careful = False

    def __init__(
        self,
        values: Mapping[Any, Values],
        tables: Mapping[str, Values],
        axes: int,
        weights: Values | None = None,
        read: Callable[[Any], Fraction] = exact_fraction,
    ) -> None:
        self.values = dict(values)
        self.tables = tables
        self.axes = axes
        self.weights = weights
        self.read = read
        self.outer: Arrays | None = None
        self.index: Any = None
        self.active: Values | bool = True
        self.known: dict[Any, Values] = {}
        self.slips: list[str] = []
        self.doubt: Values | None = None

    def value(self, here: Any) -> Values:
        """The values of an expression as floats; NaN where it is not defined."""
        if self.outer is not None and self.index not in free_symbols(here):
            return self.outer.value(here)
        found: Values | None = self.known.get(here)
        if found is None:
            quiet = np.errstate(all="ignore", over="call", under="call", call=self._slip)
            with quiet:
                found = self._value(here)
            self.known[here] = found
        return found

    def _slip(self, kind: str, flag: int) -> None:
        self.slips.append(kind)

    def _value(self, here: Any) -> Values:
        if here.is_Symbol:
            return np.asarray(self._symbol(here), dtype=float)
        if not here.args and here.is_number:
            return constant(here)
        if here.is_Add:
            return self._sum(here)
        if here.is_Mul:
            return self._product(here)
        if here.is_Pow:
            return self._power(here)
        if isinstance(here, sympy.Sum | sympy.Product):
            return self._repeat(here)
        if isinstance(here, AppliedUndef):
            return self._entry(here)
        if isinstance(here, sympy.Max | sympy.Min):
            return self._fold(here.args, np.maximum if isinstance(here, sympy.Max) else np.minimum)
        if isinstance(here, sympy.floor | sympy.ceiling):
            return self._floor(here.args[0], up=isinstance(here, sympy.ceiling))
        if isinstance(here, sympy.Mod):
            top, under = here.args
            whole = self._floor(top / under, up=False)
            return np.asarray(self.value(top) - self.value(under) * whole)
        if isinstance(here, sympy.Piecewise):
            return self._piecewise(here)
        if isinstance(here, sympy.binomial):
            top, under = (self.value(each) for each in here.args)
            return np.asarray(BINOMIAL(top, under), dtype=float)
        if is_kummer(here):
            return np.asarray(KUMMER(*map(self.value, kummer(here))), dtype=float)
        if here.func in FUNCTIONS and len(here.args) == 1:
            argument = self.value(here.args[0])
            if self.careful and here.func == sympy.log and not here.args[0].is_Symbol:
                self._doubted(np.abs(argument - 1) < _LOST)
            return FUNCTIONS[here.func](argument)
        return self.other(here)

    def other(self, here: Any) -> Values:
        """What a walk of another kind may know: expectations."""
        raise ValueError(f"{type(here).__name__} cannot be evaluated: {str(here)[:80]}")

    def _symbol(self, symbol: Any) -> Values:
        if symbol not in self.values:
            raise ValueError(f"{symbol} is missing")
        found: Values = self.values[symbol]
        return found

    def _fold(self, arguments: Any, combine: Any) -> Values:
        made = self.value(arguments[0])
        for each in arguments[1:]:
            made = combine(made, self.value(each))
        return np.asarray(made)

    def _sum(self, here: Any) -> Values:
        terms = [self.value(each) for each in here.args]
        made = np.asarray(sum(terms[1:], start=terms[0]))
        if self.careful:
            lost = np.abs(made) < _LOST * np.asarray(sum(map(np.abs, terms)))
            if lost.any():  # whole numbers cancel exactly
                broken = np.asarray(sum(term != np.floor(term) for term in terms) > 0)
                self._doubted(lost & broken)
        return made

    def _doubted(self, where: Values) -> None:
        if self.outer is not None:
            where = np.broadcast_to(where, np.broadcast_shapes(where.shape, (1,) * self.axes))
            self.outer._doubted(np.any(where & self.active, axis=0))
        elif where.any():
            self.doubt = where if self.doubt is None else self.doubt | where

    def _product(self, here: Any) -> Values:
        """A product, divisions as divisions: x / 3 is closer than x times a rounded 1/3."""
        top, under = [], []
        for each in here.args:
            if each.is_Rational and each.q != 1:
                top.append(np.full((1,) * self.axes, float(each.p)))
                under.append(np.full((1,) * self.axes, float(each.q)))
            elif each.is_Pow and each.exp.is_number and each.exp.is_negative:
                under.append(self.value(each.base**-each.exp))
            else:
                top.append(self.value(each))
        made = _times(top) if top else np.ones((1,) * self.axes)
        return np.asarray(made / _times(under) if under else made)

    def _power(self, here: Any) -> Values:
        base, exponent = self.value(here.base), here.exp
        if exponent.is_number and exponent.is_negative and not here.base.is_number:
            return np.asarray(1.0 / self.value(here.base**-exponent))
        if exponent == sympy.Rational(1, 2):
            return np.asarray(np.sqrt(base))
        if exponent.is_Integer:
            return np.asarray(base ** float(exponent))
        return np.asarray(np.power(base, self.value(exponent)))

    def _entry(self, here: Any) -> Values:
        """An entry of a table; NaN outside of it."""
        name = here.func.__name__
        if name not in self.tables:
            raise ValueError(f"{name} is missing")
        table = self.tables[name]
        if table.ndim != len(here.args) + 1:
            raise ValueError(f"{name} has {table.ndim - 1} indices, not {len(here.args)}")
        inside: Values = np.asarray(True)
        places = []
        for argument, size in zip(here.args, table.shape, strict=False):
            at = self.value(argument)
            if at.shape[-1] != 1:
                raise ValueError(f"a random index: {here}")
            at = at[..., 0]
            whole = np.where(np.isfinite(at), at, 0).astype(np.int64)
            good = (whole >= 1) & (whole <= size) & (whole == at)
            inside = inside & good
            places.append(np.where(good, whole, 1) - 1)
        found = np.asarray(table[tuple(places)], dtype=float)
        if inside.all():
            return found
        self.outside(here, table, inside[..., np.newaxis])
        return np.where(inside[..., np.newaxis], found, np.nan)

    def outside(self, here: Any, table: Values, inside: Values) -> None:
        """An index outside of a table: an error where a sum really asks for it."""
        if np.any(~inside & self.active):
            sizes = ", ".join(str(size) for size in table.shape[:-1])
            raise ValueError(f"{here.func.__name__} has {sizes} entries: too few for {here}")

    def _repeat(self, here: Any) -> Values:
        body, *limits = here.args
        if len(limits) > 1:
            body = here.func(body, *limits[:-1])
        adds = isinstance(here, sympy.Sum)
        made: Values = np.asarray(0.0 if adds else 1.0)
        for inner, active in self.terms(limits[-1]):
            term = np.where(active, inner.value(body), 0.0 if adds else 1.0)
            made = made + term.sum(axis=0) if adds else made * term.prod(axis=0)
        return np.broadcast_to(made, np.broadcast_shapes(made.shape, (1,) * self.axes))

    def terms(self, limits: Any) -> Iterator[tuple[Arrays, Values]]:
        """Walks with one more axis, for blocks of an index; and where the index is in its range."""
        index, low, high = limits[0], self.integer(limits[1]), self.integer(limits[2])
        size = np.broadcast_shapes(*(np.shape(each) for each in self.values.values()), low.shape)
        block = max(1, _BLOCK // max(1, math.prod(size)))
        for start in range(int(low.min()), int(high.max()) + 1, block):
            stop = min(start + block, int(high.max()) + 1)
            column = np.arange(start, stop).reshape((-1,) + (1,) * self.axes)
            active = (column >= low) & (column <= high)
            inner = type(self)(
                {**self.values, index: np.clip(column, low, np.maximum(low, high))},
                self.tables,
                self.axes + 1,
                self.weights,
                self.read,
            )
            inner.outer, inner.index, inner.slips = self, index, self.slips
            inner.careful = self.careful
            inner.active = active & self.active
            yield inner, active

    def integer(self, expression: Any) -> NDArray[np.int64]:
        """Whole numbers: limits of sums."""
        values = self.value(expression)
        if values.shape[-1:] not in ((1,), ()):
            raise ValueError(f"a random limit: {expression}")
        if not np.all(values == np.floor(values)):
            raise ValueError(f"{expression} = {values.flat[0]} is not allowed: an integer")
        return values.astype(np.int64)

    def _piecewise(self, here: Any) -> Values:
        made: Values = np.asarray(np.nan)
        for expression, condition in reversed(here.args):
            made = np.where(self.truth(condition), self.value(expression), made)
        return made

    def truth(self, sentence: Any) -> Values:
        """Where a Boolean holds, by comparison of floats (NaN compares false)."""
        if sentence in (sympy.true, sympy.false):
            return np.full((1,) * self.axes, bool(sentence))
        if isinstance(sentence, sympy.Not):
            return ~self.truth(sentence.args[0])
        if isinstance(sentence, sympy.Implies):
            return ~self.truth(sentence.args[0]) | self.truth(sentence.args[1])
        if isinstance(sentence, sympy.Or | sympy.And):
            join = np.logical_or if isinstance(sentence, sympy.Or) else np.logical_and
            made = self.truth(sentence.args[0])
            for each in sentence.args[1:]:
                made = join(made, self.truth(each))
            return made
        if sentence.func not in ORDERS:
            raise ValueError(f"{type(sentence).__name__} cannot be evaluated: {sentence}")
        with np.errstate(all="ignore"):
            compare = ORDERS[sentence.func]
            return np.asarray(compare(self.value(sentence.lhs), self.value(sentence.rhs)))

    def _floor(self, argument: Any, *, up: bool) -> Values:
        """Floors, exact where the argument is rational in the parameters."""
        top, under = _ratio(argument)
        rounding = np.ceil if up else np.floor
        leaves = free_symbols(argument)
        if under is not None and all(self.whole(each) for each in leaves):
            high, low = self.value(top), self.value(under)
            if max(np.abs(high).max(initial=0), np.abs(low).max(initial=0)) < _EXACT:
                nonzero = np.where(low == 0, 1, low)
                # Integer division of whole floats below 2**53 is exact.
                exact = -(-high // nonzero) if up else high // nonzero
                return np.where(low == 0, np.nan, exact)
        rough = self.value(argument)
        made = np.asarray(rounding(rough))
        near = np.abs(rough - np.round(rough)) <= 1e-6 * np.maximum(1, np.abs(rough))
        near &= np.isfinite(rough)
        if not near.any() or argument.atoms(AppliedUndef):
            return made
        made = np.array(made)
        made[near] = self._exactly((sympy.ceiling if up else sympy.floor)(argument), near)
        return made

    def whole(self, symbol: Any) -> bool:
        """Whether all values of a symbol are integers of an integer type."""
        return bool(np.asarray(self._symbol(symbol)).dtype.kind == "i")

    def _exactly(self, rounded: Any, where: Values) -> list[float]:
        """The floor or ceiling at single places, in exact arithmetic."""
        leaves = sorted(free_symbols(rounded), key=str)
        columns = [np.broadcast_to(self._symbol(each), where.shape)[where] for each in leaves]
        made: dict[tuple[Any, ...], float] = {}
        result = []
        for point in zip(*columns, strict=True) if columns else [()] * int(where.sum()):
            if point not in made:
                read = {
                    leaf: self.read(_python(each)) for leaf, each in zip(leaves, point, strict=True)
                }
                made[point] = float(Walk(MP, read).value(rounded))
            result.append(made[point])
        return result


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _times(factors: list[Values]) -> Values:
    made = factors[0]
    for each in factors[1:]:
        made = made * each
    return made


@lru_cache(maxsize=10_000)
def _ratio(argument: Any) -> tuple[Any, Any]:
    """Numerator and denominator as polynomials with integer coefficients; None without."""
    top, under = sympy.fraction(sympy.together(argument))
    leaves = sorted(argument.free_symbols, key=str)
    polynomial = top.is_polynomial(*leaves) and under.is_polynomial(*leaves)
    numbers = top.atoms(sympy.Number, sympy.NumberSymbol) | under.atoms(
        sympy.Number, sympy.NumberSymbol
    )
    if argument.atoms(AppliedUndef) or not polynomial:
        return argument, None
    return (top, under) if all(each.is_Integer for each in numbers) else (argument, None)
