"""Replaying a proof: every step is checked again, from nothing but the theorem object."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy

from bounds.proof import enclosure, expectation, identity, rational
from bounds.proof.premises import PremiseError, Resolver
from bounds.proof.step import Rule, Step
from bounds.proof.tools import MissingTool, Outcome

if TYPE_CHECKING:
    from bounds.theorem import Theorem

#: What was found for steps that were checked, by what they rest on.
Outcomes = dict[tuple[Any, ...], Outcome]
#: From a step and its premises to whether the rule accepts it.
Checker = Callable[[Step, Sequence[sympy.Basic]], Outcome]


def _assumed(step: Step, premises: Sequence[sympy.Basic]) -> Outcome:
    if not step.note.strip():
        return Outcome(False, "an assumed step names its source")
    return Outcome(True, f"assumed: {step.note}")


#: The checker of each rule.
CHECKERS: Mapping[Rule, Checker] = {
    Rule.SYMPY: identity.check,
    Rule.Z3: rational.check,
    Rule.BALL: enclosure.check,
    Rule.EXPECTATION: expectation.check,
    Rule.ASSUMED: _assumed,
}


@dataclass(frozen=True)
class StepResult:
    """What became of one step.

    Attributes
    ----------
    id : str
    rule : Rule
    ok : bool
    seconds : float
        CPU time.
    message : str
        Why it failed (with z3's counter-model or the violating box), or how it was settled.
    premises : tuple of str
        Ids of the assumptions, steps and theorems it stands on.
    conclusion : sympy.Basic
    note : str
    """

    id: str
    rule: Rule
    ok: bool
    seconds: float
    message: str
    premises: tuple[str, ...]
    conclusion: sympy.Basic
    note: str

    @property
    def time(self) -> float:
        """CPU time in seconds."""
        return self.seconds

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "id": self.id,
            "rule": str(self.rule),
            "ok": self.ok,
            "seconds": round(self.seconds, 4),
            "message": self.message,
            "premises": list(self.premises),
            "conclusion": str(self.conclusion),
            "note": self.note,
        }


@dataclass(frozen=True)
class Report:
    """The outcome of a replay.

    Attributes
    ----------
    theorem : str
    ok : bool
        Every step was accepted, the last conclusion is the statement, and the theorems that are
        cited replay too.
    steps : tuple of StepResult
    problems : tuple of str
        What is wrong with the proof as a whole.
    unused_assumptions, unused_steps : tuple of str
        What no step stands on.
    assumed : tuple of str
        Steps of rule ``assumed``, of cited theorems too (``"dp2.A0: concentration"``).
    cited : tuple of str
    seconds : float
        CPU time of this theorem's own steps.
    """

    theorem: str
    ok: bool
    steps: tuple[StepResult, ...]
    problems: tuple[str, ...]
    unused_assumptions: tuple[str, ...]
    unused_steps: tuple[str, ...]
    assumed: tuple[str, ...]
    cited: tuple[str, ...]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "theorem": self.theorem,
            "ok": self.ok,
            "steps": [each.to_json() for each in self.steps],
            "problems": list(self.problems),
            "unused_assumptions": list(self.unused_assumptions),
            "unused_steps": list(self.unused_steps),
            "assumed": list(self.assumed),
            "cited": list(self.cited),
            "seconds": round(self.seconds, 4),
        }

    def describe(self) -> str:
        """The report as text, a line a step."""
        lines = [f"{self.theorem}: {'proved' if self.ok else 'NOT PROVED'}"]
        for each in self.steps:
            mark = "ok" if each.ok else "FAILS"
            lines.append(f"  {each.id}  {each.rule}  {mark}  {each.seconds:.3f} s  {each.message}")
        lines.extend(f"  problem: {each}" for each in self.problems)
        for title, names in (
            ("assumptions that no step uses", self.unused_assumptions),
            ("steps that nothing uses", self.unused_steps),
            ("assumed, not proved", self.assumed),
        ):
            if names:
                lines.append(f"  {title}: {', '.join(names)}")
        return "\n".join(lines)


def replay(
    theorem: Theorem,
    *,
    theorems: Mapping[str, Theorem] | None = None,
    done: dict[str, Report] | None = None,
    outcomes: Outcomes | None = None,
) -> Report:
    """Check a theorem's proof from scratch.

    Parameters
    ----------
    theorem : Theorem
    theorems : mapping, optional
        Where cited theorems are looked up; the catalogue by default.
    done : dict, optional
        Reports of theorems that this call has replayed already (so that a replay of the whole
        catalogue checks each proof once); it is filled.
    outcomes : dict, optional
        What rules said of equal steps with equal premises before, for many replays of nearly the
        same proof (mutants); it is filled. Without it every step is checked.

    Returns
    -------
    Report

    Raises
    ------
    MissingTool
        When z3 or python-flint is needed and not installed.
    """
    return _Replay(theorem, theorems, {} if done is None else done, (), outcomes).run()


class _Replay:
    def __init__(
        self,
        theorem: Theorem,
        theorems: Mapping[str, Theorem] | None,
        done: dict[str, Report],
        open_: tuple[str, ...],
        outcomes: Outcomes | None = None,
    ) -> None:
        self.outcomes = outcomes
        self.theorem = theorem
        self.theorems = theorems
        self.done = done
        self.open = (*open_, theorem.id)
        self.resolver = Resolver(theorem, self._lookup)

    def _lookup(self, id: str) -> Theorem:
        """A cited theorem, after its proof was replayed."""
        if id in self.open:
            raise PremiseError(f"the citation of {id} goes round in a circle")
        theorems = self.theorems
        if theorems is None:
            from bounds.catalogue import theorems as catalogue

            theorems = catalogue()
        if id not in theorems:
            raise PremiseError(f"there is no theorem {id}")
        if id not in self.done:
            report = _Replay(theorems[id], self.theorems, self.done, self.open, self.outcomes).run()
            self.done[id] = report
        report = self.done[id]
        if not report.ok:
            why = [each.message for each in report.steps if not each.ok] or list(report.problems)
            raise PremiseError(f"the proof of {id} fails: {why[0]}")
        return theorems[id]

    def run(self) -> Report:
        theorem, resolver = self.theorem, self.resolver
        problems = [*resolver.problems(), *resolver.careless()]
        if rational.contradictory([each.formula for each in theorem.assumptions]):
            problems.append("the assumptions contradict one another: everything would follow")
        results = [self._step(step) for step in theorem.steps]
        if not theorem.steps:
            problems.append("there is no proof")
        elif theorem.steps[-1].conclusion != theorem.statement:
            problems.append("the last conclusion is not the statement")
        used = resolver.used
        last = theorem.steps[-1].id if theorem.steps else ""
        unused = [s.id for s in theorem.steps if s.id not in used and s.id != last]
        assumed = [s.id for s in theorem.steps if s.rule == Rule.ASSUMED]
        for id in resolver.cited:
            report = self.done.get(id)
            assumed.extend(
                each if ":" in each else f"{id}: {each}"
                for each in (report.assumed if report else ())
            )
        return Report(
            theorem.id,
            not problems and all(each.ok for each in results),
            tuple(results),
            tuple(problems),
            tuple(each.id for each in theorem.assumptions if each.id not in used),
            tuple(unused),
            tuple(dict.fromkeys(assumed)),
            tuple(resolver.cited),
            sum(each.seconds for each in results),
        )

    def _step(self, step: Step) -> StepResult:
        # The time of cited proofs is in their own reports.
        names: tuple[str, ...] = ()
        spent = 0.0
        try:
            sentences, names = self.resolver.premises(step)
            start = time.process_time()
            try:
                outcome = self._checked(step, sentences)
            finally:
                spent = time.process_time() - start
        except MissingTool:
            raise
        except PremiseError as error:
            outcome = Outcome(False, str(error))
        except Exception as error:  # a rule that stumbles has proved nothing
            outcome = Outcome(False, f"{type(error).__name__}: {error}")
        self.resolver.conclude(step)
        return StepResult(
            step.id,
            step.rule,
            outcome.ok,
            spent,
            outcome.message,
            names,
            step.conclusion,
            step.note,
        )

    def _checked(self, step: Step, sentences: Sequence[sympy.Basic]) -> Outcome:
        checker = CHECKERS.get(step.rule)
        if checker is None:
            return Outcome(False, f"there is no rule {step.rule!r}")
        if self.outcomes is None:
            return checker(step, sentences)
        key = (step.rule, step.conclusion, tuple(sentences), repr(step.by), step.note)
        if key not in self.outcomes:
            self.outcomes[key] = checker(step, sentences)
        return self.outcomes[key]


def replay_all(
    theorems: Mapping[str, Theorem], *, on_theorem: Callable[[Report], None] | None = None
) -> dict[str, Report]:
    """Replay a whole catalogue; each proof is checked once.

    Parameters
    ----------
    theorems : mapping from id to Theorem
    on_theorem : callable, optional
        Called with each report.
    """
    done: dict[str, Report] = {}
    for id, theorem in theorems.items():
        if id not in done:
            done[id] = replay(theorem, theorems=theorems, done=done)
        if on_theorem is not None:
            on_theorem(done[id])
    return {id: done[id] for id in theorems}
