"""One ball subproblem by weighted averages of stochastic gradient steps, with its constant."""

from __future__ import annotations

from sympy import Eq, Sum

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import Conditional, E, Variable
from bounds.proof.methods import Linearity, Tower
from bounds.proof.step import Induction, at, expectation, inequality
from bounds.resque.parallel_models import solver_models
from bounds.resque.symbols import (
    G_est,
    G_sub,
    dist_u,
    e_x,
    gap_avg,
    gap_u,
    lam_reg,
    r,
    u_ball,
    u_opt,
)
from bounds.symbols import T, d, i, j, k, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

__all__ = ["THEOREMS", "solver_error"]

J = (j, 1, d)

#: Step size of step t, and the stochastic gradient of F_lambda = f_rho + lambda/2 |. - y|^2.
_size = 2 / (lam_reg * (t + 1))
_gradient = e_x(t, j) + lam_reg * u_ball(t, j)
_moment = (G_est + lam_reg * r) ** 2

#: Guaranteed excess after T steps.
solver_error = 2 * _moment / (lam_reg * (T + 1))

UPDATE = Assumption(
    "update",
    dist_u(t + 1) <= Sum((u_ball(t, j) - _size * _gradient - u_opt(j)) ** 2, J),
    "a step of size 2/(lambda (t + 1)), then the nearest point of the ball: projecting brings"
    " no point of the ball further away",
    CODE,
)
DIST = Assumption(
    "dist",
    Eq(dist_u(t), Sum((u_ball(t, j) - u_opt(j)) ** 2, J)),
    "the squared distance to the minimiser on the ball",
    CODE,
)
INSIDE = Assumption(
    "inside", Sum(u_ball(t, j) ** 2, J) <= r**2, "iterates stay in the ball of radius r", CODE
)
UNBIASED = Assumption(
    "unbiased",
    Conditional(e_x(t, j), G_sub(t, j) - lam_reg * u_ball(t, j), u_ball(t, i)),
    "given the iterate, e is on average a subgradient of f_rho there (G is a function of it)",
    CODE,
)
MOMENT = Assumption(
    "moment",
    E(Sum(e_x(t, j) ** 2, J)) <= G_est**2,
    "second moment of the gradient estimate; for ReSQue with r <= rho it is G = sqrt(e) L",
    CALLER,
)
STRONG = Assumption(
    "strongly-convex",
    gap_u(t) + lam_reg / 2 * dist_u(t) <= Sum(G_sub(t, j) * (u_ball(t, j) - u_opt(j)), J),
    "F_lambda is lambda-strongly convex: f_rho is convex",
    CALLER,
)
AVERAGE = Assumption(
    "average",
    gap_avg(T) <= Sum(2 * t / (T * (T + 1)) * gap_u(t), (t, 1, T)),
    "the answer is the mean of the iterates with weights proportional to t, and F_lambda is convex",
    CALLER,
)

_a = Variable("a_")
_b = Variable("b_")
_q = Variable("q_", positive=True)
_split = (1 + _q) * _a**2 + (1 + 1 / _q) * _b**2
_ratio = lam_reg * r / G_est
_error = E(gap_avg(T)) <= solver_error

