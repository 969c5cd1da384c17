"""Functions that tell who read the data, and when."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dp2theory.resque.functions import Array, IndexArray, Recorded


class DataReadError(AssertionError):
    """Somebody read the data who must not."""


@dataclass
class Spy:
    """A function over records that lists its queries; `value` is forbidden.

    Parts of it write into the same lists.
    """

    inner: Recorded
    queries: list[int] = field(default_factory=list)
    asked: list[IndexArray] = field(default_factory=list)
    parts: list[IndexArray] = field(default_factory=list)
    locked: list[bool] = field(default_factory=lambda: [False])

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    @property
    def sample_size(self) -> int:
        return self.inner.sample_size

    @property
    def lipschitz(self) -> float:
        return self.inner.lipschitz

    @property
    def start(self) -> Array:
        return self.inner.start

    @property
    def radius(self) -> float:
        return self.inner.radius

    @property
    def optimal_value(self) -> float | None:
        return None

    def value(self, x: Array) -> float:
        raise DataReadError("value() was called in the private path")

    def subgradients(self, points: Array, samples: IndexArray) -> Array:
        if self.locked[0]:
            raise DataReadError("the data were queried where they must not")
        self.queries.append(len(samples))
        self.asked.append(np.array(samples))
        return self.inner.subgradients(points, samples)

    def part(self, records: IndexArray) -> Spy:
        self.parts.append(np.array(records))
        return Spy(self.inner.part(records), self.queries, self.asked, self.parts, self.locked)
