"""By how much a theorem's own statement holds on data: on runs, with confidence intervals.

The scenarios of a model may be the seeds of real runs; then ``E`` is their mean. Every comparison
of the statement is evaluated, for all its indices, on all runs and with one group of runs after
the other left out (jackknife). It is violated where it fails by more than the chance of the seeds
explains.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from scipy.stats import t as student
from sympy.core.relational import Relational

from bounds.model import Model
from bounds.theorem import Theorem

#: Groups of the jackknife.
GROUPS = 16
#: Chance that a true statement is called violated, for each comparison (one-sided).
ALARM = 1e-6
#: Confidence of the interval that is shown.
CONFIDENCE = 0.99
#: Relative: what a statement may be off by rounding.
TOLERANCE = 1e-9
#: Standard error of a margin from which on an equality is one of chance.
BLUR = 1e-8


@dataclass(frozen=True)
class Found:
    """The least margin of a statement.

    Attributes
    ----------
    slack : float or None
        bound / measured there (right / left for an equality); None when no comparison says
        anything on these data, or when it is an equality that chance blurs.
    interval : (float, float) or None
        Of that ratio, also for an equality that chance blurs.
    violation : str
    """

    slack: float | None
    interval: tuple[float, float] | None
    violation: str


@dataclass(frozen=True)
class _Part:
    """A comparison of a statement, under its guard."""

    sentence: Any  # with <= in place of =
    doubled: Any  # the same with the right side doubled: it has no margin where both sides are 0
    equality: bool


def parts(statement: Any, guard: Any = None) -> Iterator[_Part]:
    """The comparisons that a statement is made of."""
    if isinstance(statement, sympy.And):
        for each in statement.args:
            yield from parts(each, guard)
    elif isinstance(statement, sympy.Implies) and guard is None:
        yield from parts(statement.args[1], statement.args[0])
    elif isinstance(statement, sympy.Eq | sympy.Le | sympy.Ge):
        left, right = statement.lhs, statement.rhs
        if isinstance(statement, sympy.Ge):
            left, right = right, left
        plain, doubled = (sympy.Le(left, side, evaluate=False) for side in (right, 2 * right))
        yield _Part(_under(guard, plain), _under(guard, doubled), isinstance(statement, sympy.Eq))
    else:
        yield _Part(_under(guard, statement), None, False)


def _under(guard: Any, sentence: Any) -> Any:
    return sentence if guard is None else sympy.Implies(guard, sentence, evaluate=False)


def examine(
    theorem: Theorem, model: Model, *, runs: int = 0, tolerance: float = TOLERANCE
) -> Found:
    """The least margin of a theorem's statement on a model.

    Parameters
    ----------
    theorem : Theorem
    model : Model
    runs : int
        Number of runs that its scenarios are; 0: it is exact, there is no chance in it.
    tolerance : float
        Relative error that is no violation.
    """
    weightings = _left_out(runs) if runs else []
    factor = float(student.ppf(1 - ALARM, len(weightings) - 1)) if weightings else 0.0
    shown = float(student.ppf((1 + CONFIDENCE) / 2, len(weightings) - 1)) if weightings else 0.0
    best: tuple[float, float] | None = None  # margin and standard error
    even: tuple[float, float] | None = None  # the same of an equality that chance blurs
    violation = ""
    for part in parts(theorem.statement):
        margins = np.asarray(model.margin(part.sentence), dtype=float)
        telling = np.isfinite(margins) | (margins == -np.inf)
        if part.doubled is not None and (margins == 0).any():
            doubled = np.asarray(model.margin(part.doubled), dtype=float)
            telling &= ~((margins == 0) & (np.broadcast_to(doubled, margins.shape) == 0))
        if not telling.any():
            continue
        errors = _errors(model, part, margins, weightings)
        off = -np.abs(margins) if part.equality else margins
        safe = np.where(telling, off + factor * errors, np.inf)
        if safe.min() < -tolerance and not violation:
            violation = _described(theorem, model, part, margins, errors, safe)
        place = np.unravel_index(int(np.argmin(np.where(telling, off, np.inf))), off.shape)
        here = (float(margins[place]), float(errors[place]))
        if part.equality and here[1] > BLUR:
            even = here if even is None or abs(here[0]) > abs(even[0]) else even
        elif best is None or here[0] < best[0]:
            best = here
    told = best or even
    if told is None:
        return Found(None, None, violation)
    margin, error = told
    interval = None
    if weightings:
        interval = (_ratio(margin - shown * error), _ratio(margin + shown * error))
    return Found(None if best is None else _ratio(margin), interval, violation)


def _ratio(margin: float) -> float:
    """right/left, from (right - left)/(|left| + |right|)."""
    margin = min(max(margin, -1.0), 1.0)
    return float("inf") if margin == 1.0 else (1 + margin) / (1 - margin)


def _left_out(runs: int) -> list[Any]:
    """Weights of the runs, one group of them left out."""
    groups = np.arange(runs) % min(GROUPS, runs)
    made = []
    for group in range(min(GROUPS, runs) if runs > 1 else 0):
        kept = (groups != group).astype(float)
        made.append(kept / kept.sum())
    return made


def _errors(model: Model, part: _Part, margins: Any, weightings: list[Any]) -> Any:
    """Standard error of every margin."""
    if not weightings:
        return np.zeros_like(margins)
    found = []
    for weights in weightings:
        partial = copy(model)
        partial.weights = weights
        found.append(np.broadcast_to(partial.margin(part.sentence), margins.shape))
    values = np.stack(found)
    count = len(values)
    with np.errstate(invalid="ignore"):
        spread = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
        errors = np.sqrt((count - 1) / count * spread)
    return np.where(np.isfinite(errors), errors, 0.0)


def _described(
    theorem: Theorem, model: Model, part: _Part, margins: Any, errors: Any, safe: Any
) -> str:
    place = np.unravel_index(int(np.argmin(safe)), safe.shape)
    relation = part.sentence
    while isinstance(relation, sympy.Implies):
        relation = relation.args[1]
    shown = str(relation)
    if isinstance(relation, Relational) and part.equality:
        shown = f"{relation.lhs} = {relation.rhs}"
    shown = shown if len(shown) <= 160 else shown[:157] + "..."
    text = f"{theorem.id}: the statement fails: right/left = {_ratio(float(margins[place])):.6g}"
    if errors[place] > 0:
        text += f", {abs(margins[place]) / errors[place]:.1f} standard errors from 1"
    note = f" ({model.note})" if model.note else ""
    return f"{text}, in {shown}{note}"
