"""What `verify` prints for a person."""

import textwrap
from collections.abc import Mapping
from typing import Any

from dp2theory.report.tables import text_table

WIDTH = 100
HEADER = ("theorem", "kind", "proof", "bound/measured", "verdict", "tested on", "seconds")


def quiet_text(result: Mapping[str, Any]) -> str:
    """The violated theorems, or that there are none."""
    violated = result["violated"]
    count = result["counts"]["theorems"]
    return f"{len(violated)} of {count} violated" + (f": {', '.join(violated)}" if violated else "")


def verify_text(result: Mapping[str, Any]) -> str:
    """The table, the least slack first, and below it what was not tested on runs, and why.

    Parameters
    ----------
    result : mapping
        The ``result`` of the JSON output.
    """
    verdicts = sorted(result["theorems"], key=_order)
    rows = [
        [
            each["id"],
            each["kind"],
            _proof(each),
            _slack(each["slack"]),
            each["verdict"],
            each["words"].removeprefix("tested on "),
            f"{each['seconds']:.2f}",
        ]
        for each in verdicts
    ]
    parts = [text_table(HEADER, rows, left=(0, 1, 2, 4, 5))]
    wrong = [each for each in verdicts if each["verdict"] == "violated"]
    for each in wrong:
        parts += [textwrap.fill(line, WIDTH) for line in _violations(each)]
    loose = [each["id"] for each in verdicts if each["attained"] is False]
    if loose:
        said = f"of kind tight, and equality was not met here: {', '.join(loose)}"
        parts.append("\n" + textwrap.fill(said, WIDTH, break_on_hyphens=False))
    parts += _left_out(verdicts)
    counts = result["counts"]
    parts.append(
        f"\n{counts['theorems']} theorem{'s' * (counts['theorems'] != 1)}, "
        f"{counts['violated']} violated; proofs: "
        f"{counts['proved']} proved, {counts['assuming']} proved with assumed steps, "
        f"{counts['failed']} failed;\nstatements: {counts['tested_on_runs']} tested on runs or "
        f"draws of the reference code, {counts['tested_on_models_only']} on models or points only, "
        f"{counts['not_tested']} not tested; {result['seconds']:.0f} s of CPU"
    )
    parts += [textwrap.fill(f"note: {each}", WIDTH) for each in result["notes"]]
    if result["unfinished"]:
        said = f"interrupted, without a verdict: {', '.join(result['unfinished'])}"
        parts.append("\n" + textwrap.fill(said, WIDTH, break_on_hyphens=False))
    return "\n".join(parts)


def _order(each: Mapping[str, Any]) -> tuple[int, float]:
    place = {"violated": 0, "holds": 1}.get(each["verdict"], 2)
    # Rounding apart, what is attained comes first.
    slack = float("inf") if each["slack"] is None else float(each["slack"])
    return place, round(slack, 9)


def _proof(each: Mapping[str, Any]) -> str:
    count = len(each["assumed"])
    return f"proved, {count} assumed" if each["proof"].endswith("steps") else str(each["proof"])


def _slack(slack: float | str | None) -> str:
    if slack is None:
        return "–"
    return f"{float(slack):.4g}" if float(slack) > 1.01 else f"{float(slack):.6f}"


def _violations(each: Mapping[str, Any]) -> list[str]:
    found = [test["violation"] for test in each["tested"] if test["violation"]]
    return [f"VIOLATED: {said}" for said in [*found, *each["failed"]]]


def _left_out(verdicts: list[Mapping[str, Any]]) -> list[str]:
    """Why there are no runs, reason by reason."""
    reasons: dict[str, list[str]] = {}
    for each in verdicts:
        if each["why_not"]:
            tested = "" if each["verdict"] != "proved, not tested" else " (not tested at all)"
            reasons.setdefault(each["why_not"], []).append(each["id"] + tested)
    lines = ["\nnot tested on runs:"] if reasons else []
    for why, ids in reasons.items():
        said = textwrap.fill(", ".join(ids), WIDTH - 4, break_on_hyphens=False)
        lines.append(textwrap.indent(said, "    "))
        lines.append(f"      {why}")
    return lines
