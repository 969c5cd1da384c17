"""Integrals in identities: Gaussian means, changes of variable, the fundamental theorem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy import Integral, Sum

from bounds.operators import random_atoms
from bounds.proof.rational import prove
from bounds.proof.step import Identity
from bounds.proof.wellformed import SMOOTH, not_smooth, singular


def gaussian_mean(argument: Any) -> Any:
    """E f(Z), Z standard normal, as integrals; a two-way Piecewise is split where it changes.

    Raises
    ------
    ValueError
        A condition that is not linear in Z with a slope of known sign.
    """
    (z,) = random_atoms(argument)
    x = sympy.Dummy("x", real=True)
    density = sympy.exp(-(x**2) / 2) / sympy.sqrt(2 * sympy.pi)
    total = sympy.S.Zero
    for term in sympy.Add.make_args(sympy.expand(argument.xreplace({z: x}))):
        for part, low, high in _pieces(term, x):
            total += Integral(part * density, (x, low, high))
    return total


def _pieces(term: Any, x: Any) -> list[tuple[Any, Any, Any]]:
    if not term.has(sympy.Piecewise):
        return [(term, -sympy.oo, sympy.oo)]
    folded = sympy.piecewise_fold(term, evaluate=False)
    if (
        not isinstance(folded, sympy.Piecewise)
        or len(folded.args) != 2
        or (folded.args[1][1] != sympy.true)
    ):
        raise ValueError(f"not a choice between two cases: {term}")
    (first, condition), (second, _) = folded.args
    end, above = _boundary(condition, x)
    on = (end, sympy.oo) if above else (-sympy.oo, end)
    off = (-sympy.oo, end) if above else (end, sympy.oo)
    return [(part, *ends) for part, ends in ((first, on), (second, off)) if part != 0]


def _boundary(condition: Any, x: Any) -> tuple[Any, bool]:
    """Where a condition linear in x changes, and whether it holds above."""
    if not isinstance(condition, sympy.Lt | sympy.Le | sympy.Gt | sympy.Ge):
        raise ValueError(f"the condition {condition} is no inequality")
    difference = sympy.expand(condition.args[0] - condition.args[1])
    slope = difference.coeff(x, 1)
    rest = sympy.expand(difference - slope * x)
    if x in rest.free_symbols or not (slope.is_positive or slope.is_negative):
        raise ValueError(f"the condition {condition} is not linear with a slope of known sign")
    above = isinstance(condition, sympy.Gt | sympy.Ge) == bool(slope.is_positive)
    return -rest / slope, above


def not_regular(expression: Any, premises: Sequence[Any]) -> str:
    """Why SymPy must not integrate: it goes across poles. Empty when there are none.

    Every base of a negative or fractional power and every argument of a logarithm in an integrand
    is shown by z3 to keep its sign between the limits.
    """
    for derivative in expression.atoms(sympy.Derivative):
        for x, _ in derivative.variable_count:
            rough = not_smooth(derivative.expr, x)
            if rough:
                return rough
    for integral in expression.atoms(Integral):
        if len(integral.limits) != 1 or len(integral.limits[0]) != 3:
            return f"SymPy is asked for single integrals between limits, not {integral}"
        x, low, high = integral.limits[0]
        ends = [
            sympy.And(*[each for each in order if not each.has(sympy.oo, -sympy.oo)])
            for order in (
                (sympy.Le(low, x, evaluate=False), sympy.Le(x, high, evaluate=False)),
                (sympy.Le(high, x, evaluate=False), sympy.Le(x, low, evaluate=False)),
            )
        ]
        inside = ends[0] if {low, high} & {sympy.oo, -sympy.oo} else sympy.Or(*ends)
        rough = not_smooth(integral.function, x, kinks=True)
        if rough:
            return rough
        for base in singular(integral.function, x):
            goal = sympy.Gt(base, 0, evaluate=False)
            if base.is_positive or prove([*premises, inside], goal).ok:
                continue
            return f"{base} may be 0 between the limits of {integral}"
    return ""


def maybe_empty(expression: Any) -> str:
    """Why SymPy must not sum: for it a sum from 1 to -2 is negative, here it is 0."""
    for total in expression.atoms(Sum):
        for _, low, high in total.limits:
            if not sympy.expand(high - low + 1).is_nonnegative:
                return f"{high} >= {low} - 1 is not known in {total}"
    return ""


def transformed(expression: Any, how: Identity) -> Any:
    """The left side after the change of variable and the antiderivative that a step names.

    Raises
    ------
    ValueError
        A change of variable that is not ``z + c`` or ``c - z``; a wrong antiderivative.
    """
    for symbol, image in how.substitute.items():
        expression = _changed(expression, symbol, sympy.sympify(image))
    if how.antiderivative is not None:
        expression = _fundamental(expression, how.antiderivative)
    return expression


def _changed(expression: Any, symbol: Any, image: Any) -> Any:
    slope = sympy.expand(image).coeff(symbol, 1)
    shift = sympy.expand(image - slope * symbol)
    if abs(slope) != 1 or symbol in shift.free_symbols:
        raise ValueError(f"{symbol} -> {image} is no shift and no reflection")

    def change(total: Any) -> Any:
        if len(total.limits) != 1 or total.limits[0][0] != symbol:
            return total
        _, low, high = total.limits[0]
        ends = [(end - shift) / slope for end in (low, high)]
        if slope == -1:
            ends.reverse()
        return Integral(total.function.subs(symbol, image), (symbol, *ends))

    return expression.replace(lambda e: isinstance(e, Integral), change)


def _fundamental(expression: Any, antiderivative: Any) -> Any:
    from bounds.proof.identity import vanishes

    (s,) = antiderivative.variables
    _check_smooth(antiderivative.expr, s)

    def carry_out(total: Any) -> Any:
        if len(total.limits) != 1 or total.limits[0][0] != s:
            return total
        _, low, high = total.limits[0]
        difference = sympy.diff(antiderivative.expr, s) - total.function
        outcome = vanishes(difference)
        if not outcome.ok:
            raise ValueError(f"the antiderivative is wrong: {outcome.message}")
        return antiderivative(high) - antiderivative(low)

    return expression.replace(lambda e: isinstance(e, Integral), carry_out)


def _check_smooth(e: Any, s: Any) -> None:
    if s not in e.free_symbols or e == s:
        return
    # A power or logarithm is smooth where its base is positive, whatever its symbols are.
    if e.is_Pow:
        whole = e.exp.is_Integer and e.exp > 0
        smooth = whole or (e.base.is_positive and s not in e.exp.free_symbols)
    elif isinstance(e, sympy.log):
        smooth = bool(e.args[0].is_positive)
    else:
        smooth = isinstance(e, SMOOTH)
    if not smooth:
        raise ValueError(f"{e} is not known to be smooth in {s}")
    for each in e.args:
        _check_smooth(each, s)
