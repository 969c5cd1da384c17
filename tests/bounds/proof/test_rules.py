"""Each rule accepts what is true and refuses its broken variant."""

from __future__ import annotations

import pytest
from sympy import (
    Abs,
    And,
    Derivative,
    Eq,
    Implies,
    Integral,
    Lambda,
    Le,
    Piecewise,
    Rational,
    Sum,
    erf,
    exp,
    floor,
    log,
    oo,
    pi,
    sqrt,
)

from bounds.dp2.symbols import C, D, N, X, a, alpha, eps, g, grad, m, nu1, s, tau, u, v, w
from bounds.operators import Conditional, E, Independent, RandomVariable, StandardNormal, Variable
from bounds.proof import enclosure, expectation, identity, rational
from bounds.proof.methods import CauchySchwarz, Integrate, Jensen, Linearity, Tower, ZeroMean
from bounds.proof.quadrature import numerically_nonzero
from bounds.proof.step import Induction, Rule, Step, enclosed, inequality
from bounds.proof.step import expectation as expected
from bounds.proof.step import identity as equal
from bounds.symbols import T, d, i, j, k, t

x, y = Variable("x"), Variable("y")
z = Variable("z", positive=True)
p = Variable("p", positive=True)
Z = RandomVariable("Z")
CHECK = {
    Rule.SYMPY: identity.check,
    Rule.Z3: rational.check,
    Rule.BALL: enclosure.check,
    Rule.EXPECTATION: expectation.check,
}


def check(step: Step, *premises):
    return CHECK[step.rule](step, list(premises))


def accepted(step, *premises):
    outcome = check(step, *premises)
    assert outcome.ok, outcome.message


def refused(step, *premises, says=""):
    outcome = check(step, *premises)
    assert not outcome.ok
    assert says in outcome.message
    return outcome.message


# --- sympy


ABEL = Sum(a(t) * (m(t) - m(t + 1)), (t, 1, T))


def abel(last):
    inner = Sum((a(t + 1) - a(t)) * last, (t, 1, T - 1))
    return Eq(ABEL, a(1) * m(1) - a(T) * m(T + 1) + inner)


def test_abel_summation_by_induction():
    accepted(equal("abel", abel(m(t + 1)), induction=Induction(T)))
    refused(equal("abel", abel(m(t)), induction=Induction(T)), says="from T to T + 1")


@pytest.mark.parametrize("factor", [1, Rational(1, 2)])
def test_gaussian_moment(factor):
    claim = Eq(E(exp(x * (z * Z - z**2 / 2))), exp(factor * x * (x - 1) * z**2 / 2))
    step = equal("moment", claim, evaluate=True)
    if factor == 1:
        accepted(step, StandardNormal(Z))
    else:
        refused(step, StandardNormal(Z))
    refused(step)  # without the law of Z nothing is known


@pytest.mark.parametrize("sign", [1, -1])
def test_folded_normal_from_two_cases(sign):
    folded = E(Piecewise((x + tau * Z, -x / tau < Z), (-x - tau * Z, True)))
    value = tau * sqrt(2 / pi) * exp(-(x**2) / (2 * tau**2)) + sign * x * erf(x / (tau * sqrt(2)))
    outcome = check(equal("folded", Eq(folded, value), evaluate=True), StandardNormal(Z))
    assert outcome.ok == (sign == 1)


def test_equations_are_put_in():
    claim = Eq(v(t + 1, j), v(t, j) / 2 + X(t, j) ** 2 / 2)
    rule = Eq(v(t + 1, j), (v(t, j) + X(t, j) ** 2) / 2)
    accepted(equal("ema", claim), rule)
    refused(equal("ema", claim))


def test_shift_of_an_integral():
    left = Integral(m(x) * exp(-((x - y) ** 2) / 2), (x, -oo, oo))
    right = Integral(m(x + y) * exp(-(x**2) / 2), (x, -oo, oo))
    accepted(equal("shift", Eq(left, right), substitute={x: x + y}))
    refused(equal("shift", Eq(left, right), substitute={x: x - y}))
    refused(equal("shift", Eq(left, right), substitute={x: 2 * x + y}), says="no shift")


def test_an_antiderivative_is_checked():
    left = Integral(y * exp(x * y), (x, 0, 1))
    accepted(equal("ftc", Eq(left, exp(y) - 1), antiderivative=Lambda(x, exp(x * y))))
    refused(
        equal("ftc", Eq(left, 2 * exp(y) - 2), antiderivative=Lambda(x, 2 * exp(x * y))),
        says="antiderivative is wrong",
    )
    refused(
        equal("ftc", Eq(left, exp(y) - 1), antiderivative=Lambda(x, exp(x * y) + floor(x))),
        says="smooth",
    )


def test_derivatives_are_carried_out():
    accepted(equal("slope", Eq(Derivative(z * log(z), z), log(z) + 1), evaluate=True))
    refused(equal("slope", Eq(Derivative(z * log(z), z), log(z)), evaluate=True))


