"""Ball acceleration without bisection, and the oracle called on its own answer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp2theory.resque.ball_oracle import ExactBallOracle, ProximalOracle, RegularisedBallOracle
from dp2theory.resque.bisection_free import TIE, accelerate_without_bisection
from dp2theory.resque.counters import Counter
from dp2theory.resque.distances import MaxDistance
from dp2theory.resque.naive import iterate_oracle
from tests.resque import ball_checks as checks
from tests.resque.test_ball_acceleration import WIDE, functions, named

#: Steps for R/r = 32, ..., 512. The first guess L/r is the multiplier itself where the gradient
#: has length L: the first counts take the step whole, the second ones as if it were too small.
STEPS = {
    "max": ((25, 40, 64, 101, 156), (26, 42, 65, 102, 157)),
    "max-flat": ((18, 26, 37, 52, 74), (18, 26, 37, 52, 74)),
    "l1": ((23, 36, 56, 85, 131), (23, 36, 56, 85, 132)),
    "l1-flat": ((15, 22, 33, 49, 70), (16, 23, 34, 49, 71)),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps(name: str) -> None:
    function, accuracy = named(name)
    tie, below = [], []
    for ratio in WIDE:
        guess = (1 - 2 * TIE) * function.lipschitz * ratio / function.radius
        tie.append(checks.run_free(function, ratio, accuracy)[0].calls)
        below.append(checks.run_free(function, ratio, accuracy, guess=guess)[0].calls)
    assert (tuple(tie), tuple(below)) == STEPS[name]


@given(
    functions(),
    st.floats(1.0, 60.0),
    st.floats(0.003, 0.9),
    st.sampled_from([None, 1e-3, 1.0, 1e3]),
    st.booleans(),
)
def test_every_run_without_bisection_falls_as_promised(
    function: checks.Function, ratio: float, relative: float, guess: float | None, stopping: bool
) -> None:
    accuracy = relative * function.value(function.start)
    options: dict[str, Any] = {"guess": guess}
    if not stopping:
        options["stop"] = None
    checks.check_free_run(function, ratio, accuracy, **options)


def test_a_run_without_bisection_says_what_it_did() -> None:
    function, accuracy = named("max", 10)
    found, steps = checks.run_free(function, 30, accuracy)
    assert found.calls == len(steps) + (found.stopped == "minimum")
    assert 0 < found.whole < len(steps)
    changes = found.guesses[1:] / found.guesses[:-1]
    assert set(changes) == {0.5, 2.0}
    assert np.array_equal(changes == 0.5, found.multipliers[:-1] <= (1 + TIE) * found.guesses[:-1])
    said = json.loads(json.dumps(found.to_json()))
    assert said["calls"] == found.calls
    capped, _ = checks.run_free(function, 30, accuracy, max_calls=3)
    assert (capped.calls, capped.stopped) == (3, "max_calls")


@pytest.mark.parametrize("make", [ProximalOracle, RegularisedBallOracle])
def test_an_oracle_without_multiplier_is_refused(make: Any) -> None:
    function = MaxDistance(np.ones(3))
    oracle = make(function, 0.1)
    with pytest.raises(ValueError, match="an access that no ledger knows of"):
        accelerate_without_bisection(oracle, **checks.arguments(function, 0.1))
    with pytest.raises(ValueError, match="an access that no ledger knows of"):
        iterate_oracle(oracle, start=function.start)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("start", np.array([np.nan, 0.0, 0.0])),
        ("domain_radius", -1.0),
        ("lipschitz", np.inf),
        ("accuracy", 0.0),
        ("guess", 0.0),
        ("max_calls", -1),
    ],
)
def test_bad_arguments_are_named(name: str, value: Any) -> None:
    function = MaxDistance(np.ones(3))
    good = checks.arguments(function, 0.1)
    with pytest.raises(ValueError, match=name):
        accelerate_without_bisection(ExactBallOracle(function, 0.1), **{**good, name: value})


def test_missing_calls_are_found() -> None:
    function = MaxDistance(np.ones(3))
    oracle = ExactBallOracle(function, 0.5)  # counts nothing
    with pytest.raises(RuntimeError, match="its counter counted 0"):
        accelerate_without_bisection(oracle, **checks.arguments(function, 0.1), counter=Counter())
    with pytest.raises(RuntimeError, match="its counter counted 0"):
        iterate_oracle(oracle, start=function.start, counter=Counter())


@pytest.mark.parametrize("ratio", checks.NAIVE)
def test_naive_calls(ratio: int) -> None:
    function, accuracy = named("max")
    oracle = ExactBallOracle(function, function.radius / ratio)
    found = iterate_oracle(
        oracle, start=function.start, stop=lambda x: function.value(x) <= accuracy
    )
    checks.check_sequence({ratio: found.calls}, checks.NAIVE)
    assert np.allclose(found.moves[:-1], oracle.radius, rtol=1e-9)


@given(functions(), st.floats(1.0, 30.0))
def test_naive_iteration_gains_its_part_of_the_way(function: checks.Function, ratio: float) -> None:
    oracle = ExactBallOracle(function, function.radius / ratio)
    seen = [function.start]
    found = iterate_oracle(oracle, start=function.start, observe=seen.append)
    assert found.stopped == "minimum"
    gaps = np.array([function.value(each) for each in seen])
    away = np.array([np.linalg.norm(each - function.center) for each in seen])
    assert (gaps[1:] <= (1 - 1 / ratio) * gaps[:-1] + 1e-9 * gaps[0]).all()
    assert (np.diff(away) <= 1e-9 * away[0]).all()
    assert gaps[-1] <= 1e-9 * gaps[0]
    capped = iterate_oracle(oracle, start=function.start, max_calls=1)
    assert capped.stopped == ("max_calls" if found.calls > 1 else "minimum")
    assert json.loads(json.dumps(capped.to_json()))["calls"] == 1
