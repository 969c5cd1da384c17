"""Runs from step 0 and from a pilot: the online switch, and a ledger of what was executed."""

import numpy as np
import pytest

from accountants import ExactAccountant
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.grids import grid_size
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.tuning import tuning_seeds
from dp2theory.planning.budget import releases_of
from dp2theory.planning.comparison import (
    Arm,
    PilotSettings,
    comparison_result,
    pilot_delay,
    pilot_of_seed,
    run_arms,
)
from dp2theory.planning.pilot import run_pilot
from dp2theory.planning.trial import InterruptedTrial, run_seed
from dp2theory.planning.tuned import tune_method
from tests.planning.small import SIGMA, small_budget, small_problem

DP2 = Dp2RmsProp(0.3, 1.0, 0.01, 500.0, SIGMA, delay=7)
SGD = DpSgd(1.0, 1.0, SIGMA)
SETTINGS = PilotSettings(1.0, 1.0, SIGMA)


@pytest.fixture(scope="module")
def state():
    return run_pilot(
        small_problem(), small_budget(), noise_multiplier=SIGMA, clip_norm=1.0,
        learning_rate=1.0, seed=0, record_every=10,
    )  # fmt: skip


def one_run(optimizer, **changes):
    options = {"sampling": small_budget().sampling, "steps": 160, "seed": 0} | changes
    return run_seed(optimizer, small_problem(), **options)


def by_hand(optimizer, state, switch_phase):
    """DP² after a pilot, written out: phases counted from `switch_phase`."""
    problem, rng = small_problem(), state.generator()
    parameters, v, total = state.parameters, np.zeros(problem.dimension), 0.0
    preconditioner = None
    for t in range(120):
        adaptive = ((t + switch_phase) // 7) % 2 == 1
        size = rng.binomial(1500, 100 / 1500)
        batch = rng.choice(1500, size, replace=False, shuffle=False)
        clip = 500.0 if adaptive else 1.0
        gradient = problem.clipped_gradient_sum(
            parameters, batch, clip_norm=clip, preconditioner=preconditioner if adaptive else None
        )
        noisy = (gradient + SIGMA * clip * rng.standard_normal(problem.dimension)) / 100
        if adaptive:
            parameters = parameters - 0.01 * noisy
        else:
            parameters = parameters - 0.3 * noisy
            total = total + noisy
            if (t + switch_phase) % 7 == 6:
                v = 0.9 * v + 0.1 * (total / 7) ** 2
                total = 0.0
                preconditioner = np.sqrt(v) + 1e-7
    return parameters


def test_switch_keeps_the_iterate_and_starts_the_phases(state):
    made = one_run(DP2, pilot=state)
    np.testing.assert_allclose(
        made.result.parameters, by_hand(DP2, state, 0), rtol=1e-9, atol=1e-12
    )
    # The bite: with the phase counter at the pilot's step (40 = 2 * 14 + 12) it is another run.
    assert not np.allclose(made.result.parameters, by_hand(DP2, state, 40 % 14), rtol=1e-3)


def test_ledger_holds_the_pilot_and_makes_t_releases_in_all(state):
    made = one_run(DP2, pilot=state)
    assert made.steps == 160
    assert releases_of(made.ledger) == 160
    assert releases_of(made.result.ledger) == 120
    whole = ExactAccountant().compose(made.ledger).epsilon_bracket(1e-4)
    straight = ExactAccountant().compose(one_run(DP2).ledger).epsilon_bracket(1e-4)
    assert (whole.lower, whole.upper) == pytest.approx((straight.lower, straight.upper), rel=1e-9)
    # The bite: the continuation's own ledger understates by what the pilot spent.
    alone = ExactAccountant().compose(made.result.ledger).epsilon_bracket(1e-4)
    assert alone.upper < 0.95 * whole.lower


def test_run_from_zero_is_the_optimizers_own_run():
    made = one_run(SGD, seed=11, record_every=40)
    plain = run(SGD, small_problem(), sampling=small_budget().sampling, steps=160, rng=11)
    np.testing.assert_array_equal(made.result.parameters, plain.parameters)
    assert made.metrics["train_loss"] == pytest.approx(made.final_loss, rel=1e-12)
    assert made.curve[0] == (0, 40, 80, 120, 160)


def test_curve_of_a_continued_run_is_one_curve(state):
    made = one_run(DP2, pilot=state, record_every=10)
    steps, losses = made.curve
    assert steps == tuple(range(0, 161, 10))
    assert losses[:4] == state.losses[:4]
    assert losses[4] == state.final_loss
    assert losses[-1] == made.final_loss


def test_further_continuations_never_reuse_the_pilots_stream(state):
    online = one_run(DP2, pilot=state)
    again = one_run(DP2, pilot=state, continue_stream=False, seed=0)
    other = one_run(DP2, pilot=state, continue_stream=False, seed=1)
    assert len({run.final_loss for run in (online, again, other)}) == 3
    # Seed 0 made the pilot; were its stream started anew, the first batch would come again.
    naive = run(
        DP2, small_problem(), sampling=small_budget().sampling, steps=120, rng=0,
        initial_parameters=state.parameters,
    )  # fmt: skip
    assert not np.allclose(naive.parameters, again.result.parameters)


def test_interrupted_pilot_or_longer_pilot_is_refused(state):
    import dataclasses

    with pytest.raises(ValueError, match="interrupted"):
        one_run(DP2, pilot=dataclasses.replace(state, complete=False))
    with pytest.raises(ValueError, match="steps=30"):
        one_run(DP2, pilot=state, steps=30)


def test_interrupted_run_keeps_its_ledger(state):
    def stop(step):
        if step == 99:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedTrial) as caught:
        one_run(DP2, pilot=state, on_step=stop)
    partial = caught.value.partial
    assert not partial.completed
    assert releases_of(partial.ledger) == partial.steps == 100


