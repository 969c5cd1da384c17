"""Private methods side by side."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from dp2theory.resque.named_functions import function_named
from dp2theory.resque.private_study import METHODS, accuracy_for, private_study

SMALL: dict[str, Any] = {"settings": ((200, 2),), "seeds": 2, "accuracy_factor": 8.0}


def test_every_method_runs_at_one_epsilon_and_is_compared_with_the_optimum() -> None:
    study = private_study(**SMALL)
    assert tuple(row.method for row in study.rows) == METHODS
    for row in study.rows:
        assert 0.9 < row.epsilon.upper <= 1.0
        assert row.excess >= 0
        assert row.queries >= row.query_depth > 0
    (start,) = study.starts
    loss: Any = function_named("absolute", records=200, dimension=2)
    truth = loss.value(np.full(2, 0.5 * 2**-0.5))
    assert loss.value(loss.start) - truth <= start.excess < loss.value(loss.start)
    assert study.best(200, 2).excess == min(row.excess for row in study.rows)
    document = json.loads(json.dumps(study.to_json(), allow_nan=False))
    assert set(document["rows"][0]["epsilon"]) == {"lower", "upper"}


def test_the_outcome_does_not_depend_on_workers() -> None:
    settings = {**SMALL, "methods": ("noisy-sgd", "phased-localization")}
    told: list[tuple[int, int]] = []
    here = private_study(**settings, progress=lambda *at: told.append(at))
    assert told == [(0, 2), (1, 2), (2, 2)]
    with ThreadPoolExecutor(2) as executor:
        assert private_study(**settings, executor=executor) == here


def test_the_accuracy_is_that_of_the_rate() -> None:
    loss: Any = function_named("absolute", records=100, dimension=4)
    budget = {"target_epsilon": 1.0, "target_delta": np.exp(-25.0)}
    assert accuracy_for(loss, **budget, factor=1.0) == pytest.approx(0.1)
    budget["target_epsilon"] = 0.5
    assert accuracy_for(loss, **budget, factor=2.0) == pytest.approx(0.4)
    assert accuracy_for(loss, **budget, factor=20.0) == 1.0


def test_bad_input_is_refused() -> None:
    for change, named in (
        ({"settings": ()}, "settings"),
        ({"settings": ((1, 2),)}, "settings"),
        ({"methods": ("dp-sgd",)}, "methods"),
        ({"seeds": 1}, "seeds"),
        ({"first_seed": -1}, "first_seed"),
        ({"target_epsilon": 0.0}, "target_epsilon"),
        ({"target_delta": 1.0}, "target_delta"),
        ({"accuracy_factor": float("nan")}, "accuracy_factor"),
    ):
        with pytest.raises(ValueError, match=named):
            private_study(**{**SMALL, **change})
    with pytest.raises(ValueError, match="dimension=9"):
        private_study(**{**SMALL, "methods": ("phased-localization",)}).best(200, 9)


@pytest.mark.slow
def test_excess_falls_with_records_and_baselines_are_ahead_at_these_sizes() -> None:
    study = private_study(settings=((1000, 8), (4000, 8)))
    by = {(row.method, row.dataset_size): row for row in study.rows}
    for method in ("noisy-sgd", "phased-localization", "resque"):
        assert by[method, 4000].excess < 0.6 * by[method, 1000].excess
    # What disappoints is asserted too: a change of it is news.
    assert study.best(4000, 8).method == "noisy-sgd"
    assert by["resque", 4000].excess < by["phased-localization-raw", 4000].excess
