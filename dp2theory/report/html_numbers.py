"""Numbers on pages: looked up in the JSON output, shown with their kinds, and read back by tests.

A number stands in a ``<data>`` element: its attribute ``value`` is the number of the JSON output to
the last digit, ``data-field`` the place where it stands there, as in ``result.epsilon.upper``. Its
text may be shorter, and then an upper end is rounded up and a lower end down.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dp2theory.digits import short
from dp2theory.report import tables
from dp2theory.report.tables import Markup

#: Kind of a number -> what is written beside it, and what that means.
KINDS = {
    "upper": (
        "proved upper end",
        "whoever computes it exactly finds no more; rounded up where it is shortened",
    ),
    "lower": (
        "attained lower end",
        "a mechanism that the inputs describe costs as much; rounded down where it is shortened",
    ),
    "estimate": ("estimate", "computed from noisy or sampled values; no guarantee"),
    "measured": ("measured", "comes from runs that were made"),
    "reported": ("as reported", "another package's answer, not checked here"),
    "counted": ("counted", "an exact number of things"),
    "given": ("given", "stands among the inputs"),
    "chosen": (
        "chosen",
        "set by the command so that the inputs are met, or by a stated rule; rounded up where it "
        "is shortened",
    ),
}


@dataclass(frozen=True)
class Entry:
    """A row of a table of numbers.

    Attributes
    ----------
    label : str
    field : str
        Where the number stands in the document: keys and positions, joined by dots.
    unit : str
    kind : str
        A key of `KINDS`.
    origin : str
        What it rests on: a theorem, a proof, an experiment.
    """

    label: str
    field: str
    unit: str
    kind: str
    origin: str = ""


def lookup(document: Mapping[str, Any], field: str) -> Any:
    """What stands at `field`; None where there is nothing."""
    found: Any = document
    for key in field.split("."):
        if isinstance(found, Sequence) and not isinstance(found, str):
            place = int(key)
            found = found[place] if place < len(found) else None
        elif isinstance(found, Mapping):
            found = found.get(key)
        else:
            return None
    return found


def datum(
    document: Mapping[str, Any], field: str, kind: str = "counted", *, digits: int | None = None
) -> Markup:
    """The number at `field` as an element; all its digits unless `digits` says how many."""
    value = lookup(document, field)
    if value is None or isinstance(value, Mapping | list):
        return Markup("–")
    exact = value if isinstance(value, str) else json.dumps(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    shown = exact if digits is None and not whole else short(value, kind, digits or 6)
    return Markup(
        f"<data value='{html.escape(exact, quote=True)}' "
        f"data-field='{html.escape(field, quote=True)}' data-kind='{html.escape(kind)}'>"
        f"{html.escape(shown)}</data>"
    )


def bracket(
    document: Mapping[str, Any], field: str, kinds: tuple[str, str] = ("lower", "upper")
) -> Markup:
    """``[lower, upper]`` at `field`; a dash where there is none."""
    if lookup(document, field) is None:
        return Markup("–")
    lower = datum(document, f"{field}.lower", kinds[0], digits=6)
    return Markup(f"[{lower}, {datum(document, f'{field}.upper', kinds[1], digits=6)}]")


def kind_mark(kind: str) -> Markup:
    """The words for a kind, as a small mark."""
    words, meaning = KINDS[kind]
    return Markup(
        f"<span class='kind {kind}' title='{html.escape(meaning, quote=True)}'>{words}</span>"
    )


def numbers_table(document: Mapping[str, Any], entries: Sequence[Entry]) -> str:
    """The numbers that are there, with all their digits, units and kinds."""
    rows = [
        [
            entry.label,
            datum(document, entry.field, entry.kind),
            entry.unit,
            kind_mark(entry.kind),
            entry.origin,
        ]
        for entry in entries
        if lookup(document, entry.field) is not None
    ]
    header = ("number", "value", "unit", "kind", "rests on")
    return f"<div class='words'>{tables.html_table(header, rows)}</div>"


def kinds_legend() -> str:
    """What the kinds mean."""
    rows = [[kind_mark(kind), meaning] for kind, (_, meaning) in KINDS.items()]
    return f"<div class='words'>{tables.html_table(('kind', 'meaning'), rows)}</div>"


def inputs_table(inputs: Mapping[str, Mapping[str, Any]]) -> str:
    """The ``inputs`` of the JSON output, each with its unit and where it came from."""
    document = {"inputs": inputs}
    rows = [
        [
            name.replace("_", " "),
            datum(document, f"inputs.{name}.value")
            if _is_number(entry["value"])
            else _words(entry["value"]),
            _unit(entry["value"], str(entry["unit"])),
            "default or derived" if entry["default"] else "given",
        ]
        for name, entry in inputs.items()
    ]
    table = tables.html_table(("input", "value", "unit", "origin"), rows)
    return f"<div class='inputs'>{table}</div>"


def _unit(value: Any, unit: str) -> str:
    """The unit of an input; a dash for what is no quantity."""
    if unit == "name" or isinstance(value, bool):
        return "–"
    return "no unit" if unit == "1" else unit


def _words(value: Any) -> str:
    """An input that is no number."""
    if isinstance(value, list):
        return ", ".join(map(_words, value)) or "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else value if isinstance(value, str) else json.dumps(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
