"""Rule ``sympy``: an identity, after equations among the premises were put in."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import sympy
from sympy import Integral, Sum
from sympy.core.function import AppliedUndef

from bounds.operators import E, StandardNormal, random_atoms
from bounds.proof.canonical import canonical
from bounds.proof.integrals import gaussian_mean, maybe_empty, not_regular, transformed
from bounds.proof.peeling import induction_refused, peeled
from bounds.proof.quadrature import numerically_nonzero
from bounds.proof.rational import instance, prove
from bounds.proof.step import Identity, Step
from bounds.proof.tools import Outcome
from bounds.proof.wellformed import conditions, put_in

#: Rounds of putting equations in: enough for definitions that stand on definitions.
_ROUNDS = 8
_TRIES = 3


def check(step: Step, premises: Sequence[sympy.Basic]) -> Outcome:
    """Check one step of rule ``sympy``."""
    how = step.by if isinstance(step.by, Identity) else Identity()
    conclusion = step.conclusion
    if not isinstance(conclusion, sympy.Eq):
        return Outcome(False, f"an identity is Eq(left, right), not {conclusion.func.__name__}")
    if how.induction is None:
        return _equal(conclusion, premises, how)
    n = how.induction.index
    refused = induction_refused(n, premises)
    if refused:
        return Outcome(False, refused)
    try:
        early = [peeled(instance(each, n, 1, ())) for each in premises]
        first = peeled(instance(conclusion, n, 1, early))
        given = [*premises, *[instance(each, n, n + 1, premises) for each in premises]]
        grown = peeled(instance(conclusion, n, n + 1, given), n)
    except ValueError as error:
        return Outcome(False, f"induction on {n}: {error}")
    start = _equal(first, early, how)
    if not start.ok:
        return Outcome(False, f"induction, {n} = 1: {start.message}")
    before = peeled(conclusion, n)
    left, right = before.args if isinstance(before, sympy.Eq) else (0, 0)
    if grown in (True, sympy.true):
        return Outcome(True, f"by induction on {n}")
    if grown in (False, sympy.false):
        return Outcome(False, f"induction, from {n} to {n} + 1: the sides differ")
    grown_left, grown_right = grown.args
    difference = sympy.Eq(grown_left - left, grown_right - right, evaluate=False)
    follow = _equal(difference, given, how)
    if not follow.ok:
        return Outcome(False, f"induction, from {n} to {n} + 1: {follow.message}")
    return Outcome(True, f"by induction on {n}")


def _equal(conclusion: Any, premises: Sequence[Any], how: Identity) -> Outcome:
    if conclusion in (True, sympy.true):
        return Outcome(True)
    if conclusion in (False, sympy.false):
        return Outcome(False, "the two sides are different numbers")
    left, right = conclusion.args
    equations = [each for each in premises if isinstance(each, sympy.Eq)]
    normals = {each.args[0] for each in premises if isinstance(each, StandardNormal)}
    try:
        left = transformed(left, how)
    except ValueError as error:
        return Outcome(False, str(error))
    sides = [left, right, *[e.rhs for e in equations]]
    missing = undefined(sides, premises, evaluate=how.evaluate)
    if missing:
        return Outcome(False, missing)
    difference = left - right
    for _ in range(_ROUNDS):
        before = difference
        for each in equations:
            difference = put_in(difference, each.lhs, each.rhs)
        if difference == before:
            break
    if normals:
        difference = difference.replace(
            lambda e: isinstance(e, E) and random_atoms(e.args[0]) in [{z} for z in normals],
            lambda e: gaussian_mean(e.args[0]),
        )
    if how.evaluate:
        witness = (
            maybe_empty(difference)
            or not_regular(difference, premises)
            or numerically_nonzero(difference)
        )
        if witness:
            return Outcome(False, witness)
        difference = difference.doit()
    return vanishes(difference, premises)


def undefined(
    expressions: Sequence[Any], premises: Sequence[Any], *, evaluate: bool = False
) -> str:
    """A condition that SymPy's algebra takes for granted and the premises do not give; or ''."""
    for expression in expressions:
        for condition in conditions(expression):
            carried_out = evaluate and condition.has(Integral) and not not_regular(condition, ())
            if carried_out and sympy.simplify(condition.doit()) == sympy.true:
                continue
            if not prove(premises, condition, budget=1_000_000).ok:
                return f"{condition} is not known, and {expression} needs it"
    return ""


def vanishes(difference: Any, premises: Sequence[Any] = ()) -> Outcome:
    """Whether SymPy shows an expression to be 0; a point where it is not, if there is one."""
    normal = canonical(difference)
    if normal == 0:
        return Outcome(True)
    plain, names = _without_operators(normal)
    witness = _nonzero_at(plain)
    if witness:
        shown = ", ".join(f"{names.get(x, x)} = {value}" for x, value in witness.items())
        return Outcome(False, f"left - right is not 0 at {shown or 'every point'}")
    missing = undefined([normal], premises)
    if missing:
        return Outcome(False, missing)
    for simplified in (
        lambda e: sympy.expand(sympy.numer(sympy.together(e))),
        lambda e: sympy.expand(sympy.powsimp(sympy.expand(e))),
        lambda e: sympy.radsimp(sympy.together(e)),
        sympy.factor,
        sympy.simplify,
        lambda e: sympy.simplify(sympy.expand_func(e)),
    ):
        if simplified(plain) == 0:
            return Outcome(True)
    return Outcome(False, f"SymPy cannot show that this is 0: {normal}")


def _without_operators(expression: Any) -> tuple[Any, dict[Any, Any]]:
    """Sums, expectations and processes as plain symbols: equal ones get equal symbols."""
    found: dict[Any, Any] = {}

    def visit(e: Any) -> Any:
        if isinstance(e, E | Sum | Integral | AppliedUndef | sympy.Derivative | sympy.Limit):
            if e not in found:
                known = {k: v for k, v in (("positive", e.is_positive), ("real", True)) if v}
                found[e] = sympy.Dummy(f"a{len(found)}", **known)
            return found[e]
        return e if not e.args else e.func(*[visit(each) for each in e.args])

    plain = visit(expression)
    return plain, {dummy: e for e, dummy in found.items()}


def _nonzero_at(expression: Any) -> dict[Any, Any]:
    """A point with a value that is certainly not 0, or {} (SymPy's digits, 30 of them)."""
    rng = random.Random(0)
    symbols = sorted(expression.free_symbols, key=str)
    for _ in range(_TRIES):
        point = {symbol: _draw(symbol, rng) for symbol in symbols}
        try:
            value = expression.xreplace(point).evalf(30)
            scale = 1 + sum(
                abs(complex(term.xreplace(point).evalf(15)))
                for term in sympy.Add.make_args(expression)
            )
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            continue
        if (
            value.is_number
            and not value.has(sympy.nan, sympy.zoo, sympy.oo)
            and (abs(complex(value)) > 1e-12 * scale)
        ):
            return point or {sympy.Symbol("value"): value}
    return {}


def _draw(symbol: Any, rng: random.Random) -> Any:
    if symbol.is_integer:
        return sympy.Integer(rng.randint(1, 9))
    value = sympy.Rational(rng.randint(1, 300), 101)
    return value if symbol.is_nonnegative or rng.random() < 0.5 else -value
