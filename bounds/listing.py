"""The list of theorems without building them: ids, titles and sources, and where each is defined.

Building all theorems takes seconds. What a list needs is kept in ``listing.json``, written by
``make theorems``, module by module with a digest of the source; a module whose source is another
one by now, or that is new, is imported instead. Nothing heavy is imported otherwise.
"""

from __future__ import annotations

import hashlib
import json
import pkgutil
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

#: The two papers' packages; an id begins with the last part of the name.
PACKAGES = ("bounds.dp2", "bounds.resque")
#: Where the list is kept.
KEPT = Path(__file__).with_name("listing.json")
#: Ids in reading order, each with those that it is the beginning of ("dp2.A" with "dp2.A.metric");
#: what is not named here comes last in its paper, by id.
ORDER = (
    *"dp2.master dp2.variation dp2.gamma dp2.dp-sgd dp2.A dp2.A0 dp2.closed".split(),
    *"dp2.recalled dp2.relaxed dp2.hermite dp2.exponent dp2.W dp2.B dp2.C dp2.CTV".split(),
    *"dp2.first-phase dp2.h dp2.phi dp2.S1 dp2.S2 dp2.nonconvex dp2.noise".split(),
    *"resque.E1 resque.E2 resque.E3 resque.E4 resque.E5 resque.E6 resque.E7".split(),
    *"resque.F1 resque.F2 resque.F3 resque.F4 resque.F5 resque.ball resque.parallel".split(),
    *"resque.table1 resque.private resque.table2 resque.drift resque.definitions".split(),
    "resque.approximate",
)


def prefix(package: str) -> str:
    """How the ids of a package begin: ``"dp2."``."""
    return package.rpartition(".")[2] + "."


def modules(package: str) -> dict[str, Path]:
    """The modules of a package, by name, with their files."""
    folder = Path(next(iter(import_module(package).__path__)))
    names = sorted(found.name for found in pkgutil.iter_modules([str(folder)]))
    return {f"{package}.{name}": folder / f"{name}.py" for name in names}


def reading_order(id: str) -> tuple[str, int, tuple[str, ...]]:
    """Sorts ids: by paper, by `ORDER`, then by id; ``"a.b"`` comes right after ``"a"``."""
    parts = tuple(id.split("."))
    heads = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    place = next((ORDER.index(head) for head in heads if head in ORDER), len(ORDER))
    return parts[0], place, parts


def kept() -> Mapping[str, Any]:
    """What is kept: by module the digest of its source and its rows."""
    if not KEPT.is_file():
        return {}
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def digest(source: Path) -> str:
    """Tells whether a source has changed."""
    return hashlib.sha256(source.read_text(encoding="utf-8").encode()).hexdigest()[:16]


def paper_map() -> list[dict[str, str]]:
    """Which item of which paper is which theorem, in reading order.

    Returns
    -------
    list of dict
        ``paper`` (a key of `bounds.bibliography`), ``item``, ``id``, ``title``, ``kind``,
        ``status``, ``note`` and ``file`` (from the root of the sources).
    """
    before = kept()
    rows: list[dict[str, str]] = []
    for package in PACKAGES:
        for module, source in modules(package).items():
            known = before.get(module)
            if known is not None and known["digest"] == digest(source):
                rows += known["rows"]
            else:
                rows += rows_of(module)
    return sorted(rows, key=lambda row: reading_order(row["id"]))


def rows_of(module: str) -> list[dict[str, str]]:
    """The rows of one module's theorems, from the theorems themselves."""
    return [
        {
            "paper": each.source.key,
            "item": each.source.item,
            "id": each.id,
            "title": each.title,
            "kind": str(each.kind),
            "status": str(each.source.status),
            "note": each.source.note,
            "file": module.replace(".", "/") + ".py",
        }
        for each in getattr(import_module(module), "THEOREMS", ())
    ]


def current() -> dict[str, Any]:
    """What ought to be kept, from the theorems themselves."""
    return {
        module: {"digest": digest(source), "rows": rows_of(module)}
        for package in PACKAGES
        for module, source in modules(package).items()
    }


def module_of(row: Mapping[str, str]) -> str:
    """The module that a row's theorem is in: ``"bounds.dp2.master"``."""
    return row["file"].removesuffix(".py").replace("/", ".")
