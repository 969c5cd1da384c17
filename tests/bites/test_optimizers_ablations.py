"""Broken forms of DP²'s ablations, and wrong accounts of them, that must be caught."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.optimizers.variants import Dp2RmsPropExtraNoise, Dp2RmsPropNoiseFirst
from dp2theory.problems.protocol import Array
from tests.optimizers import adaptive_cases as cases
from tests.optimizers import literal_adaptive as literal

Moved = tuple[Array, OptimizerState]


class PreconditionsFirst(Dp2RmsPropNoiseFirst):
    """Is DP² after all."""

    def query(self, state: OptimizerState) -> Query:
        query = super().query(state)
        if self.phases.is_sgd(state.step):
            return query
        return replace(query, preconditioner=state.arrays["preconditioner"])

    def direction(self, state: OptimizerState, released: Array) -> Array:
        return released


class DividesTwice(PreconditionsFirst):
    """Divides before and after."""

    def direction(self, state: OptimizerState, released: Array) -> Array:
        return released / state.arrays["preconditioner"]


@pytest.mark.parametrize("broken", [PreconditionsFirst, DividesTwice])
def test_the_plain_loop_of_ablation_2_disagrees(broken: type[Any]) -> None:
    with pytest.raises(AssertionError):
        cases.check_delayed(
            broken, literal.rmsprop, cases.NOISE_FIRST, {"delay": 3}, noise_first=True
        )


class OneReleaseOnly(Dp2RmsPropExtraNoise):
    """Moves by the plain release over D: ablation 2's step, at half ablation 1's cost."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        moved, new = super().apply(parameters, state, released)
        if new.stage == 0:
            return moved, new
        return super().apply(parameters, new, released / state.arrays["preconditioner"])


class FreshBatch(Dp2RmsPropExtraNoise):
    """Draws a second batch: other data than the ledger's one batch a step."""

    def query(self, state: OptimizerState) -> Query:
        return replace(super().query(state), records="new-batch")


class LearnsFromTheSecond(Dp2RmsPropExtraNoise):
    """Sums the preconditioned releases as well."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        if state.stage == 1:
            total = state.arrays["gradient_sum"] + released
            state = replace(state, arrays={**state.arrays, "gradient_sum": total})
        return super().apply(parameters, state, released)


class AdaptsAtOnce(Dp2RmsPropExtraNoise):
    """Uses D = damping before there was a renewal."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        late = replace(state, step=state.step + self.delay)
        moved, new = super().apply(parameters, late, released)
        return moved, replace(new, step=new.step - self.delay)


class HalfNoise(Dp2RmsPropExtraNoise):
    """Noises the second release half as much."""

    def query(self, state: OptimizerState) -> Query:
        query = super().query(state)
        return replace(query, noise_multiplier=query.noise_multiplier / (1 + state.stage))


class SecondInTheClear(Dp2RmsPropExtraNoise):
    """Leaves the noise of the second release out."""

    def query(self, state: OptimizerState) -> Query:
        query = super().query(state)
        return replace(query, noise_multiplier=0.0) if state.stage else query


ABLATION_1 = [
    OneReleaseOnly,
    FreshBatch,
    LearnsFromTheSecond,
    AdaptsAtOnce,
    HalfNoise,
    SecondInTheClear,
]


@pytest.mark.parametrize("broken", ABLATION_1)
def test_the_plain_loop_of_ablation_1_disagrees(broken: type[Any]) -> None:
    with pytest.raises(AssertionError):
        cases.check_extra_noise(broken, 3)


@pytest.mark.parametrize(
    "broken", [OneReleaseOnly, FreshBatch, AdaptsAtOnce, HalfNoise, SecondInTheClear]
)
def test_what_ablation_1_costs_is_not_what_these_cost(broken: type[Any]) -> None:
    def two(t: int) -> int:
        return 2 if t >= 3 else 1

    with pytest.raises(AssertionError):
        cases.check_executed_ledger(broken(**cases.EXTRA_NOISE), two)


@pytest.mark.parametrize("broken", [HalfNoise, SecondInTheClear])
def test_the_noise_law_of_ablation_1_fails(broken: type[Any]) -> None:
    with pytest.raises(AssertionError):
        cases.check_two_independent_releases(broken)


def test_ablation_1_is_not_accounted_as_dp_sgd() -> None:
    with pytest.raises(AssertionError):
        cases.check_executed_ledger(Dp2RmsPropExtraNoise(**cases.EXTRA_NOISE), lambda t: 1)


def test_a_ledger_that_forgets_the_second_release_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dp2theory.optimizers import ledger

    def first_only(multipliers: Any) -> float:
        return float(multipliers[0])

    # The check keeps the right function by name; the ledger calls the broken one.
    monkeypatch.setattr(ledger, "joint_noise_multiplier", first_only)
    with pytest.raises(AssertionError):
        cases.check_executed_ledger(
            Dp2RmsPropExtraNoise(**cases.EXTRA_NOISE), lambda t: 2 if t >= 3 else 1
        )


def test_the_frame_of_the_broken_ones_is_right() -> None:
    """Subclasses that change nothing pass the checks that catch the others."""

    class Same(Dp2RmsPropExtraNoise):
        def query(self, state: OptimizerState) -> Query:
            return super().query(state)

    cases.check_extra_noise(Same, 3)
    cases.check_two_independent_releases(Same)
