"""False sentences that honest-looking steps once led to: each is refused, and says why."""

from __future__ import annotations

import pytest
import sympy
from sympy import (
    Abs,
    Derivative,
    Eq,
    Implies,
    Integral,
    Lambda,
    Le,
    Limit,
    Ne,
    Piecewise,
    Sum,
    cos,
    exp,
    factorial,
    gamma,
    log,
    oo,
    sign,
    sqrt,
    tan,
)

from bounds.assumptions import Assumption
from bounds.operators import (
    Conditional,
    E,
    Index,
    Variable,
    deterministic,
    random_process,
)
from bounds.proof.methods import CauchySchwarz, Integrate, Jensen, Linearity, Tower
from bounds.proof.replay import replay
from bounds.proof.step import Induction, at, cite, expectation, identity, inequality
from bounds.theorem import Kind, Source, Theorem

SOURCE = Source("li2023dp2", "")
x, y = Variable("x"), Variable("y")
t, k = Index("t"), Index("k")
c, eta = sympy.Symbol("test_c", real=True), sympy.Symbol("test_eta", real=True)
K, T = (sympy.Symbol(name, integer=True, positive=True) for name in ("test_K", "test_T"))
a, b, f = (deterministic(f"test_{name}") for name in "abf")
q = deterministic("test_q", positive=True)
X, N, w, u, v = (random_process(f"test_{name}_") for name in ("X", "N", "w", "u", "v"))
FALSE = Eq(x, x + 1, evaluate=False)


def same(left, right):
    return Eq(left, right, evaluate=False)


def refused(*steps, assumptions=(), theorems=None, says=""):
    held = tuple(Assumption(f"a{n}", each, "given") for n, each in enumerate(assumptions))
    theorem = Theorem("test.false", "", steps[-1].conclusion, Kind.UPPER, SOURCE, held, steps)
    report = replay(theorem, theorems=theorems or {})
    assert not report.ok
    assert says in report.describe()


def test_names_of_bound_indices_do_not_mix():
    rows = Sum(sqrt(Sum(q(t, k), (k, 1, K))), (t, 1, T))
    columns = Sum(sqrt(Sum(q(k, t), (k, 1, K))), (t, 1, T))
    refused(identity("a", same(rows, columns)))
    own = Index("bound_1")
    free = same(Sum(X(t, own), (t, 1, T)), Sum(X(t, t), (t, 1, T)))
    refused(identity("a", free), says="belongs to the normal form")


def test_a_citation_does_not_merge_indices():
    small = Assumption("b", Le(a(t), eta), "")
    step = inequality("q", Le(a(t + 1) + a(t), 2 * eta), "b", at("b", {t: t + 1}))
    lemma = Theorem(
        "L", "", step.conclusion, Kind.UPPER, Source("li2023dp2", ""), (small,), (step,)
    )
    merged = inequality("a", Le(a(t + 1) + a(t), 2 * b(t)), cite("L", {eta: b(t)}))
    refused(merged, assumptions=[Le(a(t), b(t))], theorems={"L": lemma}, says="use another index")


def test_zero_over_zero():
    refused(
        inequality("a", Implies(same(y, 0), same(y / x, 0))),
        inequality("b", Ne(x, 0, evaluate=False), at("a", {y: x})),
        inequality("c", FALSE, at("b", {x: 0})),
    )
    refused(
        identity("a", same((x**2 - y**2) / (x - y), x + y)),
        inequality("b", Implies(same(x, y), same(x, 0)), "a"),
        inequality("c", FALSE, at("b", {x: 1, y: 1})),
        says="is not known",
    )


def test_what_is_not_real():
    refused(inequality("a", log(x) ** 2 >= 0), inequality("b", FALSE, at("a", {x: -1})))
    root = Lambda(x, x**2)
    refused(
        expectation("a", Le(E(sqrt(X(t))) ** 2, E(X(t))), by=Jensen(root, sqrt(X(t)))),
        says="is not known to be real",
    )
    claim = Le(E(u(t) * v(t)) ** 2, E(u(t)) * E(u(t) * v(t) ** 2))
    refused(
        expectation("a", claim, by=CauchySchwarz(sqrt(u(t)), sqrt(u(t)) * v(t))),
        says="is not known to be real",
    )


