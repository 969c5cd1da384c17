"""Moments of the difference of two weights at every order: the binomial theorem, proved here."""

from __future__ import annotations

import sympy
from sympy import Eq, Lambda, Sum, binomial, exp

from bounds.assumptions import CODE, Assumption
from bounds.operators import E, Index, Variable, deterministic
from bounds.proof.methods import Linearity
from bounds.proof.step import Induction, at, cite, expectation, identity, inequality
from bounds.resque import estimator_models
from bounds.resque.estimator_weight import PAIR, w_a, w_b
from bounds.resque.symbols import a_len, ab, b_len, j_ord, k_ord
from bounds.theorem import Kind, Source, Status, Theorem

n = Index("power")
k = Index("place")
m = Index("last")
x_ = Variable("x_", positive=True)
y_ = Variable("y_", positive=True)
seq = deterministic("ratio_sequence")
ratio = sympy.Symbol("ratio", real=True)

RATIO = Theorem(
    id="resque.E3.ratio",
    title="A sequence that grows by one factor is a power",
    statement=Eq(seq(n), ratio**n),
    kind=Kind.IDENTITY,
    source=Source("carmon2023resque", "moments of the density ratio", Status.DERIVED),
    assumptions=(
        Assumption("start", Eq(seq(1), ratio), "the first term is the factor", CODE),
        Assumption(
            "grows",
            Eq(seq(n + 1), ratio * seq(n)),
            "every term is the one before it, times the factor",
            CODE,
        ),
    ),
    steps=(inequality("power", Eq(seq(n), ratio**n), "start", "grows", induction=Induction(n)),),
    models=estimator_models.ratio,
    explanation=(
        "A lemma of the binomial theorem: what starts at a number and is multiplied by that "
        "number in every step is its power."
    ),
)


def _term(n: sympy.Expr, k: sympy.Expr) -> sympy.Expr:
    """Term k of (x - y)^n, k = 1, ..., n + 1."""
    return binomial(n, k - 1) * (-1) ** (k - 1) * x_ ** (n + 1 - k) * y_ ** (k - 1)


def _sum(n: sympy.Expr, m: sympy.Expr) -> sympy.Expr:
    return Sum(_term(n, k), (k, 1, m))


def _joint(j: sympy.Expr, k: sympy.Expr) -> sympy.Expr:
    """E(w_a^j w_b^k), as resque.E3 has it."""
    square = j**2 * a_len**2 + 2 * j * k * ab + k**2 * b_len**2
    return exp((square - j * a_len**2 - k * b_len**2) / 2)


_FACTOR = binomial(n, k - 1) * (-1) ** (k - 1)
_PRODUCT = E(w_a ** (n + 1 - k) * w_b ** (k - 1))
_TERMS = (k, 1, n + 1)
_STATEMENT = Eq(E((w_a - w_b) ** n), Sum(_FACTOR * _joint(n + 1 - k, k - 1), _TERMS))

ORDERS = Theorem(
    id="resque.E3.orders",
    title="Moments of the difference of two weights at every order",
    statement=_STATEMENT,
    kind=Kind.IDENTITY,
    source=Source("carmon2023resque", "moments of the density ratio", Status.DERIVED),
    assumptions=PAIR,
    steps=(
        identity(
            "term",
            Eq(_term(n + 1, k + 1), x_ * _term(n, k + 1) - y_ * _term(n, k)),
            note="Pascal's rule",
        ),
        expectation(
            "terms",
            Eq(
                Sum(_term(n + 1, k + 1), _TERMS),
                x_ * Sum(_term(n, k + 1), _TERMS) - y_ * _sum(n, n + 1),
            ),
            "term",
            by=Linearity(over=(_TERMS,)),
        ),
        identity(
            "first",
            Eq(_sum(n, m + 1), x_**n + Sum(_term(n, k + 1), (k, 1, m))),
            induction=Induction(m),
            note="the first term split off",
        ),
        identity(
            "last",
            Eq(_sum(n, m + 1), _sum(n, m) + _term(n, m + 1)),
            induction=Induction(m),
            note="the last term split off",
        ),
        inequality(
            "step",
            Eq(_sum(n + 1, n + 2), (x_ - y_) * _sum(n, n + 1)),
            "terms",
            at("first", {n: n + 1, m: n + 1}),
            at("first", {m: n + 1}),
            at("last", {m: n + 1}),
        ),
        identity("one", Eq(_sum(1, 2), x_ - y_), evaluate=True),
        inequality(
            "binomial",
            Eq(_sum(n, n + 1), (x_ - y_) ** n),
            cite("resque.E3.ratio", {seq: Lambda(n, _sum(n, n + 1)), ratio: x_ - y_}),
            note="the binomial theorem",
        ),
        expectation(
            "mean",
            Eq(E((w_a - w_b) ** n), Sum(_FACTOR * _PRODUCT, _TERMS)),
            at("binomial", {x_: w_a, y_: w_b}),
            by=Linearity(over=(E,)),
        ),
        inequality(
            "joint",
            Eq(_FACTOR * _PRODUCT, _FACTOR * _joint(n + 1 - k, k - 1)),
            cite("resque.E3", {j_ord: n + 1 - k, k_ord: k - 1}),
        ),
        expectation(
            "joints",
            Eq(Sum(_FACTOR * _PRODUCT, _TERMS), _STATEMENT.rhs),
            "joint",
            by=Linearity(over=(_TERMS,)),
        ),
        inequality("orders", _STATEMENT, "mean", "joints"),
    ),
    explanation=(
        "For every whole number n, E(w_a - w_b)^n is the alternating binomial sum of the joint "
        "moments of resque.E3. At even n = p it is the p-th power of the p-norm of the difference, "
        "which resque.E6 bounds."
    ),
    caveats=(
        "The sum cancels: in double precision it has no correct digit from order 8 on. "
        "`bounds.resque.estimator_moments.difference_moment` computes it with the digits it needs.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (RATIO, ORDERS)
