"""Numbers from expressions: NumPy on arrays, mpmath with 50 digits, balls with proved ends.

The three read an expression the same way and agree: floors are exact, ``0**0`` is 1, an empty sum
is 0, and a float stands for itself except inside a floor (`exact_fraction`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from mpmath.ctx_mp import MPContext

from bounds.assumptions import Assumption
from bounds.evaluate_domain import arguments_of, matched
from bounds.evaluate_exact import exact_fraction, to_fraction
from bounds.evaluate_log import sign_log
from bounds.evaluate_mpmath import DIGITS, Mp
from bounds.evaluate_numpy import Arrays
from bounds.evaluate_scalar import Walk
from bounds.operators import Conditional, E, Independent, StandardNormal
from bounds.proof.tools import load

__all__ = ["BACKENDS", "arguments_of", "compile", "evaluate", "exact_fraction"]

#: Arithmetics in which a theorem can be evaluated: doubles, 50 digits, balls.
BACKENDS = ("numpy", "mpmath", "ball")
_MOST_DOUBTS = 2000  # entries that are computed again one by one
_SMALL = 1e-290  # below it a double has lost digits on the way
_NO_NUMBERS = (E, Independent, Conditional, StandardNormal)


def evaluate(
    expression: Any,
    /,
    *,
    backend: str = "numpy",
    log: bool = False,
    assuming: Iterable[Assumption] = (),
    **parameters: Any,
) -> Any:
    """The value of an expression.

    Parameters
    ----------
    expression : sympy.Expr
    backend : str
        ``"numpy"``: floats; parameters may be arrays, which broadcast. ``"mpmath"``: 50 digits.
        ``"ball"``: a `flint.arb` that contains the exact value.
    log : bool
        The natural logarithm instead, computed in logarithms.
    assuming : iterable of Assumption
        Those on the given parameters alone are checked, exactly; others are not looked at.
    **parameters
        By the names of the glossary (``steps=1000, delay=50``): numbers, fractions, pairs of
        integers, arrays for NumPy. A sequence such as ``mean_gradient`` is an array by index.

    Returns
    -------
    float or numpy.ndarray, mpmath.mpf, flint.arb

    Raises
    ------
    ValueError
        An unknown backend or parameter, a missing one, a value outside its domain, an assumption
        that does not hold, an expression that is not defined or out of range at these values;
        python-flint is not installed and balls are asked for.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend = {backend!r} is not allowed: {', '.join(BACKENDS)}")
    expression = sympy.sympify(expression)
    values = matched(expression, parameters)
    for assumption in assuming:
        _check_assumption(assumption, values)
    if backend == "numpy":
        try:
            return _numpy(expression, values, log)
        except OverflowError:
            raise ValueError(f"{_where(expression)}: a number here is no double") from None
    return _scalar(expression, values, backend, log)


