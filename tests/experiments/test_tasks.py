"""Tasks: a run as plain data, its key, and where it runs."""

import dataclasses
import json
import math
from concurrent.futures import BrokenExecutor, Executor, Future

import pytest

from dp2theory.experiments.cells import CellMaker
from dp2theory.experiments.settings import Setting
from dp2theory.experiments.spec import parse_spec
from dp2theory.experiments.sweep import Memory
from dp2theory.experiments.tasks import (
    Task,
    TaskResult,
    WorkerError,
    bundles,
    canonical,
    run_bundle,
    run_task,
    run_tasks,
    run_texts,
)
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.registry import METHODS
from dp2theory.optimizers.sgd import DpSgd
from tests.experiments.runs import DP_SGD, PROBLEM, SETTING, TASK, made_up, result, tasks


def test_a_task_is_the_run_it_describes():
    made = run(
        DpSgd(**DP_SGD, noise_multiplier=1.5),
        SETTING.load(),
        sampling=SETTING.description(),
        steps=20,
        rng=3,
        record_every=5,
        expected_batch_size=20.0,
    )
    got = result()
    assert got.final_loss == made.final_loss
    assert got.losses == tuple(made.losses)
    assert got.loss_steps == (0, 5, 10, 15, 20)
    assert got.ledger == repr(made.ledger)
    assert got.metrics == SETTING.load().metrics(made.parameters)
    assert (got.steps, got.diverged) == (20, False)


def test_json_keeps_every_bit():
    assert Task.from_json(json.loads(json.dumps(TASK.to_json()))) == TASK
    there = TaskResult.from_json(json.loads(canonical(made_up().to_json())))
    assert there.final_loss.hex() == (0.1 + 0.2).hex()
    assert there.losses == (1 / 3, math.inf)
    assert math.isnan(there.metrics["odd"])
    (text,) = run_texts([canonical(TASK.to_json())])
    assert json.loads(text) == {"key": TASK.key(), "result": result().to_json()}


@pytest.mark.parametrize("fields", [{"format": 0}, {"format": 1, "seed": 3}, {}])
def test_other_formats_are_refused(fields):
    with pytest.raises(ValueError, match="task"):
        Task.from_json(fields)
    with pytest.raises(ValueError, match="result"):
        TaskResult.from_json(fields)


def changed(**changes) -> Task:
    own = {name: value for name, value in changes.items() if hasattr(TASK, name)}
    rest = {name: value for name, value in changes.items() if name not in own}
    return dataclasses.replace(TASK, **own, setting=dataclasses.replace(SETTING, **rest))


