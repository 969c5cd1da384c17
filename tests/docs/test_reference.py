"""The reference has every public module, and docstrings speak of arguments that there are."""

import ast
import re

import pytest

from docs.site.docstrings import (
    after_sections,
    before_sections,
    plain_fields,
    readable,
    readable_lines,
)
from docs.site.places import API, PACKAGES, place
from docs.site.reference import page, public_modules, reference_pages
from tests.repo.project import ROOT, project_files


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {path.stem: text for path, text in reference_pages().items()}


def reached(pages: dict[str, str]) -> set[str]:
    """The pages that links of lists lead to from the packages' own."""
    found, todo = set(), list(PACKAGES)
    while todo:
        name = todo.pop()
        found.add(name)
        todo += re.findall(r"^\* :doc:`([\w.]+)`", pages[name], flags=re.MULTILINE)
    return found


def test_every_public_module_is_in_the_reference(pages):
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in project_files()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in PACKAGES
    }
    public = {name for name in modules if "._" not in name}
    assert len(public) > 400
    assert public <= set(pages)
    assert all(f".. automodule:: {name}\n" in pages[name] for name in public)


def test_every_page_is_reached(pages):
    assert reached(pages) == set(pages)
    forgotten = {**pages, "bounds": pages["bounds"].replace("* :doc:`bounds.proof`", "*")}
    assert {"bounds.proof", "bounds.proof.step"} <= set(pages) - reached(forgotten)


def test_modules_are_found_by_looking(tmp_path):
    folder = tmp_path / "bounds" / "inner"
    folder.mkdir(parents=True)
    for name in ("open.py", "_closed.py", "__init__.py"):
        (folder / name).write_text('"""New."""\n')
    (tmp_path / "bounds" / "__init__.py").write_text('"""Old."""\n')
    found = public_modules(tmp_path)
    assert list(found) == ["bounds", "bounds.inner", "bounds.inner.open"]
    assert ":doc:`bounds.inner`: Old." not in page("bounds", found["bounds"], found)
    assert ":doc:`bounds.inner`: New." in page("bounds", found["bounds"], found)


def test_lazy_names_are_listed_and_not_documented_twice(pages):
    from accountants import __all__ as names

    text = pages["accountants"]
    assert all(f":py:obj:`{name} <accountants." in text for name in names)
    assert ":members:" not in text
    assert ":members: theorems\n" in pages["bounds"]


HEADING = "    Parameters\n"


def stale_parameters(source: str) -> list[str]:
    """Names under "Parameters" of public functions that are no arguments of theirs."""
    stale = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        section = re.search(
            r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)",
            ast.get_docstring(node) or "",
            re.DOTALL | re.MULTILINE,
        )
        if not section:
            continue
        listed = re.findall(r"^(\*{0,2}\w[\w, *]*?)(?: :|$)", section[1], re.MULTILINE)
        named = {name.strip(" *") for line in listed for name in line.split(",")}
        spec = node.args
        there = {each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
        there |= {each.arg for each in (spec.vararg, spec.kwarg) if each}
        stale += [f"{node.name}: {name}" for name in sorted(named - there)]
    return stale


def test_documented_parameters_exist():
    lie = 'def f(a, *, b, **c):\n    """F.\n\n    Parameters\n    ----------\n{}    """\n'
    assert stale_parameters(lie.format("    a, b : int\n        X.\n    **c\n")) == []
    assert stale_parameters(lie.format("    a, d : int\n    e\n")) == ["f: d", "f: e"]
    texts = {name: path.read_text() for name, path in public_modules().items()}
    found = {name: stale_parameters(text) for name, text in texts.items() if HEADING in text}
    assert {name: stale for name, stale in found.items() if stale} == {}


def test_docstrings_keep_their_signs():
    assert readable("|x| and ||y_k||, a * b, **kw, x_") == (
        r"\|x\| and \|\|y_k\|\|, a \* b, \*\*kw, x\_"
    )
    assert readable("*not* so: `a * b` of `bounds.proof`, ``|x|``") == (
        "*not* so: ``a * b`` of :py:obj:`bounds.proof`, ``|x|``"
    )
    assert readable("* one\n* two") == "* one\n* two"


def test_indented_code_after_a_colon_is_code():
    lines = ["So:", "", "    a * b", "", "* x", "", ">>> 2 * 3", "6"]
    assert readable_lines(lines) == ["So::", "", "    a * b", "", "* x", "", ">>> 2 * 3", "6"]
    assert readable_lines(["List:", "", "* a * b"]) == ["List:", "", r"* a \* b"]


SLIP = ["No factor is larger: beyond, it is a slip.", "See below: y."]


@pytest.mark.parametrize(("what", "hidden"), [("data", True), ("property", True), ("class", False)])
def test_a_colon_in_the_first_line_of_a_constant_is_kept_from_napoleon(what, hidden):
    lines = [*SLIP]
    before_sections(None, what, "x.Y", None, None, lines)
    assert (":" not in lines[0]) is hidden
    assert lines[1] == SLIP[1]
    after_sections(None, what, "x.Y", None, None, lines)
    assert lines == SLIP


def test_napoleon_takes_what_stands_before_a_colon_for_a_type():
    docstring = pytest.importorskip("sphinx.ext.napoleon.docstring")
    config = pytest.importorskip("sphinx.ext.napoleon").Config(napoleon_google_docstring=False)

    def read(lines):
        return docstring.NumpyDocstring(lines, config, what="data", name="x.Y").lines()

    assert ":type: No factor is larger" in read([*SLIP])
    lines = [*SLIP]
    before_sections(None, "data", "x.Y", None, None, lines)
    lines = read(lines)
    after_sections(None, "data", "x.Y", None, None, lines)
    assert lines == SLIP


def test_types_are_no_links():
    assert plain_fields([r":type x: float \| None", ":param x: |y|"]) == [
        ":type x: ``float | None``",
        ":param x: |y|",
    ]
    assert plain_fields([":ivar a, b: C, d: e.", ":vartype a, b: int"]) == [
        ":ivar a,b: C, d: e.",
        ":vartype a,b: ``int``",
    ]


def test_pages_stand_where_links_lead(pages):
    assert {API / f"{name}.rst" for name in pages} == {*map(place, public_modules().values())}
