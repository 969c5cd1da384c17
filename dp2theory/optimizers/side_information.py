"""AdaDPS: preconditioning by side information (Li, Zaheer, Reddi and Smith, ICML 2022).

Private gradients are divided by D before clipping and noise, as in the adaptive phases of DP²,
but D comes from public records: from squared public gradients at the present iterate, averaged as
in RMSProp (`AdaDps`), or once and for all from second moments of public gradients at the starting
point (`AdaDpsStatistics`). Here D is scaled so that 1/D has mean 1, which changes nothing but the
units of the clip norm and the learning rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dp2theory.optimizers.defaults import EFFECTIVE_STEP
from dp2theory.optimizers.snapshot import CLIP_NORM, snapshot_preconditioner
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array
from dp2theory.problems.public import PublicData
from dp2theory.problems.validation import positive_real, real_in, whole_number

#: Least damping of `AdaDps`, and least divisor, whose reciprocals are finite.
SMALLEST_DAMPING, SMALLEST_DIVISOR = 1e-100, 1e-300


def public_settings(given: Mapping[str, Any], clip_norm: float) -> dict[str, Any]:
    """Return `given`, with a clip norm and effective step 1 where it is silent."""
    settings: dict[str, Any] = {"clip_norm": clip_norm} | {**given}
    clip = settings["clip_norm"]
    settings.setdefault("learning_rate", EFFECTIVE_STEP / clip if clip > 0 else EFFECTIVE_STEP)
    return settings


def check_public(public: Any) -> None:
    """Raise ValueError unless `public` is side information."""
    if not isinstance(public, PublicData):
        raise ValueError(
            f"public={type(public).__name__} must be a PublicData, as split_public makes it"
        )


@dataclass(frozen=True)
class AdaDps:
    """AdaDPS with public records: v <- ema v + (1 - ema) h^2, D ~ sqrt(v) + damping.

    Attributes
    ----------
    learning_rate, clip_norm, noise_multiplier : float
        All > 0; the clip norm bounds ||g_i / D||.
    public : PublicData
        Records whose mean gradient h at the present iterate is looked at.
    public_batch_size : int
        Public records of a step; they are walked through in their order.
    ema : float
        Weight of the old second moment, in [0, 1). v starts as the h^2 of the first batch.
    damping : float
        Added to sqrt(v), in units of its root mean square, > 0: coordinates that the public
        records never touch get a finite step.

    Privacy
    -------
    Each step is one sampled Gaussian release, as in DP-SGD: D is a function of public records
    and of earlier releases. The public records themselves are not protected.
    """

    name: ClassVar[str] = "adadps"

    learning_rate: float
    clip_norm: float
    noise_multiplier: float
    public: PublicData = field(repr=False)
    public_batch_size: int = 64
    ema: float = 0.9
    damping: float = 0.1

    def __post_init__(self) -> None:
        for name in ("learning_rate", "clip_norm", "noise_multiplier", "damping"):
            positive_real(name, getattr(self, name))
        real_in("damping", self.damping, SMALLEST_DAMPING, math.inf, open_high=True)
        check_public(self.public)
        whole_number("public_batch_size", self.public_batch_size)
        real_in("ema", self.ema, 0.0, 1.0, open_high=True)

    @classmethod
    def default_settings(cls, given: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Return `given`, with clip norm 1/2 and effective step 1 where it is silent."""
        return public_settings(given, CLIP_NORM)

    @property
    def dimension(self) -> int:
        """Number of parameters of the public model."""
        return self.public.dimension

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return the second moment and the preconditioner of the first public batch."""
        first = self.public.gradient(self.public.start, self.public_batch_size, 0) ** 2
        return OptimizerState(0, self._arrays(first))

    def query(self, state: OptimizerState) -> Query:
        """Return the preconditioned query."""
        return Query(self.clip_norm, self.noise_multiplier, state.arrays["preconditioner"])

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return the parameters after one step, and the state with the next public gradient."""
        moved = parameters - self.learning_rate * released
        gradient = self.public.gradient(moved, self.public_batch_size, state.step + 1)
        second = self.ema * state.arrays["second_moment"] + (1 - self.ema) * gradient**2
        return moved, OptimizerState(state.step + 1, self._arrays(second))

    def _arrays(self, second: Array) -> dict[str, Array]:
        root = np.sqrt(second)
        scale = float(np.sqrt(np.mean(second)))
        least = self.damping * scale
        # Squares so small that their reciprocals overflow are none.
        divisor = root + least if least > SMALLEST_DIVISOR else np.ones_like(root)
        return {"second_moment": second, "preconditioner": divisor * np.mean(1.0 / divisor)}


@dataclass(frozen=True)
class AdaDpsStatistics:
    """AdaDPS with public statistics: a fixed D from second moments of public gradients.

    D = s^gamma mean(s^-gamma), where s is the sum over the public records of g_i^2 at the
    starting point, entries below `floor` typical records raised to that.

    Attributes
    ----------
    learning_rate, clip_norm, noise_multiplier : float
        All > 0; the clip norm bounds ||g_i / D||.
    public : PublicData
        Of which the second moments are used and nothing else.
    exponent : float
        gamma in [0, 1].
    floor : float
        kappa > 0, in root mean squares of ||g_i^2||: what a single record adds.

    Privacy
    -------
    Each step is one sampled Gaussian release, as in DP-SGD. The public records are not
    protected.
    """

    name: ClassVar[str] = "adadps-statistics"

    learning_rate: float
    clip_norm: float
    noise_multiplier: float
    public: PublicData = field(repr=False)
    exponent: float = 0.5
    floor: float = 1.0

    def __post_init__(self) -> None:
        for name in ("learning_rate", "clip_norm", "noise_multiplier", "floor"):
            positive_real(name, getattr(self, name))
        check_public(self.public)
        real_in("exponent", self.exponent, 0.0, 1.0)

    @classmethod
    def default_settings(cls, given: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Return `given`, with clip norm 1/2 and effective step 1 where it is silent."""
        return public_settings(given, CLIP_NORM)

    @property
    def dimension(self) -> int:
        """Number of parameters of the public model."""
        return self.public.dimension

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return the preconditioner."""
        record = self.public.squared_norm
        divisor = np.ones(self.dimension)
        if record > 0:
            divisor = snapshot_preconditioner(
                self.public.squared_sum, record, self.exponent, self.floor
            )
        return OptimizerState(0, {"preconditioner": divisor})

    def query(self, state: OptimizerState) -> Query:
        """Return the preconditioned query, the same at every step."""
        return Query(self.clip_norm, self.noise_multiplier, state.arrays["preconditioner"])

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return the parameters after one step, and the state."""
        moved = parameters - self.learning_rate * released
        return moved, OptimizerState(state.step + 1, state.arrays)
