"""Drift of two coupled runs at whole orders above 2, with every power of a step on its own.

At high orders the bound of resque.drift.orders is far from what runs do: it takes the largest of
the moments of a step for all of them. Here each power q of the step has its own moment, h_q^q.
"""

from __future__ import annotations

from sympy import Eq, Implies, Sum, binomial, exp

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import Conditional, E, deterministic, random_process
from bounds.proof.methods import Linearity, Tower
from bounds.proof.step import Induction, at, cite, expectation, inequality
from bounds.resque import drift_models
from bounds.resque.drift_binomial import higher_powers, j
from bounds.resque.drift_orders import (
    along_mean,
    dist,
    rest,
    size,
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
    u_,
    v_,
    w_,
    x_,
    y_,
)
from bounds.resque.estimator_kappa import KAPPA
from bounds.resque.estimator_weight import ALONG, WEIGHT, w_a
from bounds.resque.symbols import L_lip, a_len, eta_step, n_ord, p, p_norm, rho_s, t_rel
from bounds.symbols import T, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

#: power_mean(t, j) is the mean of step_length(t)^(j + 1) for given past; h_order(q) is h_q.
power_mean = random_process("power_mean", nonnegative=True)
h = deterministic("h_order", positive=True)

_COUNT = binomial(n_ord + 2, j + 1)
_RANGE = (j, 1, n_ord + 1)
_MOMENT = h(j + 1) ** (j + 1)
_GROWTH = 1 + Sum(_COUNT * _MOMENT, _RANGE)
_START = (2 * eta_step * L_lip) ** ORDER * exp(ORDER * (ORDER - 1) * t_rel**2 / 2)
_STATEMENT = E(size(T + 1) ** ORDER) <= _START * _GROWTH**T
_AFTER = (dist(t) - step_along(t)) ** 2 + step_across(t) ** 2 + rest
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
        WEIGHT,
        ALONG,
        Assumption("ball", a_len <= t_rel, "the iterate lies in the ball of radius r", CODE),
        Assumption(
            "rounded-up",
            Eq(size(t) ** 2, dist(t) ** 2 + rest),
            "size(t)^2 is ||x_t - x'_t||^2 plus a positive number, as small as one likes",
            CODE,
        ),
        Assumption(
            "parting",
            size(1) <= 2 * eta_step * L_lip * w_a,
            "the runs part with one step on different samples at the same point, with the same "
            "noise: two subgradients shorter than L, times the weight",
            CALLER,
        ),
        Assumption(
            "contraction",
            size(t + 1) ** 2 <= _AFTER,
            "every later step subtracts eta times the estimates at x_t and x'_t, with the same "
            "sample and noise, and then applies a map that moves no two points apart (projection "
            "on the ball, prox of the regulariser)",
            CODE,
        ),
        Assumption(
            "length",
            step_along(t) ** 2 + step_across(t) ** 2 <= step_length(t) ** 2,
            "step_length(t) is eta ||e_t - e'_t|| or a little more, so that it is positive",
            CODE,
        ),
        Assumption(
            "inner-mean",
            Conditional(step_along(t) * dist(t), along_mean(t), size(t), along_mean(t)),
            "along_mean is the mean over the noise for given past and sample of "
            "<x_t - x'_t, eta (e_t - e'_t)>: the estimates' means are gradients (resque.E1)",
            CODE,
        ),
        Assumption(
            "monotone",
            along_mean(t) >= 0,
            "every sample loss is convex, so the gradient of its smoothing is monotone",
            CALLER,
        ),
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
        inequality("powers-p", Implies(u_ <= v_, u_ ** (1 + e) <= v_ ** (1 + e))),
        inequality(
            "nearer",
            size(t + 1) ** ORDER <= _AFTER ** (1 + e),
            "contraction",
            at("powers-p", {u_: size(t + 1) ** 2, v_: _AFTER}),
        ),
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
        expectation(
            "inner",
            Eq(E(_INNER), E(size(t) ** n_ord * along_mean(t))),
            "inner-mean",
            by=Tower(),
        ),
        inequality("inner-sign", size(t) ** n_ord * along_mean(t) >= 0, "monotone"),
        expectation(
            "inner-positive",
            E(size(t) ** n_ord * along_mean(t)) >= 0,
            "inner-sign",
            by=Linearity(over=(E,)),
        ),
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
        inequality("powers-order", Implies(u_ <= v_, u_**ORDER <= v_**ORDER)),
        inequality(
            "parted",
            size(1) ** ORDER <= (2 * eta_step * L_lip) ** ORDER * w_a**ORDER,
            "parting",
            at("powers-order", {u_: size(1), v_: 2 * eta_step * L_lip * w_a}),
        ),
        expectation(
            "parted-mean",
            E(size(1) ** ORDER) <= (2 * eta_step * L_lip) ** ORDER * E(w_a**ORDER),
            "parted",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "in-ball",
            ORDER * (ORDER - 1) * a_len**2 / 2 <= ORDER * (ORDER - 1) * t_rel**2 / 2,
            "ball",
        ),
        inequality(
            "start",
            E(size(1) ** ORDER) <= _START,
            "parted-mean",
            cite("resque.E2", {p: ORDER}),
            "in-ball",
        ),
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
        "`difference` is resque.E6 at the two iterates of a step, for given past; E6 itself is "
        "about two fixed points, so that it is an assumption here and not a citation.",
        "The evaluations are p-th roots, in terms of h_q = eta L kappa_q/rho.",
        "The distance carries a positive number that may be as small as one likes: powers of a "
        "norm are not smooth at 0.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (DRIFT,)
