"""Ball acceleration without bisection: one oracle call a step, and the same potential."""

from __future__ import annotations

from sympy import And, Eq, Implies, Sum

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import Min
from bounds.proof.methods import Linearity
from bounds.proof.step import expectation, identity, inequality
from bounds.resque.ball import HALF, J, potential
from bounds.resque.ball_models import free_models
from bounds.resque.symbols import (
    A,
    A_old,
    a_ball,
    gap_ball,
    gap_z,
    guess,
    lam,
    part,
    r,
    v_ball,
    x,
    x_opt,
    y,
    z,
)
from bounds.symbols import j, t
from bounds.theorem import Kind, Source, Status, Theorem

__all__ = ["STEP", "THEOREMS"]


#: The subgradient of f at the oracle's answer z.
_pull = lam(t) * (y(t, j) - z(t, j))
#: Weight after the step that the guess proposes, and after the part that is taken.
_full = A_old(t) + a_ball(t)
_squared_move = Sum((z(t, j) - y(t, j)) ** 2, J)

STEP = (
    Assumption(
        "size",
        Eq(guess(t), _full / a_ball(t) ** 2),
        "the step size solves guess * a^2 = A_old + a",
        CODE,
    ),
    Assumption(
        "centre",
        Eq(y(t, j), (A_old(t) * x(t, j) + a_ball(t) * v_ball(t, j)) / _full),
        "the ball's centre is the weighted mean of the two iterates",
        CODE,
    ),
    Assumption(
        "part",
        Eq(part(t), Min(1, guess(t) / lam(t))),
        "the whole step if the multiplier is at most the guess, else the fraction guess/lam",
        CODE,
    ),
    Assumption(
        "weight",
        Eq(A(t), A_old(t) + part(t) * a_ball(t)),
        "weights add up the parts of the step sizes that are taken",
        CODE,
    ),
    Assumption(
        "mirror",
        Eq(v_ball(t + 1, j), v_ball(t, j) - part(t) * a_ball(t) * _pull),
        "the second iterate moves by that part of a times the subgradient lam (y - z)",
        CODE,
    ),
    Assumption(
        "convex-mean",
        gap_ball(t + 1)
        <= ((1 - part(t)) * A_old(t) * gap_ball(t) + part(t) * _full * gap_z(t))
        / (A_old(t) + part(t) * a_ball(t)),
        "the next iterate is the mean of x and z with weights (1 - part) A_old and"
        " part (A_old + a), and f is convex",
        CALLER,
    ),
    Assumption(
        "convex-iterate",
        gap_ball(t) >= gap_z(t) + Sum(_pull * (x(t, j) - z(t, j)), J),
        "lam (y - z) is a subgradient of the convex f at z (z minimises f on the ball, lam is its"
        " multiplier): the subgradient inequality towards the iterate before",
        CALLER,
    ),
    Assumption(
        "convex-minimiser",
        gap_z(t) + Sum(_pull * (x_opt(j) - z(t, j)), J) <= 0,
        "the same subgradient inequality towards a minimiser",
        CALLER,
    ),
    Assumption(
        "sphere",
        Eq(_squared_move, r**2),
        "the multiplier is positive, so z lies on the sphere of radius r around y",
        CODE,
    ),
)


_before = potential(A_old(t), gap_ball(t), t)
_after = potential(A(t), gap_ball(t + 1), t + 1)
_statement = And(
    Implies(
        lam(t) <= guess(t),
        _after <= _before - lam(t) * _full * r**2 * (1 - lam(t) / (2 * guess(t))),
    ),
    Implies(lam(t) > guess(t), _after <= _before - guess(t) * _full * r**2 / 2),
)

_weighted = part(t) * _pull * (A_old(t) * (z(t, j) - x(t, j)) + a_ball(t) * (z(t, j) - x_opt(j)))
_distances = HALF * (v_ball(t + 1, j) - x_opt(j)) ** 2 - HALF * (v_ball(t, j) - x_opt(j)) ** 2
_taken = part(t) * lam(t)
_fall = -_taken * _full * (1 - _taken / (2 * guess(t)))

FREE = Theorem(
    id="resque.ball.free",
    title="Potential of ball acceleration without bisection",
    statement=_statement,
    kind=Kind.TIGHT,
    source=Source("carmon2022adaptive", "acceleration without bisection", Status.DERIVED),
    assumptions=STEP,
    steps=(
        identity(
            "coordinate",
            Eq(_weighted + _distances, _fall * (z(t, j) - y(t, j)) ** 2),
            "mirror",
            "size",
            "centre",
        ),
        expectation(
            "summed",
            Eq(Sum(_weighted + _distances, J), Sum(_fall * (z(t, j) - y(t, j)) ** 2, J)),
            "coordinate",
            by=Linearity(over=(J,)),
        ),
        inequality(
            "mean",
            A(t) * gap_ball(t + 1)
            <= (1 - part(t)) * A_old(t) * gap_ball(t) + part(t) * _full * gap_z(t),
            "weight",
            "convex-mean",
        ),
        inequality(
            "iterate",
            part(t) * A_old(t) * gap_z(t)
            <= part(t) * A_old(t) * gap_ball(t)
            + part(t) * A_old(t) * Sum(_pull * (z(t, j) - x(t, j)), J),
            "convex-iterate",
        ),
        inequality(
            "minimiser",
            part(t) * a_ball(t) * gap_z(t)
            <= part(t) * a_ball(t) * Sum(_pull * (z(t, j) - x_opt(j)), J),
            "convex-minimiser",
        ),
        inequality(
            "one-formula",
            _after <= _before + _fall * r**2,
            "mean",
            "iterate",
            "minimiser",
            "summed",
            "sphere",
        ),
        inequality("whole", Implies(lam(t) <= guess(t), Eq(_taken, lam(t))), "part"),
        inequality("fraction", Implies(lam(t) > guess(t), Eq(_taken, guess(t))), "part"),
        inequality("step", _statement, "one-formula", "whole", "fraction"),
    ),
    models=free_models,
    explanation=(
        "One call of the exact ball oracle per step, with a guess of its multiplier. If the"
        " multiplier is at most the guess the step is taken as it is and the guess is halved, else"
        " only the fraction guess/multiplier of it is taken and the guess is doubled. Either way"
        " the potential falls: by lam A' r^2 (1 - lam/(2 guess)), or by guess A' r^2/2, where A'"
        " is the weight that the guess proposes."
    ),
    caveats=(
        "The number of steps of this variant is measured, not proved.",
        "A multiplier of 0 means that z is a global minimiser: the method stops there.",
        "The multiplier comes from a gradient at z, so in a private run it must be privatised too.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (FREE,)
