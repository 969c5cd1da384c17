"""What `audit-accountant` prints for a person."""

from collections.abc import Mapping
from typing import Any

from dp2theory.report import audit_tables
from dp2theory.report.tables import text_table


def audit_text(result: Mapping[str, Any]) -> str:
    """The findings, worst first, then the laws one by one.

    Parameters
    ----------
    result : mapping
        The ``result`` of the JSON output.
    """
    version = f" {result['version']}" if result["version"] else ""
    parts = [
        f"{result['name']}{version}: {audit_tables.summary(result)}",
        f"seed {result['seed']}, {result['max_examples']} random examples for each law, "
        f"{result['cpu_seconds']:.3g} s of CPU",
    ]
    for group, heading in audit_tables.GROUPS:
        if result[group]:
            parts.append(f"\n{heading}")
            rows = audit_tables.finding_rows(result[group])
            parts.append(text_table(audit_tables.FINDING_HEADER, rows, left=(0, 1, 2, 4)))
            parts += [_details(finding) for finding in result[group]]
    rows = audit_tables.verdict_rows(result["results"])
    parts += ["\nLaw by law", text_table(audit_tables.VERDICT_HEADER, rows, left=(0, 1, 4))]
    return "\n".join(parts)


def _details(finding: Mapping[str, Any]) -> str:
    lines = [f"  {finding['law']} {finding['clause']}: {finding['message']}"]
    worst = audit_tables.worst_of(finding)
    if worst is not finding:
        lines.append(f"    worst: {audit_tables.answer(worst)}")
    if finding["confirmed_by"] is not None:
        lines.append(f"    confirmed: {finding['confirmed_by']}")
    lines.append(f"    event: {finding['case']['code']}")
    return "\n".join(lines)


def list_text(result: Mapping[str, Any]) -> str:
    """The accountants that are known by name, and the laws.

    Parameters
    ----------
    result : mapping
        The ``result`` of the JSON output with `--list`.
    """
    accountants = [
        [
            entry["name"],
            entry["package"] or "–",
            (entry["version"] or "–") if entry["installed"] else "not installed",
        ]
        for entry in result["accountants"]
    ]
    laws = [f"  {law['id']:<4} {law['title']}: {law['statement']}" for law in result["laws"]]
    table = text_table(("accountant", "package", "version"), accountants, left=(0, 1, 2))
    return "\n".join([table, "", "Laws", *laws])
