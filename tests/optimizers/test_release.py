"""The release: noise law, public divisor, order of clipping and noise."""

from __future__ import annotations

import numpy as np

from dp2theory.optimizers.clipping import release_mean
from dp2theory.optimizers.steps import Query
from tests.optimizers.checks import (
    check_divisor_is_public,
    check_noise_law,
    constant_problem,
    small_problem,
)


def test_noise_law() -> None:
    check_noise_law()


def test_divisor_is_the_public_expected_batch_size() -> None:
    check_divisor_is_public()


def test_release_is_sum_plus_noise_over_b() -> None:
    problem, batch = small_problem(), np.array([3, 5, 3])
    w = np.linspace(-1, 1, problem.dimension)
    divisor = np.linspace(0.5, 2, problem.dimension)
    for preconditioner in (None, divisor):
        got = release_mean(
            problem,
            w,
            batch,
            Query(0.3, 2.0, preconditioner),
            expected_batch_size=7.0,
            rng=np.random.default_rng(1),
        )
        total = problem.clipped_gradient_sum(w, batch, clip_norm=0.3, preconditioner=preconditioner)
        noise = 2.0 * 0.3 * np.random.default_rng(1).standard_normal(problem.dimension)
        np.testing.assert_allclose(got, (total + noise) / 7.0, rtol=1e-13)


def test_an_empty_batch_still_gets_noise_and_no_noise_draws_nothing() -> None:
    problem, nobody = constant_problem(5, 100, 1.0), np.array([], dtype=np.int64)
    rng = np.random.default_rng(0)
    noisy = release_mean(
        problem, np.zeros(100), nobody, Query(1.0, 1.0), expected_batch_size=2.0, rng=rng
    )
    assert np.count_nonzero(noisy) == 100
    before = rng.bit_generator.state
    plain = release_mean(
        problem, np.zeros(100), nobody, Query(np.inf, 0.0), expected_batch_size=2.0, rng=rng
    )
    np.testing.assert_array_equal(plain, np.zeros(100))
    assert rng.bit_generator.state == before