SOLVER = Theorem(
    id="resque.parallel.solver",
    title="Excess of weighted stochastic gradient steps on a ball subproblem",
    statement=_error,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "subproblem of Theorem 1", Status.DERIVED),
    assumptions=(UPDATE, DIST, INSIDE, UNBIASED, MOMENT, STRONG, AVERAGE),
    steps=(
        inequality("split", (_a + _b) ** 2 <= _split, note="(sqrt(q) a - b/sqrt(q))^2 >= 0"),
        expectation(
            "split-mean",
            E(Sum(_gradient**2, J))
            <= E(
                Sum(
                    (1 + _ratio) * e_x(t, j) ** 2
                    + (1 + 1 / _ratio) * (lam_reg * u_ball(t, j)) ** 2,
                    J,
                )
            ),
            at("split", {_a: e_x(t, j), _b: lam_reg * u_ball(t, j), _q: _ratio}),
            by=Linearity(over=(E, J)),
        ),
        expectation(
            "inside-mean", E(Sum(u_ball(t, j) ** 2, J)) <= r**2, "inside", by=Linearity(over=(E,))
        ),
        inequality(
            "second-moment",
            E(Sum(_gradient**2, J)) <= _moment,
            "split-mean",
            "inside-mean",
            "moment",
            note="q = lambda r/G balances the two",
        ),
        expectation(
            "towards",
            Eq(
                E(e_x(t, j) * (u_ball(t, j) - u_opt(j))),
                E((G_sub(t, j) - lam_reg * u_ball(t, j)) * (u_ball(t, j) - u_opt(j))),
            ),
            "unbiased",
            by=Tower(),
        ),
        expectation(
            "towards-all",
            Eq(
                Sum(E(_gradient * (u_ball(t, j) - u_opt(j))), J),
                Sum(E(G_sub(t, j) * (u_ball(t, j) - u_opt(j))), J),
            ),
            "towards",
            by=Linearity(over=(J,)),
        ),
        expectation(
            "strong-mean",
            E(gap_u(t)) + lam_reg / 2 * E(dist_u(t))
            <= E(Sum(G_sub(t, j) * (u_ball(t, j) - u_opt(j)), J)),
            "strongly-convex",
            by=Linearity(over=(E,)),
        ),
        expectation(
            "update-mean",
            E(dist_u(t + 1)) <= E(Sum((u_ball(t, j) - _size * _gradient - u_opt(j)) ** 2, J)),
            "update",
            by=Linearity(over=(E,)),
        ),
        expectation(
            "dist-mean",
            Eq(E(dist_u(t)), E(Sum((u_ball(t, j) - u_opt(j)) ** 2, J))),
            "dist",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "one-step",
            E(dist_u(t + 1))
            <= E(dist_u(t))
            - 2 * _size * (E(gap_u(t)) + lam_reg / 2 * E(dist_u(t)))
            + _size**2 * _moment,
            "update-mean",
            "dist-mean",
            "towards-all",
            "strong-mean",
            "second-moment",
        ),
        inequality(
            "weighted",
            t * E(gap_u(t))
            <= lam_reg * t * (t - 1) / 4 * E(dist_u(t))
            - lam_reg * t * (t + 1) / 4 * E(dist_u(t + 1))
            + _moment / lam_reg,
            "one-step",
            note="times lambda t (t + 1)/4; t/(t + 1) <= 1",
        ),
        inequality(
            "added",
            Sum(t * E(gap_u(t)), (t, 1, k)) + lam_reg * k * (k + 1) / 4 * E(dist_u(k + 1))
            <= k * _moment / lam_reg,
            at("weighted", {t: k}),
            at("weighted", {t: k + 1}),
            induction=Induction(k),
            note="the distances cancel",
        ),
        expectation(
            "average-mean",
            E(gap_avg(T)) <= 2 / (T * (T + 1)) * Sum(t * E(gap_u(t)), (t, 1, T)),
            "average",
            by=Linearity(over=(E,)),
        ),
        inequality("error", _error, "average-mean", at("added", {k: T})),
    ),
    models=solver_models,
    explanation=(
        "One call of the ball oracle: T steps on F_lambda = f_rho + lambda/2 |. - y|^2 over the"
        " ball, step sizes 2/(lambda (t + 1)), answer the mean with weights proportional to t. All"
        " gradients can be queried at y + xi in one parallel round beforehand, because ReSQue"
        " reweights them. The excess is at most 2 (G + lambda r)^2/(lambda (T + 1))."
    ),
    evaluations={"bound": solver_error},
    curve=Curve(
        along="steps",
        values=tuple(2**p for p in range(13)),
        fixed={"estimate_moment": 1.6487, "regularisation": 4.0, "ball_radius": 0.1},
        log_x=True,
        log_y=True,
    ),
    caveats=("In expectation; F_lambda is compared with its minimum on the ball.",),
)

THEOREMS: tuple[Theorem, ...] = (SOLVER,)
