"""By how much a sentence holds on arrays, and where it fails most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from sympy.core.relational import Relational

from bounds.evaluate_functions import Values
from bounds.evaluate_numpy import Arrays
from bounds.operators import E

__all__ = ["Worst", "absolute", "margin", "worst_place"]

_TOUCHING = 1e-300
_ROUNDING = 1e-13

_NEGATED = {
    sympy.Le: sympy.Gt,
    sympy.Lt: sympy.Ge,
    sympy.Ge: sympy.Lt,
    sympy.Gt: sympy.Le,
    sympy.Eq: sympy.Ne,
    sympy.Ne: sympy.Eq,
}


@dataclass(frozen=True)
class Worst:
    """Where a sentence fails most.

    Attributes
    ----------
    relation : the comparison that fails
    left, right : float
        Its two sides.
    margin : float
        Relative; negative when it fails.
    at : mapping of str to float
        Indices and variables there; ``"scenario"`` when the relation is random.
    """

    relation: Any
    left: float
    right: float
    margin: float
    at: Mapping[str, float]


def margin(sentence: Any, arrays: Arrays) -> Values:
    """Relative margin: 0 or more where a Boolean holds, negative where it fails, NaN unknown."""
    with np.errstate(all="ignore"):
        return _margin(sympy.sympify(sentence), arrays)


def _margin(here: Any, arrays: Arrays) -> Values:
    if here in (sympy.true, sympy.false):
        return np.full((1,) * arrays.axes, np.inf if here else -np.inf)
    if isinstance(here, Relational):
        return _relation(here, arrays)
    if isinstance(here, sympy.And):
        return _fold([_margin(each, arrays) for each in here.args], np.fmin)
    if isinstance(here, sympy.Or):
        return _fold([_margin(each, arrays) for each in here.args], np.maximum)
    if isinstance(here, sympy.Implies):
        guard = _satisfied(here.args[0], arrays)
        then = _margin(here.args[1], arrays)
        return np.where(np.isnan(guard), np.nan, np.where(guard > 0, then, np.inf))
    if isinstance(here, sympy.Not):
        return _margin(_pushed(here.args[0]), arrays)
    if isinstance(here, sympy.Equivalent) and len(here.args) == 2:
        left, right = here.args
        return _margin(sympy.Implies(left, right) & sympy.Implies(right, left), arrays)
    raise ValueError(f"{type(here).__name__} cannot be evaluated: {str(here)[:80]}")


def _fold(parts: list[Values], combine: Any) -> Values:
    made = parts[0]
    for each in parts[1:]:
        made = combine(made, each)
    return made


def _pushed(inner: Any) -> Any:
    """The negation of a Boolean, with Not at no relation."""
    if isinstance(inner, Relational):
        return _NEGATED[inner.func](inner.lhs, inner.rhs)
    if isinstance(inner, sympy.And):
        return sympy.Or(*(_pushed(each) for each in inner.args))
    if isinstance(inner, sympy.Or):
        return sympy.And(*(_pushed(each) for each in inner.args))
    if isinstance(inner, sympy.Implies):
        return sympy.And(inner.args[0], _pushed(inner.args[1]))
    if isinstance(inner, sympy.Not):
        return inner.args[0]
    raise ValueError(f"Not({type(inner).__name__}) cannot be evaluated")


def _satisfied(guard: Any, arrays: Arrays) -> Values:
    """1 where a guard holds, 0 where not, NaN where an index is not covered.

    An equality counts when both sides agree to rounding; other relations are taken as they are.
    """
    if isinstance(guard, sympy.And | sympy.Or):
        parts = [_satisfied(each, arrays) for each in guard.args]
        return _fold(parts, np.minimum if isinstance(guard, sympy.And) else np.maximum)
    if isinstance(guard, sympy.Not):
        return 1 - _satisfied(guard.args[0], arrays)
    if isinstance(guard, sympy.Eq | sympy.Ne):
        size = _margin(sympy.Eq(guard.lhs, guard.rhs, evaluate=False), arrays)
        equal = np.where(np.isnan(size), np.nan, (size >= -1e-13).astype(float))
        return equal if isinstance(guard, sympy.Eq) else 1 - equal
    if isinstance(guard, Relational):
        sides = arrays.value(guard.lhs) + arrays.value(guard.rhs)
        return np.where(np.isnan(sides), np.nan, arrays.truth(guard).astype(float))
    size = _margin(guard, arrays)
    return np.where(np.isnan(size), np.nan, (size >= 0).astype(float))


def _relation(here: Any, arrays: Arrays) -> Values:
    left, right = arrays.value(here.lhs), arrays.value(here.rhs)
    difference = np.asarray(right - left)
    relative = _signed(here, difference, np.abs(left) + np.abs(right))
    if np.any(relative < -_ROUNDING):
        # Rounding is relative to what was added up, before it cancelled.
        sizes = [arrays.value(absolute(side)) for side in (here.lhs, here.rhs)]
        return _signed(here, difference, sizes[0] + sizes[1])
    return relative


def _signed(here: Any, difference: Values, scale: Values) -> Values:
    relative = np.where(difference == 0, 0.0, difference / np.maximum(scale, 1e-290))
    if isinstance(here, sympy.Ge | sympy.Gt):
        relative = -relative
    if isinstance(here, sympy.Lt | sympy.Gt):  # touching fails, by no margin
        return np.where(relative == 0, -_TOUCHING, relative)
    if isinstance(here, sympy.Le | sympy.Ge):
        return relative
    if isinstance(here, sympy.Eq):
        return -np.abs(relative)
    return np.where(relative == 0, -np.inf, np.abs(relative))


@lru_cache(maxsize=20_000)
def absolute(expression: Any) -> Any:
    """The same expression with all its summands and factors made positive."""
    if expression.is_Add or expression.is_Mul:
        return expression.func(*map(absolute, expression.args))
    if expression.is_Pow and expression.exp.is_Integer and expression.exp.is_positive:
        return absolute(expression.base) ** expression.exp
    if isinstance(expression, E):
        return E(absolute(expression.args[0]))
    if isinstance(expression, sympy.Sum):
        return sympy.Sum(absolute(expression.function), *expression.limits)
    return sympy.Abs(expression)


def worst_place(
    sentence: Any, arrays: Arrays, names: tuple[Any, ...], axes: Mapping[Any, Values]
) -> Worst:
    """Where a sentence fails most, and the relation in it that does."""
    with np.errstate(all="ignore"):
        margins = _margin(sentence, arrays)
        place = np.unravel_index(int(np.nanargmin(margins)), margins.shape)
        relation = _culprit(sentence, arrays, place, margins.shape)
        sides = [arrays.value(relation.lhs), arrays.value(relation.rhs)]
        left, right = (_at(side, place, margins.shape) for side in sides)
        least = float(margins[place])
    full = (0,) * (len(names) + 1 - len(place)) + tuple(int(each) for each in place)
    at: dict[str, float] = {}
    for spot, name in zip(full, names, strict=False):
        for symbol in [name] if name is not None else [s for s in axes if s not in names]:
            at[str(symbol)] = float(axes[symbol][spot])
    if margins.shape[-1] > 1:
        at["scenario"] = float(full[-1])
    return Worst(relation, left, right, least, at)


def _at(side: Values, place: tuple[Any, ...], shape: tuple[int, ...]) -> float:
    return float(np.broadcast_to(side, np.broadcast_shapes(side.shape, shape))[place])


def _culprit(here: Any, arrays: Arrays, place: Any, shape: tuple[int, ...]) -> Any:
    """The relation inside a Boolean whose failure makes it fail."""
    if isinstance(here, Relational):
        return here
    if isinstance(here, sympy.Implies):
        return _culprit(here.args[1], arrays, place, shape)
    if isinstance(here, sympy.Not):
        return _culprit(_pushed(here.args[0]), arrays, place, shape)
    if isinstance(here, sympy.And | sympy.Or):
        margins = [_at(_margin(each, arrays), place, shape) for each in here.args]
        pick = np.nanargmin if isinstance(here, sympy.And) else np.nanargmax
        return _culprit(here.args[int(pick(margins))], arrays, place, shape)
    if isinstance(here, sympy.Equivalent):
        left, right = here.args
        both = sympy.Implies(left, right) & sympy.Implies(right, left)
        return _culprit(both, arrays, place, shape)
    return sympy.Eq(sympy.Integer(1), sympy.Integer(0), evaluate=False)
