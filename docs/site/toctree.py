"""The order of the pages, read off the links of the pages that list them.

On a Git host a list of links is a table of contents. Sphinx wants a directive: it is added, hidden,
at the end of a page that lists others, with a caption for each of its sections on the first page.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable
from pathlib import Path

from docs.site.places import DOCS, ROOT, local_files, place

INDEX = DOCS / "index.md"
THEOREMS = DOCS / "theorems"
# Pages that list the pages beside or below them.
LISTS = (
    INDEX,
    DOCS / "decisions" / "README.md",
    DOCS / "integrations" / "README.md",
    DOCS / "README.md",  # what the others left
)


def stands_alone(path: Path) -> bool:
    """Whether a page is in no table of contents: a theorem's, which the list of theorems links."""
    return path.parent == THEOREMS and path.name not in {"README.md", "symbols.md"}


def is_page(path: Path) -> bool:
    """Whether the site has a page for it."""
    inside = path.relative_to(ROOT).parts
    return path.suffix == ".md" or (inside[0] == "notebooks" and path.suffix == ".py")


def sections(text: str) -> list[tuple[str, str]]:
    """The parts of a page under its headings of second level: (heading, text)."""
    pieces = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return list(zip(pieces[1::2], pieces[2::2], strict=True))


def listed(path: Path, text: str) -> list[Path]:
    """The pages that a page links to, each once, folders as their README."""
    pages = [file / "README.md" if file.is_dir() else file for file in local_files(path, text)]
    return list(dict.fromkeys(page for page in pages if is_page(page) and page != path))


def directive(path: Path, pages: Iterable[Path], caption: str | None = None) -> str:
    """A hidden table of contents for a page."""
    names = [os.path.relpath(place(page), place(path).parent) for page in pages]
    options = ":hidden:\n" + (f":caption: {caption}\n" if caption else "")
    return "\n```{toctree}\n" + options + "\n" + "\n".join(names) + "\n```\n"


def tables_of_contents(path: Path, text: str, *, among: Iterable[Path], taken: set[Path]) -> str:
    """The directives to add to a page.

    Parameters
    ----------
    path : Path
        One of `LISTS`.
    text : str
        What it says.
    among : iterable of Path
        The pages of the site.
    taken : set of Path
        Pages that stand in a table of contents already; those found are added.
    """
    wanted = {*among} - {INDEX}  # the root of the tree: within it there would be no end
    parts = sections(text) if path == INDEX else [("", text)]
    added = []
    for heading, part in parts:
        pages = [page for page in listed(path, part) if page in wanted and page not in taken]
        if heading == "Notebooks":
            pages += sorted(page for page in wanted - taken - {*pages} if page.suffix == ".py")
        taken.update(pages)
        if pages:
            added.append(directive(path, pages, heading or None))
    return "".join(added)
