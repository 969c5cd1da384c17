"""Reads the random tables ``data/box_*.json`` and judges an accountant by them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from accountants import Bracket, NeighboringRelation
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson, WithoutReplacement, WithReplacement

DATA = Path(__file__).parent / "data"
ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL

EXACT = 1e-9  # relative width where both ends are proved exact
UPPER = 1e-3  # how far above the symmetrised pair the fast upper end may be
LOWER = 1e-6  # relative distance of a lower end from the best attained pair

Make = Callable[[NeighboringRelation, str], Any]


@dataclass(frozen=True)
class Row:
    """One random setting with its references, (value, relative error) by name; None: unresolved."""

    sampling: str
    number: int
    q: float
    dataset_size: int
    batch_size: int
    sigma: float
    count: int
    delta: float
    answers: dict[str, tuple[float, float] | None]

    def __str__(self) -> str:
        sizes = f"q={self.q:g}"
        if self.sampling != "poisson":
            sizes = f"n={self.dataset_size}, m={self.batch_size}"
        return (
            f"{self.sampling} {self.number}: {sizes}, sigma={self.sigma:g}, T={self.count}, "
            f"delta={self.delta:g}"
        )

    @property
    def event(self) -> Any:
        if self.sampling == "poisson":
            sampling: Any = Poisson(self.q)
        elif self.sampling == "without":
            sampling = WithoutReplacement(self.dataset_size, self.batch_size)
        else:
            sampling = WithReplacement(self.dataset_size, self.batch_size)
        return dp_sgd_event(sampling=sampling, noise_multiplier=self.sigma, steps=self.count)

    @property
    def takes_long(self) -> bool:
        """Rare, large losses: seconds instead of milliseconds."""
        rare = self.q * self.count < 20
        return self.q < 1 and self.count > 1 and (rare or self.sigma < 0.5 or self.delta < 1e-20)

    def bracket(self, make: Make, relation: NeighboringRelation, direction: str) -> Bracket:
        found: Bracket = make(relation, direction).compose(self.event).epsilon_bracket(self.delta)
        return found


@cache
def rows(sampling: str) -> tuple[Row, ...]:
    """All rows of one table."""
    found = json.loads((DATA / f"box_{sampling}.json").read_text(encoding="utf-8"))
    return tuple(_row(sampling, row) for row in found)


def _row(sampling: str, row: dict[str, Any]) -> Row:
    answers = {
        name: None if value is None else (float(value[0]), 10.0 ** -value[1] + 3e-16)
        for name, value in row["answers"].items()
    }
    n, m = row.get("dataset_size", 0), row.get("batch_size", 0)
    q = float(row["q"]) if sampling == "poisson" else m / n
    sigma = float(Fraction(row["sigma"]))
    delta = float(row["delta"])
    return Row(sampling, row["number"], q, n, m, sigma, row["count"], delta, answers)


def within(bracket: Bracket, answer: tuple[float, float], width: float) -> list[str]:
    """What is wrong with a bracket around an exact answer."""
    value, error = answer
    room = error * abs(value)
    wrong = above(bracket, answer) + below(bracket, answer)
    if bracket.upper - bracket.lower > width * abs(value) + room:
        wrong.append(f"{bracket!r} is wider than {width:g} of {value!r}")
    return wrong


def above(bracket: Bracket, attained: tuple[float, float]) -> list[str]:
    """The upper end is not below an attained value."""
    value, error = attained
    return [] if bracket.upper >= value * (1 - error) else [f"{bracket!r} below {value!r}"]


def below(bracket: Bracket, bound: tuple[float, float]) -> list[str]:
    """The lower end is not above a bound."""
    value, error = bound
    return [] if bracket.lower <= value * (1 + error) else [f"{bracket!r} above {value!r}"]


def unresolved(row: Row, relation: NeighboringRelation) -> bool:
    """Whether the row says nothing about ``relation``."""
    if row.sampling == "poisson" and relation is REPLACE:
        return row.answers["replace"] is None
    if row.sampling == "poisson":
        return all(v is None for k, v in row.answers.items() if k != "replace")
    if relation is SPECIAL:
        return all(v is None for k, v in row.answers.items() if k.startswith("special"))
    return row.answers["PQ"] is None


def check(make: Make, row: Row, relation: NeighboringRelation) -> list[str]:
    """What is wrong with the accountant on one setting; empty when nothing is."""
    known = {name: value for name, value in row.answers.items() if value is not None}
    if row.sampling == "poisson":
        if relation is REPLACE:
            return within(row.bracket(make, REPLACE, "both"), known["replace"], EXACT)
        side = next(name for name in known if name != "replace")
        return within(row.bracket(make, relation, side), known[side], EXACT)
    if relation is ADD_REMOVE:
        side, name = ("add", "QP") if "QP" in known else ("remove", "PQ")
        return within(row.bracket(make, relation, side), known[name], EXACT)
    upper = next(known[name] for name in ("symmetrised", "above symmetrised") if name in known)
    bracket = row.bracket(make, relation, "both")
    wrong = below(bracket, upper)
    special = relation is SPECIAL
    attained = [v for k, v in known.items() if k in _names(special)]
    for one in attained:
        wrong += above(bracket, one)
    best = max(attained)
    if not special and bracket.lower < best[0] * (1 - LOWER - best[1]):
        wrong.append(f"{bracket!r}: the lower end is below the attained {best[0]!r}")
    closed = not special and "symmetrised" in known and row.sampling == "without"
    low, high = upper[0] * (1 - EXACT - upper[1]), upper[0] * (1 + UPPER)
    if closed and not low <= bracket.upper <= high:
        wrong.append(f"{bracket!r}: the upper end is not that very pair's, {upper[0]!r}")
    return wrong


def _names(special: bool) -> tuple[str, ...]:
    if special:
        return tuple(f"special z={z} {side}" for z in ("-1", "0") for side in ("real", "null"))
    return ("PQ", "QP", "z=-99/100 PQ", "z=-1/2 PQ", "z=0 PQ")


def is_finite(bracket: Bracket) -> bool:
    """Whether the upper end says anything."""
    return math.isfinite(bracket.upper)
