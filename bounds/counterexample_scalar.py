"""Statements without processes: points of the symbols' domains, corners included.

Assumptions ``Eq(symbol, expression)`` define their symbol; bounds on a symbol are often taken with
equality, because that is where a statement is tight. The points with the least margin are moved
around. A point counts when the assumptions hold and the statement fails at it in exact fractions
and 50 digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef

from bounds.evaluate_domain import check_value, domain_of, inside
from bounds.evaluate_functions import Values
from bounds.evaluate_mpmath import DIGITS, Mp
from bounds.evaluate_numpy import Arrays
from bounds.evaluate_scalar import Walk
from bounds.evaluate_truth import decide
from bounds.model_truth import margin, worst_place
from bounds.operators import Conditional, E, Independent, RandomVariable, StandardNormal

__all__ = ["Closest", "Point", "closest_point", "computable", "search_points"]

_BATCH = 1000
_DENOMINATOR = 10**4
_NO_NUMBERS = (
    AppliedUndef,
    RandomVariable,
    E,
    Independent,
    Conditional,
    StandardNormal,
    sympy.Integral,
    sympy.Derivative,
    sympy.Limit,
)


@dataclass(frozen=True)
class Point:
    """Exact values at which a statement fails, and the comparison that does.

    Attributes
    ----------
    values : mapping of symbol to Fraction
    relation : sympy relation
    left, right : mpmath.mpf
    margin : float
        Relative and negative.
    """

    values: Mapping[Any, Any]
    relation: Any
    left: Any
    right: Any
    margin: float


def computable(sentence: Any) -> bool:
    """Whether a sentence has neither processes nor anything that only a proof can handle."""
    return not any(isinstance(each, _NO_NUMBERS) for each in sympy.preorder_traversal(sentence))


def search_points(
    statement: Any, formulas: Sequence[Any], rng: np.random.Generator, tries: int
) -> Point | None:
    """A point where all formulas hold and the statement fails; None when there is none to be found.

    Formulas on processes are left out when the statement has none of their symbols, and when it
    has, nothing is searched: a point could not satisfy them.
    """
    return closest_point(statement, formulas, rng, tries).violation


@dataclass(frozen=True)
class Closest:
    """What a search over points came to.

    Attributes
    ----------
    points : int
        Points tried at which the formulas hold; 0 when the statement cannot be searched.
    margin : float or None
        Least relative margin of the statement that was met, in doubles.
    violation : Point or None
    """

    points: int
    margin: float | None
    violation: Point | None


def closest_point(
    statement: Any, formulas: Sequence[Any], rng: np.random.Generator, tries: int
) -> Closest:
    """How close a statement comes to failing: `search_points`, with the least margin it met."""
    if not computable(statement):
        return Closest(0, None, None)
    kept = [each for each in formulas if computable(each)]
    symbols = set(statement.free_symbols)
    for each in formulas:
        if not computable(each) and (each.free_symbols & symbols):
            return Closest(0, None, None)
    search = _Search(statement, kept, rng)
    left = tries
    found = None
    while left > 0 and found is None:
        found = search.batch(min(left, _BATCH))
        left -= _BATCH
    least = search.best[0][0] if search.best else None
    return Closest(search.held, least, found)


class _Search:
    def __init__(self, statement: Any, formulas: list[Any], rng: np.random.Generator) -> None:
        self.statement = statement
        self.formulas = formulas
        self.rng = rng
        free: set[Any] = set(statement.free_symbols)
        for each in formulas:
            free |= each.free_symbols
        self.symbols = sorted(free, key=str)
        self.defined = _definitions(formulas)
        self.bounds = _bounds(formulas)
        self.best: list[tuple[float, dict[Any, Fraction]]] = []
        self.held = 0

    def batch(self, size: int) -> Point | None:
        drawn = self._draw(size)
        arrays = Arrays({k: v[:, None] for k, v in drawn.items()}, {}, 2)
        good = np.ones((size, 1), dtype=bool)
        for symbol in self.symbols:
            good &= inside(drawn[symbol], domain_of(symbol))[:, None]
        for formula in self.formulas:
            held = np.broadcast_to(margin(formula, arrays), good.shape)
            good &= held >= -1e-9
        margins = np.where(
            good, np.broadcast_to(margin(self.statement, arrays), good.shape), np.nan
        )
        margins = margins[:, 0]
        self.held += int((~np.isnan(margins)).sum())
        if np.isnan(margins).all():
            return None
        order = np.argsort(np.where(np.isnan(margins), np.inf, margins))
        for place in order[:5]:
            if margins[place] < 0:
                found = self._confirm({k: _fraction(v[place], k) for k, v in drawn.items()})
                if found is not None:
                    return found
        fresh = [
            (float(margins[p]), {k: _fraction(v[p], k) for k, v in drawn.items()})
            for p in order[:20]
            if np.isfinite(margins[p])
        ]
        self.best = sorted(self.best + fresh, key=lambda each: each[0])[:20]
        return None

    def _draw(self, size: int) -> dict[Any, Values]:
        """Values of all symbols: fresh ones, moved good ones, then definitions and tight bounds."""
        rng = self.rng
        made = {symbol: _sample(symbol, rng, size) for symbol in self.symbols}
        if self.best:
            pick = rng.integers(len(self.best), size=size)
            moved = rng.random(size) < 0.6
            for symbol in self.symbols:
                old = np.array([float(self.best[p][1][symbol]) for p in pick])
                near = old * np.exp(rng.normal(size=size) * 10.0 ** rng.uniform(-4, 0, size))
                near = np.where(rng.random(size) < 0.4, old, near)
                if symbol.is_integer:
                    near = np.round(near) + rng.integers(-1, 2, size) * (rng.random(size) < 0.3)
                made[symbol] = np.where(moved, near, made[symbol])
        for symbol, limit in self.bounds:
            tight = rng.random(size) < 0.4
            value = self._computed(limit, made, size)
            usable = tight & np.isfinite(value)
            if symbol.is_integer:
                usable &= value == np.round(value)
            made[symbol] = np.where(usable, value, made[symbol])
        for symbol, expression in self.defined:
            value = self._computed(expression, made, size)
            made[symbol] = np.where(np.isfinite(value), value, made[symbol])
        for symbol in self.symbols:
            if symbol.is_integer and np.all(np.abs(made[symbol]) < 2**53):
                made[symbol] = np.round(made[symbol]).astype(np.int64)
        return made

    def _computed(self, expression: Any, made: Mapping[Any, Values], size: int) -> Values:
        arrays = Arrays({k: v[:, None] for k, v in made.items()}, {}, 2)
        return np.array(np.broadcast_to(arrays.value(expression), (size, 1))[:, 0])

    def _confirm(self, values: dict[Any, Fraction]) -> Point | None:
        """The same point with exact definitions and bounds, in 50 digits."""
        arithmetic = Mp()
        exact: dict[Any, Any] = dict(values)
        tolerance = arithmetic.mp.mpf(10) ** (5 - DIGITS)
        try:
            for symbol, expression in self.defined:
                exact[symbol] = Walk(arithmetic, exact).value(expression)
            for symbol in self.symbols:
                if not _allowed(exact[symbol], symbol):
                    return None
            walk = Walk(arithmetic, exact)
            if not all(_true(each, walk, tolerance) for each in self.formulas):
                return None
            if _true(self.statement, walk, tolerance):
                return None
        except (ValueError, ZeroDivisionError, OverflowError):
            return None
        return _point(self.statement, exact, walk)


def _definitions(formulas: list[Any]) -> list[tuple[Any, Any]]:
    """Symbols that an assumption gives by an equation, in an order that can be computed."""
    pending: dict[Any, Any] = {}
    for each in _conjuncts(formulas):
        if isinstance(each, sympy.Eq):
            for symbol, other in ((each.lhs, each.rhs), (each.rhs, each.lhs)):
                usable = symbol.is_Symbol and symbol not in other.free_symbols
                if usable and symbol not in pending and other.free_symbols:
                    pending[symbol] = other
                    break
    ordered: list[tuple[Any, Any]] = []
    while pending:
        ready = [s for s, e in pending.items() if not (e.free_symbols & set(pending))]
        if not ready:
            break
        ordered.extend((s, pending.pop(s)) for s in ready)
    return ordered


def _bounds(formulas: list[Any]) -> list[tuple[Any, Any]]:
    """Symbols that an assumption bounds, with the bound."""
    found = []
    for each in _conjuncts(formulas):
        if isinstance(each, sympy.Le | sympy.Ge | sympy.Lt | sympy.Gt):
            for symbol, other in ((each.lhs, each.rhs), (each.rhs, each.lhs)):
                if symbol.is_Symbol and symbol not in other.free_symbols:
                    found.append((symbol, other))
    return found


def _conjuncts(formulas: list[Any]) -> list[Any]:
    return [
        part
        for each in formulas
        for part in (each.args if isinstance(each, sympy.And) else (each,))
    ]


def _sample(symbol: Any, rng: np.random.Generator, size: int) -> Values:
    """Numbers of a symbol's domain: powers of ten around 1, fractions, corners."""
    domain = domain_of(symbol)
    wide = 10.0 ** rng.uniform(-1, 1, size) ** 3 * 10.0 ** rng.normal(0, 0.7, size)
    if domain.startswith("integer"):
        low = 1 if domain.endswith("1") else 0
        made = low + np.floor(10.0 ** rng.uniform(0, 2.2, size)) - 1
        return np.where(rng.random(size) < 0.5, low + rng.integers(0, 5, size), made)
    if domain.startswith("in"):
        unit = rng.random(size)
        made = np.where(rng.random(size) < 0.3, unit**4, unit)
        made = np.where(rng.random(size) < 0.2, 1 - made**4, made)
        corners = [0.5] + [0.0] * ("[0" in domain) + [1.0] * ("1]" in domain)
    elif domain in (">= 1", "> 1"):
        made = 1 + wide
        corners = [2.0, 1.001] + [1.0] * (domain == ">= 1")
    else:
        made = wide if domain != "real" else wide * rng.choice([-1.0, 1.0], size)
        corners = [1.0, 0.5, 2.0] + ([] if domain == "> 0" else [0.0])
    picked = rng.choice(corners, size)
    return np.where(rng.random(size) < 0.25, picked, made)


