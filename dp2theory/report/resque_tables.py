"""Tables of the figures on ReSQue in text: title, header and rows, from given results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dp2theory.report.resque_common import named

#: Title, header, rows.
Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
#: Powers of the dimension that the text shows; the data have more.
THETAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 4 / 3, 1.5, 2.0)
#: Twelfths are the finest grid of powers.
FINEST = 12


def tables_of(result: Mapping[str, Any]) -> list[Table]:
    """The tables of one figure.

    Parameters
    ----------
    result : mapping
        The ``result`` of ``dp2theory figure``.
    """
    data = result["data"]
    makers: dict[str, Sequence[Callable[[Mapping[str, Any]], Table]]] = {
        "resque-fig1": (crossing_table, exponent_table),
    }
    return [make(data) for make in makers[result["figure"]]]


def crossing_table(data: Mapping[str, Any]) -> Table:
    """Where rates cross."""
    rows: list[tuple[str, ...]] = [
        (one["what"], "–" if one["at"] is None else f"{one['at']:.6g}", one["expected_words"])
        for one in (*data["crossings"], *data["meetings"])
    ]
    return ("where rates cross (accuracy ε, or theta)", ("", "at", "expected"), rows)


def exponent_table(data: Mapping[str, Any]) -> Table:
    """Exponents of n, method by method."""
    places = [
        (place, theta)
        for place, theta in enumerate(data["thetas"])
        if any(abs(theta - shown) < 1e-9 for shown in THETAS)
    ]
    rows = [
        (
            named(row, column),
            column,
            *(str(Fraction(values[place]).limit_denominator(100)) for place, _ in places),
        )
        for row in data["private"]
        for column, values in row["values"].items()
    ]
    header = tuple(str(Fraction(theta).limit_denominator(FINEST)) for _, theta in places)
    return ("exponents of n for d = n^theta, privacy ε = 1", ("theta", "", *header), rows)
