"""The gradient complexity of private optimisation with ball acceleration: one formula."""

from __future__ import annotations

from sympy import And, Eq, Equivalent, Implies, Rational, ceiling, floor, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.operators import Max, Min, Variable
from bounds.proof.step import at, cite, identity, inequality
from bounds.resque.symbols import K_ball, N_ball, eps_opt, lam_reg, r
from bounds.symbols import d, eps_dp, n
from bounds.theorem import Curve, Kind, Source, Status, Theorem

__all__ = ["INGREDIENTS", "THEOREMS", "batch", "calls", "optimal_error", "rate"]

THIRD = Rational(1, 3)

#: Statistical and privacy error that no method can beat, for L = R = 1 and up to logarithms.
optimal_error = Max(1 / sqrt(n), sqrt(d) / (n * eps_dp))
#: Gradients of the whole method at that error.
rate = Min(n, n**2 * eps_dp**2 / d) + Min(
    (n * d) ** (2 * THIRD) / eps_dp, n ** (4 * THIRD) * eps_dp**THIRD
)
#: Oracle calls and gradients of one call, as whole numbers.
calls = ceiling((sqrt(d) / optimal_error) ** (2 * THIRD))
batch = floor(optimal_error ** (-2) / calls + sqrt(d) / (optimal_error * eps_dp * sqrt(calls)))

RADIUS = Assumption(
    "radius",
    Eq(r, eps_opt / sqrt(d)),
    "ball radius and smoothing are the error over sqrt(d): smoothing then costs the error",
    CODE,
)
CALLS = Assumption(
    "calls", Eq(K_ball, r ** (-2 * THIRD)), "ball acceleration makes r^(-2/3) oracle calls", CODE
)
FLOOR = Assumption(
    "floor", Eq(lam_reg, eps_opt * K_ball**2), "the regularisation is at its floor", CODE
)
BATCH = Assumption(
    "batch",
    Eq(N_ball, 1 / (lam_reg * r) ** 2 + sqrt(d) / (lam_reg * r * eps_dp)),
    "one call reads as many gradients as its statistical and its privacy error ask for, added",
    CODE,
)
ERROR = Assumption(
    "error",
    Eq(eps_opt, optimal_error),
    "the error asked for is the optimal one: the larger of n^(-1/2) and sqrt(d)/(n eps)",
    CODE,
)
INGREDIENTS = (RADIUS, CALLS, FLOOR, BATCH)

_UNITS = "In units with Lipschitz constant and radius 1; logarithms and constants are left out."
_COUNTS = (
    "The number of calls is that of accepted steps; a private run also pays for bisection calls."
)
_ACCURACY = lam_reg * r**2

SUBPROBLEM = Theorem(
    id="resque.private.subproblem",
    title="One private oracle call is accurate enough",
    statement=1 / (lam_reg * N_ball) + d / (lam_reg * N_ball**2 * eps_dp**2) <= 2 * _ACCURACY,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "private subproblem", Status.DERIVED),
    assumptions=(BATCH,),
    steps=(
        inequality(
            "statistical",
            N_ball * (lam_reg * r) ** 2 >= 1,
            "batch",
        ),
        inequality("private", N_ball * lam_reg * r * eps_dp >= sqrt(d), "batch"),
        inequality(
            "below-one",
            1 / (N_ball * (lam_reg * r) ** 2) <= 1,
            "statistical",
        ),
        inequality("ratio", sqrt(d) / (N_ball * lam_reg * r * eps_dp) <= 1, "private"),
        inequality(
            "ratio-squared",
            (sqrt(d) / (N_ball * lam_reg * r * eps_dp)) ** 2 <= 1,
            "ratio",
        ),
        inequality(
            "sum",
            1 / (lam_reg * N_ball) + d / (lam_reg * N_ball**2 * eps_dp**2) <= 2 * _ACCURACY,
            "below-one",
            "ratio-squared",
        ),
    ),
    explanation=(
        "A private solver of a lambda-strongly convex problem on N records errs by about"
        " 1/(lambda N) + d/(lambda N^2 eps^2). With N the sum of 1/(lambda r)^2 and"
        " sqrt(d)/(lambda r eps) both parts are at most lambda r^2, the accuracy at which the ball"
        " oracle's answer is known up to about r."
    ),
    evaluations={
        "bound": 2 * _ACCURACY,
        "error": 1 / (lam_reg * N_ball) + d / (lam_reg * N_ball**2 * eps_dp**2),
    },
    caveats=(_UNITS,),
)

_sum_form = eps_opt**-2 + d ** (2 * THIRD) * eps_opt ** (-4 * THIRD) / eps_dp

TOTAL = Theorem(
    id="resque.private.calls",
    title="Gradients of all private oracle calls together",
    statement=Eq(K_ball * N_ball, _sum_form),
    kind=Kind.IDENTITY,
    source=Source("carmon2023resque", "private rate, derivation", Status.DERIVED),
    assumptions=INGREDIENTS,
    steps=(
        identity(
            "multiply",
            Eq(K_ball * N_ball, _sum_form),
            "batch",
            "floor",
            "calls",
            "radius",
        ),
    ),
    explanation=(
        "Calls times gradients per call, as a function of the accuracy E alone:"
        " E^-2 + d^(2/3) E^(-4/3) / eps. The first term is what the statistics ask for, the second"
        " what privacy adds."
    ),
    evaluations={"bound": _sum_form},
    caveats=(_UNITS, _COUNTS),
)

