"""Where the sweet spot is an artefact: outside the staleness branch the bound falls up to s = T."""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Implies, Min, Rational, Sum, ceiling, floor, sqrt

from bounds.assumptions import CALLER, Assumption
from bounds.dp2.sweet_spot import certified, moment_bound, norm, updates
from bounds.dp2.sweet_spot_models import (
    BRANCHES_INSTANCE,
    branches_models,
    certified_models,
)
from bounds.dp2.symbols import D1, C, R, c1, c2, chi, eps, m, nu1, nu2, s
from bounds.dp2.tradeoff import PAPER, brief
from bounds.operators import Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, expectation, inequality
from bounds.symbols import T, d, j
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_x = Variable("x", positive=True)
_more = Variable("e", nonnegative=True)
_later = _x + _more
_mu, _p, _q = Variable("mu"), Variable("p"), Variable("q")
_a, _b, _k, _n = (Variable(name, nonnegative=True) for name in ("a", "b", "k_x", "k_y"))

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
_UP = Implies(_p <= _q, ceiling(_q) - ceiling(_p) >= 0)
_DOWN = Implies(_q - _p >= 0, floor(_q / 2) - floor(_p / 2) >= 0)
_PRODUCT = Implies(
    And(_a <= _b, _n - _k >= 0),
    _a * (1 + chi * _k) * (C**2 / eps + nu2**2 * _a)
    <= _b * (1 + chi * _n) * (C**2 / eps + nu2**2 * _b),
)

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
        inequality("up", _UP, integers=True, note="rounding keeps the order"),
        inequality("down", _DOWN, integers=True),
        inequality("sooner", T / _later <= T / _x),
        inequality(
            "fewer",
            _FEWER,
            at("up", {_p: T / _later, _q: T / _x}),
            at("down", {_p: ceiling(T / _later), _q: ceiling(T / _x)}),
            "sooner",
        ),
        inequality("product", _PRODUCT),
        inequality(
            "falls",
            _SATURATED,
            at("product", {_a: norm(_later), _b: norm(_x), _k: updates(_later), _n: updates(_x)}),
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


def _least(delay: int) -> Any:
    """(Phi/R)^2 for T = 1000 with T/2s, the least branch, and the same D1 at every delay."""
    moment = Min(C**2 / eps, C / eps * (c1 + c2 * delay) * D1)
    return D1 * (1 + chi * Rational(500, delay)) * (moment + nu2**2 * D1)


_INSTANCE = Assumption(
    "instance",
    And(*[Eq(*each) for each in BRANCHES_INSTANCE.items()]),
    "D1 = 0.31, nu2 = 1, C = 1, eps = 0.01, chi = 0.05, c1 = 0.3, c2 = 0.01",
    CALLER,
)
_DIPS = And(
    _least(28) < _least(1),
    _least(28) < _least(293),
    _least(1000) < _least(293),
)

BRANCHES = Theorem(
    id="dp2.S2.branches",
    title="The least branch can have two local minima",
    statement=_DIPS,
    kind=Kind.STRUCTURE,
    source=Source(PAPER, "optimal delay", Status.DERIVED),
    assumptions=(_INSTANCE,),
    steps=brief(
        inequality("dips", _DIPS, "instance"),
    ),
    explanation=(
        "An instance, with D1 the same at all delays, in which the bound falls to a minimum near "
        "s = 28, rises as long as staleness counts, and falls again from s = 293 to T = 1000, "
        "where C^2/eps has taken over. So each branch is minimised on its own range, or every s is "
        "looked at."
    ),
    models=branches_models,
    evaluations={"bound": certified(s), "gradient_term": moment_bound(s)},
)

THEOREMS: tuple[Theorem, ...] = (SATURATED, BRANCHES)
