"""Adam (Kingma and Ba, ICLR 2015): plain, private, delayed, DP².

m <- gradient_ema m + (1 - gradient_ema) g and v <- ema v + (1 - ema) g^2 from zeros, both divided
by one minus their ema to the number of terms. In the delayed forms v takes in the squared mean
of each SGD phase, bias corrected by the number of phases; m averages the preconditioned
gradients of one adaptive phase, bias corrected by its steps. Inside a phase D is constant, so
that the average of g / D is Adam's m / D.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dp2theory.optimizers.accumulators import FirstMoment, MovingAverage
from dp2theory.optimizers.adaptive import (
    ClippedPhases,
    ClippedQueries,
    EveryStep,
    OpenPhases,
    OpenQueries,
)


class _Averages:
    gradient_ema: float
    ema: float

    @property
    def second_moment(self) -> MovingAverage:
        """The bias-corrected average of squares."""
        return MovingAverage(self.ema, bias_correction=True)

    @property
    def first_moment(self) -> FirstMoment:
        """The bias-corrected average of directions."""
        return FirstMoment(self.gradient_ema)


@dataclass(frozen=True)
class Adam(_Averages, OpenQueries, EveryStep):
    """w <- w - learning_rate m / (sqrt(v) + damping), m and v bias corrected; not private.

    Attributes
    ----------
    learning_rate : float
        Step size > 0.
    gradient_ema, ema : float
        Weights of the old m and of the old v, in [0, 1).
    damping : float
        Constant added to sqrt(v), > 0.
    """

    name: ClassVar[str] = "adam"

    learning_rate: float
    gradient_ema: float = 0.9
    ema: float = 0.999
    damping: float = 1e-7


@dataclass(frozen=True)
class DpAdam(_Averages, ClippedQueries, EveryStep):
    """Adam on the clipped noisy mean gradient: noise first, moments after.

    Attributes
    ----------
    learning_rate, clip_norm, noise_multiplier : float
        All > 0; the noise has std noise_multiplier * clip_norm on the sum.
    gradient_ema, ema : float
        Weights of the old m and of the old v, in [0, 1).
    damping : float
        Constant added to sqrt(v), > 0.

    Privacy
    -------
    One sampled Gaussian release per step, as DP-SGD; all moments come from released means.
    """

    name: ClassVar[str] = "dp-adam"

    learning_rate: float
    clip_norm: float
    noise_multiplier: float
    gradient_ema: float = 0.9
    ema: float = 0.999
    damping: float = 1e-7


@dataclass(frozen=True)
class DelayedAdam(_Averages, OpenPhases):
    """Adam whose v comes from the means of the SGD phases only; not private.

    Attributes
    ----------
    learning_rate, adaptive_learning_rate : float
        Of the SGD and of the adaptive phases, both > 0.
    delay : int, optional
        Length s of both kinds of phase; or give both of
    sgd_steps, adaptive_steps : int, optional
        the lengths separately.
    gradient_ema, ema : float
        Weights of the old m and of the old v, in [0, 1). v is renewed once per cycle, hence an
        `ema` that forgets sooner than the undelayed method's.
    damping : float
        Constant added to sqrt(v), > 0.
    """

    name: ClassVar[str] = "delayed-adam"

    learning_rate: float
    adaptive_learning_rate: float
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    gradient_ema: float = 0.9
    ema: float = 0.9
    damping: float = 1e-7


@dataclass(frozen=True)
class Dp2Adam(_Averages, ClippedPhases):
    """DP²-Adam: v from the SGD phases' noisy means, momentum inside adaptive phases.

    Attributes
    ----------
    learning_rate, clip_norm : float
        Of the SGD phases, both > 0.
    adaptive_learning_rate, preconditioned_clip_norm : float
        Of the adaptive phases, both > 0; the clip norm bounds ||g_i / D||.
    noise_multiplier : float
        Noise std on the sum over the clip norm of the phase, > 0.
    delay : int, optional
        Length s of both kinds of phase; or give both of
    sgd_steps, adaptive_steps : int, optional
        the lengths separately.
    gradient_ema, ema : float
        Weights of the old m and of the old v, in [0, 1). v is renewed once per cycle, hence an
        `ema` that forgets sooner than the undelayed method's.
    damping : float
        Constant added to sqrt(v), > 0.

    Privacy
    -------
    One sampled Gaussian release per step, as DP-SGD; all moments come from released means.
    """

    name: ClassVar[str] = "dp2-adam"

    learning_rate: float
    clip_norm: float
    adaptive_learning_rate: float
    preconditioned_clip_norm: float
    noise_multiplier: float
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    gradient_ema: float = 0.9
    ema: float = 0.9
    damping: float = 1e-7
