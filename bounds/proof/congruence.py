"""What z3 may know of its unknowns: equal arguments give equal values, and powers are monotone.

Two unknowns such as D(floor(t/s) + 1, j) and D(floor((t - 1)/s) + 1, j), alone or inside an
expectation or a sum, are equal where the arguments in which they differ are equal numbers.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import sympy
from sympy import Integral, Sum
from sympy.core.function import AppliedUndef

from bounds.operators import E, is_random

if TYPE_CHECKING:
    from bounds.proof.z3_terms import Translator

#: A guard against quadratic growth: beyond this many pairs no more is said (proofs only fail).
_MOST_PAIRS = 400


def axioms(translator: Translator) -> list[Any]:
    """Facts on pairs of unknowns that a translator has met."""
    unknowns = [e for e in translator.names if not isinstance(e, sympy.logic.boolalg.Boolean)]
    made: list[Any] = []
    made.extend(_equal_arguments(translator, unknowns))
    made.extend(_powers(translator, [e for e in unknowns if _is_power(e)]))
    made.extend(_increasing(translator, unknowns))
    return made


def _is_power(e: Any) -> bool:
    return bool(e.is_Pow and e.base.is_positive) or isinstance(e, sympy.exp)


def _equal_arguments(translator: Translator, unknowns: list[Any]) -> list[Any]:
    z3 = translator.z3
    kinds = (AppliedUndef, E, Sum, Integral, sympy.log, sympy.floor, sympy.ceiling)
    candidates = [
        e
        for e in unknowns
        if isinstance(e, kinds) and getattr(e.func, "__name__", "") not in translator.reserved
    ]
    made: list[Any] = []
    for first, second in itertools.islice(itertools.combinations(candidates, 2), _MOST_PAIRS):
        if first.func != second.func:
            continue
        pairs = differences(first, second)
        if not pairs:
            continue
        same = [translator.number(p) == translator.number(q) for p, q in pairs]
        made.append(
            z3.Implies(z3.And(*same), translator.number(first) == translator.number(second))
        )
    return made


def differences(first: Any, second: Any) -> list[tuple[Any, Any]] | None:
    """Pairs of numbers which, when equal, make two expressions the same; None when none do."""
    bound = {
        limit[0]
        for e in (first, second)
        for total in e.atoms(Sum, Integral)
        for limit in total.limits
    }
    return _differences(first, second, bound)


def _differences(first: Any, second: Any, bound: set[Any]) -> list[tuple[Any, Any]] | None:
    if first == second:
        return []
    if _is_number(first, bound) and _is_number(second, bound):
        return [(first, second)]
    if first.func != second.func or len(first.args) != len(second.args) or not first.args:
        return None
    found: list[tuple[Any, Any]] = []
    for one, other in zip(first.args, second.args, strict=True):
        inner = _differences(one, other, bound)
        if inner is None:
            return None
        found.extend(inner)
    return found


def _is_number(e: Any, bound: set[Any]) -> bool:
    return (
        isinstance(e, sympy.Expr)
        and not isinstance(e, AppliedUndef | E | Sum | Integral)
        and not is_random(e)
        and not (e.free_symbols & bound)
    )


def _powers(translator: Translator, powers: list[Any]) -> list[Any]:
    """For b > 0: what b**x and b**y have to do with one another, and with 1 and b."""
    z3 = translator.z3
    bases: dict[Any, list[Any]] = {}
    for e in powers:
        base, exponent = e.as_base_exp()
        bases.setdefault(base, []).append(exponent)
    made: list[Any] = []
    for base, exponents in bases.items():
        b = translator.number(base)
        for one, other in itertools.combinations([*exponents, sympy.S.Zero, sympy.S.One], 2):
            if one.is_Rational and other.is_Rational:
                continue
            x, y = translator.number(one), translator.number(other)
            p, q = (translator.number(base**exponent) for exponent in (one, other))
            made.append(z3.Implies(x == y, p == q))
            made.append(z3.Implies(x == y + 1, p == b * q))
            made.append(z3.Implies(y == x + 1, q == b * p))
            made.append(z3.Implies(b < 1, (x <= y) == (p >= q)))
            made.append(z3.Implies(b > 1, (x <= y) == (p <= q)))
            made.append(z3.Implies(b == 1, p == q))
    return made


def _increasing(translator: Translator, unknowns: list[Any]) -> list[Any]:
    """Increasing functions: log, erf, and powers of nonnegative numbers with one exponent > 0."""
    z3 = translator.z3
    made: list[Any] = []
    families: dict[Any, list[tuple[Any, Any]]] = {}
    for e in unknowns:
        if isinstance(e, sympy.log) and e.args[0].is_positive:
            families.setdefault("log", [(sympy.S.One, sympy.S.Zero)]).append((e.args[0], e))
        elif isinstance(e, sympy.erf):
            families.setdefault("erf", [(sympy.S.Zero, sympy.S.Zero)]).append((e.args[0], e))
        elif e.is_Pow and e.exp.is_positive and e.base.is_nonnegative:
            ends = [(sympy.S.Zero, sympy.S.Zero), (sympy.S.One, sympy.S.One)]
            families.setdefault(e.exp, ends).append((e.base, e))
    for values in families.values():
        for (x, p), (y, q) in itertools.combinations(values, 2):
            left, right = translator.number(x), translator.number(y)
            f, g = translator.number(p), translator.number(q)
            made.append((left <= right) == (f <= g))
            made.append((right <= left) == (g <= f))
    return [each for each in made if not z3.is_true(z3.simplify(each))]
