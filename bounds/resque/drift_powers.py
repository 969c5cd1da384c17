"""Drift of two coupled runs at whole orders above 2, with every power of a step on its own.

At high orders the bound of resque.drift.orders is far from what runs do: it takes the largest of
the moments of a step for all of them. Here each power q of the step has its own moment, h_q^q.
"""

from __future__ import annotations

from sympy import Eq, Sum, binomial, exp

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import Conditional, E, deterministic, random_process
from bounds.proof.methods import Linearity, Tower
from bounds.proof.step import Induction, at, expectation, inequality
from bounds.resque import drift_models
from bounds.resque.drift_binomial import higher_powers, j
from bounds.resque.drift_setting import (
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
from bounds.resque.drift_whole_steps import (
    ONE_STEP,
    ORDER,
    X_,
    Y_,
    a_,
    b_,
    d_,
    e,
    l_,
    w_,
    x_,
    y_,
)
from bounds.resque.estimator_kappa import KAPPA
from bounds.resque.symbols import L_lip, eta_step, n_ord, p_norm, rho_s, t_rel
from bounds.symbols import T, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

#: Mean of step_length(t)^(j + 1) for given past, power_mean(t, j).
power_mean = random_process("power_mean", nonnegative=True)
#: h_order(q) is h_q: the q-th moment of a step is at most h_q^q times that power of the distance.
h = deterministic("h_order", positive=True)

_COUNT = binomial(n_ord + 2, j + 1)
_RANGE = (j, 1, n_ord + 1)
_MOMENT = h(j + 1) ** (j + 1)
_GROWTH = 1 + Sum(_COUNT * _MOMENT, _RANGE)
_STATEMENT = E(size(T + 1) ** ORDER) <= start_of(ORDER) * _GROWTH**T
_INNER = size(t) ** n_ord * step_along(t) * dist(t)
_HERE = {
    x_: dist(t),
    a_: step_along(t),
    b_: step_across(t),
    d_: rest,
    X_: size(t),
    Y_: step_length(t),
}
_POWER = size(t) ** ORDER
_PIECE = size(t) ** (n_ord + 1 - j) * step_length(t) ** (j + 1)
_PIECE_MEAN = size(t) ** (n_ord + 1 - j) * power_mean(t, j)
_REST = higher_powers(n_ord + 1, size(t), step_length(t))

_q = j + 1
_h = eta_step * L_lip * KAPPA.xreplace({p_norm: _q}) / rho_s
_growth = 1 + Sum(_COUNT * _h**_q, _RANGE)
_factor = exp((ORDER - 1) * t_rel**2 / 2) * _growth ** (T / ORDER)

DRIFT = Theorem(
    id="resque.drift.powers",
    title="Two coupled runs that differ in one draw, at whole orders above 2",
    statement=_STATEMENT,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "Lemma 5", Status.DERIVED, "our own statement and constants"),
    assumptions=(
        *COUPLED,
        Assumption(
            "power-mean",
            Conditional(step_length(t) ** (j + 1), power_mean(t, j), size(t), power_mean(t, j)),
            "power_mean(t, j) is the mean of step_length(t)^(j + 1) for given past",
            CODE,
        ),
        Assumption(
            "difference",
            power_mean(t, j) <= _MOMENT * size(t) ** (j + 1),
            "resque.E6 for given past, at every whole order q = j + 1 with "
            "h_q = eta L kappa_q(r/rho)/rho: both iterates lie in the ball",
            CALLER,
        ),
    ),
    steps=(
        *ONE_STEP,
        *nearer(ORDER, e),
        inequality(
            "pathwise",
            size(t + 1) ** ORDER <= _POWER - ORDER * _INNER + _REST,
            "nearer",
            at("one-step", _HERE),
            "rounded-up",
            "length",
            at("whole", {X_: size(t), Y_: step_length(t)}),
        ),
        expectation(
            "mean-step",
            E(size(t + 1) ** ORDER) <= E(_POWER) - ORDER * E(_INNER) + E(_REST),
            "pathwise",
            by=Linearity(over=(E,)),
        ),
        *first_order(size(t) ** n_ord),
        expectation("piece", Eq(E(_PIECE), E(_PIECE_MEAN)), "power-mean", by=Tower()),
        inequality(
            "small",
            _PIECE_MEAN <= _MOMENT * _POWER,
            "difference",
            at(
                "scaled",
                {
                    l_: power_mean(t, j),
                    y_: _MOMENT * size(t) ** (j + 1),
                    w_: size(t) ** (n_ord + 1 - j),
                },
            ),
        ),
        expectation(
            "small-mean",
            E(_PIECE_MEAN) <= _MOMENT * E(_POWER),
            "small",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "term",
            _COUNT * E(_PIECE) <= _COUNT * _MOMENT * E(_POWER),
            "piece",
            "small-mean",
            at("scaled", {l_: E(_PIECE), y_: _MOMENT * E(_POWER), w_: _COUNT}),
        ),
        expectation(
            "terms",
            Sum(_COUNT * E(_PIECE), _RANGE) <= Sum(_COUNT * _MOMENT * E(_POWER), _RANGE),
            "term",
            by=Linearity(over=(_RANGE,)),
        ),
        inequality(
            "step",
            E(size(t + 1) ** ORDER) <= _GROWTH * E(_POWER),
            "mean-step",
            "inner",
            "inner-positive",
            "terms",
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
    models=drift_models.drift_powers,
    explanation=(
        "The p-norm of the distance of two coupled runs grows, in the p-th power, by the factor "
        "1 + sum over q = 2, ..., p of C(p, q) h_q^q a step, h_q = eta L kappa_q(r/rho)/rho: what "
        "(1 + h)^p would be without its first two terms. The first-order term of Taylor's formula "
        "helps, as gradients of convex losses are monotone, and the remainder is that of the same "
        "formula for numbers, ||x - x'|| and the length of the step. At order 2 this would be "
        "resque.drift. At high orders it is far below resque.drift.orders, as the moments h_q of "
        "low powers, which count most, are small: log E||.||^p grows as p^2 (r/rho)^2, not as "
        "p^3. The order is p = n + 2, a whole number above 2."
    ),
    evaluations={
        "bound": 2 * eta_step * L_lip * _factor,
        "factor": _factor,
        "growth": _growth ** (T / ORDER),
    },
    curve=Curve(
        along="order_excess",
        values=tuple(range(1, 15)),
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
        "The evaluations are p-th roots, in terms of h_q = eta L kappa_q/rho.",
        ROUNDED_UP,
    ),
)

THEOREMS: tuple[Theorem, ...] = (DRIFT,)
