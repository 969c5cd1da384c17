"""What a sentence may look like, and where its terms are defined.

SymPy cancels ``x/x``, integrates through poles and squares roots of negative numbers without
asking. The rules are sound on sentences that pass here, and for instances that carry the
conditions listed here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import sympy
from sympy import Integral, Sum
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational
from sympy.functions.elementary.piecewise import ExprCondPair

from bounds.operators import E, Index, Variable, is_random
from bounds.proof.canonical import RESERVED, rebuilt

#: Functions that are smooth wherever their arguments are what `conditions` asks.
SMOOTH = (
    sympy.Add,
    sympy.Mul,
    sympy.Pow,
    sympy.exp,
    sympy.log,
    sympy.erf,
    sympy.erfc,
    sympy.sin,
    sympy.cos,
    sympy.sinh,
    sympy.cosh,
    sympy.tanh,
)


@functools.lru_cache(maxsize=20_000)
def refused(sentence: Any) -> str:
    """Why no rule may read a sentence; empty when it may."""
    for e in sympy.preorder_traversal(sentence):
        if isinstance(e, Sum):
            reason = _sum_refused(e)
        elif isinstance(e, Integral):
            reason = _integral_refused(e)
        else:
            continue
        if reason:
            return reason
    return ""


def name_refused(sentence: Any) -> str:
    """Why a sentence's names could be mistaken for those that the normal form gives."""
    for symbol in sentence.atoms(sympy.Symbol):
        if symbol.name.startswith(RESERVED):
            return f"the name {symbol.name} belongs to the normal form"
    return ""


def _sum_refused(total: Any) -> str:
    for limit in total.limits:
        if len(limit) != 3:
            return f"a sum has two limits: {total}"
        symbol, low, high = limit
        if not isinstance(symbol, Index):
            return f"the index {symbol} of a sum is no Index"
        if low.has(sympy.oo) or high.has(sympy.oo):
            return f"only finite sums are linear: {total}"
        if not (low.is_integer and low.is_positive):
            return f"a sum over the index {symbol} starts at 1 or later, not at {low}"
        if not high.is_integer:
            return f"the limit {high} of a sum is not known to be an integer"
    return ""


def _integral_refused(integral: Any) -> str:
    for limit in integral.limits:
        if len(limit) != 3:
            return f"an integral has two limits: {integral}"
        reason = range_refused(*limit)
        if reason:
            return reason
    return ""


def range_refused(symbol: Any, low: Any, high: Any) -> str:
    """Why a symbol cannot run from `low` to `high`: its sign says otherwise."""
    if not isinstance(symbol, Variable | sympy.Dummy) or symbol.is_integer:
        return f"{symbol} is no real Variable: it cannot be integrated over"
    if symbol.is_nonpositive or (symbol.is_nonzero and not symbol.is_positive):
        return f"integrals run over real or positive variables, not over {symbol}"
    ends = (low, high)
    if symbol.is_nonnegative and not all(end.is_extended_nonnegative for end in ends):
        return f"{symbol} is >= 0, its integral runs from {low} to {high}"
    return ""


def conditions(expression: Any) -> list[Any]:
    """Where an expression is real and defined, beyond what SymPy knows.

    Returns
    -------
    list of relations
        ``base != 0`` for negative powers, ``base >= 0`` for roots, ``> 0`` for logarithms and
        negative fractional powers. What an integral runs over is left out: the integrals that
        SymPy carries out are checked between their limits, the others stay as they are.
    """
    found: dict[Any, None] = {}

    def visit(e: Any, running: frozenset[Any]) -> None:
        if isinstance(e, Integral):
            running = running | {limit[0] for limit in e.limits}
        if isinstance(e, sympy.Limit):
            running = running | {e.args[1]}
        condition = condition_of(e)
        if condition is not None and not (condition.free_symbols & running):
            found[condition] = None
        for each in e.args:
            visit(each, running)

    visit(expression, frozenset())
    return list(found)


def condition_of(e: Any) -> Any:
    """The condition under which one function or power is real, if SymPy does not know it."""
    if isinstance(e, sympy.log):
        return log_condition(e.args[0])
    return power_condition(e.base, e.exp) if e.is_Pow else None


def log_condition(argument: Any) -> Any:
    """``argument > 0``, or None when SymPy knows it."""
    return None if argument.is_positive else sympy.Gt(argument, 0, evaluate=False)


