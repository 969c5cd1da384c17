"""The site without Sphinx: every page has its place, every link leads to one, none is forgotten.

The build itself, with Sphinx and its warnings as errors, is `make docs`; a slow test runs it where
the extra is installed.
"""

import os.path
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from docs.site.places import DOCS, LINK, ROOT, for_site, local_files, outside_code, place
from docs.site.reference import reference_pages
from docs.site.stage import (
    copied,
    executed,
    notebook,
    pages,
    stage,
    texts,
    without_outputs,
    write_if_other,
)
from docs.site.toctree import (
    INDEX,
    LISTS,
    THEOREMS,
    directive,
    listed,
    sections,
    stands_alone,
    tables_of_contents,
)
from tests.repo.project import project_files


@pytest.fixture(scope="module")
def written() -> dict[PurePosixPath, str]:
    return texts()


def on_site() -> set[PurePosixPath]:
    return {*map(place, pages()), *reference_pages(), *copied()}


def lost_links(path: PurePosixPath, text: str, there: set[PurePosixPath]) -> list[str]:
    """Local links of a page of the site that lead to nothing on it."""
    lost = []

    def follow(match: re.Match[str]) -> str:
        target = match["target"]
        if "://" not in target and not target.startswith("mailto:"):
            end = PurePosixPath(os.path.normpath(path.parent / target))
            if end not in there:
                lost.append(target)
        return match[0]

    outside_code(text, LINK, follow)
    return lost


def test_every_link_leads_somewhere_on_the_site(written):
    there = on_site()
    assert lost_links(PurePosixPath("a/b.md"), "[x](c.md) [y](../index.md)", there) == ["c.md"]
    lost = {path.as_posix(): lost_links(path, text, there) for path, text in written.items()}
    assert {path: links for path, links in lost.items() if links} == {}


def test_places():
    assert place(DOCS / "how-to" / "resume.md") == PurePosixPath("how-to/resume.md")
    assert place(DOCS / "theorems") == PurePosixPath("theorems/README.md")
    assert place(ROOT / "bounds" / "dp2" / "master.py") == PurePosixPath(
        "reference/api/bounds.dp2.master.rst"
    )
    assert place(ROOT / "accountants") == PurePosixPath("reference/api/accountants.rst")
    assert place(ROOT / "README.md") == PurePosixPath("project/README.md")
    assert place(ROOT / "notebooks" / "resque.py") == PurePosixPath("notebooks/resque.ipynb")
    assert place(ROOT / "LICENSE") == PurePosixPath("files/LICENSE")


def test_links_are_turned_and_code_is_not():
    page = DOCS / "how-to" / "x.md"
    text = "[a](../planning.md#the-rule) [b](../../bounds/dp2/noise.py) [c](https://x.org/y)\n"
    assert for_site(page, text) == (
        "[a](../planning.md#the-rule) [b](../reference/api/bounds.dp2.noise.rst)"
        " [c](https://x.org/y)\n"
    )
    code = "```text\n[a](../../bounds)\n```\n[a](../theorems)\n"
    assert for_site(page, code) == "```text\n[a](../../bounds)\n```\n[a](../theorems/README.md)\n"
    assert local_files(page, code) == [DOCS / "theorems"]


def contents(written: dict[PurePosixPath, str]) -> list[tuple[PurePosixPath, PurePosixPath]]:
    """All entries of the tables of contents in Markdown pages, each after the page it stands in."""
    return [
        (path, PurePosixPath(os.path.normpath(path.parent / name)))
        for path, text in written.items()
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for name in block.splitlines()
        if name and not name.startswith(":")
    ]


def below(
    root: PurePosixPath, entries: list[tuple[PurePosixPath, PurePosixPath]]
) -> set[PurePosixPath]:
    """The pages of the tree below a page."""
    children = {child for parent, child in entries if parent == root}
    return children.union(*(below(child, entries) for child in children))


def test_every_page_stands_in_one_table_of_contents(written):
    tree = contents(written)
    entries = [page for _, page in tree]
    assert sorted(entries) == sorted(set(entries))
    assert place(INDEX) not in entries, "a tree without a root"
    assert below(place(INDEX), tree) == set(entries)
    wanted = {place(path) for path in pages() if not stands_alone(path)} - {place(INDEX)}
    api = {path for path in entries if path.parts[:2] == ("reference", "api")}
    missing = sorted(path.as_posix() for path in wanted - set(entries))
    assert missing == [], "link these from docs/index.md"
    assert {path.name for path in api} == {"accountants", "bounds", "dp2theory"}


