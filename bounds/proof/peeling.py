"""What proofs by induction need: where they start, and sums with their last terms split off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy import Sum

from bounds.operators import Index

#: Sums with at most this many explicit terms are written out.
_MOST_TERMS = 8


def least(index: sympy.Symbol) -> int:
    """The least value of an integer symbol with a sign: 1 or 0."""
    return 1 if index.is_positive else 0


def induction_refused(index: sympy.Symbol, premises: Sequence[sympy.Basic]) -> str:
    """Why induction on a symbol under premises would not be sound; empty when it is."""
    if not (index.is_integer and index.is_nonnegative):
        return f"induction on {index}: it is no integer >= 0"
    if not isinstance(index, Index) and any(index in each.free_symbols for each in premises):
        return f"induction on {index}: a premise is about this one {index}, not about all"
    return ""


def peeled(expression: Any, index: sympy.Symbol | None = None) -> Any:
    """``Sum(f, (t, 1, n + 1))`` as ``Sum(f, (t, 1, n)) + f(n + 1)``; short sums written out."""

    def split(total: Sum) -> sympy.Basic:
        function, limits = total.function, total.limits
        if len(limits) != 1:
            inner, outer = Sum(function, *limits[:-1]), limits[-1]
            symbol, low, high = outer
            pieces = _split(inner, symbol, low, high, index)
            return total if pieces is None else pieces
        symbol, low, high = limits[0]
        pieces = _split(function, symbol, low, high, index)
        return total if pieces is None else pieces

    return expression.replace(lambda each: isinstance(each, Sum), split)


def _split(
    function: Any, symbol: sympy.Symbol, low: Any, high: Any, index: sympy.Symbol | None
) -> Any:
    count = sympy.expand(high - low)
    if count.is_Integer:
        if count < 0:
            return sympy.S.Zero if count == -1 else None
        if count < _MOST_TERMS:
            return sympy.Add(*[function.subs(symbol, low + n) for n in range(int(count) + 1)])
        return None
    if index is None or index not in high.free_symbols or index in low.free_symbols:
        return None
    offset = sympy.expand(high - index)
    if not offset.is_Integer or offset < 1:
        return None
    last = [function.subs(symbol, index + n) for n in range(1, int(offset) + 1)]
    return Sum(function, (symbol, low, index)) + sympy.Add(*last)
