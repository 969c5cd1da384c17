"""Every adaptive method with settings for tiny runs, and the checks that hold for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from accountants.sampling import Poisson
from dp2theory.optimizers import adagrad, adam, noise_aware, protocol, variants, yogi
from dp2theory.optimizers.dp2 import DelayedRmsProp
from dp2theory.optimizers.ledger import joint_noise_multiplier, planned_event
from dp2theory.optimizers.rmsprop import DpRmsProp, RmsProp
from dp2theory.optimizers.steps import Optimizer
from dp2theory.problems.protocol import Array
from tests.optimizers import literal_adaptive as literal
from tests.optimizers.checks import Counting, constant_problem, small_problem

Q, B = 0.1, 8.0  # of the small problem's 80 records
COMMON: dict[str, Any] = {"damping": 0.01, "ema": 0.6}
STEP: dict[str, Any] = {"learning_rate": 0.05}
PRIVATE: dict[str, Any] = {"clip_norm": 0.4, "noise_multiplier": 0.8}
PHASES: dict[str, Any] = {"learning_rate": 0.7, "adaptive_learning_rate": 0.02}
DP2: dict[str, Any] = {**PHASES, **PRIVATE, "preconditioned_clip_norm": 3.0}
MOMENTS: dict[str, Any] = {"gradient_ema": 0.7}
YOGI: dict[str, Any] = {**MOMENTS, "initial_second_moment": 1e-3}
KNOWN: dict[str, Any] = {"expected_batch_size": B}

Case = tuple[Callable[..., Optimizer], literal.Scale, dict[str, Any]]


def _damping_only(settings: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in settings.items() if k != "ema"}


EVERY_STEP: list[Case] = [
    (RmsProp, literal.rmsprop, {**COMMON, **STEP}),
    (DpRmsProp, literal.rmsprop, {**COMMON, **STEP, **PRIVATE}),
    (adagrad.AdaGrad, literal.adagrad, _damping_only({**COMMON, **STEP})),
    (adagrad.DpAdaGrad, literal.adagrad, _damping_only({**COMMON, **STEP, **PRIVATE})),
    (adam.Adam, literal.adam, {**COMMON, **STEP, **MOMENTS}),
    (adam.DpAdam, literal.adam, {**COMMON, **STEP, **PRIVATE, **MOMENTS}),
    (yogi.Yogi, literal.yogi, {**COMMON, **STEP, **YOGI}),
    (yogi.DpYogi, literal.yogi, {**COMMON, **STEP, **PRIVATE, **YOGI}),
    (
        noise_aware.DpRmsPropNoiseAware,
        literal.noise_aware,
        {**COMMON, **STEP, **PRIVATE, **KNOWN, "floor": "signal"},
    ),
    (
        noise_aware.DpRmsPropNoiseAware,
        literal.noise_aware,
        {**COMMON, **STEP, **PRIVATE, **KNOWN, "floor": "certainty", "noise_floor": 2.0},
    ),
]
DELAYED: list[Case] = [
    (DelayedRmsProp, literal.rmsprop, {**COMMON, **PHASES}),
    (adagrad.DelayedAdaGrad, literal.adagrad, _damping_only({**COMMON, **PHASES})),
    (adagrad.Dp2AdaGrad, literal.adagrad, _damping_only({**COMMON, **DP2})),
    (adam.DelayedAdam, literal.adam, {**COMMON, **PHASES, **MOMENTS}),
    (adam.Dp2Adam, literal.adam, {**COMMON, **DP2, **MOMENTS}),
    (yogi.DelayedYogi, literal.yogi, {**COMMON, **PHASES, **YOGI}),
    (yogi.Dp2Yogi, literal.yogi, {**COMMON, **DP2, **YOGI}),
    (
        variants.Dp2RmsPropDebiased,
        literal.debiased_accumulator,
        {**COMMON, **DP2, **KNOWN, "clamp": "accumulator"},
    ),
    (
        variants.Dp2RmsPropDebiased,
        literal.debiased_ema,
        {**COMMON, **DP2, **KNOWN, "clamp": "ema"},
    ),
    (
        noise_aware.Dp2RmsPropNoiseAware,
        literal.noise_aware,
        {**COMMON, **DP2, **KNOWN, "floor": "signal", "noise_floor": 0.7},
    ),
    (
        noise_aware.Dp2RmsPropNoiseAware,
        literal.noise_aware,
        {**COMMON, **DP2, **KNOWN, "floor": "certainty"},
    ),
]
NOISE_FIRST: dict[str, Any] = {**COMMON, **PHASES, **PRIVATE}
EXTRA_NOISE: dict[str, Any] = {**COMMON, **DP2, "delay": 3}
PHASE_LENGTHS: list[dict[str, int]] = [
    {"delay": 1},
    {"delay": 4},
    {"sgd_steps": 2, "adaptive_steps": 5},
    {"sgd_steps": 5, "adaptive_steps": 1},
]


def private_optimizers() -> list[Optimizer]:
    """One configuration of every private adaptive method, delay 3."""
    made = [make(**s) for make, _, s in EVERY_STEP] + [make(**s, delay=3) for make, _, s in DELAYED]
    made.append(variants.Dp2RmsPropNoiseFirst(**NOISE_FIRST, delay=3))
    made.append(variants.Dp2RmsPropExtraNoise(**EXTRA_NOISE))
    return [optimizer for optimizer in made if optimizer.noise_multiplier > 0]


def _final(optimizer: Optimizer, steps: int) -> Array:
    return protocol.run(
        optimizer, small_problem(), sampling=Poisson(Q), steps=steps, rng=5
    ).parameters


def check_every_step(make: Callable[..., Optimizer], scale: literal.Scale, s: Any) -> None:
    """Assert that a method without phases agrees with its plain loop."""
    for steps in (1, 2, 12):
        expected = literal.every_step(small_problem(), scale, s, q=Q, steps=steps, seed=5)
        np.testing.assert_allclose(_final(make(**s), steps), expected, rtol=1e-9, atol=1e-12)


def check_delayed(
    make: Callable[..., Optimizer],
    scale: literal.Scale,
    s: Any,
    phases: dict[str, int],
    *,
    noise_first: bool = False,
) -> None:
    """Assert that a method with phases agrees with its plain loop."""
    settings = {**s, **phases}
    for steps in (7, 19):
        expected = literal.delayed(
            small_problem(), scale, settings, q=Q, steps=steps, seed=5, noise_first=noise_first
        )
        np.testing.assert_allclose(_final(make(**settings), steps), expected, rtol=1e-9, atol=1e-12)


def check_extra_noise(make: Callable[..., Optimizer], delay: int) -> None:
    """Assert that ablation 1 agrees with its plain loop."""
    settings = {**EXTRA_NOISE, "delay": delay}
    for steps in (delay, delay + 1, 13):
        expected = literal.extra_noise(small_problem(), settings, q=Q, steps=steps, seed=5)
        np.testing.assert_allclose(_final(make(**settings), steps), expected, rtol=1e-9, atol=1e-12)


def check_executed_ledger(optimizer: Optimizer, releases_at: Callable[[int], int]) -> None:
    """Assert that step t makes `releases_at(t)` releases and that the ledger charges them all.

    Every release has the optimizer's noise multiplier; k of them on one batch are one with that
    multiplier over sqrt(k).
    """
    steps, sigma = 11, PRIVATE["noise_multiplier"]
    problem: Any = Counting(small_problem())
    seen: list[int] = []
    result = protocol.run(
        optimizer, problem, sampling=Poisson(Q), steps=steps, rng=3,
        on_release=lambda t, _: seen.append(t),
    )  # fmt: skip
    expected = [releases_at(t) for t in range(steps)]
    assert [seen.count(t) for t in range(steps)] == expected
    assert problem.queries == sum(expected)
    parts = getattr(result.ledger, "events", [result.ledger])
    charged = {part.event.event.noise_multiplier: part.count for part in parts}
    assert all(part.event.sampling_probability == Q for part in parts)
    assert charged == {
        joint_noise_multiplier([sigma] * k): expected.count(k) for k in set(expected)
    }
    assert result.ledger == planned_event(optimizer, Poisson(Q), 80, steps)


def check_two_independent_releases(make: Callable[..., Optimizer]) -> None:
    """Assert the noise law of ablation 1's two releases: std sigma C / b each, independent."""
    n, q, delay, settings = 40, 0.1, 2, {**EXTRA_NOISE, "delay": 2}
    settings |= {"learning_rate": 1e-12, "adaptive_learning_rate": 1e-12}
    kept: list[Array] = []
    protocol.run(
        make(**settings), constant_problem(n, 4_000, 0.0), sampling=Poisson(q), steps=12, rng=11,
        on_release=lambda _, released: kept.append(released.copy()),
    )  # fmt: skip
    assert len(kept) == delay + 2 * (12 - delay)
    plain, preconditioned = np.array(kept[delay::2]), np.array(kept[delay + 1 :: 2])
    sigma, b = settings["noise_multiplier"], q * n
    # 40,000 draws each: the standard error of a std is 0.35 %, of a correlation 0.5 %.
    np.testing.assert_allclose(b * plain.std(), sigma * settings["clip_norm"], rtol=0.02)
    np.testing.assert_allclose(
        b * preconditioned.std(), sigma * settings["preconditioned_clip_norm"], rtol=0.02
    )
    assert abs(np.corrcoef(plain.ravel(), preconditioned.ravel())[0, 1]) < 0.025
