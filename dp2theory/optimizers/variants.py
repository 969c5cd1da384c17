"""Variants of DP²-RMSProp: the two ablations of Li et al. (ICLR 2023), and debiased moments.

Ablation 1 asks whether learning the preconditioner on steps of its own is needed; ablation 2
whether it matters that gradients are preconditioned before noise. The debiased form takes the
known variance of the noise off the squared phase means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dp2theory.optimizers import defaults
from dp2theory.optimizers.accumulators import MovingAverage
from dp2theory.optimizers.adaptive import ClippedPhases, Delayed
from dp2theory.optimizers.phases import Phases, resolve_phases
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array
from dp2theory.problems.validation import whole_number

#: Least standard deviation of noise that is refused: squares of it, and of draws, overflow.
LARGEST_STD = 1e150


@dataclass(frozen=True)
class Dp2RmsPropExtraNoise(ClippedPhases):
    """Ablation 1: every step learns the preconditioner, and almost every step uses it.

    The first `delay` steps are DP-SGD. Every later step makes two releases on its batch: the
    plain noisy mean, which is only summed, and the mean of gradients divided by D, by which the
    parameters move. After every `delay` steps v <- ema v + (1 - ema) (sum / delay)^2 and
    D = sqrt(v) + damping are renewed, in force from the next step on.

    Attributes
    ----------
    learning_rate : float
        Of the first `delay` steps, > 0.
    clip_norm : float
        Of the plain releases, > 0.
    adaptive_learning_rate, preconditioned_clip_norm : float
        Of the steps that move by preconditioned gradients, both > 0.
    noise_multiplier : float
        Noise std on the sum over the clip norm, of each of the two releases, > 0.
    delay : int
        Steps between renewals.
    ema : float
        Weight of the old second moment, in [0, 1).
    damping : float
        Constant added to sqrt(v), > 0.

    Privacy
    -------
    After the first `delay` steps, two Gaussian releases on one batch: together one with
    multiplier noise_multiplier / sqrt(2). At equal privacy this needs nearly sqrt(2) times
    DP-SGD's noise multiplier; with DP-SGD's, it is less private than DP-SGD.
    """

    name: ClassVar[str] = "dp2-rmsprop-extra-noise"

    learning_rate: float
    clip_norm: float
    adaptive_learning_rate: float
    preconditioned_clip_norm: float
    noise_multiplier: float
    delay: int
    ema: float = 0.9
    damping: float = 1e-7

    @property
    def phases(self) -> Phases:
        """The window that is summed, twice: nothing alternates here."""
        return resolve_phases(whole_number("delay", self.delay), None, None)

    @property
    def second_moment(self) -> MovingAverage:
        """An average from 0 without bias correction."""
        return MovingAverage(self.ema)

    def query(self, state: OptimizerState) -> Query:
        """Return the plain query, and at stage 1 the preconditioned one on the same batch."""
        if state.stage == 0:
            return Query(self.clip_norm, self.noise_multiplier)
        return Query(
            self.preconditioned_clip_norm,
            self.noise_multiplier,
            state.arrays["preconditioner"],
            records="same-batch",
        )

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Sum the plain release; move by it at first, by the preconditioned one afterwards."""
        step = state.step
        if state.stage == 1:
            moved = parameters - self.adaptive_learning_rate * released
            return moved, self._completed(step, state.arrays)
        total = state.arrays["gradient_sum"] + released
        arrays = {**state.arrays, "gradient_sum": total}
        if step >= self.delay:
            return parameters, OptimizerState(step, arrays, stage=1)
        moved = parameters - self.learning_rate * released
        return moved, self._completed(step, arrays)

    def _completed(self, step: int, arrays: Mapping[str, Array]) -> OptimizerState:
        taken = step + 1
        if taken % self.delay == 0:
            arrays = self.renewed(arrays, self.delay, taken // self.delay)
        return OptimizerState(taken, arrays)


@dataclass(frozen=True)
class Dp2RmsPropNoiseFirst(Delayed):
    """Ablation 2: DP²-RMSProp whose adaptive steps divide by D after clipping and noise.

    Raw gradients are clipped and noised in all phases; in adaptive phases the noisy mean is
    divided by D, and its noise with it.

    Attributes
    ----------
    learning_rate, adaptive_learning_rate : float
        Of the SGD and of the adaptive phases, both > 0.
    clip_norm : float
        Of raw gradients, in all phases, > 0.
    noise_multiplier : float
        Noise std on the sum over the clip norm, > 0.
    delay : int, optional
        Length s of both kinds of phase; or give both of
    sgd_steps, adaptive_steps : int, optional
        the lengths separately.
    ema : float
        Weight of the old second moment, in [0, 1).
    damping : float
        Constant added to sqrt(v), > 0.

    Privacy
    -------
    One sampled Gaussian release per step, as DP-SGD.
    """

    name: ClassVar[str] = "dp2-rmsprop-noise-first"

    learning_rate: float
    clip_norm: float
    adaptive_learning_rate: float
    noise_multiplier: float
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    ema: float = 0.9
    damping: float = 1e-7

    @classmethod
    def default_settings(cls, given: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Return `given` with the missing; the adaptive learning rate is DP-RMSProp's."""
        rate = {"adaptive_learning_rate": defaults.MOVING_AVERAGE_RATE}
        return super().default_settings({**rate, **given}, steps)

    @property
    def second_moment(self) -> MovingAverage:
        """An average from 0 without bias correction."""
        return MovingAverage(self.ema)

    def query(self, state: OptimizerState) -> Query:
        """Return the plain clipped noisy query, the same in all phases."""
        return Query(self.clip_norm, self.noise_multiplier)

    def direction(self, state: OptimizerState, released: Array) -> Array:
        """Return the noisy mean over D."""
        return released / state.arrays["preconditioner"]


@dataclass(frozen=True)
class DebiasedAverage:
    """An average of squares less the variance of the noise in them, clamped at 0.

    Attributes
    ----------
    ema : float
        Weight of the old v, in [0, 1).
    noise_variance : float
        Known variance of the noise in each coordinate of each gradient, >= 0.
    clamp : {"accumulator", "ema"}
        Where negative values are cut: in each debiased square, or only in the average of them.
        A mean of cut squares is biased upwards, by noise_variance * 0.48 where there is no
        signal; the average is not, before its own cut.
    """

    ema: float
    noise_variance: float
    clamp: Literal["accumulator", "ema"]

    def initial(self, dimension: int) -> Array:
        """Return zeros."""
        return np.zeros(dimension)

    def updated(self, old: Array, gradient: Array) -> Array:
        """Return ema v + (1 - ema) (g^2 - noise variance), perhaps clamped inside."""
        square = gradient**2 - self.noise_variance
        if self.clamp == "accumulator":
            square = np.maximum(square, 0.0)
        return self.ema * old + (1 - self.ema) * square

    def root(self, moment: Array, updates: int) -> Array:
        """Return sqrt(max(v, 0))."""
        return np.sqrt(np.maximum(moment, 0.0))


@dataclass(frozen=True)
class Dp2RmsPropDebiased(ClippedPhases):
    """DP²-RMSProp whose v takes in (sum / s)^2 less its noise variance, clamped at 0.

    The mean of s releases carries noise of variance (noise_multiplier clip_norm / b)^2 / s in
    each coordinate, b the expected batch size. Coordinates without visible signal end at v = 0,
    hence D = damping, and take up most of the preconditioned clip norm; see
    `dp2theory.optimizers.noise_aware` for a floor.

    Attributes
    ----------
    learning_rate, clip_norm, adaptive_learning_rate, preconditioned_clip_norm, noise_multiplier
        As in `dp2theory.optimizers.dp2.Dp2RmsProp`, as are
    delay, sgd_steps, adaptive_steps, ema, damping
        these.
    expected_batch_size : float
        Public divisor b of the released sums, > 0.
    clamp : {"accumulator", "ema"}
        Whether each debiased square is clamped, or their average.

    Privacy
    -------
    One sampled Gaussian release per step, as DP-SGD; the noise variance is public.
    """

    name: ClassVar[str] = "dp2-rmsprop-debiased"

    learning_rate: float
    clip_norm: float
    adaptive_learning_rate: float
    preconditioned_clip_norm: float
    noise_multiplier: float
    expected_batch_size: float
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    ema: float = 0.9
    damping: float = 1e-7
    clamp: Literal["accumulator", "ema"] = "accumulator"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.clamp not in ("accumulator", "ema"):
            raise ValueError(f"clamp={self.clamp!r} must be accumulator or ema")
        _ = self.second_moment  # refuses a noise that cannot be squared

    @property
    def second_moment(self) -> DebiasedAverage:
        """The average of debiased squares."""
        variance = phase_mean_variance(
            self.noise_multiplier, self.clip_norm, self.expected_batch_size, self.phases
        )
        return DebiasedAverage(self.ema, variance, self.clamp)


def phase_mean_variance(
    noise_multiplier: float, clip_norm: float, expected_batch_size: float, phases: Phases
) -> float:
    """Return the noise variance per coordinate of the mean of an SGD phase's releases."""
    return noise_variance(noise_multiplier, clip_norm, expected_batch_size) / phases.sgd_steps


def noise_variance(noise_multiplier: float, clip_norm: float, expected_batch_size: float) -> float:
    """Return (noise_multiplier clip_norm / b)^2, or raise ValueError where that is no double."""
    std = noise_multiplier * clip_norm / expected_batch_size
    if not std < LARGEST_STD:
        raise ValueError(
            f"noise_multiplier={noise_multiplier!r} times clip_norm={clip_norm!r} over the batch "
            f"size must be less than {LARGEST_STD:g}: its square is computed with"
        )
    return std**2
