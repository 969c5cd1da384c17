"""The pilot is the beginning of the run: same releases, same stream, its own small step."""

import numpy as np
import pytest

from dp2theory.optimizers.clipping import release_mean
from dp2theory.optimizers.protocol import make_generator, run
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.planning.blocks import BlockMeans
from dp2theory.planning.pilot import InterruptedPilot, run_pilot
from tests.planning.small import SIGMA, small_budget, small_problem


def pilot(**changes):
    options = {
        "noise_multiplier": SIGMA, "clip_norm": 0.8, "learning_rate": 1.5, "seed": 3,
    }  # fmt: skip
    budget = changes.pop("budget", small_budget())
    return run_pilot(small_problem(), budget, **(options | changes))


def test_pilot_is_dp_sgd_at_a_third_of_the_rate_on_the_seeds_stream():
    state = pilot()
    rng, _ = make_generator(3)
    whole = run(
        DpSgd(1.5 / 3, 0.8, SIGMA),
        small_problem(),
        sampling=small_budget().sampling,
        steps=40,
        rng=rng,
    )
    assert state.steps == 40
    assert state.complete
    np.testing.assert_array_equal(state.parameters, whole.parameters)
    # The saved stream goes on where the pilot stopped.
    np.testing.assert_array_equal(state.generator().random(5), rng.random(5))


def test_blocks_are_of_the_released_gradients_and_not_of_raw_ones():
    problem = small_problem()
    released = BlockMeans(problem.dimension)
    raw = BlockMeans(problem.dimension)
    rng, _ = make_generator(3)
    parameters = problem.initial_parameters(rng)
    query = DpSgd(0.5, 0.8, SIGMA).query(DpSgd(0.5, 0.8, SIGMA).initial_state(problem.dimension))
    for _ in range(40):
        size = rng.binomial(1500, 100 / 1500)
        batch = rng.choice(1500, size, replace=False, shuffle=False)
        gradient = problem.clipped_gradient_sum(parameters, batch, clip_norm=0.8) / 100
        noisy = release_mean(problem, parameters, batch, query, expected_batch_size=100.0, rng=rng)
        released.add(noisy)
        raw.add(gradient)
        parameters = parameters - 0.5 * noisy
    sizes = {"noise_multiplier": SIGMA, "clip_norm": 0.8, "batch_size": 100}
    ours = pilot().statistics()
    for mine, theirs in zip(ours, released.statistics(**sizes), strict=True):
        assert mine.signal == pytest.approx(theirs.signal, rel=1e-9)
    # The bite: raw gradients (not private) move less from step to step, by the noise 2 N(1).
    moves = [rows[0].drift + 2 * rows[0].noise for rows in (ours, raw.statistics(**sizes))]
    assert moves[0] - moves[1] == pytest.approx(2 * ours[0].noise, rel=0.4)


def test_budgets_on_one_seed_share_batches_and_noise():
    """At equal noise the budget changes nothing: the stream does not depend on epsilon."""
    small, large = (pilot(budget=small_budget(target_epsilon=e)) for e in (0.5, 50.0))
    np.testing.assert_array_equal(small.parameters, large.parameters)
    assert small.statistics() == large.statistics()


def test_interrupted_pilot_owes_what_it_released():
    def stop(step):
        if step == 11:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedPilot) as caught:
        pilot(on_step=stop)
    partial = caught.value.partial
    assert partial.steps == 12
    assert not partial.complete
    assert partial.ledger.count == 12
    assert partial.blocks.steps == 0
    assert not partial.statistics()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"clip_norm": 0.0}, "clip_norm=0.0"),
        ({"learning_rate": float("nan")}, "learning_rate=nan"),
        ({"budget": small_budget(dataset_size=1400)}, "dataset_size=1400.*1500"),
        ({"budget": small_budget(steps=15)}, "steps=15.*16"),
    ],
)
def test_bad_values_are_named(changes, words):
    with pytest.raises(ValueError, match=words):
        pilot(**changes)


def test_a_diverged_pilot_is_refused():
    """Its gradients are clipped and stay finite: only the loss shows it."""
    with pytest.raises(ValueError, match=r"learning_rate=1e\+308: .* smaller learning rate"):
        pilot(learning_rate=1e308)


def test_an_interrupt_in_the_last_loss_loses_no_release():
    class Stopping:
        """The problem, until its loss is computed."""

        def __getattr__(self, name):
            return getattr(small_problem(), name)

        asked = 0

        def loss(self, parameters):
            self.asked += 1
            if self.asked == 1:
                raise KeyboardInterrupt
            return small_problem().loss(parameters)

    with pytest.raises(InterruptedPilot) as stop:
        run_pilot(
            Stopping(), small_budget(), noise_multiplier=SIGMA, clip_norm=1.0, learning_rate=1.0,
            seed=0,
        )  # fmt: skip
    assert stop.value.partial.ledger.count == 40


@pytest.mark.parametrize("clip_norm", [0.0, 1e-300, 1e300, float("inf"), float("nan")])
def test_clip_norms_have_a_range(clip_norm):
    with pytest.raises(ValueError, match=r"clip_norm=.*\[1e-100, 1e\+100\]"):
        pilot(clip_norm=clip_norm)


@pytest.mark.parametrize("clip_norm", [1e-100, 1e100])
def test_the_ends_of_the_range_of_clip_norms_work(clip_norm):
    """In units of the clip norm the first release of a far too small one is of norm about 1."""
    state = pilot(clip_norm=clip_norm, learning_rate=1 / clip_norm)
    assert all(0 < block.noise < np.inf for block in state.statistics())
