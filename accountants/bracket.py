"""A number known between two ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from accountants import validation


@dataclass(frozen=True)
class Bracket:
    """A closed interval ``[lower, upper]`` that contains the true value.

    Attributes
    ----------
    lower, upper : float
        The ends; either may be ``inf``.  For a privacy cost ``upper`` is the guarantee.

    Raises
    ------
    ValueError
        If an end is NaN or the ends are out of order.
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            validation.real(name, getattr(self, name), "a number, with lower <= upper")
        if self.lower > self.upper:
            raise ValueError(
                f"lower={self.lower!r}, upper={self.upper!r}: the ends of a bracket must be "
                "numbers with lower <= upper"
            )

    @property
    def width(self) -> float:
        """Distance between the ends (0 where both are infinite)."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def __contains__(self, value: object) -> bool:
        return isinstance(value, (int, float)) and self.lower <= value <= self.upper

    def hull_of_maximum(self, other: Bracket) -> Bracket:
        """Bracket of ``max(a, b)`` where ``a`` lies in this bracket and ``b`` in ``other``."""
        return Bracket(max(self.lower, other.lower), max(self.upper, other.upper))

    def to_json(self) -> dict[str, Any]:
        """``{"lower": …, "upper": …}`` with infinities as the strings ``"inf"``/``"-inf"``."""
        return {
            name: value if math.isfinite(value) else str(value)
            for name, value in (("lower", self.lower), ("upper", self.upper))
        }
