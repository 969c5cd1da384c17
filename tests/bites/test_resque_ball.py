"""Broken ball acceleration that the checks of tests/resque must catch."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dp2theory.resque import ball_acceleration, ball_search, bisection_free
from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.ball_oracle import (
    BallMinimum,
    ProximalOracle,
    RegularisedBallOracle,
    solve_ball,
)
from dp2theory.resque.ball_potential import accepted_bound, check_potential
from dp2theory.resque.counters import Counter
from dp2theory.resque.functions import Array
from dp2theory.resque.slopes import SlopeStudy, slope_study
from tests.resque import ball_checks as checks
from tests.resque.test_ball_acceleration import named

Mirror = Callable[[Array, float, float, Array, Array], Array]

#: Second iterates that move by something else than a l (y - z).
MIRRORS: dict[str, Mirror] = {
    "half": lambda v, size, multiplier, y, z: v - size * multiplier * (y - z) / 2,
    "double": lambda v, size, multiplier, y, z: v - 2 * size * multiplier * (y - z),
    "without multiplier": lambda v, size, multiplier, y, z: v - size * (y - z),
    "without size": lambda v, size, multiplier, y, z: v - multiplier * (y - z),
    "wrong sign": lambda v, size, multiplier, y, z: v + size * multiplier * (y - z),
    "not at all": lambda v, size, multiplier, y, z: v,
}


@pytest.mark.parametrize("mirror", MIRRORS)
@pytest.mark.parametrize("ratio", [8, 64])
def test_a_wrong_factor_of_the_second_iterate(
    mirror: str, ratio: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, accuracy = named("max", 50)
    for module in (ball_acceleration, bisection_free):
        monkeypatch.setattr(module, "mirror_step", MIRRORS[mirror])
    with pytest.raises(AssertionError, match="the potential goes from"):
        checks.check_falls(function, checks.run(function, ratio, accuracy, max_accepted=200)[1])
    with pytest.raises(AssertionError, match="the potential goes from"):
        checks.check_falls(function, checks.run_free(function, ratio, accuracy, max_calls=200)[1])


@pytest.mark.parametrize("factor", [0.5, 1.5])
def test_a_wrong_step_size(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    right = ball_search.step_size
    monkeypatch.setattr(
        ball_search, "step_size", lambda multiplier, weight: factor * right(multiplier, weight)
    )
    function, accuracy = named("max", 50)
    _, steps = checks.run(function, 16, accuracy, max_accepted=100)
    with pytest.raises(AssertionError):
        checks.check_sizes(steps)
    if factor > 1:
        with pytest.raises(AssertionError, match="the potential goes from"):
            checks.check_falls(function, steps)


def test_a_potential_that_grows_in_one_step() -> None:
    function, accuracy = named("l1", 20)
    _, steps = checks.run(function, 16, accuracy)
    values = checks.potential_of(function, steps)
    assert check_potential(values).holds
    for step in range(1, len(values)):
        grown = values.copy()
        grown[step:] += 1e-6 + values[step - 1] - values[step]
        assert check_potential(grown).step == step


def _bound(text: str) -> Callable[..., float]:
    """The bound as somebody might write it down."""

    def bound(
        *,
        domain_radius: float,
        ball_radius: float,
        lipschitz: float,
        accuracy: float,
        band: tuple[float, float] = (0.5, 1.0),
        floor: float | None = None,
    ) -> float:
        r, c = band[1] * ball_radius, band[0] / band[1]
        inside = lipschitz * domain_radius**2 / (2 * accuracy * r)
        names = {"R": domain_radius, "r": r, "c": c, "inside": inside, "log": math.log}
        return float(eval(text, {"max": max}, names))

    return bound


RIGHT = "2 + (R / (c * r) * max(log(inside), 0)) ** (2 / 3)"
BOUNDS = (
    "(R / (c * r) * max(log(inside), 0)) ** (2 / 3)",
    "1 + (R / (c * r) * max(log(inside), 0)) ** (2 / 3)",
    "2 + (R / r * max(log(inside), 0)) ** (2 / 3)",
    "2 + (R / (c * r)) ** (2 / 3)",
    "2 + (R / (c * r) * max(log(2 * inside), 0)) ** (2 / 3)",
    "2 + (R / (c * r) * log(inside)) ** (2 / 3)",
    "2 + R / (c * r) * max(log(inside), 0)",
)


def test_the_bound_as_it_is_passes() -> None:
    checks.check_bound_values(accepted_bound)
    checks.check_bound_values(_bound(RIGHT))


@pytest.mark.parametrize("text", BOUNDS)
def test_a_bound_without_a_constant(text: str) -> None:
    with pytest.raises((AssertionError, TypeError)):  # TypeError: a negative number to the 2/3
        checks.check_bound_values(_bound(text))


def test_runs_catch_a_bound_that_is_much_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    function, accuracy = named("max")
    monkeypatch.setattr(checks, "accepted_bound", lambda **numbers: accepted_bound(**numbers) / 4)
    with pytest.raises(AssertionError):
        checks.check_run(function, 64, accuracy)


def test_a_cold_count_named_warm() -> None:
    cold = slope_study(("max",), (64, 128, 256), warm_start=False, naive_up_to=1)
    with pytest.raises(AssertionError):
        checks.check_sequence({int(each.ratio): each.accepted for each in cold.rows}, checks.WARM)
    warm = slope_study(("max",), (64, 128, 256), naive_up_to=1)
    with pytest.raises(AssertionError):
        checks.check_sequence({int(each.ratio): each.accepted for each in warm.rows}, checks.COLD)


def _renamed(study: SlopeStudy, old: str, new: str) -> SlopeStudy:
    rows = [dataclasses.replace(each, **{new: getattr(each, old)}) for each in study.rows]
    return dataclasses.replace(study, rows=tuple(rows))


def test_naive_iteration_named_accelerated() -> None:
    study = slope_study(("l1",), (16, 32, 64, 128))
    checks.check_growth(study.slope("l1", "accepted"), accelerated=True)
    checks.check_growth(study.slope("l1", "naive"), accelerated=False)
    with pytest.raises(AssertionError):
        checks.check_growth(
            _renamed(study, "naive", "accepted").slope("l1", "accepted"), accelerated=True
        )
    with pytest.raises(AssertionError):
        checks.check_growth(
            _renamed(study, "accepted", "naive").slope("l1", "naive"), accelerated=False
        )


class SaysThatItLeaves(RegularisedBallOracle):
    """Stays in the ball and says that it does not: every cut step looks accepted."""

    restricted = False


def test_steps_that_the_ball_cut_short() -> None:
    function, accuracy = named("max", 50)
    found, steps = checks.run(function, 32, accuracy, make=SaysThatItLeaves, stopping=False)
    assert found.stopped == "weight"  # after one step: "proved"
    assert function.value(found.x) > 10 * accuracy
    with pytest.raises(AssertionError):
        checks.check_run(function, 32, accuracy, make=SaysThatItLeaves, stopping=False)
    # The same oracle with a band below the radius is right.
    checks.check_run(function, 32, accuracy, make=RegularisedBallOracle, band=(0.45, 0.9))
    assert steps


class ForgetsEveryThird(ProximalOracle):
    """A counter that misses calls."""

    calls = 0

    def solve(self, center: Array, multiplier: float) -> Array:
        self.calls += 1
        if self.calls % 3:
            return super().solve(center, multiplier)
        return self.function.prox(center, multiplier)


def test_a_call_that_is_not_counted() -> None:
    function, accuracy = named("max", 10)
    counter = Counter()
    with pytest.raises(RuntimeError, match="missing in the ledger"):
        accelerate(
            ForgetsEveryThird(function, 0.1, counter),
            **checks.arguments(function, accuracy),
            counter=counter,
        )


class CountsAcceptedOnly(ball_search.Search):
    """Gives tries away that were not accepted."""

    def step(self, x: Array, v: Array, weight: float) -> Any:
        before = self.calls
        found = super().step(x, v, weight)
        self.calls = before + 1
        return found


def test_a_run_that_counts_accepted_steps_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ball_acceleration, "Search", CountsAcceptedOnly)
    function, accuracy = named("max", 10)
    with pytest.raises(RuntimeError, match="were made, but its counter counted"):
        checks.run(function, 16, accuracy)


def _too_far(function: Any, center: Array, radius: float, multiplier: float = 0.0) -> BallMinimum:
    return solve_ball(function, center, 1.001 * radius, multiplier)


def _too_near(function: Any, center: Array, radius: float, multiplier: float = 0.0) -> BallMinimum:
    return solve_ball(function, center, radius / 1.001, multiplier)


def _half_multiplier(
    function: Any, center: Array, radius: float, multiplier: float = 0.0
) -> BallMinimum:
    point, found, tried = solve_ball(function, center, radius, multiplier)
    return BallMinimum(point, found / 2, tried)


def _along_the_gradient(
    function: Any, center: Array, radius: float, multiplier: float = 0.0
) -> BallMinimum:
    gradient = function.subgradients(center[None], np.zeros(1, dtype=int))[0]
    length = float(np.linalg.norm(gradient))
    return BallMinimum(center - radius * gradient / length, length / radius, 1)


@pytest.mark.parametrize("solve", [_too_far, _too_near, _half_multiplier, _along_the_gradient])
def test_wrong_minimisers_on_balls(solve: Callable[..., BallMinimum]) -> None:
    function, _ = named("max", 30)
    rng = np.random.default_rng(3)
    checks.check_ball_minimum(function, function.start, 0.3, rng)
    with pytest.raises(AssertionError):
        checks.check_ball_minimum(function, function.start, 0.3, rng, solve=solve)


def test_a_run_without_bisection_that_takes_every_step_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the part min(1, l'/l) the potential falls less than it should."""
    monkeypatch.setattr(bisection_free, "min", lambda one, part: 1.0, raising=False)
    function, accuracy = named("max", 50)
    with pytest.raises(AssertionError, match="the potential goes from"):
        checks.check_free_run(function, 32, accuracy)