_f = Variable("f_", positive=True)
_p = Variable("p_", positive=True)
_q = Variable("q_", positive=True)
_c = Variable("c_", positive=True)
#: Sixth roots: p^6 = n and q^6 = n^2 eps^2/d, the two values of E^-2.
_P, _Q = n ** (THIRD / 2), n**THIRD * eps_dp**THIRD * d ** (-THIRD / 2)

RATE = Theorem(
    id="resque.private.rate",
    title="Private gradient complexity",
    statement=Eq(K_ball * N_ball, rate),
    kind=Kind.RATE,
    source=Source("carmon2023resque", "Theorem 4", Status.DERIVED),
    assumptions=(*INGREDIENTS, ERROR),
    steps=(
        inequality(
            "root",
            Implies(Eq(_f**-3, Max(_p**-3, _q**-3)), Eq(_f, Min(_p, _q))),
            note="the largest error has the smallest inverse root",
        ),
        inequality(
            "powers",
            Implies(
                Eq(_f, Min(_p, _q)),
                Eq(_f**6 + _c * _f**4, Min(_p**6, _q**6) + Min(_c * _p**4, _c * _q**4)),
            ),
        ),
        inequality(
            "which",
            Eq(eps_opt ** (-THIRD), Min(_P, _Q)),
            "error",
            at("root", {_f: eps_opt ** (-THIRD), _p: _P, _q: _Q}),
            note="_P^-3 = n^(-1/2) and _Q^-3 = sqrt(d)/(n eps)",
        ),
        inequality(
            "minima",
            Eq(_sum_form, rate),
            "which",
            at(
                "powers",
                {_f: eps_opt ** (-THIRD), _p: _P, _q: _Q, _c: d ** (2 * THIRD) / eps_dp},
            ),
        ),
        inequality("total", Eq(K_ball * N_ball, rate), cite("resque.private.calls"), "minima"),
    ),
    explanation=(
        "How many gradients a private method needs for the best error that privacy and the number"
        " of records allow. While n eps^2 >= d the error is n^(-1/2) and the cost is"
        " n + (n d)^(2/3)/eps; beyond, privacy sets the error, sqrt(d)/(n eps), and the cost is"
        " n^2 eps^2/d + n^(4/3) eps^(1/3). Both switches happen at d = n eps^2."
    ),
    evaluations={
        "bound": rate,
        "optimal_error": optimal_error,
        "calls": calls,
        "batch": batch,
        "total": calls * batch,
        "derived": optimal_error ** (-2)
        + d ** (2 * THIRD) * optimal_error ** (-4 * THIRD) / eps_dp,
    },
    curve=Curve(
        along="dimension",
        values=tuple(int(10 ** (k / 4)) for k in range(37)),
        fixed={"dataset_size": 10**6, "target_epsilon": 1.0},
        log_x=True,
        log_y=True,
    ),
    caveats=(_UNITS, _COUNTS),
)

_e = Variable("e_", positive=True)
_cheap = (n * d) ** (2 * THIRD) / eps_dp
_steep = n ** (4 * THIRD) * eps_dp**THIRD
_roots = {_p: n**THIRD, _q: d**THIRD, _e: eps_dp**THIRD}
_regimes = And(
    Equivalent(_cheap <= n, n >= d**2 / eps_dp**3),
    Equivalent(sqrt(d) / (n * eps_dp) <= 1 / sqrt(n), n >= d / eps_dp**2),
    Implies(And(n * eps_dp >= 1, d >= n * eps_dp**2), Min(n, n**2 * eps_dp**2 / d) <= _steep),
)

REGIMES = Theorem(
    id="resque.private.regimes",
    title="When the private rate is near-linear, optimal, or dominated by its second term",
    statement=_regimes,
    kind=Kind.STRUCTURE,
    source=Source("carmon2023resque", "Theorem 4, discussion", Status.DERIVED),
    steps=(
        inequality(
            "cubes",
            Equivalent(_p**2 * _q**2 / _e**3 <= _p**3, _p**3 >= _q**6 / _e**9),
            note="both say q^2 <= p e^3",
        ),
        inequality(
            "near-linear",
            Equivalent(_cheap <= n, n >= d**2 / eps_dp**3),
            at("cubes", _roots),
        ),
        inequality(
            "steep",
            Implies(_p**3 * _e**3 >= 1, _p**3 <= _p**4 * _e),
            note="p e >= 1",
        ),
        inequality(
            "dominated",
            Implies(
                And(n * eps_dp >= 1, d >= n * eps_dp**2), Min(n, n**2 * eps_dp**2 / d) <= _steep
            ),
            at("steep", _roots),
        ),
        inequality("all", _regimes, "near-linear", "dominated"),
    ),
    explanation=(
        "The privacy term (n d)^(2/3)/eps is at most n exactly when n >= d^2/eps^3: then the whole"
        " cost is linear in the number of records. The error is n^(-1/2) exactly when"
        " n >= d/eps^2. In high dimension the second term is the larger one as soon as n eps >= 1."
    ),
    evaluations={
        "near_linear_from": d**2 / eps_dp**3,
        "optimal_from": d / eps_dp**2,
        "bound": rate,
    },
    caveats=(_UNITS,),
)

THEOREMS: tuple[Theorem, ...] = (SUBPROBLEM, TOTAL, RATE, REGIMES)
