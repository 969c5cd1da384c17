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

from bounds.dp2.symbols import C, D, X, a, alpha, eps, m, s, tau, u, v
from bounds.operators import E, StandardNormal
from bounds.proof import rational
from bounds.proof.step import Induction, Step, enclosed, inequality
from bounds.proof.step import identity as equal
from bounds.symbols import T, i, j, t
from tests.bounds.proof.rules import Z, accepted, check, refused, x, y, z

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
