"""How many steps ball acceleration takes, with its constant: with a low and with a high floor."""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Implies, Le, Or, Rational, S, Sum, log, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import Max, Variable
from bounds.proof.step import Induction, Step, at, cite, identity, inequality
from bounds.resque.ball import HALF, STEP, J
from bounds.resque.ball_log import p_, q_
from bounds.resque.ball_models import count_models, floor_models, sum_models
from bounds.resque.symbols import (
    A,
    A_old,
    L_lip,
    R_dom,
    a_ball,
    c_acc,
    dist,
    eps_opt,
    gap_ball,
    lam,
    move,
    r,
    v_ball,
    x,
    x_opt,
    y,
)
from bounds.symbols import T, j, k, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

__all__ = ["LOG_TERM", "THEOREMS", "accepted", "count", "count_with_floor"]

THIRD = Rational(1, 3)

#: log of (largest weight while running)/(weight of the first step), 0 where that is below 1.
LOG_TERM = Max(log(L_lip * R_dom**2 / (2 * eps_opt * r)), 0)
#: R/r to the power 2/3: the natural number of steps.
NATURAL = (R_dom / r) ** (2 * THIRD)

count = 2 + (R_dom / (c_acc * r) * LOG_TERM) ** (2 * THIRD)
count_with_floor = count + NATURAL * LOG_TERM / sqrt(2)

FIRST = Assumption("first", Eq(A_old(1), 0), "no weight before the first step", CODE)
CARRY = Assumption("carry", Eq(A_old(t + 1), A(t)), "weights are carried on", CODE)
MOVE = Assumption(
    "move", Eq(move(t), Sum((x(t + 1, j) - y(t, j)) ** 2, J)), "the squared move of a step", CODE
)
DIST = Assumption(
    "dist",
    Eq(dist(t), Sum((v_ball(t, j) - x_opt(j)) ** 2, J)),
    "the squared distance of the second iterate to a minimiser",
    CODE,
)
START = Assumption(
    "start",
    dist(1) <= R_dom**2,
    "the start is within R of a minimiser",
    CALLER,
)
LARGEST = Assumption(
    "largest",
    lam(t) <= L_lip / r,
    "multipliers are searched up to L/r, where a step moves by r at most as f is L-Lipschitz",
    CODE,
)
RUNNING = Assumption(
    "running",
    gap_ball(T + 2) > eps_opt,
    "after T + 1 accepted steps the suboptimality is still above the accuracy asked for",
    CODE,
)


def accepted(floor: Any) -> Assumption:
    """A step is accepted when it moves by c r at least, or at the floor of the multipliers."""
    return Assumption(
        "accepted",
        Or(move(t) >= (c_acc * r) ** 2, lam(t) <= floor),
        "a step is accepted when c r <= |x_next - y|, or at the smallest multiplier",
        CODE,
    )


_all = (
    A(k) * gap_ball(k + 1) + HALF * dist(k + 1) + HALF * Sum(lam(t) * A(t) * move(t), (t, 1, k))
    <= R_dom**2 / 2
)

SUM = Theorem(
    id="resque.ball.sum",
    title="Potential of ball acceleration, all steps",
    statement=_all,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "ball acceleration (potential of MS13)", Status.DERIVED),
    assumptions=(*STEP, FIRST, CARRY, MOVE, DIST, START),
    steps=(
        inequality(
            "one",
            A(t) * gap_ball(t + 1) + HALF * dist(t + 1)
            <= A_old(t) * gap_ball(t) + HALF * dist(t) - HALF * lam(t) * A(t) * move(t),
            cite("resque.ball.potential"),
            "move",
            "dist",
            at("dist", {t: t + 1}),
        ),
        inequality(
            "all",
            _all,
            at("one", {t: k}),
            at("carry", {t: k}),
            at("one", {t: k + 1}),
            "first",
            "start",
            induction=Induction(k),
        ),
    ),
    models=sum_models,
    explanation=(
        "The potential inequality of all steps added up: the suboptimality after k steps is at"
        " most R^2/(2 A_k), and the weighted squared moves add up to at most R^2."
    ),
    evaluations={"bound": R_dom**2 / 2},
)

