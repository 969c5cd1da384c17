"""A lower bound on the preconditioner: at least alpha^k in phase k."""

from __future__ import annotations

from sympy import And, Implies, Sum, floor

from bounds.dp2.exponent import WHOLE, adaptive, phase
from bounds.dp2.relations import Ge, Le
from bounds.dp2.schedule_metric import ADAPTIVE, DECAY_CAP, DECAY_DAMPING, PLAIN, mode_steps
from bounds.dp2.schedule_models import metric_models
from bounds.dp2.setting import OVER_J
from bounds.dp2.symbols import D, alpha, s
from bounds.operators import E, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import Step, at, expectation, inequality
from bounds.symbols import d, j, t
from bounds.theorem import Kind, Source, Status, Theorem

_e = Variable("e_")
_norm = Sum(E(D(t, j)), OVER_J)


def small_decay() -> Step:
    """alpha <= 1 follows from the two bounds on alpha."""
    return inequality("decay-one", Le(alpha, 1), "decay-damping", "decay-cap")


def below_preconditioner() -> tuple[Step, ...]:
    """D is at least alpha^k in phase k."""
    return (
        small_decay(),
        *mode_steps(),
        inequality(
            "powers",
            And(
                Le(alpha ** phase(t), 1),
                Implies(adaptive(t), Le(alpha ** phase(t), alpha)),
            ),
            "decay-one",
            integers=True,
            note="k is at least 0, and at least 1 when it is odd",
        ),
        inequality(
            "below",
            Le(alpha ** phase(t), D(t, j)),
            "modes",
            "powers",
            "plain",
            "adaptive",
            "decay-damping",
            note="in phase 0 both are 1; in an even phase D is 1; in an odd one k >= 1, so "
            "alpha^k <= alpha <= damping <= D",
        ),
    )


NORM = Theorem(
    id="dp2.A.norm",
    title="The preconditioner is at least the decay of its phase",
    statement=And(
        Le(d * alpha ** phase(t), _norm),
        Implies(t > 2 * s, Le(d * alpha ** phase(t), alpha**2 * _norm)),
    ),
    kind=Kind.LOWER,
    source=Source("li2023dp2", "convex theorem", Status.DERIVED),
    assumptions=(PLAIN, ADAPTIVE, DECAY_DAMPING, DECAY_CAP),
    steps=(
        *below_preconditioner(),
        inequality(
            "late",
            Implies(t > 2 * s, Ge(phase(t) - 2, 0)),
            at("whole", {WHOLE: t - 2 * s - 1}),
            at("whole", {WHOLE: phase(t) - 2}),
            note="(t - 1)/s is at least 2",
        ),
        inequality("power", Implies(Ge(_e, 0), Le(alpha**_e, 1)), "decay-one"),
        inequality(
            "third",
            Implies(t > 2 * s, Le(alpha ** phase(t), alpha**2)),
            "late",
            at("power", {_e: phase(t) - 2}),
        ),
        inequality(
            "fourth",
            Implies(And(t > 2 * s, adaptive(t)), Le(alpha ** phase(t), alpha**3)),
            "late",
            at("whole", {WHOLE: floor(phase(t) / 2) - 1}),
            at("power", {_e: phase(t) - 3}),
            note="the first odd number above 2 is 3",
        ),
        inequality(
            "below-late",
            Implies(t > 2 * s, Le(alpha ** phase(t), alpha**2 * D(t, j))),
            "modes",
            "third",
            "fourth",
            "plain",
            "adaptive",
            "decay-damping",
        ),
        expectation(
            "sum",
            Le(d * alpha ** phase(t), _norm),
            "below",
            by=Linearity(over=(OVER_J, E)),
        ),
        expectation(
            "sum-late",
            Implies(t > 2 * s, Le(d * alpha ** phase(t), alpha**2 * _norm)),
            "below-late",
            by=Linearity(over=(OVER_J, E)),
        ),
        inequality(
            "statement",
            And(
                Le(d * alpha ** phase(t), _norm),
                Implies(t > 2 * s, Le(d * alpha ** phase(t), alpha**2 * _norm)),
            ),
            "sum",
            "sum-late",
        ),
    ),
    explanation=(
        "In phase k the preconditioner is at least alpha^k in every coordinate: it is 1 in even "
        "phases, and in odd ones at least the damping, which is at least alpha. From the third "
        "phase on it is at least alpha^(k - 2). So the factor alpha^-k of theorem A is never "
        "made up for by a small preconditioner."
    ),
    models=metric_models,
)


THEOREMS: tuple[Theorem, ...] = (NORM,)
