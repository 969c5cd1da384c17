"""Inputs of the laws about batches of fixed size."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from accountants import ExactAccountant, NeighboringRelation
from accountants.events import dp_sgd_event, sampled_gaussian_event
from accountants.sampling import (
    Sampling,
    ShuffledEpochs,
    WeightedWithReplacement,
    WithoutReplacement,
    WithReplacement,
)
from tests.properties.strategies import log_uniform

SCHEMES = ("without", "with", "weighted", "shuffled")
RELATIONS = tuple(NeighboringRelation)


@dataclass(frozen=True)
class Batches:
    """Equal steps on batches of ``m`` out of ``n`` records."""

    scheme: str
    n: int
    m: int
    sigma: float
    steps: int

    @property
    def sampling(self) -> Sampling:
        if self.scheme == "without":
            return WithoutReplacement(self.n, self.m)
        if self.scheme == "with":
            return WithReplacement(self.n, self.m)
        if self.scheme == "weighted":
            return WeightedWithReplacement(1 / self.n, self.m)
        return ShuffledEpochs(self.n, self.m)

    @property
    def event(self) -> Any:
        return dp_sgd_event(sampling=self.sampling, noise_multiplier=self.sigma, steps=self.steps)

    @property
    def step(self) -> Any:
        """One use: a release, or an epoch."""
        return sampled_gaussian_event(sampling=self.sampling, noise_multiplier=self.sigma)

    def under(self, relation: NeighboringRelation) -> ExactAccountant:
        """An accountant that has composed this run."""
        return ExactAccountant(relation).compose(self.event)

    def but(self, **changes: Any) -> Batches:
        """The same with other numbers."""
        return dataclasses.replace(self, **changes)


@st.composite
def batches(draw: st.DrawFn, schemes: tuple[str, ...] = SCHEMES) -> Batches:
    """Runs that the fast engine answers in milliseconds: one step, or many uses of a record."""
    scheme = draw(st.sampled_from(schemes))
    m = draw(st.integers(1, 300))
    n = max(m + 1, 2, round(m / draw(log_uniform(2e-3, 0.5))))
    sigma = draw(log_uniform(1.0, 40.0))
    if scheme == "shuffled":
        size = -(-n // m)
        return Batches(scheme, n, m, sigma, size * draw(st.integers(1, 50)))
    if draw(st.integers(0, 4)) == 0:
        return Batches(scheme, n, m, sigma, 1)
    fewest = max(100.0, 30.0 * n / m)
    return Batches(scheme, n, m, sigma, int(draw(log_uniform(fewest, 1e5))))


def covered(run: Batches, relation: NeighboringRelation) -> bool:
    """Whether the scheme has a theorem under the relation."""
    return run.scheme != "shuffled" or relation is not NeighboringRelation.ADD_OR_REMOVE_ONE


def whole(run: Batches) -> int:
    """Uses of ``step`` that make the run."""
    return run.steps // math.ceil(run.n / run.m) if run.scheme == "shuffled" else run.steps
