"""Wrong variants of a theorem: does its proof or a counterexample notice?

Four kinds. A *constant* of the statement is halved and the last step is asked to prove that. A
*step* is deleted, together with every mention of it, so that what is left must really do without
it. An *assumption* is dropped in the same way. The *phase* index floor((t - 1)/s) jumps one step
early, in one assumption or in the statement.

A mutant is killed when its proof no longer replays or a counterexample is found. A halved constant
on the weak side of an inequality makes a weaker claim, which is still true; then doubling it is
asked as well, and the constant survives only if both are proved and nothing contradicts them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import sympy

from bounds.mutants_constants import constants
from bounds.proof.step import Arithmetic, At, Cited, Premise, Rule, Step

if TYPE_CHECKING:
    from bounds.counterexample import Counterexample
    from bounds.proof.replay import Report
    from bounds.theorem import Theorem

__all__ = [
    "BUDGET",
    "Change",
    "Mutant",
    "Outcome",
    "hurried",
    "judge",
    "mutants",
    "outcomes",
    "reason",
    "survivors",
    "unexplained",
    "without_step",
]


BUDGET = 300_000  #: z3's units for a changed claim


class Change(StrEnum):
    """What was done to a theorem."""

    HALVED = "halved"
    STEP = "step"
    ASSUMPTION = "assumption"
    PHASE = "phase"


@dataclass(frozen=True)
class Mutant:
    """A wrong variant.

    Attributes
    ----------
    id : str
        ``"halved 2 in 2*s"``, ``"step cross"``, ``"assumption mean"``, ``"phase update"``; a key of
        `Theorem.slack` when it survives.
    change : Change
    theorem : Theorem
        The variant.
    other : Theorem, optional
        For a constant: the variant with it doubled.
    """

    id: str
    change: Change
    theorem: Theorem
    other: Theorem | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    Attributes
    ----------
    mutant : Mutant
    killed : bool
    how : str
        ``"replay"``, ``"counterexample"``, with ``"doubled: "`` in front when it was the doubled
        constant that fails; empty for a survivor.
    message : str
    counterexample : Counterexample, optional
    """

    mutant: Mutant
    killed: bool
    how: str = ""
    message: str = ""
    counterexample: Counterexample | None = None


def mutants(theorem: Theorem) -> Iterator[Mutant]:
    """All wrong variants of a theorem.

    Parameters
    ----------
    theorem : Theorem

    Yields
    ------
    Mutant
    """
    yield from _halved(theorem)
    for step in theorem.steps[:-1]:
        yield Mutant(f"step {step.id}", Change.STEP, without_step(theorem, step.id))
    for assumption in theorem.assumptions:
        variant = _unmentioned(theorem.without_assumption(assumption.id), assumption.id)
        yield Mutant(f"assumption {assumption.id}", Change.ASSUMPTION, variant)
    yield from _shifted(theorem)


def without_step(theorem: Theorem, id: str) -> Theorem:
    """The theorem with a step and every mention of it left out."""
    return _unmentioned(theorem.without_step(id), id)


def _unmentioned(theorem: Theorem, id: str) -> Theorem:
    def kept(premise: Premise) -> bool:
        return (premise.id if isinstance(premise, At) else premise) != id

    steps = tuple(
        replace(step, premises=tuple(filter(kept, step.premises))) for step in theorem.steps
    )
    return replace(theorem, steps=steps)


def hurried(theorem: Theorem) -> Theorem:
    """The theorem with a smaller budget for its last step.

    A false claim is often not refuted but tried until the budget is spent; most true ones need a
    small part of it. `outcomes` uses this where the theorem itself is proved within it.
    """
    if not theorem.steps or not isinstance(theorem.steps[-1].by, Arithmetic):
        return theorem
    last = theorem.steps[-1]
    last = replace(last, by=replace(last.by, budget=min(last.by.budget, BUDGET)))
    return replace(theorem, steps=(*theorem.steps[:-1], last))


def _halved(theorem: Theorem) -> Iterator[Mutant]:
    for constant in constants(theorem.statement):
        yield Mutant(
            f"halved {constant.shown}",
            Change.HALVED,
            theorem.with_claim(constant.halved),
            theorem.with_claim(constant.doubled),
        )


def _shifted(theorem: Theorem) -> Iterator[Mutant]:
    """The phase index jumps at t = s instead of t = s + 1."""
    for at, assumption in enumerate(theorem.assumptions):
        formula = shifted(assumption.formula)
        if formula != assumption.formula:
            changed = (
                *theorem.assumptions[:at],
                replace(assumption, formula=formula),
                *theorem.assumptions[at + 1 :],
            )
            yield Mutant(
                f"phase {assumption.id}", Change.PHASE, replace(theorem, assumptions=changed)
            )
    statement = shifted(theorem.statement)
    if statement != theorem.statement:
        yield Mutant("phase statement", Change.PHASE, theorem.with_claim(statement))


def shifted(sentence: Any) -> Any:
    """``floor((x - 1)/s)`` becomes ``floor(x/s)``, and ``ceiling(x/s) - 1`` with it."""

    def shift(here: Any) -> Any:
        top, under = sympy.fraction(sympy.together(here.args[0]))
        if not under.free_symbols or top.is_number:
            return here
        _, constant = top.as_independent(*top.free_symbols, as_Add=True)[::-1]
        return sympy.floor((top + 1) / under) if constant == -1 else here

    return sentence.replace(lambda here: isinstance(here, sympy.floor), shift)


