"""Formulas as LaTeX, with the letters of the glossary."""

from __future__ import annotations

import sympy

from bounds import glossary


def to_latex(expression: sympy.Basic) -> str:
    """LaTeX of an expression; glossary symbols are written with the letters registered there."""
    return str(sympy.latex(expression, symbol_names=glossary.latex_names(expression)))
