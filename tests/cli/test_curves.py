"""`account --curve` and `--plot`: what is written is the accountant's, and whole."""

import csv
import itertools
import math

import dp_accounting
import pytest

from accountants import ExactAccountant, NeighboringRelation
from dp2theory.cli import _curves
from dp2theory.cli._answers import Question

SIZES = "--dataset-size 1000 --batch-size 20 --noise-multiplier 4 --tightness fast"
RUN = f"{SIZES} --steps 1000 --delta 1e-5"
GAUSSIAN = dp_accounting.GaussianDpEvent(4.0)
POISSON = dp_accounting.PoissonSampledDpEvent(0.02, GAUSSIAN)


def rows_of(path):
    with path.open() as stream:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(stream)]


@pytest.mark.parametrize("question", ["--delta 1e-5", "--epsilon 0.5"])
def test_the_curve_is_what_the_accountant_says(cli, tmp_path, question):
    path = tmp_path / "curve.csv"
    outcome = cli(f"account --json {SIZES} --steps 100 {question} --curve {path}")
    assert outcome.document["result"]["curve"] == str(path)
    rows = rows_of(path)
    assert len(rows) == _curves.CURVE_POINTS
    assert rows[0]["epsilon"] == 0
    accountant = ExactAccountant().compose(POISSON, 100)
    for row in rows[:: len(rows) // 4]:
        delta = accountant.delta_bracket(row["epsilon"])
        assert (row["delta_lower"], row["delta_upper"]) == (delta.lower, delta.upper)
    assert rows[-1]["delta_upper"] == pytest.approx(1e-12, rel=1e-6)
    for before, after in itertools.pairwise(rows):
        assert before["epsilon"] < after["epsilon"]
        assert before["delta_upper"] > after["delta_upper"]


def test_the_curve_reaches_a_smaller_delta_than_usual(cli, tmp_path):
    path = tmp_path / "curve.csv"
    assert cli(f"account {SIZES} --steps 100 --delta 1e-20 --curve {path}").code == 0
    assert rows_of(path)[-1]["delta_upper"] == pytest.approx(1e-20, rel=1e-6)


def test_a_run_without_a_finite_epsilon_has_no_curve(cli, tmp_path):
    from accountants.ledger import write_ledger

    ledger, path = tmp_path / "ledger.json", tmp_path / "curve.csv"
    write_ledger(ledger, dp_accounting.NonPrivateDpEvent())
    cli(f"account --event {ledger} --delta 1e-5 --curve {path}").refused(2, "--curve", "no finite")
    assert not path.exists()


@pytest.mark.parametrize("ending", ["svg", "PNG"])
def test_a_picture_is_written_and_its_numbers_are_in_the_result(cli, tmp_path, ending):
    path = tmp_path / f"steps.{ending}"
    result = cli(f"account --json {RUN} --accountant all --plot {path}").document["result"]
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG") if ending.lower() == "png" else b"<svg" in data
    series = result["against_steps"]
    assert series["steps"][0] == 5
    assert series["steps"][-1] == 1000
    assert series["exact"]["upper"][-1] == result["epsilon"]["upper"]
    for steps, lower, upper in zip(
        series["steps"], series["exact"]["lower"], series["exact"]["upper"], strict=True
    ):
        if steps % 2:  # half of them are enough
            continue
        bracket = ExactAccountant().compose(POISSON, steps).epsilon_bracket(1e-5)
        assert (lower, upper) == (bracket.lower, bracket.upper)
    answers = {answer["accountant"]: answer for answer in result["answers"]}
    for name in ("renyi", "tcdp"):
        assert series[name]["upper"][-1] == answers[name]["epsilon"]["upper"]
        assert len(series[name]["upper"]) == len(series["steps"])
    assert f"written: {path}" in cli(f"account {RUN} --plot {path}").out


def question(relation=NeighboringRelation.ADD_OR_REMOVE_ONE):
    return Question(relation, delta=1e-5)


def test_beginnings_of_a_ledger_keep_its_order():
    other = dp_accounting.PoissonSampledDpEvent(0.1, GAUSSIAN)
    event = dp_accounting.ComposedDpEvent(
        [dp_accounting.SelfComposedDpEvent(POISSON, 10), other, dp_accounting.NoOpDpEvent(),
         dp_accounting.SelfComposedDpEvent(other, 0), dp_accounting.SelfComposedDpEvent(POISSON, 5)]
    )  # fmt: skip
    beginnings = _curves.prefixes(event, points=30)
    lengths = [len(ExactAccountant().compose(beginning)) for beginning in beginnings]
    assert lengths == sorted(lengths)
    assert lengths[-1] == 16
    third = next(b for b in beginnings if len(ExactAccountant().compose(b)) == 11)
    assert third.events[:2] == [
        dp_accounting.SelfComposedDpEvent(POISSON, 10),
        dp_accounting.SelfComposedDpEvent(other, 1),
    ]


def test_a_ledger_of_shuffled_epochs_is_drawn_by_its_batches():
    from accountants.events import ShuffledEpochDpEvent

    epoch = ShuffledEpochDpEvent(100, 10, dp_accounting.GaussianDpEvent(20.0))
    event = dp_accounting.SelfComposedDpEvent(epoch, 4)
    series = _curves.against_steps(event, question(NeighboringRelation.REPLACE_ONE), ("exact",))
    assert series["steps"] == [10, 20, 30, 40]


def test_nothing_and_infinite_costs_can_be_drawn(tmp_path):
    from dp2theory.report.curves import account_figure, save_picture

    empty = _curves.against_steps(dp_accounting.ComposedDpEvent([]), question(), ("exact",))
    assert empty["steps"] == []
    save_picture(account_figure(empty, delta=1e-5), tmp_path / "empty.svg")
    event = dp_accounting.ComposedDpEvent([POISSON, dp_accounting.NonPrivateDpEvent()])
    series = _curves.against_steps(event, question(), ("exact", "renyi"))
    assert math.isinf(series["exact"]["upper"][-1])
    save_picture(account_figure(series, delta=1e-5), tmp_path / "infinite.png")
    assert {path.name for path in tmp_path.iterdir()} == {"empty.svg", "infinite.png"}


@pytest.mark.parametrize("with_replacement", [False, True])
def test_rough_brackets_hold_the_truth_and_are_near_the_others(with_replacement):
    make = (
        dp_accounting.SampledWithReplacementDpEvent
        if with_replacement
        else dp_accounting.SampledWithoutReplacementDpEvent
    )
    step = make(5000, 256, dp_accounting.GaussianDpEvent(1.5))
    accountant = ExactAccountant(NeighboringRelation.REPLACE_ONE).compose(step, 600)
    rough, usual = accountant.rough_epsilon_bracket(1e-5), accountant.epsilon_bracket(1e-5)
    assert rough.upper == usual.upper
    assert 0.98 * usual.lower <= rough.lower <= usual.lower


def test_rough_brackets_at_the_edges_are_those_of_the_accountant():
    accountant = ExactAccountant().compose(POISSON, 100)
    assert accountant.rough_epsilon_bracket(1e-5) == accountant.epsilon_bracket(1e-5)
    assert accountant.rough_epsilon_bracket(1.0).upper == 0
    assert math.isinf(ExactAccountant().compose(dp_accounting.NonPrivateDpEvent())
                      .rough_epsilon_bracket(0.1).lower)  # fmt: skip
    with pytest.raises(ValueError, match="target_delta"):
        accountant.rough_epsilon_bracket(-1)
