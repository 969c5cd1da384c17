"""Facts on smoothing: reference values, tightness on |x|, sampling against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dp2theory.resque.distances import MaxDistance, WeightedDistance
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.smoothing import (
    GaussianSmoothing,
    gradient_change,
    mean_length,
    smoothing_bias,
    smoothing_for,
    smoothness,
)

#: |x - 1| in one dimension.
ABSOLUTE = WeightedDistance(np.ones(1), np.ones(1))


@pytest.mark.parametrize(
    ("dimension", "value"),
    [
        (1, 0.797884560803),
        (2, 1.25331413732),
        (10, 3.0843277598),
        (100, 9.97503163955),
        (1000, 31.614871897),
    ],
)
def test_mean_length_of_a_gaussian_vector(dimension: int, value: float) -> None:
    assert_allclose(mean_length(dimension), value, rtol=5e-12)
    assert mean_length(dimension) <= np.sqrt(dimension)


def test_constants_to_the_last_digit() -> None:
    assert_allclose(smoothness(1.0), 0.7978845608028654, rtol=1e-14)
    assert_allclose(smoothness(0.25, 3.0), 12 * 0.7978845608028654, rtol=1e-14)
    assert_allclose(mean_length(1), 0.7978845608028654, rtol=1e-14)


def test_smoothing_for_an_accuracy_costs_at_most_its_share() -> None:
    for dimension in (1, 7, 400):
        for lipschitz in (0.3, 2.0):
            rho = smoothing_for(0.1, dimension, lipschitz)
            assert_allclose(rho, 0.1 / (2 * lipschitz * np.sqrt(dimension)), rtol=1e-14)
            assert smoothing_bias(rho, dimension, lipschitz) <= 0.05
            third = smoothing_for(0.1, dimension, lipschitz, share=1 / 3)
            assert_allclose(third, rho * 2 / 3, rtol=1e-14)


def test_the_absolute_value_attains_bias_smoothness_and_change_of_gradients() -> None:
    smooth = GaussianSmoothing(ABSOLUTE, 0.4)
    assert_allclose(smooth.value(np.ones(1)), smooth.bias, rtol=1e-12)
    h = 1e-6
    slope = (smooth.gradient(np.array([1 + h])) - smooth.gradient(np.array([1 - h]))) / (2 * h)
    assert_allclose(slope, smooth.smoothness, rtol=1e-9)
    for distance in (0.01, 0.5, 3.0):
        half = np.array([distance / 2])
        change = smooth.gradient(1 + half) - smooth.gradient(1 - half)
        assert_allclose(change, gradient_change(distance, 0.4), rtol=1e-12)


@pytest.mark.parametrize("name", ["l1", "absolute", "hinge"])
def test_no_function_exceeds_the_bounds(name: str) -> None:
    function = function_named(name)
    smooth = GaussianSmoothing(function, 0.3)
    rng = np.random.default_rng(0)
    for _ in range(30):
        x, u = rng.standard_normal((2, function.dimension))
        rise = smooth.value(x) - function.value(x)
        assert -1e-14 <= rise <= smooth.bias
        y = x + u * 10 ** rng.uniform(-3, 0)
        distance = np.linalg.norm(x - y)
        change = np.linalg.norm(smooth.gradient(x) - smooth.gradient(y))
        assert change <= gradient_change(distance, 0.3, function.lipschitz) * (1 + 1e-12)
        assert change <= smooth.smoothness * distance * (1 + 1e-12)


@pytest.mark.parametrize("name", ["l1", "absolute", "hinge"])
def test_sampling_agrees_with_the_closed_forms(name: str) -> None:
    function = function_named(name)
    smooth = GaussianSmoothing(function, 0.3)
    assert smooth.exact
    rng = np.random.default_rng(1)
    x = 0.4 * rng.standard_normal(function.dimension)
    gradient = smooth.sampled_gradient(x, draws=20_000, rng=rng)
    value = smooth.sampled_value(x, draws=2000, rng=rng)
    errors = np.abs(gradient.mean - smooth.gradient(x)) / gradient.standard_error
    assert errors.max() < 4
    assert np.sqrt(np.mean(errors**2)) > 0.3  # the standard errors are not inflated either
    assert abs(value.mean - smooth.value(x)) < 4 * value.standard_error


def test_standard_errors_are_those_of_all_draws_together() -> None:
    # 5000 draws are two blocks; the variance must be that of the whole, not of a block.
    smooth = GaussianSmoothing(function_named("absolute"), 0.3)
    x = np.full(8, 0.2)
    few = smooth.sampled_gradient(x, draws=5000, rng=np.random.default_rng(2))
    rng = np.random.default_rng(2)
    gradients = []
    for size in (4096, 904):
        points = x + 0.3 * rng.standard_normal((size, 8))
        gradients.append(smooth.function.subgradients(points, rng.integers(0, 4000, size=size)))
    every = np.concatenate(gradients)
    assert_allclose(few.mean, every.mean(axis=0), rtol=1e-11, atol=1e-15)
    assert_allclose(few.standard_error, every.std(axis=0, ddof=1) / np.sqrt(5000), rtol=1e-11)


def test_without_a_closed_form_there_is_sampling_only() -> None:
    smooth = GaussianSmoothing(MaxDistance(np.array([1.0, 2.0])), 0.5)
    assert not smooth.exact
    with pytest.raises(ValueError, match="function='max' has no closed form"):
        smooth.value(np.zeros(2))
    with pytest.raises(ValueError, match="no closed form"):
        smooth.gradient(np.zeros(2))
    found = smooth.sampled_value(np.zeros(2), draws=500, rng=np.random.default_rng(0))
    assert found.mean + 4 * found.standard_error >= 2.0
    assert found.mean - 4 * found.standard_error <= 2.0 + smooth.bias


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_length(0), "dimension=0"),
        (lambda: smoothing_for(-1.0, 3), "accuracy=-1.0"),
        (lambda: smoothing_for(1.0, 3, share=1.0), "share=1.0"),
        (lambda: smoothing_bias(float("nan"), 3), "smoothing=nan"),
        (lambda: smoothness(0.0), "smoothing=0.0"),
        (lambda: gradient_change(1.0, 1.0, float("inf")), "lipschitz=inf"),
        (lambda: gradient_change(-1.0, 1.0), "distance"),
        (lambda: GaussianSmoothing(ABSOLUTE, -1.0), "smoothing=-1.0"),
        (lambda: GaussianSmoothing(3, 1.0), "function=3"),  # type: ignore[arg-type]
        (lambda: GaussianSmoothing(ABSOLUTE, 1.0).value(np.zeros(2)), "x has shape (2,)"),
        (
            lambda: GaussianSmoothing(ABSOLUTE, 1.0).sampled_gradient(
                np.zeros(1), draws=1, rng=np.random.default_rng(0)
            ),
            "draws=1",
        ),
    ],
)
def test_bad_input_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value)
