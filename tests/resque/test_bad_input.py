"""Bad input of ReSQue's public functions: a ValueError that names the argument, never NumPy's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dp2theory.resque import (
    ball_acceleration,
    ball_oracle,
    ball_potential,
    ball_solvers,
    baselines,
    bisection_free,
    closed_forms,
    distances,
    drift,
    estimator,
    failure,
    losses,
    moments,
    naive,
    named_functions,
    parallel,
    randomized_smoothing,
    slopes,
    smoothing,
    subgradient,
)

AT = np.zeros(2)
MAX = distances.MaxDistance(np.array([0.6, 0.8]))
L1 = distances.WeightedDistance(np.array([0.6, 0.8]), np.array([0.5, 0.5]))
DATA = losses.AbsoluteLoss(np.array([[1.0, 0.0], [0.0, 0.5]]), np.array([1.0, 2.0]))
TABLE: dict[str, Any] = {"features": DATA.features, "targets": DATA.targets}

NO_NUMBER: tuple[Any, ...] = (math.nan, -1.0, "x", "1", None, True, 1j, {})
NO_COUNT: tuple[Any, ...] = (math.nan, -1, 1.5, "3", None, True, 1j)
NO_VECTOR: tuple[Any, ...] = (
    math.nan, np.array([math.nan, 0]), np.array([]), "x", None, [1, "a"], np.array([1j, 0]),
    np.array([True, False]), ["1", "2"], {}, [[1], [1, 2]], np.zeros((1, 2)),
)  # fmt: skip
NO_SEED: tuple[Any, ...] = ("x", -1, 1.5, math.nan, [1], True, None)
NO_BAND: tuple[Any, ...] = (math.nan, (0.5,), (0.9, 0.5), ("a", "b"), None, (1j, 2), "ab")


def pool() -> estimator.QueryPool:
    return draw(function=DATA, center=AT, smoothing=0.1, size=5, rng=np.random.default_rng(0))


def draw(**given: Any) -> estimator.QueryPool:
    return estimator.QueryPool.draw(given.pop("function"), given.pop("center"), **given)


def run(**given: Any) -> Any:
    return ball_acceleration.accelerate(given.pop("oracle"), **given)


DOMAIN: dict[str, Any] = {"domain_radius": 1.0, "lipschitz": 1.0, "accuracy": 0.1}
CASES: list[tuple[Callable[..., Any], dict[str, Any], dict[str, tuple[Any, ...]]]] = [
    (MAX.value, {}, {"x": NO_VECTOR}),
    (MAX.prox, {"center": AT, "multiplier": 1.0}, {"center": NO_VECTOR, "multiplier": NO_NUMBER}),
    (L1.prox, {"center": AT, "multiplier": 1.0}, {"center": NO_VECTOR, "multiplier": NO_NUMBER}),
    (L1.smoothed_value, {"x": AT, "smoothing": 1.0}, {"x": NO_VECTOR, "smoothing": NO_NUMBER}),
    (DATA.value, {}, {"x": NO_VECTOR}),
    (DATA.smoothed_gradient, {"x": AT, "smoothing": 1}, {"x": NO_VECTOR, "smoothing": NO_NUMBER}),
    (DATA.part, {}, {"records": (None, "x", [[0], [0, 1]], np.array([2]), np.array([0.5]))}),
    (distances.project_l1, {"vector": AT, "radius": 1.0}, {"vector": NO_VECTOR[:2]}),
    (losses.AbsoluteLoss, TABLE, {"lipschitz": NO_NUMBER[:4], "optimal_value": NO_NUMBER[:4]}),
    (losses.AbsoluteLoss, TABLE, {"features": NO_VECTOR[:-1], "targets": NO_VECTOR}),
    (named_functions.function_named, {}, {"name": (None, 3, "x", [], {})}),
    (draw, {"function": DATA, "center": AT, "smoothing": 0.1, "size": 5,
            "rng": np.random.default_rng(0)},
     {"function": (None, "max"), "center": NO_VECTOR, "size": NO_COUNT, "rng": NO_SEED,
      "samples": ("x", np.array([9] * 5), np.array([0.5] * 5))}),
    (pool().mean, {"point": AT}, {"point": NO_VECTOR, "part": (slice(0, 0), 3)}),
    (pool().estimates, {"point": AT}, {"point": NO_VECTOR}),
    (estimator.log_weights, {"displacement": AT, "offsets": np.zeros((3, 2)), "smoothing": 1.0},
     {"displacement": ("x", np.zeros(3)), "offsets": ("x", AT), "smoothing": NO_NUMBER}),
    (closed_forms.smoothed_absolute, {"at": 1.0, "deviation": 1.0},
     {"at": (math.nan, "1", 1j), "deviation": (math.nan, -1.0, "1")}),
    (smoothing.gradient_change, {"distance": 0.1, "smoothing": 1.0}, {"distance": NO_NUMBER}),
    (smoothing.GaussianSmoothing(L1, 0.1).sampled_value,
     {"x": AT, "draws": 3, "rng": np.random.default_rng(0)},
     {"x": NO_VECTOR, "draws": (*NO_COUNT, 10**30), "rng": NO_SEED}),
    (smoothing.GaussianSmoothing(L1, 0.1).sampled_gradient,
     {"x": AT, "draws": 3, "rng": np.random.default_rng(0)},
     {"draws": (10**30,), "rng": NO_SEED}),
    (moments.kappa, {"order": 3.0, "relative_radius": 0.1},
     {"order": ("x", 1j, [2, "a"]), "relative_radius": ("x", 1j, {})}),
    (moments.log_weight_moment, {"order": 3.0, "shift": 0.1}, {"order": (math.nan, "x", 1j)}),
    (moments.sharpest_pair, {"order": 3.0, "relative_radius": 0.1}, {"order": ([], [2.0, 3.0])}),
    (moments.log_difference_norm, {"order": 4, "a": AT, "b": AT + 1},
     {"a": ("x", np.array([1j, 0]), {}), "b": ("x", [[1], [1, 2]])}),
    (moments.weight_quantile, {"probability": 0.5, "shift": 1.0}, {"probability": ("x", 1j)}),
    (drift.drift_table, {"kind": "linear", "horizons": (2,), "paths": 2, "rng": 0},
     {"horizons": (3, None, "ab"), "ratios": (None,), "orders": (None,), "methods": (None, "raw"),
      "rng": NO_SEED, "paths": (10**30,)}),
    (failure.call_failure, {"phases": []}, {"phases": (None, 3)}),
    (ball_oracle.solve_ball, {"function": MAX, "center": AT, "radius": 0.1},
     {"function": (None, "max", DATA), "center": NO_VECTOR, "multiplier": NO_NUMBER}),
    (ball_oracle.ProximalOracle(MAX, 0.1).solve, {"center": AT, "multiplier": 1.0},
     {"center": NO_VECTOR, "multiplier": NO_NUMBER}),
    (ball_acceleration.lowest_floor, {"accuracy": 0.1, "domain_radius": 1.0},
     {"accuracy": NO_NUMBER, "domain_radius": (*NO_NUMBER, 0.0)}),
    (run, {"oracle": ball_oracle.ProximalOracle(MAX, 0.1), "start": AT, **DOMAIN},
     {"oracle": (None, 3), "start": NO_VECTOR, "band": NO_BAND}),
    (ball_potential.accepted_bound, {"ball_radius": 0.1, **DOMAIN},
     {"band": NO_BAND, "floor": (-1.0, 0.0, "x", 1j)}),
    (ball_potential.check_potential, {"values": AT}, {"promised": ("x", [1j])}),
    (slopes.slope_study, {"ratios": (4.0,), "dimension": 2},
     {"ratios": (None,), "function_names": ("max", None), "naive_up_to": (math.nan, "x", -1.0)}),
    (ball_solvers.ParallelConstants, {}, {"band": NO_BAND}),
    (ball_solvers.pool_size, {"lipschitz": 1.0, "multiplier": 1.0, "radius": 0.1, "factor": 1.0},
     {"lipschitz": NO_NUMBER, "multiplier": (*NO_NUMBER, 1e-300), "radius": NO_NUMBER,
      "factor": NO_NUMBER}),
    (ball_solvers.accelerated_steps,
     {"lipschitz": 1.0, "multiplier": 1.0, "smoothing": 0.1, "factor": 1.0},
     {"multiplier": (*NO_NUMBER, 1e-300), "factor": NO_NUMBER}),
    (ball_solvers.weighted_excess,
     {"lipschitz": 1.0, "multiplier": 1.0, "radius": 0.1, "smoothing": 0.1, "queries": 3},
     {"lipschitz": NO_NUMBER, "radius": (*NO_NUMBER, 0.2), "queries": NO_COUNT}),
    (ball_solvers.accelerated_excess,
     {"lipschitz": 1.0, "multiplier": 1.0, "radius": 0.1, "smoothing": 0.1, "steps": 2,
      "queries": 3}, {"multiplier": NO_NUMBER, "steps": (*NO_COUNT, 0), "queries": (1, *NO_COUNT)}),
    (parallel.smoothing_for, {"accuracy": 0.1, "dimension": 2, "lipschitz": 1.0},
     {"accuracy": NO_NUMBER, "dimension": NO_COUNT, "lipschitz": NO_NUMBER}),
    (parallel.multiplier_floor, {"accuracy": 0.1, "radius": 1.0, "ball_radius": 0.1},
     {"accuracy": NO_NUMBER, "radius": NO_NUMBER, "ball_radius": NO_NUMBER}),
    (parallel.solve_parallel, {"function": MAX, "accuracy": 0.3, "rng": 0},
     {"rng": NO_SEED, "constants": (3, "x"), "accuracy": (1e-9, 1e-300)}),
    (named_functions.absolute, {"records": 2, "dimension": 2},
     {"records": (10**11, 0), "dimension": (10**11, 0)}),
    (named_functions.maximum, {}, {"dimension": (10**11, 0)}),
    (subgradient.subgradient_steps, {"lipschitz": 1.0, "radius": 1.0, "accuracy": 0.1},
     {"lipschitz": NO_NUMBER, "accuracy": (*NO_NUMBER, 1e-200)}),
    (randomized_smoothing.plan_smoothing,
     {"lipschitz": 1.0, "radius": 1.0, "dimension": 2, "accuracy": 0.1},
     {"dimension": NO_COUNT, "accuracy": (*NO_NUMBER, 1e-12)}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "good", "bad"),
    [pytest.param(*each, id=f"{i}-{each[0].__name__}") for i, each in enumerate(CASES)],
)
def test_bad_values_are_named(
    call: Callable[..., Any], good: dict[str, Any], bad: dict[str, tuple[Any, ...]]
) -> None:
    for name, values in bad.items():
        for value in values:
            with pytest.raises(ValueError, match=name):
                call(**{**good, name: value})


class Garbage:
    """An oracle that answers as it is told."""

    radius, restricted = 0.1, False

    def __init__(self, point: Any, multiplier: float = 1.0) -> None:
        self.answer = (point, multiplier, 1)

    def solve(self, center: Any, multiplier: float) -> Any:
        return self.answer[0]

    def minimise(self, center: Any) -> Any:
        return self.answer


NOWHERE = np.array([math.nan, 0.0])


def test_oracles_that_answer_garbage_are_refused() -> None:
    with pytest.raises(ValueError, match="oracle's answer"):
        run(oracle=Garbage(NOWHERE), start=AT, **DOMAIN)
    for answer in (Garbage(NOWHERE), Garbage(np.zeros(3)), Garbage("x")):
        with pytest.raises(ValueError, match="oracle's answer"):
            naive.iterate_oracle(answer, start=AT)
        with pytest.raises(ValueError, match="oracle's answer"):
            bisection_free.accelerate_without_bisection(answer, start=AT, **DOMAIN)
    for multiplier in (math.nan, -1.0, math.inf):
        with pytest.raises(ValueError, match="oracle's multiplier"):
            naive.iterate_oracle(Garbage(AT, multiplier), start=AT)
        with pytest.raises(ValueError, match="oracle's multiplier"):
            bisection_free.accelerate_without_bisection(Garbage(AT, multiplier), start=AT, **DOMAIN)


def test_an_oracle_that_never_moves_ends_every_method() -> None:
    assert naive.iterate_oracle(Garbage(AT), start=AT).stopped == "stalled"
    assert run(oracle=Garbage(AT), start=AT, **DOMAIN).stopped == "weight"


def test_a_drift_factor_beyond_the_doubles_is_infinite() -> None:
    """A ball of fifty times the smoothing: no factor covers its drift."""
    far: dict[str, Any] = {"step_size": 0.1, "lipschitz": 1.0, "smoothing": 1.0, "radius": 50.0}
    assert failure.smallest_drift_factor(1e-6, steps=10, **far) == math.inf


class Short:
    """A function that gives one gradient where many were asked for, and lacks some attributes."""

    name, dimension, sample_size, start = "short", 2, 1, AT

    def subgradients(self, points: Any, samples: Any) -> Any:
        return np.sign(points)[0]


class Whole(Short):
    lipschitz, radius, optimal_value = 2.0, 1.0, 0.0

    def value(self, x: Any) -> float:
        return float(np.abs(x).sum())


def test_functions_of_others_are_told_what_they_lack() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="missing: lipschitz, radius, optimal_value, value"):
        draw(function=Short(), center=AT, smoothing=0.1, size=5, rng=rng)
    with pytest.raises(ValueError, match=r"function\.subgradients: gave an array of shape \(2,\)"):
        draw(function=Whole(), center=AT, smoothing=0.1, size=5, rng=rng)


def test_rows_cut_to_the_bound_may_be_a_rounding_too_long() -> None:
    """Each by itself: what one row is does not depend on the others."""
    rows = np.array([[2.0, 0.0], [0.0, np.nextafter(2.0, 3.0)], [1.0, 1.0]])
    loss = losses.AbsoluteLoss(rows, np.zeros(3), lipschitz=2.0)
    assert loss.lipschitz == 2.0
    assert np.linalg.norm(loss.features, axis=1).max() <= 2.0
    np.testing.assert_array_equal(loss.features[[0, 2]], rows[[0, 2]])
    np.testing.assert_allclose(loss.features, rows, rtol=1e-11)
    with pytest.raises(ValueError, match=r"lipschitz=2\.0: must be finite"):
        losses.AbsoluteLoss(rows * (1 + 1e-9), np.zeros(3), lipschitz=2.0)


@pytest.mark.parametrize("seed", NO_SEED)
def test_baselines_take_seeds(seed: Any) -> None:
    with pytest.raises(ValueError, match="rng="):
        baselines.run_private_baseline(
            "noisy-sgd", DATA, target_epsilon=1.0, target_delta=1e-5, rng=seed
        )
