"""DP²-RMSProp and its non-private twin against a plain loop; the rules of its state."""

from __future__ import annotations

import numpy as np
import pytest

from accountants.sampling import Poisson
from dp2theory.optimizers.dp2 import DelayedRmsProp, Dp2RmsProp, Phases
from dp2theory.optimizers.protocol import run
from tests.optimizers.checks import (
    SETTINGS,
    check_constant_inside_phases,
    check_matches_literal_dp2,
    check_state_comes_from_releases,
    small_problem,
)


@pytest.mark.parametrize(
    "phases",
    [
        {"delay": 1},
        {"delay": 4},
        {"sgd_steps": 2, "adaptive_steps": 5},
        {"sgd_steps": 5, "adaptive_steps": 1},
    ],
    ids=str,
)
def test_matches_the_plain_loop(phases: dict[str, int]) -> None:
    check_matches_literal_dp2(Dp2RmsProp, **phases)


def test_state_is_constant_inside_phases_and_renewed_from_the_phase_mean() -> None:
    check_constant_inside_phases(Dp2RmsProp)


def test_state_uses_released_quantities_only() -> None:
    check_state_comes_from_releases(lambda _: Dp2RmsProp(**SETTINGS, delay=3))


def test_the_arithmetic_is_this_to_the_last_bit() -> None:
    """Seeds reproduce runs of earlier versions; another order of operations would not."""
    optimizer = Dp2RmsProp(**SETTINGS, sgd_steps=3, adaptive_steps=2)
    rng = np.random.default_rng(4)
    w, state = np.ones(5), optimizer.initial_state(5)
    expected, v, total, divisor = np.ones(5), np.zeros(5), np.zeros(5), np.full(5, 0.01)
    for t in range(25):
        query, released = optimizer.query(state), rng.standard_normal(5)
        if t % 5 < 3:
            assert query.preconditioner is None
            expected = expected - 0.7 * released
            total = total + released
        else:
            np.testing.assert_array_equal(query.preconditioner, divisor)
            expected = expected - 0.02 * released
        if t % 5 == 2:
            v = 0.6 * v + (1 - 0.6) * (total / 3) ** 2
            divisor, total = np.sqrt(v) + 0.01, np.zeros(5)
        w, state = optimizer.apply(w, state, released)
        np.testing.assert_array_equal(w, expected)
        np.testing.assert_array_equal(state.arrays["second_moment"], v)


def test_phases_count_from_zero() -> None:
    phases = Phases(3, 2)
    assert [phases.is_sgd(t) for t in range(7)] == [True, True, True, False, False, True, True]
    assert [t for t in range(12) if phases.ends_sgd(t)] == [2, 7]


def test_delayed_rmsprop_is_dp2_without_clipping_and_noise() -> None:
    """With a vanishing noise and huge clip norms DP² becomes the non-private twin."""
    problem, sampling = small_problem(), Poisson(0.2)
    twin = DelayedRmsProp(0.7, 0.02, delay=3, ema=0.6, damping=0.01)
    private = Dp2RmsProp(0.7, 1e3, 0.02, 1e3, 1e-15, delay=3, ema=0.6, damping=0.01)
    rng = np.random.default_rng(0)
    batches = [rng.choice(80, 16, replace=False) for _ in range(14)]

    def final(optimizer: DelayedRmsProp | Dp2RmsProp) -> np.ndarray:
        w, state = np.zeros(problem.dimension), optimizer.initial_state(problem.dimension)
        for batch in batches:
            query = optimizer.query(state)
            total = problem.clipped_gradient_sum(
                w, batch, clip_norm=query.clip_norm, preconditioner=query.preconditioner
            )
            w, state = optimizer.apply(w, state, total / 16)
        return w

    np.testing.assert_allclose(final(twin), final(private), rtol=1e-10)
    assert (
        run(twin, problem, sampling=sampling, steps=6, rng=0).ledger.event.event.noise_multiplier
        == 0
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rate": 0.0}, r"learning_rate=0\.0 must be a finite number > 0"),
        ({"clip_norm": float("inf")}, "clip_norm=inf must be a finite number > 0"),
        ({"adaptive_learning_rate": float("nan")}, "adaptive_learning_rate=nan must be"),
        ({"preconditioned_clip_norm": -1.0}, r"preconditioned_clip_norm=-1\.0 must be"),
        ({"noise_multiplier": 0.0}, r"noise_multiplier=0\.0 must be a finite number > 0"),
        ({"noise_multiplier": True}, "noise_multiplier=True must be"),
        ({"damping": 0.0}, r"damping=0\.0 must be"),
        ({"ema": 1.0}, r"ema=1\.0 must be in \[0, 1\)"),
        ({"ema": float("nan")}, r"ema=nan must be in \[0, 1\)"),
        ({"delay": 0}, "delay=0 must be an integer >= 1"),
        ({"delay": 2.5}, r"delay=2\.5 must be an integer >= 1"),
        ({"sgd_steps": 3}, "delay=4 excludes sgd_steps=3"),
        ({"delay": None}, "give delay, or both lengths"),
        ({"delay": None, "sgd_steps": 3}, "give delay, or both lengths"),
        ({"delay": None, "sgd_steps": 3, "adaptive_steps": 0}, "adaptive_steps=0 must be"),
    ],
)
def test_bad_settings(change: dict[str, object], message: str) -> None:
    good: dict[str, object] = {**SETTINGS, "delay": 4}
    with pytest.raises(ValueError, match=message):
        Dp2RmsProp(**(good | change))  # type: ignore[arg-type]
