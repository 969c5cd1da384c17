"""Data on which plain subgradients drift apart, and functions that misbehave, for tests."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dp2theory.resque.functions import Array, IndexArray
from dp2theory.resque.losses import AbsoluteLoss

TILT = 1e-5


def drifting(records: int) -> tuple[AbsoluteLoss, AbsoluteLoss]:
    """Neighbours in record 0, whose later records each part two runs in a new direction.

    Record 0 pulls along the first axis, to the one side or the other. Record i > 0 looks along
    axis i, tilted a little towards the first one, with its kink at the origin: two points on
    different sides of the origin along the first axis are on different sides of every kink.
    """
    features = np.sqrt(1 - TILT**2) * np.eye(records)
    features[:, 0] = TILT
    features[0] = 0
    features[0, 0] = 1
    features /= 1 + 1e-12
    targets = np.zeros(records)
    targets[0] = 100
    loss = AbsoluteLoss(features, targets, lipschitz=1.0, radius=10.0)
    return loss, replace_record(loss, 0, -features[0], 100.0)


def replace_record(loss: AbsoluteLoss, record: int, row: Array, target: float) -> AbsoluteLoss:
    """The same data with another record in one place."""
    features, targets = loss.features.copy(), loss.targets.copy()
    features[record], targets[record] = row, target
    return replace(loss, features=features, targets=targets)


@dataclass
class Spied:
    """A loss that has no closed forms to offer and writes down which records were asked."""

    loss: AbsoluteLoss
    scale: float = 1.0
    asked: list[int] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loss, name)

    def subgradients(self, points: Array, samples: IndexArray) -> Array:
        """Those of the loss, times a scale that the bound L does not know of."""
        self.asked.extend(samples.tolist())
        return self.scale * self.loss.subgradients(points, samples)
