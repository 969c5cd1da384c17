"""PDA-DPMD: private mirror descent with the public loss as mirror map (Amid et al., ICML 2022).

The exact step solves a problem in the public loss. What the paper runs, and what runs here, is
its first-order form: a convex combination of the released private gradient g and the public
gradient h at the same iterate,

    w <- w - learning_rate (a_t g + (1 - a_t) h),     a_t = cos(pi t / (2 K)).

The share of the private gradient falls from 1 at the first step to 0 at step K.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dp2theory.optimizers.defaults import CLIP_NORM
from dp2theory.optimizers.side_information import check_public, public_settings
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array
from dp2theory.problems.public import PublicData
from dp2theory.problems.validation import positive_real, whole_number

#: K over the steps of the run, where it is not given: the private share ends at cos(pi/4).
SCHEDULE_FACTOR = 2


@dataclass(frozen=True)
class PdaDpmd:
    """Public-data-assisted private mirror descent in its first-order form.

    Attributes
    ----------
    learning_rate, clip_norm, noise_multiplier : float
        All > 0.
    public : PublicData
    schedule_steps : int
        K: step at which the private gradient has no weight left (nor after it).
    public_batch_size : int
        Public records of a step; they are walked through in their order.

    Privacy
    -------
    Each step is one sampled Gaussian release, as in DP-SGD; the public gradient is a function of
    public records and of earlier releases. Steps whose private share is 0 still release and are
    still paid for. The public records are not protected.
    """

    name: ClassVar[str] = "pda-dpmd"

    learning_rate: float
    clip_norm: float
    noise_multiplier: float
    public: PublicData = field(repr=False)
    schedule_steps: int
    public_batch_size: int = 64

    def __post_init__(self) -> None:
        for name in ("learning_rate", "clip_norm", "noise_multiplier"):
            positive_real(name, getattr(self, name))
        check_public(self.public)
        whole_number("schedule_steps", self.schedule_steps)
        whole_number("public_batch_size", self.public_batch_size)

    @classmethod
    def default_settings(cls, given: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Return `given`, with clip norm 1, effective step 1, K = 2 T where it is silent."""
        schedule = {"schedule_steps": max(1, SCHEDULE_FACTOR * steps)}
        return schedule | public_settings(given, CLIP_NORM)

    @property
    def dimension(self) -> int:
        """Number of parameters of the public model."""
        return self.public.dimension

    def private_share(self, step: int) -> float:
        """Return a_t, the weight of the private gradient at step number `step` (from 0)."""
        if step >= self.schedule_steps:
            return 0.0
        return math.cos(0.5 * math.pi * step / self.schedule_steps)

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return a fresh state (a step counter)."""
        return OptimizerState()

    def query(self, state: OptimizerState) -> Query:
        """Return the clipped noisy query, the same at every step."""
        return Query(self.clip_norm, self.noise_multiplier)

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return the parameters after one step, and the state."""
        share = self.private_share(state.step)
        public = self.public.gradient(parameters, self.public_batch_size, state.step)
        direction = share * released + (1.0 - share) * public
        return parameters - self.learning_rate * direction, OptimizerState(state.step + 1)
