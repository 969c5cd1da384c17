"""RMSProp (Tieleman and Hinton, 2012), and DP-RMSProp: the same update on the noisy gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dp2theory.optimizers.accumulators import MovingAverage
from dp2theory.optimizers.adaptive import ClippedQueries, EveryStep, OpenQueries


@dataclass(frozen=True)
class RmsProp(OpenQueries, EveryStep):
    """v <- ema v + (1 - ema) g^2, w <- w - learning_rate g / (sqrt(v) + damping); not private.

    Attributes
    ----------
    learning_rate : float
        Step size > 0.
    ema : float
        Weight of the old second moment, in [0, 1). v starts at 0, without bias correction.
    damping : float
        Constant added to sqrt(v), > 0.
    """

    name: ClassVar[str] = "rmsprop"

    learning_rate: float
    ema: float = 0.9
    damping: float = 1e-7

    @property
    def second_moment(self) -> MovingAverage:
        """An average from 0 without bias correction."""
        return MovingAverage(self.ema)


@dataclass(frozen=True)
class DpRmsProp(ClippedQueries, EveryStep):
    """RMSProp on the clipped noisy mean gradient: noise first, preconditioner after.

    Attributes
    ----------
    learning_rate, clip_norm, noise_multiplier : float
        All > 0.
    ema, damping : float
        As in `RmsProp`.

    Privacy
    -------
    One sampled Gaussian release per step, as DP-SGD.
    """

    name: ClassVar[str] = "dp-rmsprop"

    learning_rate: float
    clip_norm: float
    noise_multiplier: float
    ema: float = 0.9
    damping: float = 1e-7

    @property
    def second_moment(self) -> MovingAverage:
        """An average from 0 without bias correction."""
        return MovingAverage(self.ema)