def run_both(seeds=(0, 1), pilot=None, **options):
    arms = Arm("dp2-rmsprop", DP2, pilot), Arm("dp-sgd", SGD)
    run_arms(arms, small_problem(), small_budget(), seeds, **options)
    return arms


def test_comparison_is_paired_and_accounts_each_arm():
    ours, theirs = run_both()
    result = comparison_result(ours, theirs, small_budget(), noise_multiplier=SIGMA)
    assert result["paired"]["pairs"] == 2
    assert result["releases"] == result["steps"] == 160
    assert result["epsilon"] == result["method"]["epsilon"] == result["compare"]["epsilon"]
    losses = [run["train_loss"] for run in result["method"]["runs"]]
    assert result["paired"]["mean"] == pytest.approx(np.mean(losses))
    assert result["method"]["mean_train_loss"] == result["paired"]["mean"]
    # Same seed, same start and same first batch: until the step sizes tell, equal draws.
    alike = Arm("dp-sgd", SGD)
    run_arms([alike], small_problem(), small_budget(), (0, 1))
    assert [r.final_loss for r in alike.runs] == [r.final_loss for r in theirs.runs]


def test_discarded_pilot_is_in_every_ledger(state):
    ours, theirs = run_both(seeds=(0,))
    budget = small_budget()
    plain = comparison_result(ours, theirs, budget, noise_multiplier=SIGMA)
    more = comparison_result(ours, theirs, budget, noise_multiplier=SIGMA, discarded=state.ledger)
    assert more["releases"] == 200
    assert more["compare"]["releases"] == 200
    assert more["epsilon"]["lower"] > 1.05 * plain["epsilon"]["upper"]


def test_each_run_makes_its_own_pilot():
    ours, _ = run_both(pilot=SETTINGS)
    first, second = (one.pilot for one in ours.runs)
    assert first.seed == 0
    assert second.seed == 1
    assert not np.allclose(first.parameters, second.parameters)
    assert all(one.steps == 160 for one in ours.runs)
    online = one_run(DP2, pilot=pilot_of_seed(SETTINGS, small_problem(), small_budget(), 1), seed=1)
    assert ours.runs[1].final_loss == online.final_loss


def test_a_saved_pilot_is_continued_once_by_its_stream_and_then_by_others(state):
    arm = Arm("dp2-rmsprop", DP2, state)
    run_arms([arm], small_problem(), small_budget(), (0, 1, 2))
    losses = [one.final_loss for one in arm.runs]
    assert losses[0] == one_run(DP2, pilot=state).final_loss
    assert len(set(losses)) == 3  # three draws of noise, and not one three times


def test_pilots_delay_is_taken_when_asked_for(state):
    arm = Arm("dp2-rmsprop", DP2, state, delay_by_pilot=True)
    run_arms([arm], small_problem(), small_budget(), (0,))
    assert arm.runs[0].result.optimizer.delay == pilot_delay(state)
    assert pilot_delay(state) in range(2, 5)  # T // 80 to T // 40
    assert DP2.delay not in range(2, 5)


@pytest.mark.parametrize(("stop_at", "kept"), [(20, 20), (230, 70)])
def test_interrupt_keeps_finished_and_partial_runs(stop_at, kept):
    """Within the pilot of the first run, or in the second run, after its pilot."""
    seen = [0]

    def stop(_step):
        seen[0] += 1
        if seen[0] == stop_at:
            raise KeyboardInterrupt

    arm = Arm("dp2-rmsprop", DP2, SETTINGS)
    with pytest.raises(KeyboardInterrupt):
        run_arms([arm], small_problem(), small_budget(), (0, 1), on_step=stop)
    assert len(arm.runs) == 1 + stop_at // 160
    assert not arm.runs[-1].completed
    assert releases_of(arm.runs[-1].ledger) == kept
    described = arm.to_json()
    assert (described["mean_train_loss"] is None) == (stop_at < 160)
    comparison_result(arm, None, small_budget(), noise_multiplier=SIGMA)


def test_tuning_from_pilots_starts_at_their_iterates():
    tuned = {}
    for pilot in (None, SETTINGS):
        tuned[pilot] = tune_method(
            "dp2-rmsprop", small_problem(), small_budget(), noise_multiplier=SIGMA,
            seeds=tuning_seeds(1), base=SGD, pilot=pilot,
        )  # fmt: skip
    assert len(tuned[None].table) == grid_size("dp2-rmsprop")
    assert tuned[None].optimizer.delay == 4
    key = tuning_seeds(1)[0]
    row = tuned[SETTINGS].table[0]
    # The pilot in front of a tuning run has noise of its own, and the run what is left of T.
    start = pilot_of_seed(SETTINGS, small_problem(), small_budget(), key + 2**20).parameters
    expected = run(
        row.optimizer, small_problem(), sampling=small_budget().sampling, steps=120, rng=key,
        initial_parameters=start,
    )  # fmt: skip
    assert row.losses == (expected.final_loss,)


def test_grid_sizes_are_those_of_the_grids():
    for method in ("dp-sgd", "dp-rmsprop"):
        tuned = tune_method(
            method, small_problem(), small_budget(steps=4), noise_multiplier=SIGMA,
            seeds=tuning_seeds(1), base=SGD,
        )  # fmt: skip
        assert len(tuned.table) == grid_size(method)
