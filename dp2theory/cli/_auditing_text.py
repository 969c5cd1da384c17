"""What `audit` prints for a person."""

from collections.abc import Mapping
from math import floor
from typing import Any

from dp2theory.digits import short, within
from dp2theory.report.tables import number, text_table

_SHOWN_ATTEMPTS = 6


def audit_text(result: Mapping[str, Any]) -> str:
    """The verdict, what it rests on, and the attacks that were compared.

    Parameters
    ----------
    result : mapping
        The ``result`` of the JSON output.
    """
    evidence, asked = result["evidence"], result["epsilon"]
    word = "claimed" if result["claimed"] else "accounted"
    points = [asked, *result["profile"]]
    rows = [
        [number(p["delta"], 3), short(p["shown_lower"], "lower", 4), within(p["accounted"], 4)]
        for p in points
    ]
    attempts = [
        [a["data_sets"], a["attack"], number(a["promise"], 3)]
        for a in result["attempts"][:_SHOWN_ATTEMPTS]
    ]
    parts = [
        _verdict(result, word),
        "",
        text_table(("δ", "ε at least", f"ε {word}"), rows, left=()),
        "",
        f"attack: {result['attack']}, on the data sets '{result['data_sets']}', saying that the "
        f"record is {'there' if result['direction'] == 'remove' else 'not there'}",
        f"hits {evidence['hits']:,} and false alarms {evidence['false_alarms']:,} of "
        f"{evidence['trials']:,} fresh runs each; confidence {100 * result['confidence']:.4g} %; "
        f"so many runs show at most ε {number(evidence['largest_provable'])}",
        f"unit of privacy: {result['unit_of_privacy']}",
        "",
        "attacks compared on other runs, by the ε they promised",
        text_table(("data sets", "attack", "ε"), attempts, left=(0, 1)),
    ]
    return "\n".join(parts)


def _verdict(result: Mapping[str, Any], word: str) -> str:
    worst, asked = result["worst"], result["epsilon"]
    if result["violated"]:
        return (
            f"{result['optimizer']}: VIOLATED: ε is at least "
            f"{short(worst['shown_lower'], 'lower', 4)} at δ = {number(worst['delta'], 3)}, where "
            f"{short(worst['accounted']['upper'], 'upper', 4)} is {word}"
        )
    return (
        f"{result['optimizer']}: nothing found: ε is at least "
        f"{short(asked['shown_lower'], 'lower', 4)} at δ = {number(asked['delta'], 3)}, "
        f"{floor(100 * result['power'])} % of the "
        f"{short(asked['accounted']['upper'], 'upper', 4)} that is {word} (this is no proof of it)"
    )
