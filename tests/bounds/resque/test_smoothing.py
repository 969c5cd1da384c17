"""Gaussian smoothing: error, smoothness, closed form, and losses that attain the bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bounds.catalogue import theorem


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
@pytest.mark.parametrize("backend", ["numpy", "mpmath", "ball"])
def test_mean_length_of_a_gaussian(dimension: int, value: float, backend: str) -> None:
    mean = theorem("resque.F1.norm").evaluate(backend=backend, dimension=dimension)
    middle = float(mean.mid()) if backend == "ball" else float(mean)
    assert middle == pytest.approx(value, rel=1e-11)
    assert middle <= math.sqrt(dimension)


def test_error_of_smoothing() -> None:
    first = theorem("resque.F1")
    assert first.evaluate(dimension=1, lipschitz=3, smoothing_std=0.5) == pytest.approx(
        1.5 * math.sqrt(2 / math.pi)
    )
    assert first.evaluate("simple", dimension=4, lipschitz=3, smoothing_std=0.5) == 3.0
    # |x| at its kink attains it.
    error = theorem("resque.F5").evaluate(offset=0, smoothing_std=0.5)
    assert first.evaluate(dimension=1, lipschitz=1, smoothing_std=0.5) == pytest.approx(error)


def test_constant_of_smoothness() -> None:
    three = theorem("resque.F3")
    assert three.evaluate(lipschitz=1, smoothing_std=1) == pytest.approx(0.7978845608028654)
    assert three.evaluate(lipschitz=1, smoothing_std=1) < three.evaluate(
        "usual", lipschitz=1, smoothing_std=1
    )


def test_global_bound_lies_below_the_linear_one_and_saturates_at_2_l() -> None:
    four = theorem("resque.F4")
    distances = np.array([0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 50.0])
    bound = four.evaluate(lipschitz=1.5, smoothing_std=0.7, distance=distances)
    linear = four.evaluate("linear", lipschitz=1.5, smoothing_std=0.7, distance=distances)
    assert (bound <= linear).all()
    assert bound[0] == pytest.approx(linear[0], rel=1e-4)
    assert bound[-1] == pytest.approx(3.0, rel=1e-12)


def test_absolute_value_attains_the_global_bound() -> None:
    five, four = theorem("resque.F5"), theorem("resque.F4")
    for distance in (0.1, 1.0, 4.0):
        right = five.evaluate("slope", offset=distance / 2, smoothing_std=0.6)
        left = five.evaluate("slope", offset=-distance / 2, smoothing_std=0.6)
        bound = four.evaluate(lipschitz=1, smoothing_std=0.6, distance=distance)
        assert right - left == pytest.approx(bound, rel=1e-14)


def test_closed_form_at_the_reference_point() -> None:
    """m = 0.1, rho = 0.5: the point of three dimensions with a = (1, 2, 2)/3, b = 0.2."""
    five = theorem("resque.F5")
    assert five.evaluate("slope", offset=0.1, smoothing_std=0.5) == pytest.approx(
        0.158519418878, rel=1e-11
    )
    assert five.evaluate(offset=0.1, smoothing_std=0.5) == pytest.approx(0.406894635863, rel=1e-11)


def test_closed_form_against_quadrature_and_its_derivative() -> None:
    five = theorem("resque.F5")
    x, weights = np.polynomial.legendre.leggauss(200)
    for offset, rho in ((-0.4, 0.3), (0.0, 1.0), (1.3, 0.9)):
        total = 0.0
        for low, high in ((-14.0, -offset / rho), (-offset / rho, 14.0)):
            z = (low + high) / 2 + (high - low) / 2 * x
            density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
            total += (high - low) / 2 * float(weights @ (np.abs(offset + rho * z) * density))
        assert five.evaluate(offset=offset, smoothing_std=rho) == pytest.approx(total, rel=1e-10)
        near = [five.evaluate(offset=offset + h, smoothing_std=rho) for h in (-1e-5, 1e-5)]
        slope = theorem("resque.F5.gradient").evaluate(offset=offset, smoothing_std=rho)
        assert (near[1] - near[0]) / 2e-5 == pytest.approx(slope, abs=1e-9)


def test_smoothed_value_lies_between_the_loss_and_the_bound() -> None:
    for offset in (-2.0, -0.1, 0.0, 0.7):
        value = theorem("resque.F5").evaluate(offset=offset, smoothing_std=0.8)
        error = theorem("resque.F1").evaluate(dimension=1, lipschitz=1, smoothing_std=0.8)
        assert abs(offset) <= value <= abs(offset) + error + 1e-15


def test_evaluate_refuses_what_is_outside_a_domain() -> None:
    with pytest.raises(ValueError, match="smoothing_std = 0 is not allowed: > 0"):
        theorem("resque.F3").evaluate(lipschitz=1, smoothing_std=0)
    with pytest.raises(ValueError, match=r"norm_order = 0\.5 is not allowed"):
        theorem("resque.E5").evaluate(lipschitz=1, norm_order=0.5, shift=0)
