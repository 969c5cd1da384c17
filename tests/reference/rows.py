"""Reads the reference tables."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import mpmath

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Row:
    """One reference value with its inputs.

    ``digits`` is the number of digits on which two computations agree; ``steps`` holds
    (q, sigma, count) as exact rationals; a row about sigma has 1 or a first guess there.
    """

    table: str
    source: str
    quantity: str
    direction: str
    steps: tuple[tuple[Fraction, Fraction, int], ...]
    delta: Fraction | None
    epsilon: Fraction | None
    value: str
    digits: float
    method: str

    def __str__(self) -> str:
        mix = "+".join(f"({float(q):g},{float(s):g},{t})" for q, s, t in self.steps)
        at = "" if self.delta is None else f" delta={_short(self.delta)}"
        at += "" if self.epsilon is None else f" epsilon={_short(self.epsilon)}"
        return f"{self.source} {self.quantity} {self.direction} {mix}{at}"

    @property
    def number(self) -> float:
        """The value as a float (0.0 where it is below their range)."""
        return float(self.value)

    @property
    def log(self) -> float:
        """Natural logarithm of the value."""
        with mpmath.workdps(30):
            return float(mpmath.log(mpmath.mpf(self.value)))

    @property
    def slack(self) -> float:
        """Relative error of the reference itself, and of the floats made from its inputs."""
        return math.pow(10.0, -self.digits) + 3e-16


def _short(x: Fraction) -> str:
    return f"{float(x):.6g}"


@cache
def rows(table: str) -> tuple[Row, ...]:
    """All rows of ``data/<table>.json``."""
    found = json.loads((DATA / f"{table}.json").read_text(encoding="utf-8"))
    return tuple(
        Row(
            table=table,
            source=row["source"],
            quantity=row["quantity"],
            direction=row["direction"],
            steps=tuple((Fraction(s["q"]), Fraction(s["sigma"]), s["count"]) for s in row["steps"]),
            delta=Fraction(row["delta"]) if "delta" in row else None,
            epsilon=Fraction(row["epsilon"]) if "epsilon" in row else None,
            value=row["value"],
            digits=row["digits"],
            method=row["method"],
        )
        for row in found
    )
