"""Docstrings of the house as reStructuredText.

They are written for readers of the source: names in single backticks, and ``|x|``, ``a * b`` and
``x_`` mean what they say. What markup would misread is escaped here, and types are not taken for
names to link to.
"""

from __future__ import annotations

import re
from typing import Any

from docs.site.places import PACKAGES

CODE = re.compile(r"(:[a-z:]+:`[^`]+`|``.+?``|`[^`]+`)", re.DOTALL)
DOTTED = re.compile(rf"`(?:{'|'.join(PACKAGES)})(?:\.\w+)*`")
EMPHASIS = re.compile(r"(?<![\w*])(\*{1,2})(?=[A-Za-z])([^*\n]*[\w.!])\1(?![\w*])")
# A star at the start of a line is a bullet.
MARKUP = re.compile(r"(?<!^)(?<!^ {4})[*]|^[*](?! )|[|]|(?<=\w)_(?!\w)", re.MULTILINE)
TYPE = re.compile(r":(type \S+|vartype \S+|rtype): (?P<type>.+)")
# Stands for a colon while napoleon reads: in "None: unknown." of a constant it would see a type.
COLON = "\ue000"
SEVERAL = re.compile(r"^:(ivar|vartype) (?P<names>\w+(?:, \w+)+):")


def _words(text: str) -> str:
    """Text without code: emphasis stays, everything else that is markup is escaped."""
    kept = EMPHASIS.split(text)
    # two groups: text, stars, words, text, ...
    pieces = []
    for number in range(0, len(kept), 3):
        pieces.append(MARKUP.sub(lambda match: "\\" + match[0], kept[number]))
        if number + 2 < len(kept):
            stars, words = kept[number + 1 : number + 3]
            pieces.append(f"{stars}{words}{stars}")
    return "".join(pieces)


def _code(text: str) -> str:
    """Code in single backticks: a link if it is a name of the packages, else as it is."""
    if not text.startswith("`") or text.startswith("``"):
        return text
    return f":py:obj:{text}" if DOTTED.fullmatch(text) else f"`{text}`"


def readable(text: str) -> str:
    """A paragraph of a docstring as reStructuredText.

    Parameters
    ----------
    text : str
        As it is written.
    """
    pieces = CODE.split(text)
    return "".join(_code(piece) if n % 2 else _words(piece) for n, piece in enumerate(pieces))


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_block(paragraph: list[str], before: list[str]) -> bool:
    """Whether a paragraph is code: set in after a colon, as it is or doubled."""
    indented = bool(before) and _margin(paragraph[0]) > _margin(before[-1])
    listed = paragraph[0].lstrip().startswith(("* ", "- "))
    return indented and before[-1].rstrip().endswith(":") and not listed


def readable_lines(lines: list[str]) -> list[str]:
    """A whole docstring, paragraph by paragraph.

    Parameters
    ----------
    lines : list of str
        As autodoc hands them on: without their common margin.
    """
    changed: list[str] = []
    paragraph: list[str] = []
    before: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line)
            continue
        if paragraph and paragraph[0].lstrip().startswith(">>>"):
            changed += paragraph
        elif paragraph and _is_block(paragraph, before):
            last = max(number for number, text in enumerate(changed) if text)
            changed[last] = changed[last].rstrip(":") + "::"
            changed += paragraph
        elif paragraph:
            changed += readable("\n".join(paragraph)).split("\n")
            before = paragraph
        paragraph = []
        changed.append("")
    return changed[:-1]


def plain_fields(lines: list[str]) -> list[str]:
    """Fields whose types are code, since ``shape`` of an array is no name of an object.

    Several attributes of one type stay together: Sphinx takes the first of two words for a type.

    Parameters
    ----------
    lines : list of str
        As napoleon leaves them.
    """

    def quoted(match: re.Match[str]) -> str:
        plain = match["type"].replace("\\", "").replace("`", "").replace("*", "")
        return f":{match[1]}: ``{plain}``"

    def joined(match: re.Match[str]) -> str:
        return f":{match[1]} {match['names'].replace(' ', '')}:"

    return [TYPE.sub(quoted, SEVERAL.sub(joined, line)) for line in lines]


def before_sections(
    app: object, what: str, name: str, of: object, options: object, lines: list[str]
) -> None:
    """Hook of autodoc: before napoleon reads the sections."""
    lines[:] = readable_lines(lines)
    if what in ("data", "attribute", "property"):
        first = next((number for number, line in enumerate(lines) if line.strip()), None)
        if first is not None:
            lines[first] = lines[first].replace(":", COLON)


def after_sections(
    app: object, what: str, name: str, of: object, options: object, lines: list[str]
) -> None:
    """Hook of autodoc: what napoleon made of the sections."""
    lines[:] = plain_fields([line.replace(COLON, ":") for line in lines])


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    # napoleon listens at 500
    app.connect("autodoc-process-docstring", before_sections, priority=400)
    app.connect("autodoc-process-docstring", after_sections, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
