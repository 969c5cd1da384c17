"""Prove and test every theorem: proofs replayed, statements on runs and models, bounds sharpened.

A theorem's own statement is evaluated, not a formula typed again: on traces of the reference
optimizers and of ReSQue, whose scenarios are the seeds, and on the finite models that the theorem
offers. What is tested on models alone, or not at all, says so.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.problems.validation import whole_number
from dp2theory.verification.verify_report import (
    ASSUMING,
    FAILED,
    HOLDS,
    PROVED,
    UNTESTED,
    VIOLATED,
    Test,
    Verdict,
    VerifyReport,
    smallest_slack,
)

if TYPE_CHECKING:
    from bounds.proof.replay import Report
    from bounds.theorem import Theorem

__all__ = ["LEVELS", "InterruptedVerification", "verify"]

#: How much is tried: within a minute, or within 20 minutes of CPU.
LEVELS = ("quick", "full")
#: Gets one line of what was done.
Progress = Callable[[str], None]


@dataclass(frozen=True)
class _Effort:
    """How much is done at a level; hand-chosen to stay within its time."""

    models: int
    budget: int  # settings that a search tries, for each family of runs
    confirming: int  # by how much more runs a search confirms what it found


_EFFORTS = {"quick": _Effort(8, 6, 1), "full": _Effort(400, 120, 4)}


class InterruptedVerification(KeyboardInterrupt):
    """A verification that was interrupted.

    Attributes
    ----------
    partial : VerifyReport
        The verdicts for which everything was done; its `unfinished` names the other theorems.
    """

    def __init__(self, partial: VerifyReport) -> None:
        count = len(partial.verdicts)
        super().__init__(f"interrupted: {count} of {count + len(partial.unfinished)} theorems")
        self.partial = partial


def verify(
    ids: Iterable[str] | None = None,
    *,
    level: str = "quick",
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress | None = None,
    catalogue: Mapping[str, Theorem] | None = None,
) -> VerifyReport:
    """Prove and test theorems.

    Parameters
    ----------
    ids : iterable of str, optional
        Which; all of the catalogue by default.
    level : str
        ``"quick"`` (within a minute of CPU time for all) or ``"full"`` (within 20 minutes).
    seed : int
        Of runs, models and searches.
    executor : concurrent.futures.Executor, optional
        Where work goes; the verdicts are the same wherever it is done.
    progress : callable, optional
        Is told the name of each piece of work that is done.
    catalogue : mapping of str to Theorem, optional
        Theorems of one's own, by id, in place of the catalogue. They are checked in this process.

    Returns
    -------
    VerifyReport

    Raises
    ------
    ValueError
        For an id that is not in the catalogue, an unknown level or a seed that is no seed; when
        z3 or python-flint is not installed.
    InterruptedVerification
        When interrupted, with the verdicts so far.
    """
    began = time.process_time()
    if level not in LEVELS:
        raise ValueError(f"level={level!r} must be one of {', '.join(LEVELS)}")
    seed = whole_number("seed", seed, minimum=0)
    known = _catalogue(catalogue)
    chosen = _chosen(ids, known)
    from bounds.proof.tools import load

    for tool in ("z3", "flint"):  # before time is spent
        load(tool)
    units = list(_units(chosen, level, seed))
    outside = executor if catalogue is None else None
    gathered = _Gathered(units)
    done: dict[str, Report] = {}

    def report() -> VerifyReport:
        ready = [id for id in chosen if not gathered.left[id]]
        here = time.process_time() - began  # loading theorems, too
        return VerifyReport(
            tuple(_verdict(known[id], gathered) for id in ready),
            level,
            seed,
            here if outside is None else here + gathered.total,
            (*notes(), *gathered.early()),
            tuple(id for id in chosen if id not in ready),
        )

    try:
        for unit, answer in _answers(units, known, done, outside):
            gathered.add(unit, answer)
            if progress is not None:
                progress(unit.name)
    except KeyboardInterrupt as stop:
        raise InterruptedVerification(report()) from stop
    return report()


def units_of(ids: Iterable[str] | None, level: str) -> int:
    """How many pieces of work `verify` tells its `progress` of."""
    return len(list(_units(_chosen(ids, _catalogue(None)), level, 0)))


def notes() -> tuple[str, ...]:
    """What is not done for want of a package."""
    from dp2theory.verification.bounds_pep import missing

    return missing()


def _catalogue(given: Mapping[str, Theorem] | None) -> Mapping[str, Theorem]:
    if given is None:
        from bounds import theorems

        return theorems()
    return given


def _chosen(ids: Iterable[str] | None, known: Mapping[str, Theorem]) -> list[str]:
    """The ids asked for, in the order of the catalogue."""
    if ids is None:
        return list(known)
    if isinstance(ids, str):
        raise ValueError(f"ids={ids!r} must be a list of ids")
    asked = list(dict.fromkeys(ids))
    for id in asked:
        if id not in known:
            from bounds.catalogue import near_ids

            near = ", ".join(near_ids(str(id))) or "none"
            raise ValueError(f"theorem {id!r} is not in the catalogue; ids near it: {near}")
    return [id for id in known if id in asked]


@dataclass(frozen=True)
class _Unit:
    """A piece of work.

    `what` is ``"theorem"`` (its proof and its models), ``"runs"`` or ``"search"``.
    """

    name: str
    what: str
    ids: tuple[str, ...]
    level: str
    seed: int
    job: Any = None


@dataclass(frozen=True)
class _Answer:
    tests: Mapping[str, list[Test]]
    seconds: float
    proof: Any = None


def _units(chosen: list[str], level: str, seed: int) -> Iterator[_Unit]:
    """The work, family by family, so that verdicts are complete one after the other."""
    from dp2theory.verification.bounds_families import FAMILIES, jobs
    from dp2theory.verification.bounds_search import SEARCHED

    left = dict.fromkeys(chosen)
    planned = jobs(level, seed)
    for family, (_, answered) in FAMILIES.items():
        ids = tuple(id for id in answered if id in chosen)
        if not ids:
            continue
        for job in planned:
            if job.family == family:
                yield _Unit(f"runs: {family}", "runs", ids, level, seed, job)
        if family in SEARCHED:
            yield _Unit(f"search: {family}", "search", ids, level, seed, family)
        for id in ids:
            if id in left:  # else an earlier family has it, too
                del left[id]
                yield _Unit(id, "theorem", (id,), level, seed)
    for id in left:
        yield _Unit(id, "theorem", (id,), level, seed)


def _answers(
    units: list[_Unit],
    known: Mapping[str, Theorem],
    done: dict[str, Report],
    executor: Executor | None,
) -> Iterator[tuple[_Unit, _Answer]]:
    if executor is None:
        for unit in units:
            yield unit, _carry_out(unit, known, done)
        return
    futures = [(unit, executor.submit(_elsewhere, unit)) for unit in units]
    try:
        for unit, future in futures:
            yield unit, future.result()
    finally:
        for _, future in futures:
            future.cancel()


#: Proofs that this process has replayed, for citations.
_REPLAYED: dict[str, Report] = {}


def _elsewhere(unit: _Unit) -> _Answer:
    return _carry_out(unit, _catalogue(None), _REPLAYED)


def _carry_out(unit: _Unit, known: Mapping[str, Theorem], done: dict[str, Report]) -> _Answer:
    effort = _EFFORTS[unit.level]
    if unit.what == "theorem":
        return _theorem(known[unit.ids[0]], known, done, effort, unit.seed)
    theorems = {id: known[id] for id in unit.ids}
    if unit.what == "runs":
        from dp2theory.verification.bounds_families import perform

        return _Answer(*perform(unit.job, theorems))
    from dp2theory.verification.bounds_search import sharpen

    found = sharpen(
        unit.job, theorems, seed=unit.seed, budget=effort.budget, effort=effort.confirming
    )
    return _Answer(*found)


def _theorem(
    theorem: Theorem,
    known: Mapping[str, Theorem],
    done: dict[str, Report],
    effort: _Effort,
    seed: int,
) -> _Answer:
    from bounds.proof.replay import replay
    from dp2theory.verification.bounds_models import try_models
    from dp2theory.verification.bounds_pep import try_worst_case

    began = time.process_time()
    if theorem.id not in done:
        done[theorem.id] = replay(theorem, theorems=known, done=done)
    report = done[theorem.id]
    tests = [
        *try_models(theorem, seed=seed, tries=effort.models),
        *try_worst_case(theorem, full=effort is _EFFORTS["full"]),
    ]
    proof = {
        "ok": report.ok,
        "assumed": report.assumed,
        "failed": (
            *(f"{theorem.id}: step {each.id} fails: {each.message}" for each in report.steps
              if not each.ok),
            *(f"{theorem.id}: {each}" for each in report.problems),
        ),
    }  # fmt: skip
    return _Answer({theorem.id: tests}, time.process_time() - began, proof)


class _Gathered:
    """What came of the pieces of work that are done; `left` counts those that are not."""

    def __init__(self, units: list[_Unit]) -> None:
        self.left = Counter(id for unit in units for id in unit.ids)
        self.tests: dict[str, list[Test]] = {}
        self.proofs: dict[str, Mapping[str, Any]] = {}
        self.seconds: dict[str, float] = {}
        self.total = 0.0

    def add(self, unit: _Unit, answer: _Answer) -> None:
        self.total += answer.seconds
        self.left.subtract(unit.ids)
        for id in unit.ids:
            # Runs serve many theorems, which share their cost.
            share = answer.seconds / len(unit.ids)
            self.seconds[id] = self.seconds.get(id, 0.0) + share
        for id, tests in answer.tests.items():
            self.tests.setdefault(id, []).extend(tests)
        if answer.proof is not None:
            self.proofs[unit.ids[0]] = answer.proof

    def early(self) -> Iterator[str]:
        """Violations of theorems that are not done with."""
        for id, tests in self.tests.items():
            found = [each.violation for each in tests if each.violation and self.left[id]]
            if found:
                yield f"violated, though not finished: {found[0]}"


def _verdict(theorem: Theorem, gathered: _Gathered) -> Verdict:
    from dp2theory.verification.verify_reasons import why_not

    tests = tuple(gathered.tests.get(theorem.id, ()))
    proof = gathered.proofs[theorem.id]
    status = FAILED if not proof["ok"] else ASSUMING if proof["assumed"] else PROVED
    failed = tuple(" ".join(each.split())[:300] for each in proof["failed"])
    if status == FAILED or any(each.violation for each in tests):
        verdict = VIOLATED
    else:
        verdict = HOLDS if any(each.count for each in tests) else UNTESTED
    return Verdict(
        id=theorem.id,
        title=theorem.title,
        kind=str(theorem.kind),
        proof=status,
        assumed=tuple(proof["assumed"]),
        failed=failed,
        tested=tests,
        verdict=verdict,
        slack=smallest_slack(tests, equality=str(theorem.kind) == "identity"),
        why_not=why_not(theorem.id, tests),
        seconds=gathered.seconds[theorem.id],
    )
