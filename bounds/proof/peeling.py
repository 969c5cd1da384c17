"""What proofs by induction need: where they start, and sums with their last terms split off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy import Sum

from bounds.operators import Index

#: Sums with at most this many explicit terms are written out.
_MOST_TERMS = 8


def induction_refused(index: sympy.Symbol, premises: Sequence[sympy.Basic]) -> str:
    """Why induction on a symbol under premises would not be sound; empty when it is."""
    if not (index.is_integer and index.is_positive):
        return f"induction on {index}: it is no integer >= 1"
    if not isinstance(index, Index) and any(index in each.free_symbols for each in premises):
        return f"induction on {index}: a premise is about this one {index}, not about all"
    return ""


def peeled(expression: Any, index: sympy.Symbol | None = None) -> Any:
    """Sums written out: short ones whole, those up to index + m by their last terms.

    ``Sum(f, (t, 1, n + 1))`` becomes ``Sum(f, (t, 1, n - 1)) + f(n) + f(n + 1)``: every sum with
    the induction index in its upper limit ends at index - 1, so that two of them are comparable.
    """

    def split(total: Sum) -> sympy.Basic:
        *inner, outer = total.limits
        function = Sum(total.function, *inner) if inner else total.function
        symbol, low, high = outer
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
    # A sum from 1 to n - 1 may be empty (n = 1), one from 2 to n - 1 is not defined there.
    if low != 1 or not offset.is_Integer or not 0 <= offset < _MOST_TERMS:
        return None
    last = [function.subs(symbol, index + n) for n in range(int(offset) + 1)]
    return Sum(function, (symbol, low, index - 1)) + sympy.Add(*last)
