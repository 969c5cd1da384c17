"""Structured tuning grids for the private optimizers, one function per method.

Free random search over six hyper-parameters often fails for DP², while a grid around the
DP-SGD optimum works. Step sizes are effective steps eta = learning_rate * clip norm, the
farthest one record can move the iterate in a step, times the expected batch size:

- DP-SGD: eta in {0.3, 1, 3, 10}, clip norm in {0.5, 1, 2}.
- DP-RMSProp: clip norm of the tuned DP-SGD, learning rate in {0.003, 0.01, 0.03, 0.1, 0.3}
  (its step does not scale with the clip norm).
- DP²-RMSProp: clip norm C1 of the tuned DP-SGD, eta1 in {0.1, 0.3, 1} and eta2 in
  {1, 3, 10, 30, 100} times its eta, and four pairs at the corner of small steps; C2 = 500,
  damping 1e-7, ema 0.9. In the adaptive phases eta2 = adaptive_learning_rate * C2.

Other methods keep their grids beside their classes; `GRIDS` lists all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dp2theory.optimizers.adaptive_grids import ADAPTIVE_GRIDS
from dp2theory.optimizers.dp2 import Dp2RmsProp, Phases
from dp2theory.optimizers.grid_context import PRECONDITIONED_CLIP_NORM as PRECONDITIONED_CLIP_NORM
from dp2theory.optimizers.grid_context import Grid, dp2_settings
from dp2theory.optimizers.grid_context import GridContext as GridContext
from dp2theory.optimizers.public_grids import (
    adadps_grid,
    adadps_statistics_grid,
    dp_adagrad_projected_grid,
    pda_dpmd_grid,
)
from dp2theory.optimizers.rmsprop import DpRmsProp
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.snapshot_grid import snapshot_grid
from dp2theory.optimizers.steps import Optimizer

if TYPE_CHECKING:
    from dp2theory.problems.public import PublicData

#: Effective steps: learning rate times clip norm.
DP_SGD_STEPS = (0.3, 1.0, 3.0, 10.0)
#: Clip norms.
DP_SGD_CLIP_NORMS = (0.5, 1.0, 2.0)
#: Learning rates at the clip norm of the tuned DP-SGD.
DP_RMSPROP_LEARNING_RATES = (0.003, 0.01, 0.03, 0.1, 0.3)


def dp_sgd_grid(context: GridContext) -> list[Optimizer]:
    """Return the DP-SGD grid."""
    return [
        DpSgd(step / clip, clip, context.noise_multiplier)
        for clip in DP_SGD_CLIP_NORMS
        for step in DP_SGD_STEPS
    ]


def dp_rmsprop_grid(context: GridContext) -> list[Optimizer]:
    """Return the DP-RMSProp grid at the clip norm of the tuned DP-SGD."""
    return [
        DpRmsProp(rate, context.tuned_base.clip_norm, context.noise_multiplier)
        for rate in DP_RMSPROP_LEARNING_RATES
    ]


def dp2_rmsprop_grid(context: GridContext) -> list[Optimizer]:
    """Return the DP²-RMSProp grid around the tuned DP-SGD."""
    return [Dp2RmsProp(**settings) for settings in dp2_settings(context)]


#: The grid of each method that has one.
GRIDS: dict[str, Grid] = {
    "dp-sgd": dp_sgd_grid,
    "dp-rmsprop": dp_rmsprop_grid,
    "dp2-rmsprop": dp2_rmsprop_grid,
    **ADAPTIVE_GRIDS,
    "snapshot": snapshot_grid,
    "adadps": adadps_grid,
    "adadps-statistics": adadps_statistics_grid,
    "pda-dpmd": pda_dpmd_grid,
    "dp-adagrad-projected": dp_adagrad_projected_grid,
}


def grid_size(method: str, public: PublicData | None = None) -> int:
    """Number of configurations of a method's grid, for progress bars.

    The grids of methods with side information need it here too.
    """
    context = GridContext(1.0, 1, DpSgd(1.0, 1.0, 1.0), Phases(1, 1), public, 1.0)
    return len(grid_of(method)(context))


def grid_of(method: str) -> Grid:
    """Return the grid of a method, or raise ValueError with the methods that have one."""
    if method not in GRIDS:
        raise ValueError(f"method={method!r} has no grid, must be one of {', '.join(GRIDS)}")
    return GRIDS[method]
