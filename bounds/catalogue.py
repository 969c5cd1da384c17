"""All theorems by id.

A module of `bounds.dp2` or `bounds.resque` that ends with ``THEOREMS`` is in the catalogue; there
is no list to keep. A theorem is built when it is asked for: `bounds.listing` knows where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from bounds import listing
from bounds.theorem import Theorem


@cache
def theorems() -> Mapping[str, Theorem]:
    """All theorems by id, in reading order; read-only.

    Raises
    ------
    ValueError
        When two theorems have one id, or an id does not begin with the name of its paper.
    """
    return _Catalogue(listing.paper_map())


def theorem(id: str) -> Theorem:
    """One theorem.

    Raises
    ------
    ValueError
        When there is none of that id; the message names those whose ids are near.
    """
    found = theorems()
    if id in found:
        return found[id]
    raise _unknown(id)


def _unknown(id: str) -> ValueError:
    near = ", ".join(near_ids(str(id))) or "none"
    return ValueError(f"theorem {id!r} is not in the catalogue; ids near it: {near}")


def file_of(id: str) -> str:
    """The file that defines a theorem, from the root of the sources: ``"bounds/dp2/master.py"``.

    Raises
    ------
    ValueError
        As `theorem`.
    """
    files = {row["id"]: row["file"] for row in listing.paper_map()}
    if id not in files:
        raise _unknown(id)
    return files[id]


def near_ids(id: str, most: int = 5) -> list[str]:
    """Ids that resemble a word: those that contain it or whose last part does, then alike ones."""
    known = list(theorems())
    word = id.strip().lower()
    folded = {each.lower(): each for each in known}
    inside = [each for low, each in folded.items() if word and word in low]
    alike = [folded[low] for low in get_close_matches(word, folded, n=most, cutoff=0.5)]
    tails = {low.partition(".")[2]: each for low, each in folded.items()}
    alike += [tails[low] for low in get_close_matches(word, tails, n=most, cutoff=0.6)]
    return list(dict.fromkeys(inside + alike))[:most]


class _Catalogue(Mapping[str, Theorem]):
    """Theorems by id, each built when it is asked for."""

    def __init__(self, rows: Sequence[Mapping[str, str]]) -> None:
        self._modules: dict[str, str] = {}
        for row in rows:
            id, module = row["id"], listing.module_of(row)
            start = listing.prefix(module.rpartition(".")[0])
            if not id.startswith(start):
                raise ValueError(
                    f"id = {id!r} in {module} is not allowed: it begins with {start!r}"
                )
            if id in self._modules:
                raise ValueError(f"id = {id!r} in {module} is the id of another theorem")
            self._modules[id] = module

    def __getitem__(self, id: str) -> Theorem:
        listed: tuple[Theorem, ...] = import_module(self._modules[id]).THEOREMS
        return next(each for each in listed if each.id == id)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)
