"""A proof step: premises, a conclusion, and the rule that carries one to the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import sympy


class Rule(StrEnum):
    """The decision procedures. A rule that is not here does not exist."""

    SYMPY = "sympy"
    Z3 = "z3"
    BALL = "ball"
    EXPECTATION = "expectation"
    ASSUMED = "assumed"


@dataclass(frozen=True)
class At:
    """An earlier sentence with expressions in place of its indices or variables.

    Attributes
    ----------
    id : str
        Of that sentence.
    values : mapping
        From an index or variable to what takes its place.
    """

    id: str
    values: Mapping[sympy.Basic, sympy.Basic]


@dataclass(frozen=True)
class Cited:
    """Another theorem's statement, with expressions in place of its symbols and processes.

    Each assumption of that theorem, with the same replacements, must be an assumption or an
    earlier conclusion here (structurally), and its proof is replayed too.

    Attributes
    ----------
    theorem : str
        Its id.
    values : mapping
        From a symbol or process to what takes its place.
    """

    theorem: str
    values: Mapping[Any, Any] = field(default_factory=dict)


#: A sentence by its id, or one with replacements, here or of another theorem.
Premise = str | At | Cited


def at(id: str, values: Mapping[Any, Any]) -> At:
    """Premise: sentence `id` for particular indices or variables."""
    return At(id, {key: sympy.sympify(value) for key, value in values.items()})


def cite(theorem: str, values: Mapping[Any, Any] | None = None) -> Cited:
    """Premise: the statement of theorem `theorem`.

    `values` maps parameters to expressions and processes to `sympy.Lambda`.
    """
    return Cited(theorem, dict(values or {}))


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes
    ----------
    id : str
    rule : Rule
    conclusion : sympy.Basic
    premises : tuple of str, At or Cited
    by : object
        What the rule needs to know: see the functions below.
    note : str
        Why, in words; for an assumed step the citation.
    """

    id: str
    rule: Rule
    conclusion: sympy.Basic
    premises: tuple[Premise, ...] = ()
    by: Any = None
    note: str = ""


@dataclass(frozen=True)
class Induction:
    """Prove for 1, then for index + 1 from index.

    The last term of sums is split off. Premises may mention the index only when it is an `Index`:
    they are general in it then, where a parameter is one fixed number.
    """

    index: sympy.Symbol


@dataclass(frozen=True)
class Identity:
    """How an identity is checked.

    `induction`: by induction on an integer symbol. `evaluate`: let SymPy carry out derivatives,
    integrals and finite sums. `substitute`: ``{z: z + c}`` or ``{z: c - z}``, a change of variable
    in the integrals over z on the left. `antiderivative`: ``Lambda(s, F)``, put into the integrals
    over s on the left after F' was compared with what is integrated.
    """

    induction: Induction | None = None
    evaluate: bool = False
    substitute: Mapping[sympy.Symbol, Any] = field(default_factory=dict)
    antiderivative: sympy.Lambda | None = None


@dataclass(frozen=True)
class Arithmetic:
    """How an inequality is checked: `induction`, `integers` (not as reals), z3's `budget`."""

    induction: Induction | None = None
    integers: bool = False
    budget: int = 5_000_000


@dataclass(frozen=True)
class Box:
    """How an enclosure is checked: `budget` counts boxes."""

    budget: int = 20_000


def identity(
    id: str,
    conclusion: Any,
    *premises: Premise,
    induction: Induction | None = None,
    evaluate: bool = False,
    substitute: Mapping[Any, Any] | None = None,
    antiderivative: sympy.Lambda | None = None,
    note: str = "",
) -> Step:
    """Rule ``sympy``: ``Eq(left, right)``, after premises of the form ``Eq`` were put in."""
    how = Identity(induction, evaluate, dict(substitute or {}), antiderivative)
    return Step(id, Rule.SYMPY, conclusion, premises, how, note)


def inequality(
    id: str,
    conclusion: Any,
    *premises: Premise,
    induction: Induction | None = None,
    integers: bool = False,
    note: str = "",
) -> Step:
    """Rule ``z3``: the premises imply the conclusion for all real values of what is in them.

    Whatever is not polynomial (expectations, sums, processes, exponentials) is an unknown number
    with the sign that SymPy knows; square roots, absolute values, Max, Min and floor are exact.
    """
    return Step(id, Rule.Z3, conclusion, premises, Arithmetic(induction, integers), note)


def enclosed(id: str, conclusion: Any, *premises: Premise, note: str = "") -> Step:
    """Rule ``ball``: a strict inequality on a box, by branch and bound in ball arithmetic.

    The conclusion is ``Implies(box, relation)`` or ``relation``; the box is read from inequalities
    between one variable and a number (``x >= 1``) in the antecedent and in the premises. Every
    variable of the relation needs two finite ends.
    """
    return Step(id, Rule.BALL, conclusion, premises, Box(), note)


def expectation(id: str, conclusion: Any, *premises: Premise, by: Any, note: str = "") -> Step:
    """Rule ``expectation``: `by` is one of the five of `bounds.proof.expectation`."""
    return Step(id, Rule.EXPECTATION, conclusion, premises, by, note)


def assumed(id: str, conclusion: Any, *premises: Premise, note: str) -> Step:
    """Rule ``assumed``: nothing is checked; `note` is the citation and shows in every report."""
    return Step(id, Rule.ASSUMED, conclusion, premises, None, note)
