"""A normal form for expectations, finite sums and integrals: the linearity that all rules share.

Terms are expanded, expectations and sums distributed over them, fixed factors taken out, and
summation indices given standard names and a standard order. Two expressions that differ only by
linearity and by the names of bound indices have one normal form.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from sympy import Add, Integral, Mul, Pow, Sum
from sympy.logic.boolalg import Boolean, BooleanFunction

from bounds.operators import (
    SIGNS,
    Conditional,
    E,
    Independent,
    Index,
    Max,
    Min,
    Variable,
    is_random,
)

#: Beginnings of the names that the normal form gives; no sentence may use them.
RESERVED = ("bound_", "fresh_")
_BOUND = "bound_{}"
#: SymPy's own Max and Min mean the same.
_PLAIN = {sympy.Max: Max, sympy.Min: Min}
#: A product of more sums than this is left as it is.
_MOST_LIMITS = 5


def canonical(expression: Any) -> Any:
    """The normal form of an expression or, side by side, of a sentence."""
    return _canonical(sympy.sympify(expression))


@functools.lru_cache(maxsize=50_000)
def _canonical(expression: sympy.Basic) -> sympy.Basic:
    if isinstance(expression, sympy.core.relational.Relational):
        left, right = (_canonical(side) for side in expression.args)
        return expression.func(left, right, evaluate=False)
    if isinstance(expression, Boolean | BooleanFunction):
        if not expression.args:
            return expression
        parts = [_canonical(each) for each in expression.args]
        if isinstance(expression, Independent | Conditional):
            # What is fixed says nothing about the past.
            given = 1 if isinstance(expression, Independent) else 2
            parts = [*parts[:given], *[each for each in parts[given:] if is_random(each)]]
        return expression.func(*parts, evaluate=False)
    if not expression.args:
        return expression
    if isinstance(expression, E):
        return _mean(_canonical(expression.args[0]))
    if isinstance(expression, Sum | Integral):
        return _total(expression)
    kind = _PLAIN.get(expression.func, expression.func)
    rebuilt = kind(*[_canonical(each) for each in expression.args])
    return _expand(rebuilt)


def _expand(expression: sympy.Basic) -> sympy.Basic:
    if not isinstance(expression, Add | Mul | Pow | sympy.exp | sympy.log):
        return expression
    # Sums and expectations are atoms here: SymPy would spend its time inside them.
    atoms = {each: sympy.Dummy(f"a{n}", real=True) for n, each in enumerate(_opaque(expression))}
    expanded = sympy.expand(expression.xreplace(atoms))
    return expanded.xreplace({dummy: each for each, dummy in atoms.items()})


def _opaque(expression: sympy.Basic) -> list[sympy.Basic]:
    found: list[sympy.Basic] = []
    stack = [expression]
    while stack:
        here = stack.pop()
        if isinstance(here, E | Sum | Integral):
            if here not in found:
                found.append(here)
        else:
            stack.extend(here.args)
    return found


def _terms(expression: sympy.Basic) -> tuple[sympy.Basic, ...]:
    return tuple(Add.make_args(_expand(expression)))


def _mean(argument: sympy.Basic) -> sympy.Basic:
    total: list[sympy.Basic] = []
    for term in _terms(argument):
        fixed: list[sympy.Basic] = []
        random: list[sympy.Basic] = []
        for factor in Mul.make_args(term):
            (random if is_random(factor) else fixed).append(factor)
        total.append(Mul(*fixed, _mean_of_product(random)))
    return _expand(Add(*total))


def _mean_of_product(factors: list[sympy.Basic]) -> sympy.Basic:
    sums: list[sympy.Basic] = []
    rest: list[sympy.Basic] = []
    for factor in factors:
        base, power = factor.as_base_exp()
        fixed = isinstance(base, Sum) and not any(is_random(limit) for limit in base.limits)
        if fixed and power.is_Integer and 1 <= power <= 2:
            sums.extend([base] * int(power))
        else:
            rest.append(factor)
    if not sums:
        return _mean_of_integral(rest)
    if sum(len(each.limits) for each in sums) > _MOST_LIMITS:
        return E(Mul(*factors))
    inner: sympy.Basic = Mul(*rest)
    limits: list[tuple[Any, ...]] = []
    for each in sums:
        renamed = fresh(each)
        inner = inner * renamed.function
        limits.extend(tuple(limit) for limit in renamed.limits)
    return _total(Sum(_mean(_canonical(inner)), *limits))


def _mean_of_integral(factors: list[sympy.Basic]) -> sympy.Basic:
    """Fubini: the expectation of an integral between fixed limits is taken inside."""
    for place, factor in enumerate(factors):
        if isinstance(factor, Integral) and not any(is_random(each) for each in factor.limits):
            renamed = fresh(factor)
            others = [*factors[:place], *factors[place + 1 :]]
            inner = _canonical(Mul(*others, renamed.function))
            return _total(Integral(_mean(inner), *renamed.limits))
    return E(Mul(*factors)) if factors else sympy.S.One


def fresh(expression: sympy.Basic) -> sympy.Basic:
    """The same sum or integral with bound names that occur nowhere else."""
    function = expression.function
    limits: list[tuple[Any, ...]] = []
    for limit in expression.limits:
        dummy = _fresh_symbol(limit[0])
        function = function.xreplace({limit[0]: dummy})
        limits = [(old[0], *[end.xreplace({limit[0]: dummy}) for end in old[1:]]) for old in limits]
        limits.append((dummy, *limit[1:]))
    return expression.func(function, *limits)


_COUNTER = itertools.count()


def _fresh_symbol(symbol: sympy.Symbol) -> sympy.Symbol:
    name = f"fresh_{next(_COUNTER)}"
    if isinstance(symbol, Index):
        return Index(name)
    signs = {sign: True for sign in SIGNS if getattr(symbol, f"is_{sign}")}
    kind = Variable if isinstance(symbol, Variable) else sympy.Symbol
    return kind(name, **signs)


def rebuilt(expression: Any, arguments: Sequence[Any]) -> Any:
    """The same operation on other arguments; relations are not decided on the way."""
    if isinstance(expression, sympy.core.relational.Relational | BooleanFunction):
        return expression.func(*arguments, evaluate=False)
    return expression.func(*arguments)


def substituted(expression: Any, values: Mapping[Any, Any]) -> Any:
    """`values` in place of their keys, without deciding relations (as `xreplace` would)."""
    found = values.get(expression)
    if found is not None:
        return found
    if not expression.args:
        return expression
    arguments = [substituted(each, values) for each in expression.args]
    if all(new is old for new, old in zip(arguments, expression.args, strict=True)):
        return expression
    return rebuilt(expression, arguments)


def refresh(expression: Any) -> Any:
    """Every bound index renamed, so that replacing free symbols can capture nothing."""
    if not expression.args:
        return expression
    if isinstance(expression, Sum | Integral):
        limits = [(limit[0], *[refresh(end) for end in limit[1:]]) for limit in expression.limits]
        return fresh(expression.func(refresh(expression.function), *limits))
    arguments = [refresh(each) for each in expression.args]
    if all(new is old for new, old in zip(arguments, expression.args, strict=True)):
        return expression
    return rebuilt(expression, arguments)


def _total(expression: sympy.Basic) -> sympy.Basic:
    kind = expression.func
    expression = fresh(expression)
    limits = [(limit[0], *[_canonical(end) for end in limit[1:]]) for limit in expression.limits]
    function = _canonical(expression.function)
    if any(len(limit) != 3 for limit in limits):
        return kind(function, *limits)
    if kind is Sum:
        for limit in limits:
            function, limits = _from_one(function, limits, limit)
    total: list[sympy.Basic] = []
    for term in _terms(function):
        total.append(_total_of_product(kind, term, limits))
    return _expand(Add(*total))


def _from_one(
    function: sympy.Basic, limits: list[tuple[Any, ...]], limit: tuple[Any, ...]
) -> tuple[sympy.Basic, list[tuple[Any, ...]]]:
    """Sums from a number other than 1 start at 1: ``sum_{t=2}^T f(t) = sum_{t=1}^{T-1} f(t+1)``."""
    symbol, low, high = limit
    if not low.is_Integer or low == 1:
        return function, limits
    shift = {symbol: symbol + low - 1}
    moved = [
        (symbol, sympy.S.One, _expand(high - low + 1))
        if each[0] == symbol
        else (each[0], *[_canonical(end.xreplace(shift)) for end in each[1:]])
        for each in limits
    ]
    return _canonical(function.xreplace(shift)), moved


def _total_of_product(kind: Any, term: sympy.Basic, limits: list[tuple[Any, ...]]) -> sympy.Basic:
    factors = list(Mul.make_args(term))
    if kind is Sum:
        factors, limits = _flatten(factors, limits)
    # The innermost limit comes first. What does not depend on it is taken out, outwards.
    outside: list[sympy.Basic] = []
    kept: list[tuple[Any, ...]] = []
    for place, (symbol, low, high) in enumerate(limits):
        later = {name for limit in limits[:place] for end in limit[1:] for name in end.free_symbols}
        used = symbol in later or any(symbol in factor.free_symbols for factor in factors)
        if used:
            kept.append((symbol, low, high))
        else:
            count = _canonical(high - low + 1 if kind is Sum else high - low)
            if kind is Sum and not count.is_nonnegative:
                count = Max(count, 0)  # a sum without terms is 0, never negative
            factors.append(count)
    bound = {limit[0] for limit in kept}
    inside: list[sympy.Basic] = []
    for factor in factors:
        (inside if factor.free_symbols & bound else outside).append(factor)
    if not kept:
        return Mul(*outside)
    return Mul(*outside, _standard(kind, Mul(*inside), kept))


def _flatten(
    factors: list[sympy.Basic], limits: list[tuple[Any, ...]]
) -> tuple[list[sympy.Basic], list[tuple[Any, ...]]]:
    """A sum among the factors of a summand becomes inner limits of the whole sum."""
    flat: list[sympy.Basic] = []
    inner: list[tuple[Any, ...]] = []
    bound = {limit[0] for limit in limits}
    for factor in factors:
        base, power = factor.as_base_exp()
        depends = bool(factor.free_symbols & bound)
        small = power.is_Integer and 1 <= power <= 2
        if isinstance(base, Sum) and small and depends:
            copies = [fresh(base) for _ in range(int(power))]
            if len(limits) + len(inner) + sum(len(c.limits) for c in copies) <= _MOST_LIMITS:
                for copy in copies:
                    flat.extend(Mul.make_args(copy.function))
                    inner.extend(tuple(limit) for limit in copy.limits)
                continue
        flat.append(factor)
    return flat, [*inner, *limits]


def _standard(kind: Any, function: sympy.Basic, limits: list[tuple[Any, ...]]) -> sympy.Basic:
    """Standard names and, where limits do not depend on one another, a standard order."""
    symbols = {limit[0] for limit in limits}
    free = not any(end.free_symbols & symbols for limit in limits for end in limit[1:])
    orders = itertools.permutations(limits) if free and len(limits) > 1 else [tuple(limits)]
    # Sums inside that stay as they are (under a root) have names already: these come after.
    inside = [function, *[end for limit in limits for end in limit[1:]]]
    first = 1 + max(_depth(each) for each in inside)
    candidates = []
    for order in orders:
        places = enumerate(order, start=first)
        names = {limit[0]: _bound(limit[0], place) for place, limit in places}
        made = kind(
            function.xreplace(names),
            *[(names[s], *[end.xreplace(names) for end in ends]) for s, *ends in order],
        )
        candidates.append(made)
    if len(candidates) == 1:
        return candidates[0]
    return min(candidates, key=lambda each: sympy.default_sort_key(each))


def _depth(expression: sympy.Basic) -> int:
    """The largest number of a bound name in an expression."""
    prefix = _BOUND.format("")
    return max(
        (
            int(symbol.name[len(prefix) :])
            for symbol in expression.atoms(sympy.Symbol)
            if symbol.name.startswith(prefix)
        ),
        default=0,
    )


def _bound(symbol: sympy.Symbol, place: int) -> sympy.Symbol:
    name = _BOUND.format(place)
    if isinstance(symbol, Index):
        return Index(name)
    return sympy.Symbol(name, **symbol.assumptions0)


def same(left: Any, right: Any) -> bool:
    """Whether two expressions or sentences have one normal form."""
    return bool(canonical(left) == canonical(right))
