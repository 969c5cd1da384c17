"""Depth and number of gradients of the two parallel methods, with constants."""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Implies, Le, Rational, Sum, ceiling, exp, pi, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import Step, assumed, at, expectation, identity, inequality
from bounds.resque.parallel_models import accelerated_models, call_models
from bounds.resque.parallel_solver import solver_error
from bounds.resque.symbols import (
    G_est,
    L_lip,
    R_dom,
    call_gap,
    calls,
    eps_opt,
    kappa,
    lam_reg,
    queries,
    query_factor,
    r,
    reg,
    rounds,
    rounds_factor,
)
from bounds.symbols import T, d, k
from bounds.theorem import Curve, Kind, Source, Status, Theorem

__all__ = ["THEOREMS", "computational_depth", "query_depth", "total_queries"]

THIRD = Rational(1, 3)
ALL = (k, 1, calls)

#: (R/r)^(2/3), and the same once the ball radius is eps/(2 sqrt(d) L).
_natural = (R_dom / r) ** (2 * THIRD)
_scale = L_lip * R_dom / eps_opt
_by_dimension = (2 * sqrt(d) * _scale) ** (2 * THIRD)
#: Gradients of one call over (L/(lambda r))^2, for weighted stochastic gradient steps.
SAMPLES = 2 * (1 + exp(Rational(1, 2))) ** 2
_smooth = sqrt(2 / pi)

query_depth = kappa * _by_dimension
total_queries = kappa * (SAMPLES * _scale**2 + _by_dimension)
accelerated_queries = kappa * (query_factor * _scale**2 + _by_dimension)
computational_depth = kappa * (
    (1 + rounds_factor) * _by_dimension
    + rounds_factor * sqrt(2 * _smooth) * d ** Rational(1, 4) * _scale
)

RADIUS = Assumption(
    "radius",
    Eq(r, eps_opt / (2 * sqrt(d) * L_lip)),
    "ball radius and smoothing are eps/(2 sqrt(d) L): smoothing costs eps/2 at most",
    CODE,
)
FLOOR = Assumption(
    "floor",
    reg(k) >= eps_opt * _natural**2 / R_dom**2,
    "the regularisation of a call is at its floor eps K^2/R^2 at least, K = (R/r)^(2/3)",
    CODE,
)
LARGEST = Assumption("largest", reg(k) <= L_lip / r, "regularisation is searched up to L/r", CODE)
CALLS = Assumption(
    "calls",
    Le(calls, kappa * _natural),
    "the outer method makes at most kappa (R/r)^(2/3) oracle calls, kappa a power of a logarithm",
    CALLER,
)


def _batch(factor: Any) -> Assumption:
    return Assumption(
        "batch",
        Eq(queries(k), ceiling(factor * L_lip**2 / (reg(k) * r) ** 2)),
        "gradients of one call, all queried in one parallel round",
        CODE,
    )


_K = Variable("K_", positive=True)
_x = Variable("x_", positive=True)
_y = Variable("y_", positive=True)


def _counting(factor: Any) -> tuple[Step, ...]:
    """From the gradients of one call to those of all calls."""
    each = factor * _scale**2 / _natural + 1
    return (
        inequality(
            "cube",
            Implies(
                And(reg(k) >= eps_opt * _K**2 / R_dom**2, Eq(_K**3, R_dom**2 / r**2)),
                L_lip**2 / (reg(k) * r) ** 2 <= _scale**2 / _K,
            ),
            note="(lambda r)^2 >= eps^2 K^4 r^2/R^4 and K^3 = (R/r)^2",
        ),
        inequality(
            "each",
            queries(k) <= each,
            "batch",
            "floor",
            at("cube", {_K: _natural}),
        ),
        inequality(
            "spread",
            Implies(Le(calls, kappa * _K), calls * (_x / _K + _y) <= kappa * (_x + _y * _K)),
        ),
        expectation(
            "added",
            Sum(queries(k), ALL) <= Sum(each, ALL),
            "each",
            by=Linearity(over=(ALL,)),
        ),
        inequality(
            "in-radius",
            Sum(queries(k), ALL) <= kappa * (factor * _scale**2 + _natural),
            "added",
            "calls",
            at("spread", {_K: _natural, _x: factor * _scale**2, _y: 1}),
        ),
    )


_OUTER = (
    "The number of calls of the outer method is an assumption: resque.ball.floor proves it for"
    " exact answers and accepted steps; bisection calls and the solver's error come on top."
)
_accuracy = reg(k) * r**2
_solver = solver_error.subs({lam_reg: reg(k), T: queries(k), G_est: exp(Rational(1, 2)) * L_lip})
_one = And(
    _solver <= _accuracy,
    Le(calls, query_depth),
    Sum(queries(k), ALL) <= total_queries,
)

