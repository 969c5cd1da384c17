"""Truth of a Boolean with three values: true, false, not known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import sympy
from sympy.core.relational import Relational

__all__ = ["ORDERS", "decide"]

#: relation -> Python's operator
ORDERS: dict[Any, Callable[[Any, Any], Any]] = {
    sympy.Eq: operator.eq,
    sympy.Ne: operator.ne,
    sympy.Lt: operator.lt,
    sympy.Le: operator.le,
    sympy.Gt: operator.gt,
    sympy.Ge: operator.ge,
}


def decide(sentence: Any, relation: Callable[[Any], bool | None]) -> bool | None:
    """Truth of a Boolean from the truth of its relations; None when it is not known.

    Parameters
    ----------
    sentence : sympy Boolean
    relation : callable
        True, False or None for ``left <= right`` and the like.

    Raises
    ------
    ValueError
        For a Boolean that is no combination of relations.
    """
    if sentence in (sympy.true, sympy.false):
        return bool(sentence)
    if isinstance(sentence, Relational):
        return relation(sentence)
    if isinstance(sentence, sympy.Not):
        return _opposite(decide(sentence.args[0], relation))
    if isinstance(sentence, sympy.Implies):
        guard, then = sentence.args
        return _any(
            decide(each, relation) if each is then else _opposite(decide(each, relation))
            for each in (guard, then)
        )
    if isinstance(sentence, sympy.Or):
        return _any(decide(each, relation) for each in sentence.args)
    if isinstance(sentence, sympy.And):
        return _opposite(_any(_opposite(decide(each, relation)) for each in sentence.args))
    if isinstance(sentence, sympy.Equivalent):
        known = [decide(each, relation) for each in sentence.args]
        return None if None in known else len(set(known)) == 1
    raise ValueError(f"{type(sentence).__name__} is no combination of relations: {sentence}")


def _opposite(known: bool | None) -> bool | None:
    return None if known is None else not known


def _any(known: Iterable[bool | None]) -> bool | None:
    undecided = False
    for each in known:
        if each:
            return True
        undecided = undecided or each is None
    return None if undecided else False
