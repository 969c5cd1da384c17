"""Formulas as LaTeX, with the letters of the glossary."""

from __future__ import annotations

import sympy
from sympy.core.function import AppliedUndef
from sympy.printing.latex import LatexPrinter

from bounds import glossary
from bounds.operators import Index, RandomVariable, Variable


def to_latex(expression: sympy.Basic) -> str:
    r"""LaTeX of an expression, with the letters that the glossary has for its symbols.

    Indices are subscripts: ``g(t, j)**2`` is ``g_{t,j}^{2}``. A local name that ends in an
    underscore gets a prime, so that it is not taken for the symbol of the glossary.
    """
    settings = {"symbol_names": glossary.latex_names(expression)}
    return str(_Printer(settings).doprint(expression))


class _Printer(LatexPrinter):  # type: ignore[misc]
    """SymPy's printer, but for processes, local names and sentences on laws."""

    def _print_Function(self, expr: sympy.Function, exp: str | None = None) -> str:
        if not isinstance(expr, AppliedUndef):
            return str(super()._print_Function(expr, exp))
        entry = glossary.entry_of(expr.func)
        name = self._local(expr.func.__name__) if entry is None else entry.latex
        where = ",".join(str(self._print(argument)) for argument in expr.args)
        # A second subscript or superscript wants braces around what has the first.
        body = f"{{{name}}}_{{{where}}}" if "_" in name or "'" in name else f"{name}_{{{where}}}"
        if exp is None:
            return body
        return rf"\left({body}\right)^{{{exp}}}" if {"^", "'"} & set(name) else f"{body}^{{{exp}}}"

    def _print_Symbol(self, expr: sympy.Symbol, style: str = "plain") -> str:
        known = self._settings["symbol_names"]
        if expr not in known and isinstance(expr, Index | Variable | RandomVariable):
            return self._local(expr.name)
        return str(super()._print_Symbol(expr, style))

    def _local(self, name: str) -> str:
        bare = name.rstrip("_")
        primes = "'" * (len(name) - len(bare))
        shown = str(self._deal_with_super_sub(bare)) if bare else name
        head = bare.partition("_")[0]
        # Letters in a row would read as a product.
        if head.isalpha() and len(head) > 1 and not shown.startswith("\\"):
            shown = shown.replace(head, rf"\mathrm{{{head}}}", 1)
        return f"{{{shown}}}{primes}" if primes else shown

    def _print_Independent(self, expr: sympy.Basic) -> str:
        first, *others = (str(self._print(argument)) for argument in expr.args)
        return rf"{first} \perp \left({', '.join(others)}\right)"

    def _print_Conditional(self, expr: sympy.Basic) -> str:
        value, mean, *past = (str(self._print(argument)) for argument in expr.args)
        return rf"\mathbb{{E}}\left[{value} \mid {', '.join(past)}\right] = {mean}"

    def _print_StandardNormal(self, expr: sympy.Basic) -> str:
        return rf"{self._print(expr.args[0])} \sim \mathcal{{N}}\left(0, 1\right)"
