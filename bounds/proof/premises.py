"""From the premises a step names to sentences: assumptions, earlier conclusions, other theorems."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import sympy
from sympy.core.function import AppliedUndef, UndefinedFunction
from sympy.core.relational import Relational

from bounds.operators import (
    SIGNS,
    Conditional,
    E,
    Independent,
    Index,
    RandomVariable,
    StandardNormal,
    Variable,
    is_random,
)
from bounds.proof.canonical import canonical, rebuilt, refresh, substituted
from bounds.proof.rational import prove
from bounds.proof.step import At, Cited, Premise, Step
from bounds.proof.wellformed import bound_symbols, name_refused, refused, replaced_conditions

if TYPE_CHECKING:
    from bounds.theorem import Theorem


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
        reason = refused(step.conclusion) or name_refused(step.conclusion)
        if reason:
            raise PremiseError(reason)
        for premise in step.premises:
            sentence, name = self._one(premise)
            reason = refused(sentence)
            if reason:
                raise PremiseError(f"premise {name}: {reason}")
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
        reason = name_refused(sentence)
        if reason:
            raise PremiseError(f"premise {id}: {reason}")
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
        open_ = refresh(sentence)
        guards.extend(self._defined(open_, dict(values)))
        made = substituted(open_, dict(values))
        if made.has(sympy.nan, sympy.zoo, sympy.I):
            raise PremiseError(f"{sentence} is not defined for {dict(values)}")
        if not guards:
            return made
        if isinstance(made, sympy.Implies):
            return sympy.Implies(sympy.And(*guards, made.args[0]), made.args[1])
        return sympy.Implies(sympy.And(*guards), made)

    def _defined(self, sentence: Any, values: Mapping[Any, Any]) -> list[Any]:
        """Conditions without which the instance could be made of terms that are not defined."""
        guards: list[Any] = []
        bound = bound_symbols(sentence)
        for term, condition in replaced_conditions(sentence, lambda e: e.xreplace(values)):
            if self._holds(condition):
                continue
            averaged = any(term in each.atoms(term.func) for each in sentence.atoms(E))
            if condition.free_symbols & bound or (averaged and is_random(condition)):
                raise PremiseError(f"{condition} is not known, and the instance needs it")
            guards.append(condition)
        return guards

    def _holds(self, condition: Any) -> bool:
        return bool(prove(list(self._facts.values()), condition, budget=1_000_000).ok)

    def _may_be_random(self, sentence: Any, symbol: Any, value: Any) -> None:
        """A lemma on numbers holds for random ones, run by run: but not inside an expectation."""
        averages = sentence.atoms(E, Independent, Conditional, StandardNormal)
        inside = any(symbol in each.free_symbols for each in averages)
        if isinstance(symbol, Index) or inside:
            raise PremiseError(f"{symbol} stands for fixed numbers here, and {value} is random")

    def _fits(self, symbol: Any, value: Any) -> None:
        """A replacement must have the SymPy assumptions of what it replaces."""
        for sign in SIGNS:
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
        # First what is fixed in that theorem, then its indices: an instance of the statement.
        general = {k: v for k, v in premise.values.items() if isinstance(k, Index | Variable)}
        fixed = {k: v for k, v in premise.values.items() if k not in general}
        self._not_captured(theorem, fixed)
        items = tuple(fixed.items())
        for sentence in (theorem.statement, *[each.formula for each in theorem.assumptions]):
            for term, condition in _replaced_conditions(sentence, items):
                if not self._holds(condition):
                    raise PremiseError(f"{condition} is not known, and {term} needs it")
        for assumption in theorem.assumptions:
            wanted = canonical(_replaced(assumption.formula, items))
            if not self._known(wanted) and not prove([], wanted, budget=200_000).ok:
                raise PremiseError(
                    f"{premise.theorem} assumes {assumption.id}, which is not known here: {wanted}"
                )
        statement = _replaced(theorem.statement, items)
        if statement.has(sympy.nan, sympy.zoo, sympy.I):
            raise PremiseError(f"{premise.theorem} is not defined for {fixed}")
        return self._instance(statement, general) if general else statement

    def _not_captured(self, theorem: Theorem, values: Mapping[Any, Any]) -> None:
        """A value may not speak of an index in which an assumption on it is general already.

        ``a(t) <= eta`` for all t is not what ``a(t) <= b(t)`` says, which b(t) for eta would make
        of it. In the statement, which is general too, one index for two is a special case.
        """
        for assumption in theorem.assumptions:
            formula = assumption.formula
            general = {
                symbol for symbol in formula.free_symbols if isinstance(symbol, Index | Variable)
            }
            names = formula.free_symbols | {each.func for each in formula.atoms(AppliedUndef)}
            for key, value in values.items():
                taken = sympy.sympify(value).free_symbols & general
                if taken and key in names:
                    raise PremiseError(
                        f"{value} in place of {key} speaks of {min(taken, key=str)}, in which "
                        f"{theorem.id} assumes {assumption.id} for all: use another index"
                    )

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


#: Replacements: (what, by what).
Items = tuple[tuple[Any, Any], ...]


@functools.lru_cache(maxsize=5_000)
def _replaced(sentence: Any, items: Items) -> Any:
    return _replacer(items)(refresh(sentence))


def _replaced_conditions(sentence: Any, items: Items) -> list[tuple[Any, Any]]:
    return replaced_conditions(refresh(sentence), _replacer(items))


def _replacer(items: Items) -> Callable[[Any], Any]:
    functions = {key: value for key, value in items if isinstance(key, UndefinedFunction)}
    symbols = {key: sympy.sympify(value) for key, value in items if key not in functions}

    def visit(e: Any) -> Any:
        if e in symbols:
            return symbols[e]
        if not e.args:
            return e
        arguments = [visit(each) for each in e.args]
        if isinstance(e, AppliedUndef) and e.func in functions:
            return refresh(functions[e.func])(*arguments)
        if all(new is old for new, old in zip(arguments, e.args, strict=True)):
            return e
        return rebuilt(e, arguments)

    return visit
