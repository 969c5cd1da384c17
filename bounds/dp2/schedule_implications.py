"""What implies the recalled form of the convex theorem, and what it implies.

The chain is: theorem A, its closed form, the recalled form, the recalled form with the relaxed
exponent; each is above the one before.
"""

from __future__ import annotations

from sympy import And, Implies, Or, Rational, floor, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.exponent import WHOLE, phase, whole_step
from bounds.dp2.relations import Le
from bounds.dp2.schedule import AVERAGE_GAP, NORMS, SIDES, by_phase
from bounds.dp2.schedule_closed import BOUND_CLOSED, CLIPPED
from bounds.dp2.schedule_metric import (
    ADAPTIVE,
    CAPPED,
    PLAIN,
)
from bounds.dp2.schedule_models import unit_models
from bounds.dp2.schedule_norm import NORM
from bounds.dp2.schedule_recalled import (
    DECAY,
    RECALLED,
    RELATIVE,
    RELAXED,
    UNIT_SCHEDULE,
    displayed,
)
from bounds.dp2.setting import ASSUMPTIONS
from bounds.dp2.symbols import (
    C,
    Dn,
    R,
    alpha,
    eta,
    kap,
    s,
    u,
)
from bounds.operators import Variable
from bounds.proof.step import Step, at, cite, inequality
from bounds.symbols import T, d, t
from bounds.theorem import Kind, Source, Status, Theorem

UNIT_CLOSED = BOUND_CLOSED.subs(eta, 1)
LARGE = Assumption("large", Le(alpha**2 * C**2, kap), "kappa is at least alpha^2 C^2", CODE)
ENOUGH = Assumption(
    "enough",
    Or(Le(C**2 / d, kap + R**2 / 2), 2 * s < T),
    "kappa + R^2/2 is at least C^2/d, or the run has more than two phases",
    CODE,
)
WIDE = Assumption(
    "wide",
    And(
        Le(d * alpha ** phase(T), Dn(T)),
        Implies(2 * s < T, Le(d * alpha ** phase(T), alpha**2 * Dn(T))),
    ),
    "the bound on E||D_T||_1 is at least d alpha^k, and d alpha^(k - 2) from the third phase on, "
    "as E||D_T||_1 itself is (dp2.A.norm)",
    CODE,
)
_x, _y = Variable("x_", nonnegative=True), Variable("y_", nonnegative=True)
_b, _c = Variable("b_", positive=True), Variable("c_", positive=True)

_gradient = Le(C**2 / sqrt(T), (kap + R**2 / 2) * Dn(T) / (sqrt(T) * alpha ** phase(T)))


def _divided() -> tuple[Step, ...]:
    """The gradient term from its form without quotients."""
    return (
        inequality("over", Implies(_x * _b <= _y, _x / _c <= _y / (_c * _b))),
        inequality(
            "gradient",
            _gradient,
            at(
                "over",
                {
                    _x: C**2,
                    _b: alpha ** phase(T),
                    _c: sqrt(T),
                    _y: (kap + R**2 / 2) * Dn(T),
                },
            ),
            "squares",
        ),
    )


def _after_gradient() -> tuple[Step, ...]:
    """From the gradient term to the recalled form: a larger exponent, twice the noise."""
    X_exact, X_recalled = (Dn(T) / (sqrt(T) * alpha**e) for e in (phase(T), floor(T / s)))
    return (
        whole_step(),
        inequality(
            "exponent",
            Le(alpha ** floor(T / s), alpha ** phase(T)),
            at("whole", {WHOLE: floor(T / s) - phase(T)}),
            "decay",
            note="floor(T/s) is at least floor((T - 1)/s)",
        ),
        inequality(
            "divide",
            Implies(_b <= _c, _x / _c <= _x / _b),
        ),
        inequality(
            "larger",
            Le(X_exact, X_recalled),
            at("divide", {_b: alpha ** floor(T / s), _c: alpha ** phase(T), _x: Dn(T) / sqrt(T)}),
            "exponent",
        ),
        inequality(
            "scaled",
            Le((R**2 + kap) * X_exact, (R**2 + kap) * X_recalled),
            "larger",
        ),
        inequality("statement", Le(UNIT_CLOSED, RECALLED), "scaled", "gradient"),
    )


