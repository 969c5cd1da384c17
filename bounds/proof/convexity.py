"""Whether a function of one variable is convex or concave: what Jensen's inequality asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from bounds.proof.rational import prove
from bounds.proof.wellformed import condition_of, not_smooth


def curvature(expression: Any, x: sympy.Symbol, premises: Sequence[Any] = ()) -> str | None:
    """``"convex"``, ``"concave"`` or None when neither is seen.

    Sums and multiples by numbers of known sign, Max of convex and Min of concave functions,
    ``|affine|**p`` and ``Max(convex, 0)**p`` with p >= 1 (from the premises where p is a symbol);
    otherwise the sign of the second derivative, by z3. An affine function counts as convex.
    """
    # A name of its own, so that no premise on a parameter is taken for one on the variable.
    known = {name: True for name in ("positive", "nonnegative") if getattr(x, f"is_{name}")}
    fresh = sympy.Dummy("x", real=True, **known)
    sign = _sign(sympy.sympify(expression).xreplace({x: fresh}), fresh, premises)
    return {1: "convex", 0: "convex", -1: "concave", None: None}[sign]


def _sign(e: Any, x: sympy.Symbol, premises: Sequence[Any]) -> int | None:
    """1 convex, -1 concave, 0 affine."""
    if x not in e.free_symbols:
        return 0
    if e == x:
        return 0
    if e.is_Add:
        return _common([_sign(each, x, premises) for each in e.args])
    if e.is_Mul:
        factor, rest = e.as_independent(x)
        if factor == 1:
            return _by_derivative(e, x, premises)
        inner = _sign(rest, x, premises)
        if inner is None or inner == 0:
            return inner
        if factor.is_nonnegative:
            return inner
        return -inner if factor.is_nonpositive else None
    if isinstance(e, sympy.Max):
        signs = [_sign(each, x, premises) for each in e.args]
        return 1 if all(sign in (0, 1) for sign in signs) else None
    if isinstance(e, sympy.Min):
        signs = [_sign(each, x, premises) for each in e.args]
        return -1 if all(sign in (0, -1) for sign in signs) else None
    if isinstance(e, sympy.Abs):
        return 1 if _sign(e.args[0], x, premises) == 0 else None
    if e.is_Pow and x not in e.exp.free_symbols and _at_least_one(e.exp, premises):
        base = e.base
        of_affine = isinstance(base, sympy.Abs) and _sign(base, x, premises) == 1
        of_part = (
            isinstance(base, sympy.Max)
            and any(each.is_nonnegative for each in base.args)
            and _sign(base, x, premises) == 1
        )
        if of_affine or of_part:
            return 1
    return _by_derivative(e, x, premises)


def _common(signs: list[int | None]) -> int | None:
    bent = {sign for sign in signs if sign != 0}
    if not bent:
        return 0
    return bent.pop() if len(bent) == 1 else None


def _at_least_one(exponent: Any, premises: Sequence[Any]) -> bool:
    return bool(prove(list(premises), sympy.Ge(exponent, 1, evaluate=False)).ok)


def _by_derivative(e: Any, x: sympy.Symbol, premises: Sequence[Any]) -> int | None:
    if not_smooth(e, x):
        return None  # no second derivative everywhere
    if any(condition_of(each) is not None for each in e.atoms(sympy.Pow, sympy.log)):
        return None  # a pole, or values that are not real
    second = sympy.simplify(sympy.diff(e, x, 2))
    if second == 0:
        return 0
    if second.is_nonnegative or prove(list(premises), sympy.Ge(second, 0, evaluate=False)).ok:
        return 1
    if second.is_nonpositive or prove(list(premises), sympy.Le(second, 0, evaluate=False)).ok:
        return -1
    return None
