"""Small settings for tests of private ball subproblems."""

from __future__ import annotations

import numpy as np

from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.localization import Release
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.private_plan import PrivatePlan, plan_private
from dp2theory.verification.resque_noise import ball_releases

SIGMA = 8.0
DRIFT = 2.0
CONSTANTS = PrivateConstants(drift_factor=DRIFT, restarts=2)


def releases(rng: np.random.Generator | None = None, calls: int = 220) -> tuple[Release, ...]:
    """Of calls with 4 phases in 80 dimensions: 17600 numbers for each phase."""
    loss = function_named("absolute", records=100, dimension=80)
    assert isinstance(loss, AbsoluteLoss)
    return ball_releases(
        loss,
        calls=calls,
        radius=0.1,
        smoothing=6.4,
        draws=14,
        noise_multiplier=SIGMA,
        multipliers=(1.0, 4.0, 40.0),
        rng=np.random.default_rng(0) if rng is None else rng,
        constants=CONSTANTS,
    )


def whole_plan() -> tuple[AbsoluteLoss, PrivatePlan]:
    """A whole private run in 160 dimensions, on one part of the data."""
    loss = function_named("absolute", records=300, dimension=160)
    assert isinstance(loss, AbsoluteLoss)
    plan = plan_private(
        loss, accuracy=0.9, target_epsilon=2.0, target_delta=1e-5, constants=CONSTANTS,
        parts=1, draws=14, smoothing=1.0,
    )  # fmt: skip
    return loss, plan
