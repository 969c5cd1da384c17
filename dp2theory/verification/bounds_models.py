"""A theorem's statement on finite models of its assumptions, and on points of its symbols."""

from __future__ import annotations

from itertools import islice

import numpy as np
import sympy

from bounds.counterexample_scalar import closest_point
from bounds.model import MARGIN, Model
from bounds.operators import StandardNormal
from bounds.theorem import Theorem
from dp2theory.verification.bounds_margin import examine
from dp2theory.verification.verify_report import MODELS, POINTS, Test

#: Relative: what a mean over the nodes of a quadrature may be off. Their panels end at the kinks.
QUADRATURE_MARGIN = 1e-6
#: Points for each model that is asked for, as in a theorem's own search for counterexamples; and
#: the most: a sum over hundreds of terms at each of them takes its time.
POINTS_PER_MODEL, MOST_POINTS = 50, 5000


def tolerance_of(theorem: Theorem) -> float:
    """What a statement may be off on a model: more where a quadrature stands for a normal law."""
    normal = any(each.formula.atoms(StandardNormal) for each in theorem.assumptions)
    return QUADRATURE_MARGIN if normal else MARGIN


def try_models(theorem: Theorem, *, seed: int, tries: int) -> tuple[Test, ...]:
    """Try a statement on the models that its theorem offers, and on points.

    Parameters
    ----------
    theorem : Theorem
    seed : int
    tries : int
        Models that are looked at; only those in which all assumptions hold count.

    Returns
    -------
    tuple of Test
        Without those that found nothing to look at.
    """
    tests = [_models(theorem, seed, tries), _points(theorem, seed, tries)]
    return tuple(each for each in tests if each.count or each.violation)


def _models(theorem: Theorem, seed: int, tries: int) -> Test:
    count, smallest, violation = 0, None, ""
    drawn = () if theorem.models is None else theorem.models(np.random.default_rng(seed))
    tolerance = tolerance_of(theorem)
    for model in islice(drawn, tries):
        if not _holds(theorem, model):
            continue
        count += 1
        found = examine(theorem, model, tolerance=tolerance)
        if found.slack is not None and (smallest is None or found.slack < smallest):
            smallest = found.slack
        violation = violation or found.violation
    return Test(MODELS, "finite models of its assumptions", count, smallest, None, violation)


def _holds(theorem: Theorem, model: Model) -> bool:
    return all(model.holds(each.formula) for each in theorem.assumptions)


def _points(theorem: Theorem, seed: int, tries: int) -> Test:
    formulas = [each.formula for each in theorem.assumptions]
    rng = np.random.default_rng(seed)
    statement = theorem.statement.replace(
        lambda here: isinstance(here, sympy.Derivative), lambda here: here.doit()
    )
    found = closest_point(statement, formulas, rng, min(POINTS_PER_MODEL * tries, MOST_POINTS))
    violation = ""
    if found.violation is not None:
        point = found.violation
        at = ", ".join(f"{symbol} = {value}" for symbol, value in point.values.items())
        violation = f"{theorem.id}: the statement fails: {point.relation} at {at}"
        violation = violation if len(violation) < 300 else violation[:297] + "..."
    slack = None
    if found.margin is not None and abs(found.margin) < 1:
        slack = (1 + found.margin) / (1 - found.margin)
    return Test(
        POINTS,
        "points of the domains of its symbols, moved to where the statement is close",
        found.points,
        slack,
        None,
        violation,
        searched=found.points,
    )
