"""The paper's display of the convex theorem as recalled, and what implies it.

The recalled form has the exponent floor(T/s), the factor R^2 + kappa and no factor 1/2 on the
noise. It is not a quotation. For the capped algorithm it follows from the closed form of theorem A
whenever kappa is large enough, and always from the third phase on.
"""

from __future__ import annotations

from typing import Any

from sympy import Abs, And, Eq, Implies, Le, Max, Or, Sum, floor, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.exponent import WHOLE, adaptive, phase, whole_step
from bounds.dp2.schedule import AVERAGE_GAP, NORMS, SIDES, by_phase
from bounds.dp2.schedule_closed import BOUND_CLOSED, CLIPPED
from bounds.dp2.schedule_metric import (
    ADAPTIVE,
    CAPPED,
    DECAY_CAP,
    DECAY_DAMPING,
    PLAIN,
    SCHEDULE,
)
from bounds.dp2.schedule_norm import NORM
from bounds.dp2.setting import ASSUMPTIONS, OVER_J, OVER_T
from bounds.dp2.symbols import (
    C,
    Dn,
    M,
    R,
    X,
    alpha,
    best_gap,
    beta,
    eps,
    eta,
    g,
    gap,
    h,
    kap,
    nu,
    s,
    u,
    v,
)
from bounds.operators import E, Variable
from bounds.proof.step import Step, assumed, at, cite, inequality
from bounds.symbols import T, d, j, k, t
from bounds.theorem import Kind, Source, Status, Theorem

_NOISES = Sum(alpha ** phase(t) / sqrt(t) * nu(t) ** 2 * Dn(t), OVER_T)
KAPPA = Max(alpha**2 * C**2, C * h / (eps * sqrt(1 - beta)))


def displayed(exponent: Any) -> Any:
    """(R^2 + kappa) alpha^-exponent E||D_T||_1/sqrt(T) + the noise of the steps over T."""
    return (R**2 + kap) * Dn(T) / (sqrt(T) * alpha**exponent) + _NOISES / T


RECALLED = displayed(floor(T / s))
RELAXED = displayed((2 + u) / (2 * u))
UNIT_CLOSED = BOUND_CLOSED.subs(eta, 1)
UNIT_SCHEDULE = Assumption(
    "schedule",
    SCHEDULE.formula.subs(eta, 1),
    "the step size is alpha^k/sqrt(t), where k = floor((t - 1)/s) is the phase of step t",
    CODE,
)
DECAY = Assumption("decay", Le(alpha, 1), "the decay is at most 1", CODE)
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
RELATIVE = Assumption("relative", Eq(u, s / T), "u is the delay as a fraction of the run", CODE)

_x, _y, _z = (Variable(name, nonnegative=True) for name in ("x_", "y_", "z_"))
_b, _c = Variable("b_", positive=True), Variable("c_", positive=True)
_e, _w = Variable("e_"), Variable("w_", positive=True)

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
)
_SECOND_MOMENT = Assumption(
    "second-moment",
    Le(E(v(k, j)), M),
    "the mean of v is at most M; v itself is not capped",
    CALLER,
)
_STALENESS = Assumption(
    "staleness",
    Implies(
        adaptive(t),
        Le(
            Sum(E(Abs(g(t, j))), OVER_J),
            h * (Sum(E(Abs(X(phase(t) + 1, j))), OVER_J) + d * eps),
        ),
    ),
    "h bounds the gradient of an adaptive step over the averaged gradient in its preconditioner",
    CALLER,
)
_KAPPA = Assumption("kappa", Eq(kap, KAPPA), "kappa as the recalled form has it", CODE)
_BEST = Assumption(
    "best",
    Implies(Le(t, T), Le(best_gap, E(gap(t)))),
    "no step up to T has an expected gap below the best one",
    CODE,
)
_RECALLED_ASSUMPTIONS = (
    *ASSUMPTIONS,
    UNIT_SCHEDULE,
    PLAIN,
    ADAPTIVE,
    _SECOND_MOMENT,
    DECAY,
    DECAY_DAMPING,
    DECAY_CAP,
    SIDES,
    NORMS,
    CLIPPED,
    _STALENESS,
    _KAPPA,
    _BEST,
)

RECALLED_FORM = Theorem(
    id="dp2.recalled",
    title="The convex theorem of the paper as recalled",
    statement=Le(best_gap, RECALLED),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "convex theorem", Status.RECALLED),
    assumptions=_RECALLED_ASSUMPTIONS,
    steps=(
        assumed(
            "statement",
            Le(best_gap, RECALLED),
            *[each.id for each in _RECALLED_ASSUMPTIONS],
            note="li2023dp2, convex theorem, recalled and not read; for capped v it is proved as "
            "dp2.recalled.capped",
        ),
    ),
    evaluations={"bound": by_phase(RECALLED), "by_step": RECALLED, "gradient_term": KAPPA},
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
)

RELAXED_FORM = Theorem(
    id="dp2.relaxed",
    title="The recalled form with the relaxed exponent",
    statement=Le(best_gap, RELAXED),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "relaxed exponent", Status.RECALLED),
    assumptions=(*_RECALLED_ASSUMPTIONS, RELATIVE),
    steps=(
        inequality(
            "statement",
            Le(best_gap, RELAXED),
            cite("dp2.recalled"),
            cite("dp2.relaxed.from-recalled"),
        ),
    ),
)

THEOREMS: tuple[Theorem, ...] = (
    FROM_CLOSED,
    CAPPED_FORM,
    RECALLED_FORM,
    RELAXED_FROM_RECALLED,
    RELAXED_FORM,
)
