"""Reference values with both ends, from a file that needs no Python.

``data/corpus-1.json`` holds events, relations, δ and an interval that contains ε, with the method
behind each; docs/corpus.md says what its fields mean.  Nothing there was computed by an accountant
of this package.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import rounding
from accountants.bracket import Bracket
from accountants.laws.notation import event_from_plain
from accountants.ledger_trees import Malformed

__all__ = ["VERSION", "Row", "parse", "rows"]

#: Of the layout of the corpus file.
VERSION = 1
#: Relations by the names that the file has for them.
RELATIONS = {
    "add-or-remove-one": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace-one": NeighboringRelation.REPLACE_ONE,
    "replace-special": NeighboringRelation.REPLACE_SPECIAL,
}
_FIELDS = {
    "id": str,
    "family": str,
    "event": dict,
    "relation": str,
    "delta": float,
    "lower": str,
    "upper": str,
    "digits": int,
    "exact": bool,
    "source": str,
}
_DECIMAL = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?(e-?[0-9]+)?")


@dataclass(frozen=True)
class Row:
    """One reference value.

    Attributes
    ----------
    id : str
        Unique, and kept by every later version.
    event : dp_accounting.DpEvent
        Noise multipliers are relative to the clip norm, under every relation.
    relation : NeighboringRelation
    delta : float
    lower, upper : float
        ε is in ``[lower, upper]``; the decimals of the file, rounded outward.
    source : str
        How the ends were obtained.
    family : str
        What kind of event it is.
    digits : int
        Each end is within 10^-digits, relatively, of the number that it bounds.
    exact : bool
        Whether both ends bound the same number; else the lower one is attained by a pair of data
        sets, and the upper one is proved for every pair.
    report : str or None
        The public report whose input this is.
    """

    id: str
    event: dp_accounting.DpEvent
    relation: NeighboringRelation
    delta: float
    lower: float
    upper: float
    source: str
    family: str
    digits: int
    exact: bool
    report: str | None = None

    @property
    def bracket(self) -> Bracket:
        """Both ends."""
        return Bracket(self.lower, self.upper)


@functools.cache
def rows() -> tuple[Row, ...]:
    """All rows of the corpus, read once.

    Raises
    ------
    ValueError
        If the file that was installed is not what was shipped.
    """
    file = importlib.resources.files("accountants.laws") / "data" / f"corpus-{VERSION}.json"
    return parse(json.loads(file.read_text(encoding="utf-8")))


def parse(document: Any) -> tuple[Row, ...]:
    """Rows of a document, checked.

    Parameters
    ----------
    document : dict
        A corpus as ``json.load`` gives it.

    Returns
    -------
    tuple of Row

    Raises
    ------
    ValueError
        Naming the place, what stands there and what is allowed.
    """
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise Malformed("$", document, f"a corpus of version {VERSION}")
    if not isinstance(document.get("rows"), list):
        raise Malformed("$.rows", document.get("rows"), "a list")
    found: dict[str, Row] = {}
    for index, plain in enumerate(document["rows"]):
        row = _row(plain, f"$.rows[{index}]")
        if row.id in found:
            raise Malformed(f"$.rows[{index}].id", row.id, "an id of its own")
        found[row.id] = row
    return tuple(found.values())


def _row(plain: Any, place: str) -> Row:
    if not isinstance(plain, dict):
        raise Malformed(place, plain, "an object")
    for name, kind in _FIELDS.items():
        value = plain.get(name)
        if type(value) is not kind:
            raise Malformed(f"{place}.{name}", value, f"given, of type {kind.__name__}")
    for name in plain:
        if name not in (*_FIELDS, "report"):
            raise Malformed(f"{place}.{name}", plain[name], "left out: no field has this name")
    relation, delta = plain["relation"], plain["delta"]
    if relation not in RELATIONS:
        raise Malformed(f"{place}.relation", relation, f"one of {', '.join(RELATIONS)}")
    if not 0 <= delta <= 1:
        raise Malformed(f"{place}.delta", delta, "a number in [0, 1]")
    lower, upper = (_decimal(plain[name], f"{place}.{name}") for name in ("lower", "upper"))
    if lower > upper:
        raise Malformed(f"{place}.upper", plain["upper"], "at least the lower end")
    return Row(
        id=plain["id"],
        event=event_from_plain(plain["event"], f"{place}.event"),
        relation=RELATIONS[relation],
        delta=delta,
        lower=float_below(lower),
        upper=float_above(upper),
        source=plain["source"],
        family=plain["family"],
        digits=plain["digits"],
        exact=plain["exact"],
        report=plain.get("report"),
    )


def _decimal(text: str, place: str) -> Decimal:
    if text == "inf":
        return Decimal("Infinity")
    if not _DECIMAL.fullmatch(text):
        raise Malformed(place, text, 'a decimal >= 0, or "inf"')
    return Decimal(text)


def float_below(value: Decimal) -> float:
    """The largest float that is not above ``value``."""
    nearest = float(value)
    return nearest if math.isinf(nearest) or Decimal(nearest) <= value else rounding.below(nearest)


def float_above(value: Decimal) -> float:
    """The smallest float that is not below ``value``."""
    nearest = float(value)
    return nearest if math.isinf(nearest) or Decimal(nearest) >= value else rounding.above(nearest)
