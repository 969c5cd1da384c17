"""Laws of second moments, for any gradients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dp2theory.optimizers.accumulators import (
    FirstMoment,
    MovingAverage,
    RunningSum,
    SecondMoment,
    SignedSteps,
    effective_terms,
    weight_sum,
)
from dp2theory.optimizers.noise_aware import NoiseAwareAverage
from dp2theory.optimizers.variants import DebiasedAverage
from dp2theory.problems.protocol import Array

EMAS = st.floats(0.0, 0.999)
GRADIENTS = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 8), st.just(3)), elements=st.floats(-100, 100, width=32)
)


def after(moment: SecondMoment, gradients: Array) -> Array:
    """v after all gradients; the old v must not be written to."""
    v = moment.initial(gradients.shape[1])
    for g in gradients:
        before = v.copy()
        new = moment.updated(v, g)
        np.testing.assert_array_equal(v, before)
        v = new
    return v


@given(EMAS, GRADIENTS)
def test_a_corrected_average_lies_between_the_gradients(ema: float, gradients: Array) -> None:
    moment = MovingAverage(ema, bias_correction=True)
    root = moment.root(after(moment, gradients), len(gradients))
    sizes = np.abs(gradients)
    assert np.all(root <= sizes.max(axis=0) * (1 + 1e-9) + 1e-150)
    assert np.all(root >= sizes.min(axis=0) * (1 - 1e-9) - 1e-150)


@given(EMAS, st.integers(1, 5_000))
def test_the_weights_sum_to_what_is_divided_by(ema: float, count: int) -> None:
    direct = (1 - ema) * np.sum(ema ** np.arange(count, dtype=float))
    np.testing.assert_allclose(weight_sum(ema, count), direct, rtol=1e-9)


@given(EMAS, st.integers(1, 5_000))
def test_effective_terms_are_those_of_the_weights(ema: float, count: int) -> None:
    weights = ema ** np.arange(count, dtype=float)
    direct = weights.sum() ** 2 / np.sum(weights**2)
    terms = effective_terms(ema, count)
    np.testing.assert_allclose(terms, direct, rtol=1e-9)
    assert 1 - 1e-9 <= terms <= min(count, (1 + ema) / (1 - ema)) * (1 + 1e-9)


@given(st.floats(0.0, 0.99), GRADIENTS)
def test_a_corrected_first_moment_of_equal_gradients_is_the_gradient(
    ema: float, gradients: Array
) -> None:
    moment, m = FirstMoment(ema), np.zeros(3)
    for count in range(1, 6):
        m = moment.updated(m, gradients[0])
        np.testing.assert_allclose(moment.value(m, count), gradients[0], rtol=1e-9, atol=1e-12)


@given(GRADIENTS)
def test_a_running_sum_never_falls_and_forgets_the_order(gradients: Array) -> None:
    v = after(RunningSum(), gradients)
    assert np.all(v >= after(RunningSum(), gradients[:-1]))
    np.testing.assert_allclose(v, after(RunningSum(), gradients[::-1]), rtol=1e-12)


@given(EMAS, st.floats(1e-6, 10.0), GRADIENTS)
def test_signed_steps_are_bounded_and_stay_positive(
    ema: float, start: float, gradients: Array
) -> None:
    moment, v = SignedSteps(ema, start), np.full(3, start)
    for g in gradients:
        new = moment.updated(v, g)
        assert np.all(np.abs(new - v) <= (1 - ema) * g**2 * (1 + 1e-9) + 1e-9 * v)
        assert np.all((new >= v) == (v <= g**2) | (new == v))
        assert np.all(new >= 0)
        assert np.all(new >= ema * v * (1 - 1e-12))
        v = new


@given(EMAS, st.floats(0.01, 100.0), st.floats(0.1, 3.0), GRADIENTS)
def test_the_noise_aware_root_has_its_floor_and_its_scale(
    ema: float, nu: float, floor: float, gradients: Array
) -> None:
    moment = NoiseAwareAverage(ema, nu, "signal", floor)
    root = moment.root(after(moment, gradients), len(gradients))
    assert np.all(root >= np.sqrt(floor * nu) * (1 - 1e-12))
    plain = MovingAverage(ema, bias_correction=True)
    raw = plain.root(after(plain, gradients), len(gradients))
    assert np.all(root <= np.maximum(raw, np.sqrt(floor * nu)) * (1 + 1e-12))
    # Gradients in other units: the root is in the same units.
    scaled = NoiseAwareAverage(ema, 4 * nu, "signal", floor)
    other = scaled.root(after(scaled, 2 * gradients), len(gradients))
    np.testing.assert_allclose(other, 2 * root, rtol=1e-6)


@given(EMAS, st.floats(0.0, 100.0), GRADIENTS)
def test_clamping_squares_gives_no_less_than_clamping_their_average(
    ema: float, nu: float, gradients: Array
) -> None:
    early = DebiasedAverage(ema, nu, "accumulator")
    late = DebiasedAverage(ema, nu, "ema")
    count = len(gradients)
    first = early.root(after(early, gradients), count)
    second = late.root(after(late, gradients), count)
    assert np.all(first >= second - 1e-9 * (1 + np.sqrt(nu)))
    assert np.all(second >= 0)


@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_what_noise_alone_leaves_in_debiased_squares(ema: float) -> None:
    """E max(z^2 - 1, 0) = 0.484 for a standard normal z; the unclamped average has mean 0."""
    noise = np.random.default_rng(0).standard_normal((12, 40_000))
    weight = 1 - ema**12
    clamped = after(DebiasedAverage(ema, 1.0, "accumulator"), noise).mean() / weight
    unclamped = after(DebiasedAverage(ema, 1.0, "ema"), noise).mean() / weight
    np.testing.assert_allclose(clamped, 0.484, atol=0.03)
    assert abs(unclamped) < 0.04


@pytest.mark.parametrize("signal", [0.2, 1.0, 3.0])
def test_the_floor_stands_where_signal_equals_noise(signal: float) -> None:
    """After many terms the root is the signal where it is above the noise, else the noise."""
    noise = np.random.default_rng(1).standard_normal((400, 200))
    moment = NoiseAwareAverage(0.99, 1.0, "signal")
    root = moment.root(after(moment, signal + noise), 400).mean()
    np.testing.assert_allclose(root, max(signal, 1.0), rtol=0.08)


@pytest.mark.parametrize("count", [1, 3, 30])
def test_the_floor_of_certainty_is_the_deviation_of_the_debiased_average(count: int) -> None:
    noise = np.random.default_rng(2).standard_normal((count, 40_000)) * 0.3
    moment = NoiseAwareAverage(0.8, 0.09, "certainty")
    v = after(moment, noise)
    debiased = v / weight_sum(0.8, count) - 0.09
    floor = moment.root(np.zeros(1), count)[0] ** 2
    np.testing.assert_allclose(floor, debiased.std(), rtol=0.03)
    assert abs(debiased.mean()) < 5 * floor / 200
