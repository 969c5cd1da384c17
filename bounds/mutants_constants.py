"""The numeric constants of a statement, and the statement with one of them halved or doubled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from bounds.operators import Conditional, Independent, StandardNormal

__all__ = ["Constant", "constants"]

# Indices of processes and limits of sums are places, not constants; facts on laws have none.
_LEFT_OUT = (AppliedUndef, sympy.Tuple, Independent, Conditional, StandardNormal)


@dataclass(frozen=True)
class Constant:
    """A constant where it stands.

    Attributes
    ----------
    shown : str
        The constant and what it stands in: ``"1/2 in R**2*V/(2*T)"``.
    halved, doubled : sympy Boolean
        The statement with the constant halved and doubled.
    """

    shown: str
    halved: Any
    doubled: Any


def constants(statement: Any) -> list[Constant]:
    """All numeric constants of a statement but 0, 1 and -1 as factors.

    A numeric factor of a product counts as one constant (``sqrt(2)/sqrt(pi)``), as does a numeric
    term, an exponent other than -1, a side or argument that is a number. An exponent is halved
    too: ``x**2`` becomes ``x``. Left out are the indices of processes, the limits of sums, and
    the shift in ``floor((t - 1)/s)``, which has a mutant of its own.
    """
    found: list[Constant] = []
    names: dict[str, int] = {}
    for shown, halved, doubled in _variants(statement):
        if halved == statement or halved in (sympy.true, sympy.false):
            continue
        names[shown] = names.get(shown, 0) + 1
        name = shown if names[shown] == 1 else f"{shown} ({names[shown]})"
        found.append(Constant(name, halved, doubled))
    return found


def _variants(here: Any, in_floor: bool = False) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(here, _LEFT_OUT) or not here.args:
        return
    in_floor = in_floor or isinstance(here, sympy.floor | sympy.ceiling)
    if here.is_Mul:
        number, rest = here.as_independent(*here.free_symbols, *here.atoms(AppliedUndef))
        if number not in (1, -1) and rest != 1:
            yield f"{abs(number)} in {_text(here)}", here / 2, here * 2
    for place, part in enumerate(here.args):
        if part.is_number:
            if not (in_floor and here.is_Add) and _is_constant(here, place, part):
                yield (
                    f"{part} in {_text(here)}",
                    _put(here, place, part / 2),
                    _put(here, place, part * 2),
                )
            continue
        for shown, halved, doubled in _variants(part, in_floor):
            yield shown, _put(here, place, halved), _put(here, place, doubled)


def _is_constant(here: Any, place: int, part: Any) -> bool:
    if here.is_Mul or part == 0 or not part.is_finite or part.is_Boolean:
        return False
    return place == 1 and part != -1 if here.is_Pow else True


def _put(here: Any, place: int, part: Any) -> Any:
    """The same expression with one argument replaced; a relation stays a relation."""
    arguments = [*here.args[:place], part, *here.args[place + 1 :]]
    if isinstance(here, sympy.core.relational.Relational):
        return here.func(*arguments, evaluate=False)
    return here.func(*arguments)


def _text(here: Any) -> str:
    text = str(here)
    return text if len(text) <= 60 else f"{text[:57]}..."
