"""Accelerated randomised smoothing: its sizes, its bound, its counts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dp2theory.resque.named_functions import function_named
from dp2theory.resque.randomized_smoothing import plan_smoothing, solve_randomized_smoothing
from dp2theory.resque.reference import reference_optimum

UNIT = {"lipschitz": 1.0, "radius": 1.0}


def bound(plan, steps, *, lipschitz, radius, dimension, accuracy):
    """Smoothing, start and noise, added up from the step sizes themselves."""
    sizes = (np.arange(1, steps + 1) + 1) / 2
    total = sizes.sum()
    assert (sizes**2 <= np.cumsum(sizes) * (1 + 1e-12)).all()
    noise = lipschitz**2 / (plan.batch * plan.smoothness) * (sizes**2).sum() / total
    return (
        lipschitz * plan.smoothing * math.sqrt(dimension)
        + plan.smoothness * radius**2 / 2 / total
        + noise
    )


@pytest.mark.parametrize("accuracy", [0.5, 0.1, 0.003])
@pytest.mark.parametrize("dimension", [1, 16, 300])
@pytest.mark.parametrize(("lipschitz", "radius"), [(1.0, 1.0), (0.2, 7.0)])
def test_the_sizes_are_the_smallest_that_meet_the_bound(accuracy, dimension, lipschitz, radius):
    given = {
        "lipschitz": lipschitz, "radius": radius, "dimension": dimension, "accuracy": accuracy
    }  # fmt: skip
    plan = plan_smoothing(**given)
    assert bound(plan, plan.steps, **given) <= accuracy * (1 + 1e-12)
    if plan.steps > 1:
        start = plan.smoothness * radius**2 / 2 / ((plan.steps - 1) * (plan.steps + 2) / 4)
        assert start > accuracy / 4
    if plan.batch > 1:
        assert bound(replace(plan, batch=plan.batch - 1), plan.steps, **given) > accuracy * 0.74


def test_the_rates_of_table_1():
    accuracies = 0.1 / 2 ** np.arange(8)
    plans = [plan_smoothing(**UNIT, dimension=16, accuracy=eps) for eps in accuracies]
    steps = np.array([plan.steps for plan in plans])
    queries = steps * [plan.batch for plan in plans]
    assert np.polyfit(np.log(accuracies), np.log(steps), 1)[0] == pytest.approx(-1, abs=0.02)
    assert np.polyfit(np.log(accuracies), np.log(queries), 1)[0] == pytest.approx(-2, abs=0.05)
    wide = [plan_smoothing(**UNIT, dimension=16**k, accuracy=0.01).steps for k in (1, 2, 3)]
    assert np.polyfit(np.log(16) * np.arange(3), np.log(wide), 1)[0] == pytest.approx(
        0.25, abs=0.01
    )


@pytest.mark.parametrize("name", ["max", "l1", "max-flat"])
def test_the_bound_holds_without_knowing_the_optimum(name):
    function = function_named(name)
    run = solve_randomized_smoothing(replace(function, optimal_value=None), accuracy=0.1, rng=0)
    plan = plan_smoothing(**UNIT, dimension=16, accuracy=0.1)
    assert run.stopped == "guarantee"
    assert run.suboptimality is None
    assert function.value(run.x) <= 0.1
    counts = run.counts
    assert counts.query_depth == counts.computational_depth == plan.steps
    assert counts.queries == plan.steps * plan.batch
    assert (run.smoothing, run.K, run.accepted) == (plan.smoothing, None, None)


def test_losses_on_data_reach_the_accuracy():
    function = function_named("hinge", records=200)
    best = reference_optimum(function)
    run = solve_randomized_smoothing(function, accuracy=0.1, rng=0, optimal_value=best.lower)
    assert run.stopped == "accuracy"
    assert run.suboptimality <= 0.1


def test_a_cap_is_kept():
    seen = []
    run = solve_randomized_smoothing(
        function_named("max"), accuracy=0.1, rng=0, max_rounds=3, progress=lambda *a: seen.append(a)
    )
    assert (run.stopped, run.counts.query_depth, len(seen)) == ("max_rounds", 3, 3)


@pytest.mark.parametrize(
    "changed",
    [{"smoothing_share": 0.0}, {"noise_share": -1.0}, {"smoothing_share": 0.7, "noise_share": 0.3}],
)
def test_shares_outside_their_domain_are_refused(changed):
    with pytest.raises(ValueError, match="share"):
        solve_randomized_smoothing(function_named("max"), accuracy=0.1, rng=0, **changed)
