"""The reweighted estimator: unbiased, with the moments of the theorems, the same everywhere."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dp2theory.resque.counters import Counter, RoundError
from dp2theory.resque.estimator import BLOCK, QueryPool, log_weights
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.named_functions import function_named

RHO = 0.5
DRAWS = 200_000
#: One record with a unit row: every subgradient has length 1, so that ||e|| is the weight.
LOSS = AbsoluteLoss(np.array([[1.0, 2.0, 2.0]]) / 3, np.array([0.2]), lipschitz=1.0)
POINT = np.array([0.3, -0.1, 0.4])


def pool_at(shift: float, seed: int = 0, draws: int = DRAWS) -> QueryPool:
    """Queries around a centre that lies `shift` rho from `POINT`."""
    away = np.array([0.6, -0.8, 0.0]) * shift * RHO
    return QueryPool.draw(
        LOSS, POINT - away, smoothing=RHO, size=draws, rng=np.random.default_rng(seed)
    )


def assert_unbiased(estimates: Any, truth: Any) -> None:
    errors = estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))
    assert (np.abs(estimates.mean(axis=0) - truth) <= 4 * errors).all()


def assert_second_moment(estimates: Any, shift: float) -> None:
    squares = np.square(estimates).sum(axis=1)
    exact = np.exp(shift**2)
    error = np.sqrt((np.exp(6 * shift**2) - np.exp(2 * shift**2)) / len(squares))
    assert abs(squares.mean() - exact) <= 4 * error + 1e-12


@pytest.mark.parametrize("shift", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_estimates_are_unbiased_with_the_second_moment_of_the_theorem(shift: float) -> None:
    estimates = pool_at(shift).estimates(POINT)
    assert_unbiased(estimates, LOSS.smoothed_gradient(POINT, RHO))
    assert_second_moment(estimates, shift)


def test_one_pool_serves_every_point_of_its_ball() -> None:
    pool = pool_at(0.0)
    for away in np.random.default_rng(3).uniform(-0.4, 0.4, size=(8, 3)) * RHO:
        x = pool.center + away
        assert_unbiased(pool.estimates(x), LOSS.smoothed_gradient(x, RHO))


def test_random_samples_average_to_the_gradient_of_the_mean() -> None:
    function = function_named("hinge", records=30, dimension=4)
    x = np.array([0.1, 0.2, -0.1, 0.0])
    pool = QueryPool.draw(
        function, np.zeros(4), smoothing=RHO, size=DRAWS, rng=np.random.default_rng(1)
    )
    assert_unbiased(pool.estimates(x), function.smoothed_gradient(x, RHO))
    counts = np.bincount(pool.samples, minlength=30)
    assert np.abs(counts - DRAWS / 30).max() < 5 * np.sqrt(DRAWS / 30)


def test_weights_are_the_ratio_of_the_densities() -> None:
    rng = np.random.default_rng(2)
    u, xi = rng.standard_normal(5), RHO * rng.standard_normal((10, 5))
    ratio = (np.square(xi).sum(axis=1) - np.square(xi - u).sum(axis=1)) / (2 * RHO**2)
    assert_allclose(log_weights(u, xi, RHO), ratio, rtol=1e-12)
    many = rng.standard_normal((10, 5))
    single = [log_weights(each, xi[i : i + 1], RHO)[0] for i, each in enumerate(many)]
    assert_allclose(log_weights(many, xi, RHO), single, rtol=1e-12)
    assert_array_equal(log_weights(np.zeros(5), xi, RHO), np.zeros(10))


def test_parts_and_means_agree_with_the_estimates() -> None:
    pool = pool_at(0.5, draws=100)
    part = slice(20, 60)
    estimates = pool.estimates(POINT)
    assert_allclose(pool.estimates(POINT, part), estimates[part])
    assert_allclose(pool.mean(POINT, part), estimates[part].mean(axis=0))
    assert_allclose(pool.weights(POINT), np.linalg.norm(estimates, axis=1))
    assert pool.size == 100


def same(first: QueryPool, second: QueryPool) -> bool:
    return all(
        np.array_equal(getattr(first, field.name), getattr(second, field.name))
        for field in dataclasses.fields(first)
    )


def test_a_pool_does_not_depend_on_who_draws_it() -> None:
    function = function_named("absolute", records=20, dimension=3)

    def draw(size: int, seed: int = 5, **more: Any) -> QueryPool:
        rng = np.random.default_rng(seed)
        return QueryPool.draw(function, np.zeros(3), smoothing=RHO, size=size, rng=rng, **more)

    size = 2 * BLOCK + 17
    here = draw(size)
    with ThreadPoolExecutor(3) as workers:
        assert same(here, draw(size, executor=workers))
    assert same(here, draw(size))
    assert not same(here, draw(size, seed=6))
    # No block repeats another one.
    assert len(np.unique(here.offsets[:, 0])) == size


def test_given_samples_are_asked_in_their_order() -> None:
    function = function_named("absolute", records=20, dimension=3)
    wanted = np.arange(20)
    pool = QueryPool.draw(
        function, np.zeros(3), smoothing=RHO, size=20, rng=np.random.default_rng(0),
        samples=wanted,
    )  # fmt: skip
    assert_array_equal(pool.samples, wanted)
    assert_array_equal(pool.gradients, function.subgradients(pool.offsets, wanted))


def test_a_pool_is_one_round() -> None:
    counter = Counter()

    def pools(number: int) -> None:
        rng = np.random.default_rng(0)
        with counter.subproblem():
            for _ in range(number):
                QueryPool.draw(LOSS, POINT, smoothing=RHO, size=10, rng=rng, counter=counter)

    pools(1)
    assert (counter.query_depth, counter.queries) == (1, 10)
    with pytest.raises(RoundError):
        pools(2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"smoothing": 0.0}, "smoothing=0.0"),
        ({"smoothing": float("nan")}, "smoothing=nan"),
        ({"size": 0}, "size=0"),
        ({"size": 2.5}, "size=2.5"),
        ({"samples": np.array([0, 1])}, "samples holds 1"),
        ({"samples": np.array([0, 0, 0])}, "samples has 3 entries"),
        ({"center": np.zeros(2)}, "center has shape (2,)"),
        ({"center": np.array([0, np.inf, 0])}, "center has entries"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], words: str) -> None:
    options: dict[str, Any] = {"center": POINT, "smoothing": RHO, "size": 2} | change
    center = options.pop("center")
    with pytest.raises(ValueError) as caught:
        QueryPool.draw(LOSS, center, rng=np.random.default_rng(0), **options)
    assert words in str(caught.value)
