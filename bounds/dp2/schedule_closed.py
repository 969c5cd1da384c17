"""The closed form of Theorem A: no property of the gradients but their norm is needed.

In phase k the step size carries alpha^k and the preconditioner is at least alpha^k, so that one
step adds at most eta C^2/sqrt(t) of gradient, whatever the mode. The delay multiplies only the
first term.
"""

from __future__ import annotations

from sympy import Implies, Lambda, Sum, sqrt

from bounds.assumptions import CALLER, Assumption
from bounds.dp2.exponent import phase
from bounds.dp2.relations import Le
from bounds.dp2.schedule import AVERAGE_GAP, BOUND_A, NORMS, SIDES, by_phase, last_metric
from bounds.dp2.schedule_curve import delay_curve
from bounds.dp2.schedule_metric import CAPPED, RULES
from bounds.dp2.schedule_models import run_models
from bounds.dp2.schedule_norm import below_preconditioner
from bounds.dp2.setting import ASSUMPTIONS, OVER_J, OVER_T
from bounds.dp2.symbols import C, D, Dn, Gamt, alpha, eta, g, nu
from bounds.operators import E, Index, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import Induction, Step, at, cite, expectation, inequality
from bounds.symbols import T, j, t
from bounds.theorem import Kind, Source, Status, Theorem

CLIPPED = Assumption(
    "clipped",
    Le(Sum(g(t, j) ** 2, OVER_J), C**2),
    "the gradient of a batch has norm at most C on every path (a batch of fixed size, gradients "
    "of records of norm at most C)",
    CALLER,
)
SMALL = Assumption(
    "small",
    Le(Gamt(t), C**2 * alpha ** (-phase(t))),
    "the bound on E||g_t||^2 in the norm of D_t^-1 is at most C^2 alpha^-k in phase k",
    CALLER,
)
_ALL = Sum(alpha ** phase(t) / sqrt(t) * (Gamt(t) + nu(t) ** 2 * Dn(t)), OVER_T)
_NOISES = Sum(alpha ** phase(t) / sqrt(t) * nu(t) ** 2 * Dn(t), OVER_T)
NOISE = eta / (2 * T) * _NOISES
BOUND_CLOSED = last_metric() + eta * C**2 / sqrt(T) + NOISE


_x, _y = Variable("x_"), Variable("y_")
_b, _c = Variable("b_", positive=True), Variable("c_", positive=True)
_until = Index("until")


def _from_a() -> tuple[Step, ...]:
    return (
        inequality("scale", Implies(_x <= _y, _b * _x <= _b * _y)),
        inequality(
            "one-step",
            Le(
                alpha ** phase(t) / sqrt(t) * (Gamt(t) + nu(t) ** 2 * Dn(t)),
                alpha ** phase(t) / sqrt(t) * nu(t) ** 2 * Dn(t) + C**2 / sqrt(t),
            ),
            at(
                "scale",
                {
                    _b: alpha ** phase(t) / sqrt(t),
                    _x: Gamt(t),
                    _y: C**2 * alpha ** (-phase(t)),
                },
            ),
            "small",
        ),
        expectation(
            "all-steps",
            Le(
                _ALL,
                _NOISES + C**2 * Sum(1 / sqrt(t), OVER_T),
            ),
            "one-step",
            by=Linearity(over=(OVER_T,)),
        ),
        inequality(
            "roots",
            Le(Sum(1 / sqrt(t), (t, 1, _until)), 2 * sqrt(_until)),
            induction=Induction(_until),
        ),
        inequality(
            "halves",
            Le(C**2 * Sum(1 / sqrt(t), OVER_T), 2 * C**2 * sqrt(T)),
            at("roots", {_until: T}),
        ),
        inequality(
            "sums",
            Le(
                _ALL,
                Sum(alpha ** phase(t) / sqrt(t) * nu(t) ** 2 * Dn(t), OVER_T) + 2 * C**2 * sqrt(T),
            ),
            "all-steps",
            "halves",
        ),
        inequality(
            "scaled",
            Le(
                eta / (2 * T) * _ALL,
                eta / (2 * T) * (_NOISES + 2 * C**2 * sqrt(T)),
            ),
            at(
                "scale",
                {
                    _b: eta / (2 * T),
                    _x: _ALL,
                    _y: _NOISES + 2 * C**2 * sqrt(T),
                },
            ),
            "sums",
        ),
        inequality("statement", Le(BOUND_A, BOUND_CLOSED), "scaled"),
    )


