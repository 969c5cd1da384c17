"""Writes ``accountants/laws/data/corpus-1.json``: ``python -m tests.reference.generate_corpus``.

Rows that are in the file stay as they are: a version's rows never change.  A case of
``corpus_cases`` that has none yet is computed and appended; one that takes more than its budget is
left out, with a line on stderr.  ``--check COUNT`` writes nothing and computes COUNT rows anew.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from .contour import ReferenceTooSlow
from .corpus_cases import Case, cases
from .corpus_values import ends

VERSION = 1
FILE = Path(__file__).parents[2] / "accountants" / "laws" / "data" / f"corpus-{VERSION}.json"
HEAD = {
    "$schema": f"corpus-{VERSION}.schema.json",
    "version": VERSION,
    "title": "Privacy cost of composed mechanisms, between two ends",
    "documentation": "docs/corpus.md of dp2theory",
    "quantity": "the smallest epsilon such that the event is (epsilon, delta)-DP",
}
SECONDS = 90.0  # of CPU for one row


def key(row: dict[str, Any] | Case) -> str:
    """What a row is asked."""
    if isinstance(row, Case):
        return json.dumps([row.event, row.relation, row.delta], sort_keys=True)
    return json.dumps([row["event"], row["relation"], row["delta"]], sort_keys=True)


def answer(event: dict[str, Any], relation: str, delta: float) -> dict[str, Any]:
    """The computed part of a row."""
    found = ends(event, relation, Fraction(delta))
    return {
        "lower": text(found.lower),
        "upper": text(found.upper),
        "digits": found.digits,
        "exact": found.exact,
        "source": found.source,
    }


def text(value: Decimal) -> str:
    """A decimal that every parser of floats reads."""
    if value.is_infinite():
        return "inf"
    return str(value).replace("E", "e").replace("e+", "e") if value else "0"


def compute(case: Case, number: int) -> dict[str, Any]:
    """One row."""
    row: dict[str, Any] = {
        "id": f"{case.family}-{number:03d}",
        "family": case.family,
        "event": case.event,
        "relation": case.relation,
        "delta": case.delta,
        **answer(case.event, case.relation, case.delta),
    }
    if case.report is not None:
        row["report"] = case.report
    return row


def load(path: Path = FILE) -> list[dict[str, Any]]:
    """Rows of the file as they stand; none when it does not exist."""
    if not path.exists():
        return []
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return rows


def write(rows: Iterable[dict[str, Any]], path: Path = FILE) -> None:
    """Replace the file in one step; a line for each row."""
    head = json.dumps(HEAD, indent=1)[:-2]
    body = ",\n".join(json.dumps(row) for row in rows)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(f'{head},\n "rows": [\n{body}\n]\n}}\n', encoding="utf-8")
    os.replace(temporary, path)


def missing(rows: Iterable[dict[str, Any]]) -> Iterator[Case]:
    """Cases without a row; of equal ones the first."""
    known = {key(row) for row in rows}
    for case in cases():
        if key(case) not in known:
            known.add(key(case))
            yield case


def differing(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Ids of rows that come out otherwise when they are computed anew.

    Ends may differ by what the digits of the less precise of the two computations leave open.
    """
    wrong = []
    for row in rows:
        again = answer(row["event"], row["relation"], row["delta"])
        room = 2 * Decimal(10) ** -min(row["digits"], again["digits"])
        close = all(near(row[end], again[end], room) for end in ("lower", "upper"))
        if not close or row["exact"] is not again["exact"]:
            wrong.append(row["id"])
    return wrong


def near(one: str, other: str, room: Decimal) -> bool:
    """Whether two ends are equal up to a relative ``room``."""
    if "inf" in (one, other):
        return one == other
    a, b = Decimal(one), Decimal(other)
    return abs(a - b) <= room * max(a, b)


def _stop(number: int, frame: Any) -> None:
    raise ReferenceTooSlow("out of time")


def main(arguments: list[str]) -> int:
    """Append what is missing, or check."""
    rows = load()
    if arguments[:1] == ["--check"]:
        count = min(int(arguments[1]), len(rows))
        wrong = differing(random.Random(4).sample(rows, count))
        print(f"{count} rows computed anew, {len(wrong)} differ: {' '.join(wrong)}")
        return 1 if wrong else 0
    signal.signal(signal.SIGVTALRM, _stop)
    for case in missing(rows):
        numbers = [int(row["id"].rsplit("-", 1)[1]) for row in rows if row["family"] == case.family]
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            row = compute(case, max(numbers, default=0) + 1)
        except (ArithmeticError, ReferenceTooSlow, ValueError) as error:
            print(f"left out: {case}: {error!r}", file=sys.stderr, flush=True)
            continue
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        rows.append(row)
        write(rows)
    print(f"{len(rows)} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
