"""The paper's display of the convex theorem as recalled, and what implies it.

The recalled form has the exponent floor(T/s), the factor R^2 + kappa and no factor 1/2 on the
noise. It is not a quotation. For the capped algorithm it follows from the closed form of theorem A
(schedule_implications.py).
"""

from __future__ import annotations

from typing import Any

from sympy import Abs, And, Implies, Rational, Sum, floor, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.exponent import adaptive, phase
from bounds.dp2.relations import Eq, Le
from bounds.dp2.schedule import NORMS, SIDES, by_phase
from bounds.dp2.schedule_closed import CLIPPED
from bounds.dp2.schedule_curve import delay_curve
from bounds.dp2.schedule_metric import (
    ADAPTIVE,
    DECAY_CAP,
    DECAY_DAMPING,
    PLAIN,
    SCHEDULE,
)
from bounds.dp2.schedule_models import unit_models
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
from bounds.operators import E, Max
from bounds.proof.step import assumed, cite, inequality
from bounds.symbols import T, d, j, k, t
from bounds.theorem import Kind, Source, Status, Theorem

_NOISES = Sum(alpha ** phase(t) / sqrt(t) * nu(t) ** 2 * Dn(t), OVER_T)
KAPPA = Max(alpha**2 * C**2, C * h / (eps * sqrt(1 - beta)))


def displayed(exponent: Any) -> Any:
    """(R^2 + kappa) alpha^-exponent E||D_T||_1/sqrt(T) + the noise of the steps over T."""
    return (R**2 + kap) * Dn(T) / (sqrt(T) * alpha**exponent) + _NOISES / T


_HALF = Rational(1, 2)
RECALLED = displayed(floor(T / s))
RELAXED = displayed((2 + u) / (2 * u))
UNIT_SCHEDULE = Assumption(
    "schedule",
    SCHEDULE.formula.subs(eta, 1),
    "the step size is alpha^k/sqrt(t), where k = floor((t - 1)/s) is the phase of step t",
    CODE,
)
DECAY = Assumption("decay", Le(alpha, 1), "the decay is at most 1", CODE)
RELATIVE = Assumption("relative", Eq(u, s / T), "u is the delay as a fraction of the run", CODE)
_NOT_QUOTED = (
    "The display is recalled, not read: it is no quotation, and its form in the paper may differ."
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
            h * (Sum(E(Abs(X(floor(phase(t) / 2) + 1, j))), OVER_J) + d * eps),
        ),
    ),
    "h bounds the gradient of an adaptive step over the averaged gradient in its preconditioner",
    CALLER,
)
_KAPPA = Assumption(
    "kappa",
    And(Le(alpha**2 * C**2, kap), Le((C * h) ** 2, (kap * eps) ** 2 * (1 - beta))),
    "kappa is at least alpha^2 C^2 and at least C h/(damping sqrt(1 - beta))",
    CODE,
)
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
    explanation=(
        "The paper's bound on the smallest expected gap, as recalled: the diameter and a gradient "
        "term kappa times E||D_T||_1 alpha^-floor(T/s)/sqrt(T), plus the noise of the steps. The "
        "evaluation exact_exponent has ceil(T/s) - 1 in place of floor(T/s)."
    ),
    evaluations={
        "bound": by_phase(RECALLED),
        "by_step": RECALLED,
        "exact_exponent": by_phase(displayed(phase(T))),
        "gradient_term": KAPPA,
    },
    models=unit_models,
    curve=delay_curve("gradient_term preconditioned_noise_std", names=("bound", "exact_exponent")),
    caveats=(
        _NOT_QUOTED,
        "A proof along its lines needs a metric that never shrinks on any path, and a bound on "
        "the mean of v does not give that; for v capped at M see dp2.recalled.capped, without a "
        "cap dp2.A0.",
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
    explanation=(
        "The recalled form with the exponent (2 + u)/(2u), u = s/T, which is smooth in u: the "
        "form that the trade-off function phi(u) is read from."
    ),
    evaluations={"bound": by_phase(displayed(T / s + _HALF))},
    models=unit_models,
    curve=delay_curve("gradient_term preconditioned_noise_std", names=("bound",)),
    caveats=(_NOT_QUOTED,),
)

THEOREMS: tuple[Theorem, ...] = (RECALLED_FORM, RELAXED_FORM)
