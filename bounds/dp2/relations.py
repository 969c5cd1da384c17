"""Relations as they are written: SymPy does not try to decide them when a module is imported.

Deciding takes SymPy most of the time that an import of the theorems would take. The proof rules
read both sides in their normal form anyway.
"""

from __future__ import annotations

from typing import Any

import sympy

__all__ = ["Eq", "Ge", "Gt", "Le", "Lt"]


def Eq(left: Any, right: Any) -> Any:
    """``left = right``, undecided."""
    return sympy.Eq(left, right, evaluate=False)


def Ge(left: Any, right: Any) -> Any:
    """``left >= right``, undecided."""
    return sympy.Ge(left, right, evaluate=False)


def Gt(left: Any, right: Any) -> Any:
    """``left > right``, undecided."""
    return sympy.Gt(left, right, evaluate=False)


def Le(left: Any, right: Any) -> Any:
    """``left <= right``, undecided."""
    return sympy.Le(left, right, evaluate=False)


def Lt(left: Any, right: Any) -> Any:
    """``left < right``, undecided."""
    return sympy.Lt(left, right, evaluate=False)
