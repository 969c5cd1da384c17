"""AdaGrad, Adam, Yogi, the ablations and the noise-aware forms against plain loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from dp2theory.optimizers import adagrad, adam, noise_aware, variants, yogi
from dp2theory.optimizers.steps import Optimizer
from tests.optimizers import adaptive_cases as cases
from tests.optimizers import literal_adaptive as literal
from tests.optimizers.checks import check_state_comes_from_releases

KINDS = [type(optimizer) for optimizer in cases.private_optimizers()]


def _name(value: object) -> str | None:
    return getattr(value, "name", None) or getattr(value, "__name__", None)


@pytest.mark.parametrize(("make", "scale", "settings"), cases.EVERY_STEP, ids=_name)
def test_every_step_matches_the_plain_loop(
    make: Callable[..., Optimizer], scale: literal.Scale, settings: dict[str, Any]
) -> None:
    cases.check_every_step(make, scale, settings)


@pytest.mark.parametrize("phases", cases.PHASE_LENGTHS, ids=str)
@pytest.mark.parametrize(("make", "scale", "settings"), cases.DELAYED, ids=_name)
def test_delayed_matches_the_plain_loop(
    make: Callable[..., Optimizer],
    scale: literal.Scale,
    settings: dict[str, Any],
    phases: dict[str, int],
) -> None:
    cases.check_delayed(make, scale, settings, phases)


@pytest.mark.parametrize("phases", cases.PHASE_LENGTHS, ids=str)
def test_ablation_2_divides_after_noise(phases: dict[str, int]) -> None:
    cases.check_delayed(
        variants.Dp2RmsPropNoiseFirst,
        literal.rmsprop,
        cases.NOISE_FIRST,
        phases,
        noise_first=True,
    )


@pytest.mark.parametrize("delay", [1, 3, 5])
def test_ablation_1_learns_and_moves_at_every_step(delay: int) -> None:
    cases.check_extra_noise(variants.Dp2RmsPropExtraNoise, delay)


@pytest.mark.parametrize("optimizer", cases.private_optimizers(), ids=_name)
def test_state_uses_released_quantities_only(optimizer: Optimizer) -> None:
    check_state_comes_from_releases(lambda _: optimizer)


@pytest.mark.parametrize("optimizer", cases.private_optimizers(), ids=_name)
def test_the_ledger_charges_every_release(optimizer: Optimizer) -> None:
    two = isinstance(optimizer, variants.Dp2RmsPropExtraNoise)
    cases.check_executed_ledger(optimizer, lambda t: 2 if two and t >= 3 else 1)


def test_ablation_1_noises_both_releases() -> None:
    cases.check_two_independent_releases(variants.Dp2RmsPropExtraNoise)


@pytest.mark.parametrize("kind", KINDS, ids=_name)
def test_defaults_fill_what_is_not_given(kind: Any) -> None:
    names = {field.name for field in fields(kind)}
    known = {
        k: v for k, v in (("noise_multiplier", 1.0), ("expected_batch_size", 8.0)) if k in names
    }
    made = kind(**kind.default_settings({}, 400), **known)
    assert getattr(made, "clip_norm", 1.0) == 1.0
    if "delay" in names:
        assert made.delay == 10
        assert kind(**kind.default_settings({"delay": 7}, 400), **known).delay == 7
        # Four times the clip norm at equal effective steps is a quarter of the learning rate.
        other = kind(**kind.default_settings({"clip_norm": 4.0}, 400), **known)
        np.testing.assert_allclose(4 * other.learning_rate, made.learning_rate)
    assert kind(**kind.default_settings({"damping": 0.5}, 400), **known).damping == 0.5


@pytest.mark.parametrize("steps", [1, 2, 39])
def test_defaults_have_a_delay_in_the_shortest_runs(steps: int) -> None:
    assert adam.Dp2Adam.default_settings({}, steps)["delay"] == 1


@pytest.mark.parametrize(
    ("optimizer", "change", "message"),
    [
        (adagrad.AdaGrad(0.1), {"learning_rate": 0.0}, r"learning_rate=0\.0 must be"),
        (adam.Adam(0.1), {"gradient_ema": 1.0}, r"gradient_ema=1\.0 must be in \[0, 1\)"),
        (adam.DpAdam(0.1, 1.0, 1.0), {"ema": float("nan")}, "ema=nan must be"),
        (adam.DpAdam(0.1, 1.0, 1.0), {"noise_multiplier": 0.0}, r"noise_multiplier=0\.0 must be"),
        (yogi.Yogi(0.1), {"initial_second_moment": 0.0}, r"initial_second_moment=0\.0 must be"),
        (adagrad.DelayedAdaGrad(0.1, 0.1, 3), {"sgd_steps": 2}, "delay=3 excludes sgd_steps=2"),
        (
            variants.Dp2RmsPropExtraNoise(**cases.EXTRA_NOISE),
            {"delay": 0},
            "delay=0 must be an integer >= 1",
        ),
        (
            variants.Dp2RmsPropExtraNoise(**cases.EXTRA_NOISE),
            {"delay": None},
            "delay=None must be an integer >= 1",
        ),
        (
            variants.Dp2RmsPropDebiased(**cases.DP2, **cases.KNOWN, delay=2),
            {"clamp": "none"},
            "clamp='none' must be accumulator or ema",
        ),
        (
            noise_aware.Dp2RmsPropNoiseAware(**cases.DP2, **cases.KNOWN, delay=2),
            {"expected_batch_size": -1.0},
            r"expected_batch_size=-1\.0 must be",
        ),
        (
            noise_aware.DpRmsPropNoiseAware(0.1, 1.0, 1.0, 8.0),
            {"noise_floor": 0.0},
            r"noise_floor=0\.0 must be",
        ),
        (
            noise_aware.DpRmsPropNoiseAware(0.1, 1.0, 1.0, 8.0),
            {"floor": "none"},
            "floor='none' must be signal or certainty",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else _name(value),
)
def test_bad_settings(optimizer: Any, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(optimizer, **change)
