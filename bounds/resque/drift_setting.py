"""Two coupled runs that differ in one draw: the setting of the bounds on their drift above order 2.

Powers of a norm are not smooth at 0. The squared distance is therefore increased by a positive
number, which may be as small as one likes and random: statements are about the root of the sum.
"""

from __future__ import annotations

from typing import Any

from sympy import Eq, Implies, exp

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import Conditional, E, RandomVariable, Variable, random_process
from bounds.proof.methods import Linearity, Tower
from bounds.proof.step import Step, at, cite, expectation, inequality
from bounds.resque.estimator_weight import ALONG, WEIGHT, w_a
from bounds.resque.symbols import L_lip, a_len, eta_step, p, t_rel
from bounds.symbols import t

#: ||x_t - x'_t||.
dist = random_process("apart_norm", nonnegative=True)
#: The root of its square plus a small positive number.
size = random_process("apart_size", positive=True)
#: That positive number.
rest = RandomVariable("apart_rest", positive=True)
#: eta times the difference of the estimates: its component along x_t - x'_t.
step_along = random_process("step_along")
#: The rest of that difference.
step_across = random_process("step_across")
#: Its length, or a little more.
step_length = random_process("step_length", positive=True)
#: Mean of step_along(t) dist(t) over the noise, for given past and sample.
along_mean = random_process("along_mean")

#: Squared distance after a step, before the map that moves no two points apart.
AFTER = (dist(t) - step_along(t)) ** 2 + step_across(t) ** 2 + rest

#: What both bounds assume of the runs.
COUPLED: tuple[Assumption, ...] = (
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
        size(t + 1) ** 2 <= AFTER,
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
)

#: What both bounds say of their assumption ``difference``, and of the distance.
CITED_BOUND = (
    "`difference` is resque.E6 at the two iterates of a step, for given past; E6 itself is "
    "about two fixed points, so that it is an assumption here and not a citation."
)
#: What both bounds say of the distance.
ROUNDED_UP = (
    "The distance carries a positive number that may be as small as one likes: powers of a "
    "norm are not smooth at 0."
)

_u, _v = Variable("u_", positive=True), Variable("v_", positive=True)


def start_of(order: Any) -> Any:
    """Bound on the mean of the power ``order`` of the distance right after the runs part."""
    return (2 * eta_step * L_lip) ** order * exp(order * (order - 1) * t_rel**2 / 2)


def nearer(order: Any, e: Any) -> tuple[Step, ...]:
    """The distance after a step, to the power ``order`` = 2 + 2 ``e``, from its square."""
    return (
        inequality("powers-p", Implies(_u <= _v, _u ** (1 + e) <= _v ** (1 + e))),
        inequality(
            "nearer",
            size(t + 1) ** order <= AFTER ** (1 + e),
            "contraction",
            at("powers-p", {_u: size(t + 1) ** 2, _v: AFTER}),
        ),
    )


def first_order(weight: Any) -> tuple[Step, ...]:
    """The first-order term ``weight`` step_along(t) dist(t) has a mean of at least 0."""
    inner = weight * step_along(t) * dist(t)
    return (
        expectation("inner", Eq(E(inner), E(weight * along_mean(t))), "inner-mean", by=Tower()),
        inequality("inner-sign", weight * along_mean(t) >= 0, "monotone"),
        expectation(
            "inner-positive",
            E(weight * along_mean(t)) >= 0,
            "inner-sign",
            by=Linearity(over=(E,)),
        ),
    )


def parted(order: Any) -> tuple[Step, ...]:
    """The distance right after the runs part, to the power ``order``."""
    return (
        inequality("powers-order", Implies(_u <= _v, _u**order <= _v**order)),
        inequality(
            "parted",
            size(1) ** order <= (2 * eta_step * L_lip) ** order * w_a**order,
            "parting",
            at("powers-order", {_u: size(1), _v: 2 * eta_step * L_lip * w_a}),
        ),
        expectation(
            "parted-mean",
            E(size(1) ** order) <= (2 * eta_step * L_lip) ** order * E(w_a**order),
            "parted",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "in-ball",
            order * (order - 1) * a_len**2 / 2 <= order * (order - 1) * t_rel**2 / 2,
            "ball",
        ),
        inequality(
            "start",
            E(size(1) ** order) <= start_of(order),
            "parted-mean",
            cite("resque.E2", {p: order}),
            "in-ball",
        ),
    )
