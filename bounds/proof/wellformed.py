"""What a sentence may look like, and where its terms are defined.

SymPy cancels ``x/x``, integrates through poles and squares roots of negative numbers without
asking. The rules are sound on sentences that pass here, and for instances that carry the
conditions listed here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
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
#: Functions that are so for positive ones.
_GAMMA = (sympy.gamma, sympy.loggamma)
#: Functions of integers >= 0.
_COUNTS = (sympy.binomial, sympy.factorial)


@functools.lru_cache(maxsize=20_000)
def refused(sentence: Any) -> str:
    """Why no rule may read a sentence; empty when it may."""
    for e in sympy.preorder_traversal(sentence):
        if isinstance(e, Sum):
            reason = _sum_refused(e)
        elif isinstance(e, Integral):
            reason = _integral_refused(e)
        elif isinstance(e, sympy.Piecewise):
            reason = "" if e.args[-1][1] == sympy.true else f"no last case in {e}"
        elif isinstance(e, sympy.Function):
            known = isinstance(e, (*_REAL, *_GAMMA, *_COUNTS, AppliedUndef, E))
            reason = "" if known else f"no rule knows the function {e.func.__name__}"
        elif e in (sympy.nan, sympy.zoo, sympy.I):
            reason = f"{e} is no real number"
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
        reason = index_refused(*limit)
        if reason:
            return reason
    return ""


def index_refused(symbol: Any, low: Any, high: Any) -> str:
    """Why a sum cannot run over a symbol from `low` to `high`."""
    if not isinstance(symbol, Index):
        return f"the index {symbol} of a sum is no Index"
    if low.has(sympy.oo) or high.has(sympy.oo):
        return f"only finite sums are linear, not one over {symbol} from {low} to {high}"
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
        reason = _divergent(integral.function, *limit)
        if reason:
            return reason
    return ""


def _divergent(integrand: Any, symbol: Any, low: Any, high: Any) -> str:
    """Why an integral might not exist: a pole between the limits, or a tail that does not fall."""
    from bounds.proof.rational import prove  # the rule reads sentences that were checked here

    running = sympy.Dummy("x", real=True)
    inside = [
        each
        for each in (
            sympy.Le(low, running, evaluate=False),
            sympy.Le(running, high, evaluate=False),
        )
        if not each.has(sympy.oo, -sympy.oo)
    ]
    other = (
        []
        if len(inside) < 2
        else [
            sympy.Or(
                sympy.And(*inside),
                sympy.And(
                    sympy.Le(high, running, evaluate=False), sympy.Le(running, low, evaluate=False)
                ),
            )
        ]
    )
    for base in singular(integrand, symbol):
        here = base.xreplace({symbol: running})
        if here.is_positive:
            continue
        if not prove(other or inside, sympy.Gt(here, 0, evaluate=False), budget=1_000_000).ok:
            return f"{base} may be 0 between the limits of an integral over {symbol}"
    if not {sympy.oo, -sympy.oo} & {low, high}:
        return ""
    for term in sympy.Add.make_args(sympy.expand(integrand)):
        if not _falls(term, symbol):
            return (
                f"{term} is not seen to fall like exp(-x^2): its integral over {symbol} may diverge"
            )
    return ""


def singular(e: Any, x: Any) -> set[Any]:
    """Bases of negative or fractional powers and arguments of logarithms that contain x."""
    found: set[Any] = set()
    for each in sympy.preorder_traversal(e):
        if isinstance(each, sympy.log) and x in each.free_symbols:
            found.add(each.args[0])
        elif getattr(each, "is_Pow", False) and x in each.base.free_symbols:
            whole = each.exp.is_nonnegative and (each.exp.is_integer or each.base.is_nonnegative)
            if not whole:
                found.add(each.base)
    return found


def _falls(term: Any, x: Any) -> bool:
    """Whether a product has a factor exp(-c x^2 + …), c > 0, and nothing that grows as fast."""
    exponent = sympy.S.Zero
    others = []
    for factor in sympy.Mul.make_args(term):
        base, power = factor.as_base_exp()
        if isinstance(factor, sympy.exp):
            exponent += factor.args[0]
        elif isinstance(base, sympy.exp) and x not in power.free_symbols:
            exponent += base.args[0] * power
        else:
            others.append(factor)
    exponent = sympy.expand(exponent)
    leading = exponent.coeff(x, 2)
    rest = sympy.expand(exponent - leading * x**2 - exponent.coeff(x, 1) * x)
    if x in rest.free_symbols or not leading.is_negative:
        return False
    for factor in others:
        for each in factor.atoms(sympy.exp, sympy.sinh, sympy.cosh):
            inner = sympy.expand(each.args[0])
            if x in sympy.expand(inner - inner.coeff(x, 1) * x).free_symbols:
                return False
        if any(x in each.exp.free_symbols for each in factor.atoms(sympy.Pow)):
            return False
    return True


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
    if isinstance(e, sympy.log | sympy.gamma | sympy.loggamma):
        return log_condition(e.args[0])
    if isinstance(e, _COUNTS):
        return count_condition(e.args)
    return power_condition(e.base, e.exp) if e.is_Pow else None


def count_condition(arguments: Sequence[Any]) -> Any:
    """``argument >= 0`` for those that SymPy does not know to be; false if one is no integer."""
    if not all(each.is_integer for each in arguments):
        return sympy.false
    open_ = [sympy.Ge(each, 0, evaluate=False) for each in arguments if not each.is_nonnegative]
    return sympy.And(*open_) if open_ else None


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
        if isinstance(e, sympy.log | sympy.gamma | sympy.loggamma):
            condition = log_condition(replace(e.args[0]))
        elif isinstance(e, _COUNTS):
            condition = count_condition([replace(each) for each in e.args])
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
    if not isinstance(e, (*_REAL, *_GAMMA, *_COUNTS)):
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