def power_condition(base: Any, exponent: Any) -> Any:
    """Where ``base**exponent`` is real and defined, or None when SymPy knows that it is."""
    if base.is_positive:
        return None
    if exponent.is_integer:
        if exponent.is_nonnegative or base.is_nonzero:
            return None
        return sympy.Ne(base, 0, evaluate=False)
    if exponent.is_nonnegative:
        return None if base.is_nonnegative else sympy.Ge(base, 0, evaluate=False)
    return sympy.Gt(base, 0, evaluate=False)


def replaced_conditions(sentence: Any, replace: Callable[[Any], Any]) -> list[tuple[Any, Any]]:
    """Conditions of the terms of a sentence after `replace`, each with the term it comes from.

    They are found before SymPy sees the new term: ``y/x`` becomes 1 for y = x without a word.
    """
    found: list[tuple[Any, Any]] = []
    for e in sympy.preorder_traversal(sentence):
        if isinstance(e, sympy.log):
            condition = log_condition(replace(e.args[0]))
        elif getattr(e, "is_Pow", False):
            condition = power_condition(replace(e.base), replace(e.exp))
        else:
            continue
        if condition is not None:
            found.append((e, condition))
    return found


def bound_symbols(sentence: Any) -> set[Any]:
    """Symbols that a sum or an integral binds somewhere in a sentence."""
    return {limit[0] for total in sentence.atoms(Sum, Integral) for limit in total.limits}


def put_in(expression: Any, left: Any, right: Any) -> Any:
    """`right` for `left`, but not where a binder makes one of their fixed symbols another one."""
    fixed = {
        symbol
        for symbol in left.free_symbols | right.free_symbols
        if not isinstance(symbol, Index | Variable)
    }

    def visit(e: Any) -> Any:
        if e == left:
            return right
        if not e.args or _binds(e) & fixed:
            return e
        return rebuilt(e, [visit(each) for each in e.args])

    return visit(expression)


def _binds(e: Any) -> set[Any]:
    if isinstance(e, Sum | Integral):
        return {limit[0] for limit in e.limits}
    if isinstance(e, sympy.Derivative):
        return {variable for variable, _ in e.variable_count}
    if isinstance(e, sympy.Limit):
        return {e.args[1]}
    if isinstance(e, sympy.Lambda | sympy.Subs):
        return set(e.variables)
    return set()


#: Functions that are real for real arguments.
_REAL = (
    *SMOOTH,
    sympy.Abs,
    sympy.sign,
    sympy.Max,
    sympy.Min,
    sympy.floor,
    sympy.ceiling,
    sympy.Piecewise,
    ExprCondPair,
)


def is_real(e: Any, *, total: bool = False) -> bool:
    """Whether an expression is a real number wherever its divisions are defined.

    With `total`, a root, logarithm or power that is not defined counts as some real number, as
    1/0 does for z3: instances of a sentence carry the conditions under which it is defined.
    Without, those of random quantities must be defined.
    """
    e = sympy.sympify(e)
    if isinstance(e, sympy.logic.boolalg.Boolean) or e.is_real or e.is_Symbol:
        return True
    if isinstance(e, Sum | Integral | sympy.Derivative | sympy.Limit | E):
        return is_real(e.args[0], total=total)
    if not isinstance(e, _REAL):
        return False
    if not total and not (e.is_Pow and e.exp.is_integer):
        condition = condition_of(e)
        if condition is not None and is_random(condition):
            return False
    return all(is_real(each, total=total) for each in e.args)


#: Functions that have kinks or jumps, which SymPy integrates over, but must not differentiate.
_KINKS = (sympy.Abs, sympy.sign, sympy.Max, sympy.Min, sympy.Piecewise, ExprCondPair, Relational)


def not_smooth(expression: Any, symbol: Any, *, kinks: bool = False) -> str:
    """Why SymPy's calculus in a symbol is not trusted on an expression.

    `kinks`: whether absolute values, choices and the like may occur (for integrals).
    """
    for e in sympy.preorder_traversal(expression):
        if symbol not in getattr(e, "free_symbols", set()) or e == symbol or not e.args:
            continue
        allowed = (*SMOOTH, AppliedUndef, Sum, Integral, sympy.Tuple, *(_KINKS if kinks else ()))
        if not isinstance(e, allowed):
            return f"{e.func.__name__} is not known to be smooth: {e}"
    return ""
