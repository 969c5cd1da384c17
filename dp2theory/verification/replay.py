"""What an attacker who knows the optimizer makes of the releases of one run.

He feeds them to the optimizer himself and so knows what each release was asked to be, and what
the differing record and the others add to it. A private optimizer is a function of its releases.
One that holds its data set is made anew from either data set, and then the two replays differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dp2theory.optimizers.statistics import statistic_named
from dp2theory.optimizers.steps import Optimizer, OptimizerState, Query
from dp2theory.problems.protocol import Array, Problem
from dp2theory.verification.neighbours import Neighbours

#: Makes the optimizer that runs on a data set. A private one is the same on all.
MakeOptimizer: TypeAlias = Callable[[Problem], Optimizer]

#: What is said of an optimizer whose releases are no ledger.
VARYING = (
    "optimizer: its queries differ from run to run in their records, statistic or noise "
    "multiplier, which may depend on step and stage only"
)

# Where a query asks for no noise, the attacker takes this much (in clip norms) in its place.
_NO_NOISE = 1e-6


@dataclass(frozen=True)
class Kind:
    """What may be known of a release before the run: equal in every run, or it is no ledger.

    Attributes
    ----------
    step : int
        In which it was made.
    records : str
        Which records it is of.
    statistic : str
        What was summed.
    noise_multiplier : float
        Noise std over the clip norm.
    """

    step: int
    records: str
    statistic: str
    noise_multiplier: float


@dataclass(frozen=True, eq=False)
class Seen:
    """One run in the attacker's eyes.

    Attributes
    ----------
    releases : list of tuples
        Of each release: the noisy sum (release times public divisor); on either data set the
        noise standard deviation asked for, shape (2,), what a copy of the differing record adds,
        and what another record adds.
    strays : list of float
        How far parameters and state at the end are from the replay on either data set.
    drift : ndarray
        Parameters less those of the replay on the first data set.
    """

    releases: list[tuple[Array, Array, tuple[Array, Array], tuple[Array, Array]]]
    strays: list[float]
    drift: Array


@dataclass(frozen=True, eq=False)
class _Asked:
    step: int
    query: Query
    parameters: Array

    @property
    def kind(self) -> Kind:
        query = self.query
        return Kind(self.step, query.records, query.statistic, float(query.noise_multiplier))

    @property
    def scale(self) -> float:
        return max(self.query.noise_multiplier, _NO_NOISE) * self.query.clip_norm


@dataclass(frozen=True, eq=False)
class _Replay:
    parameters: Array
    state: OptimizerState
    asked: list[_Asked]


class Replayer:
    """Replays runs of an optimizer on either of two data sets.

    Parameters
    ----------
    make : callable
        Answers the optimizer for a data set.
    neighbours : Neighbours
    """

    def __init__(self, make: MakeOptimizer, neighbours: Neighbours) -> None:
        self._make, self._neighbours = make, neighbours
        made = [make(side.problem) for side in neighbours.sides]
        # One object for both data sets: one replay serves, and one look at the other records.
        self._shared = made[0] is made[1]
        self._known: dict[tuple[str, float], tuple[tuple[Array, Array], tuple[Array, Array]]] = {}
        self.kinds: tuple[Kind, ...] = ()

    def __call__(self, kept: Sequence[Array], parameters: Array, state: OptimizerState) -> Seen:
        """Return a run as it is seen, given its releases and what it ended with."""
        first = self._replay(kept, 0)
        second = first if self._shared else self._replay(kept, 1)
        kinds = tuple(asked.kind for asked in first.asked)
        if kinds != (self.kinds or kinds):
            raise ValueError(VARYING)
        self.kinds = kinds
        releases = []
        for released, *asked in zip(kept, first.asked, second.asked, strict=True):
            whole = asked[0].kind.records == "all"
            total = released if whole else released * self._neighbours.expected_batch_size
            scales = np.array([question.scale for question in asked])
            releases.append((total, scales, *self._parts(asked)))
        strays = [_stray(parameters, state, replay) for replay in (first, second)]
        return Seen(releases, strays, parameters - first.parameters)

    def _replay(self, kept: Sequence[Array], side: int) -> _Replay:
        problem = self._neighbours.sides[side].problem
        optimizer = self._make(problem)
        parameters = np.zeros(problem.dimension)
        state = optimizer.initial_state(problem.dimension)
        asked = []
        # Overflow in parameters that nobody uses any more is no news, as in `run`.
        with np.errstate(over="ignore", invalid="ignore"):
            for released in kept:
                query = optimizer.query(state)
                asked.append(_Asked(state.step, query, parameters))
                parameters, state = optimizer.apply(parameters, state, released)
        return _Replay(parameters, state, asked)

    def _parts(self, asked: list[_Asked]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """What the record and one of the others add to the sum that a query asks for.

        Gradients do not depend on parameters here, so that it is known once for all queries
        without a preconditioner.
        """
        query = asked[0].query
        plain = self._shared and query.preconditioner is None
        key = query.statistic, query.clip_norm
        if plain and key in self._known:
            return self._known[key]
        others = [self._added(0, asked[0], last=True)]
        others.append(others[0] if self._shared else self._added(1, asked[1], last=True))
        records = [
            self._added(side, question, last=False)
            if self._neighbours.sides[side].present
            else np.zeros_like(others[side])
            for side, question in enumerate(asked)
        ]
        parts = (records[0], records[1]), (others[0], others[1])
        if plain:
            self._known[key] = parts
        return parts

    def _added(self, side: int, asked: _Asked, *, last: bool) -> Array:
        problem, query = self._neighbours.sides[side].problem, asked.query
        record = np.array([problem.dataset_size - 1 if last else 0])
        return statistic_named(query.statistic)(problem, asked.parameters, record, query)


def _stray(parameters: Array, state: OptimizerState, replay: _Replay) -> float:
    """Largest relative difference between what a run ended with and its replay; 0 if equal."""
    again = replay.state.arrays
    gaps = [_relative(array, again[name]) for name, array in state.arrays.items() if name in again]
    return max([_relative(parameters, replay.parameters), *gaps])


def _relative(one: Array, other: Array) -> float:
    if one.shape != other.shape:
        return 1.0
    if np.array_equal(one, other, equal_nan=True):
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(one).max() + np.abs(other).max()
        gap = float(np.abs(one - other).max() / size)
    return gap if np.isfinite(gap) else 1.0