#: One change of everything that a run depends on.
CHANGES = [
    {"seed": 4},
    {"method": "dp-rmsprop"},
    {"settings": DP_SGD | {"clip_norm": 2.0}},
    {"noise_multiplier": 1.5 + 1e-15},
    {"record_every": None},
    {"problem": PROBLEM.replace("seed=1", "seed=2")},
    {"batch_size": 21},
    {"steps": 21},
    {"steps": None, "epochs": 2},
    {"sampling": "with-replacement"},
    {"public_share": 0.1},
    {"problem_options": {"seed": 2}},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_another_run_has_another_key(change):
    assert changed(**change).key() != TASK.key()


def test_the_same_run_has_the_same_key():
    turned = dict(reversed(DP_SGD.items()))
    assert changed(settings=turned).key() == TASK.key()
    # The budget decides the noise multiplier, which is in the key, and nothing else of a run.
    assert changed(target_epsilon=1.0, target_delta=1e-3, relation="replace-one").key() == (
        TASK.key()
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"method": "dp-sgdd"}, "method='dp-sgdd'"),
        ({"seed": -1}, "seed=-1"),
        ({"record_every": 0}, "record_every=0"),
        ({"noise_multiplier": math.nan}, "noise_multiplier=nan"),
        ({"noise_multiplier": -1.0}, "noise_multiplier=-1.0"),
        ({"settings": {"learning_rate": math.nan}}, "plain finite"),
        ({"settings": {"learning_rate": object()}}, "plain finite"),
        ({"settings": DP_SGD | {"delay": 3}}, "delay=3 is no setting of dp-sgd"),
        ({"settings": DP_SGD | {"noise_multiplier": 3}}, "noise_multiplier=3 is no setting"),
        ({"settings": {"learning_rate": 1.0}}, "clip_norm"),
        ({"settings": DP_SGD | {"clip_norm": -1.0}}, "clip_norm=-1.0"),
        ({"method": "sgd", "settings": {"learning_rate": 1.0}}, "must be 0"),
        ({"method": "adadps", "settings": {}}, "public_share"),
    ],
)
def test_bad_tasks_are_named(changes, words):
    with pytest.raises(ValueError, match=words):
        dataclasses.replace(TASK, **changes).optimizer()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_as_a_task(method):
    spec = parse_spec(
        {
            "problems": PROBLEM, "methods": method, "epsilons": 3.0, "batch_size": 20,
            "steps": 20, "public_share": 0.2, "settings": {method: {"momentum": 0.5}},
        }
    )  # fmt: skip
    (cell,) = CellMaker(spec).cells(spec.settings[0])
    there = Task.from_json(json.loads(canonical(cell.task(0, None).to_json())))
    made = run_task(there)
    assert made.diverged or made.ledger == cell.ledger
    assert cell.epsilon.upper <= 3.0 or cell.noise_multiplier == 0


def test_a_run_that_diverges_is_a_result():
    setting = Setting(
        "movielens-100k", 2, steps=30, problem_options={"path": "u.data", "factors": 2}
    )
    task = Task(setting, "sgd", {"learning_rate": 1e60}, 0.0, 0, 10)
    rows = [f"{u}\t{i}\t{1 + (u * i) % 5}\t1\n" for u in range(1, 5) for i in range(1, 5)]
    with pytest.MonkeyPatch.context() as patch:
        from dp2theory.problems.movielens import _factorization, read_ratings

        patch.setattr(
            Setting,
            "load",
            lambda self: _factorization("ratings", *read_ratings(rows, "made"), 2, 0),
        )
        made = run_task(task)
    assert made.diverged
    assert made.final_loss == math.inf
    assert made.metrics == {}
    assert made.steps < 30
    assert TaskResult.from_json(json.loads(canonical(made.to_json()))).losses[0] == made.losses[0]


class Counting(Memory):
    def __init__(self):
        super().__init__()
        self.puts = []

    def put(self, key, task, made):
        self.puts.append(task.seed)
        super().put(key, task, made)


def test_results_come_in_order_and_equal_tasks_run_once():
    a, b = tasks(2)
    store, calls = Counting(), []
    got = run_tasks([b, a, b], store=store, progress=lambda *done: calls.append(done))
    assert got[0] == got[2] == run_task(b)
    assert got[1] == run_task(a)
    assert store.puts == [1, 0]
    assert calls == [(0, 2), (1, 2), (2, 2)]


def test_what_the_store_has_is_not_run_again():
    store, calls = Counting(), []
    store.kept[TASK.key()] = (TASK, made_up())
    got = run_tasks([TASK, tasks(1)[0]], store=store, progress=lambda *done: calls.append(done))
    assert got[0].ledger == "made up"
    assert store.puts == [0]
    assert calls == [(1, 2), (2, 2)]


def test_what_another_process_made_meanwhile_is_not_run():
    class Late(Counting):
        gets = 0

        def get(self, key):
            self.gets += 1
            return made_up() if self.gets > 1 else None

    for executor in (None, Here()):
        store = Late()
        assert run_tasks([TASK], store=store, executor=executor)[0].ledger == "made up"