FROM_CLOSED = Theorem(
    id="dp2.recalled.from-closed",
    title="The recalled form is above the closed form",
    statement=Le(UNIT_CLOSED, RECALLED),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "convex theorem", Status.DERIVED),
    assumptions=(DECAY, LARGE, ENOUGH, WIDE),
    explanation=(
        "With learning rate 1 the closed form is below the recalled form whenever kappa + R^2/2 "
        "is at least C^2/d, and in any case from the third phase on. The converse never holds: "
        "the recalled form has twice the diameter term and twice the noise, and one factor "
        "1/alpha more when s divides T."
    ),
    slack={
        "halved 1/2 in Sum(alpha**floor((t - 1)/s)*Dn(t)*nu(t)**2/sqrt(t), (t, 1...": (
            "the recalled form has the noise of the steps without the factor 1/2: every factor "
            "up to 1 in the closed form is below it"
        ),
        "phase statement": (
            "the recalled form has the exponent floor(T/s), so that the closed form is below it "
            "with that exponent too; one factor 1/alpha is lost when s divides T"
        ),
    },
    evaluations={"bound": by_phase(RECALLED), "below": by_phase(UNIT_CLOSED)},
    models=unit_models,
    steps=(
        inequality(
            "late-share",
            Implies(2 * s < T, Le(alpha ** phase(T), alpha**2 * Dn(T))),
            "wide",
        ),
        inequality(
            "late-squares",
            Implies(2 * s < T, Le(C**2 * alpha ** phase(T), kap * Dn(T))),
            "large",
            "late-share",
        ),
        inequality(
            "squares",
            Le(C**2 * alpha ** phase(T), (kap + R**2 / 2) * Dn(T)),
            "enough",
            "wide",
            "late-squares",
        ),
        *_divided(),
        *_after_gradient(),
    ),
)

CAPPED_FORM = Theorem(
    id="dp2.recalled.capped",
    title="The recalled form holds when the second moment is capped",
    statement=Le(AVERAGE_GAP, RECALLED),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "convex theorem", Status.DERIVED),
    assumptions=(
        *ASSUMPTIONS,
        UNIT_SCHEDULE,
        PLAIN,
        ADAPTIVE,
        *CAPPED,
        SIDES,
        NORMS,
        CLIPPED,
        LARGE,
        ENOUGH,
    ),
    steps=(
        inequality("decay", Le(alpha, 1), "decay-damping", "decay-cap"),
        inequality("norm", NORM.statement, cite("dp2.A.norm")),
        inequality(
            "wide",
            WIDE.formula,
            at("norms", {t: T}),
            at("norm", {t: T}),
        ),
        inequality(
            "statement",
            Le(AVERAGE_GAP, RECALLED),
            cite("dp2.closed", {eta: 1}),
            cite("dp2.recalled.from-closed"),
        ),
    ),
    explanation=(
        "The recalled form of the paper's convex theorem holds for the algorithm that cuts v off "
        "at M, with learning rate 1, from the third phase on whatever kappa >= alpha^2 C^2 is, "
        "and for one or two phases when kappa + R^2/2 is at least C^2/d."
    ),
    evaluations={"bound": by_phase(RECALLED), "by_step": RECALLED},
    models=unit_models,
)

RELAXED_FROM_RECALLED = Theorem(
    id="dp2.relaxed.from-recalled",
    title="The relaxed exponent gives a larger bound",
    statement=Le(RECALLED, RELAXED),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "relaxed exponent", Status.DERIVED),
    assumptions=(DECAY, RELATIVE),
    steps=(
        inequality(
            "exponent",
            Le(alpha ** ((2 + u) / (2 * u)), alpha ** floor(T / s)),
            "relative",
            "decay",
            note="T/s + 1/2 is at least floor(T/s)",
        ),
        inequality("divide", Implies(_b <= _c, _x / _c <= _x / _b)),
        inequality(
            "statement",
            Le(RECALLED, RELAXED),
            at(
                "divide",
                {
                    _b: alpha ** ((2 + u) / (2 * u)),
                    _c: alpha ** floor(T / s),
                    _x: (R**2 + kap) * Dn(T) / sqrt(T),
                },
            ),
            "exponent",
        ),
    ),
    explanation=(
        "The relaxed exponent (2 + u)/(2u) is at least floor(T/s), and 1/alpha is at least 1, so "
        "that the relaxed form is above the recalled one, by a factor between alpha^(-1/2) and "
        "alpha^(-3/2) in its first term."
    ),
    slack={
        "phase statement": "the noise of the steps is the same on both sides, whatever their phases"
    },
    evaluations={"bound": by_phase(displayed(T / s + Rational(1, 2))), "below": by_phase(RECALLED)},
    models=unit_models,
)


THEOREMS: tuple[Theorem, ...] = (FROM_CLOSED, CAPPED_FORM, RELAXED_FROM_RECALLED)
