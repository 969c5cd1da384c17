"""Conditional means and independent factors of mean zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from bounds.operators import Conditional, E, Independent, Index, random_atoms
from bounds.proof.canonical import canonical
from bounds.proof.identity import undefined, vanishes
from bounds.proof.step import Step
from bounds.proof.tools import Outcome
from bounds.proof.wellformed import put_in


def tower(step: Step, premises: Sequence[Any]) -> Outcome:
    """Rule 2: a factor may be replaced by its conditional mean."""
    laws = [canonical(each) for each in premises if isinstance(each, Conditional)]
    if not laws:
        return Outcome(False, "no premise Conditional(X, M, past)")
    missing = undefined([each for law in laws for each in law.args[:2]], premises)
    if missing:
        return Outcome(False, missing)
    replacements = [(law.args[0], law.args[1], law.args[2:]) for law in laws]
    return _after_replacement(step, premises, replacements)


def zero_mean(step: Step, premises: Sequence[Any]) -> Outcome:
    """Rule 3: a factor that is independent of the rest may be replaced by its mean."""
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
    put = [each.rhs for each in premises if isinstance(each, sympy.Eq)]
    missing = undefined([*goal.args, *put], premises)
    if missing:
        return Outcome(False, missing)
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
            if all(covered(atom, past, own) for atom in random_atoms(rest)):
                return E(rest * mean)
            return e
        return e if not e.args else e.func(*[visit(each) for each in e.args])

    return visit(expression)


def covered(atom: Any, past: Sequence[Any], own: set[Any]) -> bool:
    """Whether a random quantity is among what is conditioned on, or an instance of it."""
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
