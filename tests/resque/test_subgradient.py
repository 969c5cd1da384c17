"""Subgradient steps: their number, their average, and their slope of 2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dp2theory.resque.counters import Counter
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.reference import reference_optimum
from dp2theory.resque.subgradient import solve_subgradient, subgradient_steps


@pytest.mark.parametrize(("radius", "accuracy", "steps"), [(1, 0.1, 100), (2, 0.3, 45), (1, 5, 1)])
def test_the_number_of_steps(radius, accuracy, steps):
    assert subgradient_steps(2.0, radius / 2, accuracy) == steps


def test_depths_and_queries_grow_as_the_inverse_square():
    accuracies = (0.2, 0.1, 0.05, 0.025)
    runs = [solve_subgradient(function_named("max"), accuracy=eps, rng=0) for eps in accuracies]
    for run in runs:
        counts = run.counts
        assert counts.query_depth == counts.computational_depth == counts.queries
        assert counts.oracle_calls == 0
        assert run.stopped == "accuracy"
        assert 0 <= run.suboptimality <= run.accuracy
    depths = [run.counts.query_depth for run in runs]
    slope = np.polyfit(np.log(accuracies), np.log(depths), 1)[0]
    assert -2.2 < slope < -1.8
    assert all(
        depth <= 1.0 * subgradient_steps(1, 1, eps)
        for depth, eps in zip(depths, accuracies, strict=True)
    )


@pytest.mark.parametrize("name", ["max", "l1", "max-flat"])
def test_the_bound_holds_without_knowing_the_optimum(name):
    function = function_named(name)
    run = solve_subgradient(replace(function, optimal_value=None), accuracy=0.05, rng=0)
    assert run.stopped == "guarantee"
    assert run.suboptimality is None
    assert run.counts.queries == 400
    assert function.value(run.x) <= 0.05
    assert run.value == function.value(run.x)


def test_samples_are_drawn_and_repeat():
    function = function_named("absolute", records=300)
    best = reference_optimum(function).lower
    runs = [
        solve_subgradient(function, accuracy=0.02, rng=seed, optimal_value=best)
        for seed in (0, 0, 1)
    ]
    assert all(run.suboptimality <= 0.02 for run in runs)
    assert np.array_equal(runs[0].x, runs[1].x)
    assert not np.array_equal(runs[0].x, runs[2].x)


def test_a_cap_and_a_start_that_is_good_enough():
    counter, seen = Counter(), []
    run = solve_subgradient(
        function_named("max"),
        accuracy=0.1,
        rng=0,
        max_rounds=7,
        counter=counter,
        progress=lambda rounds, gap: seen.append((rounds, gap)),
    )
    assert run.stopped == "max_rounds"
    assert run.counts == counter.snapshot()
    assert [rounds for rounds, _ in seen] == list(range(1, 8))
    assert seen[-1][1] == run.suboptimality > 0.1
    start = solve_subgradient(function_named("max"), accuracy=1.0, rng=0)
    assert (start.stopped, start.counts.queries) == ("accuracy", 0)


@pytest.mark.parametrize(
    ("argument", "value"),
    [("accuracy", 0.0), ("accuracy", float("nan")), ("max_rounds", 0), ("optimal_value", "x")],
)
def test_what_is_refused(argument, value):
    given = {"accuracy": 0.1, argument: value}
    with pytest.raises(ValueError, match=argument):
        solve_subgradient(function_named("max"), rng=0, **given)
