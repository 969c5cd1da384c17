"""Checks of arguments; every message names the argument, its value and what is allowed."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from accountants.validation import shown


def positive_real(name: str, value: Any, *, allow_infinite: bool = False) -> float:
    """Return `value` as a float > 0, or raise ValueError.

    Parameters
    ----------
    name : str
        Argument name used in the message.
    value : float
        Number to check; booleans and strings are refused.
    allow_infinite : bool
        Whether ``inf`` is allowed (it is for clip norms: no clipping).
    """
    allowed = "a number > 0 (inf is allowed)" if allow_infinite else "a finite number > 0"
    number = _real(name, value, allowed)
    if not number > 0 or (math.isinf(number) and not allow_infinite):
        raise ValueError(f"{name}={shown(value)} must be {allowed}")
    return number


def real_in(name: str, value: Any, low: float, high: float, *, open_high: bool = False) -> float:
    """Return `value` as a float in ``[low, high]`` (``[low, high)`` if `open_high`)."""
    bracket = ")" if open_high else "]"
    allowed = f"in [{low:g}, {high:g}{bracket}"
    number = _real(name, value, allowed)
    if not low <= number <= high or (open_high and number == high):
        raise ValueError(f"{name}={shown(value)} must be {allowed}")
    return number


def open_unit(name: str, value: Any) -> float:
    """Return `value` as a float in (0, 1), or raise ValueError."""
    number = real_in(name, value, 0.0, 1.0, open_high=True)
    if number == 0:
        raise ValueError(f"{name}={shown(value)} must be in (0, 1)")
    return number


def whole_number(name: str, value: Any, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return `value` as an int in ``[minimum, maximum]``, or raise ValueError."""
    allowed = f"an integer >= {minimum}" + ("" if maximum is None else f" and <= {maximum}")
    if isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={shown(value)} must be {allowed}")
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name}={shown(value)} must be {allowed}") from None
    if number < minimum or (maximum is not None and number > maximum):
        raise ValueError(f"{name}={shown(value)} must be {allowed}")
    return number


def whole_numbers(name: str, values: Any, *, minimum: int = 1) -> tuple[int, ...]:
    """Return `values` as ints of at least `minimum`, one or more of them, or raise ValueError."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise ValueError(f"{name}={reprlib.repr(values)} must be integers >= {minimum}")
    found = tuple(whole_number(name, value, minimum=minimum) for value in values)
    if not found:
        raise ValueError(f"{name}={reprlib.repr(values)} must be one integer >= {minimum} at least")
    return found


def _real(name: str, value: Any, allowed: str) -> float:
    if isinstance(value, (bool, np.bool_, str, bytes)):
        raise ValueError(f"{name}={shown(value)} must be {allowed}")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):  # the last: an integer that is no double
        number = math.nan
    if math.isnan(number) or np.ndim(value):
        raise ValueError(f"{name}={shown(value)} must be {allowed}")
    return number
