"""What `theorems` prints for a person."""

import textwrap
from collections.abc import Mapping
from typing import Any

from dp2theory.report.tables import text_table

WIDTH = 100
HELD_BY = {"code": "code", "caller": "you"}
#: Who answers for an assumption, for a reader who meets the words for the first time.
LEGEND = "code: checked or made true by construction; you: promised by whoever uses the bound"


def list_text(result: Mapping[str, Any], *, quiet: bool = False) -> str:
    """All theorems, one a line.

    Parameters
    ----------
    result : mapping
        The ``result`` of the JSON output without an ID.
    quiet : bool
        Ids only, or ids with the verdicts where proofs were replayed.
    """
    rows = result["theorems"]
    if quiet:
        return "\n".join(
            f"{row['id']} {_outcome(row['proof'])}" if "proof" in row else row["id"] for row in rows
        )
    header = ["id", "kind", "status", "title"]
    table = [[row["id"], row["kind"], row["status"], row["title"]] for row in rows]
    if rows and "proof" in rows[0]:
        header[3:3] = ["proof", "steps", "seconds"]
        for line, row in zip(table, rows, strict=True):
            proof = row["proof"]
            line[3:3] = [_outcome(proof), str(proof["steps"]), f"{proof['seconds']:.2f}"]
    left = tuple(column for column, name in enumerate(header) if name not in ("steps", "seconds"))
    lines = [text_table(header, table, left=left)]
    lines.append(f"\n{result['count']} theorems; dp2theory theorems ID shows one and its proof")
    return "\n".join(lines)


def _outcome(proof: Mapping[str, Any]) -> str:
    if not proof["ok"]:
        return "FAILS"
    count = len(proof["assumed"])
    return f"rests on {count} assumed" if count else "proved"


def verdict(result: Mapping[str, Any]) -> str:
    """The outcome of a proof in one line."""
    proof = result["proof"]
    if not proof["ok"]:
        failed = [step["id"] for step in proof["steps"] if not step["ok"]]
        return f"{result['id']}: the proof FAILS" + (f" at {', '.join(failed)}" if failed else "")
    count = f"{len(proof['steps'])} steps"
    if proof["cited"]:
        count += f" and the proofs of {', '.join(proof['cited'])}"
    if proof["steps"][-1]["rule"] == "assumed":
        return f"{result['id']}: NOT PROVED; the statement itself is assumed, nothing checks it"
    if proof["assumed"]:
        rests = ", ".join(proof["assumed"])
        return f"{result['id']}: follows from what is assumed, not proved, in {count}: {rests}"
    return f"{result['id']}: proved; nothing assumed in {count}"


def theorem_text(result: Mapping[str, Any]) -> str:
    """One theorem with its proof.

    Parameters
    ----------
    result : mapping
        The ``result`` of the JSON output with an ID.
    """
    source = result["source"]
    where = ", ".join(part for part in (source["key"], source["item"]) if part)
    parts = [
        f"{result['id']}  {result['title']}",
        f"{result['kind']}; {source['status']}: {where}; {result['file']}",
    ]
    if result["explanation"]:
        parts += ["", _wrapped(result["explanation"])]
    parts += ["", "Statement" + _general(result), _formula(result["statement"])]
    if result["assumptions"]:
        parts += ["", f"Assumptions ({LEGEND})"]
        for each in result["assumptions"]:
            parts.append(_wrapped(f"[{HELD_BY[each['held_by']]}] {each['id']}: {each['text']}", 2))
            parts.append(_formula(each["formula"]))
    parts += ["", "Proof", _proof_table(result), "", _wrapped(verdict(result))]
    parts += _remarks(result)
    if result["evaluations"]:
        parts += ["", "Computable"]
        for each in result["evaluations"]:
            parts.append(f"  {each['name']}({', '.join(each['parameters'])})")
    for heading, lines in (
        ("Caveats", result["caveats"]),
        ("Not tight", [f"{what}: {why}" for what, why in result["slack"].items()]),
        ("References", [each["text"] for each in result["references"]]),
    ):
        if lines:
            parts += ["", heading, *(_wrapped(line, 2) for line in lines)]
    return "\n".join(parts)


def _general(result: Mapping[str, Any]) -> str:
    return f", for all {', '.join(result['general_in'])}" if result["general_in"] else ""


def _proof_table(result: Mapping[str, Any]) -> str:
    described = {step["id"]: step for step in result["steps"]}
    rows = []
    for step in result["proof"]["steps"]:
        told = described.get(step["id"], {})
        rule = step["rule"] + (f" ({told['by']})" if told.get("by") else "")
        ok = "assumed" if step["rule"] == "assumed" else "ok" if step["ok"] else "FAILS"
        rows.append([step["id"], rule, ok, f"{step['seconds']:.3f}", told.get("note", "")])
    return text_table(("step", "rule", "", "seconds", "why"), rows, left=(0, 1, 2, 4))


def _remarks(result: Mapping[str, Any]) -> list[str]:
    proof, lines = result["proof"], []
    for step in proof["steps"]:
        if not step["ok"] or step["rule"] == "assumed":
            lines.append(_wrapped(f"{step['id']}: {step['message']}", 2))
    lines += [_wrapped(problem, 2) for problem in proof["problems"]]
    for what in ("assumptions", "steps"):
        if proof[f"unused_{what}"]:
            lines.append(_wrapped(f"unused {what}: {', '.join(proof[f'unused_{what}'])}", 2))
    return lines


def _wrapped(text: str, indent: int = 0) -> str:
    blank = " " * indent
    return textwrap.fill(
        text, WIDTH, initial_indent=blank, subsequent_indent=blank + "  " * bool(indent)
    )


def _formula(text: str) -> str:
    """A formula on as many lines as it takes, broken at blanks only."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent="    ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )
