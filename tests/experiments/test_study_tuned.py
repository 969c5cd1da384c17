"""Tuning and evaluating as tasks: the same figures as by hand, on seeds kept apart."""

import math

import pytest

from dp2theory.experiments.settings import Setting
from dp2theory.experiments.tasks import Task, TaskResult, run_task
from dp2theory.experiments.tuned import (
    SCREENING_SEEDS,
    delay_grid,
    evaluate,
    paired,
    tune_delays,
    tune_setting,
)
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.tuning import tune

TINY = Setting("het:n=240,d=10,amin=1/10,avg=3,seed=1", 24, steps=12, target_epsilon=4.0)
TUNING, EVALUATION = (101, 102, 103), (1, 2)


@pytest.fixture(scope="module")
def base():
    return tune_setting(TINY, "dp-sgd", tune_seeds=TUNING)


def test_it_chooses_what_the_search_of_the_optimizers_chooses(base):
    sigma = base.noise_multiplier
    searched = tune(
        TINY.load(),
        "dp-sgd",
        sampling=TINY.description(),
        steps=12,
        noise_multiplier=sigma,
        seeds=TUNING,
    )
    assert DpSgd(**base.settings, noise_multiplier=sigma) == searched.optimizer
    assert [row.losses for row in base.table] == [row.losses for row in searched.table]
    assert base.mean_loss == min(row.mean_loss for row in searched.table)


def test_the_whole_event_is_within_the_budget(base):
    assert base.epsilon.upper <= 4.0 < 1.01 * base.epsilon.upper


def test_given_noise_is_taken_and_accounted(base):
    tuned = tune_setting(
        TINY, "dp-rmsprop", tune_seeds=TUNING, base=base, noise_multiplier=2 * base.noise_multiplier
    )
    assert {row.noise_multiplier for row in tuned.table} == {2 * base.noise_multiplier}
    assert tuned.epsilon.upper < base.epsilon.lower


def test_every_delay_is_tuned_by_itself(base):
    delays = delay_grid(12, (6, 4))
    both = tune_delays(TINY, "dp2-rmsprop", delays, tune_seeds=TUNING, base=base)
    assert [one.delay for one in both] == [2, 3]
    for delay, one in zip(delays, both, strict=True):
        alone = tune_setting(TINY, "dp2-rmsprop", delay=delay, tune_seeds=TUNING, base=base)
        assert alone == one
        assert {row.settings["delay"] for row in one.table} == {delay}


def test_only_finalists_see_all_seeds_and_the_best_of_them_wins(base):
    final = tune_setting(TINY, "dp-sgd", tune_seeds=TUNING, finalists=3)
    first = sorted(
        range(len(base.table)), key=lambda i: sum(base.table[i].losses[:SCREENING_SEEDS])
    )[:3]
    for i, (row, whole) in enumerate(zip(final.table, base.table, strict=True)):
        expected = whole.losses if i in first else whole.losses[:SCREENING_SEEDS]
        assert row.losses == expected
    best = min(first, key=lambda i: base.table[i].mean_loss)
    assert final.settings == base.table[best].settings


def test_evaluation_runs_the_chosen_configuration_on_other_seeds(base):
    results = evaluate(TINY, base, seeds=EVALUATION, record_every=6)
    alone = run_task(Task(TINY, "dp-sgd", base.settings, base.noise_multiplier, 2, 6))
    assert results[1] == alone
    assert results[1].loss_steps == (0, 6, 12)
    with pytest.raises(ValueError, match=r"seeds=\[101\]"):
        evaluate(TINY, base, seeds=(1, 101))


def test_pairs_are_compared_by_their_final_losses():
    def results(*losses: float) -> list[TaskResult]:
        return [TaskResult(x, {}, 1, (), (), False, "", "") for x in losses]

    assert paired(results(1.0, 2.0), results(2.0, 4.0)).ratio == 0.5
    with pytest.raises(ValueError, match="diverged"):
        paired(results(1.0, math.inf), results(2.0, 4.0))


@pytest.mark.parametrize("seeds", [(), (1, 1)])
def test_tuning_seeds_are_some_and_distinct(seeds):
    with pytest.raises(ValueError, match="tune_seeds"):
        tune_setting(TINY, "dp-sgd", tune_seeds=seeds)


def test_a_method_without_a_grid_is_refused():
    with pytest.raises(ValueError, match=r"method='nothing'.*dp-sgd"):
        tune_setting(TINY, "nothing", tune_seeds=TUNING)


def test_delays_are_at_least_one_and_each_once():
    assert delay_grid(40) == (1, 2, 4, 10)
