"""Delayed preconditioning: DP²-RMSProp (Li et al., ICLR 2023) and its non-private twin.

Phases alternate. In even phases the optimizer takes SGD steps and sums the released noisy
mean gradients; at the last of these steps v <- ema * v + (1 - ema) * (sum / length)^2, from
v = 0 without bias correction, and the sum starts anew. In odd phases D = sqrt(v) + damping
stays fixed, and each gradient is divided by D *before* clipping and noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dp2theory.optimizers.accumulators import MovingAverage
from dp2theory.optimizers.adaptive import ClippedPhases, OpenPhases
from dp2theory.optimizers.phases import Phases as Phases
from dp2theory.optimizers.phases import resolve_phases as resolve_phases


@dataclass(frozen=True)
class Dp2RmsProp(ClippedPhases):
    """DP²-RMSProp with a learning rate and a clip norm of its own in each kind of phase.

    Attributes
    ----------
    learning_rate, clip_norm : float
        Of the SGD phases, both > 0.
    adaptive_learning_rate, preconditioned_clip_norm : float
        Of the adaptive phases, both > 0; the clip norm bounds ||g_i / D||.
    noise_multiplier : float
        Noise std on the sum over the clip norm of the phase, > 0; the same in all phases,
        hence every step is the same event.
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
    One sampled Gaussian release per step, as DP-SGD: v and D come from released means.
    """

    name: ClassVar[str] = "dp2-rmsprop"

    learning_rate: float
    clip_norm: float
    adaptive_learning_rate: float
    preconditioned_clip_norm: float
    noise_multiplier: float
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    ema: float = 0.9
    damping: float = 1e-7

    @property
    def second_moment(self) -> MovingAverage:
        """An average from 0 without bias correction."""
        return MovingAverage(self.ema)


@dataclass(frozen=True)
class DelayedRmsProp(OpenPhases):
    """RMSProp whose second moment is renewed only from means over SGD phases; not private.

    Attributes
    ----------
    learning_rate, adaptive_learning_rate : float
        Of the SGD and of the adaptive phases, both > 0.
    delay, sgd_steps, adaptive_steps, ema, damping
        As in `Dp2RmsProp`.
    """

    name: ClassVar[str] = "delayed-rmsprop"

    learning_rate: float
    adaptive_learning_rate: float
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    ema: float = 0.9
    damping: float = 1e-7

    @property
    def second_moment(self) -> MovingAverage:
        """An average from 0 without bias correction."""
        return MovingAverage(self.ema)
