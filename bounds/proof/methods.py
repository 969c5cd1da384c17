"""The five trusted rules of expectation, as what a step says; `expectation.py` checks them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy


@dataclass(frozen=True)
class Linearity:
    """Rule 1. Expectations, finite sums and weighted integrals are linear and positive.

    Without `over`: the conclusion is ``Eq(left, right)`` (or ``<=``) whose two sides are the same
    (or what a premise compares) once expectations and sums are distributed over terms and fixed
    factors are taken out.

    With `over` = a tuple of operators from the outside in, such as ``(SUM_T, E, SUM_J)`` (`E`
    itself, or limits ``(t, 1, T)`` of a sum): one premise ``left <= right``, general in the
    indices, gives ``op(left) <= op(right)``. A premise ``Implies(guard, left <= right)`` is
    accepted when the limits of the sums imply the guard.
    """

    over: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Tower:
    """Rule 2. ``E(f X) = E(f M)`` when ``Conditional(X, M, past)`` is a premise.

    f is a function of the past. The conclusion is an equality of the two, after linearity.
    """


@dataclass(frozen=True)
class ZeroMean:
    """Rule 3. ``E(f X) = 0`` when X has mean zero and is independent of what f is made of.

    Premises: ``Eq(E(X), 0)`` (or ``Eq(E(X), m)``: then ``E(f X) = m E(f)``, X - m has mean zero)
    and ``Independent(Z, ...)`` where X is a function of Z alone.
    """


@dataclass(frozen=True)
class Jensen:
    """Rule 4. ``phi(E X) <= E phi(X)`` for convex phi (``>=`` for concave).

    `function` is ``Lambda(x, phi(x))``, `argument` is X, `over` the averaging operator: ``E``
    (default), or an average: ``(weights, (t, 1, T))`` with a premise
    ``Eq(Sum(weights, (t, 1, T)), 1)``, or an `Integrate` over a weight with integral 1. With a
    premise ``Conditional(X, M, past)`` and no `over` the conclusion is ``E phi(M) <= E phi(X)``.
    Convexity is checked: by SymPy's second derivative and z3,
    or phi is a sum of known convex functions (|x|, Max, even powers, exp, -sqrt, |x|**p, p >= 1).
    """

    function: sympy.Lambda
    argument: Any
    over: Any = None


@dataclass(frozen=True)
class CauchySchwarz:
    """Rule 5. ``op(X Y)**2 <= op(X**2) op(Y**2)``; `over` as in `Linearity`.

    The conclusion is that inequality, or with square roots
    ``op(X Y) <= sqrt(op(X**2)) sqrt(op(Y**2))``.

    Attributes
    ----------
    first, second : expression
        X and Y.
    over : tuple
        The operators op, as in `Linearity`.
    """

    first: Any
    second: Any
    over: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Integrate:
    """An integral as an element of `over`: ``weight * (...)`` from `low` to `high` in `variable`.

    The weight must be nonnegative for SymPy. With `low <= high` not known, the conclusion has it
    as its antecedent.
    """

    variable: Any
    low: Any
    high: Any
    weight: Any = sympy.S.One
