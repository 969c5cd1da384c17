"""What the tests of the parallel methods and their broken variants share."""

from __future__ import annotations

from typing import Any

import numpy as np

from dp2theory.resque.ball_solvers import ParallelConstants
from dp2theory.resque.counters import Counter
from dp2theory.resque.distances import WeightedDistance

RADIUS = SMOOTHING = 0.1
#: Close to the kink on two axes, so that the gradient turns within the ball.
FUNCTION = WeightedDistance(np.array([1.0, 0.5, -0.3]), np.array([0.6, 0.7, 0.4]))
CENTER = FUNCTION.center + np.array([0.05, -0.04, 0.09])
MULTIPLIER = FUNCTION.lipschitz / (10 * RADIUS)


def objective(u: Any) -> float:
    """F(u) = f_rho(y + u) + l/2 ||u||^2, exactly."""
    return FUNCTION.smoothed_value(CENTER + u, SMOOTHING) + MULTIPLIER / 2 * float(u @ u)


def least() -> float:
    """min F over the ball, by projected gradient steps on the closed form."""
    u = np.zeros(3)
    size = 1 / (np.sqrt(2 / np.pi) * FUNCTION.lipschitz / SMOOTHING + MULTIPLIER)
    for _ in range(400):
        u = u - size * (FUNCTION.smoothed_gradient(CENTER + u, SMOOTHING) + MULTIPLIER * u)
        u *= min(1.0, RADIUS / float(np.linalg.norm(u)))
    return objective(u)


def make(kind: Any, seed: int = 0, counter: Counter | None = None, **constants: Any) -> Any:
    """An oracle on the function above."""
    counter = Counter() if counter is None else counter
    rng = np.random.default_rng(seed)
    return kind(FUNCTION, RADIUS, SMOOTHING, rng, ParallelConstants(**constants), counter)


def mean_excess(kind: Any, *, runs: int = 20, **constants: Any) -> float:
    """Mean of F(answer) - min F over seeds."""
    best = least()
    answers = [
        make(kind, seed, **constants).solve(CENTER, MULTIPLIER) - CENTER for seed in range(runs)
    ]
    return float(np.mean([objective(u) - best for u in answers]))
