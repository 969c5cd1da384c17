"""Damaged sweep files, stores and pilots."""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from dp2theory.experiments.spec import parse_spec, read_spec
from dp2theory.experiments.store import Store
from dp2theory.planning import state
from dp2theory.planning.pilot import run_pilot
from tests.experiments.runs import PROBLEM, made_up, tasks
from tests.fuzz.mutations import JUNK, LIGHT_AND_HEAVY, altered, clock, damaged, fuzz, refusal
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