_mu = Variable("mu_", positive=True)
_root = Variable("root_", positive=True)

_radius2 = (c_acc * r) ** 2
_weight_limit = R_dom**2 / (2 * eps_opt)
#: Relative step sizes after the first step, added up.
_relative = Sum(a_ball(t + 1) / A(t + 1), (t, 1, T))


def _share(at_step: Any, extra: Any) -> Any:
    """What pays for a step: its squared move, or its relative step size."""
    return lam(at_step) * A(at_step) * move(at_step) / (3 * _mu**2 * _radius2) + (
        2 * _mu / 3 + extra
    ) * a_ball(at_step) / A(at_step)


def _proof(extra: Any, floor: tuple[Step, ...], statement: Any) -> tuple[Step, ...]:
    """The count, where a step at the floor has a relative step size of 1/extra at least."""
    best = ((R_dom / (c_acc * r)) ** 2 / _relative) ** THIRD
    return (
        inequality(
            "moving",
            Implies(move(t) >= _radius2, _share(t, 0) >= 1),
            "size",
            note="lam A = (A/a)^2; the mean of X^2, 1/X, 1/X is at least 1, X = A/(a mu)",
        ),
        *floor,
        inequality(
            "paid",
            Implies(A(t) < _weight_limit, _share(t, extra) >= 1),
            "accepted",
            "moving",
            "at-floor",
        ),
        inequality("growth", Eq(A(t + 1), A(t) + a_ball(t + 1)), at("weight", {t: t + 1}), "carry"),
        inequality(
            "counted",
            Implies(A(k + 1) < _weight_limit, Sum(_share(t + 1, extra), (t, 1, k)) >= k),
            at("paid", {t: k + 1}),
            at("growth", {t: k}),
            induction=Induction(k),
            note="weights only grow: all of them are below the last one",
        ),
        identity(
            "first-apart",
            Eq(
                Sum(lam(t) * A(t) * move(t), (t, 1, k + 1)),
                lam(1) * A(1) * move(1) + Sum(lam(t + 1) * A(t + 1) * move(t + 1), (t, 1, k)),
            ),
            induction=Induction(k),
        ),
        inequality(
            "moves",
            Sum(lam(t + 1) * A(t + 1) * move(t + 1), (t, 1, T)) <= R_dom**2,
            cite("resque.ball.sum", {k: T + 1}),
            at("first-apart", {k: T}),
        ),
        inequality(
            "last-weight",
            A(T + 1) < _weight_limit,
            cite("resque.ball.sum", {k: T + 1}),
            "running",
            note="A (f(x) - f*) <= R^2/2, and f(x) - f* > eps",
        ),
        inequality(
            "steps",
            Le(T, R_dom**2 / (3 * _mu**2 * _radius2) + (2 * _mu / 3 + extra) * _relative),
            at("counted", {k: T}),
            "last-weight",
            "moves",
        ),
        inequality(
            "log-growth",
            a_ball(t + 1) / A(t + 1) <= log(A(t + 1)) - log(A(t)),
            cite("resque.ball.log", {p_: A(t), q_: A(t + 1)}),
            "growth",
        ),
        inequality(
            "logs",
            Sum(a_ball(t + 1) / A(t + 1), (t, 1, k)) <= log(A(k + 1)) - log(A(1)),
            "log-growth",
            at("log-growth", {t: k}),
            induction=Induction(k),
        ),
        inequality(
            "first-weight",
            A(1) >= r / L_lip,
            at("weight", {t: 1}),
            at("size", {t: 1}),
            at("largest", {t: 1}),
            "first",
            note="A_1 = a_1 = 1/lam_1",
        ),
        inequality(
            "range",
            _relative <= LOG_TERM,
            at("logs", {k: T}),
            cite("resque.ball.log", {p_: A(T + 1), q_: _weight_limit}),
            "last-weight",
            cite("resque.ball.log", {p_: r / L_lip, q_: A(1)}),
            "first-weight",
        ),
        inequality(
            "best",
            Le(T, (R_dom / (c_acc * r) * _relative) ** (2 * THIRD) + extra * _relative),
            at("steps", {_mu: best}),
            note="the two terms balance at mu^3 = (R/(c r))^2 / sum of relative steps",
        ),
        inequality(
            "count",
            statement,
            "best",
            "range",
        ),
    )


