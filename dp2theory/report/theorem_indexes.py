"""The index of theorems, the paper map and the glossary of their symbols, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dp2theory.report.tables import markdown_table
from dp2theory.report.theorem_pages import STATUS, WRITTEN, page, prose

#: Beginning of the list of theorems.
INDEX_HEAD = """# Theorems

Each theorem is one object in `bounds`: its statement and assumptions in SymPy, its kind, its
source, and a proof that a machine checks anew whenever it is asked (`dp2theory theorems ID`).
This page, the theorem's own page and its evaluation are made from that object.

A proof is a list of steps. Each has premises, a conclusion, and the rule that carries one to the
other:

| rule | settles |
|---|---|
| sympy | an identity |
| z3 | an inequality between rational or polynomial expressions, with its domain |
| ball | a strict analytic inequality on a box, by branch and bound in ball arithmetic |
| expectation | one of five: linearity, tower, zero mean, Jensen, Cauchy-Schwarz |
| assumed | nothing: a citation, listed apart on the theorem's page |

An assumption is held by code (a domain that is checked, or something that the update rule makes
true) or by the caller (a promise about the loss or the data that no code can check). A statement
that is *recalled* is known from memory of the paper and never a quotation; *derived* ones are
ours. Kinds: *tight* (attained), *upper*, *lower*, *rate* (constants left out), *identity*,
*structure* (a property rather than a value).

What belongs to which item of which paper: [the paper map](../paper-map.md). Letters and names:
[symbols](symbols.md)."""

#: Beginning of the paper map.
MAP_HEAD = """# Paper map

Which item of a paper is which theorem here, and where it is defined. Nothing here quotes a
paper."""

#: Beginning of the list of symbols.
SYMBOLS_HEAD = """# Symbols of the theorems

The letter in formulas, the name in evaluations, code and commands, unit, domain and meaning. A
*process* is a random function of its indices, a *sequence* a deterministic one. Names in the rest
of the project are in [the glossary](../glossary.md)."""


def index_page(rows: Sequence[Mapping[str, Any]], papers: Mapping[str, tuple[str, str]]) -> str:
    """All theorems, by paper.

    Parameters
    ----------
    rows : sequence of mapping
        ``theorems`` of ``dp2theory theorems --replay --json``.
    papers : mapping
        A short name and a full reference for each ``paper``.
    """
    parts = [WRITTEN, INDEX_HEAD]
    for paper, own in _by_paper(rows):
        parts += [f"## {papers[paper][0]}", prose(papers[paper][1])]
        header = ("theorem", "", "kind", "status", "proof")
        parts.append(markdown_table(header, [_index_row(row) for row in own]))
    return page(parts)


def _index_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    proof = row["proof"]
    checked = f"{proof['steps']} steps"
    if proof["assumed"]:
        checked += f", {len(proof['assumed'])} assumed"
    return (
        f"[{row['id']}]({row['id']}.md)",
        prose(row["title"]),
        row["kind"],
        row["status"],
        checked if proof["ok"] else "**fails**",
    )


def paper_map_page(rows: Sequence[Mapping[str, Any]], papers: Mapping[str, tuple[str, str]]) -> str:
    """Items of the papers, in their order; arguments as for `index_page`."""
    parts = [WRITTEN, MAP_HEAD]
    parts.append("\n".join(f"- *{status}*: {words}" for status, words in STATUS.items()))
    for paper, own in _by_paper(rows):
        lines = [
            (
                prose(row["item"]),
                f"[{row['id']}](theorems/{row['id']}.md)",
                f"[{row['file']}](../{row['file']})",
                row["status"],
                prose(row["note"]),
            )
            for row in sorted(own, key=lambda row: item_order(row["item"]))
        ]
        parts += [f"## {papers[paper][0]}", prose(papers[paper][1])]
        parts.append(markdown_table(("item", "theorem", "file", "status", "note"), lines))
    return page(parts)


def item_order(item: str) -> list[tuple[int, int, str]]:
    """Sorts "Lemma 2" before "Lemma 10"; items without a text come last."""
    pieces = re.findall(r"\d+|\D+", item.lower())
    return [(0, int(piece), "") if piece.isdigit() else (1, 0, piece) for piece in pieces] or [
        (2, 0, "")
    ]


def symbols_page(symbols: Iterable[Mapping[str, str]]) -> str:
    """The glossary of `bounds`, parameters first.

    Parameters
    ----------
    symbols : iterable of mapping
        As ``symbols`` of ``dp2theory theorems ID --json``.
    """
    listed = list(symbols)
    parts = [WRITTEN, SYMBOLS_HEAD]
    for kind, heading in (
        ("parameter", "Parameters"),
        ("index", "Indices"),
        ("sequence", "Sequences"),
        ("process", "Processes"),
    ):
        rows = [
            (
                f"$`{each['latex']}`$",
                f"`{each['letter']}`",
                f"`{each['parameter']}`",
                each["unit"],
                each["domain"],
                prose(each["meaning"]),
            )
            for each in listed
            if each["kind"] == kind
        ]
        header = ("symbol", "letter", "name", "unit", "domain", "meaning")
        parts += [f"## {heading}", markdown_table(header, rows)] if rows else []
    return page(parts)


def _by_paper(
    rows: Sequence[Mapping[str, Any]],
) -> list[tuple[str, list[Mapping[str, Any]]]]:
    papers = dict.fromkeys(row["paper"] for row in rows)
    return [(paper, [row for row in rows if row["paper"] == paper]) for paper in papers]
