"""All theorems by id, and the paper map.

A module of `bounds.dp2` or `bounds.resque` that ends with ``THEOREMS`` is in the catalogue; there
is no list to keep.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from types import MappingProxyType

from bounds.theorem import Theorem

#: The two papers' packages; an id begins with the last part of the name.
PACKAGES = ("bounds.dp2", "bounds.resque")
#: Ids in reading order, each with those that it is the beginning of ("dp2.A" with "dp2.A.metric");
#: what is not named here comes last in its paper, by id.
ORDER = (
    "dp2.master",
    "dp2.gamma",
    "dp2.dp-sgd",
    "dp2.A",
    "dp2.A0",
    "dp2.closed",
    "dp2.recalled",
    "dp2.relaxed",
    "dp2.hermite",
    "dp2.exponent",
    "dp2.W",
    "dp2.B",
    "dp2.C",
    "dp2.CTV",
    "dp2.first-phase",
    "dp2.h",
    "dp2.phi",
    "dp2.S1",
    "dp2.S2",
    "dp2.nonconvex",
    "dp2.noise",
    "resque.E1",
    "resque.E2",
    "resque.E3",
    "resque.E4",
    "resque.E5",
    "resque.E6",
    "resque.E7",
    "resque.F1",
    "resque.F2",
    "resque.F3",
    "resque.F4",
    "resque.F5",
    "resque.ball",
    "resque.parallel",
    "resque.table1",
    "resque.private",
    "resque.table2",
    "resque.drift",
    "resque.definitions",
    "resque.approximate",
)


def theorems() -> Mapping[str, Theorem]:
    """All theorems by id, in reading order; read-only."""
    return _read()


def theorem(id: str) -> Theorem:
    """One theorem; only the modules up to its own are imported.

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
    known = list(theorems())
    word = id.strip().lower()
    folded = {each.lower(): each for each in known}
    inside = [each for low, each in folded.items() if word and word in low]
    alike = [folded[low] for low in get_close_matches(word, folded, n=most, cutoff=0.5)]
    tails = {low.partition(".")[2]: each for low, each in folded.items()}
    alike += [tails[low] for low in get_close_matches(word, tails, n=most, cutoff=0.6)]
    return list(dict.fromkeys(inside + alike))[:most]


def paper_map() -> list[dict[str, str]]:
    """Which item of which paper is which theorem, in reading order.

    Returns
    -------
    list of dict
        ``paper`` (a key of `bounds.bibliography`), ``item``, ``id``, ``title``, ``kind``,
        ``status``, ``note`` and ``file``.
    """
    return [
        {
            "paper": each.source.key,
            "item": each.source.item,
            "id": each.id,
            "title": each.title,
            "kind": str(each.kind),
            "status": str(each.source.status),
            "note": each.source.note,
            "file": file_of(each.id),
        }
        for each in theorems().values()
    ]


def _modules(package: str) -> list[str]:
    path = import_module(package).__path__
    return sorted(f"{package}.{found.name}" for found in pkgutil.iter_modules(path))


def reading_order(id: str) -> tuple[str, int, tuple[str, ...]]:
    """Sorts ids: by paper, by `ORDER`, then by id; ``"a.b"`` comes right after ``"a"``."""
    parts = tuple(id.split("."))
    heads = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    place = next((ORDER.index(head) for head in heads if head in ORDER), len(ORDER))
    return parts[0], place, parts


def _walk(package: str) -> Iterator[tuple[str, Theorem]]:
    """Module and theorem, one after the other; a module is imported when its turn comes."""
    for module in _modules(package):
        listed: tuple[Theorem, ...] = getattr(import_module(module), "THEOREMS", ())
        for each in listed:
            yield module, each


def _find(id: str) -> tuple[str, Theorem]:
    for package in PACKAGES:
        if id.startswith(_prefix(package)):
            for module, each in _walk(package):
                if each.id == id:
                    return module, each
    near = ", ".join(near_ids(id)) or "none"
    raise ValueError(f"theorem {id!r} is not in the catalogue; ids near it: {near}")


@cache
def _read() -> Mapping[str, Theorem]:
    found: dict[str, Theorem] = {}
    for package in PACKAGES:
        for module, each in _walk(package):
            if not each.id.startswith(_prefix(package)):
                raise ValueError(
                    f"id = {each.id!r} in {module} is not allowed: it begins with "
                    f"{_prefix(package)!r}"
                )
            if each.id in found:
                raise ValueError(f"id = {each.id!r} in {module} is the id of another theorem")
            found[each.id] = each
    return MappingProxyType({id: found[id] for id in sorted(found, key=reading_order)})


def _prefix(package: str) -> str:
    return package.rpartition(".")[2] + "."
