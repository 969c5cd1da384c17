"""Theorem A0: the same schedule without the cap, with a computable extra term.

Without the cap the metric may shrink when an adaptive phase ends, and only then. What that costs
is the part of sqrt(v) + damping above 1/alpha, which dp2.A0.tail bounds.
"""

from __future__ import annotations

from sympy import And, Implies, Lambda, Not, Or, Piecewise, Sum, floor, sqrt

from bounds.dp2.exponent import adaptive, phase, plain
from bounds.dp2.relations import Eq, Le
from bounds.dp2.schedule import (
    AVERAGE_GAP,
    BOUND_A,
    MOMENTS,
    NORMS,
    SIDES,
    by_phase,
    last_steps,
    summed_steps,
)
from bounds.dp2.schedule_metric import DECAY_DAMPING, RULES, phase_steps
from bounds.dp2.schedule_models import metric_models, tail_models
from bounds.dp2.schedule_tail import EXCESS, LIPSCHITZ, TAIL, TAIL_THEOREM
from bounds.dp2.setting import ASSUMPTIONS, OVER_J, OVER_T
from bounds.dp2.symbols import D, Dn, Gamt, R, Rj, a, alpha, eps, eta, gap, lip, nu, omega, v
from bounds.operators import E, Max, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, cite, expectation, identity, inequality
from bounds.symbols import T, d, j, k, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

LEAVING = And(adaptive(t), plain(t + 1))
_weight = sqrt(t) / (eta * alpha ** phase(t))
_fall = Max(D(t, j) / a(t) - D(t + 1, j) / a(t + 1), 0)
_over = Max(sqrt(v(phase(t) + 1, j)) + eps - 1 / alpha, 0)
_paths = Le(_fall, Piecewise((_weight * _over, LEAVING), (0, True)))

_x, _y, _p, _q, _f, _h = (Variable(f"{name}_", positive=True) for name in "xypqfh")

_INSTANCE = {
    _x: sqrt(t),
    _y: sqrt(t + 1),
    _p: alpha ** phase(t),
    _q: alpha ** phase(t + 1),
    _f: D(t, j),
    _h: D(t + 1, j),
}

DECLINE = Theorem(
    id="dp2.A0.decline",
    title="Without a cap the metric shrinks only when an adaptive phase ends",
    statement=_paths,
    kind=Kind.UPPER,
    source=Source("li2023dp2", "convex theorem", Status.DERIVED),
    assumptions=(*RULES, DECAY_DAMPING),
    steps=(
        *phase_steps(),
        inequality(
            "ratio",
            Or(
                LEAVING,
                Le(alpha ** phase(t + 1) * D(t, j), alpha ** phase(t) * D(t + 1, j)),
            ),
            "switch",
            "plain",
            at("plain", {t: t + 1}),
            "adaptive",
            at("adaptive", {t: t + 1}),
            "decay-damping",
        ),
        inequality(
            "leaving",
            Implies(
                LEAVING,
                And(
                    Eq(alpha ** phase(t + 1), alpha * alpha ** phase(t)),
                    Eq(D(t + 1, j), 1),
                ),
            ),
            "switch",
            at("plain", {t: t + 1}),
        ),
        inequality(
            "longer",
            Implies(
                And(_x <= _y, _q * _f <= _p * _h), _f * _x / (eta * _p) <= _h * _y / (eta * _q)
            ),
        ),
        inequality(
            "drop",
            Implies(
                And(_x <= _y, Eq(_q, alpha * _p), Eq(_h, 1)),
                _f * _x / (eta * _p) - _h * _y / (eta * _q)
                <= _x / (eta * _p) * Max(_f - 1 / alpha, 0),
            ),
        ),
        identity(
            "metric",
            Eq(D(t, j) / a(t), D(t, j) * sqrt(t) / (eta * alpha ** phase(t))),
            "schedule",
        ),
        inequality(
            "statement",
            _paths,
            at("longer", _INSTANCE),
            at("drop", _INSTANCE),
            "ratio",
            "leaving",
            "adaptive",
            "metric",
            at("metric", {t: t + 1}),
        ),
    ),
    explanation=(
        "Without a cap on v the metric D/a still grows within phases and on entering an adaptive "
        "phase. At the end of an adaptive phase it may fall, by at most the part of "
        "sqrt(v) + damping that exceeds 1/alpha."
    ),
    models=metric_models,
)

