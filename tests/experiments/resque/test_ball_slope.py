"""ball-slope: counts of the study, slopes of what is counted, gates that can fail."""

from dataclasses import replace

import pytest

from dp2theory.experiments.resque import ball_slope
from tests.experiments.resque.small import failed, made


@pytest.fixture(scope="module")
def data():
    return made("ball-slope").data


def with_rows(data, **changes):
    """The data with some fields of every row computed anew."""
    rows = [
        replace(row, **{name: make(row) for name, make in changes.items()})
        for row in data.study.rows
    ]
    return ball_slope.Slopes(replace(data.study, rows=tuple(rows)))


def test_gates_hold_and_slopes_are_of_the_rows(data):
    assert ball_slope.judge(data).holds
    first, last = data.study.rows
    found = data.to_json()["slopes"]["naive"]["max"]
    assert 4**found == pytest.approx(last.naive / first.naive)
    assert first.accepted < first.bound


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        # the naive iteration in place of acceleration, and the other way round
        ({"accepted": lambda row: row.naive}, "slope of accepted steps in"),
        ({"leaping_accepted": lambda row: row.naive}, "slope of accepted steps, search"),
        ({"bisection_free": lambda row: row.naive}, "slope of steps without bisection"),
        ({"naive": lambda row: row.accepted}, "slope of steps of the oracle alone"),
        ({"bound": lambda row: row.accepted - 0.5}, "accepted steps at most"),
        ({"potential_rise": lambda row: 1e-6}, "the potential falls"),
        ({"free_potential_rise": lambda row: 1e-6}, "the potential falls"),
        ({"promise_excess": lambda row: 1e-6}, "the potential falls"),
        ({"final_gap": lambda row: 1.01 * row.accuracy}, "f - f* at most"),
    ],
)
def test_a_broken_count_fails_its_gate(data, changes, told):
    names = failed(ball_slope.judge(with_rows(data, **changes)))
    assert any(name.startswith(told) for name in names), names


def test_caption_names_the_sizes():
    sizes = {"functions": ("l1",), "ratios": (16.0, 32.0), "dimension": 30}
    caption = made("ball-slope", sizes=sizes | {"relative_accuracy": 0.1}).caption
    assert "in 30 dimensions" in caption
    assert "10% of" in caption
