"""Rule ``z3``: premises imply a conclusion for all real values of what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from bounds.proof.canonical import canonical
from bounds.proof.congruence import axioms
from bounds.proof.peeling import induction_refused, peeled
from bounds.proof.step import Arithmetic, Step
from bounds.proof.tools import Outcome, load
from bounds.proof.wellformed import replaced_conditions
from bounds.proof.z3_terms import Translator


def check(step: Step, premises: Sequence[sympy.Basic]) -> Outcome:
    """Check one step of rule ``z3``."""
    how = step.by if isinstance(step.by, Arithmetic) else Arithmetic()
    if how.induction is None:
        return prove(premises, step.conclusion, integers=how.integers, budget=how.budget)
    n = how.induction.index
    refused = induction_refused(n, premises)
    if refused:
        return Outcome(False, refused)
    try:
        first = [peeled(instance(each, n, 1, ())) for each in premises]
        start = peeled(instance(step.conclusion, n, 1, first))
        given = [*premises, *[instance(each, n, n + 1, premises) for each in premises]]
        later = peeled(instance(step.conclusion, n, n + 1, given), n)
    except ValueError as error:
        return Outcome(False, f"induction on {n}: {error}")
    outcome = prove(first, start, integers=how.integers, budget=how.budget)
    if not outcome.ok:
        return Outcome(False, f"induction, {n} = 1: {outcome.message}")
    given.append(peeled(step.conclusion, n))
    outcome = prove(given, later, integers=how.integers, budget=how.budget)
    if not outcome.ok:
        return Outcome(False, f"induction, from {n} to {n} + 1: {outcome.message}")
    return Outcome(True, f"by induction on {n}")


def instance(sentence: Any, symbol: Any, value: Any, premises: Sequence[Any]) -> Any:
    """A sentence at one value of an induction index, where its terms are still defined.

    Raises
    ------
    ValueError
        A denominator, root or logarithm that the premises do not show to be defined there.
    """
    made = sentence.subs(symbol, value)
    for term, condition in replaced_conditions(sentence, lambda e: e.subs(symbol, value)):
        if not prove(premises, condition, budget=1_000_000).ok:
            raise ValueError(f"{condition} is not known, and {term} needs it at {symbol} = {value}")
    if made.has(sympy.nan, sympy.zoo, sympy.I):
        raise ValueError(f"{sentence} is not defined at {symbol} = {value}")
    return made


def prove(
    premises: Sequence[sympy.Basic],
    conclusion: sympy.Basic,
    *,
    integers: bool = False,
    budget: int = 5_000_000,
) -> Outcome:
    """Whether the premises imply the conclusion.

    Parameters
    ----------
    premises, conclusion
        Sentences.
    integers : bool
        Keep integer symbols and floors integer.
    budget : int
        z3's resource limit, which does not depend on the machine's speed.

    Returns
    -------
    Outcome
        With a counter-model in the message when there is one. A spent budget is no proof.
    """
    z3 = load("z3")
    sentences = [canonical(each) for each in premises]
    goal = canonical(conclusion)
    # Most steps only add up what is there: linear arithmetic sees that without a search.
    quick = Translator(z3, linear=True)
    assumed = [quick.sentence(each) for each in sentences]
    refuted = z3.Not(quick.sentence(goal))
    if _solve(z3, [*quick.facts, *assumed, refuted], budget=budget // 10)[0] == z3.unsat:
        return Outcome(True, "")
    translator = Translator(z3, integers=integers)
    assumed = [translator.sentence(each) for each in sentences]
    refuted = z3.Not(translator.sentence(goal))
    known = axioms(translator)  # before the facts are read: it may add some
    answer, solver = _solve(z3, [*translator.facts, *known, *assumed, refuted], budget=budget)
    if answer == z3.unsat:
        return Outcome(True, "")
    if answer == z3.sat:
        return Outcome(False, "counter-model: " + _model_text(solver.model(), translator))
    return Outcome(False, f"undecided within the budget ({solver.reason_unknown()}): no proof")


def contradictory(sentences: Sequence[sympy.Basic]) -> bool:
    """Whether z3 sees, in a short time, that sentences cannot all be true."""
    z3 = load("z3")
    for linear, budget in ((True, 500_000), (False, 100_000)):
        translator = Translator(z3, linear=linear)
        formulas = [translator.sentence(canonical(each)) for each in sentences]
        known = [] if linear else axioms(translator)
        if _solve(z3, [*translator.facts, *known, *formulas], budget=budget)[0] == z3.unsat:
            return True
    return False


def _solve(z3: Any, formulas: Sequence[Any], *, budget: int) -> tuple[Any, Any]:
    solver = z3.Solver()
    solver.set("rlimit", budget)
    solver.set("timeout", 120_000)  # far beyond the budget: a guard against a hang
    solver.set("ctrl_c", False)  # an interrupt is Python's: z3 would answer "unknown" instead
    solver.add(*formulas)
    return solver.check(), solver


def _model_text(model: Any, translator: Translator) -> str:
    shown = []
    for expression, term in translator.names.items():
        value = model.eval(term, model_completion=True)
        shown.append(f"{expression} = {_text(value)}")
    return ", ".join(sorted(shown)) or "none of the premises matters"


def _text(value: Any) -> str:
    try:
        return str(value.as_decimal(6)) if value.is_real() else str(value)
    except AttributeError:
        return str(value)
