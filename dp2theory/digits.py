"""Numbers in a few digits, shortened so that they stay true: an upper end up, a lower end down.

A figure that stands for a guarantee may be read off a page or a terminal and used. What is shown
of it must then be on the same side of the truth as the figure itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context
from typing import Any

#: Kind of a number -> how it is shortened; others to nearest. What is "chosen" is noise, above all,
#: and more noise is more private.
_ROUNDING = {"upper": ROUND_CEILING, "chosen": ROUND_CEILING, "lower": ROUND_FLOOR}


def short(value: Any, kind: str = "", digits: int = 6) -> str:
    """A number in so many digits.

    Parameters
    ----------
    value : float or int or str or None
        Integers keep all their digits, text (as "inf" in JSON) stays, None is a dash.
    kind : str
        "upper" and "chosen" round up, "lower" rounds down, all others to nearest.
    digits : int

    Examples
    --------
    >>> short(0.393586653, "upper", 4), short(0.393586653, "lower", 4)
    ('0.3936', '0.3935')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if not math.isfinite(value):
        return str(float(value))
    rounding = _ROUNDING.get(kind, ROUND_HALF_EVEN)
    # The shortest decimal that names the float is what JSON shows, and what 2.8 is to a person.
    rounded = Context(prec=digits, rounding=rounding).create_decimal(repr(float(value)))
    return f"{float(rounded):.{digits}g}"


def within(bracket: Mapping[str, Any], digits: int = 6) -> str:
    """``[lower, upper]`` in so many digits, the lower end rounded down and the upper end up.

    Examples
    --------
    >>> within({"lower": 0.393586653, "upper": 0.393586659}, 4)
    '[0.3935, 0.3936]'
    """
    lower, upper = (short(bracket[end], end, digits) for end in ("lower", "upper"))
    return f"[{lower}, {upper}]"
