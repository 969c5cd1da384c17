"""From V/(2 eta T) + eta G/(2T) at any constant step to sqrt(V G)/T at the best one."""

from __future__ import annotations

from typing import Any

from sympy import sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.relations import Eq, Le
from bounds.dp2.symbols import G0, V0, eta
from bounds.proof.step import Step, cite, identity, inequality
from bounds.symbols import T


def best_step(moments: Any) -> tuple[Assumption, Assumption]:
    """What G stands for, and the step that makes both terms equal."""
    return (
        Assumption("moments", Eq(moments, G0), "G is what gradients and noise cost at most", CODE),
        Assumption("tuned", Eq(eta, sqrt(V0 / G0)), "eta is the best step for V and G", CODE),
    )


def best_step_proof(claim: Any, gap: Any, variation: str, any_step: str) -> tuple[Step, ...]:
    """The proof of `claim`, ``gap <= sqrt(V G)/T``.

    Parameters
    ----------
    claim, gap : sympy expressions
    variation : str
        Id of the assumption that says what V stands for.
    any_step : str
        The theorem for any constant step.
    """
    both = V0 / (2 * eta * T) + eta * G0 / (2 * T)
    return (
        identity("value", Eq(both, sqrt(V0 * G0) / T), "tuned"),
        inequality("any-step", Le(gap, both), variation, "moments", cite(any_step)),
        inequality("bound", claim, "value", "any-step"),
    )
