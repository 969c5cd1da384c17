"""Exact oracles: proximal points, minimisers on balls, and what they count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp2theory.resque.ball_oracle import (
    ExactBallOracle,
    ProximalOracle,
    RegularisedBallOracle,
    solve_ball,
)
from dp2theory.resque.counters import Counter, Counts
from dp2theory.resque.distances import MaxDistance, WeightedDistance
from dp2theory.resque.naive import iterate_oracle
from dp2theory.resque.named_functions import function_named
from tests.resque import ball_checks as checks
from tests.resque.test_ball_acceleration import functions

LINE = MaxDistance(np.array([3.0]))  # |x - 3|


@given(
    functions(),
    st.integers(0, 2**32),
    st.floats(0.001, 8.0),
    st.sampled_from([0.0, 1e-3, 0.3, 5.0, 1e4]),
)
def test_minimisers_on_balls(
    function: checks.Function, seed: int, radius: float, multiplier: float
) -> None:
    rng = np.random.default_rng(seed)
    center = function.center + 10.0 ** rng.uniform(-3, 1) * rng.standard_normal(function.dimension)
    checks.check_ball_minimum(function, center, radius, rng, multiplier)


def test_minimisers_on_balls_in_many_dimensions() -> None:
    rng = np.random.default_rng(0)
    for name in ("max", "l1", "max-flat", "l1-flat"):
        function: Any = function_named(name, dimension=400)
        for radius in (0.9, 0.1, 1e-3, 1e-6):
            checks.check_ball_minimum(function, function.start, radius, rng)


def test_on_a_line() -> None:
    point, multiplier, evaluations = solve_ball(LINE, np.array([1.0]), 0.5)
    assert point == pytest.approx([1.5])
    assert multiplier == pytest.approx(2.0)  # slope 1 over radius 1/2
    assert evaluations > 1
    free = solve_ball(LINE, np.array([1.0]), 2.5)
    assert free.point == pytest.approx([3.0])
    assert free.multiplier == 0.0
    weak = solve_ball(LINE, np.array([1.0]), 1.0, 0.5)  # 1/0.5 is further than 1
    assert weak.point == pytest.approx([2.0])
    assert weak.multiplier == pytest.approx(1.0)
    strong = solve_ball(LINE, np.array([1.0]), 1.0, 4.0)
    assert strong.point == pytest.approx([1.25])
    assert strong.multiplier == 4.0


def test_oracles_agree_inside_the_ball_and_part_outside() -> None:
    center = np.array([1.0])
    proximal, ball = ProximalOracle(LINE, 0.5), RegularisedBallOracle(LINE, 0.5)
    assert proximal.solve(center, 4.0) == pytest.approx(ball.solve(center, 4.0))
    assert proximal.solve(center, 1.0) == pytest.approx([2.0])
    assert ball.solve(center, 1.0) == pytest.approx([1.5])
    assert not proximal.restricted
    assert ball.restricted


def test_what_is_counted() -> None:
    center = np.array([1.0])
    counter = Counter()
    ProximalOracle(LINE, 0.5, counter).solve(center, 4.0)
    assert counter.snapshot() == Counts(1, 1, 1, 1)
    for oracle in (RegularisedBallOracle(LINE, 0.5, counter), ExactBallOracle(LINE, 0.5, counter)):
        before = counter.snapshot()
        if isinstance(oracle, RegularisedBallOracle):
            oracle.solve(center, 1.0)
            tried = solve_ball(LINE, center, 0.5, 1.0).evaluations
        else:
            tried = oracle.minimise(center).evaluations
        after = counter.snapshot()
        assert after.oracle_calls == before.oracle_calls + 1
        assert after.query_depth == before.query_depth + 1
        assert after.computational_depth == before.computational_depth + tried


@pytest.mark.parametrize("make", [ProximalOracle, RegularisedBallOracle, ExactBallOracle])
def test_bad_oracles_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="proximal map"):
        make(function_named("hinge", records=10), 0.1)
    for radius in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="radius"):
            make(LINE, radius)


def test_bad_calls_are_refused() -> None:
    for multiplier in (0.0, -1.0, np.nan):
        for oracle in (ProximalOracle(LINE, 1.0), RegularisedBallOracle(LINE, 1.0)):
            with pytest.raises(ValueError, match="multiplier"):
                oracle.solve(np.zeros(1), multiplier)
    with pytest.raises(ValueError, match="center"):
        solve_ball(LINE, np.array([np.nan]), 1.0)
    with pytest.raises(ValueError, match="multiplier"):
        solve_ball(LINE, np.zeros(1), 1.0, -1.0)


def test_weights_of_very_different_size() -> None:
    function = WeightedDistance(np.array([1.0, -1.0, 2.0]), np.array([1e-6, 1.0, 1e3]))
    rng = np.random.default_rng(1)
    for radius in (1e-4, 0.1, 1.0, 2.3):
        checks.check_ball_minimum(function, function.start, radius, rng)


def test_a_radius_below_rounding_is_no_minimum() -> None:
    """There rounding hides every move; the l1 ball of the dual problem is below rounding, too."""
    function, start = MaxDistance(np.array([0.6, 0.8])), np.zeros(2)
    np.testing.assert_allclose(solve_ball(function, start, 1e-17).point, start, atol=1e-15)
    for call in (solve_ball, lambda *given: ExactBallOracle(given[0], given[2]).minimise(given[1])):
        with pytest.raises(ValueError, match=r"radius=1e-300 must be above the rounding"):
            call(function, start, 1e-300)
    at = function.center
    assert solve_ball(function, at, 1e-300).multiplier == 0  # there it is one
    assert iterate_oracle(ExactBallOracle(function, 1e-300), start=at).stopped == "minimum"
