"""The private geometry snapshot: law, ledger, preconditioner, settings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import ExactAccountant
from accountants.sampling import Poisson, WithoutReplacement
from dp2theory.optimizers.grid_context import GridContext
from dp2theory.optimizers.grids import grid_of, grid_size
from dp2theory.optimizers.ledger import planned_event
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.snapshot import Snapshot, snapshot_preconditioner
from dp2theory.optimizers.snapshot_rule import (
    HISTOGRAM_SHARE,
    SNAPSHOT_SHARE,
    equal_period,
    rule_settings,
    whole_budget_multiplier,
)
from dp2theory.optimizers.statistics import statistic_named
from dp2theory.optimizers.steps import Query
from dp2theory.planning.budget import Budget
from dp2theory.planning.methods import (
    Settings,
    calibrate_method,
    make_optimizer,
    planned_event_of,
    with_budget_settings,
)
from dp2theory.problems.squares import BINS, squared_gradient_norms
from tests.optimizers.checks import small_problem
from tests.optimizers.snapshot_checks import (
    SETTINGS,
    check_against_the_literal_loop,
    check_ledger,
    check_noise_law,
)


def made(**changes: Any) -> Snapshot:
    return Snapshot(**SETTINGS | changes)


def test_it_is_the_literal_loop() -> None:
    check_against_the_literal_loop()


def test_the_ledger_is_what_was_executed() -> None:
    check_ledger()


def test_the_noise_has_the_stated_law() -> None:
    check_noise_law()


def test_a_public_clip_norm_needs_no_histogram() -> None:
    optimizer = made(statistic_clip_norm=0.1, histogram_noise_multiplier=None, refreshes=1)
    problem = small_problem(3)
    result = run(optimizer, problem, sampling=Poisson(0.1), steps=4, rng=0)
    assert result.ledger == planned_event(optimizer, Poisson(0.1), problem.dataset_size, 4)
    assert "0.6" not in repr(result.ledger)
    assert repr(result.ledger).count("GaussianDpEvent(noise_multiplier=1.7)") == 1


def test_snapshots_are_equally_spaced() -> None:
    optimizer = made(refreshes=4, period=equal_period(4, 30))
    assert [t for t in range(30) if optimizer.takes_snapshot(t)] == [0, 7, 14, 21]
    assert [t for t in range(9) if made(refreshes=1, period=None).takes_snapshot(t)] == [0]
    for refreshes in range(1, 31):
        optimizer = made(refreshes=refreshes, period=equal_period(refreshes, 30))
        assert sum(map(optimizer.takes_snapshot, range(30))) == refreshes
    with pytest.raises(ValueError, match="refreshes=31"):
        equal_period(31, 30)


def test_every_sampling_counts_the_snapshot_unsampled() -> None:
    problem = small_problem(3)
    sampling = WithoutReplacement(problem.dataset_size, 8)
    result = run(made(), problem, sampling=sampling, steps=3, rng=0)
    assert result.ledger == planned_event(made(), sampling, problem.dataset_size, 3)
    unsampled = [e for e in result.ledger.events if isinstance(e.event, GaussianDpEvent)]
    assert [(e.event.noise_multiplier, e.count) for e in unsampled] == [(0.6, 1), (1.7, 2)]


def test_the_released_clip_norm_is_near_the_quantile() -> None:
    problem = small_problem(3)
    everybody = np.arange(problem.dataset_size)
    wanted = np.quantile(
        squared_gradient_norms(problem, np.zeros(problem.dimension), everybody), 0.9
    )
    for seed in range(20):
        state = run(made(), problem, sampling=Poisson(0.1), steps=1, rng=seed).state
        assert wanted / 2 < state.numbers["statistic_clip_norm"] < 2 * wanted


def test_preconditioner_by_hand() -> None:
    released = np.array([-3.0, 0.5, 4.0, 16.0])
    divisor = snapshot_preconditioner(released, 2.0, 0.5, 0.5)
    roots = np.array([1.0, 1.0, 2.0, 4.0])  # raised to kappa * noise = 1
    np.testing.assert_allclose(divisor, roots * np.mean(1 / roots))
    np.testing.assert_allclose(np.mean(1 / divisor), 1.0)
    np.testing.assert_allclose(snapshot_preconditioner(released, 2.0, 0.0, 0.5), np.ones(4))
    # Squares in other units: the same preconditioner, and no overflow.
    np.testing.assert_allclose(
        snapshot_preconditioner(1e-200 * released, 2e-200, 0.5, 0.5), divisor
    )


def test_a_snapshot_below_its_noise_leaves_dp_sgd() -> None:
    problem = small_problem(3)
    drowned = made(
        snapshot_noise_multiplier=1e6, floor=30.0, statistic_clip_norm=1.0,
        histogram_noise_multiplier=None,
    )  # fmt: skip
    state = run(drowned, problem, sampling=Poisson(0.1), steps=1, rng=0).state
    np.testing.assert_array_equal(state.arrays["preconditioner"], np.ones(problem.dimension))


def test_runs_continue_bit_for_bit() -> None:
    problem, optimizer = small_problem(3), made()
    whole = run(optimizer, problem, sampling=Poisson(0.1), steps=6, rng=np.random.default_rng(4))
    generator = np.random.default_rng(4)
    first = run(optimizer, problem, sampling=Poisson(0.1), steps=3, rng=generator)
    second = run(
        optimizer, problem, sampling=Poisson(0.1), steps=3, rng=generator,
        initial_parameters=first.parameters, initial_state=first.state,
    )  # fmt: skip
    np.testing.assert_array_equal(second.parameters, whole.parameters)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"snapshot_noise_multiplier": 0.0}, "snapshot_noise_multiplier"),
        ({"snapshot_noise_multiplier": math.nan}, "snapshot_noise_multiplier"),
        ({"refreshes": 0}, "refreshes"),
        ({"refreshes": 2, "period": None}, "period"),
        ({"period": 0}, "period"),
        ({"statistic_clip_norm": 1.0}, "exactly one"),
        ({"histogram_noise_multiplier": None}, "exactly one"),
        ({"histogram_noise_multiplier": None, "statistic_clip_norm": -1.0}, "statistic_clip_norm"),
        ({"quantile": 1.0}, "quantile"),
        ({"quantile": 0.0}, "quantile"),
        ({"exponent": 1.5}, "exponent"),
        ({"floor": 0.0}, "floor"),
        ({"clip_norm": math.inf}, "clip_norm"),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made(**changes)


def test_statistics_refuse_what_would_break_their_bound() -> None:
    problem, batch = small_problem(3), np.arange(4)
    start = np.zeros(problem.dimension)
    histogram = statistic_named("squared-norm-histogram")
    with pytest.raises(ValueError, match=r"clip_norm=0\.5 must be 1"):
        histogram(problem, start, batch, Query(0.5, 1.0, statistic="squared-norm-histogram"))
    for name in ("squared-norm-histogram", "squared-gradient"):
        with pytest.raises(ValueError, match="preconditioner must be None"):
            statistic_named(name)(problem, start, batch, Query(1.0, 1.0, start + 1, statistic=name))


BUDGET = Budget(20_000, 256, 1_560, 2.8, 20_000**-1.1)


def test_the_rule_takes_the_stated_share_of_the_budget() -> None:
    sigma_all = whole_budget_multiplier(BUDGET)
    assert BUDGET.account(GaussianDpEvent(sigma_all)).upper == pytest.approx(2.8, rel=1e-6)
    one, four = rule_settings({}, BUDGET), rule_settings({"refreshes": 4}, BUDGET)
    for settings in (one, four):
        taken = settings["refreshes"] * (sigma_all / settings["snapshot_noise_multiplier"]) ** 2
        assert taken == pytest.approx(SNAPSHOT_SHARE)
    assert "period" not in one
    assert four["period"] == 390
    assert (sigma_all / one["histogram_noise_multiplier"]) ** 2 <= HISTOGRAM_SHARE * (1 + 1e-9)
    # Enough to see a tenth of the records above an edge.
    assert 3 * one["histogram_noise_multiplier"] * math.sqrt(BINS) < 0.1 * 20_000
    assert "histogram_noise_multiplier" not in rule_settings({"statistic_clip_norm": 1.0}, BUDGET)


def test_no_snapshot_is_more_exact_than_a_few_records() -> None:
    generous = Budget(20_000, 256, 1_560, 8.0, 20_000**-1.1)
    sigma_all = whole_budget_multiplier(generous)
    one, many = rule_settings({}, generous), rule_settings({"refreshes": 16}, generous)
    assert sigma_all / math.sqrt(SNAPSHOT_SHARE) < one["snapshot_noise_multiplier"] == 4.0
    assert many["snapshot_noise_multiplier"] == sigma_all * math.sqrt(16 / SNAPSHOT_SHARE) > 4.0


def test_the_whole_meets_the_budget_and_costs_little_noise() -> None:
    settings = with_budget_settings("snapshot", Settings(), BUDGET)
    calibration = calibrate_method("snapshot", settings, BUDGET)
    without = BUDGET.calibrate().noise_multiplier
    assert without < calibration.noise_multiplier < 1.03 * without
    event = planned_event_of(
        "snapshot", settings, BUDGET, noise_multiplier=calibration.noise_multiplier
    )
    accountant = ExactAccountant(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(event)
    assert accountant.get_epsilon(BUDGET.target_delta) <= 2.8
    assert accountant.get_epsilon(BUDGET.target_delta) > 2.799


def test_replacing_a_record_is_accounted_as_two_shifts() -> None:
    event = planned_event(made(refreshes=1), Poisson(0.01), 1_000, 5)
    epsilons = []
    for relation, sigma in (
        (NeighboringRelation.REPLACE_ONE, 1.7), (NeighboringRelation.ADD_OR_REMOVE_ONE, 0.85),
    ):  # fmt: skip
        accountant = ExactAccountant(neighboring_relation=relation)
        accountant.compose(GaussianDpEvent(sigma))
        epsilons.append(accountant.get_epsilon(1e-5))
    assert epsilons[0] == pytest.approx(epsilons[1], rel=1e-9)
    replace = ExactAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
    assert replace.supports(event)


def test_defaults_make_a_runnable_optimizer() -> None:
    optimizer = make_optimizer("snapshot", Settings(), noise_multiplier=1.0, steps=10)
    assert isinstance(optimizer, Snapshot)
    assert optimizer.learning_rate * optimizer.clip_norm == 1.0
    several = Settings(more={"refreshes": 4})
    optimizer = make_optimizer("snapshot", several, noise_multiplier=1.0, steps=10)
    assert isinstance(optimizer, Snapshot)
    assert optimizer.period == 2
    with pytest.raises(ValueError, match="refreshes=11"):
        make_optimizer("snapshot", Settings(more={"refreshes": 11}), noise_multiplier=1.0, steps=10)


def test_the_grid_keeps_what_was_fixed() -> None:
    fixed = {"snapshot_noise_multiplier": 5.0, "histogram_noise_multiplier": 40.0, "refreshes": 2}
    context = GridContext(1.1, 100, DpSgd(4.0, 0.5, 1.0), settings=fixed)
    grid = grid_of("snapshot")(context)
    assert len(grid) == grid_size("snapshot") <= 15
    for optimizer in grid:
        assert isinstance(optimizer, Snapshot)
        assert optimizer.noise_multiplier == 1.1
        assert (optimizer.snapshot_noise_multiplier, optimizer.period) == (5.0, 50)
    steps = {round(o.learning_rate * o.clip_norm, 12) for o in grid if isinstance(o, Snapshot)}
    assert steps == {0.6, 2.0, 6.0}  # DP-SGD's is 2
