"""From the premises a step names to sentences: assumptions, earlier conclusions, other theorems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import sympy
from sympy.core.function import AppliedUndef, UndefinedFunction
from sympy.core.relational import Relational

from bounds.operators import E, Index, RandomVariable, Variable, is_random
from bounds.proof.canonical import canonical, refresh
from bounds.proof.rational import prove
from bounds.proof.step import At, Cited, Premise, Step

if TYPE_CHECKING:
    from bounds.theorem import Theorem

_SIGNS = ("positive", "nonnegative", "negative", "nonpositive", "nonzero", "integer", "real")


class PremiseError(ValueError):
    """A premise that is not there, or that cannot be used as the step says."""


class Resolver:
    """Looks up the premises of a theorem's steps, in order, and remembers what was used."""

    def __init__(self, theorem: Theorem, lookup: Callable[[str], Theorem]) -> None:
        self._lookup = lookup
        self._theorem = theorem
        self._facts: dict[str, sympy.Basic] = {}
        self._later = {step.id for step in theorem.steps}
        for assumption in theorem.assumptions:
            self._facts.setdefault(assumption.id, assumption.formula)
        self.used: set[str] = set()
        self.cited: list[str] = []

    def problems(self) -> list[str]:
        """Ids that stand twice."""
        seen: set[str] = set()
        twice: list[str] = []
        ids = [each.id for each in self._theorem.assumptions]
        for id in [*ids, *[step.id for step in self._theorem.steps]]:
            if id in seen:
                twice.append(f"the id {id} stands twice")
            seen.add(id)
        return twice

    def careless(self) -> list[str]:
        """Assumptions that claim an inequality of every number or of every index."""
        found: list[str] = []
        for assumption in self._theorem.assumptions:
            parts = sympy.And.make_args(assumption.formula)
            for part in parts:
                general = [x for x in part.free_symbols if isinstance(x, Index | Variable)]
                if isinstance(part, Relational) and general and not part.atoms(AppliedUndef):
                    found.append(
                        f"assumption {assumption.id} claims {part} for every {general[0]}: "
                        "state it as a condition"
                    )
        return found

    def conclude(self, step: Step) -> None:
        """From here on the step's conclusion may be a premise."""
        self._facts.setdefault(step.id, step.conclusion)

    def premises(self, step: Step) -> tuple[list[sympy.Basic], tuple[str, ...]]:
        """The sentences a step stands on, and their ids."""
        sentences: list[sympy.Basic] = []
        names: list[str] = []
        for premise in step.premises:
            sentence, name = self._one(premise)
            sentences.append(sentence)
            names.append(name)
        return sentences, tuple(names)

    def _one(self, premise: Premise) -> tuple[sympy.Basic, str]:
        if isinstance(premise, Cited):
            return self._cited(premise), premise.theorem
        id = premise.id if isinstance(premise, At) else premise
        if id not in self._facts:
            later = id in self._later
            raise PremiseError(
                f"premise {id} " + ("is no earlier step" if later else "does not exist")
            )
        self.used.add(id)
        sentence = self._facts[id]
        if isinstance(premise, At):
            sentence = self._instance(sentence, premise.values)
        return sentence, id

    def _instance(self, sentence: Any, values: Mapping[Any, Any]) -> Any:
        guards: list[Any] = []
        for symbol, value in values.items():
            if not isinstance(symbol, Index | Variable):
                raise PremiseError(f"{symbol} is a fixed number here: nothing may take its place")
            if is_random(value):
                self._may_be_random(sentence, symbol, value)
            if sentence.has(sympy.Derivative, sympy.Limit, sympy.Lambda, sympy.Subs):
                raise PremiseError(
                    f"no instances of a sentence with derivatives or limits: {sentence}"
                )
            if isinstance(symbol, Index) and value.is_integer and not value.is_positive:
                # Every other value says nothing, so it may stand under the condition.
                guards.append(sympy.Ge(value, 1))
            else:
                self._fits(symbol, value)
        made = refresh(sentence).xreplace(dict(values))
        if not guards:
            return made
        if isinstance(made, sympy.Implies):
            return sympy.Implies(sympy.And(*guards, made.args[0]), made.args[1])
        return sympy.Implies(sympy.And(*guards), made)

    def _may_be_random(self, sentence: Any, symbol: Any, value: Any) -> None:
        """A lemma on numbers holds for random ones, run by run: but not inside an expectation."""
        inside = any(symbol in each.free_symbols for each in sentence.atoms(E))
        if isinstance(symbol, Index) or inside:
            raise PremiseError(f"{symbol} stands for fixed numbers here, and {value} is random")

    def _fits(self, symbol: Any, value: Any) -> None:
        """A replacement must have the SymPy assumptions of what it replaces."""
        for sign in _SIGNS:
            if getattr(symbol, f"is_{sign}") and not getattr(value, f"is_{sign}"):
                goal = {
                    "positive": sympy.Gt(value, 0, evaluate=False),
                    "nonnegative": sympy.Ge(value, 0, evaluate=False),
                    "negative": sympy.Lt(value, 0, evaluate=False),
                    "nonpositive": sympy.Le(value, 0, evaluate=False),
                    "nonzero": sympy.Ne(value, 0, evaluate=False),
                }.get(sign)
                if goal is None or not prove(list(self._facts.values()), goal, budget=2_000_000).ok:
                    raise PremiseError(f"{symbol} is {sign}, and {value} is not known to be")

    # --- another theorem's statement

    def _cited(self, premise: Cited) -> Any:
        theorem = self._lookup(premise.theorem)
        if premise.theorem not in self.cited:
            self.cited.append(premise.theorem)
        for key, value in premise.values.items():
            self._allowed(key, value)
        for assumption in theorem.assumptions:
            wanted = canonical(_replaced(assumption.formula, premise.values))
            if wanted in (True, sympy.true):
                continue
            if not self._known(wanted):
                raise PremiseError(
                    f"{premise.theorem} assumes {assumption.id}, which is not known here: {wanted}"
                )
        return _replaced(theorem.statement, premise.values)

    def _known(self, wanted: Any) -> bool:
        for id, fact in self._facts.items():
            if canonical(fact) == wanted:
                self.used.add(id)
                return True
        parts = wanted.args if isinstance(wanted, sympy.And) else ()
        return bool(parts) and all(self._known(part) for part in parts)

    def _allowed(self, key: Any, value: Any) -> None:
        if isinstance(key, UndefinedFunction):
            if not isinstance(value, sympy.Lambda):
                raise PremiseError(f"{key} is a process: only a Lambda may take its place")
            example = key(*value.variables)
            if not is_random(example) and is_random(value.expr):
                raise PremiseError(f"{key} is deterministic, and {value} is random")
            self._fits(example, value.expr)
            return
        value = sympy.sympify(value)
        if not isinstance(key, RandomVariable) and is_random(value):
            raise PremiseError(f"{key} is deterministic, and {value} is random")
        self._fits(key, value)


def _replaced(sentence: Any, values: Mapping[Any, Any]) -> Any:
    sentence = refresh(sentence)
    functions = {key: value for key, value in values.items() if isinstance(key, UndefinedFunction)}
    symbols = {key: sympy.sympify(v) for key, v in values.items() if key not in functions}

    def visit(e: Any) -> Any:
        if e in symbols:
            return symbols[e]
        if not e.args:
            return e
        arguments = [visit(each) for each in e.args]
        if isinstance(e, AppliedUndef) and e.func in functions:
            return refresh(functions[e.func])(*arguments)
        return e.func(*arguments)

    return visit(sentence)
