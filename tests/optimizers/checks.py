"""Checks shared by the tests (must pass) and by tests/bites (must fail on broken variants)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from accountants.sampling import Poisson
from dp2theory.optimizers import protocol
from dp2theory.optimizers.batches import Sampler
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.steps import Optimizer, OptimizerState
from dp2theory.problems.convex import QuadraticProblem, quadratic
from dp2theory.problems.protocol import Array, Constants, Problem
from dp2theory.problems.synthetic import het

SETTINGS: dict[str, Any] = {
    "learning_rate": 0.7,
    "clip_norm": 0.4,
    "adaptive_learning_rate": 0.02,
    "preconditioned_clip_norm": 3.0,
    "noise_multiplier": 0.8,
    "ema": 0.6,
    "damping": 0.01,
}


def small_problem(seed: int = 1) -> Problem:
    return het(80, 12, 0.1, 4, seed)


def constant_problem(records: int, dimension: int, gradient: float) -> QuadraticProblem:
    """Every record's gradient at 0 is `gradient` in the first coordinate, and 0 elsewhere."""
    centres = np.zeros((records, dimension))
    centres[:, 0] = -gradient
    return QuadraticProblem("constant", centres, np.ones(dimension), Constants())


def literal_dp2(
    problem: Problem, *, q: float, steps: int, sgd_steps: int, adaptive_steps: int, seed: int
) -> tuple[Array, Array]:
    """DP²-RMSProp as a plain loop, each record clipped by hand; returns parameters and v."""
    rng = np.random.Generator(np.random.SFC64(seed))
    s = SETTINGS
    n, d = problem.dataset_size, problem.dimension
    b = q * n
    w, v, collected = np.zeros(d), np.zeros(d), np.zeros(d)
    for t in range(steps):
        batch = rng.choice(n, rng.binomial(n, q), replace=False, shuffle=False)
        position = t % (sgd_steps + adaptive_steps)
        adaptive = position >= sgd_steps
        divisor = np.sqrt(v) + s["damping"] if adaptive else np.ones(d)
        clip = s["preconditioned_clip_norm"] if adaptive else s["clip_norm"]
        rate = s["adaptive_learning_rate"] if adaptive else s["learning_rate"]
        total = np.zeros(d)
        for record in batch:
            g = problem.clipped_gradient_sum(w, np.array([record]), clip_norm=np.inf) / divisor
            total += g * min(1.0, clip / np.linalg.norm(g))
        released = (total + s["noise_multiplier"] * clip * rng.standard_normal(d)) / b
        w = w - rate * released
        if not adaptive:
            collected = collected + released
            if position == sgd_steps - 1:
                v = s["ema"] * v + (1 - s["ema"]) * (collected / sgd_steps) ** 2
                collected = np.zeros(d)
    return w, v


