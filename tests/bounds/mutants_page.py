"""Writes docs/mutants.md: what became of the wrong variants of every theorem.

`python -m tests.bounds.mutants_page [ID …]` judges the mutants of the theorems that changed since
(or of those named) and keeps the outcome in docs/mutants.json. It exits 3 when a mutant survives
that nothing explains.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bounds
from bounds.describe import describe
from bounds.mutants import Change, Outcome, outcomes, reason
from bounds.theorem import Theorem
from dp2theory.files import write_json, write_text
from tests.bounds.theorem_pages import fingerprint

DOCS = Path(__file__).parents[2] / "docs"
KEPT = DOCS / "mutants.json"
PAGE = DOCS / "mutants.md"
NAMES = {
    Change.HALVED: "constants",
    Change.STEP: "steps",
    Change.ASSUMPTION: "assumptions",
    Change.PHASE: "phases",
}


def record(theorem: Theorem, ends: list[Outcome], mark: str) -> dict[str, Any]:
    """Counts by kind, how they were killed, and survivors with reasons."""
    kinds = Counter(NAMES[each.mutant.change] for each in ends)
    how = Counter(each.how.removeprefix("doubled: ") for each in ends if each.killed)
    return {
        "fingerprint": mark,
        "mutants": {name: kinds[name] for name in NAMES.values()},
        "killed": {"replay": how["replay"], "counterexample": how["counterexample"]},
        "survivors": {
            each.mutant.id: reason(each.mutant, theorem) for each in ends if not each.killed
        },
    }


def kept() -> dict[str, Any]:
    """The outcomes when the page was written."""
    if not KEPT.exists():
        return {}
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def mark_of(theorem: Theorem) -> str:
    """Changes when the claim, the proof or the reasons change."""
    slack = "|".join(f"{key}: {why}" for key, why in sorted(theorem.slack.items()))
    return f"{fingerprint(describe(theorem))}-{len(slack)}"


def page(records: Mapping[str, Any]) -> str:
    """The page in Markdown."""
    total = Counter[str]()
    for each in records.values():
        total.update(each["mutants"])
        total.update({f"by {name}": count for name, count in each["killed"].items()})
        total["survivors"] += len(each["survivors"])
    all_ = sum(total[name] for name in NAMES.values())
    lines = [
        "# Wrong variants of the theorems",
        "",
        "Written by `python -m tests.bounds.mutants_page`. For every theorem: each numeric",
        "constant of its statement halved (and doubled, where half makes a weaker claim that is",
        "still proved), each step of its proof deleted with all mentions of it, each assumption",
        "dropped in the same way, the phase index floor((t - 1)/s) moved one step early. A variant",
        "is killed when its proof no longer replays or a counterexample is found. One is looked",
        "for where a constant was changed, and where the proof still replays.",
        "",
        f"{len(records)} theorems, {all_} variants: {total['by counterexample']} are killed by a",
        f"counterexample, {total['by replay']} by the replay alone, {total['survivors']} survive.",
        "",
        "| theorem | constants | steps | assumptions | phases | survive |",
        "|---|---|---|---|---|---|",
    ]
    for id, each in records.items():
        counts = " | ".join(str(each["mutants"][name]) for name in NAMES.values())
        lines.append(f"| [{id}](theorems/{id}.md) | {counts} | {len(each['survivors'])} |")
    lines += ["", "## What survives, and why", ""]
    for id, each in records.items():
        steps = [name[5:] for name in each["survivors"] if name.startswith("step ")]
        others = {n: why for n, why in each["survivors"].items() if not n.startswith("step ")}
        if steps:
            lines.append(f"* **{id}**: the proof goes through without {', '.join(steps)}.")
        for name, why in others.items():
            lines.append(f"* **{id}**, `{name}`: {why or '**no reason is given**'}")
    return "\n".join(lines) + "\n"


def main(named: list[str]) -> int:
    """Judge what changed; 3 when something survives without a reason."""
    theorems = bounds.theorems()
    records = {id: each for id, each in kept().items() if id in theorems}
    done: dict[str, Any] = {}
    for id, theorem in theorems.items():
        mark = mark_of(theorem)
        if id not in named and (named or records.get(id, {}).get("fingerprint") == mark):
            continue
        start = time.perf_counter()
        ends = outcomes(theorem, theorems=theorems, done=done, refute=(Change.HALVED,), tries=60)
        records[id] = record(theorem, ends, mark)
        open_ = [name for name, why in records[id]["survivors"].items() if not why]
        print(f"{id}: {len(ends)} in {time.perf_counter() - start:.1f} s", *open_, flush=True)
        write_json(KEPT, {each: records[each] for each in theorems if each in records})
    ordered = {each: records[each] for each in theorems if each in records}
    write_json(KEPT, ordered)
    write_text(PAGE, page(ordered))
    return 3 if any("" in each["survivors"].values() for each in ordered.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
