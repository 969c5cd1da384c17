"""Sweeps: pairing, accounting of what was executed, and resuming after kill -9."""

import dataclasses
import json
import math
import sqlite3
import subprocess
import sys
from contextlib import suppress

import pytest

from accountants import Bracket
from dp2theory.cli.app import main
from dp2theory.experiments.spec import parse_spec
from dp2theory.experiments.store import Store
from dp2theory.experiments.sweep import Memory, Sweep
from dp2theory.experiments.tasks import run_task
from dp2theory.planning.paired import compare_pairs
from tests.experiments.runs import PROBLEM
from tests.repo.project import ROOT

DOCUMENT = {
    "problems": PROBLEM,
    "methods": ["dp-sgd", "dp2-rmsprop", "sgd"],
    "epsilons": 3.0,
    "delays": [2, 5],
    "seeds": 3,
    "batch_size": 20,
    "steps": 20,
    "settings": {"dp-sgd": {"learning_rate": [0.5, 2.0]}},
}


def swept(store=None, **changes) -> Sweep:
    sweep = Sweep(parse_spec(DOCUMENT | changes), store=store)
    sweep.run()
    return sweep


def test_cells_are_paired_with_the_best_of_the_first_method():
    sweep = swept()
    (group,) = sweep.result()["groups"]
    cells = group["cells"]
    assert [cell["method"] for cell in cells] == ["dp-sgd"] * 2 + ["dp2-rmsprop"] * 2 + ["sgd"]
    means = [cell["mean_train_loss"] for cell in cells]
    assert group["baseline"] == min((0, 1), key=means.__getitem__)
    baseline = [run["train_loss"] for run in cells[group["baseline"]]["runs"]]
    for place, cell in enumerate(cells):
        losses = [run["train_loss"] for run in cell["runs"]]
        assert [run["seed"] for run in cell["runs"]] == [0, 1, 2]
        assert cell["mean_train_loss"] == math.fsum(losses) / 3
        if place == group["baseline"]:
            assert cell["paired"] is None
        else:
            assert cell["paired"] == compare_pairs(losses, baseline).to_json()
        for run in cell["runs"]:
            made = run_task(sweep.cells[place].task(run["seed"], None))
            assert made.final_loss == run["train_loss"]


def test_every_cell_says_its_epsilon_and_the_unit():
    (group,) = swept().result()["groups"]
    for cell in group["cells"]:
        epsilon = cell["epsilon"]
        if cell["method"] == "sgd":
            assert epsilon == Bracket(math.inf, math.inf).to_json()
        else:
            assert 2.9 < epsilon["lower"] <= epsilon["upper"] <= 3.0
    assert group["unit"]
    assert (group["dataset_size"], group["steps"], group["delta"]) == (200, 20, 200**-1.1)


@pytest.mark.slow  # the tight upper end of fixed-size batches takes seconds
def test_all_samplings():
    document = {name: DOCUMENT[name] for name in ("problems", "epsilons", "batch_size", "steps")}
    samplings = ["poisson", "without-replacement", "with-replacement"]
    made = Sweep(parse_spec(document | {"methods": "dp-sgd", "samplings": samplings}))
    made.run()
    groups = made.result()["groups"]
    relations = [group["relation"] for group in groups]
    assert relations == ["add-or-remove-one", "replace-one", "replace-one"]
    names = ["PoissonSampled", "SampledWithoutReplacement", "SampledWithReplacement"]
    for group, name in zip(groups, names, strict=True):
        (cell,) = group["cells"]
        assert name in cell["ledger"]
        assert cell["epsilon"]["upper"] <= 3.0


def test_a_run_of_a_method_without_noise_is_shared_by_all_budgets():
    store = Memory()
    swept(store, epsilons=[2.0, 3.0])
    methods = [task.method for task, _ in store.kept.values()]
    assert methods.count("sgd") == 3
    assert methods.count("dp-sgd") == 2 * 2 * 3


def test_releases_that_were_not_accounted_are_noticed():
    store = Memory()
    sweep = swept(store)
    key = sweep.cells[0].task(0, None).key()
    task, made = store.kept[key]
    halved = made.ledger.replace("noise_multiplier=", "noise_multiplier=0.5*")
    store.kept[key] = (task, dataclasses.replace(made, ledger=halved))
    with pytest.raises(RuntimeError, match="was accounted"):
        sweep.result()


