"""`dp2theory figure` for the figures on ReSQue: files, gates, text, refusals, interrupts."""

import json
from fractions import Fraction
from importlib import import_module

import pytest

from dp2theory.cli._figuring_resque import REFUSED
from dp2theory.experiments.resque import fig1, registry
from dp2theory.report import figures as pictures
from tests.cli.conftest import validate
from tests.experiments.resque.small import SMALL

INK = b"\x89PNG, which tests of the pictures draw"


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Small sizes of every figure, and no ink."""
    monkeypatch.setattr(pictures, "_drawing", lambda result, ending: INK)
    for name, sizes in SMALL.items():
        module = import_module(f"dp2theory.experiments.resque.{name}")
        monkeypatch.setattr(module, "SIZES", module.SIZES | sizes)


@pytest.fixture
def drawn(cli, tmp_path, monkeypatch):
    """`drawn("drift", "--more")` -> result, with the files checked."""
    monkeypatch.chdir(tmp_path)

    def make(name, *more):
        document = cli(f"figure {name} --executor serial --json", *more).document
        kept = json.loads((tmp_path / f"{name}.json").read_text())
        assert kept == document
        assert (tmp_path / f"{name}.png").read_bytes() == INK
        assert {path.name for path in tmp_path.iterdir()} == {f"{name}.json", f"{name}.png"}
        result = document["result"]
        assert result["figure"] == name
        gates = result["verdict"]["gates"]
        assert result["verdict"]["holds"] == all(gate["holds"] for gate in gates)
        return result

    return make


def test_rates(drawn):
    result = drawn("resque-fig1", "--dimension 1000")
    assert result["data"]["window"]["lower"] == pytest.approx(1e-3)
    assert result["verdict"]["holds"]
    assert result["seeds"] == {"evaluation": [], "tuning": []}
    assert "change nothing" in result["notes"][-1]
    recalled = {row["method"] for row in result["data"]["private"] if row["recalled"]}
    assert recalled == {"AFKT21", "KLL21", "BFTT19"}


def test_steps_of_ball_acceleration(drawn):
    result = drawn("ball-slope")
    assert [row["ratio"] for row in result["data"]["rows"]] == [32, 128]
    assert result["data"]["slopes"]["naive"]["max"] == pytest.approx(1, abs=0.05)
    assert "in 100 dimensions" in result["caption"]


def test_drift_of_two_seeds(drawn):
    result = drawn("drift", "--seed 3 --seeds 2")
    assert result["seeds"]["evaluation"] == [3, 4]
    assert {part["seed"] for part in result["data"]["parts"]} == {3, 4}
    assert result["data"]["raw_slope"] == pytest.approx(0.5)


def test_parallel_table(drawn):
    data = drawn("resque-table1", "--dimension 100 --seeds 1")["data"]
    assert data["dimension"] == 100
    rates = {row["method"]: row for row in data["rates"]}
    assert rates["BJL+19"]["recalled"] == {"computational depth": "recalled"}
    assert set(rates["DBW12"]["recalled"]) == set(rates["DBW12"]["values"])
    assert {run["row"] for run in data["runs"]} == {"SGD", "DBW12", "Theorem 1", "Theorem 2"}


def test_private_table(drawn):
    data = drawn("resque-table2", "--seeds 2")["data"]
    for row in data["accounted"]:
        ends = [row["epsilon"][name] for name in ("exact", "renyi", "tcdp", "advanced")]
        assert [end["upper"] for end in ends] == sorted(end["upper"] for end in ends)
        assert row["noise_over_sensitivity"] == row["noise_multiplier"] / 2
    recalled = {row["method"] for row in data["private"] if row["recalled"]}
    assert recalled == {"AFKT21", "KLL21", "BFTT19"}


@pytest.mark.parametrize("name", ["ball-slope", "drift"])
def test_text_has_a_table_of_what_was_measured(cli, tmp_path, name):
    made = cli(f"figure {name} --out {tmp_path} --executor serial")
    assert made.code == 0
    for words in (
        "claim: ",
        "[ok] ",
        "\nfor\n  figure: ",
        "bound",
        f"written: {tmp_path}/{name}.png",
    ):
        assert words in made.out, words


@pytest.mark.slow
def test_any_executor_gives_the_same_data(cli, tmp_path):
    for name in ("ball-slope", "drift", "resque-table1"):
        made = [
            cli(f"figure {name} --json --out {tmp_path} --executor {executor}").document
            for executor in ("serial", "process:2")
        ]
        assert made[0] == made[1]
        validate(made[0])


def test_text_has_gates_tables_caption_and_files(cli, tmp_path):
    made = cli(f"figure resque-fig1 --out {tmp_path} --format png,svg")
    assert made.code == 0
    for words in (
        "claim: ", "here it holds:\n  [ok] ", "AFKT21 (recalled)", "KLL21 *", "\n43/32", "d^(-1/4)",
        fig1.CAPTION, "dimension: 10000 coordinates  [default]",
        f"written: {tmp_path}/resque-fig1.json",
    ):  # fmt: skip
        assert words.strip() in made.out, words
    assert (tmp_path / "resque-fig1.svg").exists()
    quiet = cli(f"figure resque-fig1 --out {tmp_path} --quiet --seeds 3 --seed 7")
    assert quiet.out.count("\n") == 1
    assert quiet.out.startswith("The window's ends are where rates cross: ")


GIVEN = {
    "problem": "hetA", "data": "u.data", "batch_size": 4, "epochs": 1, "steps": 5, "epsilon": 1,
    "delta": 0.1, "delays": 3, "public_share": 0.1, "tune_seeds": 2, "store": "runs.db",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_options_about_a_problem_are_refused_by_name(cli, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    option = "--" + name.replace("_", "-")
    for figure in registry.FIGURES:
        cli(f"figure {figure} {option} {GIVEN[name]}").refused(2, option, figure)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("resque-fig9", "resque-fig1"),
        ("drift --dimension 3", "--dimension"),
        ("ball-slope --dimension 3", "--dimension"),
        ("resque-fig1 --dimension 1", "dimension"),
        ("resque-fig1 --dimension 0", "dimension"),
        ("drift --seeds 0", "--seeds"),
        ("resque-table2 --seeds 1 --executor serial", "--seeds 1:"),
        ("drift --seed -1", "--seed"),
        ("drift --executor nobody", "nobody"),
        ("drift --format jpg", "--format"),
        ("drift --out nowhere/folder", "--out"),
    ],
)
def test_bad_input_is_one_line(cli, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    cli(f"figure {words}").refused(2, told)
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_when_drawing_fails_or_the_user_stops(cli, tmp_path, monkeypatch):
    def broken(result, ending):
        raise RuntimeError("no ink")

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pictures, "_drawing", broken)
        made = cli(f"figure resque-fig1 --out {tmp_path}")
    assert (made.code, made.out) == (1, "")
    monkeypatch.setattr(fig1, "judge", stopped)
    cli(f"figure resque-fig1 --out {tmp_path}").refused(130, "no figure was written")
    assert not list(tmp_path.iterdir())


def test_a_gate_that_fails_is_said_first(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(fig1, "MEET", Fraction(3, 2))
    made = cli(f"figure resque-fig1 --out {tmp_path}")
    assert made.code == 0
    assert "here it does not hold:\n  [NO] " in made.out
    quiet = cli(f"figure resque-fig1 --out {tmp_path} --quiet")
    assert quiet.out.startswith("NOT ")
