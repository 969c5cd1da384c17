"""Ball acceleration: the potential of one step with the proximal point of the ball."""

from __future__ import annotations

from typing import Any

from sympy import Eq, Rational, Sum

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.proof.methods import Linearity
from bounds.proof.step import expectation, identity, inequality
from bounds.resque.ball_models import potential_models
from bounds.resque.symbols import A, A_old, a_ball, gap_ball, lam, v_ball, x, x_opt, y
from bounds.symbols import d, j, t
from bounds.theorem import Kind, Source, Status, Theorem

__all__ = ["STEP", "THEOREMS", "potential"]

HALF = Rational(1, 2)
J = (j, 1, d)

#: The subgradient of f at x_{t+1} that the proximal step leaves: lam (y_t - x_{t+1}).
pull = lam(t) * (y(t, j) - x(t + 1, j))


def potential(weight: Any, gap: Any, at_step: Any) -> Any:
    """``weight * gap + ||v - x*||^2 / 2`` with v before step `at_step`."""
    return weight * gap + HALF * Sum((v_ball(at_step, j) - x_opt(j)) ** 2, J)


#: What one step is: the update rule, and convexity at the two points that matter.
STEP = (
    Assumption("weight", Eq(A(t), A_old(t) + a_ball(t)), "weights add up step sizes", CODE),
    Assumption(
        "size",
        Eq(lam(t), A(t) / a_ball(t) ** 2),
        "the step size a solves lam a^2 = A_old + a: a = (1/lam + sqrt(1/lam^2 + 4 A_old/lam))/2",
        CODE,
    ),
    Assumption(
        "centre",
        Eq(y(t, j), (A_old(t) * x(t, j) + a_ball(t) * v_ball(t, j)) / A(t)),
        "the ball's centre is the weighted mean of the two iterates",
        CODE,
    ),
    Assumption(
        "mirror",
        Eq(v_ball(t + 1, j), v_ball(t, j) - a_ball(t) * pull),
        "the second iterate moves by a times the subgradient lam (y - x_next)",
        CODE,
    ),
    Assumption(
        "convex-iterate",
        gap_ball(t) >= gap_ball(t + 1) + Sum(pull * (x(t, j) - x(t + 1, j)), J),
        "f is convex, and lam (y - x_next) is a subgradient at x_next = argmin f + lam/2 |. - y|^2:"
        " the subgradient inequality towards the iterate before",
        CALLER,
    ),
    Assumption(
        "convex-minimiser",
        gap_ball(t + 1) + Sum(pull * (x_opt(j) - x(t + 1, j)), J) <= 0,
        "the same subgradient inequality towards a minimiser",
        CALLER,
    ),
)

_statement = potential(A(t), gap_ball(t + 1), t + 1) <= (
    potential(A_old(t), gap_ball(t), t)
    - HALF * lam(t) * A(t) * Sum((x(t + 1, j) - y(t, j)) ** 2, J)
)

#: Both subgradient inequalities, weighted, and the change of |v - x*|^2/2, in one coordinate.
_weighted = pull * (A_old(t) * (x(t + 1, j) - x(t, j)) + a_ball(t) * (x(t + 1, j) - x_opt(j)))
_distances = HALF * (v_ball(t + 1, j) - x_opt(j)) ** 2 - HALF * (v_ball(t, j) - x_opt(j)) ** 2
_left = -HALF * lam(t) * A(t) * (x(t + 1, j) - y(t, j)) ** 2

POTENTIAL = Theorem(
    id="resque.ball.potential",
    title="Potential of ball acceleration, one step",
    statement=_statement,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "ball acceleration (potential of MS13)", Status.DERIVED),
    assumptions=STEP,
    steps=(
        identity(
            "coordinate",
            Eq(_weighted + _distances, _left),
            "mirror",
            "size",
            "centre",
            "weight",
            note="A y = A_old x + a v and lam a^2 = A: nothing is left but the move",
        ),
        expectation(
            "summed",
            Eq(Sum(_weighted + _distances, J), Sum(_left, J)),
            "coordinate",
            by=Linearity(over=(J,)),
        ),
        inequality(
            "iterate",
            A_old(t) * gap_ball(t + 1)
            <= A_old(t) * gap_ball(t) + A_old(t) * Sum(pull * (x(t + 1, j) - x(t, j)), J),
            "convex-iterate",
        ),
        inequality(
            "minimiser",
            a_ball(t) * gap_ball(t + 1) <= a_ball(t) * Sum(pull * (x(t + 1, j) - x_opt(j)), J),
            "convex-minimiser",
        ),
        inequality(
            "step",
            _statement,
            "weight",
            "iterate",
            "minimiser",
            "summed",
            note="A = A_old + a; the sums of the two inequalities and of the identity add up",
        ),
    ),
    models=potential_models,
    explanation=(
        "One accepted step of ball acceleration: x moves to the proximal point of the centre y, v"
        " moves along the same subgradient. The weighted suboptimality plus half the squared"
        " distance of v to a minimiser falls by at least lam A ||x_next - y||^2 / 2. So steps that"
        " move far pay for themselves, and the suboptimality after T steps is at most"
        " R^2 / (2 A_T)."
    ),
    caveats=(
        "The proximal point is exact: what an approximate oracle adds is not in this statement.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (POTENTIAL,)
