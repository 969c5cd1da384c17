"""The private geometry snapshot: a preconditioner released by itself, from all records at once.

DP² squares an average of noisy gradients; where that average is below its noise, so is the
preconditioner. A separate release sees far more: the sum over *all* records of their squared
gradients g_i^2, each vector clipped to an l2 norm C0, with Gaussian noise sigma0 C0. Coordinates
below kappa times that noise are raised to it (the floor), and the steps divide by

    D = s^gamma mean(s^-gamma),

so that 1/D has mean 1. As in the adaptive phases of DP², the division comes before clipping and
noise. The release may be renewed at equally spaced steps, each time at its full price.

C0 is public, or it is released: a noisy histogram of log ||g_i^2|| over public bins, whose
quantile it is. The histogram is an event of the ledger too.

This is an extension beyond the paper (named as such in docs/planning.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dp2theory.optimizers.defaults import EFFECTIVE_STEP
from dp2theory.optimizers.snapshot_rule import SnapshotBudget, equal_period, rule_settings
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array
from dp2theory.problems.squares import norm_quantile
from dp2theory.problems.validation import positive_real, real_in, whole_number

#: Starting points (see `Snapshot.default_settings`).
CLIP_NORM = 0.5
#: sigma0, the noise multiplier of a snapshot; a starting point too.
SNAPSHOT_NOISE = 8.0
#: Least noise multiplier whose square the accountants divide by.
SMALLEST_MULTIPLIER = 1e-100
#: Most that a coordinate stands above the floor: its reciprocal is no denormal number.
LARGEST_RATIO = 1e300


def snapshot_preconditioner(
    snapshot: Array, noise_std: float, exponent: float, floor: float
) -> Array:
    """Return the divisor D of a released snapshot.

    Parameters
    ----------
    snapshot : ndarray, shape (dimension,)
        Noisy sum of clipped squared gradients.
    noise_std : float
        Standard deviation of its noise, sigma0 C0 > 0.
    exponent : float
        gamma in [0, 1].
    floor : float
        kappa > 0: entries below kappa noise_std are raised to it.

    Returns
    -------
    ndarray, shape (dimension,)
        Positive; the mean of its reciprocals is 1.

    Raises
    ------
    ValueError
        For a floor or a noise so small or so large that their product leaves the doubles.
    """
    unit = floor * noise_std
    if not 0 < unit < np.inf:
        raise ValueError(
            f"floor={floor!r} times the noise of the snapshot, {noise_std!r}, must be a finite "
            "number > 0"
        )
    # In units of the floor: neither tiny nor huge squares then leave the range of doubles.
    with np.errstate(over="ignore"):
        raised = np.clip(snapshot / unit, 1.0, LARGEST_RATIO) ** exponent
    return np.asarray(raised * np.mean(1.0 / raised))


@dataclass(frozen=True)
class Snapshot:
    """Steps preconditioned by a private snapshot of the squared gradients of all records.

    Attributes
    ----------
    learning_rate, clip_norm : float
        Of the steps; the clip norm bounds ||g_i / D||. Both > 0.
    noise_multiplier : float
        Of the steps, > 0.
    snapshot_noise_multiplier : float
        sigma0 > 0: noise std of a snapshot over its clip norm C0.
    refreshes : int
        Number of snapshots; the first is taken before the first step.
    period : int or None
        Steps between snapshots, wanted when there are several.
    statistic_clip_norm : float or None
        C0 > 0, a public constant; None lets the histogram find it.
    histogram_noise_multiplier : float or None
        Noise std per bin of the histogram, > 0; wanted exactly when C0 is not given. The
        histogram is released once, before the first snapshot.
    quantile : float
        Share of the records whose squares the released C0 is not to clip, in (0, 1).
    exponent : float
        gamma in [0, 1]; 1/2 is AdaGrad's.
    floor : float
        kappa > 0, in noise standard deviations.

    Privacy
    -------
    Each snapshot is one Gaussian release over all records (not sampled) with multiplier
    `snapshot_noise_multiplier`; the histogram one with `histogram_noise_multiplier`, since a
    record adds 1 to a single bin. Adding or removing a record moves either by one clip norm,
    replacing one moves it by at most sqrt(2) of them (both vectors are nonnegative), which is
    accounted as 2. The steps cost what DP-SGD's cost. All are in the ledger.
    """

    name: ClassVar[str] = "snapshot"

    learning_rate: float
    clip_norm: float
    noise_multiplier: float
    snapshot_noise_multiplier: float
    refreshes: int = 1
    period: int | None = None
    statistic_clip_norm: float | None = None
    histogram_noise_multiplier: float | None = None
    quantile: float = 0.9
    exponent: float = 0.5
    floor: float = 1.0

    def __post_init__(self) -> None:
        for name in (
            "learning_rate",
            "clip_norm",
            "noise_multiplier",
            "snapshot_noise_multiplier",
            "floor",
        ):
            positive_real(name, getattr(self, name))
        whole_number("refreshes", self.refreshes)
        if self.period is not None:
            whole_number("period", self.period)
        elif self.refreshes > 1:
            raise ValueError(
                f"period=None with refreshes={self.refreshes}: several snapshots need the number "
                "of steps between them"
            )
        if (self.statistic_clip_norm is None) == (self.histogram_noise_multiplier is None):
            raise ValueError(
                f"statistic_clip_norm={self.statistic_clip_norm!r} and histogram_noise_multiplier="
                f"{self.histogram_noise_multiplier!r}: exactly one must be given, a public clip "
                "norm or the noise with which one is released"
            )
        for name in ("statistic_clip_norm", "histogram_noise_multiplier"):
            if getattr(self, name) is not None:
                positive_real(name, getattr(self, name))
        for name in ("snapshot_noise_multiplier", "histogram_noise_multiplier"):
            if getattr(self, name) is not None:
                real_in(name, getattr(self, name), SMALLEST_MULTIPLIER, math.inf, open_high=True)
        positive_real("quantile", self.quantile)
        real_in("quantile", self.quantile, 0.0, 1.0, open_high=True)
        real_in("exponent", self.exponent, 0.0, 1.0)

    @classmethod
    def default_settings(cls, given: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Return `given`, and starting points where it is silent.

        Clip norm 1/2 and effective step 1; sigma0 = 8, about what `budget_settings` makes of
        epsilon = 2.8; C0 by a histogram of the same noise; T // refreshes steps between
        snapshots.
        """
        settings = {"clip_norm": CLIP_NORM, "snapshot_noise_multiplier": SNAPSHOT_NOISE} | {**given}
        clip = settings["clip_norm"]
        settings.setdefault("learning_rate", EFFECTIVE_STEP / clip if clip > 0 else EFFECTIVE_STEP)
        if "statistic_clip_norm" not in settings:
            settings.setdefault("histogram_noise_multiplier", settings["snapshot_noise_multiplier"])
        refreshes = settings.get("refreshes", 1)
        if "period" not in settings and refreshes > 1:
            settings["period"] = equal_period(refreshes, steps)
        return settings

    @classmethod
    def budget_settings(cls, given: Mapping[str, Any], budget: SnapshotBudget) -> dict[str, Any]:
        """Return the noise of snapshots and histogram by the rule of `snapshot_rule`.

        Parameters
        ----------
        given : mapping
            What the user gave: nothing of it is returned.
        budget : Budget
            A `dp2theory.planning.budget.Budget`.
        """
        derived = rule_settings(given, budget)
        return {name: value for name, value in derived.items() if name not in given}

    def takes_snapshot(self, step: int) -> bool:
        """Whether a snapshot is released before step number `step` (from 0)."""
        if self.period is None:
            return step == 0
        return step % self.period == 0 and step // self.period < self.refreshes

    def initial_state(self, dimension: int) -> OptimizerState:
        """Return the state before the first snapshot (no preconditioning yet)."""
        return OptimizerState(
            0,
            {"preconditioner": np.ones(dimension)},
            numbers={"statistic_clip_norm": self.statistic_clip_norm or 0.0},
        )

    def query(self, state: OptimizerState) -> Query:
        """Return the histogram, the snapshot or the preconditioned gradient, in this order."""
        kind = self._kind(state)
        if kind == "histogram":
            assert self.histogram_noise_multiplier is not None
            return Query(
                1.0,
                self.histogram_noise_multiplier,
                statistic="squared-norm-histogram",
                records="all",
            )
        if kind == "snapshot":
            return Query(
                state.numbers["statistic_clip_norm"],
                self.snapshot_noise_multiplier,
                statistic="squared-gradient",
                records="all",
            )
        return Query(self.clip_norm, self.noise_multiplier, state.arrays["preconditioner"])

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        """Return the state with what was released, and the parameters moved by a gradient."""
        kind = self._kind(state)
        if kind == "gradient":
            moved = parameters - self.learning_rate * released
            return moved, OptimizerState(state.step + 1, state.arrays, 0, state.numbers)
        arrays, numbers = dict(state.arrays), dict(state.numbers)
        if kind == "histogram":
            numbers["statistic_clip_norm"] = norm_quantile(
                released, self.quantile, noise_std=self.histogram_noise_multiplier or 0.0
            )
        else:
            noise_std = self.snapshot_noise_multiplier * numbers["statistic_clip_norm"]
            arrays["preconditioner"] = snapshot_preconditioner(
                released, noise_std, self.exponent, self.floor
            )
        return parameters, OptimizerState(state.step, arrays, state.stage + 1, numbers)

    def _kind(self, state: OptimizerState) -> str:
        """What comes next; it depends on step and stage alone."""
        if not self.takes_snapshot(state.step):
            return "gradient"
        kinds = ["snapshot", "gradient"]
        if state.step == 0 and self.statistic_clip_norm is None:
            kinds.insert(0, "histogram")
        return kinds[state.stage]
