"""Tuning grids of the adaptive methods, at most 19 configurations each.

The delayed ones use DP²'s settings (`dp2theory.optimizers.grid_context`). The others divide by a
root of second moments after clipping and noise, so that their steps do not scale with the clip
norm and are searched over a fixed range: {0.003, 0.01, 0.03, 0.1, 0.3} for averages of squares,
ten times that for sums of squares, which shrink the steps as they grow.
"""

from __future__ import annotations

from typing import Any

from dp2theory.optimizers.adagrad import Dp2AdaGrad, DpAdaGrad
from dp2theory.optimizers.adam import Dp2Adam, DpAdam
from dp2theory.optimizers.grid_context import DP2_SGD_FACTORS, Grid, GridContext, dp2_settings
from dp2theory.optimizers.noise_aware import Dp2RmsPropNoiseAware, DpRmsPropNoiseAware
from dp2theory.optimizers.steps import Optimizer
from dp2theory.optimizers.variants import (
    Dp2RmsPropDebiased,
    Dp2RmsPropExtraNoise,
    Dp2RmsPropNoiseFirst,
)
from dp2theory.optimizers.yogi import Dp2Yogi, DpYogi

#: Learning rates at the clip norm of the tuned DP-SGD, for moving averages of squares.
MOVING_AVERAGE_RATES = (0.003, 0.01, 0.03, 0.1, 0.3)
#: Learning rates at the clip norm of the tuned DP-SGD, for sums of squares, which grow.
RUNNING_SUM_RATES = (0.03, 0.1, 0.3, 1.0, 3.0)
#: Learning rates of the adaptive phases, in the ablation that adds noise first.
NOISE_FIRST_RATES = (0.0003, 0.001, 0.003, 0.01, 0.03)


def dp_adagrad_grid(context: GridContext) -> list[Optimizer]:
    """Return learning rates at the clip norm of the tuned DP-SGD."""
    return [DpAdaGrad(**_every_step(context, rate)) for rate in RUNNING_SUM_RATES]


def dp_adam_grid(context: GridContext) -> list[Optimizer]:
    """Return learning rates at the clip norm of the tuned DP-SGD."""
    return [DpAdam(**_every_step(context, rate)) for rate in MOVING_AVERAGE_RATES]


def dp_yogi_grid(context: GridContext) -> list[Optimizer]:
    """Return learning rates at the clip norm of the tuned DP-SGD."""
    return [DpYogi(**_every_step(context, rate)) for rate in MOVING_AVERAGE_RATES]


def dp_rmsprop_noise_aware_grid(context: GridContext) -> list[Optimizer]:
    """Return learning rates times ema in {0.99, 0.999}, the clip norm of the tuned DP-SGD."""
    batch = expected_batch_size(context)
    return [
        DpRmsPropNoiseAware(**_every_step(context, rate), expected_batch_size=batch, ema=ema)
        for ema in (0.99, 0.999)
        for rate in MOVING_AVERAGE_RATES
    ]


def dp2_adagrad_grid(context: GridContext) -> list[Optimizer]:
    """Return DP²'s settings."""
    return [Dp2AdaGrad(**settings) for settings in dp2_settings(context)]


def dp2_adam_grid(context: GridContext) -> list[Optimizer]:
    """Return DP²'s settings."""
    return [Dp2Adam(**settings) for settings in dp2_settings(context)]


def dp2_yogi_grid(context: GridContext) -> list[Optimizer]:
    """Return DP²'s settings."""
    return [Dp2Yogi(**settings) for settings in dp2_settings(context)]


def extra_noise_grid(context: GridContext) -> list[Optimizer]:
    """Return DP²'s settings for ablation 1; phases of two lengths are a ValueError."""
    if "delay" not in context.phase_settings:
        raise ValueError(
            f"phases={context.phases!r}: {Dp2RmsPropExtraNoise.name} has one delay, both phase "
            "lengths must be equal"
        )
    return [Dp2RmsPropExtraNoise(**settings) for settings in dp2_settings(context)]


def noise_first_grid(context: GridContext) -> list[Optimizer]:
    """Return DP²'s SGD phases times learning rates of steps that divide after noise."""
    base = context.tuned_base
    return [
        Dp2RmsPropNoiseFirst(
            learning_rate=factor * base.learning_rate,
            clip_norm=base.clip_norm,
            adaptive_learning_rate=rate,
            noise_multiplier=context.noise_multiplier,
            **context.phase_settings,
        )
        for factor in DP2_SGD_FACTORS
        for rate in NOISE_FIRST_RATES
    ]


def debiased_grid(context: GridContext) -> list[Optimizer]:
    """Return DP²'s settings with debiased moments; `clamp` as fixed before the search."""
    fixed = {name: context.settings[name] for name in ("clamp",) if name in context.settings}
    batch = expected_batch_size(context)
    return [
        Dp2RmsPropDebiased(**settings, **fixed, expected_batch_size=batch)
        for settings in dp2_settings(context)
    ]


def dp2_noise_aware_grid(context: GridContext) -> list[Optimizer]:
    """Return DP²'s settings with the preconditioner that knows its noise."""
    batch = expected_batch_size(context)
    return [
        Dp2RmsPropNoiseAware(**settings, expected_batch_size=batch)
        for settings in dp2_settings(context)
    ]


def expected_batch_size(context: GridContext) -> float:
    """Return the public divisor of the sums, or raise ValueError where it is not known."""
    if context.expected_batch_size is None:
        raise ValueError("expected_batch_size=None: this grid reckons with the noise of a mean")
    return context.expected_batch_size


def _every_step(context: GridContext, rate: float) -> dict[str, Any]:
    return {
        "learning_rate": rate,
        "clip_norm": context.tuned_base.clip_norm,
        "noise_multiplier": context.noise_multiplier,
    }


#: The grid of each method here.
ADAPTIVE_GRIDS: dict[str, Grid] = {
    "dp-adagrad": dp_adagrad_grid,
    "dp-adam": dp_adam_grid,
    "dp-yogi": dp_yogi_grid,
    "dp-rmsprop-noise-aware": dp_rmsprop_noise_aware_grid,
    "dp2-adagrad": dp2_adagrad_grid,
    "dp2-adam": dp2_adam_grid,
    "dp2-yogi": dp2_yogi_grid,
    "dp2-rmsprop-extra-noise": extra_noise_grid,
    "dp2-rmsprop-noise-first": noise_first_grid,
    "dp2-rmsprop-debiased": debiased_grid,
    "dp2-rmsprop-noise-aware": dp2_noise_aware_grid,
}
