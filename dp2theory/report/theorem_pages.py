"""Pages of theorems as Markdown, from the plain objects of `dp2theory theorems --json`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dp2theory.report.tables import markdown_table

#: The first line of a generated page, by which a stale one is known.
WRITTEN = "<!-- written by `make theorems`; changes here are lost -->"

#: Who sees to an assumption, in words.
HELD_BY = {
    "code": "checked by code, or true by construction",
    "caller": "promised by the caller",
}
#: How a source is known, in words.
STATUS = {
    "stated": "stated in the paper",
    "recalled": "recalled, not quoted: the paper's wording or constants may differ",
    "derived": "ours",
}


def theorem_page(result: Mapping[str, Any], *, picture: str | None = None) -> str:
    """The page of one theorem.

    Parameters
    ----------
    result : mapping
        The ``result`` of ``dp2theory theorems ID --json``. Times are left out, so that the same
        theorem gives the same page.
    picture : str, optional
        Where its picture is, from the page.
    """
    parts = [WRITTEN, f"# {result['id']}: {prose(result['title'])}", prose(result["explanation"])]
    parts.append(_facts(result))
    general = ", ".join(f"`{name}`" for name in result["general_in"])
    parts += ["## Statement", f"For all {general}:" if general else "", math(result["latex"])]
    parts.append(_symbols(result["symbols"]))
    if result["assumptions"]:
        parts += ["## Assumptions", *map(_assumption, result["assumptions"])]
    parts += ["## Proof", verdict(result), _steps_table(result), *_assumed_steps(result)]
    parts += _unused(result)
    parts += ["### Conclusions", *map(_conclusion, result["steps"])]
    parts += _computable(result, picture)
    parts += _listed("## Caveats", result["caveats"])
    slack = [f"{what}: {why}" for what, why in result["slack"].items()]
    parts += _listed("## What is not tight", slack)
    parts += ["## References", *_references(result["references"])]
    return page(parts)


def page(parts: Iterable[str]) -> str:
    """Blocks of Markdown with a blank line between them."""
    return "\n\n".join(part.rstrip() for part in parts if part.strip()) + "\n"


def prose(text: str) -> str:
    """Text in which no sign is taken for Markdown; what stands in backquotes is kept."""
    pieces = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(
        piece if piece.startswith("`") else re.sub(r"([\\*_<>\[\]$|~])", r"\\\1", piece)
        for piece in pieces
    )


def math(latex: str) -> str:
    """A displayed formula."""
    return f"```math\n{latex}\n```"


def _facts(result: Mapping[str, Any]) -> str:
    source = result["source"]
    short = result["references"][0]["label"]
    where = f"[{short}](#references)" + (f", {prose(source['item'])}" if source["item"] else "")
    lines = [
        f"- kind: {result['kind']}",
        f"- source: {where}; {STATUS[source['status']]}",
        f"- defined in `{result['file']}`",
        f"- check it: `dp2theory theorems {result['id']}`",
    ]
    if source["note"]:
        lines.insert(2, f"- note: {prose(source['note'])}")
    return "\n".join(lines)


def _symbols(symbols: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (f"$`{each['latex']}`$", f"`{each['parameter']}`", each["domain"], prose(each["meaning"]))
        for each in symbols
    ]
    return markdown_table(("symbol", "name", "domain", "meaning"), rows) if rows else ""


def _assumption(each: Mapping[str, Any]) -> str:
    words = f"**{each['id']}** ({HELD_BY[each['held_by']]}): {prose(each['text'])}"
    return f"{words}\n\n{math(each['latex'])}"


def verdict(result: Mapping[str, Any]) -> str:
    """What the replay of the proof came to, in a sentence or two."""
    proof = result["proof"]
    if not proof["ok"]:
        return "**The proof fails.**"
    count = len(proof["steps"])
    own = sum(step["rule"] == "assumed" for step in result["steps"])
    if own == count:
        text = "No rule settles it: it is assumed."
    elif own:
        text = (
            f"{own} of the {count} steps {'is' if own == 1 else 'are'} assumed and listed below; "
            "each other one is checked by the rule that it names."
        )
    else:
        text = f"Each of the {count} steps is checked by the rule that it names."
    cited = ", ".join(f"[{id}]({id}.md)" for id in proof["cited"])
    return text + (f" It stands on {cited}, whose proofs are replayed with it." if cited else "")


def _steps_table(result: Mapping[str, Any]) -> str:
    outcomes = {step["id"]: step for step in result["proof"]["steps"]}
    rows = []
    for step in result["steps"]:
        rule = step["rule"] + (f": {step['by']}" if step["by"] else "")
        checked = "assumed" if step["rule"] == "assumed" else "ok"
        ok = outcomes[step["id"]]["ok"]
        rows.append((step["id"], rule, checked if ok else "**fails**", prose(step["note"])))
    return markdown_table(("step", "rule", "", "why"), rows)


def _assumed_steps(result: Mapping[str, Any]) -> list[str]:
    own = [step for step in result["steps"] if step["rule"] == "assumed"]
    others = [name for name in result["proof"]["assumed"] if ":" in name]
    if not own and not others:
        return []
    lines = [f"- `{step['id']}`: {prose(step['note'])}" for step in own]
    lines += [f"- `{name}`, through a theorem that is cited" for name in others]
    return ["### Assumed steps", "Nothing checks these:", "\n".join(lines)]


def _unused(result: Mapping[str, Any]) -> list[str]:
    proof = result["proof"]
    return [
        f"No step stands on the {what} {', '.join(f'`{id}`' for id in proof[f'unused_{what}'])}."
        for what in ("assumptions", "steps")
        if proof[f"unused_{what}"]
    ]


def _conclusion(step: Mapping[str, Any]) -> str:
    origin = ", ".join(f"`{premise}`" for premise in step["premises"])
    words = f"**{step['id']}**" + (f", from {origin}" if origin else "")
    return f"{words}\n\n{math(step['latex'])}"


def _computable(result: Mapping[str, Any], picture: str | None) -> list[str]:
    if not result["evaluations"]:
        return []
    parts = ["## What can be computed"]
    for each in result["evaluations"]:
        names = ", ".join(each["parameters"])
        parts.append(f"`{each['name']}({names})`\n\n{math(each['latex'])}")
    if picture is not None:
        parts += [_picture(result, picture)]
    return parts


def _picture(result: Mapping[str, Any], picture: str) -> str:
    curve = result["curve"]
    shown = " and ".join(filter(None, (", ".join(curve["names"][:-1]), curve["names"][-1])))
    words = f"{shown} against {curve['along']}"
    if curve["fixed"]:
        fixed = (f"{name} = {_short(value)}" for name, value in curve["fixed"].items())
        words += f", with {', '.join(fixed)}"
    return f"![{prose(words)}]({picture})\n\n{prose(words)}."


def _short(value: Any) -> str:
    if isinstance(value, list):
        shown = [_short(item) for item in value[:4]] + ["…"] * (len(value) > 4)
        return f"({', '.join(shown)})"
    return f"{value:.6g}"


def _listed(heading: str, lines: Iterable[str]) -> list[str]:
    items = "\n".join(f"- {prose(line)}" for line in lines)
    return [heading, items] if items else []


def _references(references: Iterable[Mapping[str, Any]]) -> list[str]:
    parts = []
    for each in references:
        parts.append(f"{each['label']}: {prose(each['text'])}")
        parts.append(f"```bibtex\n{each['bibtex']}\n```")
    return parts
