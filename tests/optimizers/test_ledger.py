"""The ledger: what it counts, in which unit, and that it can be foretold."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from dp_accounting import ComposedDpEvent, GaussianDpEvent, SelfComposedDpEvent
from hypothesis import given
from hypothesis import strategies as st

from accountants import ExactAccountant
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson, WithoutReplacement, WithReplacement
from dp2theory.optimizers.batches import make_sampler
from dp2theory.optimizers.ledger import Ledger, joint_noise_multiplier, planned_event
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.registry import METHODS, is_private, needs_public_data
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.statistics import LENGTHS
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.planning.methods import Settings, make_optimizer
from dp2theory.problems.protocol import Array
from tests.optimizers.checks import small_problem

SAMPLINGS = [Poisson(0.1), WithoutReplacement(60, 6), WithReplacement(60, 6)]


@dataclass(frozen=True)
class Busy:
    """Every third step a release over all records first, then two releases on one batch."""

    name: ClassVar[str] = "busy"
    noise_multiplier: float = 1.5
    full_noise: float = 8.0
    second_noise: float = 2.0

    def initial_state(self, dimension: int) -> OptimizerState:
        return OptimizerState(stage=0)

    def _first(self, state: OptimizerState) -> int:
        return 0 if state.step % 3 == 0 else 1

    def query(self, state: OptimizerState) -> Query:
        place = state.stage + self._first(state)
        if place == 0:
            return Query(1.0, self.full_noise, records="all")
        if place == 1:
            return Query(1.0, self.noise_multiplier)
        return Query(0.5, self.second_noise, records="same-batch")

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        if state.stage + self._first(state) == 2:
            return parameters - 0.1 * released, OptimizerState(state.step + 1)
        return parameters, replace(state, stage=state.stage + 1)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_plain_steps_are_the_event_of_dp_sgd(sampling: object) -> None:
    made = planned_event(DpSgd(1.0, 1.0, 1.3), sampling, 60, 7)  # type: ignore[arg-type]
    assert made == dp_sgd_event(sampling=sampling, noise_multiplier=1.3, steps=7)  # type: ignore[arg-type]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_what_was_executed_is_what_was_foretold(sampling: object) -> None:
    problem = small_problem(1)
    if not isinstance(sampling, Poisson):
        sampling = replace(sampling, dataset_size=problem.dataset_size)  # type: ignore[type-var]
    result = run(Busy(), problem, sampling=sampling, steps=7, rng=0)  # type: ignore[arg-type]
    assert result.steps == 7
    assert result.ledger == planned_event(Busy(), sampling, problem.dataset_size, 7)  # type: ignore[arg-type]
    joint = joint_noise_multiplier((1.5, 2.0))
    assert result.ledger == ComposedDpEvent(
        [
            SelfComposedDpEvent(GaussianDpEvent(8.0), 3),
            dp_sgd_event(sampling=sampling, noise_multiplier=joint, steps=7),  # type: ignore[arg-type]
        ]
    )


def test_no_step_is_no_release() -> None:
    event = planned_event(DpSgd(1.0, 1.0, 1.3), Poisson(0.1), 60, 0)
    assert event.count == 0
    accountant = ExactAccountant()
    accountant.compose(event)
    assert accountant.get_epsilon(1e-5) == 0


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5))
def test_a_stack_is_no_dearer_than_one_release_of_the_joint_multiplier(sigmas: list[float]) -> None:
    joint = joint_noise_multiplier(sigmas)
    exact = 1 / math.sqrt(math.fsum(1 / sigma**2 for sigma in sigmas))
    assert joint <= exact * (1 + 1e-15)
    assert joint == pytest.approx(exact, rel=1e-14)
    assert joint_noise_multiplier([*sigmas, 0.0]) == 0.0


def test_two_unsampled_releases_cost_what_their_composition_costs() -> None:
    def epsilon(event: object) -> float:
        accountant = ExactAccountant()
        accountant.compose(event)
        return accountant.get_epsilon(1e-6)

    apart = ComposedDpEvent([GaussianDpEvent(3.0), GaussianDpEvent(5.0)])
    together = GaussianDpEvent(joint_noise_multiplier((3.0, 5.0)))
    assert epsilon(together) == pytest.approx(epsilon(apart), rel=1e-9)


def test_a_second_release_on_one_batch_is_dearer_than_on_another_batch() -> None:
    """Sampled once: two releases on one batch are dearer than two on batches drawn apart."""

    def epsilon(sigma: float, steps: int) -> float:
        accountant = ExactAccountant()
        accountant.compose(
            dp_sgd_event(sampling=Poisson(0.05), noise_multiplier=sigma, steps=steps)
        )
        return accountant.get_epsilon(1e-6)

    joint = joint_noise_multiplier((1.0, 1.0))
    assert epsilon(joint, 10) > epsilon(1.0, 20) > epsilon(1.0, 10)


def test_requests_that_make_no_sense_are_refused() -> None:
    ledger = Ledger(make_sampler(Poisson(0.1), 60))
    with pytest.raises(ValueError, match="before any batch"):
        ledger.add(Query(1.0, 1.0, records="same-batch"))
    with pytest.raises(ValueError, match="records='some' must be one of"):
        ledger.add(Query(1.0, 1.0, records="some"))  # type: ignore[arg-type]


def test_runs_that_nobody_makes_are_not_foretold_for_ever() -> None:
    with pytest.raises(ValueError, match="steps=1000000000000 must be"):
        planned_event(DpSgd(1.0, 1.0, 1.0), Poisson(0.1), 60, 10**12)


def test_releases_over_all_records_are_sums_over_all_of_them() -> None:
    problem, seen = small_problem(1), []

    def keep(_step: int, released: Array) -> None:
        seen.append(released.copy())

    quiet = Busy(noise_multiplier=1e-9, full_noise=1e-9, second_noise=1e-9)
    run(quiet, problem, sampling=Poisson(0.2), steps=1, rng=0, on_release=keep)
    everybody = np.arange(problem.dataset_size)
    expected = problem.clipped_gradient_sum(np.zeros(problem.dimension), everybody, clip_norm=1.0)
    np.testing.assert_allclose(seen[0], expected, atol=1e-6)
    # Both releases on the batch: gradients shorter than both clip norms would be the same.
    assert len(seen) == 3


# Methods with side information make one release a step.
@pytest.mark.parametrize(
    "method", [name for name in METHODS if is_private(name) and not needs_public_data(name)]
)
def test_queries_on_one_batch_are_fixed_before_the_first_is_answered(method: str) -> None:
    optimizer = make_optimizer(
        method, Settings(), noise_multiplier=1.0, steps=12, expected_batch_size=5.0
    )
    rng, dimension = np.random.default_rng(0), 4
    parameters, state = np.zeros(dimension), optimizer.initial_state(dimension)
    while state.step < 12:
        query = optimizer.query(state)
        length = LENGTHS.get(query.statistic, dimension)
        releases = rng.standard_normal((2, length))
        outcomes = [optimizer.apply(parameters, state, release) for release in releases]
        (_, one), (_, other) = outcomes
        assert (one.step, one.stage) == (other.step, other.stage)
        first, second = optimizer.query(one), optimizer.query(other)
        assert first.records == second.records
        assert first.noise_multiplier == second.noise_multiplier
        if first.records == "same-batch":
            assert first.clip_norm == second.clip_norm
            np.testing.assert_array_equal(first.preconditioner, second.preconditioner)
        parameters, state = outcomes[0]
