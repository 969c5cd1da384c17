"""The tree is what it says: short files, no empty ones, and no word of places outside it."""

import ast
import re
from pathlib import Path

import pytest

from tests.repo.project import PACKAGES, ROOT, project_files

MOST_LINES = 400
TEXT = {".py", ".md", ".toml", ".cff", ".json", ".yml", ".yaml", ".txt", ".html", ".mplstyle", ""}
# Written in pieces, so that this file does not contain what it forbids.
OUTSIDE = re.compile(
    "|".join(
        (
            r"(?<![\w.])/" + r"work/",
            r"(?<![\w.])/" + r"root/",
            r"(?<![\w.])/" + r"home/",
            r"(?<![\w.])/opt/" + r"pypi",
            r"\.\./" + r"shared",
            r"(?<!\w)shared/" + r"(theory|design|cases|data|hooks)",
            "py" + r"pi\.(org|io)",
            "files.python" + "hosted",
        )
    )
)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def python_files() -> list[Path]:
    return [path for path in project_files() if path.suffix == ".py"]


def too_long(text: str) -> bool:
    return len(text.splitlines()) > MOST_LINES


def is_empty(text: str) -> bool:
    return not text.strip()


def test_the_listing_finds_the_project():
    listed = {relative(path) for path in project_files()}
    assert {"pyproject.toml", "dp2theory/cli/app.py", "tests/repo/test_tree.py"} <= listed
    assert not any(name.startswith((".venv/", "demo/")) for name in listed)


@pytest.mark.parametrize(
    ("check", "bad", "good"),
    [
        (too_long, "x = 1\n" * 401, "x = 1\n" * 400),
        (is_empty, "\n \n", "x\n"),
        (OUTSIDE.search, "see /" + "work/main", "see framework/main"),
        (OUTSIDE.search, "see ../" + "shared/x", "is shared by all"),
        (OUTSIDE.search, "https://py" + "pi.org/simple", "on PyPI"),
    ],
)
def test_the_checks_bite(check, bad, good):
    assert check(bad)
    assert not check(good)


def test_files_are_short():
    long = [relative(path) for path in python_files() if too_long(path.read_text())]
    assert long == []


def test_no_file_is_empty():
    empty = [relative(path) for path in project_files() if not path.read_bytes().strip()]
    assert empty == []


def test_no_file_mentions_places_outside():
    found = []
    for path in project_files():
        if path.suffix in TEXT:
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if OUTSIDE.search(line):
                    found.append(f"{relative(path)}:{number}: {line.strip()}")
    assert found == []


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def definitions(body: list[ast.stmt]) -> list[ast.stmt]:
    """Functions and classes of a body, also those that are defined under a condition."""
    found: list[ast.stmt] = []
    for node in body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.append(node)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
            handlers = getattr(node, "handlers", [])
            found += definitions([*inner, *(line for each in handlers for line in each.body)])
    return found


def public_parts(tree: ast.Module | ast.ClassDef) -> list[ast.AST]:
    """A module or class, its public functions and its public classes with all of theirs."""
    parts: list[ast.AST] = [tree]
    for node in definitions(tree.body):
        if node.name.startswith("_"):  # type: ignore[attr-defined]
            continue
        parts += public_parts(node) if isinstance(node, ast.ClassDef) else [node]
    return parts


def without_docstring(source: str) -> list[str]:
    """Names of the public parts of a module that say nothing of themselves."""
    return [
        getattr(part, "name", "module")
        for part in public_parts(ast.parse(source))
        if ast.get_docstring(part) is None  # type: ignore[arg-type]
    ]


def test_the_docstring_check_bites():
    assert without_docstring('"""M."""\ndef f(): ...\ndef _g(): ...\n') == ["f"]
    assert without_docstring('class A:\n    """A."""\n    def m(self): ...\n') == ["module", "m"]
    inside = 'class A:\n    """A."""\n    class B:\n        async def m(self): ...\n'
    assert without_docstring(f'"""M."""\n{inside}') == ["B", "m"]
    either = "try:\n    import x\nexcept ImportError:\n    def f(): ...\nelse:\n    class A: ...\n"
    assert without_docstring(f'"""M."""\nif x:\n    def g(): ...\n{either}') == ["g", "A", "f"]


def test_public_names_have_docstrings():
    silent = {}
    for path in python_files():
        if path.relative_to(ROOT).parts[0] in PACKAGES:
            names = without_docstring(path.read_text())
            if names:
                silent[relative(path)] = names
    assert silent == {}
