"""What a tuning grid is built around: the tuned DP-SGD, the run, and side information.

DP²'s own grid of settings stands here too, since every delayed method uses it: clip norm C1 of
the tuned DP-SGD, eta1 in {0.1, 0.3, 1} and eta2 in {1, 3, 10, 30, 100} times its effective step;
C2 = 500. In the adaptive phases eta2 = adaptive_learning_rate * C2. At the corner of small steps
the grid is carried on by four pairs: on `hetA` the best of it lay there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from dp2theory.optimizers.defaults import PRECONDITIONED_CLIP_NORM as PRECONDITIONED_CLIP_NORM
from dp2theory.optimizers.dp2 import Phases
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.steps import Optimizer

if TYPE_CHECKING:
    from dp2theory.problems.public import PublicData

#: eta1, the learning rate of the SGD phases, over the tuned DP-SGD's.
DP2_SGD_FACTORS = (0.1, 0.3, 1.0)
#: eta2 C2, the effective step of the adaptive phases, over the tuned DP-SGD's.
DP2_ADAPTIVE_FACTORS = (1.0, 3.0, 10.0, 30.0, 100.0)
#: Pairs (of eta1, of eta2) beyond and inside the corner of small steps.
DP2_CORNER = ((0.03, 1.0), (0.03, 1.7), (0.03, 3.0), (0.1, 1.7))


@dataclass(frozen=True)
class GridContext:
    """What a grid is built around.

    Attributes
    ----------
    noise_multiplier : float
        Of the method whose grid it is.
    steps : int
        Steps of the run.
    base : DpSgd or None
        The tuned DP-SGD; None for DP-SGD's own grid.
    phases : Phases or None
        Phase lengths of the delayed methods.
    public : PublicData or None
        Side information.
    expected_batch_size : float or None
        Public divisor of the noisy sums, for methods that reckon with the noise of a mean.
    settings : mapping
        Settings that were fixed before the search, such as the noise of releases of their own.
    """

    noise_multiplier: float
    steps: int
    base: DpSgd | None = None
    phases: Phases | None = None
    public: PublicData | None = None
    expected_batch_size: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tuned_base(self) -> DpSgd:
        """The tuned DP-SGD, or a ValueError."""
        if self.base is None:
            raise ValueError("base=None: this grid is built around a tuned DP-SGD")
        return self.base

    @property
    def effective_step(self) -> float:
        """Learning rate times clip norm of the tuned DP-SGD."""
        return self.tuned_base.learning_rate * self.tuned_base.clip_norm

    @property
    def phase_settings(self) -> dict[str, int]:
        """The phase lengths as keyword arguments; ``delay`` where both are equal."""
        if self.phases is None:
            raise ValueError("phases=None: this grid needs phase lengths")
        if self.phases.sgd_steps == self.phases.adaptive_steps:
            return {"delay": self.phases.sgd_steps}
        return {
            "sgd_steps": self.phases.sgd_steps,
            "adaptive_steps": self.phases.adaptive_steps,
        }


#: From a context to configurations.
Grid: TypeAlias = Callable[[GridContext], list[Optimizer]]


def dp2_settings(context: GridContext) -> list[dict[str, Any]]:
    """Return the settings of DP²'s grid around the tuned DP-SGD, phase lengths included."""
    base = context.tuned_base
    pairs = [*product(DP2_SGD_FACTORS, DP2_ADAPTIVE_FACTORS), *DP2_CORNER]
    return [
        {
            "learning_rate": sgd_factor * base.learning_rate,
            "clip_norm": base.clip_norm,
            "adaptive_learning_rate": (
                adaptive_factor * context.effective_step / PRECONDITIONED_CLIP_NORM
            ),
            "preconditioned_clip_norm": PRECONDITIONED_CLIP_NORM,
            "noise_multiplier": context.noise_multiplier,
            **context.phase_settings,
        }
        for sgd_factor, adaptive_factor in pairs
    ]
