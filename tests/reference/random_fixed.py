"""Random settings over the whole box, for every sampling scheme; writes ``data/box_*.json``.

``python -m tests.reference.random_fixed SAMPLING COUNT [SECONDS]`` extends a table to COUNT rows,
kept in the order of their numbers, and stops after SECONDS of processor time.  What no method
resolves stays in the table with the value null.
"""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from . import contour, oracle
from .fixed_oracle import LIGHT, best_pair, epsilon, is_rare, solve, upper
from .fixed_size import Run
from .oracle import Value
from .pairs import Step

DATA = Path(__file__).parent / "data"
LONGEST_ANSWER = 12.0  # seconds of processor time
FAMILY = ("PQ", "QP", "z=-99/100 PQ", "z=-1/2 PQ", "z=0 PQ")
SPECIAL = ("special z=-1 real", "special z=-1 null", "special z=0 real", "special z=0 null")


class OutOfTime(Exception):
    """One answer took too long."""


def _log_uniform(rng: random.Random, low: float, high: float, digits: int) -> Fraction:
    x = math.exp(rng.uniform(math.log(low), math.log(high)))
    return Fraction(f"{x:.{digits - 1}e}")


def setting(sampling: str, number: int) -> dict[str, Any]:
    """Setting number ``number``: q 1e-6..1, sigma .3..100, T 1..1e6, delta 1e-30..1e-2."""
    rng = random.Random(f"{sampling} {number}")
    q = Fraction(1) if rng.random() < 0.04 else _log_uniform(rng, 1e-6, 1, 5)
    row: dict[str, Any] = {"number": number, "sigma": str(_log_uniform(rng, 0.3, 100, 4))}
    row["count"] = int(_log_uniform(rng, 1, 1e6, 12))
    row["delta"] = f"{float(_log_uniform(rng, 1e-30, 1e-2, 4))!r}"
    if sampling == "poisson":
        row["q"] = repr(float(q))
    else:
        row["batch_size"] = int(_log_uniform(rng, 1, 2000, 12))
        row["dataset_size"] = max(2, row["batch_size"], round(row["batch_size"] / q))
    return row


def _stored(value: Value | None) -> list[Any] | None:
    return None if value is None else [value.text, round(min(value.digits, 25.0), 1), value.method]


def _try(function: Any, *arguments: Any) -> Value | None:
    signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_ANSWER)
    try:
        return function(*arguments)
    except (
        contour.ReferenceTooSlow,
        ArithmeticError,
        AssertionError,
        ValueError,
        OutOfTime,
    ) as error:
        print(f"unresolved: {arguments}: {error!r}", file=sys.stderr)
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _stop(number: int, frame: Any) -> None:
    raise OutOfTime(LONGEST_ANSWER)


def _poisson(row: dict[str, Any]) -> dict[str, Any]:
    one = Step(Fraction(row["q"]), Fraction(row["sigma"]), row["count"])
    side = ("remove", "add")[row["number"] % 2]
    return {
        direction: _stored(_try(light_poisson, one, direction, Fraction(row["delta"])))
        for direction in (side, "replace")
    }


def light_poisson(one: Step, direction: str, delta: Fraction) -> Value:
    """epsilon under Poisson sampling with the lighter parameters."""
    if one.q == 1 or one.count == 1:
        return oracle.epsilon([one], direction, delta)
    rare = float(one.q) * one.count < 6
    return solve(oracle.laws([one], direction), delta, rare, 1.5e7, LIGHT, 2.0, 11.0)


def _light(run: Run, name: str, delta: Fraction) -> Value:
    return epsilon(run, name, delta, 1.5e7, LIGHT, 2.0, 11.0)


def _fixed(sampling: str, row: dict[str, Any]) -> dict[str, Any]:
    run = Run(
        sampling, row["dataset_size"], row["batch_size"], Fraction(row["sigma"]), row["count"]
    )
    delta = Fraction(row["delta"])
    found: dict[str, Any] = {"PQ": _try(_light, run, "PQ", delta)}
    if row["number"] % 2:
        found["QP"] = _try(_light, run, "QP", delta)
    whole = sampling == "without" and run.q == 1
    many = not whole and not is_rare(run)
    if many:
        for name in best_pair(run, FAMILY, delta, 5e-4)[:2]:
            if name not in found:
                found[name] = _try(_light, run, name, delta)
    candidates = best_pair(run, SPECIAL, delta, 0.0) if many else []
    for name in [*candidates, "special z=0 real"]:
        found[name] = _try(_light, run, name, delta)
        if found[name] is not None:
            break
    bound = None
    if run.count == 1 or whole or (many and sampling == "without"):
        bound = _try(_light, run, "symmetrised", delta)
        found["symmetrised"] = bound
    if bound is None:
        found["above symmetrised"] = _try(upper, run, delta)
    return {name: _stored(value) for name, value in found.items()}


def answers(sampling: str, row: dict[str, Any]) -> dict[str, Any]:
    """All references of one setting."""
    return _poisson(row) if sampling == "poisson" else _fixed(sampling, row)


def table(sampling: str) -> Path:
    return DATA / f"box_{sampling}.json"


def main(arguments: list[str]) -> int:
    """Extend one table."""
    sampling, count = arguments[0], int(arguments[1])
    limit = float(arguments[2]) if len(arguments) > 2 else math.inf
    path = table(sampling)
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    begin = time.process_time()
    while len(rows) < count and time.process_time() - begin < limit:
        row = setting(sampling, len(rows))
        start = time.process_time()
        row["answers"] = answers(sampling, row)
        row["seconds"] = round(time.process_time() - start, 1)
        rows.append(row)
        temporary = path.with_suffix(".tmp")
        text = "[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n"
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    print(f"{sampling}: {len(rows)} rows", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
