"""Growth of steps as balls shrink: 2/3 accelerated, 1 by iteration alone."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from dp2theory.resque.slopes import SLOPE_FUNCTIONS, SlopeStudy, slope_study
from tests.resque import ball_checks as checks


@pytest.fixture(scope="module")
def study() -> SlopeStudy:
    return slope_study()


@pytest.mark.parametrize("function", SLOPE_FUNCTIONS)
def test_growth(study: SlopeStudy, function: str) -> None:
    for count in ("accepted", "leaping_accepted", "bisection_free"):
        checks.check_growth(study.slope(function, count), accelerated=True)
    checks.check_growth(study.slope(function, "naive"), accelerated=False)


def test_every_row_keeps_what_is_proved(study: SlopeStudy) -> None:
    for row in study.rows:
        assert max(row.accepted, row.leaping_accepted) <= row.bound
        assert max(row.potential_rise, row.free_potential_rise) < 0
        assert row.promise_excess <= 1e-12
        assert row.final_gap <= row.accuracy


def test_bounds_are_those_of_the_theorem(study: SlopeStudy) -> None:
    """1 + ((R/(c r)) log(...))^(2/3) to a digit, for c = 1/2; the theorem has 2 in place of 1."""
    found = [each.bound - 1 for each in study.rows if each.function == "max"]
    assert found == pytest.approx([63.0, 105.3, 175.6, 292.2, 485.0], abs=0.05)


def test_rows_are_what_the_runs_do(study: SlopeStudy) -> None:
    rows = {int(each.ratio): each for each in study.rows if each.function == "max"}
    checks.check_sequence({ratio: row.accepted for ratio, row in rows.items()}, checks.WARM)
    naive = {ratio: row.naive for ratio, row in rows.items() if ratio in checks.NAIVE}
    checks.check_sequence(naive, checks.NAIVE)  # type: ignore[arg-type]
    cold = slope_study(("max",), (4, 32), warm_start=False)
    checks.check_sequence({int(each.ratio): each.accepted for each in cold.rows}, checks.COLD)


def test_it_can_be_written_down() -> None:
    small = slope_study(("l1",), (2.0, 4.0, 8.0), dimension=5, naive_up_to=4.0)
    said = json.loads(json.dumps(small.to_json()))
    assert said["dimension"] == 5
    assert [each["ratio"] for each in said["rows"]] == [2.0, 4.0, 8.0]
    assert said["rows"][-1]["naive"] is None
    ratios, counts = small.counts("l1", "naive")
    assert ratios.tolist() == [2.0, 4.0]
    assert np.isfinite(small.slope("l1", "naive"))
    assert counts.tolist() == [each["naive"] for each in said["rows"][:2]]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("function_names", ("hinge",)),
        ("function_names", ()),
        ("ratios", ()),
        ("ratios", (0.5,)),
        ("ratios", (np.inf,)),
        ("dimension", 0),
        ("relative_accuracy", 0.0),
        ("relative_accuracy", 1.0),
        ("relative_accuracy", np.nan),
    ],
)
def test_bad_arguments_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        slope_study(**{name: value})


def test_unknown_counts_and_single_ratios_are_refused() -> None:
    small = slope_study(("l1",), (2.0,), dimension=3)
    with pytest.raises(ValueError, match="two ratios"):
        small.slope("l1", "naive")
    with pytest.raises(ValueError, match="count"):
        small.counts("l1", "guesses")
    with pytest.raises(ValueError, match="function"):
        small.counts("max", "naive")
