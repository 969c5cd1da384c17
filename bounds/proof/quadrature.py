"""A second look at SymPy's integrals: quadrature at one point, before they are trusted."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import sympy
from sympy import Integral

_POINTS = 20_001
#: Infinite ends are cut here; Gaussian integrands are 0 in double precision well before.
_FAR = 40.0
_TOLERANCE = 1e-3


def numerically_nonzero(difference: Any) -> str:
    """A point at which a difference with integrals is clearly not 0; empty when none is seen."""
    if not difference.has(Integral) or difference.has(sympy.Derivative):
        return ""
    symbols = sorted(difference.free_symbols, key=str)
    rng = random.Random(1)
    point = {x: _draw(x, rng) for x in symbols}
    value, scale = 0.0, 1.0
    for term in sympy.Add.make_args(sympy.expand(difference, deep=False)):
        number = _value(term.xreplace(point))
        if number is None or not math.isfinite(number):
            return ""
        value += number
        scale += abs(number)
    if abs(value) <= _TOLERANCE * scale:
        return ""
    shown = ", ".join(f"{x} = {y}" for x, y in point.items())
    return f"left - right is about {value:.4g} at {shown}"


def _draw(x: Any, rng: random.Random) -> Any:
    if x.is_integer:
        return sympy.Integer(rng.randint(2, 5))
    return sympy.Rational(rng.randint(50, 170), 101)


def _value(term: Any) -> float | None:
    """A number, or None when this simple quadrature does not apply."""
    found: dict[Any, float] = {}
    for integral in term.atoms(Integral):
        number = _quadrature(integral)
        if number is None:
            return None
        found[integral] = number
    try:
        return float(term.xreplace({key: sympy.Float(x) for key, x in found.items()}).evalf(12))
    except (TypeError, ValueError, OverflowError):
        return None


def _quadrature(integral: Any) -> float | None:
    if len(integral.limits) != 1 or len(integral.limits[0]) != 3:
        return None
    x, low, high = integral.limits[0]
    if integral.free_symbols or integral.function.has(Integral, sympy.Derivative):
        return None
    ends = [max(-_FAR, min(_FAR, float(end))) for end in (low, high)]
    grid = np.linspace(ends[0], ends[1], _POINTS)
    plain = sympy.Symbol("x", real=True)  # SymPy's code printers have a `Variable` of their own
    function = integral.function.xreplace({x: plain})
    modules = [{"erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc)}, "numpy"]
    try:
        with np.errstate(all="ignore"):
            values = sympy.lambdify(plain, function, modules=modules)(grid)
            values = np.broadcast_to(np.asarray(values, dtype=float), grid.shape)
    except (TypeError, ValueError, NameError, OverflowError):
        return None
    if not np.isfinite(values).all():
        return None
    return float((values[1:] + values[:-1]).sum() * (grid[1] - grid[0]) / 2)