def test_induction_starts_at_one():
    n = Variable("n", integer=True, nonnegative=True)
    refused(
        inequality("a", Le(Sum(2**t, (t, 1, n)), 0), induction=Induction(n)),
        says="no integer >= 1",
    )


@pytest.mark.parametrize("sign_", ["negative", "nonpositive", "nonzero"])
def test_jensen_variables_of_other_signs(sign_):
    z = Variable("z", **{sign_: True})
    claim = Le(E(X(t) ** 3), E(X(t)) ** 3)
    refused(expectation("a", claim, by=Jensen(Lambda(z, z**3), X(t))), says="real, >= 0 or > 0")


def test_jensen_does_not_read_premises_on_its_variable():
    claim = Le(E(X(t)) ** 3, E(X(t) ** 3))
    step = expectation("a", claim, "a0", by=Jensen(Lambda(c, c**3), X(t)))
    refused(step, assumptions=[c >= 0], says="convex")
    step = expectation(
        "a",
        Le(tan(E(X(t))) ** 2, E(tan(X(t)) ** 2)),
        by=Jensen(Lambda(x, tan(x) ** 2), X(t)),
    )
    refused(step, says="no rule knows the function tan")


def test_a_law_is_about_fixed_numbers():
    law = Conditional(x * N(t), x * w(t), w(t))
    step = expectation("a", same(E(N(t) ** 2), E(N(t) * w(t))), at("a0", {x: N(t)}), by=Tower())
    refused(step, assumptions=[law], says="stands for fixed numbers")


def test_bound_symbols_are_general():
    refused(
        identity("a", same(Sum(a(T), (T, 1, 5)), 0), "a0"),
        assumptions=[same(a(T), 0)],
        says="is no Index",
    )
    z = Variable("z", positive=True)
    across = same(Integral(1 / z**2, (z, -1, 1)), -2)
    refused(identity("a", across, antiderivative=Lambda(z, -1 / z)), says="its integral runs")
    low, high = (Variable(name, integer=True) for name in ("low", "high"))
    refused(inequality("a", Sum(t, (t, low, high)) >= 0), says="starts at 1 or later")
    refused(identity("a", same(Sum(1, (t, 1, x**2)), x**2)), says="integer")


@pytest.mark.parametrize(
    "claim",
    [
        Derivative(f(c), c),
        Limit(f(c), c, 0),
    ],
    ids=["derivative", "limit"],
)
def test_an_equation_at_one_number_is_no_function(claim):
    refused(identity("a", same(claim, 0), "a0", evaluate=True), assumptions=[same(f(c), 0)])
    refused(identity("a", same(Integral(f(c), (c, 0, 1)), 0), "a0"), assumptions=[same(f(c), 0)])


def test_integrals_run_over_real_variables():
    z = Variable("z", nonpositive=True)
    refused(
        inequality("a", Le(y**2 * z + y, y, evaluate=False)),
        expectation(
            "b",
            Le(Integral(y**2 * z + y, (z, 0, 1)), Integral(y, (z, 0, 1)), evaluate=False),
            "a",
            by=Linearity(over=(Integrate(z, 0, 1),)),
        ),
        says="real or positive variables",
    )
    i = Variable("i", integer=True)
    claim = Le(Integral(y + i, (i, 0, 1)), Integral(y + i**2, (i, 0, 1)), evaluate=False)
    refused(
        inequality("a", Le(y + i, y + i**2, evaluate=False)),
        expectation("b", claim, "a", by=Linearity(over=(Integrate(i, 0, 1),))),
        says="cannot be integrated over",
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Derivative(Piecewise((0, x < 0), (1, True)), x), 0),
        (Derivative(Abs(x), x), sign(x)),
        (Integral(tan(x), (x, 0, y)), -log(cos(y) ** 2) / 2),
    ],
    ids=["jump", "kink", "pole"],
)
def test_calculus_of_what_is_not_smooth(left, right):
    refused(identity("a", same(left, right), evaluate=True))


def test_infinite_sums_are_not_linear():
    parts = Sum(a(t), (t, 1, oo)) - Sum(a(t + 1), (t, 1, oo))
    refused(identity("a", same(Sum(a(t) - a(t + 1), (t, 1, oo)), parts)), says="finite sums")


