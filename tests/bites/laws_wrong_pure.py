"""Laplace noise and randomized response by adding up worst-case losses, and slips in that."""

from __future__ import annotations

import math
from typing import Any

import dp_accounting as dp
from dp_accounting.privacy_accountant import NeighboringRelation

from tests.bites.laws_wrong_lattice import whole

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE


class PureAccountant:
    """Right: pure ε adds up; events without a pure ε are refused."""

    def __init__(self, neighboring_relation: NeighboringRelation = REPLACE) -> None:
        self._relation = neighboring_relation
        self._losses: list[tuple[float, int]] = []

    def compose(self, event: Any, count: int = 1) -> Any:
        self._losses += self.found(event, whole(count))
        return self

    def found(self, event: Any, count: int) -> list[tuple[float, int]]:
        """Pure ε of every release with the number of its uses."""
        if isinstance(event, dp.SelfComposedDpEvent):
            return self.found(event.event, count * whole(event.count))
        if isinstance(event, dp.ComposedDpEvent):
            return [pair for child in event.events for pair in self.found(child, count)]
        return [(self.loss(event), count)] if count else []

    def loss(self, event: Any) -> float:
        """Pure ε of one release."""
        if isinstance(event, dp.LaplaceDpEvent):
            scale = event.noise_multiplier
            if not scale >= 0:
                raise ValueError(f"noise_multiplier={scale!r}: must be >= 0")
            return self.move / scale if scale else math.inf
        if isinstance(event, dp.RandomizedResponseDpEvent) and self._relation is REPLACE:
            p, k = event.noise_parameter, event.num_buckets
            if not 0 <= p <= 1 or k < 1:
                raise ValueError(f"noise_parameter={p!r}, num_buckets={k!r}: outside the domain")
            if k == 1:
                return 0.0
            return self.response(p, k) if p else math.inf
        raise NotImplementedError(f"no pure epsilon of {event!r} under {self._relation}")

    @property
    def move(self) -> float:
        """How far a record moves a sum."""
        return 2.0 if self._relation is REPLACE else 1.0

    def response(self, p: float, buckets: int) -> float:
        """Pure ε of randomized response."""
        return math.log1p(buckets * (1 - p) / p)

    def get_epsilon(self, target_delta: float) -> float:
        if not 0 <= target_delta <= 1:
            raise ValueError(f"target_delta={target_delta!r}: must be in [0, 1]")
        if target_delta == 1:
            return 0.0
        return self.total(target_delta) * (1 + 1e-12)

    def total(self, target_delta: float) -> float:
        """The sum of all."""
        return math.fsum(loss * count for loss, count in self._losses)


class LaplaceMovesByOne(PureAccountant):
    """A replaced record moves a sum as far as an added one."""

    @property
    def move(self) -> float:
        return 1.0


class BucketsIgnored(PureAccountant):
    """Randomized response as if there were two buckets."""

    def response(self, p: float, buckets: int) -> float:
        return math.log1p(2 * (1 - p) / p)


class FlipProbability(PureAccountant):
    """p read as the chance of another bucket, log((1 - p)/p)."""

    def response(self, p: float, buckets: int) -> float:
        return math.log((1 - p) / p) if p < 0.5 else 0.0


class ResponsesOnce(PureAccountant):
    """A repeated randomized response counts once."""

    def found(self, event: Any, count: int) -> list[tuple[float, int]]:
        if isinstance(event, dp.RandomizedResponseDpEvent):
            count = min(count, 1)
        return super().found(event, count)


class AdvancedWithoutDrift(PureAccountant):
    """Advanced composition without its second term, sum ε (exp(ε) - 1)."""

    def total(self, target_delta: float) -> float:
        squares = math.fsum(count * loss**2 for loss, count in self._losses)
        basic = super().total(target_delta)
        if target_delta == 0:
            return basic
        return min(basic, math.sqrt(2 * math.log(1 / target_delta) * squares))


class DearestOnly(PureAccountant):
    """A composition of different events costs what its dearest one does."""

    def total(self, target_delta: float) -> float:
        return max((loss * count for loss, count in self._losses), default=0.0)