def test_a_diverged_run_is_shown_and_not_averaged_away():
    store = Memory()
    sweep = swept(store)
    key = sweep.cells[2].task(1, None).key()
    task, made = store.kept[key]
    gone = dataclasses.replace(
        made, final_loss=math.inf, diverged=True, metrics={}, ledger="three steps"
    )
    store.kept[key] = (task, gone)
    cell = sweep.result()["groups"][0]["cells"][2]
    assert cell["mean_train_loss"] == math.inf
    assert cell["diverged"] == 1
    assert cell["paired"] is cell["mean_metrics"] is None
    assert len(cell["runs"]) == 3


def test_what_an_interrupt_leaves_is_paired():
    class Stopping(Memory):
        def put(self, key, task, made):
            if len(self.kept) == 7:
                raise KeyboardInterrupt
            super().put(key, task, made)

    sweep = Sweep(parse_spec(DOCUMENT), store=Stopping())
    with pytest.raises(KeyboardInterrupt):
        sweep.run()
    assert (sweep.done(), sweep.wanted()) == (7, 15)
    cells = sweep.result()["groups"][0]["cells"]
    assert [len(cell["runs"]) for cell in cells] == [2, 2, 1, 1, 1]


def test_a_changed_spec_on_the_same_store_runs_what_is_new(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        swept(store)
        before = len(store)
        swept(store, seeds=4)
        assert len(store) == before + 5
        swept(store, seeds=2)
        assert len(store) == before + 5


def test_tuned_cells_say_so_and_tune_on_other_seeds():
    document = {name: value for name, value in DOCUMENT.items() if name != "settings"}
    sweep = Sweep(
        parse_spec(
            document
            | {"methods": ["dp-rmsprop", "dp2-rmsprop", "sgd"], "tune": True, "tune_seeds": 1}
        )
    )
    sweep.run()
    result = sweep.result()
    cells = result["groups"][0]["cells"]
    assert [cell["grid_size"] for cell in cells] == [5, 19, 19, None]
    assert [cell["settings"].get("delay") for cell in cells] == [None, 2, 5, None]
    assert not set(result["tuning_seeds"]) & set(result["seeds"])
    assert any("not accounted" in note for note in result["notes"])
    assert any("sgd" in note and "grid" in note for note in result["notes"])
    with pytest.raises(ValueError, match="used for tuning"):
        Sweep(dataclasses.replace(sweep.spec, seeds=(result["tuning_seeds"][0],)))


def test_progress_says_what_is_going_on():
    calls = []
    sweep = Sweep(parse_spec(DOCUMENT), progress=lambda *call: calls.append(call))
    sweep.run()
    assert calls[0] == ("calibrating", 0, 1)
    assert calls[1] == ("running", 0, 15)
    assert calls[-1] == ("running", 15, 15)


KILLED = """
problems = "het:n=500,d=12,amin=0.1,avg=4,seed=1"
methods = ["dp-sgd", "dp2-rmsprop"]
epsilons = 3.0
delays = 5
seeds = 12
batch_size = 50
steps = 1500
"""


def command(spec, executor, *more):
    return [
        sys.executable, "-m", "dp2theory", "sweep", "--spec", str(spec), "--quiet",
        "--executor", executor, *map(str, more),
    ]  # fmt: skip


def rows(store):
    connection = sqlite3.connect(store)
    try:
        with suppress(sqlite3.OperationalError):  # not made yet
            return connection.execute(
                "SELECT count(*), count(DISTINCT key) FROM results"
            ).fetchone()
        return (0, 0)
    finally:
        connection.close()


@pytest.mark.parametrize(
    "executor", [pytest.param("process:1", marks=pytest.mark.slow), "process:2"]
)
def test_kill_9_in_the_middle_loses_and_repeats_nothing(tmp_path, executor):
    spec, store, out = (tmp_path / name for name in ("s.toml", "s.sqlite", "s.json"))
    spec.write_text(KILLED)
    process = subprocess.Popen(
        command(spec, executor, "--store", store), cwd=ROOT, stdout=subprocess.DEVNULL
    )
    while rows(store)[0] < 4:  # until it is in the middle
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.02)
        assert process.poll() is None
    process.kill()
    process.wait()
    kept = rows(store)[0]
    assert 4 <= kept < 24

    resumed = subprocess.run(
        command(spec, executor, "--store", store, "--out", out), cwd=ROOT, capture_output=True
    )
    assert (resumed.returncode, resumed.stderr) == (0, b"")
    assert rows(store) == (24, 24)

    once = tmp_path / "once.json"
    assert main(["sweep", "--spec", str(spec), "--executor", "serial", "--out", str(once)]) == 0
    assert out.read_bytes() == once.read_bytes()
    assert json.loads(out.read_text())["result"]["runs"] == 24
