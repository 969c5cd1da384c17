"""Known-wrong planners, each of which a test of tests/planning must catch."""

import pytest

from dp2theory.planning import blocks, comparison, gate, pilot, trial
from dp2theory.planning.budget import Budget
from tests.planning import test_blocks, test_budget, test_gate, test_pilot, test_trial


def caught(check, *arguments):
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(*arguments)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda d, sigma, clip, b, m: d * (sigma * clip / b) ** 2,  # no averaging
        lambda d, sigma, clip, b, m: d * (sigma * clip) ** 2 / (b * m),  # one b too few
        lambda d, sigma, clip, b, m: (sigma * clip / b) ** 2 / m,  # one coordinate's
        lambda d, sigma, clip, b, m: d * (sigma / b) ** 2 / m,  # clip norm forgotten
    ],
)
def test_wrong_noise_energy(monkeypatch, wrong):
    monkeypatch.setattr(blocks, "noise_energy", wrong)
    monkeypatch.setattr(test_blocks, "noise_energy", wrong)
    caught(test_blocks.test_streaming_agrees_with_the_definition, 32)
    caught(test_blocks.test_noise_energy_is_the_energy_of_averaged_releases)


def test_squared_block_means_instead_of_products_of_neighbours(monkeypatch):
    """DP²'s own statistic has the noise in it: every ratio would be at least 1."""

    def biased(self, **sizes):
        rows = right(self, **sizes)
        return tuple(
            blocks.BlockStatistic(
                row.length, row.blocks, row.signal + row.noise, row.noise,
                max(row.signal + row.noise, 0) / row.noise, row.drift,
            )
            for row in rows
        )  # fmt: skip

    right = blocks.BlockMeans.statistics
    monkeypatch.setattr(blocks.BlockMeans, "statistics", biased)
    caught(test_blocks.test_pure_noise_has_no_signal)
    caught(test_blocks.test_noise_cancels_in_the_signal_and_drift_of_a_constant_gradient)


def test_blocks_of_raw_gradients(monkeypatch):
    """A statistic of gradients without noise: neither what was specified nor private."""
    from dp2theory.optimizers import protocol

    def spied(problem, parameters, batch, query, *, expected_batch_size, rng):
        raw.append(
            problem.clipped_gradient_sum(parameters, batch, clip_norm=query.clip_norm)
            / expected_batch_size
        )
        return release(
            problem, parameters, batch, query, expected_batch_size=expected_batch_size, rng=rng
        )

    raw, release, add = [], protocol.release_mean, blocks.BlockMeans.add
    monkeypatch.setattr(protocol, "release_mean", spied)
    # In the run the last raw gradient is put in place of what was released.
    monkeypatch.setattr(
        blocks.BlockMeans, "add", lambda self, vector: add(self, raw.pop() if raw else vector)
    )
    caught(test_pilot.test_blocks_are_of_the_released_gradients_and_not_of_raw_ones)


def test_pilot_at_the_full_rate(monkeypatch):
    monkeypatch.setattr(pilot, "PILOT_RATE", 1.0)
    caught(test_pilot.test_pilot_is_dp_sgd_at_a_third_of_the_rate_on_the_seeds_stream)


def test_noise_that_depends_on_the_budget(monkeypatch):
    right = pilot.make_generator

    def salted(seed):
        epsilons.append(None)
        return right(seed + len(epsilons))

    epsilons: list[None] = []
    monkeypatch.setattr(pilot, "make_generator", salted)
    caught(test_pilot.test_budgets_on_one_seed_share_batches_and_noise)


@pytest.mark.parametrize(("name", "value"), [("LOW_SNR", 0.29), ("CLEAR_SNR", 1.1)])
def test_moved_thresholds(monkeypatch, name, value):
    monkeypatch.setattr(gate, name, value)
    cases = ((1.0, "dp2"), (0.999, "marginal"), (0.3, "marginal"), (0.2999, "dp-sgd"))

    def check():
        for ratio, advice in cases:
            test_gate.test_gate_thresholds(ratio, advice)

    caught(check)


@pytest.fixture
def state():
    return comparison.pilot_of_seed(
        test_trial.SETTINGS, test_trial.small_problem(), test_trial.small_budget(), 0
    )


def test_ledger_without_the_pilot(monkeypatch, state):
    monkeypatch.setattr(trial.SeededRun, "ledger", property(lambda self: self.result.ledger))
    caught(test_trial.test_ledger_holds_the_pilot_and_makes_t_releases_in_all, state)


def test_phases_counted_from_the_pilots_first_step(monkeypatch, state):
    from dp2theory.optimizers.steps import OptimizerState

    right = trial.run

    def shifted(optimizer, problem, **options):
        fresh = optimizer.initial_state(problem.dimension)
        begun = OptimizerState(options["start_step"], fresh.arrays)
        return right(optimizer, problem, **options, initial_state=begun)

    monkeypatch.setattr(trial, "run", shifted)
    caught(test_trial.test_switch_keeps_the_iterate_and_starts_the_phases, state)


def test_pilot_thrown_away_at_the_switch(monkeypatch, state):
    right = trial.run
    monkeypatch.setattr(
        trial, "run", lambda *args, **kw: right(*args, **(kw | {"initial_parameters": None}))
    )
    caught(test_trial.test_switch_keeps_the_iterate_and_starts_the_phases, state)


def test_discarded_pilot_for_free(monkeypatch, state):
    right = comparison.compose_events
    monkeypatch.setattr(comparison, "compose_events", lambda spent, ledger: right(None, ledger))
    caught(test_trial.test_discarded_pilot_is_in_every_ledger, state)
    calibrate = Budget.calibrate
    monkeypatch.setattr(Budget, "calibrate", lambda self, spent=None: calibrate(self))
    caught(test_budget.test_a_discarded_pilot_is_paid_from_the_same_budget)


def test_one_stream_for_all_continuations(monkeypatch, state):
    """Several runs that go on from one pilot with the same draws are one run."""
    right = comparison.run_seed
    monkeypatch.setattr(
        comparison, "run_seed", lambda *args, **kw: right(*args, **kw | {"continue_stream": True})
    )
    caught(test_trial.test_a_saved_pilot_is_continued_once_by_its_stream_and_then_by_others, state)
