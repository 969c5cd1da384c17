"""Ball acceleration with exact oracles: its counts, its searches, its caps and what it refuses."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp2theory.resque import ball_acceleration, ball_search
from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.ball_oracle import ProximalOracle, RegularisedBallOracle
from dp2theory.resque.counters import Counter
from dp2theory.resque.distances import MaxDistance, WeightedDistance
from dp2theory.resque.named_functions import function_named
from tests.resque import ball_checks as checks

#: Accepted steps, and calls where the first search begins in the middle of the range and rounding
#: has room 1e-9, for R/r = 32, 64, 128, 256, 512.
TABLE = {
    "max": ((27, 40, 69, 102, 157), (99, 121, 193, 287, 392)),
    "max-flat": ((14, 25, 33, 43, 85), (28, 51, 67, 87, 173)),
    "l1": ((24, 38, 57, 86, 130), (90, 120, 154, 213, 301)),
    "l1-flat": ((17, 15, 29, 42, 60), (66, 61, 90, 117, 153)),
}
WIDE = (32, 64, 128, 256, 512)


def named(name: str, dimension: int = 400) -> tuple[Any, float]:
    function: Any = function_named(name, dimension=dimension)
    return function, 0.02 * function.value(function.start)


def vectors(size: int) -> Any:
    return st.lists(st.floats(0.05, 3.0) | st.floats(-3.0, -0.05), min_size=size, max_size=size)


@st.composite
def functions(draw: st.DrawFn) -> checks.Function:
    """Distances to a point of one to five coordinates."""
    size = draw(st.integers(1, 5))
    center = np.array(draw(vectors(size)))
    if draw(st.booleans()):
        return MaxDistance(center)
    return WeightedDistance(center, np.abs(draw(vectors(size))))


@pytest.mark.parametrize("ratio", checks.WARM)
def test_accepted_steps(ratio: int) -> None:
    function, accuracy = named("max")
    warm, _ = checks.run(function, ratio, accuracy)
    cold, _ = checks.run(function, ratio, accuracy, warm_start=False)
    checks.check_sequence({ratio: warm.accepted}, checks.WARM)
    checks.check_sequence({ratio: cold.accepted}, checks.COLD)
    assert warm.stopped == cold.stopped == "stop"
    assert warm.forced == cold.forced == 0


@pytest.mark.parametrize("name", TABLE)
def test_calls_where_the_first_search_begins_in_the_middle(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What beginning at L/r saves is the whole difference to these counts."""

    class Middle(ball_search.Search):
        def __init__(self, oracle: Any, **options: Any) -> None:
            super().__init__(oracle, **options)
            self.last = math.sqrt(self.floor * self.highest)

    function, accuracy = named(name)
    ours = [checks.run(function, ratio, accuracy)[0] for ratio in WIDE]
    monkeypatch.setattr(ball_acceleration, "Search", Middle)
    for module in (ball_acceleration, ball_search):
        monkeypatch.setattr(module, "ROUNDING", 1e-9)
    theirs = [checks.run(function, ratio, accuracy)[0] for ratio in WIDE]
    accepted, calls = TABLE[name]
    assert tuple(each.accepted for each in ours) == accepted
    assert tuple(each.accepted for each in theirs) == accepted
    assert tuple(each.calls for each in theirs) == calls
    assert all(mine.calls <= other.calls + 1 for mine, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("ratio", [4, 32, 256])
def test_a_search_by_leaps_needs_half_of_the_calls(name: str, ratio: int) -> None:
    function, accuracy = named(name)
    checks.check_run(function, ratio, accuracy, floor_first=False)
    leaping, _ = checks.run(function, ratio, accuracy, floor_first=False)
    first, _ = checks.run(function, ratio, accuracy)
    assert leaping.calls <= first.calls
    assert leaping.calls <= 1.35 * leaping.accepted + 4
    assert first.calls >= 1.5 * first.accepted


@given(
    functions(),
    st.floats(1.0, 60.0),
    st.floats(0.003, 0.9),
    st.booleans(),
    st.booleans(),
    st.sampled_from([(0.5, 1.0), (0.9, 0.95), (0.2, 0.7)]),
    st.sampled_from([None, 0.01, 1.0]),
)
def test_every_run_keeps_what_is_proved(
    function: checks.Function,
    ratio: float,
    relative: float,
    warm: bool,
    floor_first: bool,
    band: tuple[float, float],
    raised: float | None,
) -> None:
    """The potential falls as promised, the result is accurate, the steps are within the bound."""
    accuracy = relative * function.value(function.start)
    floor = None
    if raised is not None:
        highest = accuracy * (ratio / band[1]) ** (4 / 3) / function.radius**2
        floor = max(2 * accuracy / function.radius**2, raised * highest)
        floor = min(floor, highest)
    for stopping in (True, False):
        checks.check_run(
            function,
            ratio,
            accuracy,
            stopping=stopping,
            warm_start=warm,
            floor_first=floor_first,
            band=band,
            floor=floor,
        )


@settings(max_examples=15)
@given(functions(), st.floats(1.0, 20.0), st.floats(0.01, 0.5), st.integers(0, 30))
def test_caps_hold(function: checks.Function, ratio: float, relative: float, cap: int) -> None:
    accuracy = relative * function.value(function.start)
    whole, _ = checks.run(function, ratio, accuracy)
    for name in ("max_calls", "max_accepted"):
        found, steps = checks.run(function, ratio, accuracy, **{name: cap})
        assert found.calls <= whole.calls
        assert found.accepted == len(steps) <= whole.accepted
        assert np.array_equal(found.multipliers, whole.multipliers[: found.accepted])
        done = found.calls if name == "max_calls" else found.accepted
        limit = whole.calls if name == "max_calls" else whole.accepted
        assert done == min(cap, limit)
        assert found.stopped == (name if cap < limit else "stop")


def test_one_try_too_few_is_said_and_still_lets_the_potential_fall() -> None:
    function, accuracy = named("max", 20)
    found, steps = checks.run(function, 200, accuracy, calls_per_step=2, warm_start=False)
    assert found.forced > 0
    assert found.forced == sum(each.forced for each in steps)
    assert max(found.step_calls) == 2
    checks.check_falls(function, steps)


def test_an_oracle_that_always_jumps_far_ends_each_search_at_the_largest_multiplier() -> None:
    class Jumps:
        radius = 0.1
        tried: list[float] = []

        def solve(self, center: Any, multiplier: float) -> Any:
            self.tried.append(multiplier)
            return center + 1.0

    oracle = Jumps()
    found = accelerate(
        oracle,
        start=np.zeros(2),
        domain_radius=1.0,
        lipschitz=1.0,
        accuracy=0.1,
        band=(0.5, 0.9),
        max_accepted=3,
        calls_per_step=5,
    )
    assert found.forced == found.accepted == 3
    assert found.multipliers == pytest.approx([1 / 0.09] * 3)
    # The first try at the largest multiplier leaves nothing between the ends.
    assert list(found.step_calls) == [2, 2, 2]


def test_a_run_says_what_it_did() -> None:
    function, accuracy = named("l1", 10)
    counter = Counter()
    steps: list[Any] = []
    found = accelerate(
        ProximalOracle(function, function.radius / 8, counter),
        **checks.arguments(function, accuracy),
        observe=steps.append,
        counter=counter,
    )
    assert found.stopped == "weight"
    assert found.weights[-1] == pytest.approx(function.radius**2 / (2 * accuracy), rel=2)
    assert found.calls == counter.oracle_calls == counter.query_depth
    assert found.calls == found.step_calls.sum()
    assert np.array_equal(found.x, steps[-1].x)
    assert np.array_equal(found.v, steps[-1].v)
    assert np.allclose(found.moves, [np.linalg.norm(each.x - each.y) for each in steps])
    sizes = np.diff(found.weights, prepend=0.0)
    assert np.allclose(found.multipliers * sizes**2, found.weights)
    said = json.loads(json.dumps(found.to_json()))
    assert said["accepted"] == len(said["weights"]) == len(said["step_calls"])


def test_a_start_that_is_good_enough_needs_no_call() -> None:
    function, _ = named("max", 5)
    found, _ = checks.run(function, 4, 2.0)
    assert (found.accepted, found.calls, found.stopped) == (0, 0, "stop")
    assert found.weights.shape == (0,)


def test_a_call_missing_in_the_counter_is_found() -> None:
    function, accuracy = named("max", 5)
    with pytest.raises(RuntimeError, match="a call is missing in the ledger"):
        accelerate(
            ProximalOracle(function, function.radius / 4),  # counts nothing
            **checks.arguments(function, accuracy),
            counter=Counter(),
        )


GOOD: dict[str, Any] = {
    "start": np.zeros(3),
    "domain_radius": 1.0,
    "lipschitz": 1.0,
    "accuracy": 0.1,
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("start", np.zeros((2, 2))),
        ("start", np.zeros(0)),
        ("start", np.array([0.0, math.nan, 0.0])),
        ("domain_radius", 0.0),
        ("domain_radius", math.inf),
        ("lipschitz", -1.0),
        ("lipschitz", "1"),
        ("accuracy", math.nan),
        ("accuracy", 0),
        ("floor", 0.0),
        ("floor", -2.0),
        ("largest", math.nan),
        ("band", (0.5, 1.1)),
        ("band", (0.0, 1.0)),
        ("band", (0.9, 0.9)),
        ("band", 0.5),
        ("band", (math.nan, 0.9)),
        ("max_accepted", -1),
        ("max_calls", 1.5),
        ("calls_per_step", 1),
    ],
)
def test_bad_arguments_are_named(name: str, value: Any) -> None:
    oracle = ProximalOracle(MaxDistance(np.ones(3)), 0.1)
    with pytest.raises(ValueError, match=name):
        accelerate(oracle, **{**GOOD, name: value})


def test_an_oracle_that_stays_in_the_ball_needs_a_band_below_the_radius() -> None:
    oracle = RegularisedBallOracle(MaxDistance(np.ones(3)), 0.1)
    with pytest.raises(ValueError, match="must end below 1"):
        accelerate(oracle, **GOOD)


@pytest.mark.parametrize("answer", [np.zeros(2), np.array([0.0, math.inf, 0.0])])
def test_answers_that_are_no_points_are_refused(answer: Any) -> None:
    class Bad:
        radius = 0.1

        def solve(self, center: Any, multiplier: float) -> Any:
            return answer

    with pytest.raises(ValueError, match="3 finite numbers"):
        accelerate(Bad(), **GOOD, band=(0.5, 0.9))
