"""Counterexamples: found where there are some, none where a statement is true."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from sympy import And, Eq, Ge, Implies, Le, Lt, Rational, Sum, exp, floor, log, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.symbols import C, K, M, N, R, alpha, beta, c1, c2, eps, eta, nu1, s
from bounds.model import Model
from bounds.operators import E, Index, Max, Min, Variable
from bounds.symbols import T, j, t
from bounds.theorem import Kind, Source, Theorem

x, y = Variable("x"), Variable("y")
p, q = Variable("p", positive=True), Variable("q", positive=True)


def claim(statement: sympy.Basic, *assumptions: sympy.Basic, models: object = None) -> Theorem:
    return Theorem(
        id="made.claim",
        title="made",
        statement=statement,
        kind=Kind.UPPER,
        source=Source("li2023dp2", "none"),
        assumptions=tuple(
            Assumption(f"a{at}", each, "made", CODE) for at, each in enumerate(assumptions)
        ),
        models=models,  # type: ignore[arg-type]
    )


TRUE = [
    (2 * x * y <= x**2 + y**2, ()),
    (sqrt(p * q) <= (p + q) / 2, ()),
    (floor(p) <= p, ()),
    (p * log(p) >= p - 1, ()),
    (alpha**-1 >= 1, (alpha <= Min(eps, 1),)),
    (Implies(And(x >= 1, y >= 1), x * y >= 1), ()),
    (Eq(floor((T - 1) / s) + 1, sympy.ceiling(T / s)), ()),
    (K <= T, (Eq(K, sympy.ceiling(T / s)),)),
    (Le(exp(-(x**2)), 1), ()),
]
FALSE = [
    (2 * x * y <= (x**2 + y**2) / 2, ()),
    (sqrt(p * q) <= (p + q) / 2 - Rational(1, 100), ()),
    (p * log(p) >= (p - 1) / 2, ()),
    (alpha**-1 >= 1 / eps, (alpha <= 1,)),
    (Eq(floor(T / s) + 1, sympy.ceiling(T / s)), ()),
    (K <= T / 2, (Eq(K, sympy.ceiling(T / s)),)),
    (Implies(And(x >= 1, y >= 1), x * y >= 2), ()),
    # True by a hair's breadth everywhere but near one point.
    (p**3 - 3 * p + 2 >= Rational(1, 1000), ()),
    # Only where two bounds are tight at once.
    (alpha * (sqrt(M) + eps) <= Rational(99, 100), (alpha <= 1 / (sqrt(M) + eps), alpha <= 1)),
]


@pytest.mark.parametrize(("statement", "assumptions"), TRUE)
def test_true_statements_have_none(statement: sympy.Basic, assumptions: tuple) -> None:
    for seed in range(3):
        assert claim(statement, *assumptions).counterexample(seed=seed) is None


@pytest.mark.parametrize(("statement", "assumptions"), FALSE)
def test_false_statements_have_one(statement: sympy.Basic, assumptions: tuple) -> None:
    found = claim(statement, *assumptions).counterexample()
    assert found is not None
    assert found.margin < 0
    assert found.relation.lhs != found.relation.rhs
    text = found.describe()
    assert "made.claim: the assumptions hold and the statement fails" in text
    assert "left  = " in text
    assert "right = " in text
    assert found.to_json()["model"] is None


def test_both_sides_have_fifty_digits() -> None:
    found = claim(sqrt(p) <= 1 + p / 4).counterexample()
    assert found is None
    found = claim(sqrt(p) <= 1 + p / 5).counterexample()
    assert found is not None
    value = Fraction(found.at["p"])
    with mpmath.workdps(60):
        exact = mpmath.mpf(value.numerator) / value.denominator
        assert abs(mpmath.sqrt(exact) - mpmath.mpf(str(found.left))) < mpmath.mpf(10) ** -47
        assert abs(1 + exact / 5 - mpmath.mpf(str(found.right))) < mpmath.mpf(10) ** -47
    assert found.left > found.right


def test_assumptions_filter_and_dropping_one_shows() -> None:
    theorem = claim(alpha * M <= C, alpha <= Min(eps, C / M), eps <= 2)
    assert theorem.counterexample() is None
    found = theorem.without_assumption("a0").counterexample()
    assert found is not None
    assert found.at["alpha"] * found.at["M"] > found.at["C"]
    assert found.at["eps"] <= 2


def test_the_same_seed_finds_the_same() -> None:
    theorem = claim(c1 + c2 * s <= 3 * c1)
    first, second = theorem.counterexample(seed=4), theorem.counterexample(seed=4)
    assert first is not None
    assert second is not None
    assert first.at == second.at


@pytest.mark.parametrize("tries", [0, -1, 2.5, True])
def test_the_number_of_tries_is_checked(tries: object) -> None:
    with pytest.raises(ValueError, match=r"tries = .* is not allowed: integer >= 1"):
        claim(p > 0).counterexample(tries=tries)  # type: ignore[arg-type]


def signs(rng: np.random.Generator) -> Iterator[Model]:
    """Noise of mean zero; noise with a mean."""
    for shift in (0.0, 1.0):
        noise = nu * np.array([[[-1.0, 1.0]], [[-1.0, 1.0]]]) + shift if (nu := rng.random()) else 0
        yield Model({nu1: nu, T: 2}, {"N": noise})


def test_models_are_tried_and_filtered() -> None:
    mean, variance = Eq(E(N(t, j)), 0), Eq(E(N(t, j) ** 2), nu1**2)
    theorem = claim(Eq(Sum(E(N(t, j) ** 2), (t, 1, T)), T * nu1**2), mean, variance, models=signs)
    assert theorem.counterexample() is None
    assert theorem.without_assumption("a0").counterexample() is None  # the mean is not needed
    found = theorem.without_assumption("a1").without_assumption("a0").counterexample()
    assert found is not None
    assert found.model is not None
    assert "N, shape (2, 1, 2)" in found.describe()
    assert found.at == {"j": 1.0}
    halved = theorem.with_statement(
        Le(Sum(E(N(t, j) ** 2), (t, 1, T)), T * nu1**2 / 2)
    ).counterexample()
    assert halved is not None
    assert halved.left == pytest.approx(2 * halved.right)


def test_a_model_that_lacks_a_value_is_an_error() -> None:
    theorem = claim(Le(E(N(t, j)), R), models=lambda rng: iter([Model({}, {"N": [[[1.0, 2.0]]]})]))
    with pytest.raises(ValueError, match="no value for R"):
        theorem.counterexample()


def test_statements_on_processes_without_models_are_left_alone() -> None:
    assert claim(Le(E(N(t, j)), -1)).counterexample() is None


def test_points_respect_the_domains() -> None:
    k = Index("k")
    for statement in (beta < 1, beta >= 0, alpha <= 1, alpha > 0, Ge(k, 1), Ge(s, 1), eta > 0):
        assert claim(statement).counterexample() is None
    for statement in (beta <= 1 - beta, Ge(k, 2), Lt(alpha, 1), Max(eta, 1) <= 1):
        found = claim(statement).counterexample()
        if statement == Lt(alpha, 1):
            assert found is not None
            assert found.at["alpha"] == 1
        else:
            assert found is not None
