"""AdaGrad (Duchi, Hazan and Singer, JMLR 2011, diagonal form): plain, private, delayed, DP².

v <- v + g^2 from v = 0, so that steps shrink as gradients add up. In the delayed forms g is the
mean over an SGD phase: v <- v + mean^2 at its end (Li et al., ICLR 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dp2theory.optimizers import defaults
from dp2theory.optimizers.accumulators import RunningSum
from dp2theory.optimizers.adaptive import (
    ClippedPhases,
    ClippedQueries,
    EveryStep,
    OpenPhases,
    OpenQueries,
)


class _Sums:
    @property
    def second_moment(self) -> RunningSum:
        """The sum of squares."""
        return RunningSum()


@dataclass(frozen=True)
class AdaGrad(_Sums, OpenQueries, EveryStep):
    """v <- v + g^2, w <- w - learning_rate g / (sqrt(v) + damping); not private.

    Attributes
    ----------
    learning_rate : float
        Step size > 0.
    damping : float
        Constant added to sqrt(v), > 0.
    """

    name: ClassVar[str] = "adagrad"
    default_rate: ClassVar[float] = defaults.RUNNING_SUM_RATE

    learning_rate: float
    damping: float = 1e-7


@dataclass(frozen=True)
class DpAdaGrad(_Sums, ClippedQueries, EveryStep):
    """AdaGrad on the clipped noisy mean gradient: noise first, preconditioner after.

    Attributes
    ----------
    learning_rate, clip_norm, noise_multiplier : float
        All > 0; the noise has std noise_multiplier * clip_norm on the sum.
    damping : float
        Constant added to sqrt(v), > 0.

    Privacy
    -------
    One sampled Gaussian release per step, as DP-SGD; all moments come from released means.
    """

    name: ClassVar[str] = "dp-adagrad"
    default_rate: ClassVar[float] = defaults.RUNNING_SUM_RATE

    learning_rate: float
    clip_norm: float
    noise_multiplier: float
    damping: float = 1e-7


@dataclass(frozen=True)
class DelayedAdaGrad(_Sums, OpenPhases):
    """AdaGrad whose v grows by the squared mean of each SGD phase only; not private.

    Attributes
    ----------
    learning_rate, adaptive_learning_rate : float
        Of the SGD and of the adaptive phases, both > 0.
    delay : int, optional
        Length s of both kinds of phase; or give both of
    sgd_steps, adaptive_steps : int, optional
        the lengths separately.
    damping : float
        Constant added to sqrt(v), > 0.
    """

    name: ClassVar[str] = "delayed-adagrad"

    learning_rate: float
    adaptive_learning_rate: float
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    damping: float = 1e-7


@dataclass(frozen=True)
class Dp2AdaGrad(_Sums, ClippedPhases):
    """DP²-AdaGrad: v grows by the squared mean of each SGD phase's noisy releases.

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
    damping : float
        Constant added to sqrt(v), > 0.

    Privacy
    -------
    One sampled Gaussian release per step, as DP-SGD; all moments come from released means.
    """

    name: ClassVar[str] = "dp2-adagrad"

    learning_rate: float
    clip_norm: float
    adaptive_learning_rate: float
    preconditioned_clip_norm: float
    noise_multiplier: float
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    damping: float = 1e-7
