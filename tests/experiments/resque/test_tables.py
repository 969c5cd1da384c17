"""resque-table1 and resque-table2: rates beside runs, accountants, gates that can fail."""

from dataclasses import replace

import pytest

from accountants import Bracket
from bounds import theorems
from dp2theory.experiments.resque import accounting, table1, table2
from dp2theory.resque.private_study import METHODS
from tests.experiments.resque.small import SMALL, failed, made


@pytest.fixture(scope="module")
def parallel():
    return made("resque-table1")


@pytest.fixture(scope="module")
def private():
    return made("resque-table2")


def test_parallel_gates_hold_and_seeds_are_those_asked_for(parallel):
    assert parallel.verdict.holds, parallel.verdict.text
    rows = parallel.data.study.rows
    assert {row.seed for row in rows if row.method != "sgd"} == {0, 1}
    assert {row["method"] for row in parallel.data.to_json()["rates"]} >= set(table1.ROWS.values())


def test_slopes_of_rates_are_at_the_runs_own_sizes(parallel):
    slopes = {(s.sweep, s.method, s.column): s for s in parallel.data.slopes}
    assert slopes["accuracy", "resque-2", "query depth"].rate == pytest.approx(2 / 3)
    assert slopes["dimension", "resque-1", "query depth"].rate == pytest.approx(1 / 3)
    assert slopes["accuracy", "sgd", "total queries"].rate == pytest.approx(2)
    assert slopes["dimension", "randomized-smoothing", "query depth"].rate == pytest.approx(1 / 4)


def test_notes_put_methods_beside_each_other(parallel):
    (told,) = [note for note in parallel.notes if note.startswith("max at ")]
    assert all(f"{name} " in told for name in table1.ROWS.values())
    wanted = ("resque-1", "accuracy", 0.025)
    rows = parallel.data.study.rows
    last = [row for row in rows if (row.method, row.sweep, row.accuracy) == wanted]
    assert f"Theorem 1 {sum(row.query_depth for row in last) / 2:,.0f} rounds" in told


def with_rows(data, make):
    rows = tuple(make(row) for row in data.study.rows)
    return replace(data, study=replace(data.study, rows=rows), slopes=table1.slopes_of(rows))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        # a second parallel round in a subproblem
        (lambda row: replace(row, query_depth=2 * row.query_depth), "one round"),
        (lambda row: replace(row, suboptimality=1.1 * row.accuracy), "f - f* at most"),
        (lambda row: replace(row, suboptimality=None), "f - f* at most"),
        # as many rounds as plain subgradient steps would need
        (lambda row: replace(row, query_depth=round(row.accuracy**-2)), "slope of query depth"),
        (lambda row: replace(row, query_depth=row.dimension), "slope of query depth against d"),
        (lambda row: replace(row, query_depth=0), "slope of query depth"),
    ],
)
def test_a_broken_run_fails_its_gate(parallel, make, told):
    names = failed(table1.judge(with_rows(parallel.data, make)))
    assert any(name.startswith(told) for name in names), names


def test_data_are_left_out_where_scikit_learn_is_not(monkeypatch):
    monkeypatch.setattr(table1, "find_spec", lambda name: None)
    sizes = {"functions": ("max",), "accuracies": (0.2, 0.1), "dimensions": (4,)}
    result = made("resque-table1", seeds=(0,), sizes=sizes)
    assert table1.NO_DATA in result.notes
    assert {row.sweep for row in result.data.study.rows} == {"accuracy", "dimension"}


def test_accounted_settings_are_those_of_the_rate(private):
    rate = theorems()["resque.private.rate"]
    (setting,) = SMALL["table2"]["accounted"]
    (row,) = private.data.accounted
    assert (row.calls, row.draws) == (216, 678)
    expected = {"dataset_size": 100_000, "dimension": 100, "target_epsilon": 1.0}
    assert row.calls == rate.evaluate("calls", **expected)
    assert row.draws == rate.evaluate("batch", **expected)
    assert row.noise_multiplier == 2 * setting[2]
    lower = row.epsilon["exact"].lower
    assert all(lower <= bracket.lower <= bracket.upper for bracket in row.epsilon.values())
    assert row.ordered


def test_private_gates_hold(private):
    assert private.verdict.holds, private.verdict.text
    assert private.data.study.rows[0].seeds == 2
    assert "Least excess of our runs: n = 400, d = 2: " in private.caption
    assert any(note.startswith("Excess at n = 400") for note in private.notes)


def test_equal_accountants_are_no_order(private):
    (row,) = private.data.accounted
    for name, other in (("exact", "renyi"), ("renyi", "tcdp"), ("tcdp", "advanced")):
        wrong = replace(row, epsilon=row.epsilon | {name: row.epsilon[other]})
        assert not table2.order_gate([wrong]).holds
    assert not table2.order_gate([]).holds


def test_a_run_above_its_budget_fails_the_gate(private):
    rows = list(private.data.study.rows)
    rows[0] = replace(rows[0], epsilon=Bracket(3.9, 4.01))
    assert not table2.budget_gate(rows, 4.0).holds
    assert not table2.budget_gate([], 4.0).holds


def test_excess_that_does_not_fall_fails_the_gate(private):
    row = replace(private.data.study.rows[0], method="resque")
    fewer = replace(row, dataset_size=200, excess=2 * row.excess)
    assert table2.falls_gate([fewer, row]).holds
    assert not table2.falls_gate([replace(fewer, excess=row.excess), row]).holds
    study = replace(private.data.study, rows=(replace(fewer, excess=0.0), row))
    assert failed(table2.judge(replace(private.data, study=study))) == [
        "ReSQue's excess falls as n grows"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resque-table1", "resque-table2", "ball-slope", "drift"])
def test_every_gate_holds_at_full_size(name):
    result = made(name, seeds=(0, 1), sizes={})
    assert result.verdict.holds, result.verdict.text
    if name == "resque-table2":
        assert {row.method for row in result.data.study.rows} == set(METHODS)
        assert len(result.data.accounted) == len(accounting.SETTINGS)
