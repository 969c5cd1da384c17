"""Linearity and monotonicity of expectations, finite sums and integrals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy import Integral, Sum
from sympy.core.relational import Relational

from bounds.operators import E, random_atoms
from bounds.proof.canonical import canonical
from bounds.proof.identity import undefined, vanishes
from bounds.proof.methods import Integrate
from bounds.proof.rational import prove
from bounds.proof.step import Step
from bounds.proof.tools import Outcome
from bounds.proof.wellformed import index_refused, is_real, put_in, range_refused


def linearity(step: Step, premises: Sequence[Any]) -> Outcome:
    """Rule 1: what holds for all indices and in every run, holds for sums, integrals and means."""
    if step.by.over:
        return _monotone(step, premises)
    goal = step.conclusion
    equations = [each for each in premises if isinstance(each, sympy.Eq)]
    missing = undefined([*goal.args, *[each.rhs for each in equations]], premises)
    if missing:
        return Outcome(False, missing)
    if isinstance(goal, sympy.Eq):
        difference = goal.lhs - goal.rhs
        for each in equations:
            difference = put_in(difference, each.lhs, each.rhs)
        return vanishes(difference)
    for each in premises:
        if isinstance(each, Relational) and same_order(each, goal):
            return Outcome(True)
    return Outcome(False, "no premise compares these two sides")


def ordered(relation: Any) -> tuple[Any, Any] | None:
    """The smaller and the larger side."""
    if isinstance(relation, sympy.Le | sympy.Lt | sympy.Eq):
        return relation.args[0], relation.args[1]
    if isinstance(relation, sympy.Ge | sympy.Gt):
        return relation.args[1], relation.args[0]
    return None


def same_order(premise: Any, goal: Any) -> bool:
    """Whether an inequality is the other one, up to linearity."""
    given, wanted = ordered(premise), ordered(goal)
    if given is None or wanted is None or isinstance(goal, sympy.Lt | sympy.Gt | sympy.Eq):
        return False
    return bool(vanishes((given[1] - given[0]) - (wanted[1] - wanted[0])).ok)


def _monotone(step: Step, premises: Sequence[Any]) -> Outcome:
    if not premises:
        return Outcome(False, "monotonicity needs a premise left <= right")
    premise, *others = premises
    guard, relation = _split(premise)
    sides = ordered(relation)
    if sides is None:
        return Outcome(False, "the first premise is no inequality or equation")
    antecedent, goal = _split(step.conclusion)
    for side in sides:
        if not is_real(sympy.sympify(side)):
            return Outcome(False, f"{side} is not known to be real")
    bound = {_range(operator)[0] for operator in step.by.over if operator is not E}
    if antecedent is not None and antecedent.free_symbols & bound:
        # It speaks of one value of an index, the sum runs over all of them.
        return Outcome(False, f"the antecedent {antecedent} is about a bound index")
    given = [*others, *([] if antecedent is None else [antecedent])]
    bounds: list[Any] = []
    for operator in step.by.over:
        refused = operator_refused(operator, given)
        if refused:
            return Outcome(False, refused)
        bounds.extend([] if operator is E else _limits(operator))
    if guard is not None:
        if random_atoms(guard):
            return Outcome(False, f"the guard {guard} is random")
        follows = prove([*given, *bounds], guard, integers=True)
        if not follows.ok:
            follows = prove([*given, *bounds], guard)
        if not follows.ok:
            return Outcome(False, f"the limits do not imply {guard}: {follows.message}")
    small, large = (applied(step.by.over, sympy.sympify(side)) for side in sides)
    weights = [each.weight for each in step.by.over if isinstance(each, Integrate)]
    weighted = any(each != 1 for each in weights)  # a weight could cancel what it divides
    missing = undefined([*weights, *(sides if weighted else ())], [*given, *bounds])
    if missing:
        return Outcome(False, missing)
    if isinstance(goal, sympy.Eq):
        if not isinstance(relation, sympy.Eq):
            return Outcome(False, "an inequality gives no equation")
        left_right = goal.lhs - goal.rhs
        if any(vanishes(left_right - sign * (small - large)).ok for sign in (1, -1)):
            return Outcome(True)
        return Outcome(False, f"what follows is {canonical(small)} = {canonical(large)}")
    if isinstance(goal, sympy.Lt | sympy.Gt):
        return Outcome(False, "only <= follows: a sum may be empty")
    found = same_order(sympy.Le(small, large, evaluate=False), goal)
    if not found and isinstance(relation, sympy.Eq):
        found = same_order(sympy.Le(large, small, evaluate=False), goal)
    if found:
        return Outcome(True)
    return Outcome(False, f"what follows is {canonical(small)} <= {canonical(large)}")


def _split(sentence: Any) -> tuple[Any, Any]:
    if isinstance(sentence, sympy.Implies):
        return sentence.args[0], sentence.args[1]
    return None, sentence


def applied(over: Sequence[Any], inside: Any) -> Any:
    """The operators of `over` around a term, the first one outermost."""
    for operator in reversed(tuple(over)):
        if operator is E:
            inside = E(inside)
        elif isinstance(operator, Integrate):
            limits = (operator.variable, operator.low, operator.high)
            inside = Integral(operator.weight * inside, limits)
        else:
            inside = Sum(inside, tuple(operator))
    return inside


def _range(operator: Any) -> tuple[Any, Any, Any]:
    """What a sum or an integral runs over, from where to where."""
    if isinstance(operator, Integrate):
        return operator.variable, sympy.sympify(operator.low), sympy.sympify(operator.high)
    symbol, low, high = operator
    return symbol, sympy.sympify(low), sympy.sympify(high)


def _limits(operator: Any) -> list[Any]:
    x, low, high = _range(operator)
    return [
        each
        for each in (sympy.Ge(x, low), sympy.Le(x, high))
        if isinstance(each, Relational) and not each.has(sympy.oo, -sympy.oo)
    ]


def operator_refused(operator: Any, given: Sequence[Any]) -> str:
    """Why an operator is not monotone here: a premise must be general in what it runs over."""
    if operator is E:
        return ""
    x, low, high = _range(operator)
    if not isinstance(operator, Integrate):
        return index_refused(x, low, high)
    reason = range_refused(x, low, high)
    if reason:
        return reason
    if not sympy.sympify(operator.weight).is_nonnegative:
        return f"the weight {operator.weight} is not known to be >= 0"
    infinite = {sympy.oo, -sympy.oo} & {low, high}
    if not infinite and not prove(given, sympy.Le(low, high, evaluate=False)).ok:
        return f"{low} <= {high} is not known"
    return "" if not infinite or (low != sympy.oo and high != -sympy.oo) else "empty integral"