def check_matches_literal_dp2(make: Callable[..., Optimizer], **phases: int) -> None:
    """Assert that `run` agrees with the plain loop after every number of steps to 23."""
    problem, q = small_problem(), 0.1
    sgd = phases.get("sgd_steps", phases.get("delay", 0))
    adaptive = phases.get("adaptive_steps", phases.get("delay", 0))
    optimizer = make(**SETTINGS, **phases)
    for steps in (1, sgd, sgd + 1, sgd + adaptive, sgd + adaptive + 1, 23):
        result = protocol.run(optimizer, problem, sampling=Poisson(q), steps=steps, rng=5)
        w, v = literal_dp2(
            problem, q=q, steps=steps, sgd_steps=sgd, adaptive_steps=adaptive, seed=5
        )
        np.testing.assert_allclose(result.parameters, w, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(result.state.arrays["second_moment"], v, rtol=1e-9, atol=1e-15)


def check_constant_inside_phases(make: Callable[..., Optimizer]) -> None:
    """Assert that v and D change once per cycle, from the mean of the SGD phase's releases."""
    sgd, adaptive, d = 4, 3, 5
    optimizer = make(**SETTINGS, sgd_steps=sgd, adaptive_steps=adaptive)
    rng = np.random.default_rng(2)
    state, w = optimizer.initial_state(d), np.zeros(d)
    v, phase = np.zeros(d), []
    for t in range(5 * (sgd + adaptive)):
        query = optimizer.query(state)
        if t % (sgd + adaptive) < sgd:
            assert query.preconditioner is None
            assert query.clip_norm == SETTINGS["clip_norm"]
        else:
            assert query.preconditioner is not None
            assert query.clip_norm == SETTINGS["preconditioned_clip_norm"]
            np.testing.assert_allclose(
                query.preconditioner, np.sqrt(v) + SETTINGS["damping"], rtol=1e-12
            )
        released = rng.standard_normal(d)
        w, state = optimizer.apply(w, state, released)
        if t % (sgd + adaptive) < sgd:
            phase.append(released)
        if t % (sgd + adaptive) == sgd - 1:
            v = SETTINGS["ema"] * v + (1 - SETTINGS["ema"]) * np.mean(phase, axis=0) ** 2
            phase = []
        np.testing.assert_allclose(state.arrays["second_moment"], v, rtol=1e-12, atol=1e-300)


def check_state_comes_from_releases(make: Callable[[Problem], Optimizer]) -> None:
    """Assert that with equal releases the data leave no trace in parameters and state.

    The releases are forced to one fixed sequence; two data sets must then end alike.
    """
    outcomes: list[tuple[Array, OptimizerState]] = []
    for seed in (1, 2):
        problem, rng = small_problem(seed), np.random.default_rng(3)

        def fixed(*_: Any, rng: Any = None, source: Any = rng, **__: Any) -> Array:
            return np.asarray(source.standard_normal(13))

        with mock.patch.object(protocol, "release_mean", fixed):
            result = protocol.run(make(problem), problem, sampling=Poisson(0.1), steps=20, rng=0)
        outcomes.append((result.parameters, result.state))
    (w1, state1), (w2, state2) = outcomes
    np.testing.assert_array_equal(w1, w2)
    for name in state1.arrays:
        np.testing.assert_array_equal(state1.arrays[name], state2.arrays[name])


def released_gradients(optimizer: Optimizer, problem: Problem, q: float, steps: int) -> Array:
    """All releases of a run that hardly moves, shape (steps, dimension)."""
    kept: list[Array] = []
    protocol.run(
        optimizer,
        problem,
        sampling=Poisson(q),
        steps=steps,
        rng=11,
        on_release=lambda _, released: kept.append(released.copy()),
    )
    return np.array(kept)


def check_noise_law() -> None:
    """Assert noise std sigma C on the sum and sigma C / b on the mean, b = q n public."""
    sigma, c1, c2, n, q = 1.3, 0.5, 7.0, 40, 0.1
    optimizer = Dp2RmsProp(1e-12, c1, 1e-12, c2, sigma, delay=10)
    # At its minimum the problem has no gradient: what is released is noise.
    releases = released_gradients(optimizer, constant_problem(n, 4_000, 0.0), q, 20)
    b = q * n
    for phase, clip in ((releases[:10], c1), (releases[10:], c2)):
        # 40,000 draws: the standard error of the std is 0.35 %.
        np.testing.assert_allclose(b * phase.std(), sigma * clip, rtol=0.02)
        np.testing.assert_allclose(phase.std(), sigma * clip / b, rtol=0.02)
        assert abs(phase.mean()) < 5 * sigma * clip / b / np.sqrt(phase.size)
        # Independent between steps: the mean of 10 steps has std smaller by sqrt(10).
        np.testing.assert_allclose(
            phase.mean(axis=0).std(), sigma * clip / b / np.sqrt(10), rtol=0.05
        )


def check_divisor_is_public() -> None:
    """Assert that sums are divided by the expected batch size, not by the size drawn."""
    n, q = 40, 0.1
    optimizer = protocol_sgd(1e-12)
    releases = released_gradients(optimizer, constant_problem(n, 2, 1.0), q, 400)
    sizes = q * n * releases[:, 0]
    np.testing.assert_allclose(sizes, np.round(sizes), atol=1e-6)
    assert sizes.std() > 1.0  # binomial(40, .1) has std 1.9; the drawn size would give 0
    np.testing.assert_allclose(sizes.mean(), q * n, atol=5 * 1.9 / 20)


def protocol_sgd(learning_rate: float) -> Optimizer:
    from dp2theory.optimizers.sgd import Sgd

    return Sgd(learning_rate)


def check_poisson_law(sampler: Sampler, rng: np.random.Generator) -> None:
    """Assert independent inclusion with probability q, by first and second moments."""
    draws, n = 8_000, sampler.dataset_size
    q = sampler.expected_batch_size / n
    included = np.zeros((draws, n))
    for row in included:
        batch = sampler.sample(rng)
        assert len(set(batch.tolist())) == batch.size
        row[batch] = 1
    sizes = included.sum(axis=1)
    deviation = np.sqrt(q * (1 - q) / draws)
    assert np.all(np.abs(included.mean(axis=0) - q) < 5 * deviation)
    variance = n * q * (1 - q)
    assert abs(sizes.var() - variance) < 5 * variance * np.sqrt(2 / draws)
    covariance = np.cov(included.T, bias=True)
    off_diagonal = covariance[~np.eye(n, dtype=bool)]
    assert np.all(np.abs(off_diagonal) < 6 * q * (1 - q) / np.sqrt(draws))
    # Successive batches are independent too; walking through epochs makes them exclude.
    lagged = np.mean((included[1:] - q) * (included[:-1] - q))
    assert abs(lagged) < 6 * q * (1 - q) / np.sqrt(draws * n)


class Counting:
    """A problem that counts the batches whose gradients were asked for."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.queries = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def clipped_gradient_sum(self, *args: Any, **kwargs: Any) -> Array:
        self.queries += 1
        return self._problem.clipped_gradient_sum(*args, **kwargs)


def check_ledger(make: Callable[..., Optimizer], steps: int) -> None:
    """Assert that the ledger holds one sampled Gaussian per batch that was looked at."""
    problem, sampling = Counting(quadratic(40, 3)), Poisson(0.1)
    optimizer = make(**SETTINGS, delay=3)
    result = protocol.run(optimizer, problem, sampling=sampling, steps=steps, rng=0)
    assert result.ledger.count == problem.queries == steps == result.steps
    inner = result.ledger.event
    assert inner.sampling_probability == sampling.sampling_probability
    assert inner.event.noise_multiplier == SETTINGS["noise_multiplier"]
