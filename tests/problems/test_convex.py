"""The constants that the convex problems claim, checked by computation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from dp2theory.problems.convex import huber, least_absolute_deviations, quadratic
from dp2theory.problems.protocol import Problem

MAKERS = {
    "lad": lambda: least_absolute_deviations(200, 5, 3),
    "huber": lambda: huber(200, 5, 0.1, 3),
    "quadratic": lambda: quadratic(200, 5, 2.0, 0.25, 3),
}


def _gradient(problem: Problem, weights: np.ndarray) -> np.ndarray:
    everybody = np.arange(problem.dataset_size)
    total = problem.clipped_gradient_sum(weights, everybody, clip_norm=np.inf)
    return np.asarray(total / problem.dataset_size)


@pytest.mark.parametrize("name", MAKERS)
def test_optimal_value(name: str) -> None:
    problem = MAKERS[name]()
    optimal = problem.constants.optimal_value
    assert optimal is not None
    # A derivative-free search never gets under the claimed value, and it comes close to it.
    found = minimize(
        problem.loss, np.zeros(5), method="Powell", options={"xtol": 1e-9, "ftol": 1e-13}
    )
    assert found.fun >= optimal * (1 - 1e-12)
    assert found.fun == pytest.approx(optimal, rel=1e-4)


@pytest.mark.parametrize("name", MAKERS)
def test_lipschitz_is_a_bound_and_is_reached(name: str) -> None:
    problem, rng = MAKERS[name](), np.random.default_rng(0)
    bound = problem.constants.lipschitz
    assert bound is not None
    corners = np.sign(rng.standard_normal((200, 5)))
    largest = 0.0
    for weights in corners:
        for record in range(0, 200, 7):
            one = problem.clipped_gradient_sum(weights, np.array([record]), clip_norm=np.inf)
            largest = max(largest, float(np.linalg.norm(one)))
    assert largest <= bound * (1 + 1e-12)
    assert largest >= 0.85 * bound


def test_quadratic_curvatures() -> None:
    problem, rng = MAKERS["quadratic"](), np.random.default_rng(0)
    constants = problem.constants
    assert constants.smoothness == 2.0
    assert constants.strong_convexity == 0.25
    for j, expected in ((0, 2.0), (4, 0.25)):
        start, step = rng.standard_normal(5), np.eye(5)[j]
        change = _gradient(problem, start + step) - _gradient(problem, start)
        np.testing.assert_allclose(change, expected * step, atol=1e-12)


def test_huber_smoothness_is_reached_inside_and_never_exceeded() -> None:
    problem = huber(200, 5, 10.0, 3)  # so wide that every error is inside
    rng, smoothness = np.random.default_rng(0), problem.constants.smoothness
    assert smoothness is not None
    ratios = []
    direction = rng.standard_normal(5)
    for _ in range(200):  # power iteration on the gradient map
        direction /= np.linalg.norm(direction)
        change = _gradient(problem, direction) - _gradient(problem, np.zeros(5))
        ratios.append(np.linalg.norm(change))
        direction = change
    assert max(ratios) <= smoothness * (1 + 1e-9)
    assert ratios[-1] == pytest.approx(smoothness, rel=1e-6)


def test_diameter_and_unknown_constants() -> None:
    lad = MAKERS["lad"]()
    assert lad.constants.diameter == pytest.approx(np.linalg.norm(np.full(5, 2.0)))
    assert lad.constants.smoothness is None
    assert lad.convex


def test_one_dimension_needs_one_curvature() -> None:
    with pytest.raises(ValueError, match=r"strong_convexity=0\.5 must be equal to smoothness=1\.0"):
        quadratic(10, 1, 1.0, 0.5)
    assert quadratic(10, 1, 1.0, 1.0).constants.smoothness == 1.0