FIRST = Theorem(
    id="resque.parallel.1",
    title="Parallel ReSQue with stochastic gradient steps: depth and gradients",
    statement=_one,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "Theorem 1", Status.DERIVED),
    assumptions=(RADIUS, FLOOR, LARGEST, CALLS, _batch(SAMPLES)),
    steps=(
        *_counting(SAMPLES),
        inequality(
            "enough",
            (queries(k) + 1) * (reg(k) * r) ** 2 >= SAMPLES * L_lip**2,
            "batch",
        ),
        inequality(
            "moment",
            (exp(Rational(1, 2)) * L_lip + reg(k) * r) ** 2
            <= (exp(Rational(1, 2)) + 1) ** 2 * L_lip**2,
            "largest",
        ),
        inequality("accurate", _solver <= _accuracy, "enough", "moment"),
        identity("ratio", Eq(_natural, _by_dimension), "radius"),
        inequality("all", _one, "accurate", "calls", "in-radius", "ratio"),
    ),
    models=call_models,
    explanation=(
        "Every oracle call queries all its gradients in one parallel round, so the query depth is"
        " the number of calls, kappa (2 sqrt(d) L R/eps)^(2/3). Gradients, and with them the"
        " computational depth of sequential steps, add up to kappa times (L R/eps)^2 and the number"
        " of calls: as few as plain stochastic gradient descent needs. The first part of the"
        " statement says that one call has enough of them: the guarantee of resque.parallel.solver"
        " is at most lambda r^2."
    ),
    evaluations={
        "bound": total_queries,
        "query_depth": query_depth,
        "computational_depth": total_queries,
    },
    curve=Curve(
        along="accuracy",
        values=tuple(2.0**-p for p in range(1, 15)),
        fixed={
            "lipschitz": 1.0,
            "radius": 1.0,
            "dimension": 10_000,
            "call_factor": 1.0,
        },
        names=("query_depth", "bound"),
        log_x=True,
        log_y=True,
    ),
    caveats=(_OUTER,),
)

_ratio = (_smooth * L_lip / r + reg(k)) / reg(k)
ROUNDS = Assumption(
    "rounds",
    Eq(rounds(k), ceiling(rounds_factor * sqrt(_ratio))),
    "steps of the accelerated solver, for smoothness sqrt(2/pi) L/rho + lambda",
    CODE,
)
_rate = Implies(
    And(
        rounds(k) >= rounds_factor * sqrt(_ratio),
        queries(k) >= query_factor * L_lip**2 / (reg(k) * r) ** 2,
    ),
    call_gap(k) <= _accuracy,
)
#: sqrt(smoothness/lambda) is at most 1 + this.
_root = sqrt(2 * _smooth) * d ** Rational(1, 4) * _scale
_two = And(
    call_gap(k) <= _accuracy,
    Le(calls, query_depth),
    Sum(rounds(k), ALL) <= computational_depth,
    Sum(queries(k), ALL) <= accelerated_queries,
)

SECOND = Theorem(
    id="resque.parallel.2",
    title="Parallel ReSQue with accelerated steps: depth and gradients",
    statement=_two,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "Theorem 2", Status.DERIVED),
    assumptions=(RADIUS, FLOOR, CALLS, _batch(query_factor), ROUNDS),
    steps=(
        assumed(
            "rate",
            _rate,
            note="GL12: accelerated stochastic approximation of a smooth, strongly convex function"
            " (here with its factors and logarithms in rounds_factor and query_factor)",
        ),
        inequality("accurate", call_gap(k) <= _accuracy, "rate", "batch", "rounds"),
        *_counting(query_factor),
        inequality(
            "condition",
            Implies(
                reg(k) >= eps_opt * _K**2 / R_dom**2,
                _smooth * L_lip / (r * reg(k)) <= (_root / _K) ** 2,
            ),
            "radius",
            note="1/r = 2 sqrt(d) L/eps and 1/lambda <= R^2/(eps K^2)",
        ),
        inequality(
            "root",
            Implies(_smooth * L_lip / (r * reg(k)) <= _x**2, sqrt(_ratio) <= 1 + _x),
        ),
        inequality(
            "each-call",
            rounds(k) <= 1 + rounds_factor * (1 + _root / _natural),
            "rounds",
            "floor",
            at("condition", {_K: _natural}),
            at("root", {_x: _root / _natural}),
        ),
        expectation(
            "depth-added",
            Sum(rounds(k), ALL) <= Sum(1 + rounds_factor * (1 + _root / _natural), ALL),
            "each-call",
            by=Linearity(over=(ALL,)),
        ),
        inequality(
            "depth",
            Sum(rounds(k), ALL) <= kappa * ((1 + rounds_factor) * _natural + rounds_factor * _root),
            "depth-added",
            "calls",
            at("spread", {_K: _natural, _x: rounds_factor * _root, _y: 1 + rounds_factor}),
        ),
        identity("ratio", Eq(_natural, _by_dimension), "radius"),
        inequality("all", _two, "accurate", "calls", "in-radius", "depth", "ratio"),
    ),
    models=accelerated_models,
    explanation=(
        "The same outer method; each call runs an accelerated solver with sqrt(smoothness/lambda)"
        " steps on minibatches. The query depth stays kappa (2 sqrt(d) L R/eps)^(2/3), and the"
        " computational depth falls to the order of d^(1/4) L R/eps plus the query depth."
    ),
    evaluations={
        "bound": computational_depth,
        "query_depth": query_depth,
        "queries": accelerated_queries,
    },
    curve=Curve(
        along="accuracy",
        values=tuple(2.0**-p for p in range(1, 15)),
        fixed={
            "lipschitz": 1.0,
            "radius": 1.0,
            "dimension": 10_000,
            "call_factor": 1.0,
            "rounds_factor": 3.0,
            "query_factor": 20.0,
        },
        names=("query_depth", "bound", "queries"),
        log_x=True,
        log_y=True,
    ),
    caveats=(_OUTER, "The accelerated rate is cited; its factors are parameters here."),
)

THEOREMS: tuple[Theorem, ...] = (FIRST, SECOND)
