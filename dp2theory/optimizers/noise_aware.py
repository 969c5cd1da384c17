"""Preconditioners that know their own noise: debiased, bias corrected, with a derived floor.

Each square that v takes in is (signal + noise)^2 with noise of known variance nu: after k terms
V = v / (1 - ema^k) is a proper average of them, and V - nu estimates the squared signal. Where
there is no signal its standard deviation is nu sqrt(2 / k_e), since a square of a normal has
variance 2 nu^2 and an average with weights w_i has sum w_i^2 / (sum w_i)^2 = 1 / k_e times it.
What lies below `noise_floor` such deviations is not known from zero. Hence

    D = sqrt(max(V - nu, noise_floor nu sqrt(2 / k_e))) + damping.

The floor follows from the noise multiplier, the clip norm, the expected batch size and the number
of terms, all public. It falls as terms come in: from 1.41 nu after one to 0.32 nu in the end at
ema 0.9. Coordinates under it share one D, so that noise alone no longer tells them apart.
An extension: neither Li et al. (ICLR 2023) nor others have it in this form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dp2theory.optimizers.accumulators import MovingAverage, effective_terms
from dp2theory.optimizers.adaptive import ClippedPhases, ClippedQueries, EveryStep
from dp2theory.optimizers.variants import phase_mean_variance
from dp2theory.problems.protocol import Array


@dataclass(frozen=True)
class NoiseAwareAverage:
    """The average V of squares, less its noise, not below its own uncertainty.

    Attributes
    ----------
    ema : float
        Weight of the old v, in [0, 1).
    noise_variance : float
        Variance nu of the noise in each coordinate of each gradient, >= 0.
    noise_floor : float
        Least root squared, in standard deviations of V - nu without signal, > 0.
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
        """Return sqrt(max(V - nu, floor))."""
        squares = self._average.root(moment, updates) ** 2
        return np.sqrt(np.maximum(squares - self.noise_variance, self.floor(updates)))

    def floor(self, updates: int) -> float:
        """Return noise_floor nu sqrt(2 / k_e) after `updates` terms."""
        terms = effective_terms(self.ema, updates)
        return self.noise_floor * self.noise_variance * math.sqrt(2 / terms)

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
        Weight of the old second moment, in [0, 1). Closer to 1 it lets smaller signals be seen:
        the floor is nu sqrt(2 (1 - ema) / (1 + ema)) in the end.
    damping : float
        Constant added to the root, > 0.
    noise_floor : float
        Floor in standard deviations of the debiased average, > 0; 1 is the derivation's.

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
        Floor in standard deviations of the debiased average, > 0; 1 is the derivation's.

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