LOWEST = accepted(2 * eps_opt / R_dom**2)
_count = Le(T + 2, count)

COUNT = Theorem(
    id="resque.ball.count",
    title="Steps of ball acceleration, with the constant",
    statement=_count,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "ball acceleration, number of steps", Status.DERIVED),
    assumptions=(*STEP, FIRST, CARRY, MOVE, DIST, START, LARGEST, LOWEST, RUNNING),
    steps=_proof(
        S.Zero,
        (
            inequality(
                "at-floor",
                Implies(lam(t) <= 2 * eps_opt / R_dom**2, A(t) >= _weight_limit),
                "size",
                "weight",
                note="lam a^2 = A >= a, so A >= a >= 1/lam: the run is over",
            ),
        ),
        _count,
    ),
    models=count_models,
    explanation=(
        "T + 2 is the number of a step that the run still takes, because after T + 1 accepted steps"
        " the accuracy is not reached. Every step either moves by c r, and the squared moves have a"
        " budget, or is taken at the smallest multiplier and finishes the run. The bound grows as"
        " (R/r)^(2/3), where repeated calls of the oracle alone would need R/r."
    ),
    evaluations={"bound": count},
    curve=Curve(
        along="ball_radius",
        values=tuple(2.0**-p for p in range(2, 10)),
        fixed={"lipschitz": 1.0, "radius": 1.0, "accuracy": 0.01, "acceptance": 0.5},
        log_x=True,
        log_y=True,
    ),
    caveats=(
        "Accepted steps: the proximal points that a bisection tries on the way are not in it.",
        "Proximal points are exact. Where L R^2 <= 2 eps r the logarithm is taken as 0.",
        "A matching lower bound (R/r)^(2/3) is known (CJJ+20); it is not proved here.",
    ),
)

_floor = eps_opt * NATURAL**2 / R_dom**2
_count_with_floor = Le(T + 2, count_with_floor)

FLOOR = Theorem(
    id="resque.ball.floor",
    title="Steps of ball acceleration with a high floor of the multipliers",
    statement=_count_with_floor,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "ball acceleration, number of steps", Status.DERIVED),
    assumptions=(*STEP, FIRST, CARRY, MOVE, DIST, START, LARGEST, accepted(_floor), RUNNING),
    steps=_proof(
        NATURAL / sqrt(2),
        (
            inequality(
                "floor-root",
                Implies(
                    And(lam(t) <= eps_opt * _root**2 / R_dom**2, A(t) < _weight_limit),
                    _root / sqrt(2) * a_ball(t) / A(t) >= 1,
                ),
                "size",
                note="(A/a)^2 = lam A is at most K^2/2",
            ),
            inequality(
                "at-floor",
                Implies(
                    And(lam(t) <= _floor, A(t) < _weight_limit),
                    NATURAL / sqrt(2) * a_ball(t) / A(t) >= 1,
                ),
                at("floor-root", {_root: NATURAL}),
            ),
        ),
        _count_with_floor,
    ),
    models=floor_models,
    explanation=(
        "With the multipliers kept above eps K^2/R^2, K = (R/r)^(2/3), the subproblems are easier"
        " (more strongly convex) and the number of steps still is of order K: a step at the floor"
        " raises the weight by a factor of at least 1 + sqrt(2)/K."
    ),
    evaluations={
        "bound": count_with_floor,
        "lowest_floor": count,
        "floor": _floor,
    },
    curve=Curve(
        along="ball_radius",
        values=tuple(2.0**-p for p in range(2, 10)),
        fixed={"lipschitz": 1.0, "radius": 1.0, "accuracy": 0.01, "acceptance": 0.5},
        names=("bound", "lowest_floor"),
        log_x=True,
        log_y=True,
    ),
    caveats=(
        "Accepted steps with exact proximal points, as in resque.ball.count.",
        "The published floor has further logarithms (ACJ+21); the one here is what the proof uses.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (SUM, COUNT, FLOOR)
