"""Rates of Tables 1 and 2 from the theorems, what of them is recalled, and where they cross."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bounds.evaluate import arguments_of, evaluate
from bounds.resque.tables import DEPTH, QUERIES, ROWS, WORK
from bounds.resque.tables import Row as TableRow
from bounds.resque.tables_private import EXPONENTS
from bounds.resque.tables_private import QUERIES as GRADIENTS
from bounds.resque.tables_private import ROWS as PRIVATE_ROWS

#: Of Table 1.
COLUMNS = (DEPTH, WORK, QUERIES)
#: Row and column -> what of it is recalled: not read in the paper, so never a quotation of it.
RECALLED: dict[tuple[str, str], str] = {
    **{
        ("DBW12", column): "derived from a recalled rate of accelerated stochastic approximation"
        for column in COLUMNS
    },
    ("BJL+19", WORK): "recalled",
    ("BFTT19", GRADIENTS): "n^(9/2) is recalled; read is: at least quadratic",
    ("AFKT21", GRADIENTS): "recalled",
    ("KLL21", GRADIENTS): "the powers of the privacy ε are recalled (here ε = 1)",
}
#: Number of records at which counts are turned into exponents: its twelfth root is whole.
RECORDS = 10**12
#: The four rows for which `bounds` has an exponent of its own.
_KEYS = {"theorem4": "Theorem 4", "afkt21": "AFKT21", "kll21": "KLL21", "gll22": "GLL22"}


@dataclass(frozen=True)
class RateRow:
    """One method at several accuracies, or at several powers of the dimension.

    Attributes
    ----------
    method : str
    status : str
        stated, recalled or derived, as `bounds` has it.
    note : str
    values : dict of str to tuple of float
        Column -> one value for each accuracy or power.
    recalled : dict of str to str
        Column -> what of it is recalled.
    """

    method: str
    status: str
    note: str
    values: dict[str, tuple[float, ...]]
    recalled: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "method": self.method,
            "status": self.status,
            "note": self.note,
            "values": {column: list(values) for column, values in self.values.items()},
            "recalled": dict(self.recalled),
        }


def value_at(expression: Any, **parameters: Any) -> float:
    """A rate at these parameters; those it does not depend on are left out."""
    wanted = arguments_of(expression)
    kept = {name: value for name, value in parameters.items() if name in wanted}
    return float(evaluate(expression, **kept))


def parallel_rates(dimension: int, accuracies: Sequence[float]) -> tuple[RateRow, ...]:
    """The rows of Table 1 for L = R = 1, without constants and logarithms.

    Parameters
    ----------
    dimension : int
    accuracies : sequence of float
        Values of the accuracy ε.

    Returns
    -------
    tuple of RateRow
        Columns query depth, computational depth and total queries (theorem resque.table1).
    """
    return tuple(
        _row(
            row,
            {
                column: tuple(
                    value_at(rate, dimension=dimension, accuracy=each) for each in accuracies
                )
                for column, rate in row.values.items()
            },
        )
        for row in ROWS
    )


def private_exponents(thetas: Sequence[Any]) -> tuple[RateRow, ...]:
    """Exponents of n in the rows of Table 2 for d = n^theta and privacy ε = 1.

    Rows for which `bounds` has the exponent as an expression take it from there
    (resque.table2); the others are powers of n and d, read off at n = `RECORDS`.

    Parameters
    ----------
    thetas : sequence of Fraction
        At least 0; 12 theta is a whole number, so that d is one at n = `RECORDS`.
    """
    own = {method: EXPONENTS[key] for key, method in _KEYS.items()}
    rows = []
    for row in PRIVATE_ROWS:
        values = {}
        for column, count in row.values.items():
            if row.name in own:
                found = [value_at(own[row.name], dimension_exponent=each) for each in thetas]
            else:
                found = [exponent_at_records(count, each) for each in thetas]
            values[column] = tuple(found)
        rows.append(_row(row, values))
    return tuple(rows)


def exponent_at_records(count: Any, theta: Any) -> float:
    """log(count)/log(n) at n = `RECORDS`, d = n^theta, privacy ε = 1."""
    dimension = 10 ** whole_power(theta)
    number = value_at(count, dataset_size=RECORDS, dimension=dimension, target_epsilon=1.0)
    return math.log(number) / math.log(RECORDS)


def whole_power(theta: Any) -> int:
    """12 theta, when it is a whole number of at least 0."""
    twelfths = theta * 12
    if theta < 0 or twelfths != int(twelfths):
        raise ValueError(f"theta={theta!r}: must be k/12 for a whole number k >= 0")
    return int(twelfths)


def _row(row: TableRow, values: dict[str, tuple[float, ...]]) -> RateRow:
    recalled = {
        column: RECALLED[row.name, column] for column in values if (row.name, column) in RECALLED
    }
    return RateRow(row.name, str(row.status), row.note, values, recalled)


def by_method(rows: Sequence[RateRow]) -> dict[str, RateRow]:
    """Rows by their method."""
    return {row.method: row for row in rows}


def crossing(
    first: Callable[[float], float], second: Callable[[float], float], low: float, high: float
) -> float | None:
    """Where two positive functions meet between `low` and `high`; None if they do not change order.

    Parameters
    ----------
    first, second : callable
        Their ratio is monotone in between.
    low, high : float
    """

    def above(x: float) -> bool:
        return first(x) > second(x)

    at_low = above(low)
    if above(high) == at_low:
        return None
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if above(middle) == at_low:
            low = middle
        else:
            high = middle
    return high