_lost = R**2 * TAIL / eta * Piecewise((sqrt(t) / alpha ** phase(t), LEAVING), (0, True))
EXTRA = d * Sum(_lost, (t, 1, T - 1)) / (2 * T)
BOUND_A0 = BOUND_A + EXTRA
THEOREM_A0 = Theorem(
    id="dp2.A0",
    title="DP² with decaying step sizes, second moment not capped",
    statement=Le(AVERAGE_GAP, BOUND_A0),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "convex theorem", Status.DERIVED),
    assumptions=(
        *ASSUMPTIONS,
        *RULES,
        DECAY_DAMPING,
        *TAIL_THEOREM.assumptions,
        SIDES,
        NORMS,
        MOMENTS,
    ),
    steps=(
        *summed_steps(),
        *last_steps(),
        inequality("tail", Le(E(EXCESS), TAIL), cite("dp2.A0.tail")),
        inequality(
            "tail-step",
            Implies(adaptive(t), Le(E(_over), TAIL)),
            at("tail", {k: floor(phase(t) / 2) + 1}),
            note="phase 2r - 1 uses r updates",
        ),
        inequality("falls", Implies(LEAVING, Le(_fall, _weight * _over)), cite("dp2.A0.decline")),
        inequality("no-falls", Implies(Not(LEAVING), Le(_fall, 0)), cite("dp2.A0.decline")),
        expectation(
            "mean-fall",
            Implies(LEAVING, Le(E(_fall), _weight * E(_over))),
            "falls",
            by=Linearity(over=(E,)),
        ),
        expectation(
            "no-mean-fall",
            Implies(Not(LEAVING), Le(E(_fall), 0)),
            "no-falls",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "loss",
            Implies(LEAVING, Le(E(_fall), _weight * TAIL)),
            "mean-fall",
            "tail-step",
        ),
        inequality("squares-of-sides", Le(Rj(j) ** 2, R**2), "sides"),
        inequality(
            "side-loss",
            Implies(LEAVING, Le(Rj(j) ** 2 * E(_fall), R**2 * _weight * TAIL)),
            "loss",
            "squares-of-sides",
        ),
        inequality(
            "lost",
            Le(Rj(j) ** 2 * E(_fall), _lost),
            "side-loss",
            "no-mean-fall",
        ),
        expectation(
            "all-lost",
            Le(
                Sum(Rj(j) ** 2 * E(_fall), (t, 1, T - 1), OVER_J),
                Sum(_lost, (t, 1, T - 1), OVER_J),
            ),
            "lost",
            by=Linearity(over=(OVER_J, (t, 1, T - 1))),
        ),
        inequality(
            "sum",
            Le(
                Sum(E(gap(t)), OVER_T),
                R**2 * Dn(T) / (2 * a(T))
                + Sum(_lost, (t, 1, T - 1), OVER_J) / 2
                + Sum(a(t) * (Gamt(t) + nu(t) ** 2 * Dn(t)), OVER_T) / 2,
            ),
            cite("dp2.master.down", {omega: Lambda(t, 1)}),
            "all-lost",
            "last-norm",
            "summed-moments",
        ),
        identity(
            "sizes",
            Eq(
                R**2 * Dn(T) / (2 * a(T) * T)
                + Sum(_lost, (t, 1, T - 1), OVER_J) / (2 * T)
                + Sum(a(t) * (Gamt(t) + nu(t) ** 2 * Dn(t)), OVER_T) / (2 * T),
                BOUND_A0,
            ),
            "schedule",
            at("schedule", {t: T}),
        ),
        inequality("statement", Le(AVERAGE_GAP, BOUND_A0), "sum", "sizes"),
    ),
    evaluations={
        "bound": by_phase(BOUND_A0.subs(lip, LIPSCHITZ)),
        "by_step": BOUND_A0.subs(lip, LIPSCHITZ),
        "extra": EXTRA.subs(lip, LIPSCHITZ),
        "tail": TAIL.subs(lip, LIPSCHITZ),
    },
    explanation=(
        "Theorem A without the cap. The metric may shrink at the ends of adaptive phases; what "
        "that costs is added: the squared diameter times sqrt(t)/alpha^k at those steps, times "
        "the mean excess of sqrt(v) + damping over 1/alpha, which is below 1e-12 when 1/alpha "
        "clears C and the noise by six standard deviations."
    ),
    models=tail_models,
    curve=Curve(
        along="decay_margin",
        values=tuple(n / 4 for n in range(33)),
        fixed={
            "steps": 600,
            "delay": 100,
            "dimension": 10,
            "diameter": 2.0,
            "learning_rate": 1.0,
            "decay": 0.5,
            "noise_std": 1.93 / 256,
            "ema": 0.9,
        },
        names=("extra",),
        log_y=True,
    ),
    caveats=(
        "The theorem rests on Gaussian concentration of the norm of the averaged noise "
        "(dp2.A0.tail), which is cited.",
        "alpha and theta belong together: 1/alpha = damping + C + nu1/sqrt(s) + theta lambda "
        "with lambda = nu1 sqrt((1 - beta)/s). An evaluation takes both and does not solve for "
        "one of them.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (DECLINE, THEOREM_A0)