class Here(Executor):
    """Runs at once, in this process; `fail` says which of its submissions break."""

    def __init__(self, fail=(), change=None):
        self.fail, self.change, self.count = set(fail), change, 0

    def submit(self, function, /, *args):
        future = Future()
        self.count += 1
        if self.count in self.fail:
            future.set_exception(BrokenExecutor("died."))
        else:
            texts = function(*args)
            future.set_result([self.change(text) if self.change else text for text in texts])
        return future


def grid(method, name, values, **settings):
    return [
        dataclasses.replace(TASK, method=method, settings=settings | {name: value}, seed=seed,
                            record_every=None)
        for value in values
        for seed in (1, 2)
    ]  # fmt: skip


def test_configurations_of_one_seed_run_together_and_are_the_same_bits():
    alike = grid("dp-sgd", "learning_rate", [0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 1e300], clip_norm=1.0)
    delayed = grid(
        "dp2-rmsprop", "delay", [2, 3], learning_rate=0.3, clip_norm=1.0,
        adaptive_learning_rate=0.01, preconditioned_clip_norm=100.0,
    )  # fmt: skip
    every = [*alike, *delayed, TASK]
    keyed = [(task.key(), task) for task in every]
    sizes = [len(bundle) for bundle in bundles(keyed)]
    assert sizes == [5, 5, 2, 2, 2, 2, 1]
    assert {key for bundle in bundles(keyed) for key, _ in bundle} == {key for key, _ in keyed}
    single = [run_task(task) for task in every]
    assert run_tasks(every) == single
    assert run_tasks(every, executor=Here()) == single
    assert run_tasks(every, executor=Here(fail=(1, 2, 9))) == single


def test_a_bundle_that_cannot_run_in_lockstep_runs_one_by_one():
    several = [
        dataclasses.replace(TASK, record_every=None),
        dataclasses.replace(TASK, record_every=None, method="sgd", noise_multiplier=0.0,
                            settings={"learning_rate": 1.0}),
    ]  # fmt: skip
    assert run_bundle(several) == [run_task(task) for task in several]


def test_no_tasks():
    assert run_tasks([]) == run_tasks([], executor=Here()) == []


def test_a_task_whose_worker_died_runs_again():
    assert run_tasks([TASK], executor=Here(fail=(1, 2))) == [result()]
    with pytest.raises(WorkerError, match="3 times with this task"):
        run_tasks([TASK], executor=Here(fail=(1, 2, 3)))


def test_a_worker_with_other_code_is_refused():
    def other(text):
        answer = json.loads(text)
        return canonical(answer | {"result": answer["result"] | {"code": "0" * 64}})

    with pytest.raises(WorkerError, match="another version of the code"):
        run_tasks([TASK], executor=Here(change=other))


def test_a_worker_with_other_data_is_refused(tmp_path):
    data = tmp_path / "u.data"
    data.write_text("".join(f"{u}\t{i}\t3\t1\n" for u in range(1, 5) for i in range(1, 5)))
    setting = Setting("movielens-100k", 4, steps=2, problem_options={"path": str(data)})
    task = dataclasses.replace(TASK, setting=setting)

    class Elsewhere(Here):
        def submit(self, function, /, *args):
            data.write_text(data.read_text().replace("1\t1\t3", "1\t1\t4.5"))
            return super().submit(function, *args)

    assert run_tasks([task], executor=Here()) == [run_task(task)]
    with pytest.raises(WorkerError, match="other data"):
        run_tasks([task], executor=Elsewhere())


def test_errors_of_a_task_are_the_callers():
    bad = dataclasses.replace(TASK, settings=DP_SGD | {"clip_norm": -1.0})
    for executor in (None, Here()):
        with pytest.raises(ValueError, match=r"clip_norm=-1\.0"):
            run_tasks([bad], executor=executor)


def test_many_more_tasks_than_are_in_flight(monkeypatch):
    monkeypatch.setattr("dp2theory.experiments.tasks._IN_FLIGHT", 2)
    assert run_tasks(tasks(5), executor=Here()) == run_tasks(tasks(5))
