"""The decaying step sizes, and why the metric never shrinks when v is capped.

Step t has the size ``a_t = eta alpha^k/sqrt t`` in phase k. Entering an adaptive phase the
preconditioner may fall from 1 to `damping`, leaving it it may fall from its largest value to 1;
one factor alpha pays for either, surely and not only on average.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Implies, Or, floor, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.exponent import WHOLE, adaptive, phase, plain, whole_step
from bounds.dp2.relations import Eq, Le
from bounds.dp2.schedule_models import metric_models
from bounds.dp2.symbols import D, M, a, alpha, eps, eta, v
from bounds.operators import Variable
from bounds.proof.step import Step, at, identity, inequality
from bounds.symbols import j, k, t
from bounds.theorem import Kind, Source, Status, Theorem

SCHEDULE = Assumption(
    "schedule",
    Eq(a(t), eta * alpha ** phase(t) / sqrt(t)),
    "the step size is eta alpha^k/sqrt(t), where k = floor((t - 1)/s) is the phase of step t",
    CODE,
)
PLAIN = Assumption(
    "plain",
    Implies(plain(t), Eq(D(t, j), 1)),
    "in even phases (DP-SGD) nothing is preconditioned",
    CODE,
)
ADAPTIVE = Assumption(
    "adaptive",
    Implies(adaptive(t), Eq(D(t, j), sqrt(v(phase(t) + 1, j)) + eps)),
    "in odd phases D = sqrt(v) + damping, with one v for the whole phase",
    CODE,
)
CAP = Assumption("cap", Le(v(k, j), M), "v is cut off at M after each update", CODE)
DECAY_DAMPING = Assumption(
    "decay-damping", Le(alpha, eps), "the decay is at most the damping", CODE
)
DECAY_CAP = Assumption(
    "decay-cap",
    Le(alpha * (sqrt(M) + eps), 1),
    "the decay is at most 1/(sqrt(M) + damping)",
    CODE,
)
RULES = (SCHEDULE, PLAIN, ADAPTIVE)
CAPPED = (CAP, DECAY_DAMPING, DECAY_CAP)

_after = phase(t + 1)


def _parity(number: Any) -> Any:
    return number - 2 * floor(number / 2)


def mode_steps() -> tuple[Step, ...]:
    """Lemmas: every phase is even or odd."""
    return (
        whole_step(),
        inequality(
            "modes",
            Or(plain(t), adaptive(t)),
            at("whole", {WHOLE: _parity(phase(t))}),
        ),
    )


def phase_steps() -> tuple[Step, ...]:
    """Lemmas on phases: from one step to the next, and that even and odd ones alternate."""
    return (
        *mode_steps(),
        inequality(
            "switch",
            Or(
                And(Eq(_after, phase(t)), plain(t), plain(t + 1)),
                And(Eq(_after, phase(t)), adaptive(t), adaptive(t + 1)),
                And(Eq(_after, phase(t) + 1), plain(t), adaptive(t + 1)),
                And(Eq(_after, phase(t) + 1), adaptive(t), plain(t + 1)),
            ),
            "modes",
            at("modes", {t: t + 1}),
            at("whole", {WHOLE: floor(_after / 2) - floor(phase(t) / 2)}),
        ),
    )


def _metric_steps() -> tuple[Step, ...]:
    x, y, p, q, f, h = (Variable(f"{n}_", positive=True) for n in "xypqfh")
    return (
        *phase_steps(),
        inequality(
            "ceiling",
            Implies(adaptive(t), Le(alpha * D(t, j), 1)),
            "adaptive",
            at("cap", {k: phase(t) + 1}),
            "decay-cap",
        ),
        inequality(
            "ratio",
            Le(alpha**_after * D(t, j), alpha ** phase(t) * D(t + 1, j)),
            "switch",
            "plain",
            at("plain", {t: t + 1}),
            "adaptive",
            at("adaptive", {t: t + 1}),
            "ceiling",
            "decay-damping",
            note="same phase: same D; into an adaptive phase: alpha <= damping <= D; "
            "out of one: alpha D <= 1",
        ),
        inequality(
            "longer",
            Implies(
                And(x <= y, q * f <= p * h),
                Le(f * x / (eta * p), h * y / (eta * q)),
            ),
        ),
        inequality(
            "written-out",
            Le(
                D(t, j) * sqrt(t) / (eta * alpha ** phase(t)),
                D(t + 1, j) * sqrt(t + 1) / (eta * alpha**_after),
            ),
            at(
                "longer",
                {
                    x: sqrt(t),
                    y: sqrt(t + 1),
                    p: alpha ** phase(t),
                    q: alpha**_after,
                    f: D(t, j),
                    h: D(t + 1, j),
                },
            ),
            "ratio",
        ),
        identity(
            "metric",
            Eq(D(t, j) / a(t), D(t, j) * sqrt(t) / (eta * alpha ** phase(t))),
            "schedule",
        ),
        inequality(
            "statement",
            Le(D(t, j) / a(t), D(t + 1, j) / a(t + 1)),
            "written-out",
            "metric",
            at("metric", {t: t + 1}),
        ),
    )


METRIC = Theorem(
    id="dp2.A.metric",
    title="The metric never shrinks",
    statement=Le(D(t, j) / a(t), D(t + 1, j) / a(t + 1)),
    kind=Kind.STRUCTURE,
    source=Source("li2023dp2", "convex theorem", Status.DERIVED),
    assumptions=(*RULES, *CAPPED),
    steps=_metric_steps(),
    explanation=(
        "A step of size a in the metric D measures distances by D/a. When D/a grows from step to "
        "step, surely and in every coordinate, the sum over the steps telescopes and only its "
        "last value costs. It does: within a phase the step size falls like 1/sqrt(t), and at "
        "each switch one factor alpha outweighs the change of the preconditioner, from 1 down "
        "to the damping or from the cap down to 1."
    ),
    models=metric_models,
    caveats=(
        "It needs the cap on every path. A bound on the mean of v gives growth in the mean only, "
        "which is not enough: a distance may be large exactly where the metric shrinks. Without "
        "a cap see dp2.A0.",
        "Phases are counted by floor((t - 1)/s); with floor(t/s) the step size decays one step "
        "before the preconditioner changes and the ratio can drop at the step after.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (METRIC,)
