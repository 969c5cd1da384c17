"""Test functions: convexity, Lipschitz constants, closed forms, proximal maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dp2theory.resque.closed_forms import smoothed_absolute, smoothed_hinge
from dp2theory.resque.distances import MaxDistance, PositiveMax, WeightedDistance, project_l1
from dp2theory.resque.functions import Proximal, Recorded, Smoothed, StochasticFunction
from dp2theory.resque.losses import AbsoluteLoss, HingeLoss
from dp2theory.resque.named_functions import FUNCTIONS, function_named

REAL = ("svm-breast-cancer", "l1-diabetes")
LOSSES = ("absolute", "hinge")
DISTANCES = ("max", "max-flat", "l1", "l1-flat")
SMOOTHED = ("l1", "l1-flat", *LOSSES, *REAL)


def make(name: str) -> Any:
    if name in REAL:
        pytest.importorskip("sklearn")
    return function_named(name, records=50) if name in LOSSES else function_named(name)


def of_sample(function: Any, sample: int) -> Any:
    """The function f_s of one sample."""
    return function.part(np.array([sample])) if isinstance(function, Recorded) else function


@pytest.mark.parametrize("name", FUNCTIONS)
def test_subgradients_lie_below_their_function_and_within_its_constant(name: str) -> None:
    function = make(name)
    assert isinstance(function, StochasticFunction)
    rng = np.random.default_rng(1)
    points = function.start + 2 * rng.standard_normal((60, function.dimension))
    others = function.start + 2 * rng.standard_normal((60, function.dimension))
    samples = rng.integers(0, function.sample_size, size=60)
    gradients = function.subgradients(points, samples)
    assert gradients.shape == points.shape
    assert np.linalg.norm(gradients, axis=1).max() <= function.lipschitz * (1 + 1e-12)
    for x, y, s, g in zip(points, others, samples, gradients, strict=True):
        one = of_sample(function, int(s))
        assert one.value(y) >= one.value(x) + g @ (y - x) - 1e-12


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_value_is_the_mean_of_the_samples(name: str) -> None:
    function = make(name)
    x = function.start + np.random.default_rng(2).standard_normal(function.dimension)
    values = [of_sample(function, s).value(x) for s in range(function.sample_size)]
    assert_allclose(function.value(x), np.mean(values), rtol=1e-12)


@pytest.mark.parametrize("name", [*DISTANCES, "positive-max"])
def test_known_minima_are_minima(name: str) -> None:
    function = make(name)
    rng = np.random.default_rng(3)
    steps = rng.standard_normal((200, function.dimension))
    steps *= function.radius / np.linalg.norm(steps, axis=1, keepdims=True)
    assert min(function.value(function.start + u) for u in steps) >= function.optimal_value
    best = getattr(function, "center", function.start)
    assert function.value(best) == function.optimal_value
    assert np.linalg.norm(best - function.start) <= function.radius


@pytest.mark.parametrize("name", SMOOTHED)
def test_the_closed_form_of_the_gradient_is_the_slope_of_the_value(name: str) -> None:
    function = make(name)
    assert isinstance(function, Smoothed)
    rng = np.random.default_rng(4)
    x = function.start + 0.3 * rng.standard_normal(function.dimension)
    direction = rng.standard_normal(function.dimension)
    h = 1e-5
    rise = function.smoothed_value(x + h * direction, 0.4) - function.smoothed_value(
        x - h * direction, 0.4
    )
    assert_allclose(rise / (2 * h), function.smoothed_gradient(x, 0.4) @ direction, rtol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_smoothed_subgradients_are_those_of_each_record(name: str) -> None:
    function = make(name)
    rng = np.random.default_rng(5)
    points = rng.standard_normal((20, function.dimension))
    samples = rng.integers(0, function.sample_size, size=20)
    rows = function.smoothed_subgradients(points, samples, 0.3)
    each = [of_sample(function, s).smoothed_gradient(x, 0.3)
            for x, s in zip(points, samples, strict=True)]  # fmt: skip
    assert_allclose(rows, each, rtol=1e-12, atol=1e-15)


def test_reference_point_of_the_smoothed_absolute_value() -> None:
    # 2 Phi(m/rho) - 1 and f_rho, computed once with mpmath.
    row = np.array([[1.0, 2.0, 2.0]]) / 3
    loss = AbsoluteLoss(row, np.array([0.2]), lipschitz=1.0)
    x = np.array([0.3, -0.1, 0.4])
    assert_allclose(loss.smoothed_value(x, 0.5), 0.406894635863, rtol=1e-11)
    assert_allclose(loss.smoothed_gradient(x, 0.5), 0.158519418878 * row[0], rtol=1e-11)


def test_closed_forms_of_one_variable_against_quadrature() -> None:
    nodes, weights = np.polynomial.legendre.leggauss(200)
    for m in (-2.0, -0.3, 0.0, 0.7, 3.0):
        for s in (0.2, 1.5):
            kink = np.clip(-m / s, -9.0, 9.0)
            value = hinge = slope = step = 0.0
            for low, high in ((-9.0, kink), (kink, 9.0)):
                z = (high - low) / 2 * nodes + (high + low) / 2
                mass = (high - low) / 2 * weights * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
                x = m + s * z
                value, hinge = value + mass @ np.abs(x), hinge + mass @ np.maximum(x, 0)
                slope, step = slope + mass @ np.sign(x), step + mass @ (x > 0)
            assert_allclose(smoothed_absolute(m, s), (value, slope), atol=1e-13)
            assert_allclose(smoothed_hinge(m, s), (hinge, step), atol=1e-13)


def test_without_smoothing_closed_forms_are_the_functions_themselves() -> None:
    assert_allclose(smoothed_absolute([-2.0, 0.0, 3.0], 0.0), ([2, 0, 3], [-1, 0, 1]))
    assert_allclose(smoothed_hinge([-2.0, 3.0], 0.0), ([0, 3], [0, 1]))
    assert_allclose(smoothed_absolute(1e-3, 1e-320)[0], 1e-3)


@pytest.mark.parametrize("name", DISTANCES)
def test_prox_has_the_smallest_value_and_solves_the_optimality_condition(name: str) -> None:
    function = make(name)
    assert isinstance(function, Proximal)
    rng = np.random.default_rng(6)
    for multiplier in (0.1, 2.0, 50.0):
        y = rng.standard_normal(function.dimension)
        z = function.prox(y, multiplier)

        def objective(x: np.ndarray, y: np.ndarray = y, weight: float = multiplier) -> float:
            return float(function.value(x) + weight / 2 * np.square(x - y).sum())

        least = objective(z)
        moves = rng.standard_normal((300, function.dimension))
        moves *= 10.0 ** rng.uniform(-5, 0, size=(300, 1))
        assert min(objective(z + u) for u in moves) >= least - 1e-13
        # lambda (y - z) is a subgradient at z: f lies above its tangent there.
        pull = multiplier * (y - z)
        assert all(function.value(z + u) >= function.value(z) + pull @ u - 1e-11 for u in moves)


def test_projection_on_the_l1_ball_is_a_projection() -> None:
    rng = np.random.default_rng(7)
    for size in (1, 2, 7, 40):
        x = rng.standard_normal(size)
        p = project_l1(x, 0.5)
        assert np.abs(p).sum() <= 0.5 * (1 + 1e-12)
        # <x - p, q - p> <= 0 for every q of the ball; its corners suffice.
        corners = 0.5 * np.vstack([np.eye(size), -np.eye(size)])
        assert ((corners - p) @ (x - p)).max() <= 1e-12
        inside = 0.4 * x / np.abs(x).sum()
        assert_allclose(project_l1(inside, 0.5), inside)


def test_a_part_keeps_the_public_bound_and_forgets_the_minimum() -> None:
    loss = AbsoluteLoss(np.eye(3), np.arange(3.0), lipschitz=2.0, optimal_value=0.1)
    part = loss.part(np.array([2, 0]))
    assert part.lipschitz == 2.0
    assert part.optimal_value is None
    assert_allclose(part.value(np.zeros(3)), 1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: function_named("nothing"), "name='nothing'"),
        (lambda: function_named("max", records=3), "records=3"),
        (lambda: function_named("max", dimension=0), "dimension=0"),
        (lambda: function_named("hinge", margin=float("nan")), "margin=nan"),
        (lambda: MaxDistance(np.zeros(3)), "center is 0"),
        (lambda: MaxDistance(np.array([np.nan])), "center"),
        (lambda: WeightedDistance(np.ones(2), np.array([1.0, -1.0])), "weights holds -1"),
        (lambda: PositiveMax(3, -1.0), "offset=-1"),
        (lambda: HingeLoss(np.ones((2, 2)), np.array([1.0, 0.5])), "targets holds 0.5"),
        (lambda: AbsoluteLoss(np.ones((2, 2)), np.ones(3)), "targets has shape"),
        (lambda: AbsoluteLoss(np.ones((0, 2)), np.ones(0)), "features has shape"),
        (lambda: AbsoluteLoss(np.ones((2, 2)), np.ones(2), lipschitz=1.0), "longest row"),
        (lambda: function_named("absolute").part(np.array([4000])), "records holds 4000"),
        (lambda: function_named("absolute").part(np.array([], dtype=int)), "not empty"),
    ],
)
def test_bad_input_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value)
