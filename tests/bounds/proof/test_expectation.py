"""The five rules of expectation: what they accept, and broken variants that they refuse."""

from __future__ import annotations

import pytest
from sympy import (
    Abs,
    Eq,
    Implies,
    Integral,
    Lambda,
    Le,
    Sum,
    exp,
    log,
    oo,
    pi,
    sqrt,
)

from bounds.dp2.symbols import C, D, N, X, a, g, grad, m, nu1, w
from bounds.operators import Conditional, E, Independent
from bounds.proof.methods import CauchySchwarz, Integrate, Jensen, Linearity, Tower, ZeroMean
from bounds.proof.quadrature import numerically_nonzero
from bounds.proof.step import expectation as expected
from bounds.proof.step import identity as equal
from bounds.symbols import T, d, i, j, k, t
from tests.bounds.proof.rules import accepted, check, p, refused, x, y, z


def test_linearity():
    accepted(
        expected("sum", Eq(E(2 * X(t, j) + w(t, j)), 2 * E(X(t, j)) + E(w(t, j))), by=Linearity())
    )
    refused(expected("prod", Eq(E(X(t, j) * w(t, j)), E(X(t, j)) * E(w(t, j))), by=Linearity()))


@pytest.mark.parametrize("bound", [C * d, C * d / 2])
def test_monotonicity_over_a_sum(bound):
    claim = Le(Sum(E(Abs(g(t, j))), (j, 1, d)), bound)
    outcome = check(expected("sum", claim, by=Linearity(over=(E, (j, 1, d)))), Le(Abs(g(t, j)), C))
    assert outcome.ok == (bound == C * d)


def test_a_guard_must_follow_from_the_limits():
    premise = Implies(t >= 2, Le(E(w(t, j)), 1))
    late = Le(Sum(E(w(t, j)), (t, 2, T)), T - 1)
    all_ = Le(Sum(E(w(t, j)), (t, 1, T)), T)
    accepted(expected("late", late, by=Linearity(over=((t, 2, T),))), premise)
    refused(expected("all", all_, by=Linearity(over=((t, 1, T),))), premise, says="do not imply")


def test_an_antecedent_cannot_speak_of_the_bound_index():
    premise = Implies(t >= 2, Le(E(w(t, j)), 1))
    claim = Implies(t >= 2, Le(Sum(E(w(t, j)), (t, 1, T)), T))
    step = expected("cheat", claim, by=Linearity(over=((t, 1, T),)))
    refused(step, premise, says="bound index")


def test_a_random_guard_is_refused():
    premise = Implies(w(t, j) >= 0, Le(X(t, j), 1))
    step = expected("cheat", Le(E(X(t, j)), 1), by=Linearity(over=(E,)))
    refused(step, premise, says="random")


def test_integrals_are_monotone():
    premise = Implies(z >= 1, Le(4 / (z + 1) ** 2, 1 / z))
    sides = [Integral(each, (z, 1, p)) for each in premise.args[1].args]
    by = Linearity(over=(Integrate(z, 1, p),))
    accepted(expected("int", Implies(p >= 1, Le(*sides)), by=by), premise)
    refused(expected("int", Implies(p >= 1, Le(*reversed(sides))), by=by), premise)
    refused(expected("int", Le(*sides), by=by), premise, says="not known")


FRESH = Independent(N(t, j), w(t, i), g(t, i))
MEAN, SECOND = Eq(E(N(t, j)), 0), Eq(E(N(t, j) ** 2), nu1**2)


def test_zero_mean_factor():
    accepted(expected("zero", Eq(E(w(t, 1) * g(t, j) * N(t, j)), 0), by=ZeroMean()), FRESH, MEAN)
    second = Eq(E(w(t, j) * N(t, j) ** 2), nu1**2 * E(w(t, j)))
    accepted(expected("square", second, by=ZeroMean()), FRESH, SECOND)
    # The next iterate contains the noise of this step: this is the step under dependence.
    refused(expected("late", Eq(E(w(t + 1, j) * N(t, j)), 0), by=ZeroMean()), FRESH, MEAN)
    refused(expected("other", Eq(E(X(t, j) * N(t, j)), 0), by=ZeroMean()), FRESH, MEAN)
    refused(expected("none", Eq(E(w(t, 1) * N(t, j)), 0), by=ZeroMean()), MEAN)
    refused(expected("none", Eq(E(w(t, 1) * N(t, j)), 0), by=ZeroMean()), FRESH)


UNBIASED = Conditional(g(t, j), grad(t, j), w(t, i))


def test_tower():
    accepted(expected("t", Eq(E(w(t, 1) * g(t, j)), E(w(t, 1) * grad(t, j))), by=Tower()), UNBIASED)
    refused(expected("t", Eq(E(D(t, 1) * g(t, j)), E(D(t, 1) * grad(t, j))), by=Tower()), UNBIASED)
    refused(expected("t", Eq(E(g(t, j) ** 2), E(grad(t, j) ** 2)), by=Tower()), UNBIASED)


ABS = Lambda(x, Abs(x))


