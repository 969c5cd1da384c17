"""Private baselines with a fault each, which their tests must find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from accountants import ExactAccountant, NeighboringRelation
from accountants.events import dp_sgd_event
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.noisy_sgd import NoisySgdConstants, plan_noisy_sgd, run_noisy_sgd
from dp2theory.resque.phased_localization import one_pass, run_phased
from dp2theory.resque.phased_plan import plan_phased
from dp2theory.verification.resque_noise import noise_law
from tests.resque.hard_instances import replace_record

BUDGET: dict[str, Any] = {"target_epsilon": 1.0, "target_delta": 1e-6}


class Half(np.random.Generator):
    """A generator of normals that are half as large."""

    def standard_normal(self, *args: Any, **kwargs: Any) -> Any:
        return 0.5 * super().standard_normal(*args, **kwargs)


def test_half_of_the_noise_of_noisy_descent_is_found() -> None:
    d = 2000
    loss = AbsoluteLoss(np.zeros((50, d)), np.zeros(50), radius=3.0, lipschitz=2.0)
    plan = plan_noisy_sgd(loss, **BUDGET, constants=NoisySgdConstants(batch_size=50, steps=2))
    run = run_noisy_sgd(loss, plan, rng=Half(np.random.PCG64(0)))
    scaled = 2 * run.parameters / plan.step_size * 50 / (plan.noise_multiplier * 2.0)
    low, _ = stats.chi2.ppf([5e-7, 1 - 5e-7], d)
    assert np.square(scaled).sum() < 0.5 * low


def test_half_of_the_noise_of_phases_is_found() -> None:
    rows = np.zeros((8, 3000))
    rows[:, 0] = 1
    loss = AbsoluteLoss(rows, np.linspace(-1, 1, 8), lipschitz=1.0)
    plan = plan_phased(loss, **BUDGET)
    laws = []
    for kind in (np.random.Generator, Half):
        releases = [
            release
            for seed in range(8)
            for release in run_phased(loss, plan, rng=kind(np.random.PCG64(seed))).releases
        ]
        laws.append(noise_law(releases, lambda release: release.noise_std, names=lambda _: "all"))
    assert laws[0].holds
    assert not laws[1].holds
    assert laws[1].rows[0].ratio == pytest.approx(0.5, rel=0.02)


def test_a_ledger_that_drops_steps_is_found() -> None:
    loss = AbsoluteLoss(np.eye(50), np.zeros(50))
    constants = NoisySgdConstants(sampling="with-replacement", batch_size=10, steps=40)
    plan = plan_noisy_sgd(loss, **BUDGET, constants=constants)
    run = run_noisy_sgd(loss, plan, rng=np.random.default_rng(0))

    def spent(steps: int) -> float:
        event = dp_sgd_event(
            sampling=plan.sampling, noise_multiplier=plan.noise_multiplier, steps=steps
        )
        accountant = ExactAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
        return accountant.compose(event).get_epsilon(1e-6)

    # The steps that the counter saw are those of the ledger; with one fewer epsilon is another.
    assert spent(run.counts.query_depth) == pytest.approx(plan.epsilon.upper, rel=1e-5)
    assert spent(run.counts.query_depth - 1) < 0.995 * plan.epsilon.upper


def test_a_quarter_of_the_noise_of_a_phase_is_more_than_the_gaussian_pair_allows() -> None:
    rows = np.zeros((200, 2))
    rows[:, 0] = np.where(np.arange(200) % 2, 1.0, -1.0)  # in turn, so that no run meets the edge
    first = AbsoluteLoss(rows, np.full(200, 100.0), lipschitz=1.0)
    second = replace_record(first, 0, -rows[0], 100.0)
    plan = plan_phased(first, **BUDGET)
    phase, order = plan.phases[0], np.arange(plan.phases[0].records)
    ends = [
        one_pass(each, order, each.start, phase.step_size, phase.smoothing)
        for each in (first, second)
    ]
    shift = float(np.linalg.norm(ends[0] - ends[1])) / phase.noise_std
    allowed = 2 / plan.noise_multiplier
    assert 0.98 * allowed < shift <= allowed < 4 * shift
