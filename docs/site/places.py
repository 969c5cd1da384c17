"""Where each file of the project stands on the site, and links rewritten to lead there.

Pages are written for a Git host: links are relative to the page, lead to folders, to modules, to
notebooks. The site has the pages of `docs` at the same places, and the rest where `place` says.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PACKAGES = ("accountants", "bounds", "dp2theory")
API = PurePosixPath("reference/api")
NOTEBOOKS = PurePosixPath("notebooks")
# Pages of the root: what they are, how to work on it, what changed.
PROJECT = PurePosixPath("project")
# Anything else that a page links to is copied, to be downloaded.
FILES = PurePosixPath("files")


def module_name(path: Path) -> str:
    """The dotted name of a module of the packages, from its file or folder under the root."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_public(module: str) -> bool:
    """Whether no part of a dotted name starts with an underscore."""
    return not any(part.startswith("_") for part in module.split("."))


def place(path: Path) -> PurePosixPath:
    """Where a file or folder of the project stands on the site.

    Parameters
    ----------
    path : Path
        Absolute, below the root.

    Returns
    -------
    PurePosixPath
        Relative to the root of the site.
    """
    inside = PurePosixPath(path.relative_to(ROOT).as_posix())
    package = inside.parts and inside.parts[0] in PACKAGES
    if package and (path.suffix == ".py" or path.is_dir()) and is_public(module_name(path)):
        return API / f"{module_name(path)}.rst"
    if path.is_dir():
        return place(path / "README.md")
    if inside.parts[0] == "docs":
        return PurePosixPath(*inside.parts[1:])
    if inside.parts[0] == "notebooks" and path.suffix == ".py":
        return NOTEBOOKS / f"{path.stem}.ipynb"
    if len(inside.parts) == 1 and path.suffix == ".md":
        return PROJECT / inside.name
    return FILES / inside


FENCED = re.compile(r"(^ *(?P<fence>```+).*?^ *(?P=fence) *$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)\s#]+)(?P<rest>[^)]*)\)")


def outside_code(text: str, change: re.Pattern[str], to: Callable[[re.Match[str]], str]) -> str:
    """Substitute in a page wherever it is not a fenced block."""
    pieces = FENCED.split(text)
    # two groups: text, block, fence, text, block, fence, ..., text
    return "".join(
        change.sub(to, piece) if number % 3 == 0 else piece
        for number, piece in enumerate(pieces)
        if number % 3 != 2
    )


def local_files(path: Path, text: str) -> list[Path]:
    """The files and folders of the project that a page links to, in order."""
    found = []

    def note(match: re.Match[str]) -> str:
        target = match["target"]
        if "://" not in target and not target.startswith("mailto:"):
            found.append(Path(os.path.normpath(path.parent / target)))
        return match[0]

    outside_code(text, LINK, note)
    return found


def for_site(path: Path, text: str) -> str:
    """The text of a page, its links relative to where it stands on the site.

    Parameters
    ----------
    path : Path
        The page in the project.
    text : str
        What it says.
    """
    here = place(path).parent

    def lead(match: re.Match[str]) -> str:
        target = match["target"]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        there = place(Path(os.path.normpath(path.parent / target)))
        return f"]({os.path.relpath(there, here)}{match['rest']})"

    return outside_code(text, LINK, lead)