def test_jensen():
    accepted(expected("j", Le(Abs(E(X(t, j))), E(Abs(X(t, j)))), by=Jensen(ABS, X(t, j))))
    refused(expected("j", Le(E(Abs(X(t, j))), Abs(E(X(t, j)))), by=Jensen(ABS, X(t, j))))
    root = Lambda(z, sqrt(z))
    accepted(expected("r", Le(E(sqrt(D(t, j))), sqrt(E(D(t, j)))), by=Jensen(root, D(t, j))))
    refused(expected("r", Le(sqrt(E(D(t, j))), E(sqrt(D(t, j)))), by=Jensen(root, D(t, j))))
    refused(expected("d", Le(E(sqrt(X(t, j))), sqrt(E(X(t, j)))), by=Jensen(root, X(t, j))))


def test_jensen_given_the_past():
    claim = Le(E(Abs(grad(t, j))), E(Abs(g(t, j))))
    accepted(expected("c", claim, by=Jensen(ABS, g(t, j))), UNBIASED)
    refused(expected("c", claim, by=Jensen(ABS, g(t, j))))


def test_jensen_wants_one_fixed_function():
    shifted = Lambda(x, Abs(x - w(t, j)))
    claim = Le(E(Abs(E(X(t, j)) - w(t, j))), E(Abs(X(t, j) - w(t, j))))
    refused(expected("f", claim, by=Jensen(shifted, X(t, j), over=E)), says="random")
    weights = Lambda(x, a(t) * x**2)
    unit = Eq(Sum(a(t), (t, 1, T)), 1)
    claim = Le(a(t) * Sum(a(t) * m(t), (t, 1, T)) ** 2, Sum(a(t) ** 2 * m(t) ** 2, (t, 1, T)))
    refused(expected("w", claim, by=Jensen(weights, m(t), over=(a(t), (t, 1, T)))), unit)


def test_jensen_over_weights():
    square = Lambda(x, x**2)
    unit = Eq(Sum(a(t), (t, 1, T)), 1)
    claim = Le(Sum(a(t) * m(t), (t, 1, T)) ** 2, Sum(a(t) * m(t) ** 2, (t, 1, T)))
    step = expected("w", claim, by=Jensen(square, m(t), over=(a(t), (t, 1, T))))
    accepted(step, unit)
    refused(step, says="add up to 1")


def test_cauchy_schwarz():
    over = ((j, 1, d),)
    product = Sum(g(t, j) * w(t, j), (j, 1, d))
    first, second = Sum(g(t, j) ** 2, (j, 1, d)), Sum(w(t, j) ** 2, (j, 1, d))
    by = CauchySchwarz(g(t, j), w(t, j), over)
    accepted(expected("cs", Le(product**2, first * second), by=by))
    accepted(expected("cs", Le(product, sqrt(first) * sqrt(second)), by=by))
    refused(expected("cs", Le(product**2, first * second / 2), by=by))
    refused(expected("cs", Le(first * second, product**2), by=by))


def test_jensen_does_not_cross_a_pole():
    inverse = Lambda(x, x**-2)
    claim = Le(E(X(t, j)) ** -2, E(X(t, j) ** -2))  # X = 1 or -1 breaks it
    refused(expected("pole", claim, by=Jensen(inverse, X(t, j))), says="is not known")
    claim = Le(1 / E(D(t, j)), E(1 / D(t, j)))
    accepted(expected("pos", claim, by=Jensen(Lambda(z, 1 / z), D(t, j))))


def test_a_sum_without_terms_is_zero_never_negative():
    step = expected("short", Le(0, T - 3), by=Linearity(over=((t, 1, T - 3),)))
    refused(step, Le(0, Sum(1, (i, 1, 1))))
    refused(equal("count", Eq(Sum(t, (t, 1, T - 3)), (T - 3) * (T - 2) / 2), evaluate=True))
    accepted(equal("count", Eq(Sum(t, (t, 1, T - 1)), T * (T - 1) / 2), evaluate=True))


def test_no_sixth_rule():
    refused(expected("six", Le(E(X(t, j)), 1), by="because"), says="none of the five")


def test_sums_start_at_one():
    step = expected("zero", Le(Sum(m(k), (k, 0, T)), T + 1), by=Linearity(over=((k, 0, T),)))
    refused(step, Le(m(k), 1), says="starts at 1")


def test_sympy_does_not_integrate_across_a_pole():
    claim = Eq(Integral(1 / x, (x, y, p)), log(p) - log(y))
    refused(equal("log", claim, evaluate=True), says="y > 0 is not known")
    claim = Eq(Integral(1 / x, (x, -1, p)), log(p))
    refused(equal("log", claim, evaluate=True), says="may be 0 between the limits")
    claim = Eq(Integral(1 / x, (x, z, p)), log(p) - log(z))
    accepted(equal("log", claim, evaluate=True))


@pytest.mark.parametrize("factor", [1, 2])
def test_sympy_is_not_trusted_on_integrals_alone(factor):
    integral = Integral(exp(-z * x**2), (x, -oo, oo))
    found = numerically_nonzero(integral - factor * sqrt(pi / z))
    assert ("left - right is about" in found) == (factor == 2)
