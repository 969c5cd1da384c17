"""Broken geometry snapshots that the checks of tests/optimizers must catch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dp2theory.optimizers import statistics
from dp2theory.optimizers.ledger import Ledger
from dp2theory.optimizers.snapshot import Snapshot
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array, IndexArray, Problem
from tests.optimizers import snapshot_checks

Moved = tuple[Array, OptimizerState]


class HalvedNoise(Snapshot):
    """Adds half the noise that the setting says."""

    def query(self, state: OptimizerState) -> Query:
        query = super().query(state)
        if query.statistic == "squared-gradient":
            return replace(query, noise_multiplier=query.noise_multiplier / 2)
        return query


class OnTheBatch(Snapshot):
    """Takes the snapshot of a batch, as if that were all records."""

    def query(self, state: OptimizerState) -> Query:
        query = super().query(state)
        return replace(query, records="new-batch") if query.records == "all" else query


class NeverRenewed(Snapshot):
    """Pays for every snapshot and keeps the first."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        moved, new = super().apply(parameters, state, released)
        if state.step > 0 and new.step == state.step:
            new = replace(new, arrays=state.arrays)
        return moved, new


class RenewedTooOften(Snapshot):
    """Takes one snapshot more than it was asked for."""

    def takes_snapshot(self, step: int) -> bool:
        return super().takes_snapshot(step) or step == STEPS_AFTER


STEPS_AFTER = 6


class FloorForgotten(Snapshot):
    """Divides by roots of squares without a floor (raised to something tiny)."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        lowered = replace(self, floor=1e-6)
        return Snapshot.apply(lowered, parameters, state, released)


class NoiseFirst(Snapshot):
    """Divides the released gradient, after clipping and noise (order 1)."""

    def query(self, state: OptimizerState) -> Query:
        return replace(super().query(state), preconditioner=None)

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        if self._kind(state) == "gradient":
            released = released / state.arrays["preconditioner"]
        return super().apply(parameters, state, released)


class NotNormalised(Snapshot):
    """Leaves out the factor that makes the mean of 1/D one."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        moved, new = super().apply(parameters, state, released)
        if new.step == state.step and self._kind(state) == "snapshot":
            noise = self.snapshot_noise_multiplier * state.numbers["statistic_clip_norm"]
            raised = np.maximum(released, self.floor * noise) ** self.exponent
            new = replace(new, arrays={"preconditioner": raised})
        return moved, new


@pytest.mark.parametrize(
    "broken",
    [HalvedNoise, OnTheBatch, NeverRenewed, RenewedTooOften, FloorForgotten, NoiseFirst,
     NotNormalised],
)  # fmt: skip
def test_the_literal_loop_catches(broken: type[Snapshot]) -> None:
    with pytest.raises(AssertionError):
        snapshot_checks.check_against_the_literal_loop(broken)


@pytest.mark.parametrize("broken", [HalvedNoise, OnTheBatch, RenewedTooOften])
def test_the_ledger_catches(broken: type[Snapshot]) -> None:
    with pytest.raises(AssertionError):
        snapshot_checks.check_ledger(broken)


def test_the_noise_law_catches_halved_noise() -> None:
    with pytest.raises(AssertionError):
        snapshot_checks.check_noise_law(HalvedNoise)


def _forgets_full_releases(self: Ledger, query: Query) -> None:
    if query.records != "all":
        _ADD(self, query)


def _forgets_the_histogram(self: Ledger, query: Query) -> None:
    if query.statistic != "squared-norm-histogram":
        _ADD(self, query)


def _counts_the_snapshot_as_sampled(self: Ledger, query: Query) -> None:
    _ADD(self, replace(query, records="new-batch") if query.records == "all" else query)


_ADD = Ledger.add


@pytest.mark.parametrize(
    "add", [_forgets_full_releases, _forgets_the_histogram, _counts_the_snapshot_as_sampled]
)
def test_the_check_catches_a_ledger_that_forgets(
    add: Callable[[Ledger, Query], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_checks.check_ledger()
    monkeypatch.setattr(Ledger, "add", add)
    with pytest.raises(AssertionError):
        snapshot_checks.check_ledger()


def _unclipped(problem: Problem, parameters: Array, batch: IndexArray, query: Query) -> Array:
    return _SQUARES(problem, parameters, batch, replace(query, clip_norm=np.inf))


def _mean(problem: Problem, parameters: Array, batch: IndexArray, query: Query) -> Array:
    return _SQUARES(problem, parameters, batch, query) / batch.size


_SQUARES = statistics.STATISTICS["squared-gradient"]


@pytest.mark.parametrize("statistic", [_unclipped, _mean])
def test_the_literal_loop_catches_a_wrong_statistic(
    statistic: statistics.Statistic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(statistics.STATISTICS, "squared-gradient", statistic)
    with pytest.raises(AssertionError):
        snapshot_checks.check_against_the_literal_loop()


def test_the_literal_loop_catches_a_histogram_that_counts_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inner = statistics.STATISTICS["squared-norm-histogram"]
    monkeypatch.setitem(
        statistics.STATISTICS, "squared-norm-histogram", lambda *given: 2 * inner(*given)
    )
    with pytest.raises(AssertionError):
        snapshot_checks.check_against_the_literal_loop()