def test_an_identity_is_an_equation():
    refused(equal("le", Le(x, x + 1)), says="Eq(left, right)")


# --- z3


@pytest.mark.parametrize("constant", [1, Rational(99, 100)])
def test_pointwise_bound_and_its_counter_model(constant):
    claim = Implies(And(D(t, j) >= eps, Abs(x) <= C), x**2 / D(t, j) <= constant * C * Abs(x) / eps)
    if constant == 1:
        accepted(inequality("g", claim))
    else:
        assert "counter-model" in refused(inequality("g", claim))


def test_square_roots_are_exact():
    accepted(inequality("root", sqrt(x**2 + y**2) <= Abs(x) + Abs(y)))
    refused(inequality("root", sqrt(x**2 + y**2) <= Abs(x)))


def test_floors():
    same = Eq(floor(2 * x), floor(x) + floor(x + Rational(1, 2)))
    wrong = Eq(floor(3 * x), floor(x) + floor(x + Rational(1, 2)))
    assert "counter-model" in refused(inequality("hermite", wrong, integers=True))
    # z3 runs out of its budget here, and that is no proof.
    assert not rational.prove([], same, integers=True, budget=1000).ok


def test_a_spent_budget_is_no_proof():
    outcome = rational.prove([], Le(x * y * z, (x**2 + y**2) ** 3 + z**6 + 1), budget=10)
    assert not outcome.ok
    assert "no proof" in outcome.message


@pytest.mark.parametrize("constant", [2, Rational(3, 2)])
def test_sum_of_inverse_roots_by_induction(constant):
    claim = Le(Sum(1 / sqrt(t), (t, 1, T)), constant * sqrt(T))
    outcome = check(inequality("roots", claim, induction=Induction(T)))
    assert outcome.ok == (constant == 2)


def test_induction_does_not_use_premises_about_one_parameter():
    claim = Le(Sum(m(t), (t, 1, T)), T)
    step = inequality("sum", claim, induction=Induction(T))
    refused(step, Le(m(T), 1), says="this one T")
    general = Le(Sum(m(i), (i, 1, t)), t)
    accepted(inequality("sum", general, induction=Induction(t)), Le(m(t), 1))
    refused(inequality("sum", general, induction=Induction(t)), Le(m(t), 2))


def test_unknowns_with_equal_arguments_are_equal():
    early, late = floor((t - 1) / s) + 1, floor(t / s) + 1
    claim = Eq(E(v(early, j)), E(v(late, j)))
    accepted(inequality("same", claim), Eq(floor(t / s), floor((t - 1) / s)))
    refused(inequality("same", claim))


def test_powers_are_monotone():
    claim = Le(alpha ** (-floor(1 / u)), alpha ** (-(2 + u) / (2 * u)))
    accepted(inequality("relax", claim), Le(alpha, 1))
    refused(inequality("relax", claim))  # false for alpha > 1
    refused(inequality("relax", Le(claim.rhs, claim.lhs)), Le(alpha, 1))


@pytest.mark.parametrize("function", [exp, erf])
def test_increasing_functions(function):
    accepted(inequality("up", Implies(x <= y, function(x) <= function(y))))
    refused(inequality("up", Implies(x <= y, function(y) <= function(x))))


def test_numbers_are_known_outwards():
    accepted(
        inequality(
            "pi",
            Le(x, 4 * z),
        ),
        Le(x, pi * z),
    )
    refused(inequality("pi", Le(x, 3 * z)), Le(x, pi * z))


def test_integers_that_differ_differ_by_one():
    accepted(inequality("next", Implies(And(j <= t + 1, j > t), Eq(j, t + 1))))
    accepted(inequality("next", Implies(i < j, i + 1 <= j), integers=True))
    refused(inequality("next", Implies(And(x <= y + 1, x > y), Eq(x, y + 1))))
    refused(inequality("next", Implies(i < j, i + 2 <= j)))


def test_division_by_what_may_be_zero_proves_nothing():
    refused(inequality("cancel", Le(1 / x, 1 / y)), Le(y, x))


# --- balls


def test_an_enclosure_and_a_violating_point():
    box = And(x >= 1, x <= 4)
    accepted(enclosed("log", Implies(box, 2 * log(x) < x)))
    assert "false at x =" in refused(enclosed("log", Implies(box, 2 * log(x) < x - Rational(2, 3))))


def test_a_touching_inequality_is_not_decided():
    step = enclosed("touch", Implies(And(x >= 1, x <= 2), log(x) < x - 1))
    step = Step(step.id, step.rule, step.conclusion, by=type(step.by)(budget=200))
    refused(step, says="no proof")


def test_a_box_has_ends():
    refused(enclosed("open", Implies(x >= 1, log(x) < x)), says="no finite range")
    accepted(enclosed("open", Implies(x >= 1, log(x) < x)), Le(x, 2))


# --- expectation


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
    refused(expected("pole", claim, by=Jensen(inverse, X(t, j))), says="not seen to be convex")
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
