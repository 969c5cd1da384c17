"""drift: parts of every seed, streams of their own, gates that can fail."""

from dataclasses import replace

import pytest

from dp2theory.experiments.resque import drift
from tests.experiments.resque.small import SMALL, failed, made


@pytest.fixture(scope="module")
def data():
    return made("drift").data


def changed(data, part, method, make):
    """The data with the rows of one part and method made anew."""
    parts = [
        replace(one, table=replace(one.table, rows=tuple(
            make(row) if method in (None, row.method) else row for row in one.table.rows
        )))
        if part in (None, one.part) else one
        for one in data.parts
    ]  # fmt: skip
    return drift.Drifts(tuple(parts))


def test_gates_hold_on_every_seed(data):
    verdict = drift.judge(data)
    assert verdict.holds, verdict.text
    assert {(one.part, one.seed) for one in data.parts} == {
        (name, seed) for name in SMALL["drift"] for seed in (0, 1)
    }


def test_a_part_does_not_depend_on_the_other_seeds(data):
    alone = made("drift", seeds=(1,)).data
    assert list(alone.parts) == [one for one in data.parts if one.seed == 1]


@pytest.mark.parametrize(
    ("part", "method", "make", "told"),
    [
        # noise that is not shared, in place of the coupling
        ("hard", "shared", lambda row: replace(row, drift=row.steps**0.5 / 2), "coupled drift"),
        ("hard", "shared", lambda row: replace(row, drift=0.9), "coupled drift"),
        ("hard", "raw", lambda row: replace(row, drift=row.steps / 20), "raw drift"),
        ("hard", "raw", lambda row: replace(row, drift=1.0), "raw drift"),
        ("linear", "shared", lambda row: replace(row, bound=0.5 * row.drift), "moments"),
        ("linear", "shared", lambda row: replace(row, sharp_bound=0.5 * row.drift), "moments"),
        ("absolute", "shared", lambda row: replace(row, drift=2.0), "moments"),
        ("independent", "independent", lambda row: replace(row, drift=1.0), "independent noise"),
    ],
)
def test_a_broken_drift_fails_its_gate(data, part, method, make, told):
    names = failed(drift.judge(changed(data, part, method, make)))
    assert any(name.startswith(told) for name in names), names


def test_an_error_bar_is_no_excuse_for_far(data):
    row = data.rows("linear", "shared")[0]
    near = replace(row, drift=row.sharp_bound + 2 * row.standard_error)
    far = replace(row, drift=max(row.sharp_bound, row.bound) + 4 * row.standard_error)
    assert drift.bound_gate([near]).holds
    assert not drift.bound_gate([far]).holds


def test_without_independent_noise_there_is_no_such_gate(data):
    kept = drift.Drifts(tuple(one for one in data.parts if one.part != "independent"))
    assert kept.independent_slope() is None
    assert len(drift.judge(kept).gates) == 3
