"""Drift of two coupled runs that differ in one draw."""

from __future__ import annotations

import sympy
from sympy import Eq, exp, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import Conditional, E, random_process
from bounds.proof.methods import Linearity, Tower
from bounds.proof.step import Induction, at, cite, expectation, inequality
from bounds.resque import smoothing_models
from bounds.resque.estimator_weight import ALONG, WEIGHT, w_a
from bounds.resque.symbols import L_lip, a_len, eta_step, p, rho_s, t_rel
from bounds.symbols import T, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

#: ||x_t - x'_t||^2, <x_t - x'_t, e_t - e'_t> and ||e_t - e'_t||^2, t steps after the runs part.
apart = random_process("apart", nonnegative=True)
inner = random_process("inner")
jump = random_process("jump", nonnegative=True)
inner_mean = random_process("inner_mean")
jump_mean = random_process("jump_mean", nonnegative=True)

#: h = eta L kappa_2(r/rho)/rho, squared.
_GROWTH = (eta_step * L_lip / rho_s) ** 2 * exp(t_rel**2) * (1 + t_rel**2)
_START = 4 * eta_step**2 * L_lip**2 * exp(t_rel**2)
_STATEMENT = E(apart(T + 1)) <= _START * (1 + _GROWTH) ** T

DRIFT = Theorem(
    id="resque.drift",
    title="Two coupled runs that differ in one draw stay together",
    statement=_STATEMENT,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "Lemma 5", Status.DERIVED, "our own statement and constants"),
    assumptions=(
        WEIGHT,
        ALONG,
        Assumption("ball", a_len <= t_rel, "the iterate lies in the ball of radius r", CODE),
        Assumption(
            "parting",
            apart(1) <= (2 * eta_step * L_lip * w_a) ** 2,
            "the runs part with one step on different samples at the same point, with the same "
            "noise: two subgradients of length at most L, times the weight",
            CALLER,
        ),
        Assumption(
            "contraction",
            apart(t + 1) <= apart(t) - 2 * eta_step * inner(t) + eta_step**2 * jump(t),
            "every later step subtracts eta times the estimates at x_t and x'_t, with the same "
            "sample and noise, and then applies a map that moves no two points apart (projection "
            "on the ball, prox of the regulariser)",
            CODE,
        ),
        Assumption(
            "inner-mean",
            Conditional(inner(t), inner_mean(t), apart(t), inner_mean(t)),
            "inner_mean is the mean over the noise for given past and sample: the estimates' "
            "means are gradients of the smoothed sample loss (resque.E1)",
            CODE,
        ),
        Assumption(
            "monotone",
            inner_mean(t) >= 0,
            "every sample loss is convex, so the gradient of its smoothing is monotone",
            CALLER,
        ),
        Assumption(
            "jump-mean",
            Conditional(jump(t), jump_mean(t), apart(t), jump_mean(t)),
            "jump_mean is the mean of ||e_t - e'_t||^2 for given past",
            CODE,
        ),
        Assumption(
            "difference",
            eta_step**2 * jump_mean(t) <= _GROWTH * apart(t),
            "resque.E6 with p = 2, for given past: both iterates lie in the ball",
            CALLER,
        ),
    ),
    steps=(
        expectation("inner", Eq(E(inner(t)), E(inner_mean(t))), "inner-mean", by=Tower()),
        expectation("jump", Eq(E(jump(t)), E(jump_mean(t))), "jump-mean", by=Tower()),
        expectation("inner-positive", E(inner_mean(t)) >= 0, "monotone", by=Linearity(over=(E,))),
        expectation(
            "jump-small",
            eta_step**2 * E(jump_mean(t)) <= _GROWTH * E(apart(t)),
            "difference",
            by=Linearity(over=(E,)),
        ),
        expectation(
            "mean-step",
            E(apart(t + 1)) <= E(apart(t)) - 2 * eta_step * E(inner(t)) + eta_step**2 * E(jump(t)),
            "contraction",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "step",
            E(apart(t + 1)) <= (1 + _GROWTH) * E(apart(t)),
            "mean-step",
            "inner",
            "jump",
            "inner-positive",
            "jump-small",
        ),
        expectation(
            "parted",
            E(apart(1)) <= 4 * eta_step**2 * L_lip**2 * E(w_a**2),
            "parting",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "start",
            E(apart(1)) <= _START,
            "parted",
            cite("resque.E2", {p: sympy.Integer(2)}),
            "ball",
        ),
        inequality(
            "all",
            E(apart(t + 1)) <= E(apart(1)) * (1 + _GROWTH) ** t,
            "step",
            induction=Induction(t),
        ),
        inequality("drift", _STATEMENT, at("all", {t: T}), "start"),
    ),
    models=smoothing_models.drift,
    explanation=(
        "Two runs share all samples and all noise but one sample. The step in which they part "
        "moves them 2 eta L w apart. After it the mean squared distance grows by the factor "
        "1 + h^2 a step, h = eta L kappa_2(r/rho)/rho: the first-order term has mean >= 0, as "
        "gradients of convex losses are monotone, and the second-order term is resque.E6. With "
        "eta <= r/(L sqrt(T)) the total factor is bounded for every T."
    ),
    evaluations={
        "bound": sqrt(_START * (1 + _GROWTH) ** T),
        "factor": (1 + _GROWTH) ** (T / 2),
    },
    curve=Curve(
        along="relative_radius",
        values=tuple(step / 100 for step in range(1, 101)),
        fixed={
            "steps": 200,
            "lipschitz": 1,
            "smoothing_std": 1,
            "ball_learning_rate": sympy.Rational(1, 100),
        },
        names=("factor",),
    ),
    caveats=(
        "`difference` is resque.E6 at the two iterates of a step, for given past; E6 itself is "
        "about two fixed points, so that it is an assumption here and not a citation.",
        "Only the mean over the noise of the first-order term is >= 0: the term itself takes both "
        "signs, so that no path-by-path version holds.",
        "The noise must be shared: with independent noise the distance grows as sqrt(T).",
        "The root of the bound is the evaluation `bound`.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (DRIFT,)
