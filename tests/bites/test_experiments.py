"""Broken variants of tasks, stores and sweeps: what the tests of the experiments must notice."""

import dataclasses
import math
import sqlite3

import pytest

from dp2theory.experiments import tasks as tasks_module
from dp2theory.experiments.spec import parse_spec
from dp2theory.experiments.store import Store
from dp2theory.experiments.sweep import Sweep
from dp2theory.experiments.task_data import Task
from dp2theory.optimizers.protocol import run
from tests.experiments.runs import TASK, made_up, result
from tests.experiments.test_sweep import DOCUMENT
from tests.experiments.test_tasks import CHANGES, changed

PRIVATE = {name: value for name, value in DOCUMENT.items() if name != "settings"} | {
    "methods": ["dp-sgd", "dp2-rmsprop"],
    "seeds": 1,
    "delays": 5,
}


def swept(document=PRIVATE):
    sweep = Sweep(parse_spec(document))
    sweep.run()
    return sweep.result()


def halved_noise(optimizer, problem, **arguments):
    quieter = dataclasses.replace(optimizer, noise_multiplier=optimizer.noise_multiplier / 2)
    return run(quieter, problem, **arguments)


def one_step_more(optimizer, problem, *, steps, **arguments):
    return run(optimizer, problem, steps=steps + 1, **arguments)


def larger_batches(optimizer, problem, *, sampling, **arguments):
    doubled = dataclasses.replace(sampling, sampling_probability=2 * sampling.sampling_probability)
    return run(optimizer, problem, sampling=doubled, **arguments)


@pytest.mark.parametrize("broken", [halved_noise, one_step_more, larger_batches])
def test_runs_that_execute_other_releases_than_were_accounted(monkeypatch, broken):
    assert swept()
    monkeypatch.setattr(tasks_module, "run", broken)
    with pytest.raises(RuntimeError, match="was accounted"):
        swept()


@pytest.mark.parametrize(
    "forgotten",
    ["seed", "method", "settings", "noise_multiplier", "record_every", "setting"],
)
def test_a_key_that_forgets_something(monkeypatch, forgotten):
    whole = Task.identity

    def identity(self):
        return {name: value for name, value in whole(self).items() if name != forgotten}

    assert all(changed(**change).key() != TASK.key() for change in CHANGES)
    monkeypatch.setattr(Task, "identity", identity)
    assert any(changed(**change).key() == TASK.key() for change in CHANGES)


class Overwriting(Store):
    """A store whose later results take the place of the earlier ones."""

    def put(self, key, task, made):
        connection = sqlite3.connect(self.path)
        try:
            connection.execute("DELETE FROM results WHERE key = ?", (key,))
            connection.commit()
        finally:
            connection.close()
        super().put(key, task, made)


def test_a_store_that_overwrites(tmp_path):
    with Overwriting(tmp_path / "runs.sqlite") as store:
        store.put(TASK.key(), TASK, result())
        with pytest.raises(sqlite3.IntegrityError, match="only appended"):
            store.put(TASK.key(), TASK, made_up())


def test_a_run_that_is_not_repeatable(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        store.put(TASK.key(), TASK, result())
        last_bit = math.nextafter(result().final_loss, 1.0)
        again = dataclasses.replace(result(), final_loss=last_bit)
        with pytest.raises(ValueError, match="not repeatable"):
            store.put(TASK.key(), TASK, again)
