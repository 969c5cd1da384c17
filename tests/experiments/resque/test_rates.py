"""Rates are those of the theorems; what is recalled is marked; crossings are found."""

from dataclasses import replace
from fractions import Fraction

import pytest

from bounds import theorems
from bounds.resque.tables import DEPTH, QUERIES, ROWS, WORK
from bounds.resque.tables_private import EXPONENTS
from bounds.resque.tables_private import ROWS as PRIVATE_ROWS
from dp2theory.experiments.resque import fig1, rates
from dp2theory.experiments.resque.registry import compute
from dp2theory.experiments.resque.request import ResqueRequest

THETAS = (*(Fraction(k, 4) for k in range(9)), Fraction(4, 3))


@pytest.fixture(scope="module")
def result():
    return compute("resque-fig1", ResqueRequest(sizes={"points": 9}))


def test_rates_at_dimension_ten_thousand():
    rows = rates.by_method(rates.parallel_rates(10_000, [0.1, 0.01, 1e-4]))
    assert rows["SGD"].values[QUERIES] == pytest.approx((1e2, 1e4, 1e8))
    assert rows["DBW12"].values[DEPTH] == pytest.approx((1e2, 1e3, 1e5))
    assert rows["BJL+19"].values[DEPTH] == pytest.approx((1e2, 464.1588834, 1e4))
    assert rows["BJL+19"].values[QUERIES] == pytest.approx((1e6, 4.641588834e6, 1e8))
    assert rows["Theorem 1"].values[QUERIES] == pytest.approx((200, 10464.1588834, 1.0001e8))
    assert rows["Theorem 2"].values[WORK][1] == pytest.approx(1464.1588834)


def test_rates_are_the_evaluations_of_the_theorem():
    table = theorems()["resque.table1"]
    rows = rates.by_method(rates.parallel_rates(777, [0.03]))
    for method, column, name in (
        ("SGD", DEPTH, "sgd"), ("DBW12", QUERIES, "smoothing_total"),
        ("BJL+19", WORK, "highly_smooth_total"), ("Theorem 1", QUERIES, "theorem1_total"),
        ("Theorem 2", WORK, "theorem2_depth"), ("Theorem 2", DEPTH, "bound"),
    ):  # fmt: skip
        where = {"accuracy": 0.03} | ({} if name == "sgd" else {"dimension": 777})
        expected = table.evaluate(name, **where)
        assert rows[method].values[column] == pytest.approx((expected,), rel=1e-14)


def test_exponents_are_those_of_the_rows():
    rows = rates.by_method(rates.private_exponents(THETAS))
    expected = {
        "Theorem 4": (1, 1, 1, 7 / 6, 4 / 3, 4 / 3, 4 / 3, 4 / 3, 4 / 3, 4 / 3),
        "AFKT21": (1.5, 1.5, 1.5, 1.5, 1.5, 11 / 8, 1.25, 1.125, 1, 4 / 3),
        "KLL21": (1.25, 41 / 32, 21 / 16, 43 / 32, 11 / 8, 43 / 32, 21 / 16, 41 / 32, 1.25, 4 / 3),
    }
    for method, powers in expected.items():
        assert rows[method].values["gradient queries"] == pytest.approx(powers)
    assert rows["GLL22"].values["value queries"][2] == pytest.approx(1.5)
    assert set(rows["FKT20"].values["gradient queries"]) == {2.0}
    assert set(rows["BFTT19"].values["gradient queries"]) == {4.5}


def test_counts_and_exponents_agree_where_bounds_has_both():
    keys = {"AFKT21": "afkt21", "KLL21": "kll21", "GLL22": "gll22"}
    for row in PRIVATE_ROWS:
        if row.name not in keys:
            continue
        (count,) = row.values.values()
        for theta in THETAS:
            whole = rates.exponent_at_records(count, theta)
            own = rates.value_at(EXPONENTS[keys[row.name]], dimension_exponent=theta)
            assert whole == pytest.approx(own, abs=1e-12)


