"""The tuning grid of the geometry snapshot: 15 configurations around the tuned DP-SGD.

Effective steps are {0.3, 1, 3} times DP-SGD's, clip norms of preconditioned gradients {1/2, 2},
each with gamma = 1/2 and floors kappa = 1 and 3, and gamma = 1/4 with kappa = 3 at clip norm 2.
A step of 10 times DP-SGD's and gamma = 3/4 were tried as well and won nowhere by more than a
thousandth (docs/planning.md).
"""

from __future__ import annotations

from dp2theory.optimizers.grid_context import GridContext
from dp2theory.optimizers.snapshot import Snapshot
from dp2theory.optimizers.steps import Optimizer

#: Effective steps over the tuned DP-SGD's.
STEP_FACTORS = (0.3, 1.0, 3.0)
#: Clip norm, exponent gamma, floor kappa.
SHAPES = ((0.5, 0.5, 1.0), (0.5, 0.5, 3.0), (2.0, 0.5, 1.0), (2.0, 0.5, 3.0), (2.0, 0.25, 3.0))


def snapshot_grid(context: GridContext) -> list[Optimizer]:
    """Return the grid; what `context.settings` fixes is the same in all configurations."""
    grid: list[Optimizer] = []
    for factor in STEP_FACTORS:
        for clip_norm, exponent, floor in SHAPES:
            settings = {
                "learning_rate": factor * context.effective_step / clip_norm,
                "clip_norm": clip_norm,
                "exponent": exponent,
                "floor": floor,
                **context.settings,
            }
            settings = Snapshot.default_settings(settings, context.steps)
            grid.append(Snapshot(**{**settings, "noise_multiplier": context.noise_multiplier}))
    return grid
