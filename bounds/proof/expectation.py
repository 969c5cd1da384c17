"""Rule ``expectation``: the five trusted rules on expectations, sums and integrals.

What they trust: that the expectations which occur exist (moments are finite), so that E is a
linear and monotone functional; and the five rules themselves. Everything else is matched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy

from bounds.proof.averages import cauchy_schwarz, jensen
from bounds.proof.conditioning import tower, zero_mean
from bounds.proof.linearity import linearity
from bounds.proof.methods import CauchySchwarz, Jensen, Linearity, Tower, ZeroMean
from bounds.proof.step import Step
from bounds.proof.tools import Outcome


def check(step: Step, premises: Sequence[sympy.Basic]) -> Outcome:
    """Check one step of rule ``expectation``."""
    rules: dict[type, Callable[[Step, Sequence[Any]], Outcome]] = {
        Linearity: linearity,
        Tower: tower,
        ZeroMean: zero_mean,
        Jensen: jensen,
        CauchySchwarz: cauchy_schwarz,
    }
    rule = rules.get(type(step.by))
    if rule is None:
        return Outcome(False, f"{step.by!r} is none of the five rules of expectation")
    return rule(step, premises)
