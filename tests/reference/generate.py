"""Writes the reference tables: ``python -m tests.reference.generate [TABLE ...] [--again]``.

Rows that are already there for the same input are kept unless ``--again`` is given.  A row that
takes more than its budget is left out, with a line on stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from . import oracle
from .settings import Setting, tables

DATA = Path(__file__).parent / "data"


def inputs(setting: Setting) -> dict[str, Any]:
    """What identifies a row."""
    row: dict[str, Any] = {
        "source": setting.source,
        "quantity": setting.quantity,
        "direction": setting.direction,
        "steps": [{"q": str(s.q), "sigma": str(s.sigma), "count": s.count} for s in setting.parts],
    }
    if setting.delta is not None:
        row["delta"] = str(setting.delta)
    if setting.epsilon is not None:
        row["epsilon"] = str(setting.epsilon)
    return row


def answer(setting: Setting) -> oracle.Value:
    """Compute one row."""
    if setting.source == "nested quadrature":
        assert setting.epsilon is not None
        return oracle.nested(setting.parts[0], setting.direction, setting.epsilon)
    if setting.quantity == "epsilon":
        assert setting.delta is not None
        return oracle.epsilon(setting.parts, setting.direction, setting.delta)
    if setting.quantity == "delta":
        assert setting.epsilon is not None
        return oracle.delta(setting.parts, setting.direction, setting.epsilon)
    assert setting.epsilon is not None
    assert setting.delta is not None
    return oracle.sigma(setting.parts[0], setting.direction, setting.epsilon, setting.delta)


def write(name: str, rows: list[dict[str, Any]]) -> None:
    """Replace one table in one step."""
    target = DATA / f"{name}.json"
    temporary = target.with_suffix(".tmp")
    text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, target)


def main(arguments: list[str]) -> int:
    """Generate the named tables (all of them when none is named)."""
    again = "--again" in arguments
    wanted = [a for a in arguments if not a.startswith("-")]
    everything = tables()
    for name in wanted or everything:
        path = DATA / f"{name}.json"
        old = json.loads(path.read_text(encoding="utf-8")) if path.exists() and not again else []
        known = {json.dumps({k: row[k] for k in row if k not in _ANSWER}): row for row in old}
        rows = []
        for setting in everything[name]:
            row = inputs(setting)
            if (found := known.get(json.dumps(row))) is not None:
                rows.append(found)
                continue
            start = time.process_time()
            try:
                value = answer(setting)
            except (ArithmeticError, RuntimeError) as error:
                print(f"left out: {row}: {error}", file=sys.stderr)
                continue
            seconds = round(time.process_time() - start, 1)
            digits = round(min(value.digits, 25.0), 1)
            rows.append(
                row
                | {
                    "value": value.text,
                    "digits": digits,
                    "method": value.method,
                    "seconds": seconds,
                }
            )
            write(name, rows)
        write(name, rows)
        print(f"{name}: {len(rows)} of {len(everything[name])} rows", flush=True)
    return 0


_ANSWER = ("value", "digits", "method", "seconds")


def exact(text: str) -> Fraction:
    """A rational from its text in a table."""
    return Fraction(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
