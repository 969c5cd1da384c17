"""Writes ``data/fixed_size.json``: ``python -m tests.reference.generate_fixed [SECONDS]``.

Rows that are there for the same input are kept.  A row that no method serves is left out, with a
line on stderr.
"""

from __future__ import annotations

import json
import math
import signal
import sys
import time
from fractions import Fraction
from typing import Any

from . import fixed_oracle
from .contour import ReferenceTooSlow
from .fixed_oracle import LIGHT, with_largest
from .fixed_settings import Setting, settings
from .generate import DATA, write
from .laws import Copies
from .oracle import Value, _ball_text
from .profile_law import ProfileLaw
from .symmetric import SymmetricLaw


def inputs(setting: Setting) -> dict[str, Any]:
    """What identifies a row."""
    run = setting.run
    row: dict[str, Any] = {
        "source": setting.source,
        "sampling": run.sampling,
        "dataset_size": run.dataset_size,
        "batch_size": run.batch_size,
        "sigma": str(run.sigma),
        "count": run.count,
        "pair": setting.pair,
    }
    for key in ("delta", "epsilon", "largest"):
        if getattr(setting, key) is not None:
            row[key] = getattr(setting, key)
    return row


def answer(setting: Setting) -> Value:
    """Compute one row."""
    run = setting.run
    if setting.epsilon is not None:
        if setting.largest is None:
            parts = run.parts(setting.pair, -100.0)
        elif setting.pair == "PQ":
            parts = with_largest(run, setting.largest)
        else:
            copies = Copies(run.batch_size, run.dataset_size, setting.largest)
            parts = [(SymmetricLaw(run.sigma, copies=copies), run.count)]
        return fixed_oracle.delta(parts, Fraction(setting.epsilon))
    assert setting.delta is not None
    target = Fraction(setting.delta)
    if setting.pair == "h1":
        copies = Copies(run.batch_size, run.dataset_size, 6, conditioned=True)
        law = ProfileLaw("h1", run.sigma, copies=copies)
        ball, digits = fixed_oracle.contour.epsilon_reference(
            [(law, run.count)], target, 4e8, LIGHT
        )
        return Value(_ball_text(ball, digits), digits, "two contours on the profile, python-flint")
    parts = run.parts(setting.pair, math.log(target))
    rare = float(run.q) * run.count < 1.5
    choices = fixed_oracle.CHOICES if setting.source == "autodp#3" else LIGHT
    return fixed_oracle.solve(parts, target, rare, 1e8, choices, 1.0, 12.0)


def main(arguments: list[str]) -> int:
    """Fill the table."""
    limit = float(arguments[0]) if arguments else math.inf
    path = DATA / "fixed_size.json"
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    known = {json.dumps({k: row[k] for k in row if k not in _ANSWER}): row for row in old}
    signal.signal(signal.SIGVTALRM, _stop)
    rows = []
    begin = time.process_time()
    for setting in settings():
        row = inputs(setting)
        if (found := known.get(json.dumps(row))) is not None:
            rows.append(found)
            continue
        start = time.process_time()
        if start - begin > limit:
            break
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, 60 if setting.pair != "h1" else 400)
            value = answer(setting)
        except (ArithmeticError, ReferenceTooSlow) as error:
            print(f"left out: {row}: {error!r}", file=sys.stderr)
            continue
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        row["value"], row["digits"] = value.text, round(min(value.digits, 25.0), 1)
        row["method"], row["seconds"] = value.method, round(time.process_time() - start, 1)
        rows.append(row)
        write("fixed_size", rows)
    print(f"fixed_size: {len(rows)} rows", flush=True)
    return 0


def _stop(number: int, frame: Any) -> None:
    raise ReferenceTooSlow("out of time")


_ANSWER = ("value", "digits", "method", "seconds")

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
