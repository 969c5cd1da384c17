"""Simulated drift: what is proved, what is exact without smoothing, what independence costs."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dp2theory.resque import drift
from dp2theory.resque.drift import DriftTable, drift_table, hard, linear, simulate


def values(table: DriftTable, name: str = "drift") -> list[float]:
    return [getattr(row, name) for row in table.rows]


def test_shared_noise_stays_below_both_bounds_at_every_order() -> None:
    table = drift_table("linear", horizons=[200], ratios=[0.05, 0.1, 0.2], orders=[2, 4, 8],
                        paths=2500, methods=["shared"], rng=0)  # fmt: skip
    for row in table.rows:
        assert row.bound is not None
        assert row.sharp_bound is not None
        assert row.drift + 4 * row.standard_error > 1
        assert row.drift - 4 * row.standard_error < row.sharp_bound <= row.bound * (1 + 1e-9)
    # The values that were measured once with 3e5 paths.
    known = [1.00108, 1.00358, 1.00861, 1.00467, 1.01477, 1.03527, 1.01957, 1.06118, 1.14954]
    for row, value in zip(table.rows, known, strict=True):
        assert abs(row.drift - value) < 4.5 * row.standard_error + 3e-4


def test_raw_drift_on_the_hard_losses_is_exact() -> None:
    horizons = [50, 100, 200, 400]
    table = drift_table("hard", horizons=horizons, methods=["raw"], paths=2, rng=0)
    assert_allclose(values(table), [math.sqrt(t) / 2 - 1 for t in horizons], rtol=1e-12)
    assert_allclose(values(table), [2.54, 4.00, 6.07, 9.00], atol=0.005)
    assert values(table, "standard_error") == [0.0] * 4
    assert values(table, "bound") == [None] * 4


def test_shared_reweighted_queries_on_the_hard_losses_hardly_drift() -> None:
    table = drift_table("hard", horizons=[50, 100, 200], ratios=[0.25], methods=["shared"],
                        paths=30, rng=1)  # fmt: skip
    for row in table.rows:
        assert abs(row.drift - 1) < 0.02
        assert row.bound is not None
        assert row.drift < row.bound


def test_independent_noise_costs_the_root_of_the_steps() -> None:
    table = drift_table("absolute", horizons=[100, 400], paths=150, rng=2)
    by = {(row.method, row.steps): row.drift for row in table.rows}
    for steps in (100, 400):
        assert by["shared", steps] < 1
        assert 0.5 < by["independent", steps] / math.sqrt(steps) < 0.7
        assert by["shared", steps] < by["raw", steps] < 1.5
    assert 1.8 < by["independent", 400] / by["independent", 100] < 2.1


def test_one_step_of_linear_losses_by_hand() -> None:
    # x -> x + eta w(x) for both runs: eta = 1, starts at 1 and -1 (rho = 2), then the ball.
    sizes = simulate(linear(1), steps=1, ratio=0.5, method="shared", paths=3,
                     rng=np.random.default_rng(7))  # fmt: skip
    rng = np.random.default_rng(7)
    rng.integers(0, 1, size=3)
    z = rng.standard_normal(3)
    weight, other = np.exp(z / 2 - 1 / 8), np.exp(-z / 2 - 1 / 8)
    first = np.clip(1 - weight, -1, 1)
    second = np.clip(-1 - other, -1, 1)
    assert_allclose(sizes, np.abs(first - second) / 2, rtol=1e-12)


def test_the_same_seed_gives_the_same_bits_and_rows_have_streams_of_their_own() -> None:
    def draw(horizons: list[int], rng: Any) -> DriftTable:
        return drift_table("absolute", horizons=horizons, paths=5, rng=rng)

    both = draw([10, 20], 3)
    assert both == draw([10, 20], np.random.default_rng(3))
    assert both != draw([10, 20], 4)
    assert both.rows[:3] == draw([10], 3).rows


def test_paths_are_run_in_blocks_that_cover_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift, "_ENTRIES", 40)
    sizes = simulate(hard(10), steps=10, ratio=0.1, method="shared", paths=11,
                     rng=np.random.default_rng(0))  # fmt: skip
    assert sizes.shape == (11,)
    assert len(np.unique(sizes)) == 11


def test_a_table_is_plain_values() -> None:
    table = drift_table("linear", horizons=[5], orders=[2, 2.5], paths=4, rng=0)
    plain = json.loads(json.dumps(table.to_json()))
    assert plain["kind"] == "linear"
    assert len(plain["rows"]) == 6
    assert plain["rows"][0]["bound"] > 1
    assert plain["rows"][1]["sharp_bound"] is None  # the lemma is for whole orders
    assert plain["rows"][-1]["bound"] is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "easy"}, "kind='easy'"),
        ({"methods": ["common"]}, "methods holds 'common'"),
        ({"methods": []}, "must not be empty"),
        ({"horizons": []}, "must not be empty"),
        ({"horizons": [0]}, "horizons=0"),
        ({"ratios": [0.0]}, "ratios=0.0"),
        ({"ratios": [float("nan")]}, "ratios=nan"),
        ({"orders": [1.5]}, "orders holds 1.5"),
        ({"paths": 1}, "paths=1"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], words: str) -> None:
    options: dict[str, Any] = {"kind": "linear", "horizons": [5], "paths": 2, "rng": 0} | change
    with pytest.raises(ValueError) as caught:
        drift_table(options.pop("kind"), **options)
    assert words in str(caught.value)
