"""The private rate: one formula, both regimes, the accounting examples; table 2 and its figure."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import sympy

import bounds
from bounds.resque.private import rate
from bounds.resque.symbols import K_ball, N_ball, q_4, q_A, q_G, q_K, theta
from bounds.resque.tables_private import EXPONENTS, ROWS, figure
from bounds.symbols import d, eps_dp, n
from bounds.theorem import Status, Theorem

IDS = (
    "resque.private.subproblem",
    "resque.private.calls",
    "resque.private.rate",
    "resque.private.regimes",
    "resque.table2",
    "resque.table2.powers",
)


def theorem(id: str) -> Theorem:
    return bounds.theorems()[id]


@pytest.mark.parametrize("id", IDS)
def test_proof_replays_without_assumed_steps_and_without_leftovers(id: str) -> None:
    report = theorem(id).replay()
    assert report.ok, report.describe()
    assert not report.assumed
    assert not report.unused_assumptions
    assert not report.unused_steps
    assert theorem(id).counterexample(tries=50) is None


#: n, d, eps and the rate.
POINTS = [
    (10**6, 10, 1.0, 1046415.888),
    (10**6, 10**3, 1.0, 2000000.0),
    (10**6, 10**6, 0.5, 79620052.6),
    (10**5, 10**7, 1.0, 4642588.834),
    (10**4, 30, 0.3, 24938.01582),
]


@pytest.mark.parametrize(("size", "dimension", "eps", "value"), POINTS)
def test_rate_at_the_reference_points(size: int, dimension: int, eps: float, value: float) -> None:
    at: dict[str, Any] = {"dataset_size": size, "dimension": dimension, "target_epsilon": eps}
    for name in ("bound", "derived"):
        for backend in ("numpy", "mpmath"):
            found = theorem("resque.private.rate").evaluate(name, backend=backend, **at)
            assert float(found) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    ("size", "dimension", "error", "calls", "batch", "total"),
    [(10**5, 100, 0.0031623, 216, 678, 146448), (10**4, 1000, 0.01, 216, 261, 56376)],
)
@pytest.mark.parametrize("backend", ["numpy", "mpmath"])
def test_accounting_examples(
    size: int, dimension: int, error: float, calls: int, batch: int, total: int, backend: str
) -> None:
    at: dict[str, Any] = {"dataset_size": size, "dimension": dimension, "target_epsilon": 1.0}

    def value(name: str) -> float:
        return float(theorem("resque.private.rate").evaluate(name, backend=backend, **at))

    assert value("optimal_error") == pytest.approx(error, rel=2e-5)
    assert (value("calls"), value("batch"), value("total")) == (calls, batch, total)


def test_calls_are_whole_where_the_cube_root_is() -> None:
    """K = (n d)^(1/3) is an integer at n = m^3, d = 1: no rounding may make it m + 1."""
    for m in (5, 7, 49, 103, 199):
        at: dict[str, Any] = {"dataset_size": m**3, "dimension": 1, "target_epsilon": 1.0}
        for backend in ("numpy", "mpmath"):
            found = theorem("resque.private.rate").evaluate("calls", backend=backend, **at)
            assert float(found) == m


def test_the_batch_is_the_sum_of_its_two_needs() -> None:
    """Not the larger of the two: 463 + 215 = 678 gradients, 46 + 215 = 261."""
    for size, dimension, parts in ((10**5, 100, (463, 215)), (10**4, 1000, (46, 215))):
        error = max(size**-0.5, dimension**0.5 / size)
        first, second = error**-2 / 216, dimension**0.5 / (error * 216**0.5)
        assert (round(first), round(second)) == parts


def test_identities_of_both_regimes() -> None:
    """K and N at the optimal error, for SymPy alone: the two branches of the rate."""
    third = sympy.Rational(1, 3)
    small = {
        "error": 1 / sympy.sqrt(n),
        "calls": (n * d) ** third,
        "batch": (n * d) ** third / eps_dp,
        "first": n,
        "second": (n * d) ** (2 * third) / eps_dp,
    }
    large = {
        "error": sympy.sqrt(d) / (n * eps_dp),
        "calls": (n * eps_dp) ** (2 * third),
        "batch": n / (n * eps_dp) ** third,
        "first": n**2 * eps_dp**2 / d,
        "second": n ** (4 * third) * eps_dp**third,
    }
    for regime in (small, large):
        calls = (sympy.sqrt(d) / regime["error"]) ** (2 * third)
        batch = sympy.sqrt(d) / (regime["error"] * eps_dp * sympy.sqrt(calls))
        assert sympy.simplify(calls / regime["calls"]) == 1
        assert sympy.simplify(batch / regime["batch"]) == 1
        assert sympy.simplify(regime["error"] ** -2 / regime["first"]) == 1
        assert sympy.simplify(calls * batch / regime["second"]) == 1
    assert sympy.simplify((small["first"] - large["first"]).subs(d, n * eps_dp**2)) == 0
    assert sympy.simplify((small["second"] / large["second"]).subs(d, n * eps_dp**2)) == 1


@pytest.mark.parametrize(
    ("id", "dropped"),
    [("resque.private.rate", each) for each in ("radius", "calls", "floor", "batch", "error")]
    + [("resque.private.subproblem", "batch")],
)
def test_a_dropped_assumption_has_a_counterexample_and_no_proof(id: str, dropped: str) -> None:
    less = theorem(id).without_assumption(dropped)
    assert not less.replay().ok
    assert less.counterexample() is not None


def test_smaller_rates_do_not_prove() -> None:
    whole = theorem("resque.private.rate")
    for claim in (
        sympy.Eq(K_ball * N_ball, rate / 2),
        sympy.Eq(K_ball * N_ball, sympy.Max(*rate.args)),
    ):
        changed = whole.with_claim(claim)
        assert not changed.replay().ok
        assert changed.counterexample() is not None


def test_regimes_at_points() -> None:
    regimes = theorem("resque.private.regimes")
    assert float(
        regimes.evaluate("near_linear_from", dimension=100, target_epsilon=1.0)
    ) == pytest.approx(1e4)
    assert float(
        regimes.evaluate("optimal_from", dimension=100, target_epsilon=0.5)
    ) == pytest.approx(400)


THETAS = [Fraction(0), *(Fraction(k, 4) for k in range(1, 6)), *map(Fraction, ("4/3", "3/2", "2"))]
TABLE = {
    "theorem4": "1 1 1 7/6 4/3 4/3 4/3 4/3 4/3",
    "afkt21": "3/2 3/2 3/2 3/2 3/2 11/8 4/3 5/4 1",
    "kll21": "5/4 41/32 21/16 43/32 11/8 43/32 4/3 21/16 5/4",
    "gll22": "1 5/4 3/2 7/4 2 2 2 2 2",
}


@pytest.mark.parametrize("name", TABLE)
def test_exponents_of_table2(name: str) -> None:
    exact = tuple(sympy.Rational(each.numerator, each.denominator) for each in THETAS)
    assert figure(exact)[name] == [sympy.Rational(each) for each in TABLE[name].split()]
    for at, value in zip(THETAS, TABLE[name].split(), strict=True):
        found = theorem("resque.table2").evaluate(name, dimension_exponent=float(at))
        assert float(found) == pytest.approx(float(Fraction(value)), rel=1e-14)


def test_figure_has_one_list_a_method_and_refuses_negative_exponents() -> None:
    data = figure()
    assert list(data) == ["theta", *EXPONENTS]
    assert {len(each) for each in data.values()} == {25}
    with pytest.raises(ValueError, match="theta = -1"):
        figure((-1,))


def test_table2_claims_that_are_false_do_not_prove() -> None:
    table = theorem("resque.table2")
    for claim in (
        sympy.Implies(theta < sympy.Rational(3, 2), q_4 < q_A),
        sympy.Implies(theta >= 0, q_4 < q_G),
        q_4 <= q_K,
    ):
        changed = table.with_claim(claim)
        assert not changed.replay().ok
        assert changed.counterexample() is not None


def test_table2_rows_say_what_is_recalled() -> None:
    rows = {row.name: row for row in ROWS}
    assert rows["AFKT21"].status is Status.RECALLED
    for name in ("BFTT19", "KLL21"):
        assert "recalled" in rows[name].note
    assert rows["Theorem 4"].status is Status.DERIVED
    assert any("AFKT21" in caveat for caveat in theorem("resque.table2").caveats)