FROM_A = Theorem(
    id="dp2.closed.from-A",
    title="The closed form is above Theorem A",
    statement=Le(BOUND_A, BOUND_CLOSED),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "convex theorem", Status.DERIVED),
    assumptions=(SMALL,),
    steps=_from_a(),
    explanation=(
        "Where the gradient of a step in phase k has a second moment of at most C^2 alpha^-k in "
        "the inverse metric, the gradients of all steps together add at most "
        "eta C^2/sqrt(T) to theorem A, because the sum of 1/sqrt(t) is at most 2 sqrt(T)."
    ),
    evaluations={"bound": by_phase(BOUND_CLOSED)},
    models=run_models,
)

_CAPPED_MOMENT = C**2 * alpha ** (-phase(t))
_USE = {Gamt: Lambda(t, _CAPPED_MOMENT)}

CLOSED = Theorem(
    id="dp2.closed",
    title="Theorem A in closed form",
    statement=Le(AVERAGE_GAP, BOUND_CLOSED),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "convex theorem", Status.DERIVED),
    assumptions=(*ASSUMPTIONS, *RULES, *CAPPED, SIDES, NORMS, CLIPPED),
    steps=(
        *below_preconditioner(),
        inequality(
            "divide",
            Implies(_c <= _b, _x**2 / _b <= _x**2 / _c),
        ),
        inequality(
            "share",
            Le(g(t, j) ** 2 / D(t, j), g(t, j) ** 2 / alpha ** phase(t)),
            at("divide", {_b: D(t, j), _c: alpha ** phase(t), _x: g(t, j)}),
            "below",
        ),
        expectation(
            "shares",
            Le(
                Sum(E(g(t, j) ** 2 / D(t, j)), OVER_J),
                E(Sum(g(t, j) ** 2, OVER_J)) / alpha ** phase(t),
            ),
            "share",
            by=Linearity(over=(OVER_J, E)),
        ),
        expectation(
            "norm", Le(E(Sum(g(t, j) ** 2, OVER_J)), C**2), "clipped", by=Linearity(over=(E,))
        ),
        inequality(
            "moments",
            Le(Sum(E(g(t, j) ** 2 / D(t, j)), OVER_J), _CAPPED_MOMENT),
            "shares",
            "norm",
        ),
        inequality(
            "statement",
            Le(AVERAGE_GAP, BOUND_CLOSED),
            cite("dp2.A", _USE),
            cite("dp2.closed.from-A", _USE),
        ),
    ),
    explanation=(
        "The step size of phase k carries alpha^k and the preconditioner is at least alpha^k, so "
        "that one step adds at most eta C^2/sqrt(t) of gradient, whatever its mode. What is left "
        "of theorem A is the diameter in the last metric, eta C^2/sqrt(T), and the noise. How "
        "stale the preconditioner is does not occur."
    ),
    evaluations={"bound": by_phase(BOUND_CLOSED), "by_step": BOUND_CLOSED},
    models=run_models,
    curve=delay_curve("learning_rate gradient_bound preconditioned_noise_std"),
    caveats=(
        "It is never above the form (R^2/2 + kappa') E||D_T||_1 alpha^-(K - 1)/sqrt(T) + noise "
        "with kappa' at least C^2/d, since E||D_T||_1 alpha^-(K - 1) is at least d (dp2.A.norm).",
        "The optimal delay of the paper's display comes from h(s) next to the exponential "
        "factor. Here h(s) does not occur: that optimum belongs to the display, not to what can "
        "be proved about the schedule.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (FROM_A, CLOSED)
