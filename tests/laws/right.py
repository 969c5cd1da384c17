"""Right accountants of several characters: tight, loose, choosy, silent."""

from __future__ import annotations

import math
from typing import Any

from accountants import ExactAccountant, NeighboringRelation


class Doubled(ExactAccountant):
    """Sound and loose: twice the ε."""

    def get_epsilon(self, target_delta: float) -> float:
        return 2 * float(super().get_epsilon(target_delta))


class RefusesTinyDelta(ExactAccountant):
    """Answers for δ >= 1e-8 only."""

    def get_epsilon(self, target_delta: float) -> float:
        if target_delta < 1e-8:
            raise ValueError(f"target_delta={target_delta!r}: must be at least 1e-8")
        return float(super().get_epsilon(target_delta))


class AlwaysInfinite:
    """Sound for everything and useless: no privacy is promised."""

    def __init__(self, neighboring_relation: NeighboringRelation) -> None:
        self.neighboring_relation = neighboring_relation
        self._checked = ExactAccountant(neighboring_relation)

    def compose(self, event: Any, count: int = 1) -> AlwaysInfinite:
        self._checked.compose(event, count)  # for its errors
        return self

    def get_epsilon(self, target_delta: float) -> float:
        if not 0 <= target_delta <= 1:
            raise ValueError(f"target_delta={target_delta!r}: must be in [0, 1]")
        return math.inf
