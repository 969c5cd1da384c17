"""Noisy projected descent: its ledger, its noise, its bound, its refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from accountants import ExactAccountant, NeighboringRelation
from accountants.ledger_trees import event_from_json
from dp2theory.resque.baselines import BASELINES, run_private_baseline
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.noisy_sgd import NoisySgdConstants, plan_noisy_sgd, run_noisy_sgd
from tests.resque.hard_instances import Spied

BUDGET: dict[str, Any] = {"target_epsilon": 1.0, "target_delta": 1e-6}


def small(records: int = 200) -> AbsoluteLoss:
    found = function_named("absolute", records=records, dimension=3)
    assert isinstance(found, AbsoluteLoss)
    return found


@pytest.mark.parametrize(
    "constants",
    [
        NoisySgdConstants(),
        NoisySgdConstants(sampling="with-replacement", batch_size=20, steps=30),
        NoisySgdConstants(batch_size=200, steps=3),
    ],
)
def test_the_ledger_meets_the_budget_and_is_what_runs(constants: NoisySgdConstants) -> None:
    function = small()
    plan = plan_noisy_sgd(function, **BUDGET, constants=constants)
    run = run_noisy_sgd(function, plan, rng=np.random.default_rng(0))
    (tree,) = run.to_json()["ledger"]
    accountant = ExactAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
    accountant.compose(event_from_json(tree))
    spent = accountant.epsilon_bracket(1e-6)
    assert 0.999 < spent.upper <= 1.0
    assert plan.epsilon.upper == pytest.approx(spent.upper, rel=1e-5)
    assert run.counts.query_depth == run.counts.computational_depth == plan.steps
    if constants.sampling == "with-replacement":
        assert run.counts.queries == 600
    else:
        mean = plan.steps * plan.batch_size
        assert abs(run.counts.queries - mean) <= 5 * np.sqrt(mean)


def test_noise_of_a_step_is_what_the_ledger_says() -> None:
    # Rows of zeros: a step is noise alone, and the average of two points is half of it.
    d, runs = 400, 40
    function = AbsoluteLoss(np.zeros((50, d)), np.zeros(50), radius=3.0, lipschitz=2.0)
    plan = plan_noisy_sgd(function, **BUDGET, constants=NoisySgdConstants(batch_size=50, steps=2))
    moves = np.array(
        [
            run_noisy_sgd(function, plan, rng=np.random.default_rng(s)).parameters
            for s in range(runs)
        ]
    )
    noise = 2 * moves / plan.step_size * plan.batch_size / (plan.noise_multiplier * 2.0)
    low, high = np.sqrt(stats.chi2.ppf([5e-7, 1 - 5e-7], noise.size) / noise.size)
    assert 0.97 < low < np.sqrt(np.square(noise).mean()) < high < 1.03


def test_the_average_keeps_to_its_bound() -> None:
    function = small(500)
    plan = plan_noisy_sgd(function, target_epsilon=4.0, target_delta=1e-6)
    best = function.value(0.5 * np.full(3, 3**-0.5))  # at least the optimum
    excess = [
        function.value(run_noisy_sgd(function, plan, rng=np.random.default_rng(s)).parameters)
        - best
        for s in range(4)
    ]
    assert np.mean(excess) < plan.excess_bound < 0.2


def test_the_answer_stays_in_the_domain_and_repeats() -> None:
    function = replace(small(), radius=0.05)
    runs = [
        run_private_baseline(name, function, **BUDGET, rng=np.random.default_rng(seed))
        for name in BASELINES
        for seed in (1, 1, 2)
    ]
    for first, again, other in (runs[:3], runs[3:6], runs[6:]):
        assert np.linalg.norm(first.parameters - function.start) <= 0.05 * (1 + 1e-12)
        assert np.array_equal(first.parameters, again.parameters)
        assert not np.array_equal(first.parameters, other.parameters)


def test_gradients_longer_than_promised_are_shortened() -> None:
    honest = small()
    plan = plan_noisy_sgd(honest, **BUDGET)
    lying = Spied(honest, scale=1000.0)
    runs = [
        run_noisy_sgd(function, plan, rng=np.random.default_rng(0)).parameters
        for function in (honest, lying)
    ]
    assert np.allclose(runs[0], runs[1], atol=1e-9)  # signs of unit rows: shortening undoes scale


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"target_epsilon": float("nan")}, "target_epsilon"),
        ({"target_epsilon": -1.0}, "target_epsilon"),
        ({"target_delta": 0.0}, "target_delta"),
        ({"target_delta": 1.0}, "target_delta"),
    ],
)
def test_bad_budgets_are_refused(change: dict[str, float], named: str) -> None:
    for name in BASELINES:
        with pytest.raises(ValueError, match=named):
            run_private_baseline(name, small(), **BUDGET | change, rng=np.random.default_rng(0))


def test_other_bad_input_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="noisy-sgd"):
        run_private_baseline("sgd", small(), **BUDGET, rng=rng)
    with pytest.raises(ValueError, match="at least 2 records"):
        run_private_baseline("noisy-sgd", function_named("max"), **BUDGET, rng=rng)
    with pytest.raises(ValueError, match="sampling"):
        NoisySgdConstants(sampling="shuffled")
    with pytest.raises(ValueError, match="steps"):
        NoisySgdConstants(steps=0)
    with pytest.raises(ValueError, match="batch_factor"):
        NoisySgdConstants(batch_factor=float("nan"))
    plan = plan_noisy_sgd(small(), **BUDGET)
    with pytest.raises(ValueError, match="sample_size"):
        run_noisy_sgd(small(100), plan, rng=rng)
    with pytest.raises(ValueError, match="lipschitz"):
        run_noisy_sgd(replace(small(), lipschitz=2.0), plan, rng=rng)


def test_every_constant_has_a_source() -> None:
    assert set(NoisySgdConstants.SOURCES) == set(NoisySgdConstants().to_json())
