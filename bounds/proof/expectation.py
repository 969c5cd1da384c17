"""Rule ``expectation``: the five trusted rules on expectations, sums and integrals.

What they trust: that the expectations which occur exist (moments are finite), so that E is a
linear and monotone functional; and the five rules themselves. Everything else is matched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
from sympy import Integral, Sum
from sympy.core.relational import Relational

from bounds.operators import Conditional, E, Independent, Index, random_atoms
from bounds.proof.canonical import canonical, refresh, same
from bounds.proof.convexity import curvature
from bounds.proof.identity import vanishes
from bounds.proof.methods import (
    CauchySchwarz,
    Integrate,
    Jensen,
    Linearity,
    Tower,
    ZeroMean,
)
from bounds.proof.rational import prove
from bounds.proof.step import Step
from bounds.proof.tools import Outcome
from bounds.proof.wellformed import is_real, put_in, range_refused


def check(step: Step, premises: Sequence[sympy.Basic]) -> Outcome:
    """Check one step of rule ``expectation``."""
    rules: dict[type, Callable[[Step, Sequence[Any]], Outcome]] = {
        Linearity: _linearity,
        Tower: _tower,
        ZeroMean: _zero_mean,
        Jensen: _jensen,
        CauchySchwarz: _cauchy_schwarz,
    }
    rule = rules.get(type(step.by))
    if rule is None:
        return Outcome(False, f"{step.by!r} is none of the five rules of expectation")
    return rule(step, premises)


# --- 1. linearity


def _linearity(step: Step, premises: Sequence[Any]) -> Outcome:
    if step.by.over:
        return _monotone(step, premises)
    goal = step.conclusion
    equations = [each for each in premises if isinstance(each, sympy.Eq)]
    if isinstance(goal, sympy.Eq):
        difference = goal.lhs - goal.rhs
        for each in equations:
            difference = put_in(difference, each.lhs, each.rhs)
        return vanishes(difference)
    for each in premises:
        if isinstance(each, Relational) and _same_order(each, goal):
            return Outcome(True)
    return Outcome(False, "no premise compares these two sides")


def _ordered(relation: Any) -> tuple[Any, Any] | None:
    """The smaller and the larger side."""
    if isinstance(relation, sympy.Le | sympy.Lt | sympy.Eq):
        return relation.args[0], relation.args[1]
    if isinstance(relation, sympy.Ge | sympy.Gt):
        return relation.args[1], relation.args[0]
    return None


def _same_order(premise: Any, goal: Any) -> bool:
    given, wanted = _ordered(premise), _ordered(goal)
    if given is None or wanted is None or isinstance(goal, sympy.Lt | sympy.Gt | sympy.Eq):
        return False
    return bool(vanishes((given[1] - given[0]) - (wanted[1] - wanted[0])).ok)


def _monotone(step: Step, premises: Sequence[Any]) -> Outcome:
    if not premises:
        return Outcome(False, "monotonicity needs a premise left <= right")
    premise, *others = premises
    guard, relation = _split(premise)
    sides = _ordered(relation)
    if sides is None:
        return Outcome(False, "the first premise is no inequality or equation")
    antecedent, goal = _split(step.conclusion)
    for side in sides:
        if not is_real(sympy.sympify(side)):
            return Outcome(False, f"{side} is not known to be real")
    bound = {symbol for operator in step.by.over for symbol in _bound_by(operator)}
    if antecedent is not None and antecedent.free_symbols & bound:
        # It speaks of one value of an index, the sum runs over all of them.
        return Outcome(False, f"the antecedent {antecedent} is about a bound index")
    given = [*others, *([] if antecedent is None else [antecedent])]
    bounds: list[Any] = []
    for operator in step.by.over:
        refused = _operator_refused(operator, given)
        if refused:
            return Outcome(False, refused)
        bounds.extend(_limits(operator))
    if guard is not None:
        if random_atoms(guard):
            return Outcome(False, f"the guard {guard} is random")
        follows = prove([*given, *bounds], guard, integers=True)
        if not follows.ok:
            follows = prove([*given, *bounds], guard)
        if not follows.ok:
            return Outcome(False, f"the limits do not imply {guard}: {follows.message}")
    small, large = (_applied(step.by.over, side) for side in sides)
    if isinstance(goal, sympy.Eq):
        if not isinstance(relation, sympy.Eq):
            return Outcome(False, "an inequality gives no equation")
        left_right = goal.lhs - goal.rhs
        if any(vanishes(left_right - sign * (small - large)).ok for sign in (1, -1)):
            return Outcome(True)
        return Outcome(False, f"what follows is {canonical(small)} = {canonical(large)}")
    if isinstance(goal, sympy.Lt | sympy.Gt):
        return Outcome(False, "only <= follows: a sum may be empty")
    found = _same_order(sympy.Le(small, large, evaluate=False), goal)
    if not found and isinstance(relation, sympy.Eq):
        found = _same_order(sympy.Le(large, small, evaluate=False), goal)
    if found:
        return Outcome(True)
    return Outcome(False, f"what follows is {canonical(small)} <= {canonical(large)}")


def _split(sentence: Any) -> tuple[Any, Any]:
    if isinstance(sentence, sympy.Implies):
        return sentence.args[0], sentence.args[1]
    return None, sentence


def _applied(over: Sequence[Any], inside: Any) -> Any:
    for operator in reversed(tuple(over)):
        if operator is E:
            inside = E(inside)
        elif isinstance(operator, Integrate):
            limits = (operator.variable, operator.low, operator.high)
            inside = Integral(operator.weight * inside, limits)
        else:
            inside = Sum(inside, tuple(operator))
    return inside


def _bound_by(operator: Any) -> tuple[Any, ...]:
    if operator is E:
        return ()
    return (operator.variable,) if isinstance(operator, Integrate) else (operator[0],)


def _limits(operator: Any) -> list[Any]:
    if operator is E:
        return []
    if isinstance(operator, Integrate):
        x, low, high = operator.variable, operator.low, operator.high
    else:
        x, low, high = operator
    return [
        each
        for each in (sympy.Ge(x, low), sympy.Le(x, high))
        if isinstance(each, Relational) and not each.has(sympy.oo, -sympy.oo)
    ]


def _operator_refused(operator: Any, given: Sequence[Any]) -> str:
    if operator is E:
        return ""
    if isinstance(operator, Integrate):
        x, low, high, weight = operator.variable, operator.low, operator.high, operator.weight
        reason = range_refused(x, sympy.sympify(low), sympy.sympify(high))
        if reason:
            return reason
        if not sympy.sympify(weight).is_nonnegative:
            return f"the weight {weight} is not known to be >= 0"
        infinite = {sympy.oo, -sympy.oo} & {low, high}
        if not infinite and not prove(given, sympy.Le(low, high, evaluate=False)).ok:
            return f"{low} <= {high} is not known"
        return "" if not infinite or (low != sympy.oo and high != -sympy.oo) else "empty integral"
    x, low, _ = operator
    if not isinstance(x, Index):
        return f"{x} is no Index: the premise is not general in it"
    if not sympy.sympify(low).is_positive:
        return f"a sum over the index {x} starts at 1 or later, not at {low}"
    return ""


# --- 2., 3. conditional means and independence


def _tower(step: Step, premises: Sequence[Any]) -> Outcome:
    laws = [canonical(each) for each in premises if isinstance(each, Conditional)]
    if not laws:
        return Outcome(False, "no premise Conditional(X, M, past)")
    replacements = [(law.args[0], law.args[1], law.args[2:]) for law in laws]
    return _after_replacement(step, premises, replacements)


def _zero_mean(step: Step, premises: Sequence[Any]) -> Outcome:
    independent = [canonical(each) for each in premises if isinstance(each, Independent)]
    means = [
        (each.lhs.args[0], each.rhs)
        for each in premises
        if isinstance(each, sympy.Eq) and isinstance(each.lhs, E) and not random_atoms(each.rhs)
    ]
    replacements = [
        (value, mean, law.args[1:])
        for law in independent
        for value, mean in means
        if random_atoms(value) == {law.args[0]}
    ]
    if not replacements:
        return Outcome(False, "no premises Eq(E(X), m) and Independent(Z, ...) with X made of Z")
    return _after_replacement(step, premises, replacements)


def _after_replacement(
    step: Step, premises: Sequence[Any], replacements: Sequence[tuple[Any, Any, Sequence[Any]]]
) -> Outcome:
    goal = step.conclusion
    if not isinstance(goal, sympy.Eq):
        return Outcome(False, "this rule concludes an equation")
    difference = canonical(goal.lhs - goal.rhs)
    for each in premises:
        if isinstance(each, sympy.Eq):
            difference = put_in(difference, each.lhs, each.rhs)
    for value, mean, past in replacements:
        difference = canonical(_conditioned(difference, value, mean, past))
    return vanishes(difference)


def _conditioned(expression: Any, value: Any, mean: Any, past: Sequence[Any]) -> Any:
    """``E(f value)`` as ``E(f mean)`` wherever f is a function of the past."""
    own = value.free_symbols

    def visit(e: Any) -> Any:
        if isinstance(e, E):
            factors = list(sympy.Mul.make_args(e.args[0]))
            for factor in sympy.Mul.make_args(value):
                if factor not in factors:
                    return e
                factors.remove(factor)
            rest = sympy.Mul(*factors)
            if all(_covered(atom, past, own) for atom in random_atoms(rest)):
                return E(rest * mean)
            return e
        return e if not e.args else e.func(*[visit(each) for each in e.args])

    return visit(expression)


def _covered(atom: Any, past: Sequence[Any], own: set[Any]) -> bool:
    return any(_matches(pattern, atom, own) for pattern in past)


def _matches(pattern: Any, atom: Any, own: set[Any]) -> bool:
    """Whether an atom is an instance of a pattern; indices that X does not have are general."""
    if pattern == atom:
        return True
    if pattern.func != atom.func or len(pattern.args) != len(atom.args) or not pattern.args:
        return False
    values: dict[Any, Any] = {}
    for wanted, given in zip(pattern.args, atom.args, strict=True):
        if isinstance(wanted, Index) and wanted not in own:
            if values.setdefault(wanted, given) != given:
                return False
            if not (given.is_integer and given.is_positive):
                return False
        elif wanted != given:
            return False
    return True


# --- 4. Jensen


def _jensen(step: Step, premises: Sequence[Any]) -> Outcome:
    how: Jensen = step.by
    (x,) = how.function.variables
    if not is_real(how.argument):
        return Outcome(False, f"{how.argument} is not known to be real")
    if x.is_integer or x.is_nonpositive or (x.is_nonzero and not x.is_positive):
        return Outcome(False, f"the variable {x} of the function is real, >= 0 or > 0")
    for sign in ("positive", "nonnegative"):
        if getattr(x, f"is_{sign}") and not getattr(how.argument, f"is_{sign}"):
            return Outcome(False, f"{how.argument} is not known to be {sign}, as {x} is")
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
    if _ordered(goal) is not None and _same_order(sympy.Le(small, large, evaluate=False), goal):
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
            if not any(_covered(atom, law.args[2:], own) for law in laws):
                return f"the function depends on {atom}, which is random"
        return ""
    limits = (how.over.variable,) if isinstance(how.over, Integrate) else (how.over[1][0],)
    if set(limits) & how.function.expr.free_symbols:
        return f"the function depends on {limits[0]}, which is averaged over"
    return ""


def _weighted(over: Any, inside: Any) -> Any:
    if isinstance(over, Integrate):
        return _applied((over,), inside)
    weights, limits = over
    return Sum(weights * inside, limits)


def _weights_refused(over: Any, premises: Sequence[Any]) -> str:
    """Why an average is none: its weights must be >= 0 and add up to 1."""
    if isinstance(over, Integrate):
        refused = _operator_refused(over, premises)
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


# --- 5. Cauchy-Schwarz


def _cauchy_schwarz(step: Step, premises: Sequence[Any]) -> Outcome:
    how: CauchySchwarz = step.by
    over = how.over or (E,)
    for factor in (how.first, how.second):
        if not is_real(factor):
            return Outcome(False, f"{factor} is not known to be real")
    for operator in over:
        refused = _operator_refused(operator, premises)
        if refused:
            return Outcome(False, refused)
    product = _applied(over, refresh(how.first * how.second))
    squares = [_applied(over, each**2) for each in (how.first, how.second)]
    forms = [
        (product**2, squares[0] * squares[1]),
        (product, sympy.sqrt(squares[0]) * sympy.sqrt(squares[1])),
        (product, sympy.sqrt(squares[0] * squares[1])),
        (sympy.Abs(product), sympy.sqrt(squares[0]) * sympy.sqrt(squares[1])),
    ]
    for small, large in forms:
        if _same_order(sympy.Le(small, large, evaluate=False), step.conclusion):
            return Outcome(True)
    small, large = forms[0]
    return Outcome(False, f"what follows is {canonical(small)} <= {canonical(large)}")
