"""Inputs of the laws: log-uniform over the range in which one answer takes milliseconds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hypothesis import strategies as st

from accountants import ExactAccountant, NeighboringRelation
from tests.accountants.checks import run


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    """Floats whose logarithm is uniform on [low, high]."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


@dataclass(frozen=True)
class Sides:
    """A relation with a direction."""

    relation: NeighboringRelation
    direction: str

    def accountant(self) -> ExactAccountant:
        """A fresh accountant."""
        return ExactAccountant(self.relation, self.direction)


SIDES = st.sampled_from(
    [
        Sides(NeighboringRelation.ADD_OR_REMOVE_ONE, "both"),
        Sides(NeighboringRelation.ADD_OR_REMOVE_ONE, "remove"),
        Sides(NeighboringRelation.ADD_OR_REMOVE_ONE, "add"),
        Sides(NeighboringRelation.REPLACE_ONE, "both"),
        Sides(NeighboringRelation.REPLACE_SPECIAL, "both"),
    ]
)


@dataclass(frozen=True)
class Run:
    """Equal steps of DP-SGD."""

    q: float
    sigma: float
    steps: int

    def under(self, sides: Sides) -> ExactAccountant:
        """An accountant that has composed this run."""
        return sides.accountant().compose(run(self.q, self.sigma, self.steps))


@st.composite
def runs(draw: st.DrawFn, most_steps: float = 1e6) -> Run:
    """Runs with one step or with enough of them for the fast engine, sampled or not."""
    kind = draw(st.sampled_from(["many", "many", "many", "single", "unsampled"]))
    sigma = draw(log_uniform(0.6, 60.0))
    if kind == "single":
        return Run(draw(log_uniform(1e-5, 1.0)), sigma, 1)
    if kind == "unsampled":
        return Run(1.0, sigma, draw(st.integers(1, 10_000)))
    q = draw(log_uniform(2e-3, 0.5))
    fewest = max(100.0, 30.0 / q)
    return Run(q, sigma, int(draw(log_uniform(fewest, max(most_steps, 2 * fewest)))))


DELTAS = log_uniform(1e-15, 1e-2)
