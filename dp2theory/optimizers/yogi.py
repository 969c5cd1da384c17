"""Yogi (Zaheer et al., NeurIPS 2018, algorithm 2): plain, private, delayed, DP².

v <- v - (1 - ema) sign(v - g^2) g^2 moves by no more than (1 - ema) g^2, so that v forgets large
gradients slowly; m is Adam's, and like v it is not bias corrected. In the delayed forms v takes
in the mean of each SGD phase, and m averages the preconditioned gradients of one adaptive phase
as in `dp2theory.optimizers.adam`, bias corrected there since it starts anew with each phase.

The paper's damping of 1e-3 is more than most coordinates of a mean of clipped gradients; hence
the smaller default where gradients are clipped or averaged over phases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dp2theory.optimizers.accumulators import FirstMoment, SignedSteps
from dp2theory.optimizers.adaptive import (
    ClippedPhases,
    ClippedQueries,
    EveryStep,
    OpenPhases,
    OpenQueries,
)


class _SignedSteps:
    ema: float
    gradient_ema: float
    initial_second_moment: float

    @property
    def second_moment(self) -> SignedSteps:
        """The sign-controlled second moment."""
        return SignedSteps(self.ema, self.initial_second_moment)


@dataclass(frozen=True)
class Yogi(_SignedSteps, OpenQueries, EveryStep):
    """w <- w - learning_rate m / (sqrt(v) + damping), v by signed steps; not private.

    Attributes
    ----------
    learning_rate : float
        Step size > 0.
    gradient_ema, ema : float
        Weights of the old m and of the old v, in [0, 1).
    damping : float
        Constant added to sqrt(v), > 0; the paper's 1e-3.
    initial_second_moment : float
        v at the start, > 0.
    """

    name: ClassVar[str] = "yogi"

    learning_rate: float
    gradient_ema: float = 0.9
    ema: float = 0.999
    damping: float = 1e-3
    initial_second_moment: float = 1e-6

    @property
    def first_moment(self) -> FirstMoment:
        """The average of directions, as it is."""
        return FirstMoment(self.gradient_ema, bias_correction=False)


@dataclass(frozen=True)
class DpYogi(_SignedSteps, ClippedQueries, EveryStep):
    """Yogi on the clipped noisy mean gradient: noise first, moments after.

    Attributes
    ----------
    learning_rate, clip_norm, noise_multiplier : float
        All > 0; the noise has std noise_multiplier * clip_norm on the sum.
    gradient_ema, ema : float
        Weights of the old m and of the old v, in [0, 1).
    damping : float
        Constant added to sqrt(v), > 0.
    initial_second_moment : float
        v at the start, > 0.

    Privacy
    -------
    One sampled Gaussian release per step, as DP-SGD; all moments come from released means.
    """

    name: ClassVar[str] = "dp-yogi"

    learning_rate: float
    clip_norm: float
    noise_multiplier: float
    gradient_ema: float = 0.9
    ema: float = 0.999
    damping: float = 1e-7
    initial_second_moment: float = 1e-6

    @property
    def first_moment(self) -> FirstMoment:
        """The average of directions, as it is."""
        return FirstMoment(self.gradient_ema, bias_correction=False)


@dataclass(frozen=True)
class DelayedYogi(_SignedSteps, OpenPhases):
    """Yogi whose v comes from the means of the SGD phases only; not private.

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
    initial_second_moment : float
        v at the start, > 0.
    """

    name: ClassVar[str] = "delayed-yogi"

    learning_rate: float
    adaptive_learning_rate: float
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    gradient_ema: float = 0.9
    ema: float = 0.9
    damping: float = 1e-7
    initial_second_moment: float = 1e-6

    @property
    def first_moment(self) -> FirstMoment:
        """The average of the phase's directions, bias corrected."""
        return FirstMoment(self.gradient_ema)


@dataclass(frozen=True)
class Dp2Yogi(_SignedSteps, ClippedPhases):
    """DP²-Yogi: v from the SGD phases' noisy means, momentum inside adaptive phases.

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
    initial_second_moment : float
        v at the start, > 0.

    Privacy
    -------
    One sampled Gaussian release per step, as DP-SGD; all moments come from released means.
    """

    name: ClassVar[str] = "dp2-yogi"

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
    initial_second_moment: float = 1e-6

    @property
    def first_moment(self) -> FirstMoment:
        """The average of the phase's directions, bias corrected."""
        return FirstMoment(self.gradient_ema)
