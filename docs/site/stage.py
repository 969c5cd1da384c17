"""A folder that Sphinx reads: the pages with links for the site, and what is generated."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

from docs.site.places import DOCS, ROOT, for_site, local_files, place
from docs.site.reference import contents, reference_pages
from docs.site.toctree import LISTS, is_page, stands_alone, tables_of_contents

ORPHAN = "---\norphan: true\n---\n\n"
# Executed by `make notebooks`.
EXECUTED = ROOT / "build" / "notebooks"
REFERENCE = DOCS / "reference" / "README.md"
# Code is read where it is, not copied.
NOT_COPIED = {".py", ".pyc"}


def pages() -> list[Path]:
    """The files that become pages: those of docs, of the root, and the notebooks."""
    inside = [path for path in DOCS.rglob("*.md") if "site" not in path.relative_to(DOCS).parts]
    return sorted([*inside, *ROOT.glob("*.md"), *(ROOT / "notebooks").glob("*.py")])


def texts() -> dict[PurePosixPath, str]:
    """The text of every page in Markdown, by its place on the site."""
    found = pages()
    taken: set[Path] = set()
    added = {
        path: tables_of_contents(path, path.read_text(), among=found, taken=taken)
        for path in LISTS
        if path.exists()
    }
    if REFERENCE in found:
        added[REFERENCE] = contents()
    return {
        place(path): ORPHAN * stands_alone(path)
        + for_site(path, path.read_text())
        + added.get(path, "")
        for path in found
        if path.suffix == ".md"
    }


def executed(path: Path) -> Path | None:
    """The notebook with its outputs, where `make notebooks` has run since it was written."""
    made = EXECUTED / f"{path.stem}.ipynb"
    return made if made.exists() and made.stat().st_mtime >= path.stat().st_mtime else None


def without_outputs() -> list[str]:
    """Names of the notebooks whose pages will show no outputs."""
    return [path.stem for path in pages() if path.suffix == ".py" and executed(path) is None]


def notebook(path: Path) -> str:
    """A notebook as JSON, with outputs where there are any."""
    made = executed(path)
    if made is not None:
        return made.read_text()
    import jupytext

    return json.dumps(jupytext.read(path)) + "\n"


def copied() -> dict[PurePosixPath, Path]:
    """The files that are taken as they are: pictures, data, and what pages link to."""
    inside = [
        path
        for path in DOCS.rglob("*")
        if path.is_file() and path.suffix not in {*NOT_COPIED, ".md"}
    ]
    linked = [
        file
        for path in pages()
        if path.suffix == ".md"
        for file in local_files(path, path.read_text())
        if file.is_file() and not is_page(file) and place(file).suffix != ".rst"
    ]
    return {place(path): path for path in [*inside, *linked, DOCS / "conf.py"]}


def write_if_other(path: Path, content: bytes) -> None:
    """Write a file unless it says that already: Sphinx then reads only what changed."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def stage(folder: Path) -> int:
    """Fill the folder and remove from it what no longer belongs there.

    Parameters
    ----------
    folder : Path
        Made if need be; nothing else may be kept in it.

    Returns
    -------
    int
        Number of pages.
    """
    written = {**texts(), **reference_pages()}
    for path in pages():
        if path.suffix == ".py":
            written[place(path)] = notebook(path)
    wanted = {name: text.encode() for name, text in written.items()}
    wanted |= {name: path.read_bytes() for name, path in copied().items()}
    for name, content in wanted.items():
        write_if_other(folder / name, content)
    for path in folder.rglob("*"):
        if path.is_file() and PurePosixPath(path.relative_to(folder).as_posix()) not in wanted:
            path.unlink()
    return len(written)