def test_a_citation_does_not_merge_indices_by_renaming_its_own():
    small = Assumption("b", Le(a(t), eta), "")
    step = inequality("q", Le(a(t + 1) + a(t), 2 * eta), "b", at("b", {t: t + 1}))
    lemma = Theorem("L", "", step.conclusion, Kind.UPPER, SOURCE, (small,), (step,))
    merged = inequality("a", Le(a(k + 1) + a(k), 2 * b(k)), cite("L", {t: k, eta: b(k)}))
    refused(merged, assumptions=[Le(a(k), b(k))], theorems={"L": lemma}, says="is not known here")


def test_induction_looks_at_terms_before_it_puts_numbers_in():
    n = Index("n")
    refused(
        inequality("a", log(n - 2) ** 2 >= 0),
        inequality("b", FALSE, "a", induction=Induction(n)),
        says="is not known",
    )


def test_cauchy_schwarz_does_not_cancel_zeros():
    refused(
        expectation(
            "a",
            Le(1, E(X(t) ** 2) * E(X(t) ** -2)),
            by=CauchySchwarz(X(t), 1 / X(t)),
        ),
        assumptions=[same(X(t), 0)],
        says="is not known",
    )


def test_a_choice_has_a_last_case():
    refused(
        inequality("a", Implies(same(y, 0), same(y * Piecewise((1, x > 0)), 0))),
        says="no last case",
    )


def test_integrals_exist():
    tail = Integral(exp(x), (x, -oo, oo))
    refused(identity("a", same(tail, exp(1) * tail), substitute={x: x + 1}), says="fall like")
    z, p = (Variable(name, positive=True) for name in "zp")
    pole = Integral(1 / z, (z, 0, p))
    refused(inequality("a", Le(pole, 2 * pole)), says="may be 0 between the limits")


def test_linearity_does_not_cancel_zeros():
    choice = Piecewise((1 / a(1) + b(1), c > 0), (b(1), True))
    refused(
        inequality("m", same(choice, 1 / a(1) + b(1)), "a1"),
        expectation("l", same(a(1) * choice, 1 + a(1) * b(1)), "m", by=Linearity()),
        assumptions=[same(a(1), 0), c > 0],
        says="is not known",
    )


def test_a_weight_does_not_cancel_zeros():
    z = Variable("z", positive=True)
    weight = deterministic("test_weight", nonnegative=True)(1)
    larger = sympy.Max(1 / weight, 1 / weight - 1)
    refused(
        inequality("l", Le(1 / weight, larger)),
        expectation(
            "m",
            Le(1, weight * larger, evaluate=False),
            "l",
            by=Linearity(over=(Integrate(z, 0, 1, weight),)),
        ),
        says="is not known",
    )


@pytest.mark.parametrize("function", [sympy.tan, sympy.cot, sympy.digamma, sympy.LambertW])
def test_functions_with_poles_are_not_known(function):
    refused(inequality("a", same(function(x), y)), says="no rule knows")


def test_gamma_and_factorials_where_they_are_defined():
    n = Variable("n", integer=True)
    refused(identity("a", same(gamma(x + 1), x * gamma(x))), says="is not known")
    refused(identity("a", same(factorial(n + 1), (n + 1) * factorial(n))), says="is not known")


def test_only_known_signs_may_be_promised():
    with pytest.raises(ValueError, match="odd = True is not allowed"):
        Variable("e", odd=True)
    with pytest.raises(ValueError, match="finite = True is not allowed"):
        random_process("test_finite", finite=True)


@pytest.mark.parametrize(
    "assumptions",
    [
        [Le(eta, 0), Le(1, eta)],
        [Eq(eta**3, 2), Eq(eta, 1)],  # beyond linear arithmetic
        [Eq(eta * c, 1), Eq(eta * c**2, 1), Eq(eta, 2)],
    ],
)
def test_contradictory_assumptions_prove_nothing(assumptions):
    names = [f"a{place}" for place in range(len(assumptions))]
    step = inequality("a", FALSE, *names)
    refused(step, assumptions=assumptions, says="contradict")
