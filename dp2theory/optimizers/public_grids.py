"""Tuning grids of the methods that use side information, around the tuned DP-SGD.

Effective steps are multiples of DP-SGD's. Clip norms of preconditioned gradients are 1/2 and 2,
as for the geometry snapshot: 1/D has mean 1 there too.
"""

from __future__ import annotations

from dp2theory.optimizers.grid_context import GridContext
from dp2theory.optimizers.mirror_descent import PdaDpmd
from dp2theory.optimizers.projected import DpAdaGradProjected
from dp2theory.optimizers.side_information import AdaDps, AdaDpsStatistics
from dp2theory.optimizers.steps import Optimizer
from dp2theory.problems.public import PublicData

#: Steps over the tuned DP-SGD's.
STEP_FACTORS = (0.3, 1.0, 3.0)
#: Clip norms of AdaDPS, of preconditioned gradients.
CLIP_NORMS = (0.5, 2.0)
#: Dampings of AdaDPS with public records.
ADADPS_DAMPINGS = (0.03, 0.3)
#: Floors of public second moments, in typical records.
STATISTICS_FLOORS = (1.0, 3.0)
#: K over the steps of the run.
SCHEDULE_FACTORS = (2, 4, 10)
#: Ranks of the projection, as far as public gradients have them.
RANKS = (50, 200)
#: Learning rates of projected DP-AdaGrad.
PROJECTED_LEARNING_RATES = (0.01, 0.03, 0.1, 0.3, 1.0)


def adadps_grid(context: GridContext) -> list[Optimizer]:
    """Return 12 configurations of AdaDPS with public records."""
    public, eta = _public(context), context.effective_step
    return [
        AdaDps(factor * eta / clip, clip, context.noise_multiplier, public, damping=damping)
        for factor in STEP_FACTORS
        for clip in CLIP_NORMS
        for damping in ADADPS_DAMPINGS
    ]


def adadps_statistics_grid(context: GridContext) -> list[Optimizer]:
    """Return 12 configurations of AdaDPS with public second moments, gamma = 1/2."""
    public, eta = _public(context), context.effective_step
    return [
        AdaDpsStatistics(factor * eta / clip, clip, context.noise_multiplier, public, floor=floor)
        for factor in STEP_FACTORS
        for clip in CLIP_NORMS
        for floor in STATISTICS_FLOORS
    ]


def pda_dpmd_grid(context: GridContext) -> list[Optimizer]:
    """Return 9 configurations of PDA-DPMD at the clip norm of the tuned DP-SGD."""
    public, base = _public(context), context.tuned_base
    return [
        PdaDpmd(
            factor * base.learning_rate,
            base.clip_norm,
            context.noise_multiplier,
            public,
            schedule_steps=schedule * context.steps,
        )
        for factor in STEP_FACTORS
        for schedule in SCHEDULE_FACTORS
    ]


def dp_adagrad_projected_grid(context: GridContext) -> list[Optimizer]:
    """Return 10 configurations of projected DP-AdaGrad; ranks end at the public gradients'."""
    public, base = _public(context), context.tuned_base
    ranks = sorted({min(rank, public.largest_rank) for rank in RANKS})
    return [
        DpAdaGradProjected(rate, base.clip_norm, context.noise_multiplier, public, rank)
        for rank in ranks
        for rate in PROJECTED_LEARNING_RATES
    ]


def _public(context: GridContext) -> PublicData:
    if context.public is None:
        raise ValueError("public=None: this grid needs side information")
    return context.public