def compile(expression: Any, backend: str = "numpy", *, log: bool = False) -> Callable[..., Any]:
    """`evaluate` with its expression and backend filled in: ``f(steps=1000, delay=50)``.

    Raises
    ------
    ValueError
        For an unknown backend.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend = {backend!r} is not allowed: {', '.join(BACKENDS)}")
    expression = sympy.sympify(expression)

    def function(**parameters: Any) -> Any:
        return evaluate(expression, backend=backend, log=log, **parameters)

    function.__doc__ = f"{expression} with {backend}; {', '.join(sorted(arguments_of(expression)))}"
    return function


def _numpy(expression: Any, values: dict[Any, Any], log: bool) -> Any:
    arrays = _arrays(values)
    shape = (*_shape(values), 1)
    made = np.array(np.broadcast_to(arrays.value(expression), shape))
    if log:
        sign, size = sign_log(expression, arrays)
        if np.any(sign < 0) or np.isnan(sign).any() or np.isnan(size).any():
            raise ValueError(f"log = True is not allowed here: {_where(expression)} is not >= 0")
        if np.isposinf(size).any():
            raise ValueError(f"{_where(expression)} is too large here, even its logarithm")
        made = np.array(np.broadcast_to(np.where(sign == 0, -np.inf, size), shape))
    elif arrays.slips or (~np.isfinite(made) | (np.abs(made) < _SMALL)).any():
        made = _repaired(expression, arrays, made)
    if arrays.doubt is not None:
        places = np.argwhere(np.broadcast_to(arrays.doubt, shape)[..., 0])
        for place in map(tuple, places[:_MOST_DOUBTS]):
            made[(*place, 0)] = _at(expression, values, place, made[(*place, 0)], log)
    return _shaped(made, values)


def _repaired(expression: Any, arrays: Arrays, made: Any) -> Any:
    """Something left the range of a double on the way: the logs know what it is."""
    doubtful = ~np.isfinite(made) | (np.abs(made) < _SMALL)
    with np.errstate(all="ignore"):
        sign, size = sign_log(expression, arrays)
        right = np.broadcast_to(np.where(sign == 0, 0.0, sign * np.exp(size)), made.shape)
        undefined = np.isnan(right) | np.broadcast_to(np.isposinf(size), made.shape)
        wrong = doubtful | (np.abs(made - right) > 1e-9 * np.abs(right))
    if (undefined & doubtful).any():
        raise _undefined(expression)
    return np.where(wrong & ~undefined, right, made)


def _at(
    expression: Any, values: dict[Any, Any], place: tuple[Any, ...], rough: float, log: bool
) -> float:
    """One entry again with more digits, after a sum cancelled."""
    shape = _shape(values)
    point = {
        symbol: (
            np.broadcast_to(np.asarray(value, dtype=object), shape)[place]
            if symbol.is_Symbol
            else value
        )
        for symbol, value in values.items()
    }
    try:
        return float(_scalar(expression, point, "mpmath", log))
    except ValueError:
        return rough


def _undefined(expression: Any) -> ValueError:
    return ValueError(f"{_where(expression)} is not defined or out of range at these values")


def _where(expression: Any) -> str:
    text = str(expression)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _shape(values: dict[Any, Any]) -> tuple[int, ...]:
    shapes = {str(symbol): np.shape(each) for symbol, each in values.items() if symbol.is_Symbol}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        shown = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
        raise ValueError(f"shapes that do not broadcast: {shown}") from None


def _shaped(made: Any, values: dict[Any, Any]) -> Any:
    shape = _shape(values)
    made = np.broadcast_to(made, (*shape, 1))[..., 0]
    return np.array(made) if shape else float(made)


def _arrays(values: dict[Any, Any]) -> Arrays:
    symbols: dict[Any, Any] = {}
    tables: dict[str, Any] = {}
    axes = len(_shape(values))
    for symbol, value in values.items():
        if not symbol.is_Symbol:
            tables[symbol.__name__] = np.asarray(value, dtype=float)[..., np.newaxis]
            continue
        array = (
            np.asarray(value, dtype=object) if isinstance(value, Fraction) else np.asarray(value)
        )
        if isinstance(value, Fraction) and value.denominator == 1 and abs(value) < 2**62:
            array = np.asarray(int(value))
        lead = (1,) * (axes - array.ndim)
        symbols[symbol] = array.reshape((*lead, *array.shape, 1))
    made = Arrays(symbols, tables, axes + 1)
    made.careful = True
    return made


def _scalar(expression: Any, values: dict[Any, Any], backend: str, log: bool) -> Any:
    walk_values, read = _points(expression, values, backend)
    try:
        if backend == "ball":
            return _ball(expression, walk_values, read, log)
        arithmetic = Mp()
        made = Walk(arithmetic, walk_values, read).number(expression)
        if log:
            if made < 0:
                raise ValueError(f"log = True is not allowed here: {_where(expression)} < 0")
            made = arithmetic.mp.log(made) if made > 0 else arithmetic.mp.ninf
    except (ZeroDivisionError, OverflowError, MPContext.NoConvergence):
        raise _undefined(expression) from None
    rounding = Mp(DIGITS)
    return +rounding.mp.mpf(made)


def _ball(expression: Any, values: dict[Any, Any], read: dict[Any, Any], log: bool) -> Any:
    load("flint")  # says which extra has it
    from bounds.proof.balls import evaluated

    made = evaluated(expression, values, read, log=log)
    if not made.is_finite() and not (log and made < 0 and made.is_exact()):  # -inf: the log of 0
        raise _undefined(expression)
    return made


def _points(
    expression: Any, values: dict[Any, Any], backend: str
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The numbers themselves, and what they stand for inside floors."""
    plain: dict[Any, Any] = {}
    read: dict[Any, Any] = {}
    for name, symbol in arguments_of(expression).items():
        value = values[symbol]
        if symbol.is_Symbol and isinstance(value, np.ndarray):
            raise ValueError(f"{name} is an array: backend = {backend!r} takes single numbers")
        table = value.tolist() if isinstance(value, np.ndarray) else value
        plain[symbol] = _nested(table, to_fraction)
        read[symbol] = _nested(table, exact_fraction)
    return plain, read


def _nested(table: Any, convert: Callable[[Any], Fraction]) -> Any:
    return [_nested(each, convert) for each in table] if isinstance(table, list) else convert(table)


def _check_assumption(assumption: Assumption, values: dict[Any, Any]) -> None:
    """Refuse parameters that break an assumption on them alone."""
    formula = assumption.formula
    names = {symbol: name for name, symbol in arguments_of(formula).items()}
    if not names or not all(symbol.is_Symbol and symbol in values for symbol in names):
        return
    if any(isinstance(each, _NO_NUMBERS) for each in sympy.preorder_traversal(formula)):
        return
    arrays = np.broadcast_arrays(*(_column(values[symbol]) for symbol in names))
    for point in zip(*(array.flat for array in arrays), strict=True):
        read = {symbol: exact_fraction(each) for symbol, each in zip(names, point, strict=True)}
        if Walk(Mp(), read).truth(formula) is False:
            shown = ", ".join(f"{names[each]} = {float(read[each]):.12g}" for each in names)
            raise ValueError(f"{shown} is not allowed: {assumption.text} ({formula})")


def _column(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    made = np.empty((), dtype=object)
    made[()] = value
    return made
