"""Exact rational values of numbers, and exact floors.

``floor(1/u)`` at u = 1/49 is 49, yet in floating point 1/(1/49) may come out below 49. Floors are
therefore taken of exact fractions, and a float that is the rounding of a fraction with a small
denominator stands for that fraction.
"""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

__all__ = ["LARGEST_DENOMINATOR", "exact_fraction", "exact_root", "to_fraction"]

#: A double that is the rounding of a fraction with such a denominator stands for it.
LARGEST_DENOMINATOR = 10**6
_HIGHEST_ROOT = 24
_ALLOWED = "a finite real number, a fraction or a pair of integers"


def to_fraction(value: Any, name: str = "value") -> Fraction:
    """The number that `value` is, exactly: a float is a dyadic fraction.

    Raises
    ------
    ValueError
        For anything that is no finite real number.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, tuple) and len(value) == 2 and all(map(_is_integer, value)) and value[1]:
        return Fraction(int(value[0]), int(value[1]))
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} = {value!r} is not allowed: {_ALLOWED}")
    if _is_integer(value):
        return Fraction(int(value))
    if isinstance(value, Fraction):
        return value
    if isinstance(value, sympy.Rational):
        return Fraction(int(value.p), int(value.q))
    if isinstance(value, float | np.floating) and math.isfinite(value):
        return Fraction(float(value))
    if hasattr(value, "_mpf_"):  # of mpmath: (sign, mantissa, exponent, bits)
        sign, mantissa, exponent, _ = value._mpf_
        if mantissa or not exponent:
            made = Fraction(-int(mantissa) if sign else int(mantissa))
            return Fraction(made * Fraction(2) ** int(exponent))
    raise ValueError(f"{name} = {value!r} is not allowed: {_ALLOWED}")


def exact_fraction(u: Any) -> Fraction:
    """The fraction that a number stands for.

    Parameters
    ----------
    u : int, Fraction, sympy.Rational, pair of int, or float
        A float that is the rounding of a fraction with denominator at most 10**6 stands for the
        simplest such fraction; any other float for itself.

    Returns
    -------
    fractions.Fraction

    Raises
    ------
    ValueError
        When `u` is no finite real number.

    Examples
    --------
    >>> exact_fraction(1 / 49)
    Fraction(1, 49)
    """
    exact = to_fraction(u, "u")
    if not isinstance(u, float | np.floating):
        return exact
    u = float(u)
    half_up = (Fraction(math.nextafter(u, math.inf)) - exact) / 2 if u < _LARGEST else Fraction(0)
    half_down = (exact - Fraction(math.nextafter(u, -math.inf))) / 2 if u > -_LARGEST else half_up
    found = _simplest(exact - half_down, exact + half_up)
    if found.denominator > LARGEST_DENOMINATOR or found.numerator / found.denominator != u:
        return exact
    return found


_LARGEST = float(np.finfo(float).max)


def exact_root(value: Fraction, degree: int) -> Fraction | None:
    """The root of a positive fraction, if it is a fraction."""
    if degree > _HIGHEST_ROOT:
        return None
    top, whole = sympy.integer_nthroot(value.numerator, degree)
    under, broken = sympy.integer_nthroot(value.denominator, degree)
    return Fraction(int(top), int(under)) if whole and broken else None


def _is_integer(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, numbers.Integral | sympy.Integer)


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the smallest denominator in [low, high]."""
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -_simplest(-high, -low)
    whole = math.floor(low)
    if whole == low:
        return Fraction(whole)
    if whole + 1 <= high:
        return Fraction(whole + 1)
    return whole + 1 / _simplest(1 / (high - whole), 1 / (low - whole))
