"""Writes docs/laws.md from the catalogue: `python -m tests.laws.laws_page`."""

from __future__ import annotations

from pathlib import Path

from accountants.laws import catalogue, sandbox
from accountants.laws.law import Law

PAGE = Path(__file__).parents[2] / "docs" / "laws.md"

_HEAD = f"""# The laws of accounting

What `check_accountant`, `pytest --accountant` and `dp2theory audit-accountant` hold an
accountant to (how to run them:
[how-to/property-test-your-accountant.md](how-to/property-test-your-accountant.md)). This page is
written from `accountants/laws/catalogue` by `python -m tests.laws.laws_page`.

Every law asks fixed corners first, then random examples; a broken example is shrunk to a simple
case. Findings are of three kinds. An *under-statement* is an ε (or δ) below the truth; it counts
when an enclosure in ball arithmetic ([proofs/enclosure.md](proofs/enclosure.md)) confirms it,
which shares no number with the engines of this project, and is *suspect* before. A breach of
*contract* is no sensible answer whatever the truth is: a negative ε, an answer to a question
that has none, two answers to one question. *Looseness* is no violation and is listed apart.
Whatever an accountant raises is a refusal, never a violation. An answer may take
{sandbox.CPU_SECONDS} s of CPU and {sandbox.MEMORY_BYTES // 2**30} GiB in L14; in the other laws
one that takes long counts as refused.
"""


def section(law: Law) -> str:
    """One law as Markdown."""
    tolerance = f"{law.tolerance:g}: {law.reason}" if law.tolerance else law.reason
    return "\n".join(
        [
            f"## {law.id} {law.title}",
            "",
            f"{law.statement[0].upper()}{law.statement[1:]}.",
            "",
            f"- needs: {law.needs}",
            f"- tolerance: {tolerance}",
            f"- parts: {', '.join(clause.name for clause in law.clauses)}",
            f"- reports: {law.source}",
            "",
        ]
    )


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(section(law) for law in catalogue.laws().values())])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
