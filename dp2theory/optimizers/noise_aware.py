"""Preconditioners that know their own noise: debiased, bias corrected, with a derived floor.

Each square that v takes in is (signal + noise)^2 with noise of known variance nu: after k terms
V = v / (1 - ema^k) is a proper average of them, V - nu estimates the squared signal, and
(V - nu) / nu its signal-to-noise ratio. The floor stands where that ratio is 1, below which a
gradient is more noise than signal:

    D = sqrt(max(V - nu, noise_floor nu)) + damping, noise_floor = 1.

nu follows from the noise multiplier, the clip norm, the expected batch size and the length of the
phase, all public. Coordinates at the floor share one D: noise alone hardly tells them apart, also
when V has one term only, whose square is above 2 nu in one coordinate of six without signal. What
noise pushes above the floor moves less, never more. Without the two subtractions, D = sqrt(V), the
noise in V is itself a floor, a soft one at nu.

An extension: neither Li et al. (ICLR 2023) nor the works they compare with have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dp2theory.optimizers.accumulators import MovingAverage
from dp2theory.optimizers.adaptive import ClippedPhases, ClippedQueries, EveryStep
from dp2theory.optimizers.variants import phase_mean_variance
from dp2theory.problems.protocol import Array


@dataclass(frozen=True)
class NoiseAwareAverage:
    """The average V of squares, less its noise, not below a multiple of the noise.

    Attributes
    ----------
    ema : float
        Weight of the old v, in [0, 1).
    noise_variance : float
        Variance nu of the noise in each coordinate of each gradient, >= 0.
    noise_floor : float
        Least squared root over nu, > 0.
    """

    ema: float
    noise_variance: float
    noise_floor: float = 1.0

    def initial(self, dimension: int) -> Array:
        """Return zeros."""
        return self._average.initial(dimension)

    def updated(self, old: Array, gradient: Array) -> Array:
        """Return ema v + (1 - ema) g^2."""
        return self._average.updated(old, gradient)

    def root(self, moment: Array, updates: int) -> Array:
        """Return sqrt(max(V - nu, noise_floor nu))."""
        squares = self._average.root(moment, updates) ** 2
        floor = self.noise_floor * self.noise_variance
        return np.sqrt(np.maximum(squares - self.noise_variance, floor))

    @property
    def _average(self) -> MovingAverage:
        return MovingAverage(self.ema, bias_correction=True)


@dataclass(frozen=True)
class DpRmsPropNoiseAware(ClippedQueries, EveryStep):
    """DP-RMSProp with the preconditioner above; nu = (noise_multiplier clip_norm / b)^2.

    Attributes
    ----------
    learning_rate, clip_norm, noise_multiplier : float
        All > 0.
    expected_batch_size : float
        Public divisor b of the released sums, > 0.
    ema : float
        Weight of the old second moment, in [0, 1).
    damping : float
        Constant added to the root, > 0.
    noise_floor : float
        Floor of the debiased average over nu, > 0; 1 is where signal and noise are equal.

    Privacy
    -------
    One sampled Gaussian release per step, as DP-SGD; the noise variance is public.
    """

    name: ClassVar[str] = "dp-rmsprop-noise-aware"

    learning_rate: float
    clip_norm: float
    noise_multiplier: float
    expected_batch_size: float
    ema: float = 0.9
    damping: float = 1e-7
    noise_floor: float = 1.0

    @property
    def second_moment(self) -> NoiseAwareAverage:
        """The debiased average with its floor."""
        variance = (self.noise_multiplier * self.clip_norm / self.expected_batch_size) ** 2
        return NoiseAwareAverage(self.ema, variance, self.noise_floor)


@dataclass(frozen=True)
class Dp2RmsPropNoiseAware(ClippedPhases):
    """DP²-RMSProp with the preconditioner above; nu is that of the mean of an SGD phase.

    nu = (noise_multiplier clip_norm / b)^2 / s for phases of s steps.

    Attributes
    ----------
    learning_rate, clip_norm, adaptive_learning_rate, preconditioned_clip_norm, noise_multiplier
        As in `dp2theory.optimizers.dp2.Dp2RmsProp`, as are
    delay, sgd_steps, adaptive_steps, ema, damping
        these.
    expected_batch_size : float
        Public divisor b of the released sums, > 0.
    noise_floor : float
        Floor of the debiased average over nu, > 0; 1 is where signal and noise are equal.

    Privacy
    -------
    One sampled Gaussian release per step, as DP-SGD; the noise variance is public.
    """

    name: ClassVar[str] = "dp2-rmsprop-noise-aware"

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
    noise_floor: float = 1.0

    @property
    def second_moment(self) -> NoiseAwareAverage:
        """The debiased average with its floor."""
        variance = phase_mean_variance(
            self.noise_multiplier, self.clip_norm, self.expected_batch_size, self.phases
        )
        return NoiseAwareAverage(self.ema, variance, self.noise_floor)
