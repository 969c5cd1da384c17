"""Names of code and of theorems that pages speak of exist."""

import importlib
import json
import re
from functools import cache

import pytest

from docs.site.places import DOCS, PACKAGES, ROOT
from docs.site.stage import pages

CODE = re.compile(rf"`((?:{'|'.join(PACKAGES)})(?:\.[A-Za-z_]\w*)+)(?:\([^`]*\))?`")
THEOREM = re.compile(r"`((?:dp2|resque)\.[\w.*-]+)`")
# Records of decisions speak of their time, the changelog of all times.
PAST = (DOCS / "decisions", ROOT / "CHANGELOG.md")
PAGES = [path for path in pages() if path.suffix == ".md" and not {*path.parents, path} & {*PAST}]


def is_module(parts: list[str]) -> bool:
    """Whether a file or folder of the packages has this dotted name."""
    path = ROOT.joinpath(*parts)
    return (path / "__init__.py").exists() or path.with_suffix(".py").exists()


@cache
def exists(name: str) -> bool:
    """Whether a dotted name leads to something; frameworks that are missing are not imported."""
    parts = name.split(".")
    length = max(n for n in range(1, len(parts) + 1) if is_module(parts[:n]))
    module, rest = ".".join(parts[:length]), parts[length:]
    if not rest:
        return True
    try:
        found = importlib.import_module(module)
    except ImportError:
        text = ROOT.joinpath(*parts[:length]).with_suffix(".py").read_text()
        return re.search(rf"^(def|class) {rest[0]}\b", text, re.MULTILINE) is not None
    for part in rest:
        fields = getattr(found, "__dataclass_fields__", {})
        if not hasattr(found, part):
            return part in fields
        found = getattr(found, part)
    return True


def theorem_ids() -> set[str]:
    listing = json.loads((ROOT / "bounds" / "listing.json").read_text())
    found: set[str] = set()
    todo = [listing]
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            found |= {each["id"]} if isinstance(each.get("id"), str) else set()
            todo += each.values()
        elif isinstance(each, list):
            todo += each
    return found


IDS = theorem_ids()


def is_theorem(name: str) -> bool:
    """An id, the first part of ids, or one with a star for the rest."""
    stem = name.rstrip("*").rstrip(".")
    return any(each == stem or each.startswith(stem + ".") for each in IDS)


def test_the_checks_bite():
    assert exists("accountants.budget.remaining_steps")
    assert exists("accountants.ExactAccountant.compose")
    assert exists("dp2theory.integrations.opacus.register")
    assert not exists("accountants.budget.remaining_step")
    assert not exists("accountants.ExactAccountant.composed")
    assert not exists("dp2theory.nowhere.name")
    assert is_theorem("dp2.master")
    assert is_theorem("dp2.gamma.*")
    assert not is_theorem("dp2.mistress")
    assert CODE.findall("`bounds.proof` `bounds.nothing(x, y)` `bounds/dp2`") == [
        "bounds.proof",
        "bounds.nothing",
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_exist(path):
    text = path.read_text()
    assert [name for name in CODE.findall(text) if not exists(name)] == []
    files = {".md", ".py", ".toml", ".json"}
    named = [name for name in THEOREM.findall(text) if not name.endswith(tuple(files))]
    assert [name for name in named if not is_theorem(name)] == []
