"""A theorem as an object: assumptions, statement, proof, evaluation, source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import sympy

from bounds.assumptions import CODE, Assumption
from bounds.latex import to_latex
from bounds.proof.step import Step

if TYPE_CHECKING:
    import numpy as np

    from bounds.counterexample import Counterexample
    from bounds.model import Model
    from bounds.proof.replay import Report


class Kind(StrEnum):
    """What a statement claims."""

    TIGHT = "tight"
    UPPER = "upper"
    LOWER = "lower"
    RATE = "rate"
    IDENTITY = "identity"
    STRUCTURE = "structure"


class Status(StrEnum):
    """Where a statement comes from."""

    STATED = "stated"  # read in the paper's text
    RECALLED = "recalled"  # recalled, not read: never a quotation
    DERIVED = "derived"  # ours


@dataclass(frozen=True)
class Source:
    """Where a theorem comes from.

    Attributes
    ----------
    key : str
        The paper's key in `bounds.bibliography`.
    item : str
        What it is there: a lemma, a theorem, a display.
    status : Status
        How it is known.
    note : str
        What else is to be said of that.
    """

    key: str
    item: str
    status: Status = Status.DERIVED
    note: str = ""


@dataclass(frozen=True)
class Curve:
    """What a theorem's page draws: named evaluations against one parameter, others fixed.

    Attributes
    ----------
    along : str
        The parameter, by the name that evaluations take it by.
    values : tuple of float
        Its values.
    fixed : mapping of str to value
        The other parameters.
    names : tuple of str
        Which evaluations are drawn.
    log_x, log_y : bool
        Whether an axis is logarithmic.
    """

    along: str
    values: tuple[float, ...]
    fixed: Mapping[str, Any]
    names: tuple[str, ...] = ("bound",)
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Theorem:
    """A theorem.

    Attributes
    ----------
    id : str
        ``"dp2.master"``.
    title : str
    statement : sympy.Basic
        A closed sentence in SymPy, general in its indices and variables.
    kind : Kind
    assumptions : tuple of Assumption
    steps : tuple of Step
        The proof, in order; the last conclusion is the statement.
    source : Source
    explanation : str
        What it says, in a few sentences, for somebody who has not read the paper.
    evaluations : mapping of str to expression
        What can be computed: the parameters of the glossary are the arguments. ``"bound"`` is the
        main one.
    models : callable, optional
        ``models(rng)`` yields concrete models (`bounds.model.Model`) to try a statement on; without
        one, models are drawn from the domains of the symbols.
    curve : Curve, optional
    slack : mapping of str to str
        Constants of the statement that survive halving, and why (by how much).
    caveats : tuple of str
        What a reader must know before using it.
    """

    id: str
    title: str
    statement: sympy.Basic
    kind: Kind
    source: Source
    assumptions: tuple[Assumption, ...] = ()
    steps: tuple[Step, ...] = ()
    explanation: str = ""
    evaluations: Mapping[str, Any] = field(default_factory=dict)
    models: Callable[[np.random.Generator], Iterator[Model]] | None = None
    curve: Curve | None = None
    slack: Mapping[str, str] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()

    def replay(self) -> Report:
        """Check the whole proof from scratch.

        Returns
        -------
        bounds.proof.replay.Report
            `ok`, and `steps` with `id`, `rule`, `ok`, `seconds`, `message`.
        """
        from bounds.proof.replay import replay

        return replay(self)

    def with_statement(self, statement: sympy.Basic) -> Theorem:
        """The same proof under another statement; the proof's last conclusion stays."""
        return replace(self, statement=statement)

    def with_claim(self, statement: sympy.Basic) -> Theorem:
        """Another statement that the last step is asked to prove from the same premises."""
        if not self.steps:
            return replace(self, statement=statement)
        last = replace(self.steps[-1], conclusion=statement)
        return replace(self, statement=statement, steps=(*self.steps[:-1], last))

    def without_step(self, id: str) -> Theorem:
        """The theorem with one proof step left out. ValueError for an unknown step."""
        _known(id, "step", [step.id for step in self.steps])
        return replace(self, steps=tuple(step for step in self.steps if step.id != id))

    def without_assumption(self, id: str) -> Theorem:
        """The theorem with one assumption left out. ValueError for an unknown assumption."""
        _known(id, "assumption", [each.id for each in self.assumptions])
        kept = tuple(each for each in self.assumptions if each.id != id)
        return replace(self, assumptions=kept)

    def counterexample(self, *, seed: int = 0, tries: int = 200) -> Counterexample | None:
        """A model of the assumptions in which the statement is false, or None if none was found.

        Parameters
        ----------
        seed : int
        tries : int
            Models to try.
        """
        from bounds.counterexample import search

        return search(self, seed=seed, tries=tries)

    def evaluate(self, name: str = "bound", *, backend: str = "numpy", **parameters: Any) -> Any:
        """Evaluate one of `evaluations`; the domains of the parameters are checked.

        Parameters
        ----------
        name : str
            ``"bound"`` or another key of `evaluations`.
        backend : str
            ``"numpy"`` (arrays broadcast), ``"mpmath"`` (50 digits) or ``"ball"``.
        **parameters
            By the glossary's parameter names: ``steps=1000, delay=50``.

        Raises
        ------
        ValueError
            Unknown name, backend or parameter; a missing one; a value outside its domain.
        """
        from bounds.evaluate import evaluate

        if name not in self.evaluations:
            known = ", ".join(self.evaluations) or "none"
            raise ValueError(f"name = {name!r} is no evaluation of {self.id}: {known}")
        checked = [each for each in self.assumptions if each.held_by == CODE]
        return evaluate(self.evaluations[name], backend=backend, assuming=checked, **parameters)

    def latex(self) -> str:
        """The statement as LaTeX."""
        return to_latex(self.statement)

    def to_json(self) -> dict[str, Any]:
        """Everything but the proof's outcome (`replay().to_json()` has that)."""
        return {
            "id": self.id,
            "title": self.title,
            "kind": str(self.kind),
            "statement": str(self.statement),
            "latex": self.latex(),
            "explanation": self.explanation,
            "assumptions": [each.to_json() for each in self.assumptions],
            "source": {
                "key": self.source.key,
                "item": self.source.item,
                "status": str(self.source.status),
                "note": self.source.note,
            },
            "evaluations": {name: str(expression) for name, expression in self.evaluations.items()},
            "caveats": list(self.caveats),
            "slack": dict(self.slack),
        }


def _known(id: str, what: str, known: list[str]) -> None:
    if id not in known:
        raise ValueError(f"{what} = {id!r} is not one of: {', '.join(known) or 'none'}")
