"""Domain checks.  Every message names the argument, its value and what is allowed."""

from __future__ import annotations

import math
import numbers
import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_WHOLE = (
    10**18
)  #: larger numbers of records, steps, … are slips, and may be no double at all
LARGEST_USES = 10**15  #: of one part of an event, in all; doubles hold these exactly


def require(condition: bool, name: str, value: Any, allowed: str) -> None:
    """Raise ``ValueError`` naming argument, value and domain unless ``condition`` holds."""
    if not condition:
        raise ValueError(f"{name}={shown(value)}: must be {allowed}")


def shown(value: Any) -> str:
    """``repr``, or the size alone of an integer with many digits (which may have no text)."""
    if isinstance(value, int) and value.bit_length() > 128:
        sign = "-" if value < 0 else ""
        return f"{sign}(about 10^{int(value.bit_length() * math.log10(2))})"
    return repr(value)


def real(name: str, value: Any, allowed: str = "a real number") -> float:
    """Return ``value`` as a float; refuse NaN, booleans and what is not a real number."""
    ok = isinstance(value, numbers.Real) and not isinstance(value, bool)
    require(ok, name, value, allowed)
    try:
        result = float(value)
    except OverflowError:  # an integer or fraction that is no double
        result = math.nan
    require(not math.isnan(result), name, value, allowed)
    return result


def reals(name: str, values: Any, allowed: str, *, nan: bool = False) -> NDArray[np.float64]:
    """Return ``values`` as floats of any shape; refuse NaN and what is not made of real numbers.

    ``nan`` lets NaN pass, where what it means is said elsewhere.

    NumPy would take text, truth values and complex numbers for real ones.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    good = array.dtype.kind in "iuf" or array.size == 0
    if not good or (not nan and array.size and np.isnan(array).any()):
        raise ValueError(f"{name}={reprlib.repr(values)}: must be {allowed}")
    return array.astype(np.float64, copy=False)


def noise_multiplier(value: Any, name: str = "noise_multiplier") -> float:
    """Noise std over clip norm: 0 (no privacy) to infinity."""
    allowed = "a number >= 0 (noise std on the sum / clip norm)"
    result = real(name, value, allowed)
    require(result >= 0, name, value, allowed)
    return result


def oracle_noise(value: Any, failure_probability: float) -> float:
    """Noise multiplier of an oracle call: infinite noise hides nothing if the call may fail."""
    result = noise_multiplier(value)
    allowed = f"finite where failure_probability={failure_probability!r} is above 0"
    require(result < math.inf or not failure_probability > 0, "noise_multiplier", value, allowed)
    return result


def probability(value: Any, name: str = "sampling_probability") -> float:
    """A probability in [0, 1]."""
    allowed = "a number in [0, 1]"
    result = real(name, value, allowed)
    require(0 <= result <= 1, name, value, allowed)
    return result


def target_delta(value: Any, *, open_ends: bool = False) -> float:
    """δ in [0, 1], or in (0, 1) where a solve needs it."""
    allowed = "a number in (0, 1)" if open_ends else "a number in [0, 1]"
    result = real("target_delta", value, allowed)
    require(0 < result < 1 if open_ends else 0 <= result <= 1, "target_delta", value, allowed)
    return result


def target_epsilon(value: Any, *, open_ends: bool = False) -> float:
    """ε in [0, inf], or in (0, inf) where a solve needs it."""
    allowed = "a finite number > 0" if open_ends else "a number in [0, inf]"
    result = real("target_epsilon", value, allowed)
    require(0 < result < math.inf if open_ends else result >= 0, "target_epsilon", value, allowed)
    return result


def whole(value: Any, name: str, minimum: int = 0, maximum: int = LARGEST_WHOLE) -> int:
    """A whole number in [``minimum``, ``maximum``] (booleans and floats are refused)."""
    allowed = f"a whole number >= {minimum}"
    ok = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    require(ok, name, value, allowed)
    require(int(value) >= minimum, name, value, allowed)
    require(int(value) <= maximum, name, value, f"{allowed} and <= {maximum:.0e}")
    return int(value)


def uses(value: int) -> int:
    """How often one part of an event is applied: counts of the tree multiplied with ``count``."""
    allowed = f"at most {LARGEST_USES:.0e} uses of one part of an event in all"
    require(value <= LARGEST_USES, "count", value, allowed)
    return value
