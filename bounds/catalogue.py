"""All theorems by id.

A module of `bounds.dp2` or `bounds.resque` that ends with ``THEOREMS`` is in the catalogue; there
is no list to keep. `bounds.listing` lists them without building them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from types import MappingProxyType

from bounds import listing
from bounds.theorem import Theorem


def theorems() -> Mapping[str, Theorem]:
    """All theorems by id, in reading order; read-only."""
    return _read()


def theorem(id: str) -> Theorem:
    """One theorem; other modules are imported only as far as finding it takes.

    Raises
    ------
    ValueError
        When there is none of that id; the message names those whose ids are near.
    """
    return _find(id)[1]


def module_of(id: str) -> str:
    """The module that defines a theorem: ``"bounds.dp2.master"``. ValueError when unknown."""
    return _find(id)[0]


def file_of(id: str) -> str:
    """The file of that module, from the root of the sources: ``"bounds/dp2/master.py"``."""
    return module_of(id).replace(".", "/") + ".py"


def near_ids(id: str, most: int = 5) -> list[str]:
    """Ids that resemble a word: those that contain it or whose last part does, then alike ones."""
    known = [row["id"] for row in listing.paper_map()]
    word = id.strip().lower()
    folded = {each.lower(): each for each in known}
    inside = [each for low, each in folded.items() if word and word in low]
    alike = [folded[low] for low in get_close_matches(word, folded, n=most, cutoff=0.5)]
    tails = {low.partition(".")[2]: each for low, each in folded.items()}
    alike += [tails[low] for low in get_close_matches(word, tails, n=most, cutoff=0.6)]
    return list(dict.fromkeys(inside + alike))[:most]


def _walk(package: str, first: str | None = None) -> Iterator[tuple[str, Theorem]]:
    """Module and theorem, one after the other; a module is imported when its turn comes."""
    for module in sorted(listing.modules(package), key=lambda name: name != first):
        listed: tuple[Theorem, ...] = getattr(import_module(module), "THEOREMS", ())
        for each in listed:
            yield module, each


def _find(id: str) -> tuple[str, Theorem]:
    for package in listing.PACKAGES:
        if id.startswith(listing.prefix(package)):
            for module, each in _walk(package, first=listing.home_of(id)):
                if each.id == id:
                    return module, each
    near = ", ".join(near_ids(id)) or "none"
    raise ValueError(f"theorem {id!r} is not in the catalogue; ids near it: {near}")


@cache
def _read() -> Mapping[str, Theorem]:
    found: dict[str, Theorem] = {}
    for package in listing.PACKAGES:
        start = listing.prefix(package)
        for module, each in _walk(package):
            if not each.id.startswith(start):
                raise ValueError(
                    f"id = {each.id!r} in {module} is not allowed: it begins with {start!r}"
                )
            if each.id in found:
                raise ValueError(f"id = {each.id!r} in {module} is the id of another theorem")
            found[each.id] = each
    return MappingProxyType({id: found[id] for id in sorted(found, key=listing.reading_order)})