def test_what_bounds_calls_recalled_is_marked():
    known = {(row.name, column) for row in (*ROWS, *PRIVATE_ROWS) for column in row.values}
    assert set(rates.RECALLED) <= known
    for row in (*ROWS, *PRIVATE_ROWS):
        marked = any((row.name, column) in rates.RECALLED for column in row.values)
        assert marked == (row.status == "recalled" or "recalled" in row.note), row.name
    assert ("BJL+19", DEPTH) not in rates.RECALLED


def test_recalled_rows_are_named_in_the_caption(result):
    for row in (*result.data.parallel, *result.data.private):
        if row.recalled:
            assert row.method in result.caption
    assert "paper's own picture is not reproduced" in result.caption


def test_a_theta_off_the_grid_is_refused():
    with pytest.raises(ValueError, match="k/12"):
        rates.private_exponents([Fraction(1, 7)])


def test_crossings_are_found_and_none_is_made_up():
    assert rates.crossing(lambda x: x, lambda _: 0.3, 0.0, 1.0) == pytest.approx(0.3, abs=1e-15)
    assert rates.crossing(lambda x: x, lambda _: 2.0, 0.0, 1.0) is None


def test_every_gate_holds_and_the_crossings_are_in_the_data(result):
    assert result.verdict.holds, result.verdict.text
    at = {one.what: one.at for one in result.data.crossings}
    assert at["query depths of ReSQue and SGD"] == pytest.approx(0.1)
    assert at["total queries of BJL+19 and SGD"] == pytest.approx(1e-4)
    assert [one.at for one in result.data.meetings] == pytest.approx([4 / 3, 4 / 3])


@pytest.mark.parametrize("dimension", [2, 1000])
def test_the_window_is_that_of_the_dimension(dimension):
    asked = ResqueRequest(dimension=dimension, sizes={"points": 5})
    found = compute("resque-fig1", asked)
    assert found.verdict.holds, found.verdict.text
    assert found.data.window == (1 / dimension, dimension**-0.25)


def scaled(rows, method, column, factor):
    """Rows with one method's values in one column times a factor."""
    return tuple(
        replace(row, values=row.values | {column: tuple(factor * v for v in row.values[column])})
        if row.method == method
        else row
        for row in rows
    )


@pytest.mark.parametrize(
    ("part", "method", "column", "factor", "failed"),
    [
        ("parallel", "Theorem 1", DEPTH, 1.01, "least query depth in the window"),
        ("parallel", "Theorem 1", QUERIES, 1.01, "SGD's total queries in the window"),
        ("parallel", "BJL+19", QUERIES, 0.9, "SGD's total queries in the window"),
        ("private", "Theorem 4", "gradient queries", 1.1, "fewest gradients while d < n^(4/3)"),
        ("private", "KLL21", "gradient queries", 0.9, "fewest gradients while d < n^(4/3)"),
        ("private", "AFKT21", "gradient queries", 1.4, "fewest gradients while d < n^(4/3)"),
        ("private", "GLL22", "value queries", 0.9, "fewer than GLL22's function values"),
        ("private", "Theorem 4", "gradient queries", 0.9, "near-linear while d <= n^(1/2)"),
    ],
)
def test_a_wrong_rate_fails_its_gate(result, part, method, column, factor, failed):
    rows = scaled(getattr(result.data, part), method, column, factor)
    if method == "AFKT21":  # larger beyond n^(4/3), so that ours is not the larger one there
        rows = scaled(rows, "KLL21", column, factor)
    verdict = fig1.judge(replace(result.data, **{part: rows}))
    assert not verdict.holds
    assert failed in {gate.name for gate in verdict.gates if not gate.holds}
    assert verdict.text.startswith("NOT ")


def test_a_moved_crossing_fails_its_gate(result):
    for name in ("crossings", "meetings"):
        found = getattr(result.data, name)
        for other in (None, found[0].expected * 1.001):
            moved = (replace(found[0], at=other), *found[1:])
            assert not fig1.judge(replace(result.data, **{name: moved})).holds


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="seeds"):
        ResqueRequest(seeds=())
    with pytest.raises(ValueError, match="dimension"):
        ResqueRequest(dimension=1)
    with pytest.raises(ValueError, match="sizes"):
        compute("resque-fig1", ResqueRequest(sizes={"nothing": 1}))
    with pytest.raises(ValueError, match="figure='fig9'"):
        compute("fig9", ResqueRequest())
