"""Damaged sweep files, stores and pilots."""

from __future__ import annotations

import json
import sqlite3
import tomllib
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from dp2theory import gallery
from dp2theory.experiments import store as store_module
from dp2theory.experiments.spec import parse_spec, read_spec
from dp2theory.experiments.store import Store
from dp2theory.experiments.tasks import code_id
from dp2theory.planning import state
from dp2theory.planning.pilot import run_pilot
from tests.experiments.runs import PROBLEM, TASK, made_up, tasks
from tests.fuzz.mutations import (
    JUNK,
    LIGHT_AND_HEAVY,
    altered,
    clock,
    damaged,
    fuzz,
    refusal,
    text_of,
)  # fmt: skip
from tests.planning.small import SIGMA, small_budget, small_problem

SPEC = f"""
problems = ["{PROBLEM}", "hetA"]
methods = ["dp-sgd", "dp2-rmsprop"]
epsilons = [1, 3.0]
samplings = ["poisson", "without-replacement"]
seeds = [0, 1]
delays = [2, 5]
batch_size = 20
steps = 20
delta = 1e-5

[settings.dp-sgd]
learning_rate = [0.5, 1.0]

[problem.hetA]
batch_size = 30
epochs = 1
"""


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
def test_bytes_of_specs(tmp_path, many):
    path = tmp_path / "sweep.toml"

    def check(content):
        path.write_bytes(content)
        refusal(path, read_spec)

    check(SPEC.encode())
    assert refusal(path, read_spec) is None
    fuzz(damaged(SPEC.encode()), check, 60 * many)


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
def test_values_of_specs(many):
    def check(document):
        with suppress(ValueError):
            parse_spec(document if isinstance(document, dict) else {"problems": document})

    fuzz(altered(tomllib.loads(SPEC)), check, 100 * many)


@pytest.mark.parametrize(
    "more",
    [
        "epsilons = [1, 2, 3, 4, 5]\nseeds = [" + ", ".join(map(str, range(120_000))) + "]\n",
        "epsilons = [" + ", ".join(map(str, range(1, 120_000))) + "]\nseeds = 20\n",
        "[settings.dp2-rmsprop]\n"
        + "".join(
            f"{name} = {[(i + 1) / 4000 for i in range(2000)]}\n"
            for name in ("learning_rate", "clip_norm", "damping", "ema")
        ),
        "x = " + "9" * 5000 + "\n",
        "x = " + "[" * 50_000 + "\n",
    ],
    ids=["seeds", "epsilons", "settings", "digits", "deep"],
)
def test_specs_of_more_than_a_life_are_refused_at_once(tmp_path, more):
    path = tmp_path / "sweep.toml"
    path.write_text(f'problems = ["hetA"]\nmethods = ["dp-sgd", "dp2-rmsprop"]\n{more}')
    with clock(5):
        said = refusal(path, read_spec)
    assert said is not None
    assert "must be at most 1,000,000" in said or "is no TOML" in said


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
def test_bytes_of_stores(tmp_path, many):
    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        for task in tasks(12):
            store.put(task.key(), task, made_up())
    good = path.read_bytes()
    keys = [task.key() for task in tasks(12)]

    def use(file):
        with Store(file) as store:
            for key in keys:
                found = store.get(key)
                assert found is None or found.to_json() == made_up().to_json()
            store.put(keys[0], tasks(1)[0], made_up())
            return len(store)

    def check(content):
        path.write_bytes(content)
        for name in ("runs.sqlite-journal", "runs.sqlite-wal"):
            (tmp_path / name).unlink(missing_ok=True)
        refusal(path, use)

    fuzz(damaged(good), check, 25 * many)


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
def test_values_of_stores(tmp_path, many):
    """Rows whose digest is right, whatever they hold: of another version, say, or made by hand."""
    path, key = tmp_path / "runs.sqlite", TASK.key()

    def use(file):
        with Store(file) as store:
            found = store.get(key)
            assert found is not None
            found.to_json()

    def check(document):
        path.unlink(missing_ok=True)
        Store(path).close()
        fields = (key, code_id(), "a task", text_of(document))
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(
                "INSERT INTO results (key, code, task, result, digest) VALUES (?, ?, ?, ?, ?)",
                (*fields, store_module._digest(*fields)),
            )
        refusal(path, use)

    good = made_up().to_json()
    check(good)
    assert refusal(path, use) is None
    fuzz(altered(good), check, 25 * many)


DRAWN = {
    "result": {
        "figure": "drift",
        "title": "title",
        "caption": "caption",
        "verdict": {"claim": "claim", "text": "text", "holds": True, "gates": [
            {"name": "a gate", "holds": True, "text": "text"}]},
        "files": {"png": "drift.png", "json": "drift.json"},
        "seeds": {"evaluation": [1], "tuning": []},
    }
}  # fmt: skip


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
def test_figures_that_the_gallery_keeps(tmp_path, many):
    path = tmp_path / "drift.json"

    def check(content):
        path.write_bytes(content if isinstance(content, bytes) else text_of(content).encode())
        refusal(path, lambda file: gallery.kept("drift", None, file.parent))

    check(DRAWN)
    assert refusal(path, lambda file: gallery.kept("drift", None, file.parent)) is None
    fuzz(altered(DRAWN), check, 40 * many)
    fuzz(damaged(json.dumps(DRAWN).encode()), check, 40 * many)


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    """The file of a pilot, its arrays and what stands beside them."""
    path = tmp_path_factory.mktemp("pilot") / "pilot.npz"
    sizes = {"noise_multiplier": SIGMA, "clip_norm": 1.0, "learning_rate": 1.0}
    made = run_pilot(small_problem(), small_budget(), seed=1, **sizes)
    state.save_pilot(path, made)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in state._ARRAYS}
        return path.read_bytes(), arrays, json.loads(str(archive["meta"]))


def write_pilot(path: Path, meta: object, arrays: dict[str, np.ndarray]) -> None:
    """A pilot whose digest is right, whatever it holds."""
    text = json.dumps(meta)
    digest = state._digest(text, arrays)
    np.savez(path, **arrays, meta=np.array(text), digest=np.array(digest))


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
def test_bytes_of_pilots(tmp_path, pilot, many):
    path = tmp_path / "pilot.npz"

    def check(content):
        path.write_bytes(content)
        refusal(path, state.load_pilot)

    check(pilot[0])
    assert refusal(path, state.load_pilot) is None
    fuzz(damaged(pilot[0]), check, 25 * many)


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
def test_values_of_pilots(tmp_path, pilot, many):
    path = tmp_path / "pilot.npz"
    junk = tuple(one for one in JUNK if not isinstance(one, int) or abs(one) < 10**300)

    def check(meta):
        write_pilot(path, meta, pilot[1])
        refusal(path, state.load_pilot)

    fuzz(altered(pilot[2], junk), check, 40 * many)


@pytest.mark.parametrize("name", state._ARRAYS)
def test_arrays_of_pilots(tmp_path, pilot, name):
    path = tmp_path / "pilot.npz"
    good = pilot[1][name]
    wrong = [good[..., :-1], good[None], np.zeros(0), np.array(3.0), np.array(["a"]), good * 1j]
    wrong += [np.full(good.shape, value) for value in (np.nan, np.inf, -np.inf, 1e308, -1.0, 0.5)]
    for array in wrong:
        write_pilot(path, pilot[2], {**pilot[1], name: array})
        with clock():
            refusal(path, state.load_pilot)
