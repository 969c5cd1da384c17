"""Private methods side by side: gradients as powers of the number of records."""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Implies, Rational, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.operators import Max, Min, Variable
from bounds.proof.step import at, inequality
from bounds.resque.private import rate
from bounds.resque.symbols import q_4, q_A, q_G, q_K, theta
from bounds.resque.tables import Row
from bounds.symbols import d, eps_dp, n
from bounds.theorem import Curve, Kind, Source, Status, Theorem

__all__ = ["EXPONENTS", "ROWS", "THEOREMS", "figure"]

QUERIES = "gradient queries"
VALUES = "value queries"


def _q(a: int, b: int = 1) -> Rational:
    return Rational(a, b)


afkt = Min(n ** _q(3, 2), n**2 / sqrt(d))
kll = Min(
    n ** _q(5, 4) * d ** _q(1, 8) * eps_dp ** _q(1, 4),
    n ** _q(3, 2) / d ** _q(1, 8) * eps_dp ** _q(3, 4),
)
gll = n * Min(d, n)

ROWS = (
    Row(
        "BFTT19",
        {"smooth losses": Min(n ** _q(3, 2), n ** _q(5, 2) / d), QUERIES: n ** _q(9, 2)},
        Status.STATED,
        "n^(9/2) for non-smooth losses is recalled; read is: at least quadratic",
    ),
    Row(
        "FKT20",
        {"smooth losses": Min(n, n**2 / d), QUERIES: n**2},
        Status.STATED,
        "for non-smooth losses read is: at least quadratic",
    ),
    Row("AFKT21", {QUERIES: afkt}, Status.RECALLED, "it meets the others at d = n^(4/3)"),
    Row(
        "KLL21",
        {QUERIES: kll},
        Status.STATED,
        "the powers of eps are recalled; both branches meet at d = n eps^2 with them",
    ),
    Row("GLL22", {VALUES: gll}, Status.STATED, "another oracle: function values"),
    Row("Theorem 4", {QUERIES: rate}, Status.DERIVED),
)

#: log(queries)/log(n) for d = n^theta and eps = 1.
EXPONENTS: dict[str, Any] = {
    "theorem4": Max(Min(1, 2 - theta), Min(_q(2, 3) * (1 + theta), _q(4, 3))),
    "afkt21": Min(_q(3, 2), 2 - theta / 2),
    "kll21": Min(_q(5, 4) + theta / 8, _q(3, 2) - theta / 8),
    "gll22": 1 + Min(theta, 1),
}
_t4, _afkt, _kll, _gll = EXPONENTS.values()
_MEET = _q(4, 3)


def figure(values: tuple[Any, ...] | None = None) -> dict[str, list[Any]]:
    """Data of the figure: exponents of n of the four methods.

    Parameters
    ----------
    values : tuple of numbers, optional
        Exponents theta >= 0 of the dimension, d = n^theta. Exact fractions give exact answers.

    Returns
    -------
    dict
        ``"theta"`` and one list per method.

    Raises
    ------
    ValueError
        For a negative theta.
    """
    if values is None:
        values = tuple(_q(k, 12) for k in range(25))
    for each in values:
        if not each >= 0:
            raise ValueError(f"theta = {each!r} is not allowed: >= 0")
    data: dict[str, list[Any]] = {"theta": list(values)}
    for name, expression in EXPONENTS.items():
        data[name] = [expression.subs(theta, each) for each in values]
    return data


def _is(symbol: Any, name: str, words: str) -> Assumption:
    return Assumption(name, Eq(symbol, EXPONENTS[name]), f"exponent of the row {words}", CODE)


_HALF = _q(1, 2)
#: Exact exponents, regime by regime.
_rows = And(
    Implies(theta <= _HALF, Eq(q_4, 1)),
    Implies(And(theta >= _HALF, theta <= 1), Eq(q_4, _q(2, 3) * (1 + theta))),
    Implies(theta >= 1, Eq(q_4, _MEET)),
    Implies(theta <= 1, And(Eq(q_A, _q(3, 2)), Eq(q_K, _q(5, 4) + theta / 8))),
    Implies(theta >= 1, And(Eq(q_A, 2 - theta / 2), Eq(q_K, _q(3, 2) - theta / 8))),
    Implies(theta <= 1, Eq(q_G, 1 + theta)),
    Implies(theta >= 1, Eq(q_G, 2)),
)
_regimes = And(
    _rows,
    Implies(Eq(theta, _MEET), And(Eq(q_4, q_A), Eq(q_4, q_K))),
    Implies(theta < _MEET, And(q_4 < q_A, q_4 < q_K)),
    Implies(theta > _MEET, And(q_A < q_4, q_K < q_4)),
    Implies(theta > 0, q_4 < q_G),
)

