"""Looking for an instance in which the assumptions hold and the statement does not.

A theorem brings its own finite models (`Theorem.models`), good ones and ones that break an
assumption; a statement without processes is searched on the domains of its symbols as well, and
what is found there is confirmed with 50 digits.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from bounds.counterexample_scalar import Point, computable, search_points
from bounds.model import MARGIN, NORMAL_MARGIN, Model
from bounds.operators import StandardNormal

if TYPE_CHECKING:
    from bounds.theorem import Theorem

__all__ = ["Counterexample", "satisfying", "search"]


@dataclass(frozen=True)
class Counterexample:
    """An instance in which all assumptions hold and the statement fails.

    Attributes
    ----------
    theorem : str
    statement : sympy Boolean
    relation : sympy relation
        The comparison of the statement that fails.
    left, right : float or mpmath.mpf
        Its two sides; 50 digits for statements without processes.
    margin : float
        Relative: (right - left) over the size of the sides, negative.
    at : mapping of str to number
        Values of the symbols; indices, variables and the scenario for a model.
    model : Model, optional
        The finite model, when it is one.
    """

    theorem: str
    statement: Any
    relation: Any
    left: Any
    right: Any
    margin: float
    at: Mapping[str, Any]
    model: Model | None = None

    def describe(self) -> str:
        """What fails and where, with both sides, as text."""
        where = ", ".join(f"{name} = {_shown(value)}" for name, value in self.at.items())
        lines = [
            f"{self.theorem}: the assumptions hold and the statement fails",
            f"  {self.relation}",
            f"  left  = {_shown(self.left)}",
            f"  right = {_shown(self.right)}",
        ]
        if where:
            lines.append(f"  at {where}")
        if self.model is not None:
            lines.append(f"  in {self.model!r}")
            lines.extend(f"  {line}" for line in self.model.tables())
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "theorem": self.theorem,
            "relation": str(self.relation),
            "left": str(self.left),
            "right": str(self.right),
            "margin": self.margin,
            "at": {name: str(value) for name, value in self.at.items()},
            "model": None if self.model is None else repr(self.model),
        }


def _shown(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def search(theorem: Theorem, *, seed: int = 0, tries: int = 200) -> Counterexample | None:
    """A counterexample to a theorem, or None when none was found.

    Parameters
    ----------
    theorem : Theorem
    seed : int
    tries : int
        Models to look at; a statement without processes is tried at 50 times as many points.

    Raises
    ------
    ValueError
        For a seed or `tries` that is no whole number or too small, or when a model of the
        theorem lacks a value that a sentence needs.
    """
    _check_whole("seed", seed, 0)
    _check_whole("tries", tries, 1)
    if theorem.models is not None:
        for model in islice(theorem.models(np.random.default_rng(seed)), int(tries)):
            found = _in_model(theorem, model)
            if found is not None:
                return found
    point = search_points(
        theorem.statement,
        [each.formula for each in theorem.assumptions],
        np.random.default_rng(seed),
        50 * int(tries),
    )
    return None if point is None else _at_point(theorem, point)


def satisfying(theorem: Theorem, *, seed: int = 0, tries: int = 200) -> Model | Point | None:
    """A model or a point in which all assumptions of a theorem hold: they are consistent.

    Parameters
    ----------
    theorem, seed, tries
        As in `search`.

    Returns
    -------
    Model, Point or None
        None when nothing was found, as for a theorem on processes without models.
    """
    _check_whole("seed", seed, 0)
    _check_whole("tries", tries, 1)
    if theorem.models is not None:
        for model in islice(theorem.models(np.random.default_rng(seed)), int(tries)):
            if all(model.holds(each.formula) for each in theorem.assumptions):
                return model
    formulas = [each.formula for each in theorem.assumptions]
    if not all(computable(each) for each in formulas):
        return None
    nowhere = sympy.Ne(sympy.Symbol("_"), sympy.Symbol("_"), evaluate=False)
    return search_points(nowhere, formulas, np.random.default_rng(seed), 50 * int(tries))


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} = {value!r} is not allowed: integer >= {least}")


def _in_model(theorem: Theorem, model: Model) -> Counterexample | None:
    normal = any(each.formula.atoms(StandardNormal) for each in theorem.assumptions)
    # The statement first: most models satisfy it, and facts on laws are slow to check.
    if not model.violates(theorem.statement, NORMAL_MARGIN if normal else MARGIN):
        return None
    if not all(model.holds(each.formula) for each in theorem.assumptions):
        return None
    worst = model.worst(theorem.statement)
    return Counterexample(
        theorem.id,
        theorem.statement,
        worst.relation,
        worst.left,
        worst.right,
        worst.margin,
        worst.at,
        model,
    )


def _at_point(theorem: Theorem, point: Point) -> Counterexample:
    return Counterexample(
        theorem.id,
        theorem.statement,
        point.relation,
        point.left,
        point.right,
        point.margin,
        {str(symbol): value for symbol, value in point.values.items()},
    )
