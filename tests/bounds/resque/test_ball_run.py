"""Runs of ball acceleration: below the count, and never above the potential's promise."""

from __future__ import annotations

import numpy as np
import pytest

import bounds
from tests.bounds.resque.ball_runs import Problem, accelerated, naive, without_bisection

RATIOS = (4, 8, 16, 32)
#: Accepted steps and calls of the naive iteration, known for this problem.
WARM = {4: 6, 8: 11, 16: 17, 32: 27}
COLD = {4: 6, 8: 10, 16: 16, 32: 26}
NAIVE = {4: 5, 8: 11, 16: 22, 32: 43}
#: The bound without the steps that are not counted by its main term, for c = 1/2.
THEOREM = {32: 63.0, 64: 105.3, 128: 175.6, 256: 292.2, 512: 485.0}
#: Wider ratios, in slow tests.
WIDE = {64: 40, 128: 69, 256: 102, 512: 157}
WIDE_COLD = {64: 40, 128: 62, 256: 94, 512: 139}


def bound(problem: Problem, acceptance: float) -> float:
    return float(
        bounds.theorems()["resque.ball.count"].evaluate(
            lipschitz=1.0,
            radius=1.0,
            ball_radius=problem.radius,
            accuracy=problem.accuracy,
            acceptance=acceptance,
        )
    )


@pytest.mark.parametrize("ratio", RATIOS)
def test_accepted_steps(ratio: int) -> None:
    problem = Problem.decaying(ratio)
    warm, cold = accelerated(problem), accelerated(problem, warm=False)
    assert (warm.steps, cold.steps, naive(problem)) == (WARM[ratio], COLD[ratio], NAIVE[ratio])
    assert max(warm.steps, cold.steps) <= bound(problem, 0.5)
    assert warm.calls >= warm.steps


def test_the_bound_of_this_problem() -> None:
    for ratio, value in THEOREM.items():
        assert bound(Problem.decaying(ratio), 0.5) - 1 == pytest.approx(value, abs=0.05)


@pytest.mark.parametrize("ratio", RATIOS)
def test_the_potential_falls_as_promised(ratio: int) -> None:
    run = accelerated(Problem.decaying(ratio))
    falls = -np.diff(run.potentials)
    assert (falls >= np.array(run.promised) - 1e-12).all()
    assert (falls > 0).all()
    assert run.budget <= 1  # R^2
    # So the mean of lam A is (R/(c r))^2/T at most; (R/r)^2/T would be too small in general.
    assert np.mean(run.products) <= (ratio / 0.5) ** 2 / run.steps


@pytest.mark.parametrize("ratio", RATIOS)
def test_the_potential_without_bisection(ratio: int) -> None:
    run = without_bisection(Problem.decaying(ratio))
    falls = -np.diff(run.potentials)
    assert (falls >= np.array(run.promised) - 1e-9).all()
    assert run.steps <= NAIVE[ratio] + 1


@pytest.mark.slow
@pytest.mark.parametrize("ratio", WIDE)
def test_accepted_steps_of_smaller_balls(ratio: int) -> None:
    problem = Problem.decaying(ratio)
    warm, cold = accelerated(problem), accelerated(problem, warm=False)
    assert (warm.steps, cold.steps) == (WIDE[ratio], WIDE_COLD[ratio])
    assert max(warm.steps, cold.steps) <= bound(problem, 0.5)


def test_growth_is_slower_than_that_of_the_naive_iteration() -> None:
    logs = np.log(RATIOS)
    slope = np.polyfit(logs, np.log([WARM[each] for each in RATIOS]), 1)[0]
    plain = np.polyfit(logs, np.log([NAIVE[each] for each in RATIOS]), 1)[0]
    assert 0.45 < slope < 0.75
    assert 0.95 < plain < 1.05
