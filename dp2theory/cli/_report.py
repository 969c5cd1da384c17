"""What a page tells beside the result: command line, versions, ledgers and theorems."""

import json
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from dp2theory.cli._command_line import command_line

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from dp2theory.report.html_page import About

PACKAGES = ("dp2theory", "dp-accounting", "numpy", "scipy", "sympy", "matplotlib")
_IDS = re.compile(r"\b(?:dp2|resque)\.[A-Za-z0-9.-]*[A-Za-z0-9]")


def about(document: Mapping[str, Any], ledgers: "Iterable[tuple[str, DpEvent]]" = ()) -> "About":
    """What goes on the page of a result, beside it.

    Parameters
    ----------
    document : mapping
        The envelope of the JSON output.
    ledgers : iterable of (str, DpEvent)
        What each is about, and the event.
    """
    from accountants.ledger import event_to_json
    from dp2theory.report.html_page import About

    return About(
        command=command_line(),
        versions=versions(),
        ledgers=[(label, event_to_json(event)) for label, event in ledgers],
        theorems=theorems_named(document["result"]),
    )


def versions() -> dict[str, str]:
    """Versions of what the numbers came out of."""
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from its sources
            found[name] = "not installed as a package"
    return found


def theorems_named(result: Any) -> list[dict[str, str]]:
    """The theorems whose ids stand anywhere in a result, in the order of the catalogue."""
    from bounds import catalogue, listing

    named = set(_IDS.findall(json.dumps(result, ensure_ascii=False)))
    return [
        {
            "id": row["id"],
            "title": row["title"],
            "statement": str(catalogue.theorem(row["id"]).statement),
        }
        for row in listing.paper_map()
        if row["id"] in named
    ]


def by_event(labelled: "Sequence[tuple[str, DpEvent]]") -> "list[tuple[str, DpEvent]]":
    """Equal events once, with all their labels."""
    found: dict[str, tuple[list[str], DpEvent]] = {}
    for label, event in labelled:
        found.setdefault(repr(event), ([], event))[0].append(label)
    return [("; ".join(dict.fromkeys(labels)), event) for labels, event in found.values()]
