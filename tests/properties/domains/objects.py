"""Usual values of arguments that are objects, by how they are annotated."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import dp_accounting
import numpy as np

from accountants import Bracket, ExactAccountant, NeighboringRelation
from accountants.copies import CopyLaw
from accountants.sampling import Poisson
from accountants.tcdp.curve import TruncatedCdp
from accountants.walk import Release
from dp2theory.optimizers.batches import make_sampler
from dp2theory.optimizers.grid_context import GridContext
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.planning.blocks import BlockMeans
from dp2theory.planning.budget import Budget
from dp2theory.planning.methods import Settings
from dp2theory.planning.pilot import PilotState, run_pilot
from dp2theory.problems.convex import least_absolute_deviations
from dp2theory.problems.protocol import Problem
from dp2theory.problems.public import PublicData, split_public
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.counters import Counter
from dp2theory.resque.distances import MaxDistance
from dp2theory.resque.functions import StochasticFunction
from dp2theory.resque.named_functions import absolute
from tests.properties.domains.names import D, N


def gaussian() -> Any:
    """One release."""
    return dp_accounting.GaussianDpEvent(1.0)


@cache
def problem() -> Problem:
    """n = 40, d = 5, convex."""
    return least_absolute_deviations(N, D, 1)


@cache
def public() -> PublicData:
    """The public part of it."""
    return split_public(problem(), share=0.2, seed=1)[1]


def budget() -> Budget:
    """Of six steps on the problem."""
    return Budget(N, 4, 6, 3.0, 1e-3)


@cache
def pilot() -> PilotState:
    """A whole pilot on the problem."""
    return run_pilot(
        problem(), budget(), noise_multiplier=1.0, clip_norm=1.0, learning_rate=0.1, seed=0
    )


def function() -> StochasticFunction:
    """The distance to a centre in the largest coordinate."""
    return MaxDistance(np.full(D, 0.1))


@cache
def loss() -> Any:
    """l1 regression on 40 records."""
    return absolute(records=N, dimension=D, seed=0)


def blocks() -> BlockMeans:
    """Ten vectors of zeros."""
    found = BlockMeans(D)
    for row in np.eye(10, D):
        found.add(row)
    return found


OBJECTS: dict[str, Callable[[], Any]] = {
    "Bracket": lambda: Bracket(0.5, 1.0),
    "BlockMeans": blocks,
    "Budget": budget,
    "Callable[[int], dp_accounting.DpEvent]": lambda: (
        lambda steps: dp_accounting.SelfComposedDpEvent(
            dp_accounting.PoissonSampledDpEvent(0.1, gaussian()), steps
        )
    ),
    "Callable[[float], DpEvent]": lambda: lambda sigma: dp_accounting.GaussianDpEvent(sigma),
    "Callable[[float], dp_accounting.DpEvent]": lambda: dp_accounting.GaussianDpEvent,
    "CopyLaw": lambda: CopyLaw.of(10, 0.1, largest=5),
    "Counter": Counter,
    "DpEvent": gaussian,
    "GridContext": lambda: GridContext(1.0, 6, base=DpSgd(0.1, 1.0, 1.0)),
    "IndexArray": lambda: np.arange(3),
    "LinearLoss": loss,
    "AbsoluteLoss": loss,
    "MakeEvent": lambda: dp_accounting.GaussianDpEvent,
    "Mapping[str, Any]": dict,
    "NeighboringRelation": lambda: NeighboringRelation.ADD_OR_REMOVE_ONE,
    "Optimizer": lambda: DpSgd(0.1, 1.0, 1.0),
    "OptimizerState": OptimizerState,
    "PilotState": pilot,
    "PrivacyAccountant": lambda: ExactAccountant().compose(gaussian()),
    "PrivateConstants": PrivateConstants,
    "Problem": problem,
    "ProximalFunction": function,
    "PublicData": public,
    "Query": lambda: Query(1.0, 1.0),
    "Recorded": loss,
    "Release": lambda: Release(Poisson(0.1), 1.0),
    "Sampler": lambda: make_sampler(Poisson(0.1), N),
    "Sampling": lambda: Poisson(0.1),
    "Settings": Settings,
    "StochasticFunction": function,
    "TruncatedCdp": lambda: TruncatedCdp(0.5, 8.0),
    "dp_accounting.DpEvent": gaussian,
    "np.random.Generator": lambda: np.random.default_rng(5),
}
