"""Drift of two coupled runs at every order above 2."""

from __future__ import annotations

from sympy import Eq, exp

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import Conditional, E, random_process
from bounds.proof.methods import Linearity, Tower
from bounds.proof.step import Induction, at, expectation, inequality
from bounds.resque import drift_models
from bounds.resque.drift_setting import (
    AFTER,
    CITED_BOUND,
    COUPLED,
    ROUNDED_UP,
    dist,
    first_order,
    nearer,
    parted,
    rest,
    size,
    start_of,
    step_across,
    step_along,
    step_length,
)
from bounds.resque.drift_steps import (
    MEANS,
    ONE_STEP,
    ORDER,
    PAIRS,
    SCALE,
    X_,
    Y_,
    a_,
    b_,
    d_,
    e,
    l_,
    n_,
    x_,
    y_,
)
from bounds.resque.estimator_kappa import KAPPA
from bounds.resque.symbols import L_lip, eta_step, h_step, p_norm, rho_s, t_rel
from bounds.symbols import T, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

#: Mean of step_length(t)^p for given past.
length_mean = random_process("length_mean", nonnegative=True)

_GROWTH = 1 + PAIRS * SCALE
_STATEMENT = E(size(T + 1) ** ORDER) <= start_of(ORDER) * _GROWTH**T
_INNER = size(t) ** (2 * e) * step_along(t) * dist(t)
_HERE = {
    x_: dist(t),
    a_: step_along(t),
    b_: step_across(t),
    d_: rest,
    X_: size(t),
    Y_: step_length(t),
}
_POWER = size(t) ** ORDER
_SCALED = (step_length(t) / h_step) ** ORDER
_REMAINDER = step_length(t) ** 2 * (size(t) + step_length(t)) ** (2 * e)
_MEAN_REST = SCALE * e / (1 + e) * (_POWER + h_step * _SCALED) / (1 + h_step) + SCALE * _SCALED / (
    1 + e
)

_h = eta_step * L_lip * KAPPA / rho_s
_pairs = p_norm * (p_norm - 1) / 2 * _h**2 * (1 + _h) ** (p_norm - 2)
_start = 2 * eta_step * L_lip * exp((p_norm - 1) * t_rel**2 / 2)

DRIFT = Theorem(
    id="resque.drift.orders",
    title="Two coupled runs that differ in one draw, at every order above 2",
    statement=_STATEMENT,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "Lemma 5", Status.DERIVED, "our own statement and constants"),
    assumptions=(
        *COUPLED,
        Assumption(
            "length-mean",
            Conditional(step_length(t) ** ORDER, length_mean(t), size(t), length_mean(t)),
            "length_mean is the mean of the p-th power for given past",
            CODE,
        ),
        Assumption(
            "difference",
            length_mean(t) <= h_step**ORDER * size(t) ** ORDER,
            "resque.E6 for given past, with h = eta L kappa_p(r/rho)/rho: both iterates lie in "
            "the ball",
            CALLER,
        ),
    ),
    steps=(
        *ONE_STEP,
        *MEANS,
        *nearer(ORDER, e),
        inequality(
            "expanded",
            AFTER ** (1 + e) <= _POWER - ORDER * _INNER + PAIRS * _REMAINDER,
            at("one-step", _HERE),
            "rounded-up",
            "length",
        ),
        inequality(
            "averages",
            PAIRS * _REMAINDER <= PAIRS * _MEAN_REST,
            at("remainder-mean", {X_: size(t), Y_: step_length(t)}),
            at("scaled", {l_: _REMAINDER, y_: _MEAN_REST, n_: PAIRS}),
        ),
        inequality(
            "pathwise",
            size(t + 1) ** ORDER <= _POWER - ORDER * _INNER + PAIRS * _MEAN_REST,
            "nearer",
            "expanded",
            "averages",
        ),
        expectation(
            "mean-step",
            E(size(t + 1) ** ORDER) <= E(_POWER) - ORDER * E(_INNER) + PAIRS * E(_MEAN_REST),
            "pathwise",
            by=Linearity(over=(E,)),
        ),
        *first_order(size(t) ** (2 * e)),
        expectation(
            "length-tower",
            Eq(E(step_length(t) ** ORDER), E(length_mean(t))),
            "length-mean",
            by=Tower(),
        ),
        expectation(
            "length-small",
            E(length_mean(t)) <= h_step**ORDER * E(_POWER),
            "difference",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "scaled-small",
            E(_SCALED) <= E(_POWER),
            "length-tower",
            at(
                "scaled",
                {
                    l_: E(step_length(t) ** ORDER),
                    y_: h_step**ORDER * E(_POWER),
                    n_: h_step ** (-ORDER),
                },
            ),
            "length-small",
        ),
        inequality(
            "rest-mean",
            PAIRS * E(_MEAN_REST)
            <= PAIRS * SCALE * e / (1 + e) * (E(_POWER) + h_step * E(_POWER)) / (1 + h_step)
            + PAIRS * SCALE / (1 + e) * E(_POWER),
            "scaled-small",
            at(
                "scaled",
                {
                    l_: E(_SCALED),
                    y_: E(_POWER),
                    n_: PAIRS * SCALE * e * h_step / (1 + e) / (1 + h_step),
                },
            ),
            at("scaled", {l_: E(_SCALED), y_: E(_POWER), n_: PAIRS * SCALE / (1 + e)}),
        ),
        inequality(
            "step",
            E(size(t + 1) ** ORDER) <= _GROWTH * E(_POWER),
            "mean-step",
            "inner",
            "inner-positive",
            "rest-mean",
        ),
        inequality(
            "all",
            E(size(t + 1) ** ORDER) <= E(size(1) ** ORDER) * _GROWTH**t,
            "step",
            induction=Induction(t),
        ),
        *parted(ORDER),
        inequality("drift", _STATEMENT, at("all", {t: T}), "start"),
    ),
    models=drift_models.drift_orders,
    explanation=(
        "The p-norm of the distance of two coupled runs grows, in the p-th power, by the factor "
        "1 + (p (p - 1)/2) h^2 (1 + h)^(p - 2) a step, h = eta L kappa_p(r/rho)/rho. As at order "
        "2 the first-order term of Taylor's formula helps, and the second-order term is bounded "
        "by resque.E6, with Young's and Minkowski's inequality. With eta <= r/(L sqrt(T)) the "
        "factor stays bounded for every T as soon as r is at most rho over a multiple of p. The "
        "order is p = 2 + 2 e, any real number above 2."
    ),
    evaluations={
        "bound": _start * (1 + _pairs) ** (T / p_norm),
        "factor": _start * (1 + _pairs) ** (T / p_norm) / (2 * eta_step * L_lip),
        "simple factor": _start * exp(T / p_norm * _pairs) / (2 * eta_step * L_lip),
        "growth": exp(T / p_norm * _pairs),
    },
    curve=Curve(
        along="norm_order",
        values=tuple(2 + step / 2 for step in range(1, 21)),
        fixed={
            "steps": 200,
            "lipschitz": 1,
            "smoothing_std": 1,
            "relative_radius": 0.1,
            "ball_learning_rate": 0.1 / 200**0.5,
        },
        names=("factor", "growth"),
    ),
    caveats=(
        CITED_BOUND,
        "The evaluations are p-th roots, in terms of the order p and of h = eta L kappa_p/rho.",
        "For p above about rho/r the bound is loose, and beyond r/rho = 1/3 it is useless at high "
        "orders: runs on convex losses drift far less.",
        ROUNDED_UP,
    ),
)

THEOREMS: tuple[Theorem, ...] = (DRIFT,)