def judge(
    mutant: Mutant,
    *,
    theorems: Mapping[str, Theorem] | None = None,
    done: dict[str, Report] | None = None,
    checked: dict[Any, Any] | None = None,
    refute: bool = True,
    seed: int = 0,
    tries: int = 100,
) -> Outcome:
    """Replay a mutant and look for a counterexample to it.

    Parameters
    ----------
    mutant : Mutant
    theorems, done
        As in `bounds.proof.replay.replay`; `done` saves replaying cited theorems again.
    checked : dict, optional
        Its `outcomes`: what became of a step is remembered for the other mutants, which have most
        of their steps in common.
    refute : bool
        Look for a counterexample although the proof fails already.
    seed, tries
        As in `Theorem.counterexample`.
    """
    settings = _Settings(
        theorems, {} if done is None else done, {} if checked is None else checked, refute
    )
    first = _judge(mutant, mutant.theorem, settings, seed, tries)
    if first.killed or mutant.other is None:
        return first
    second = _judge(mutant, mutant.other, settings, seed, tries)
    return replace(second, how=f"doubled: {second.how}") if second.killed else first


@dataclass(frozen=True)
class _Settings:
    theorems: Mapping[str, Theorem] | None
    done: dict[str, Report]
    checked: dict[Any, Any]
    refute: bool


def _judge(mutant: Mutant, variant: Theorem, settings: _Settings, seed: int, tries: int) -> Outcome:
    from bounds.counterexample import search
    from bounds.proof.replay import replay

    report = replay(
        variant, theorems=settings.theorems, done=settings.done, outcomes=settings.checked
    )
    found = None
    # A deleted step changes no claim.
    if mutant.change is not Change.STEP and (report.ok or settings.refute):
        found = search(variant, seed=seed, tries=tries)
    if found is not None:
        return Outcome(mutant, True, "counterexample", found.describe(), found)
    if report.ok:
        return Outcome(mutant, False)
    failed = next((f"{each.id}: {each.message}" for each in report.steps if not each.ok), "")
    return Outcome(mutant, True, "replay", failed or "; ".join(report.problems))


def outcomes(
    theorem: Theorem,
    *,
    theorems: Mapping[str, Theorem] | None = None,
    done: dict[str, Report] | None = None,
    refute: Collection[Change] = tuple(Change),
    seed: int = 0,
    tries: int = 100,
) -> list[Outcome]:
    """`judge` for all mutants of a theorem.

    Parameters
    ----------
    theorem : Theorem
    theorems, done, seed, tries
        As in `judge`.
    refute : collection of Change
        For which kinds a counterexample is looked for although the proof fails already.
    """
    from bounds.proof.replay import replay

    done = {} if done is None else done
    checked: dict[Any, Any] = {}
    quick = hurried(theorem)
    if replay(quick, theorems=theorems, done=done, outcomes=checked).ok:
        theorem = quick
    return [
        judge(
            each,
            theorems=theorems,
            done=done,
            checked=checked,
            refute=each.change in refute,
            seed=seed,
            tries=tries,
        )
        for each in mutants(theorem)
    ]


def survivors(theorem: Theorem, **options: Any) -> list[Mutant]:
    """Mutants of a theorem that neither its proof nor a counterexample kills.

    Options as in `outcomes`.
    """
    ends = outcomes(theorem, **{"refute": (), **options})
    return [each.mutant for each in ends if not each.killed]


def reason(mutant: Mutant, theorem: Theorem) -> str:
    """Why a mutant survives; empty when nothing explains it.

    A deleted step that is not missed explains itself. Everything else needs an entry of
    `Theorem.slack`, under the mutant's id or, for constants, under the constant alone (``"1/8"``).
    """
    if mutant.change is Change.STEP:
        return "the proof goes through without it"
    trusted = _trusted(mutant, theorem)
    if trusted:
        return f"it enters the assumed step {trusted} only, which nothing checks"
    for key, why in theorem.slack.items():
        if mutant.id == key or mutant.id.startswith(f"halved {key} in "):
            return why
    return ""


def _trusted(mutant: Mutant, theorem: Theorem) -> str:
    """The assumed step through which alone a changed claim or assumption matters."""
    if mutant.change is Change.HALVED or mutant.id == "phase statement":
        last = theorem.steps[-1]
        return last.id if last.rule is Rule.ASSUMED else ""
    id = mutant.id.split(" ", 1)[1]
    users = [step for step in theorem.steps if id in _mentioned(step)]
    if users and all(step.rule is Rule.ASSUMED for step in users):
        return ", ".join(step.id for step in users)
    return ""


def _mentioned(step: Step) -> set[str]:
    named = (each for each in step.premises if not isinstance(each, Cited))
    return {each.id if isinstance(each, At) else each for each in named}


def unexplained(theorem: Theorem, **options: Any) -> list[str]:
    """What is wrong with `Theorem.slack`: survivors without reason, reasons without survivor."""
    alive = survivors(theorem, **options)
    missing = [each.id for each in alive if not reason(each, theorem)]
    used = {
        key
        for key in theorem.slack
        for each in alive
        if each.change is not Change.STEP and not _trusted(each, theorem)
        if each.id == key or each.id.startswith(f"halved {key} in ")
    }
    return missing + [
        f"slack {key!r}: no such survivor" for key in theorem.slack if key not in used
    ]
