"""Diagonal DP-AdaGrad on a public subspace (Kairouz, Ribero, Rush and Thakurta, COLT 2021).

The released noisy gradient is projected on the span of the main directions of public gradients:
noise outside of it is removed, and so is what the gradient has there. AdaGrad's sum of squares is
taken of the projected gradients. The subspace is estimated once, from single gradients of public
records at the starting point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dp2theory.optimizers.defaults import CLIP_NORM, RUNNING_SUM_RATE
from dp2theory.optimizers.side_information import check_public
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array
from dp2theory.problems.public import PublicData
from dp2theory.problems.validation import positive_real

#: Directions where none are given.
RANK = 50


@dataclass(frozen=True)
class DpAdaGradProjected:
    """h = V V^T g, G <- G + h^2, w <- w - learning_rate h / (sqrt(G) + damping).

    Attributes
    ----------
    learning_rate, clip_norm, noise_multiplier : float
        All > 0.
    public : PublicData
        Of whose gradients V holds the main directions.
    rank : int or None
        Number of directions, at most the rank of the public gradients; None takes 50, or all
        where there are fewer.
    damping : float
        Added to sqrt(G), > 0.

    Privacy
    -------
    Each step is one sampled Gaussian release, as in DP-SGD: projection and sum of squares are
    made of what was released. The public records are not protected.
    """

    name: ClassVar[str] = "dp-adagrad-projected"

    learning_rate: float
    clip_norm: float
    noise_multiplier: float
    public: PublicData = field(repr=False)
    rank: int | None = None
    damping: float = 1e-7

    def __post_init__(self) -> None:
        for name in ("learning_rate", "clip_norm", "noise_multiplier", "damping"):
            positive_real(name, getattr(self, name))
        check_public(self.public)
        if self.rank is not None:
            self.public.directions(self.rank)  # refuses a rank that the public gradients lack

    @classmethod
    def default_settings(cls, given: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Return `given`, with clip norm 1 and learning rate 0.3 where it is silent."""
        return {"clip_norm": CLIP_NORM, "learning_rate": RUNNING_SUM_RATE} | {**given}

    @property
    def dimension(self) -> int:
        """Number of parameters of the public model."""
        return self.public.dimension

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return a sum of squares of zeros."""
        return OptimizerState(0, {"squares": np.zeros(self.dimension)})

    def query(self, state: OptimizerState) -> Query:
        """Return the clipped noisy query, the same at every step."""
        return Query(self.clip_norm, self.noise_multiplier)

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return parameters and state after one step along the projected gradient."""
        rank = min(RANK, self.public.largest_rank) if self.rank is None else self.rank
        rows = self.public.directions(rank)
        projected = (rows @ released) @ rows
        squares = state.arrays["squares"] + projected**2
        moved = parameters - self.learning_rate * projected / (np.sqrt(squares) + self.damping)
        return moved, OptimizerState(state.step + 1, {"squares": squares})
