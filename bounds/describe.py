"""A theorem in plain words and numbers: what the command line prints as JSON and a page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef

from bounds import glossary
from bounds.bibliography import cited, entry
from bounds.catalogue import file_of
from bounds.latex import to_latex
from bounds.operators import Index, Variable
from bounds.proof.step import At, Cited, Premise, Rule, Step
from bounds.theorem import Curve, Theorem

if TYPE_CHECKING:
    from bounds.proof.replay import Report


def describe(theorem: Theorem, report: Report | None = None) -> dict[str, Any]:
    """Everything about a theorem, in plain JSON types.

    Parameters
    ----------
    theorem : Theorem
    report : bounds.proof.replay.Report, optional
        The outcome of ``theorem.replay()``; without it ``proof`` is None.

    Returns
    -------
    dict
        What `Theorem.to_json` gives, and ``file``, ``general_in``, ``symbols``, ``steps``,
        ``evaluations`` with LaTeX and parameters, ``curve``, ``references`` and ``proof``.
    """
    plain = theorem.to_json()
    plain["file"] = file_of(theorem.id)
    plain["general_in"] = general_in(theorem.statement)
    plain["symbols"] = symbols_of(theorem)
    plain["steps"] = [describe_step(step) for step in theorem.steps]
    plain["evaluations"] = [
        {
            "name": name,
            "formula": str(expression),
            "latex": to_latex(sympy.sympify(expression)),
            "parameters": parameters_of(expression),
        }
        for name, expression in theorem.evaluations.items()
    ]
    plain["curve"] = None if theorem.curve is None else curve_json(theorem.curve)
    plain["references"] = references(theorem)
    plain["proof"] = None if report is None else proof_json(report)
    return plain


def proof_json(report: Report) -> dict[str, Any]:
    """The outcome of a replay; what its steps say is in ``steps`` of the description."""
    plain = report.to_json()
    plain["steps"] = [
        {name: step[name] for name in ("id", "rule", "ok", "seconds", "message")}
        for step in plain["steps"]
    ]
    return plain


def outcome(report: Report) -> dict[str, Any]:
    """A replay in brief: the number of its steps, and the ids of those assumed or failed."""
    return {
        "ok": report.ok,
        "steps": len(report.steps),
        "assumed": list(report.assumed),
        "failed": [step.id for step in report.steps if not step.ok],
        "seconds": round(report.seconds, 4),
    }


def describe_step(step: Step) -> dict[str, Any]:
    """One step of a proof, whatever its outcome."""
    return {
        "id": step.id,
        "rule": str(step.rule),
        "by": _method(step),
        "premises": [premise_text(premise) for premise in step.premises],
        "conclusion": str(step.conclusion),
        "latex": to_latex(step.conclusion),
        "general_in": general_in(step.conclusion),
        "note": step.note,
    }


def _method(step: Step) -> str:
    """How the rule is applied, in a few words; empty where the rule says it all."""
    by = step.by
    induction = getattr(by, "induction", None)
    if induction is not None:
        return f"induction on {induction.index}"
    if step.rule is Rule.EXPECTATION:
        return str(type(by).__name__)
    if getattr(by, "evaluate", False):
        return "evaluated"
    return "integers" if getattr(by, "integers", False) else ""


def premise_text(premise: Premise) -> str:
    """A premise in words: an id, an id with what was put in, or another theorem."""
    if isinstance(premise, At):
        values = ", ".join(f"{old} → {new}" for old, new in premise.values.items())
        return f"{premise.id} at {values}"
    if isinstance(premise, Cited):
        values = ", ".join(f"{old} → {new}" for old, new in premise.values.items())
        return f"theorem {premise.theorem}" + (f" with {values}" if values else "")
    return premise


def general_in(sentence: sympy.Basic) -> list[str]:
    """The indices and variables that a sentence holds for all values of, with their domains.

    Indices are positive integers; a variable is real, or ``"B > 0"``, ``"n integer"`` and the like.
    """
    free = [each for each in sentence.free_symbols if isinstance(each, Index | Variable)]
    return [_with_domain(each) for each in sorted(free, key=str)]


def _with_domain(symbol: sympy.Symbol) -> str:
    if isinstance(symbol, Index):
        return str(symbol)
    signs = (
        ("positive", "> 0"),
        ("nonnegative", ">= 0"),
        ("negative", "< 0"),
        ("nonpositive", "<= 0"),
    )
    domain = next((words for sign, words in signs if getattr(symbol, f"is_{sign}")), "")
    if not domain and symbol.is_nonzero:
        domain = "!= 0"
    whole = " integer" if symbol.is_integer else ""
    return f"{symbol}{whole}{' ' + domain if domain else ''}"


def symbols_of(theorem: Theorem) -> list[dict[str, str]]:
    """Glossary entries of what stands in the statement, the assumptions and the evaluations."""
    formulas = [
        theorem.statement,
        *(each.formula for each in theorem.assumptions),
        *(sympy.sympify(each) for each in theorem.evaluations.values()),
    ]
    seen: set[Any] = set()
    for formula in formulas:
        seen |= formula.atoms(sympy.Symbol)
        seen |= {each.func for each in formula.atoms(AppliedUndef)}
    known = {found.letter for each in seen if (found := glossary.entry_of(each)) is not None}
    return [symbol_json(each) for each in glossary.entries().values() if each.letter in known]


def symbol_json(found: glossary.Entry) -> dict[str, str]:
    """An entry of the glossary as text."""
    return {
        "letter": found.letter,
        "latex": found.latex,
        "parameter": found.parameter,
        "unit": found.unit,
        "domain": found.domain,
        "meaning": found.meaning,
        "kind": found.kind,
    }


def parameters_of(expression: Any) -> list[str]:
    """Names of the arguments that an evaluation takes."""
    formula = sympy.sympify(expression)
    bound = {each for each in formula.atoms(sympy.Symbol) if each not in formula.free_symbols}
    atoms = (formula.atoms(sympy.Symbol) - bound) | {
        each.func for each in formula.atoms(AppliedUndef)
    }
    found = [glossary.entry_of(each) for each in atoms]
    return sorted(each.parameter for each in found if each is not None)


def curve_json(curve: Curve) -> dict[str, Any]:
    """What a picture draws: evaluations against one parameter, the others fixed."""
    return {
        "along": curve.along,
        "names": list(curve.names),
        "values": plain_numbers(curve.values),
        "fixed": {name: plain_numbers(value) for name, value in curve.fixed.items()},
    }


def plain_numbers(value: Any) -> Any:
    """Numbers and arrays of numbers in JSON's types; a fraction becomes a float."""
    if isinstance(value, np.ndarray | list | tuple):
        return [plain_numbers(item) for item in value]
    number = float(value)
    return int(number) if isinstance(value, int | np.integer | sympy.Integer) else number


def references(theorem: Theorem) -> list[dict[str, str]]:
    """The theorem's paper, then what its texts and the notes of its steps cite."""
    texts = [
        theorem.explanation,
        theorem.source.note,
        theorem.source.item,
        *theorem.caveats,
        *theorem.slack.values(),
        *(step.note for step in theorem.steps),
        *(each.text for each in theorem.assumptions),
    ]
    first = entry(theorem.source.key)
    listed = [first, *(each for each in cited(texts) if each is not first)]
    return [
        {
            "key": each.key,
            "label": each.label,
            "text": each.reference(),
            "bibtex": each.bibtex(),
        }
        for each in listed
    ]
