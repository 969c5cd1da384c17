"""Preconditioners that know their own noise: debiased, bias corrected, with a derived floor.

Each square that v takes in is (signal + noise)^2 with noise of known variance nu. After k terms
V = v / (1 - ema^k) is a proper average of them, whatever v started at, and V - nu estimates the
squared signal:

    D = sqrt(max(V - nu, noise_floor F)) + damping.

Two floors F follow from what is known, and both are offered:

- "signal": F = nu, where the signal-to-noise ratio (V - nu) / nu is 1. Below it a gradient is
  more noise than signal. What noise pushes above it moves less, never more.
- "certainty": F = nu sqrt(2 / k_e), the standard deviation of V - nu without signal, since the
  square of a normal has variance 2 nu^2 and weights w_i average k_e = (sum w)^2 / sum w^2 terms.
  Below it a signal cannot be told from none. It falls as terms come in, to 0.32 nu at ema 0.9
  and 0.03 nu at 0.999.

nu follows from the noise multiplier, the clip norm, the expected batch size and the length of
the phase, all public. Without the subtraction, D = sqrt(V), the noise in V is itself a floor, a
soft one at nu: DP² has this much by nature.

An extension: neither Li et al. (ICLR 2023) nor the works they compare with have it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from dp2theory.optimizers.accumulators import MovingAverage, effective_terms
from dp2theory.optimizers.adaptive import ClippedPhases, ClippedQueries, EveryStep
from dp2theory.optimizers.variants import noise_variance, phase_mean_variance
from dp2theory.problems.protocol import Array

#: Where the second moment is cut off from below; the module says what both mean.
Floor: TypeAlias = Literal["signal", "certainty"]


@dataclass(frozen=True)
class NoiseAwareAverage:
    """The average V of squares, less its noise, not below a floor.

    Attributes
    ----------
    ema : float
        Weight of the old v, in [0, 1).
    noise_variance : float
        Variance nu of the noise in each coordinate of each gradient, >= 0.
    floor : {"signal", "certainty"}
        Which F.
    noise_floor : float
        Least squared root over F, > 0.
    """

    ema: float
    noise_variance: float
    floor: Floor
    noise_floor: float = 1.0

    def initial(self, dimension: int) -> Array:
        """Return zeros."""
        return self._average.initial(dimension)

    def updated(self, old: Array, gradient: Array) -> Array:
        """Return ema v + (1 - ema) g^2."""
        return self._average.updated(old, gradient)

    def root(self, moment: Array, updates: int) -> Array:
        """Return sqrt(max(V - nu, noise_floor F))."""
        squares = self._average.root(moment, updates) ** 2
        least = self.noise_floor * self.noise_variance
        if self.floor == "certainty":
            least *= math.sqrt(2 / effective_terms(self.ema, updates))
        return np.sqrt(np.maximum(squares - self.noise_variance, least))

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
        Weight of the old second moment, in [0, 1). The mean of one batch is mostly noise, and
        the floor of certainty falls only as far as many of them average it out; hence 0.999.
    damping : float
        Constant added to the root, > 0.
    floor : {"signal", "certainty"}
        Which floor.
    noise_floor : float
        Floor in units of the one derived, > 0.

    Privacy
    -------
    One sampled Gaussian release per step, as DP-SGD; the noise variance is public.
    """

    name: ClassVar[str] = "dp-rmsprop-noise-aware"

    learning_rate: float
    clip_norm: float
    noise_multiplier: float
    expected_batch_size: float
    ema: float = 0.999
    damping: float = 1e-7
    floor: Floor = "certainty"
    noise_floor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_floor(self.floor)
        _ = self.second_moment  # refuses a noise that cannot be squared

    @property
    def second_moment(self) -> NoiseAwareAverage:
        """The debiased average with its floor."""
        variance = noise_variance(self.noise_multiplier, self.clip_norm, self.expected_batch_size)
        return NoiseAwareAverage(self.ema, variance, self.floor, self.noise_floor)


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
    floor : {"signal", "certainty"}
        Which floor.
    noise_floor : float
        Floor in units of the one derived, > 0.

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
    floor: Floor = "signal"
    noise_floor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_floor(self.floor)
        _ = self.second_moment  # refuses a noise that cannot be squared

    @property
    def second_moment(self) -> NoiseAwareAverage:
        """The debiased average with its floor."""
        variance = phase_mean_variance(
            self.noise_multiplier, self.clip_norm, self.expected_batch_size, self.phases
        )
        return NoiseAwareAverage(self.ema, variance, self.floor, self.noise_floor)


def _check_floor(floor: str) -> None:
    if floor not in ("signal", "certainty"):
        raise ValueError(f"floor={floor!r} must be signal or certainty")