TABLE = Theorem(
    id="resque.table2",
    title="Private methods: exponents of the number of records",
    statement=_regimes,
    kind=Kind.RATE,
    source=Source(
        "carmon2023resque",
        "Table 2 and its figure",
        Status.DERIVED,
        "the row AFKT21 is recalled, and so are KLL21's powers of eps",
    ),
    assumptions=(
        _is(q_4, "theorem4", "Theorem 4"),
        _is(q_A, "afkt21", "AFKT21"),
        _is(q_K, "kll21", "KLL21"),
        _is(q_G, "gll22", "GLL22"),
    ),
    steps=(inequality("regimes", _regimes, "theorem4", "afkt21", "kll21", "gll22"),),
    explanation=(
        "With d = n^theta and eps = 1 every method needs n to some power, up to logarithms. The"
        " curves of AFKT21, KLL21 and Theorem 4 meet in one point, theta = 4/3: Theorem 4 needs"
        " fewest gradients whenever d is below n^(4/3), and more than both beyond. Against GLL22,"
        " which asks for function values, it has the smaller exponent for every theta > 0."
    ),
    evaluations={"bound": _t4, **EXPONENTS},
    curve=Curve(
        along="dimension_exponent",
        values=tuple(k / 12 for k in range(25)),
        fixed={},
        names=tuple(EXPONENTS),
    ),
    caveats=(
        "Exponents without constants and logarithms; the methods' oracles and losses differ.",
        "The row AFKT21 is recalled; that it meets the others at n^(4/3) is evidence, no proof.",
    ),
)

_at_theta = {d: n**theta, eps_dp: 1}
_count = rate.subs(_at_theta)
_powers = And(
    Eq(afkt.subs(_at_theta), n**_afkt),
    Eq(kll.subs(_at_theta), n**_kll),
    Eq(gll.subs(_at_theta), n**_gll),
    n**_t4 <= _count,
    _count <= 2 * n**_t4,
)

_a = Variable("a_")
_b = Variable("b_")


POWERS = Theorem(
    id="resque.table2.powers",
    title="From numbers of gradients to exponents",
    statement=_powers,
    kind=Kind.STRUCTURE,
    source=Source("carmon2023resque", "Table 2 and its figure", Status.DERIVED),
    steps=(
        inequality("least", Eq(Min(n**_a, n**_b), n ** Min(_a, _b))),
        inequality(
            "afkt21",
            Eq(afkt.subs(_at_theta), n**_afkt),
            at("least", {_a: _q(3, 2), _b: 2 - theta / 2}),
        ),
        inequality(
            "kll21",
            Eq(kll.subs(_at_theta), n**_kll),
            at("least", {_a: _q(5, 4) + theta / 8, _b: _q(3, 2) - theta / 8}),
        ),
        inequality(
            "gll22",
            Eq(gll.subs(_at_theta), n**_gll),
            at("least", {_a: theta, _b: 1}),
        ),
        inequality(
            "theorem4",
            And(n**_t4 <= _count, _count <= 2 * n**_t4),
            at("least", {_a: 1, _b: 2 - theta}),
            at("least", {_a: _q(2, 3) * (1 + theta), _b: _q(4, 3)}),
        ),
        inequality("powers", _powers, "afkt21", "kll21", "gll22", "theorem4"),
    ),
    explanation=(
        "For d = n^theta and eps = 1 the numbers of gradients of the rows are powers of n with the"
        " exponents of resque.table2; Theorem 4's, a sum of two terms, up to a factor of 2."
    ),
    evaluations={"bound": n**_t4},
    caveats=("Rows as in resque.table2: AFKT21 is recalled.",),
)

THEOREMS: tuple[Theorem, ...] = (TABLE, POWERS)
