"""Writes docs/theorems, docs/paper-map.md and bounds/listing.json.

`python -m tests.bounds.theorem_pages`, which is what `make theorems` calls. Every proof is
replayed, and what came of it is kept in docs/theorems/proofs.json: the pages are made from the
theorems and that file. A page or picture whose theorem is gone is removed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bounds import bibliography, catalogue, glossary, listing
from bounds.curve import curve_points
from bounds.describe import describe, proof_json, symbol_json
from bounds.proof.replay import Report, replay_all
from bounds.theorem import Theorem
from dp2theory.files import write_json, write_text
from dp2theory.report.theorem_indexes import index_page, paper_map_page, symbols_page
from dp2theory.report.theorem_pages import theorem_page
from dp2theory.report.theorem_plots import mark, save_theorem_picture

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "theorems"
PICTURES = FOLDER / "images"
PROOFS = FOLDER / "proofs.json"

Proof = Mapping[str, Any]


def fingerprint(described: Mapping[str, Any]) -> str:
    """Tells whether what a theorem claims or how it is proved has changed."""
    parts = {
        "statement": described["statement"],
        "assumptions": [[each["id"], each["formula"]] for each in described["assumptions"]],
        "steps": [
            [each[name] for name in ("id", "rule", "by", "premises", "conclusion")]
            for each in described["steps"]
        ],
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def record(described: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """What is kept of a replay: all but its times and messages."""
    plain = proof_json(report)
    plain["steps"] = [{name: step[name] for name in ("id", "ok")} for step in plain["steps"]]
    del plain["seconds"]
    return {"fingerprint": fingerprint(described)} | plain


def kept() -> dict[str, Proof]:
    """What came of each proof when the pages were written."""
    found: dict[str, Proof] = json.loads(PROOFS.read_text(encoding="utf-8"))
    return found


def page_of(described: dict[str, Any], proof: Proof) -> str:
    """The page of one theorem."""
    picture = None if described["curve"] is None else f"images/{described['id']}.svg"
    return theorem_page(described | {"proof": proof}, picture=picture)


def indexes(proofs: Mapping[str, Proof]) -> dict[Path, str]:
    """The pages that list theorems."""
    rows: list[dict[str, Any]] = [
        {
            **row,
            "proof": {**proofs[row["id"]], "steps": len(proofs[row["id"]]["steps"])},
        }
        for row in listing.paper_map()
    ]
    entries = [bibliography.entry(key) for key in dict.fromkeys(row["paper"] for row in rows)]
    papers = {each.key: (each.short, each.reference()) for each in entries}
    symbols = [symbol_json(each) for each in glossary.entries().values()]
    return {
        FOLDER / "README.md": index_page(rows, papers),
        FOLDER / "symbols.md": symbols_page(symbols),
        DOCS / "paper-map.md": paper_map_page(rows, papers),
    }


def pictures() -> dict[Path, Theorem]:
    """The theorems that have a picture, by its path."""
    found = catalogue.theorems().values()
    return {PICTURES / f"{each.id}.svg": each for each in found if each.curve is not None}


def has_mark(picture: Path, points: Mapping[str, Any]) -> bool:
    """Whether a picture was drawn from these points."""
    return picture.is_file() and f"points {mark(points)}<" in picture.read_text(encoding="utf-8")


def stale() -> list[Path]:
    """Pages and pictures in the folder that belong to no theorem."""
    wanted = {f"{id}.md" for id in catalogue.theorems()} | {"README.md", "symbols.md"}
    drawn = {path.name for path in pictures()}
    return [
        *(path for path in FOLDER.glob("*.md") if path.name not in wanted),
        *(path for path in PICTURES.glob("*") if path.name not in drawn),
    ]


def main() -> int:
    """Write everything; 3 when a proof fails (the pages say so too)."""
    theorems = catalogue.theorems()
    reports = replay_all(theorems)
    described = {id: describe(theorem) for id, theorem in theorems.items()}
    proofs = {id: record(described[id], reports[id]) for id in theorems}
    PICTURES.mkdir(parents=True, exist_ok=True)
    write_json(PROOFS, proofs)
    write_json(listing.KEPT, listing.current())
    for path, text in indexes(proofs).items():
        write_text(path, text)
    for id in theorems:
        write_text(FOLDER / f"{id}.md", page_of(described[id], proofs[id]))
    for path, theorem in pictures().items():
        points = curve_points(theorem)
        if not has_mark(path, points):
            save_theorem_picture(points, path)
    for path in stale():
        path.unlink()
    failed = [id for id, report in reports.items() if not report.ok]
    if failed:
        sys.stderr.write(f"proofs that fail: {', '.join(failed)}\n")
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
