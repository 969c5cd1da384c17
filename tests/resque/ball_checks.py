"""Checks of ball acceleration; each must fail on the broken variants of tests/bites."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.ball_oracle import ExactBallOracle, ProximalOracle, solve_ball
from dp2theory.resque.ball_potential import accepted_bound, check_potential, potential
from dp2theory.resque.ball_run import BallRun, Step
from dp2theory.resque.bisection_free import FreeRun, FreeStep, accelerate_without_bisection
from dp2theory.resque.counters import Counter
from dp2theory.resque.distances import MaxDistance, WeightedDistance

Function = MaxDistance | WeightedDistance

#: Accepted steps on ``|x - c|_inf``, c_i as i^(-1/2), by R/r; d = 400, to 1/50 of the first value.
WARM = {4: 6, 8: 11, 16: 17, 32: 27, 64: 40, 128: 69, 256: 102, 512: 157}
COLD = {4: 6, 8: 10, 16: 16, 32: 26, 64: 40, 128: 62, 256: 94, 512: 139}
NAIVE = {4: 5, 8: 11, 16: 22, 32: 43, 64: 87, 128: 174, 256: 348}

#: Bounds at R = L = 1, r = 1/64, accuracy 0.01, by c.
BOUNDS = {1.0: 66.37760936574884, 0.5: 104.19308483038752}


def arguments(function: Function, accuracy: float) -> dict[str, Any]:
    return {
        "start": function.start,
        "domain_radius": function.radius,
        "lipschitz": function.lipschitz,
        "accuracy": accuracy,
    }


def potential_of(function: Function, steps: Any) -> Any:
    return potential(
        steps,
        start=function.start,
        minimiser=function.center,
        optimal_value=0.0,
        value=function.value,
    )


def check_falls(function: Function, steps: Any) -> None:
    """The potential falls in every step, by what the theorem says at least."""
    found = check_potential(potential_of(function, steps), [each.promised_fall for each in steps])
    assert found.holds, found.message


def check_sizes(steps: list[Step]) -> None:
    """Step sizes solve ``l a^2 = A``, and weights are sums of them."""
    weight = 0.0
    for each in steps:
        weight += each.size
        assert each.weight == pytest.approx(weight)
        assert each.multiplier * each.size**2 == pytest.approx(each.weight)


def run(
    function: Function,
    ratio: float,
    accuracy: float,
    *,
    make: Callable[..., Any] = ProximalOracle,
    stopping: bool = True,
    **options: Any,
) -> tuple[BallRun, list[Step]]:
    """A run to an accuracy, until it is seen or proved."""
    counter, steps = Counter(), list[Step]()
    found = accelerate(
        make(function, function.radius / ratio, counter),
        **arguments(function, accuracy),
        stop=(lambda x: function.value(x) <= accuracy) if stopping else None,
        observe=steps.append,
        counter=counter,
        **options,
    )
    return found, steps


def check_run(function: Function, ratio: float, accuracy: float, **options: Any) -> None:
    """A run falls as it should, ends within the accuracy, and takes few steps."""
    found, steps = run(function, ratio, accuracy, **options)
    assert found.stopped in ("stop", "weight")
    assert function.value(found.x) <= accuracy * (1 + 1e-9)
    assert found.forced == 0
    check_falls(function, steps)
    check_sizes(steps)
    bound = accepted_bound(
        domain_radius=function.radius,
        ball_radius=function.radius / ratio,
        lipschitz=function.lipschitz,
        accuracy=accuracy,
        band=options.get("band", (0.5, 1.0)),
        floor=options.get("floor"),
    )
    assert found.accepted <= bound


def run_free(
    function: Function, ratio: float, accuracy: float, **options: Any
) -> tuple[FreeRun, list[FreeStep]]:
    """The same without bisection."""
    counter, steps = Counter(), list[FreeStep]()
    found = accelerate_without_bisection(
        ExactBallOracle(function, function.radius / ratio, counter),
        **arguments(function, accuracy),
        **{"stop": lambda x: function.value(x) <= accuracy, **options},
        observe=steps.append,
        counter=counter,
    )
    return found, steps


def check_free_run(function: Function, ratio: float, accuracy: float, **options: Any) -> None:
    found, steps = run_free(function, ratio, accuracy, **options)
    assert found.stopped in ("stop", "weight", "minimum")
    assert function.value(found.x) <= accuracy * (1 + 1e-9)
    check_falls(function, steps)


def check_ball_minimum(
    function: Function,
    center: Any,
    radius: float,
    rng: np.random.Generator,
    multiplier: float = 0.0,
    solve: Callable[..., Any] = solve_ball,
) -> None:
    """The answer is on the sphere or free, and its multiplier gives a subgradient there."""
    point, found, _ = solve(function, center, radius, multiplier)
    move = np.linalg.norm(point - center)
    size = np.linalg.norm(center) + np.linalg.norm(function.center)
    room = 1e-9 * radius + 1e-14 * size
    assert move <= radius + room
    if found > multiplier:
        assert move >= radius - room
    assert found <= max(function.lipschitz / radius, multiplier) * (1 + 1e-9)
    pull = found * (center - point)
    scales = 10.0 ** rng.uniform(-3, 0.5, (200, 1))
    others = point + radius * scales * rng.standard_normal((200, center.size))
    for other in (*others, function.center):
        slack = function.value(other) - function.value(point) - pull @ (other - point)
        steepness = function.lipschitz + found * np.linalg.norm(other - point)
        assert (
            slack
            >= -1e-9 * (function.value(other) + function.value(point)) - 1e-14 * size * steepness
        )


def check_sequence(counts: Mapping[int, int], expected: Mapping[int, int]) -> None:
    """Counts by R/r are the known ones."""
    assert {ratio: expected[ratio] for ratio in counts} == dict(counts)


def check_growth(slope: float, *, accelerated: bool) -> None:
    """The exponent of R/r in a count: about 2/3 if accelerated, else 1."""
    low, high = (0.45, 0.75) if accelerated else (0.95, 1.05)
    assert low <= slope <= high, slope


def check_bound_values(bound: Callable[..., float]) -> None:
    """A bound has the known values, and is not below the one step that every run takes."""
    numbers = {"domain_radius": 1.0, "lipschitz": 1.0, "accuracy": 0.01}
    half, whole = BOUNDS[0.5], BOUNDS[1.0]
    assert bound(**numbers, ball_radius=1 / 64, band=(0.5, 1.0)) == pytest.approx(half, rel=1e-12)
    nearly = bound(**numbers, ball_radius=1 / 64, band=(1 - 1e-12, 1.0))
    assert nearly == pytest.approx(whole, rel=1e-9)
    # Steps of at most 0.9 r are steps of a smaller ball.
    smaller = bound(**numbers, ball_radius=1 / 57.6, band=(0.45, 0.9))
    assert smaller == pytest.approx(half, rel=1e-12)
    assert bound(domain_radius=1.0, ball_radius=1.0, lipschitz=1.0, accuracy=1.0) == 2.0
