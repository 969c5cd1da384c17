"""The inequalities of Jensen and of Cauchy and Schwarz."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sympy
from sympy import Sum

from bounds.operators import Conditional, E, random_atoms
from bounds.proof.canonical import canonical, refresh, same
from bounds.proof.conditioning import covered
from bounds.proof.convexity import curvature
from bounds.proof.identity import undefined, vanishes
from bounds.proof.linearity import applied, operator_refused, ordered, same_order
from bounds.proof.methods import Integrate, Jensen
from bounds.proof.step import Step
from bounds.proof.tools import Outcome
from bounds.proof.wellformed import is_real


def jensen(step: Step, premises: Sequence[Any]) -> Outcome:
    """Rule 4: phi of a mean and the mean of phi."""
    how = replace(step.by, argument=sympy.sympify(step.by.argument))
    (x,) = how.function.variables
    if not is_real(how.argument):
        return Outcome(False, f"{how.argument} is not known to be real")
    if x.is_integer or x.is_nonpositive or (x.is_nonzero and not x.is_positive):
        return Outcome(False, f"the variable {x} of the function is real, >= 0 or > 0")
    for sign in ("positive", "nonnegative"):
        if getattr(x, f"is_{sign}") and not getattr(how.argument, f"is_{sign}"):
            return Outcome(False, f"{how.argument} is not known to be {sign}, as {x} is")
    at_argument = how.function(how.argument)
    missing = undefined([how.argument, how.function.expr, at_argument], premises)
    if missing and undefined([how.argument, at_argument], premises):
        return Outcome(False, missing)
    refused = _function_refused(how, premises)
    if refused:
        return Outcome(False, refused)
    shape = curvature(how.function.expr, x, premises)
    if shape is None:
        return Outcome(False, f"{how.function.expr} is not seen to be convex or concave in {x}")
    laws = [each for each in premises if isinstance(each, Conditional)]
    if how.over is None and laws:
        inner = next((law.args[1] for law in laws if law.args[0] == how.argument), None)
        if inner is None:
            return Outcome(False, f"no premise Conditional({how.argument}, M, past)")
        outside, inside = E(how.function(inner)), E(how.function(how.argument))
    elif how.over in (None, E):
        outside, inside = how.function(E(how.argument)), E(how.function(how.argument))
    else:
        refused = _weights_refused(how.over, premises)
        if refused:
            return Outcome(False, refused)
        outside = how.function(_weighted(how.over, how.argument))
        inside = _weighted(how.over, how.function(how.argument))
    small, large = (outside, inside) if shape == "convex" else (inside, outside)
    goal = step.conclusion
    if ordered(goal) is not None and same_order(sympy.Le(small, large, evaluate=False), goal):
        return Outcome(True)
    return Outcome(False, f"what follows is {canonical(small)} <= {canonical(large)}")


def _function_refused(how: Jensen, premises: Sequence[Any]) -> str:
    """Why phi is not one fixed function where it is averaged."""
    (x,) = how.function.variables
    extra = random_atoms(how.function.expr) - {x}
    if how.over in (None, E):
        laws = [
            law
            for law in premises
            if isinstance(law, Conditional) and law.args[0] == how.argument and how.over is None
        ]
        for atom in extra:
            own = how.argument.free_symbols
            if not any(covered(atom, law.args[2:], own) for law in laws):
                return f"the function depends on {atom}, which is random"
        return ""
    limits = (how.over.variable,) if isinstance(how.over, Integrate) else (how.over[1][0],)
    if set(limits) & how.function.expr.free_symbols:
        return f"the function depends on {limits[0]}, which is averaged over"
    return ""


def _weighted(over: Any, inside: Any) -> Any:
    if isinstance(over, Integrate):
        return applied((over,), inside)
    weights, limits = over
    return Sum(weights * inside, limits)


def _weights_refused(over: Any, premises: Sequence[Any]) -> str:
    """Why an average is none: its weights must be >= 0 and add up to 1."""
    if isinstance(over, Integrate):
        refused = operator_refused(over, premises)
        if refused:
            return refused
        total = _weighted(over, sympy.S.One)
        known = vanishes(total.doit() - 1).ok
        weight = over.weight
    else:
        weight, limits = over
        total = Sum(weight, limits)
        known = bool(vanishes(total - 1).ok)
    if not sympy.sympify(weight).is_nonnegative:
        return f"the weight {weight} is not known to be >= 0"
    unit = sympy.Eq(total, 1, evaluate=False)
    if known or any(same(each, unit) for each in premises if isinstance(each, sympy.Eq)):
        return ""
    return f"no premise says that the weights {weight} add up to 1"


def cauchy_schwarz(step: Step, premises: Sequence[Any]) -> Outcome:
    """Rule 5: the mean of a product and the means of the squares."""
    first, second = sympy.sympify(step.by.first), sympy.sympify(step.by.second)
    how = replace(step.by, first=first, second=second)
    over = how.over or (E,)
    for factor in (how.first, how.second):
        if not is_real(factor):
            return Outcome(False, f"{factor} is not known to be real")
    weights = [each.weight for each in over if isinstance(each, Integrate)]
    missing = undefined([how.first, how.second, *weights], premises)
    if missing:
        return Outcome(False, missing)
    for operator in over:
        refused = operator_refused(operator, premises)
        if refused:
            return Outcome(False, refused)
    product = applied(over, refresh(how.first * how.second))
    squares = [applied(over, each**2) for each in (how.first, how.second)]
    forms = [
        (product**2, squares[0] * squares[1]),
        (product, sympy.sqrt(squares[0]) * sympy.sqrt(squares[1])),
        (product, sympy.sqrt(squares[0] * squares[1])),
        (sympy.Abs(product), sympy.sqrt(squares[0]) * sympy.sqrt(squares[1])),
    ]
    for small, large in forms:
        if same_order(sympy.Le(small, large, evaluate=False), step.conclusion):
            return Outcome(True)
    small, large = forms[0]
    return Outcome(False, f"what follows is {canonical(small)} <= {canonical(large)}")
