"""What a parameter may be: the domains of the glossary, checked with messages that name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef

from bounds import glossary
from bounds.evaluate_exact import to_fraction

__all__ = ["arguments_of", "check_value", "domain_of", "inside", "matched"]

#: domain in words -> (whole numbers only, what a value must satisfy)
_TESTS: dict[str, tuple[bool, Callable[[Any], Any]]] = {
    "> 0": (False, lambda x: x > 0),
    ">= 0": (False, lambda x: x >= 0),
    "real": (False, lambda x: x == x),
    "integer >= 1": (True, lambda x: x >= 1),
    "integer >= 0": (True, lambda x: x >= 0),
    ">= 1": (False, lambda x: x >= 1),
    "> 1": (False, lambda x: x > 1),
    "in (0, 1)": (False, lambda x: (x > 0) & (x < 1)),
    "in (0, 1]": (False, lambda x: (x > 0) & (x <= 1)),
    "in [0, 1)": (False, lambda x: (x >= 0) & (x < 1)),
    "in [0, 1]": (False, lambda x: (x >= 0) & (x <= 1)),
}


def domain_of(symbol: Any) -> str:
    """The domain of a symbol or process in words: the glossary's, else what SymPy knows."""
    entry = glossary.entry_of(symbol)
    if entry is not None and entry.domain in _TESTS:
        return entry.domain
    known = symbol(sympy.Symbol("_")) if isinstance(symbol, sympy.FunctionClass) else symbol
    if known.is_integer:
        return "integer >= 1" if known.is_positive else "integer >= 0"
    if known.is_positive:
        return "> 0"
    return ">= 0" if known.is_nonnegative else "real"


def inside(values: Any, domain: str) -> Any:
    """Where numbers of an array are in a domain."""
    whole, test = _TESTS[domain]
    good = np.asarray(test(values)) & np.isfinite(values)
    return good & (values == np.floor(values)) if whole else good


def check_value(name: str, value: Any, domain: str) -> Any:
    """A parameter's value as a number or an array of numbers.

    Returns
    -------
    fractions.Fraction, float or numpy.ndarray
        A float stays one, so that a floor can ask what it stands for. Arrays keep an integer
        dtype; arrays of objects hold fractions.

    Raises
    ------
    ValueError
        Naming argument, value and what is allowed.
    """
    whole, test = _TESTS[domain]
    if not isinstance(value, np.ndarray | list) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    ):
        try:
            number = to_fraction(value, name)
        except ValueError:
            raise _refuse(name, value, domain) from None
        if not test(number) or (whole and number.denominator != 1):
            raise _refuse(name, value, domain)
        value = value[()] if isinstance(value, np.ndarray) else value
        return float(value) if isinstance(value, float | np.floating) else number
    try:
        array = np.asarray(value)
        if array.dtype == object:
            array = np.array([to_fraction(each, name) for each in array.flat], dtype=object)
            array = array.reshape(np.shape(value))
    except ValueError:
        raise _refuse(name, value, domain) from None
    if array.size == 0 or array.dtype.kind not in "iufO":
        raise _refuse(name, value, domain)
    good = np.asarray(test(array), dtype=bool)
    if array.dtype.kind == "f":
        good &= np.isfinite(array)
        if whole:
            good &= array == np.floor(array)
    elif array.dtype.kind == "O" and whole:
        good &= np.array([each.denominator == 1 for each in array.flat]).reshape(array.shape)
    if not good.all():
        at = np.unravel_index(int(np.argmin(good)), good.shape)
        place = ", ".join(str(int(each)) for each in at)
        raise _refuse(f"{name}[{place}]", _plain(array[at]), domain)
    if array.dtype.kind == "u":
        return array.astype(np.int64) if array.max() < 2**62 else array.astype(float)
    if whole and array.dtype.kind == "f" and np.abs(array).max() < 2**53:
        return array.astype(np.int64)
    return array


def _plain(value: Any) -> Any:
    """A Python number, whose text has no type name."""
    return value.item() if isinstance(value, np.generic) else value


def _refuse(name: str, value: Any, domain: str) -> ValueError:
    shown = str(value) if isinstance(value, Fraction) else repr(_plain(value))
    return ValueError(f"{name} = {shown[:80]} is not allowed: {domain}")


def arguments_of(expression: sympy.Basic) -> dict[str, Any]:
    """The arguments that an expression is evaluated with: parameter name -> symbol or function."""
    found: dict[str, Any] = {}
    functions = {each.func for each in expression.atoms(AppliedUndef)}
    for symbol in (*expression.free_symbols, *functions):
        entry = glossary.entry_of(symbol)
        name = entry.parameter if entry is not None else getattr(symbol, "name", str(symbol))
        found[name] = symbol
    return found


def matched(expression: sympy.Basic, given: Mapping[str, Any]) -> dict[Any, Any]:
    """Symbols and functions with their checked values, from arguments by name.

    Raises
    ------
    ValueError
        An unknown or missing name, or a value outside its domain.
    """
    wanted = arguments_of(expression)
    for name, value in given.items():
        if name not in wanted:
            known = ", ".join(sorted(wanted)) or "none"
            raise ValueError(f"{name} = {str(value)[:80]} is no parameter here: {known}")
    for name, symbol in sorted(wanted.items()):
        if name not in given:
            raise ValueError(f"{name} is missing: {domain_of(symbol)}")
    values: dict[Any, Any] = {}
    for name, value in given.items():
        symbol = wanted[name]
        if isinstance(symbol, sympy.FunctionClass):
            value = list(value) if isinstance(value, tuple) else value
            if not isinstance(value, list | np.ndarray) or np.ndim(value) == 0:
                raise ValueError(f"{name} = {value!r} is not allowed: an array by index, from 1 on")
        checked = check_value(name, value, domain_of(symbol))
        values[symbol] = checked
    _check_lengths(expression, values)
    return values


def _check_lengths(expression: Any, values: Mapping[Any, Any]) -> None:
    """A sequence that is summed from 1 to d has d entries: one left over is a slip."""
    shifted: set[tuple[Any, int]] = set()
    summed: dict[tuple[Any, int], Any] = {}
    for total in expression.atoms(sympy.Sum):
        limits = {limit[0]: limit[2] for limit in total.limits if limit[1] == 1}
        for each in total.function.atoms(AppliedUndef):
            for place, index in enumerate(each.args):
                if index in limits and isinstance(values.get(limits[index]), Fraction):
                    summed[each.func, place] = limits[index]
    for each in expression.atoms(AppliedUndef):
        shifted.update((each.func, at) for at, index in enumerate(each.args) if not index.is_Symbol)
    for (function, place), limit in summed.items():
        table = values[function]
        wanted = int(values[limit])
        if (function, place) not in shifted and table.ndim > place and table.shape[place] > wanted:
            names = {symbol: name for name, symbol in arguments_of(expression).items()}
            raise ValueError(
                f"{names[function]} has {table.shape[place]} entries, and {names[limit]} = {wanted}"
            )
