"""docs/explanation/architecture.md is the architecture: its rows, its rooms, its folders."""

import re

import pytest

from docs.site.places import DOCS, ROOT
from tests.docs.rooms import LIBRARIES, imports_of_rooms, rooms
from tests.repo.project import settings

PAGE = (DOCS / "explanation" / "architecture.md").read_text()
# Beside the rows, as the page says.
MAY_IMPORT = {
    "dp2theory.digits": set(),
    "dp2theory.files": set(),
    "dp2theory.integrations": {
        *LIBRARIES,
        "dp2theory.digits",
        "dp2theory.files",
        "dp2theory.planning",
        "dp2theory.optimizers",
        "dp2theory.problems",
    },
}


def rows_of_page(text: str) -> list[set[str]]:
    """The rows of the diagram, each a set of rooms."""
    (diagram,) = re.findall(r"^```text\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [set(line.split(" | ")) for line in diagram.splitlines()]


def rows_of_contract(contracts: list[dict]) -> list[set[str]]:
    """The rows of import-linter's contract; parentheses mean that a room may be missing."""
    (layers,) = [contract["layers"] for contract in contracts if contract["id"] == "layers"]
    return [set(re.sub(r"[()]", "", row).split(" | ")) for row in layers]


def first_cells(text: str, heading: str) -> set[str]:
    """The names in the first column of the table that follows a heading."""
    table = text.split(f"\n| {heading} |")[1].split("\n\n")[0]
    return set(re.findall(r"^\| `([\w./]+)` \|", table, flags=re.MULTILINE))


def test_rows_are_those_of_the_contract():
    contract = rows_of_contract(settings()["tool"]["importlinter"]["contracts"])
    assert rows_of_page(PAGE) == contract
    swapped = PAGE.replace("dp2theory.planning\ndp2", "dp2", 1)
    assert rows_of_page(swapped) != contract


def test_rooms_are_the_folders():
    there = rooms() | set(LIBRARIES)
    assert first_cells(PAGE, "room") == there
    assert set.union(*rows_of_page(PAGE)) == there - set(MAY_IMPORT)


def rooms_of_contributing(text: str) -> set[str]:
    """The names at the left of the block under "Where things go"."""
    block = text.split("## Where things go")[1].split("```")[1]
    names = [re.split(r"  +", line)[0] for line in block.strip().splitlines()]
    return {name for line in names for name in line.split(" | ")}


def test_contributing_names_every_room():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    there = rooms() | set(LIBRARIES)
    assert rooms_of_contributing(text) == there
    assert rooms_of_contributing(text.replace("dp2theory.planning", "dp2theory.plans")) != there


def test_an_unknown_room_is_noticed(tmp_path):
    folder = tmp_path / "dp2theory" / "attic"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text('"""New."""\n')
    (tmp_path / "dp2theory" / "cellar.py").write_text('"""New."""\n')
    assert rooms(tmp_path) == {"dp2theory.attic", "dp2theory.cellar"}


def test_folders_of_the_libraries():
    there = {
        f"{library}/{path.parent.name}"
        for library in LIBRARIES
        for path in (ROOT / library).glob("*/__init__.py")
    }
    assert first_cells(PAGE, "folder") == there


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    return imports_of_rooms()


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_beside_the_rows_import_what_the_page_says(room, imports):
    assert imports[room] <= MAY_IMPORT[room]


def test_nothing_imports_the_integrations(imports):
    assert [room for room, others in imports.items() if "dp2theory.integrations" in others] == []


def test_imports_are_seen_inside_functions_and_not_for_types(tmp_path):
    folder = tmp_path / "dp2theory" / "files"
    folder.mkdir(parents=True)
    (folder / "one.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import dp2theory.cli\n"
        "def f():\n    from dp2theory.planning import plan\n    import accountants.exact\n"
    )
    seen = imports_of_rooms(tmp_path)
    assert seen == {"dp2theory.files": {"dp2theory.planning", "accountants"}}
