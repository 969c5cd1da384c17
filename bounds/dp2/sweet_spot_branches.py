"""Where the sweet spot is an artefact: outside the staleness branch the bound falls up to s = T."""

from __future__ import annotations

from typing import Any

from sympy import And, Equivalent, Implies, Sum, ceiling, floor, sqrt

from bounds.dp2.sweet_spot import certified, moment_bound, norm, updates
from bounds.dp2.sweet_spot_models import certified_models
from bounds.dp2.symbols import C, Gam, R, chi, eps, m, nu1, nu2, p0, p1, q0, q1, s
from bounds.dp2.tradeoff import PAPER, brief
from bounds.operators import Min, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, expectation, inequality
from bounds.symbols import T, d, j
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_x = Variable("x", positive=True)
_more = Variable("e", nonnegative=True)
_later = _x + _more
_mu, _p, _q = Variable("mu"), Variable("p"), Variable("q")

# --- the saturated branch


def _saturated(delay: Any) -> Any:
    """(Phi/R)^2 T where the gradient term is C^2/eps, with the exact number of updates."""
    return norm(delay) * (1 + chi * updates(delay)) * (C**2 / eps + nu2**2 * norm(delay))


def _root(delay: Any) -> Any:
    return sqrt(_mu**2 + nu1**2 / delay)


def _in_sum(delay: Any) -> Any:
    return Sum(_root(delay).subs(_mu, m(j)), (j, 1, d))


# Differences, because SymPy rewrites an inequality between two floors.
_FEWER = updates(_x) - updates(_later) >= 0
_SMALLER = norm(_later) <= norm(_x)
_SATURATED = _saturated(_later) <= _saturated(_x)
_DOWN = Implies(_q - _p >= 0, floor(_q / 2) - floor(_p / 2) >= 0)

SATURATED = Theorem(
    id="dp2.S2.saturated",
    title="Outside the staleness branch the certified bound falls with the delay",
    statement=_SATURATED,
    kind=Kind.STRUCTURE,
    source=Source(PAPER, "optimal delay", Status.DERIVED),
    steps=brief(
        inequality("coordinate", _root(_later) <= _root(_x)),
        expectation(
            "sum", _in_sum(_later) <= _in_sum(_x), at("coordinate", {_mu: m(j)}),
            by=Linearity(over=((j, 1, d),)),
        ),
        inequality("norm", _SMALLER, "sum"),
        inequality("down", _DOWN, integers=True),
        inequality(
            "fewer",
            _FEWER,
            at("down", {_p: ceiling(T / _later), _q: ceiling(T / _x)}),
        ),
        inequality(
            "falls",
            _SATURATED,
            "norm",
            "fewer",
        ),
    ),
    explanation=(
        "Where the gradient term is C^2/eps, because nothing is promised about staleness or the "
        "promise is looser than that, a longer delay has fewer updates and less noise in D1 and "
        "costs nothing. The certified bound does not rise with s, with the exact number of "
        "updates too, and its minimiser is s = T: a run that never preconditions."
    ),
    evaluations={
        "bound": R * sqrt(_saturated(s) / T),
    },
    models=certified_models,
    curve=Curve(
        along="delay",
        values=tuple(sorted({round(1.06**k) for k in range(119)})),
        fixed={
            "steps": 1000, "dimension": 50, "diameter": 1.0, "gradient_bound": 1.0,
            "damping": 0.1, "noise_std": 0.007544800579799,
            "preconditioned_noise_std": 0.07544800579799, "variation_ratio": 0.05,
            "mean_gradient": tuple(0.3 * 0.9**k for k in range(50)),
        },
        log_x=True,
    ),
)  # fmt: skip

# --- two local minima

_left, _right = Variable("y", positive=True), Variable("z", positive=True)


def _least(delay: Any) -> Any:
    """(p0 + p1/s) times the gradient term, which staleness limits up to s = x only."""
    return (p0 + p1 / delay) * Min(q0 + q1 * delay, q0 + q1 * _x)


_PEAK = And(
    Implies(_left < _x, Equivalent(_least(_left) < _least(_x), _left * _x > p1 * q0 / (p0 * q1))),
    Implies(_right > _x, _least(_right) < _least(_x)),
)

BRANCHES = Theorem(
    id="dp2.S2.branches",
    title="The least of the branches can have two local minima",
    statement=_PEAK,
    kind=Kind.TIGHT,
    source=Source(PAPER, "optimal delay", Status.DERIVED),
    steps=brief(
        inequality(
            "peak",
            _PEAK,
            note="below x the difference to x is (x - y)(p0 q1 - p1 q0/(x y))",
        ),
    ),
    explanation=(
        "With D1 the same at all delays the certified bound is (p0 + p1/s) times a gradient term "
        "that rises with s until C^2/eps takes over at some s = x. All longer delays are better "
        "than x, and so are the shorter ones down to s*^2/x, where s* = sqrt(p1 q0/(p0 q1)) is the "
        "sweet spot of dp2.S1. If s* < x there are two local minima, s* and T, with a peak between "
        "them: each branch is minimised on its own range, or every s is looked at."
    ),
    evaluations={
        "bound": (p0 + p1 / s) * Min(q0 + q1 * s, Gam),
        "certified": certified(s),
        "gradient_term": moment_bound(s),
    },
    curve=Curve(
        along="delay",
        values=tuple(range(10, 1001, 10)),
        fixed={
            "variation_floor": 1.0, "variation_per_update": 25.0, "moment_floor": 8.0,
            "moment_slope": 0.04, "preconditioned_gradient_moment": 24.0,
        },
    ),
)  # fmt: skip

THEOREMS: tuple[Theorem, ...] = (SATURATED, BRANCHES)
