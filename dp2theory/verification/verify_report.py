"""What `verify` answers: tests of a theorem, its verdict, and the report of all of them.

Words are chosen so that none claims more than was done: a proof was replayed or it was not, a
statement was tested on so many runs, models or points, or it was not tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

#: What a test looked at, and how it is counted.
RUNS, DRAWS, MODELS, POINTS = "runs", "draws", "models", "points"
#: Verdicts.
HOLDS, VIOLATED, UNTESTED = "holds", "violated", "proved, not tested"
#: Relative: how close to 1 a ratio must come for a bound of kind "tight" to count as attained.
ATTAINED = 1e-6
#: Proofs.
PROVED, ASSUMING, FAILED = "proved", "proved, with assumed steps", "failed"


@dataclass(frozen=True)
class Test:
    """One look at a statement.

    Attributes
    ----------
    on : str
        ``"runs"`` of the reference code, ``"draws"`` that it makes (of noise, of queries), finite
        ``"models"`` of the assumptions, ``"points"`` of the domains of its symbols, or
        ``"worst cases"`` of a method over all functions of a class, as PEPit finds them.
    what : str
        Which ones, in words.
    count : int
        How many: runs, models in which all assumptions hold, points.
    slack : float or None
        Smallest bound / measured that was found; for an equality left / right where it is
        furthest from 1; None where no ratio makes sense.
    interval : (float, float) or None
        Confidence interval of that slack over the seeds (99 %, jackknife).
    violation : str
        What fails and where; empty when the statement holds.
    searched : int
        Instances of a search that were tried for a smaller slack; 0 when nothing was searched.
    """

    on: str
    what: str
    count: int
    slack: float | None = None
    interval: tuple[float, float] | None = None
    violation: str = ""
    searched: int = 0

    __test__ = False  # no test of pytest's

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "on": self.on,
            "what": self.what,
            "count": self.count,
            "slack": self.slack,
            "interval": None if self.interval is None else list(self.interval),
            "violation": self.violation,
            "searched": self.searched,
        }


@dataclass(frozen=True)
class Verdict:
    """What is known of one theorem after `verify`.

    Attributes
    ----------
    id, title, kind : str
    proof : str
        ``"proved"``, ``"proved, with assumed steps"`` or ``"failed"``.
    assumed : tuple of str
        Steps that no rule settles.
    failed : tuple of str
        Steps, and problems of the proof as a whole, that fail.
    tested : tuple of Test
    verdict : str
        ``"holds"``, ``"violated"`` or ``"proved, not tested"``.
    slack : float or None
        Smallest bound / measured of all tests; for equalities the ratio furthest from 1.
    why_not : str
        Why there is no test, or no run, of it.
    seconds : float
        CPU time.
    """

    id: str
    title: str
    kind: str
    proof: str
    assumed: tuple[str, ...]
    failed: tuple[str, ...]
    tested: tuple[Test, ...]
    verdict: str
    slack: float | None
    why_not: str
    seconds: float

    @property
    def violation(self) -> str:
        """The first thing that is wrong, or nothing."""
        found = [each.violation for each in self.tested if each.violation]
        return found[0] if found else "; ".join(self.failed)

    @property
    def attained(self) -> bool | None:
        """Whether a test met equality, to `ATTAINED`; None for theorems of another kind."""
        if self.kind != "tight":
            return None
        known = (each.slack for each in self.tested if each.slack is not None)
        return any(abs(slack - 1) <= ATTAINED for slack in known)

    @property
    def words(self) -> str:
        """What was tested: ``"tested on 64 runs, 12 models"``."""
        counts: dict[str, int] = {}
        for each in self.tested:
            counts[each.on] = counts.get(each.on, 0) + each.count
        said = [f"{n} {on if n > 1 else on.removesuffix('s')}" for on, n in counts.items() if n]
        return f"tested on {', '.join(said)}" if said else "not tested"

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "id": self.id,
            "title": self.title,
            "kind": self.kind,
            "proof": self.proof,
            "assumed": list(self.assumed),
            "failed": list(self.failed),
            "tested": [each.to_json() for each in self.tested],
            "words": self.words,
            "verdict": self.verdict,
            "slack": self.slack,
            "attained": self.attained,
            "why_not": self.why_not,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class VerifyReport:
    """All verdicts.

    Attributes
    ----------
    verdicts : tuple of Verdict
        In the order of the catalogue.
    level : str
        ``"quick"`` or ``"full"``.
    seed : int
    seconds : float
        CPU time of this process and of its workers.
    notes : tuple of str
        What was left out, such as tools that are not installed.
    unfinished : tuple of str
        Ids of theorems that an interrupt left without a verdict.
    """

    verdicts: tuple[Verdict, ...]
    level: str
    seed: int
    seconds: float
    notes: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()

    @property
    def violated(self) -> tuple[str, ...]:
        """Ids of the theorems whose proof fails or whose statement is false somewhere."""
        return tuple(each.id for each in self.verdicts if each.verdict == VIOLATED)

    def counts(self) -> dict[str, int]:
        """How many theorems there are of each sort."""
        on = [{test.on for test in each.tested if test.count} for each in self.verdicts]
        return {
            "theorems": len(self.verdicts),
            "violated": len(self.violated),
            "proved": sum(each.proof == PROVED for each in self.verdicts),
            "assuming": sum(each.proof == ASSUMING for each in self.verdicts),
            "failed": sum(each.proof == FAILED for each in self.verdicts),
            "tested_on_runs": sum(bool(each & {RUNS, DRAWS}) for each in on),
            "tested_on_models_only": sum(bool(each) and not each & {RUNS, DRAWS} for each in on),
            "not_tested": sum(not each for each in on),
        }

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "level": self.level,
            "seed": self.seed,
            "seconds": round(self.seconds, 2),
            "violated": list(self.violated),
            "counts": self.counts(),
            "notes": list(self.notes),
            "unfinished": list(self.unfinished),
            "theorems": [each.to_json() for each in self.verdicts],
        }


def smallest_slack(tests: tuple[Test, ...], *, equality: bool) -> float | None:
    """The slack of a theorem: the smallest one, or for an equality the one furthest from 1.

    A ratio below 1 that its interval explains counts as 1.
    """
    known = [_explained(each) for each in tests if each.slack is not None]
    if not known:
        return None
    if equality:
        return max(known, key=lambda slack: abs(math.log(slack)) if slack > 0 else math.inf)
    return min(known)


def _explained(test: Test) -> float:
    assert test.slack is not None
    chance = test.interval is not None and test.interval[0] < 1 < test.interval[1]
    return max(test.slack, 1.0) if chance and not test.violation else test.slack
