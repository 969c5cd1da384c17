"""The binomial theorem, with its first two terms apart: a lemma of the drift at whole orders."""

from __future__ import annotations

import sympy
from sympy import Eq, Lambda, Sum, binomial

from bounds.operators import Index, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import Induction, at, cite, expectation, identity, inequality
from bounds.resque.estimator_orders import ratio, seq
from bounds.theorem import Kind, Source, Status, Theorem

n = Index("power")
k = Index("place")
m = Index("last")
j = Index("part")
X_ = Variable("X_", positive=True)
Y_ = Variable("Y_", positive=True)


def _term(n: sympy.Expr, k: sympy.Expr) -> sympy.Expr:
    """Term k of (X + Y)^n, k = 1, ..., n + 1."""
    return binomial(n, k - 1) * X_ ** (n + 1 - k) * Y_ ** (k - 1)


def _sum(n: sympy.Expr, m: sympy.Expr) -> sympy.Expr:
    return Sum(_term(n, k), (k, 1, m))


def higher_powers(n: sympy.Expr, x: sympy.Expr, y: sympy.Expr) -> sympy.Expr:
    """The terms of (x + y)^(n + 1) from y^2 on."""
    return Sum(binomial(n + 1, j + 1) * x ** (n - j) * y ** (j + 1), (j, 1, n))


_TERMS = (k, 1, n + 1)
_STATEMENT = Eq(
    (X_ + Y_) ** (n + 1), X_ ** (n + 1) + (n + 1) * X_**n * Y_ + higher_powers(n, X_, Y_)
)

BINOMIAL = Theorem(
    id="resque.drift.binomial",
    title="The binomial theorem, with its first two terms apart",
    statement=_STATEMENT,
    kind=Kind.IDENTITY,
    source=Source("carmon2023resque", "Lemma 5", Status.DERIVED, "our own lemma for it"),
    steps=(
        identity(
            "term",
            Eq(_term(n + 1, k + 1), X_ * _term(n, k + 1) + Y_ * _term(n, k)),
            note="Pascal's rule",
        ),
        expectation(
            "terms",
            Eq(
                Sum(_term(n + 1, k + 1), _TERMS),
                X_ * Sum(_term(n, k + 1), _TERMS) + Y_ * _sum(n, n + 1),
            ),
            "term",
            by=Linearity(over=(_TERMS,)),
        ),
        identity(
            "first",
            Eq(_sum(n, m + 1), X_**n + Sum(_term(n, k + 1), (k, 1, m))),
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
            Eq(_sum(n + 1, n + 2), (X_ + Y_) * _sum(n, n + 1)),
            "terms",
            at("first", {n: n + 1, m: n + 1}),
            at("first", {m: n + 1}),
            at("last", {m: n + 1}),
        ),
        identity("one", Eq(_sum(1, 2), X_ + Y_), evaluate=True),
        inequality(
            "binomial",
            Eq(_sum(n, n + 1), (X_ + Y_) ** n),
            cite("resque.E3.ratio", {seq: Lambda(n, _sum(n, n + 1)), ratio: X_ + Y_}),
            note="the binomial theorem",
        ),
        identity(
            "two",
            Eq(
                _sum(n + 1, m + 2),
                X_ ** (n + 1) + (n + 1) * X_**n * Y_ + Sum(_term(n + 1, k + 2), (k, 1, m)),
            ),
            induction=Induction(m),
            note="the first two terms split off",
        ),
        inequality("whole", _STATEMENT, at("binomial", {n: n + 1}), at("two", {m: n})),
    ),
    explanation=(
        "A lemma of resque.drift.powers: the power of a sum is its first two terms and the sum of "
        "the others, in which the second number has at least the power 2."
    ),
)

THEOREMS: tuple[Theorem, ...] = (BINOMIAL,)