def _allowed(value: Any, symbol: Any) -> bool:
    try:
        check_value("value", value, domain_of(symbol))
    except ValueError:
        return False
    return True


def _fraction(value: Any, symbol: Any) -> Fraction:
    """A short fraction near a float, so that a counterexample can be read."""
    exact = Fraction(int(value)) if symbol.is_integer else Fraction(float(value))
    short = exact.limit_denominator(_DENOMINATOR)
    return short if exact and abs(short - exact) <= abs(exact) / 10**9 else exact


def _true(sentence: Any, walk: Walk, tolerance: Any) -> bool:
    """Whether a sentence holds; what is not rational may be off by a relative tolerance."""

    def relation(here: Any) -> bool | None:
        left, right = walk.value(here.lhs), walk.value(here.rhs)
        if isinstance(left, Fraction) and isinstance(right, Fraction):
            return bool(walk.truth(here))
        first, second = walk.number(here.lhs), walk.number(here.rhs)
        gap = (second - first) / (1 + abs(first) + abs(second))
        if isinstance(here, sympy.Le | sympy.Lt):
            return bool(gap >= -tolerance)
        if isinstance(here, sympy.Ge | sympy.Gt):
            return bool(gap <= tolerance)
        return bool(abs(gap) <= tolerance) == isinstance(here, sympy.Eq)

    return bool(decide(sentence, relation))


def _point(statement: Any, exact: Mapping[Any, Any], walk: Walk) -> Point:
    floats = {k: np.array([[float(v)]]) for k, v in exact.items()}
    names = tuple(None for _ in range(1))
    worst = worst_place(statement, Arrays(floats, {}, 2), names, {})
    digits = Mp(DIGITS)
    left, right = (
        +digits.mp.mpf(walk.number(side)) for side in (worst.relation.lhs, worst.relation.rhs)
    )
    return Point(exact, worst.relation, left, right, worst.margin)
