"""SGD, RMSProp and their private forms, by hand on a quadratic with one record."""

from __future__ import annotations

import numpy as np
import pytest

from accountants.sampling import Poisson
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.rmsprop import DpRmsProp, RmsProp
from dp2theory.optimizers.sgd import DpSgd, Sgd
from dp2theory.optimizers.steps import Optimizer
from dp2theory.problems.convex import quadratic
from tests.optimizers.checks import constant_problem

EVERYBODY = Poisson(1.0)


def test_sgd_contracts_a_quadratic_at_the_known_rate() -> None:
    problem = quadratic(50, 4, 1.0, 0.25, 0)
    optimum = problem.centres.mean(axis=0)
    result = run(Sgd(0.5), problem, sampling=EVERYBODY, steps=30, rng=0)
    expected = optimum - (1 - 0.5 * problem.curvatures) ** 30 * optimum
    np.testing.assert_allclose(result.parameters, expected, rtol=1e-10)


def test_dp_sgd_clips_then_adds_noise() -> None:
    problem = constant_problem(4, 3, 10.0)  # gradient 10, clipped to 0.5
    result = run(DpSgd(0.1, 0.5, 2.0), problem, sampling=EVERYBODY, steps=1, rng=3)
    rng = np.random.Generator(np.random.SFC64(3))
    rng.binomial(4, 1.0)
    rng.choice(4, 4, replace=False, shuffle=False)
    noise = rng.standard_normal(3)
    expected = -0.1 * (np.array([4 * 0.5, 0, 0]) + 2.0 * 0.5 * noise) / 4
    np.testing.assert_allclose(result.parameters, expected, rtol=1e-12)


def test_rmsprop_steps_by_hand() -> None:
    problem = constant_problem(4, 1, 2.0)
    w, v = 0.0, 0.0
    for _ in range(3):
        g = w + 2.0
        v = 0.9 * v + 0.1 * g**2
        w -= 0.1 * g / (np.sqrt(v) + 0.3)
    result = run(RmsProp(0.1, damping=0.3), problem, sampling=EVERYBODY, steps=3, rng=0)
    np.testing.assert_allclose(result.parameters, [w], rtol=1e-12)


def test_dp_rmsprop_is_rmsprop_on_the_release() -> None:
    problem, kept = constant_problem(4, 3, 2.0), []
    optimizer = DpRmsProp(0.1, 0.5, 1.0, ema=0.8, damping=0.01)
    result = run(
        optimizer, problem, sampling=EVERYBODY, steps=4, rng=0,
        on_release=lambda _, g: kept.append(g),
    )  # fmt: skip
    w, v = np.zeros(3), np.zeros(3)
    for g in kept:
        v = 0.8 * v + 0.2 * g**2
        w -= 0.1 * g / (np.sqrt(v) + 0.01)
    np.testing.assert_allclose(result.parameters, w, rtol=1e-12)


def test_the_arithmetic_of_rmsprop_is_this_to_the_last_bit() -> None:
    for optimizer in (RmsProp(0.1, 0.8, 0.01), DpRmsProp(0.1, 1.0, 1.0, 0.8, 0.01)):
        rng = np.random.default_rng(4)
        w, state = np.ones(5), optimizer.initial_state(5)
        expected, v = np.ones(5), np.zeros(5)
        for _ in range(20):
            g = rng.standard_normal(5)
            v = 0.8 * v + (1 - 0.8) * g**2
            expected = expected - 0.1 * (g / (np.sqrt(v) + 0.01))
            w, state = optimizer.apply(w, state, g)
            np.testing.assert_array_equal(w, expected)


def test_rmsprop_at_a_zero_gradient_stays() -> None:
    result = run(RmsProp(0.1), constant_problem(4, 3, 0.0), sampling=EVERYBODY, steps=3, rng=0)
    np.testing.assert_array_equal(result.parameters, np.zeros(3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sgd(float("nan")), "learning_rate=nan must be"),
        (lambda: Sgd("1"), "learning_rate='1' must be"),
        (lambda: DpSgd(1.0, 0.0, 1.0), r"clip_norm=0\.0 must be"),
        (lambda: DpSgd(1.0, 1.0, -1.0), r"noise_multiplier=-1\.0 must be"),
        (lambda: RmsProp(0.1, ema=-0.1), r"ema=-0\.1 must be in \[0, 1\)"),
        (lambda: DpRmsProp(0.1, 1.0, float("inf")), "noise_multiplier=inf must be"),
        (lambda: DpRmsProp(0.1, 1.0, 1.0, damping=-1e-7), "damping=-1e-07 must be"),
    ],
)
def test_bad_settings(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("optimizer", [Sgd(1.0), RmsProp(0.1)])
def test_non_private_runs_say_so_in_the_ledger(optimizer: Optimizer) -> None:
    result = run(optimizer, constant_problem(4, 3, 1.0), sampling=EVERYBODY, steps=2, rng=0)
    assert result.ledger.event.event.noise_multiplier == 0
