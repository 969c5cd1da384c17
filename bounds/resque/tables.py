"""Parallel methods side by side: depth and gradients, and where one overtakes the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import And, Eq, Equivalent, Ge, Implies, Le, Rational

from bounds.operators import Variable
from bounds.proof.step import at, inequality
from bounds.resque.symbols import eps_opt
from bounds.symbols import d
from bounds.theorem import Curve, Kind, Source, Status, Theorem

__all__ = ["ROWS", "THEOREMS", "Row"]


@dataclass(frozen=True)
class Row:
    """One method of a table, in units with Lipschitz constant and radius 1, without logarithms.

    Attributes
    ----------
    name : str
    values : mapping of str to expression
        Column -> expression in parameters of the glossary.
    status : Status
        How the row is known.
    note : str
        What of it is recalled, if not all of it.
    """

    name: str
    values: dict[str, Any]
    status: Status
    note: str = ""


_THIRD, _QUARTER = Rational(1, 3), Rational(1, 4)

sgd = eps_opt**-2
smoothing = d**_QUARTER / eps_opt
ball = d**_THIRD * eps_opt ** (-2 * _THIRD)
ball_work = d ** (4 * _THIRD) * eps_opt ** (-2 * _THIRD)

DEPTH, WORK, QUERIES = "query depth", "computational depth", "total queries"

ROWS = (
    Row("SGD", {DEPTH: sgd, WORK: sgd, QUERIES: sgd}, Status.STATED),
    Row(
        "DBW12",
        {DEPTH: smoothing, WORK: smoothing, QUERIES: smoothing + sgd},
        Status.DERIVED,
        "derived from the recalled rate of accelerated stochastic approximation",
    ),
    Row(
        "BJL+19",
        {DEPTH: ball, WORK: ball_work, QUERIES: ball_work},
        Status.STATED,
        "the computational depth is recalled",
    ),
    Row("Theorem 1", {DEPTH: ball, WORK: sgd + ball, QUERIES: ball + sgd}, Status.DERIVED),
    Row("Theorem 2", {DEPTH: ball, WORK: smoothing + ball, QUERIES: ball + sgd}, Status.DERIVED),
)

_p = Variable("p_", positive=True)
_q = Variable("q_", positive=True)
#: p = d^(1/12), q = eps^(1/3).
_roots = {_p: d ** Rational(1, 12), _q: eps_opt**_THIRD}

_low = And(ball <= smoothing, smoothing <= sgd, smoothing + ball <= 2 * smoothing)
_high = And(sgd <= smoothing, smoothing <= ball)
_below = Implies(Le(eps_opt, d**-_QUARTER), _low)
_above = Implies(Ge(eps_opt, d**-_QUARTER), _high)
_mean = smoothing <= sgd / 4 + 3 * ball / 4
_cutting = Equivalent(ball_work <= sgd, Le(eps_opt, 1 / d))
_crossover = Implies(
    Eq(eps_opt, d**-_QUARTER),
    And(Eq(sgd, d ** Rational(1, 2)), Eq(smoothing, sgd), Eq(ball, sgd)),
)
_corner = Implies(Eq(eps_opt, 1 / d), And(Eq(ball_work, d**2), Eq(sgd, d**2), Eq(ball, d)))
_statement = And(_below, _above, _crossover, _mean, _cutting, _corner)

# The same in p and q: eps d^(1/4) = (q p)^3, sgd = q^-6, smoothing = p^3/q^3, ball = p^4/q^2.
_in_roots = {
    "sgd": _q**-6,
    "smoothing": _p**3 / _q**3,
    "ball": _p**4 / _q**2,
    "work": _p**16 / _q**2,
}

TABLE = Theorem(
    id="resque.table1",
    title="Parallel methods: depths, gradients and crossovers",
    statement=_statement,
    kind=Kind.RATE,
    source=Source(
        "carmon2023resque",
        "Table 1",
        Status.DERIVED,
        "crossovers are ours; DBW12's rate and BJL+19's computational depth are recalled",
    ),
    steps=(
        inequality(
            "small",
            Implies(
                _q**3 <= _p**-3,
                And(
                    _in_roots["ball"] <= _in_roots["smoothing"],
                    _in_roots["smoothing"] <= _in_roots["sgd"],
                ),
            ),
        ),
        inequality(
            "large",
            Implies(
                _q**3 >= _p**-3,
                And(
                    _in_roots["ball"] >= _in_roots["smoothing"],
                    _in_roots["smoothing"] >= _in_roots["sgd"],
                ),
            ),
        ),
        inequality("below", _below, at("small", _roots)),
        inequality("above", _above, at("large", _roots)),
        inequality("square", Implies(Eq(_q**3, _p**-3), Eq(_in_roots["sgd"], _p**6))),
        inequality(
            "crossover",
            _crossover,
            "below",
            "above",
            at("square", _roots),
        ),
        inequality(
            "mean",
            _in_roots["smoothing"] <= _in_roots["sgd"] / 4 + 3 * _in_roots["ball"] / 4,
            note="1/x <= 1/(4 x^4) + 3/4 at x = p q: (y - 1)^2 (y^2 + 2 y + 3) >= 0, y = 1/x",
        ),
        inequality("never-dominates", _mean, at("mean", _roots)),
        inequality(
            "twelfth",
            Equivalent(_in_roots["work"] <= _in_roots["sgd"], _q**3 <= _p**-12),
        ),
        inequality("cutting-planes", _cutting, at("twelfth", _roots)),
        inequality("root", Implies(Eq(_q**3, _p**-12), Eq(_q, _p**-4))),
        inequality(
            "corner-roots",
            Implies(
                Eq(_q, _p**-4),
                And(
                    Eq(_in_roots["work"], _p**24),
                    Eq(_in_roots["sgd"], _p**24),
                    Eq(_in_roots["ball"], _p**12),
                ),
            ),
        ),
        inequality("corner", _corner, at("root", _roots), at("corner-roots", _roots)),
        inequality(
            "all",
            _statement,
            "below",
            "above",
            "crossover",
            "never-dominates",
            "cutting-planes",
            "corner",
        ),
    ),
    explanation=(
        "Below eps = d^(-1/4) the ball methods have the least query depth, d^(1/3) eps^(-2/3), then"
        " randomized smoothing, then SGD; above, the order is reversed; at that point all are"
        " d^(1/2). Smoothing's depth is a geometric mean of the other two, so it never dominates"
        " the total. Down to eps = 1/d the work of SGD is below that of BJL+19; there the depth"
        " is d and cutting planes take over."
    ),
    evaluations={
        "bound": ball,
        "sgd": sgd,
        "smoothing": smoothing,
        "smoothing_total": smoothing + sgd,
        "highly_smooth_total": ball_work,
        "theorem1_total": ball + sgd,
        "theorem2_depth": smoothing + ball,
        "window_low": 1 / d,
        "window_high": d**-_QUARTER,
    },
    curve=Curve(
        along="accuracy",
        values=tuple(10 ** (-p / 4) for p in range(2, 17)),
        fixed={"dimension": 10_000},
        names=("bound", "smoothing", "sgd", "theorem1_total", "highly_smooth_total"),
        log_x=True,
        log_y=True,
    ),
    caveats=(
        "Rates without constants and logarithms, in units with Lipschitz constant and radius 1.",
        "Recalled: the rate behind DBW12 and the computational depth of BJL+19.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (TABLE,)
