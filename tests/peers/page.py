"""docs/peers/README.md out of docs/peers/report.json: numbers only, under-statements first."""

from collections.abc import Iterable, Sequence
from typing import Any

HEAD = """# The laws against accountants of other packages

`make peers` writes this page: it installs the packages at the versions of
[tests/peers/requirements.txt](../../tests/peers/requirements.txt) in an environment of their own
and asks each accountant what the laws L1 to L15 ask any accountant
([how to ask yours](../how-to/property-test-your-accountant.md)). The same numbers are in
[report.json](report.json).

```text
{command}
```

{about}

Noise multipliers are noise standard deviation over clip norm, so that replacing a record moves a
sum by two clip norms. "Truth" is an interval with both ends from this project; where an answer
below the truth is listed, ball arithmetic that shares no code with it confirmed the shortfall.
Runs are adaptive, as training is: a later gradient may depend on earlier outputs.
A finding that it did not confirm is "suspect" and counts for nothing. An error in place of an
answer is "refused", not a violation. The accountants run with their default settings; how events
are handed to them stands in [accountants/laws/adapters](../../accountants/laws/adapters).
"""


def page(report: dict[str, Any]) -> str:
    """The page of a report of ``python -m tests.peers``."""
    audits = report["audits"]
    about = _table(
        ("package", "version"), [(name, found) for name, found in report["versions"].items()]
    )
    spent = sum(audit["cpu_seconds"] for audit in audits)
    about += (
        f"\n\nSeed {report['seed']}, {report['max_examples']} random examples for a law and "
        f"relation, fewer where {report['cpu_budget']:.0f} s of CPU for one are short (the "
        f"note of a law says so), Python {report['python']}; {spent:.0f} s of CPU for all."
    )
    parts = [HEAD.format(command=report["command"], about=about), _overview(audits)]
    parts += [_accountant(audit) for audit in audits]
    parts.append(_looseness(audits))
    return "\n".join(part.strip() + "\n" for part in parts)


def _overview(audits: Sequence[dict[str, Any]]) -> str:
    rows = [
        (
            f"[{audit['name']}](#{audit['name']})",
            len(audit["understatements"]),
            len(audit["violations"]),
            len(audit["suspects"]),
            _largest(audit),
            f"{audit['cpu_seconds']:.0f} s",
        )
        for audit in audits
    ]
    head = ("accountant", "below the truth", "other violations", "suspect", "worst", "CPU")
    return "## Overview\n\n" + _table(head, rows)


def _largest(audit: dict[str, Any]) -> str:
    found = [f["worst"] or f for f in audit["understatements"]]
    shares = [_number(f["relative_shortfall"]) for f in found]
    return f"{100 * max(shares):.3g} % below" if shares else ""


def _accountant(audit: dict[str, Any]) -> str:
    text = f"## {audit['name']}\n\n{audit['package']} {audit['version']}.\n"
    if audit["understatements"]:
        head = (
            "law",
            "clause",
            "smallest case",
            "answered",
            "truth",
            "worst case",
            "answered",
            "truth",
        )
        rows = [(f["law"], f["clause"], *_told(f), *_worst(f)) for f in audit["understatements"]]
        text += "\nBelow the truth:\n\n" + _table(head, rows) + "\n"
    for title, key in (("Other violations", "violations"), ("Suspect", "suspects")):
        if audit[key]:
            head = ("law", "clause", "smallest case", "answered", "truth", "what")
            rows = [(f["law"], f["clause"], *_told(f), f["message"]) for f in audit[key]]
            text += f"\n{title}:\n\n" + _table(head, rows) + "\n"
    head = ("law", "", "relation", "verdict", "answered", "refused", "note")
    rows = [
        (
            result["law"],
            result["title"],
            _relation(result["relation"]),
            result["verdict"],
            result["examples"],
            result["refusals"],
            result["note"],
        )
        for result in audit["results"]
    ]
    return text + "\nAll laws:\n\n" + _table(head, rows)


def _looseness(audits: Sequence[dict[str, Any]]) -> str:
    rows = [
        (audit["name"], f["law"], f["clause"], *_told(f), f["message"])
        for audit in audits
        for f in audit["looseness"]
    ]
    head = ("accountant", "law", "clause", "case", "answered", "truth", "what")
    text = "## Loose answers\n\nSound, and larger than they could be; no violations.\n\n"
    return text + (_table(head, rows) if rows else "None.")


def _told(finding: dict[str, Any]) -> tuple[str, str, str]:
    """The case, what was answered and the truth."""
    oracle = finding["oracle"]
    truth = "" if oracle is None else f"[{_short(oracle['lower'])}, {_short(oracle['upper'])}]"
    return finding["case_text"], _short(finding["value"]), truth


def _worst(finding: dict[str, Any]) -> tuple[str, str, str]:
    """The largest shortfall of the clause, where another case has it."""
    worst = finding["worst"]
    other = worst is not None and worst["case"] != finding["case"]
    return _told(worst) if other else ("", "", "")


def _number(value: float | str | None) -> float:
    return 0.0 if value is None else float(value)


def _short(value: float | str) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _relation(name: str) -> str:
    return name.lower().replace("_", " ")


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")