def test_theorems_stand_alone_and_are_listed(written):
    alone = {path for path in pages() if stands_alone(path)}
    index = THEOREMS / "README.md"
    assert len(alone) > 100
    assert alone <= {*listed(index, index.read_text())}
    for path in alone:
        assert written[place(path)].startswith("---\norphan: true\n---\n")


def test_a_forgotten_page_is_noticed():
    text = INDEX.read_text().replace("tutorial.md", "planning.md")
    found = tables_of_contents(INDEX, text, among=pages(), taken=set())
    assert "tutorial.md" not in found
    assert found.count("planning.md") == 1


def test_sections_become_captions():
    text = "# T\n\n[z](z.md)\n\n## One\n\n* [a](corpus.md)\n\n## Two\n\n[b](how-to/resume.md)\n"
    assert [heading for heading, _ in sections(text)] == ["One", "Two"]
    assert listed(INDEX, text)[-1] == DOCS / "how-to" / "resume.md"
    assert ":caption: One\n\ncorpus.md\n" in directive(INDEX, [DOCS / "corpus.md"], "One")


def test_all_lists_are_pages():
    assert [path for path in LISTS if not path.exists()] == []


def test_staging_takes_away_what_it_did_not_write(tmp_path, monkeypatch):
    monkeypatch.setattr("docs.site.stage.notebook", lambda path: "{}")
    (tmp_path / "old.md").write_text("gone")
    count = stage(tmp_path)
    assert not (tmp_path / "old.md").exists()
    files = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert {PurePosixPath(path.as_posix()) for path in files} == on_site()
    assert count > 600


def test_outputs_are_used_where_they_are_newer_than_the_notebook(tmp_path, monkeypatch):
    source = ROOT / "notebooks" / "resque.py"
    monkeypatch.setattr("docs.site.stage.EXECUTED", tmp_path)
    assert "resque" in without_outputs()
    made = tmp_path / "resque.ipynb"
    made.write_text('{"made": 1}')
    assert "resque" not in without_outputs()
    assert notebook(source) == '{"made": 1}'
    os.utime(made, (0, 0))
    assert executed(source) is None


def test_what_did_not_change_is_not_written_again(tmp_path):
    page = tmp_path / "folder" / "page.md"
    write_if_other(page, b"one")
    os.utime(page, (1, 1))
    write_if_other(page, b"one")
    assert page.stat().st_mtime == 1
    write_if_other(page, b"two")
    assert page.read_bytes() == b"two"
    assert page.stat().st_mtime > 1


def test_pages_are_those_of_the_project():
    known = {path for path in project_files() if path.suffix == ".md"}
    assert {path for path in pages() if path.suffix == ".md"} == {
        path for path in known if path.parent == ROOT or DOCS in path.parents
    }


def test_formulas_without_what_the_converter_does_not_know():
    from docs.site.mathml import in_other_words

    assert in_other_words("`x`") == "x"
    assert in_other_words(r"\sum_{\substack{1 \leq j\\t \leq T_{k}}} x") == (
        r"\sum_{\begin{matrix}1 \leq j\\t \leq T_{k}\end{matrix}} x"
    )
    assert in_other_words(r"\left( a \middle| b\right)") == r"\left( a | b\right)"


FETCHED = re.compile(r"""(?:src|<link[^>]*href|@import|url\()\s*=?\s*["'(]?(https?:)?//[^"')]+""")


def fetched(text: str) -> list[str]:
    """What a browser would fetch from another place when it shows a page or a style."""
    return [match[0] for match in FETCHED.finditer(text)]


def test_fetches_are_seen():
    assert fetched('<script src="https://cdn.example.org/x.js"></script>')
    assert fetched('<link rel="stylesheet" href="//fonts.example.org/a.css">')
    assert fetched("@import url(https://x.org/y.css)")
    assert not fetched('<a href="https://example.org">x</a> <img src="images/a.png">')


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_needs_no_network(tmp_path):
    pytest.importorskip("sphinx", reason="needs dp2theory[docs]")
    built = subprocess.run(
        [sys.executable, "-m", "docs.site", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr[-3000:]
    html = tmp_path / "html"
    assert "<math" in (html / "theorems" / "dp2.master.html").read_text()
    assert (
        "epsilon_bracket"
        in (html / "reference" / "api" / "accountants.exact.accountant.html").read_text()
    )
    found: dict[str, list[str]] = {}
    for path in [*html.rglob("*.html"), *html.rglob("*.css")]:
        found[path.relative_to(html).as_posix()] = fetched(path.read_text())
    assert {path: places for path, places in found.items() if places} == {}
    assert Path(html / "index.html").exists()
