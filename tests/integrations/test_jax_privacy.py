"""The exact accountant in jax_privacy's analysis and calibration."""

import pytest

from accountants import ExactAccountant, NeighboringRelation
from accountants.budget import calibrate_steps
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson, WithoutReplacement, WithReplacement
from tests.integrations.packages import needs

accounting = needs("jax_privacy.accounting", "jax_privacy")
exact = needs("dp2theory.integrations.jax_privacy", "jax_privacy")

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("default"),  # jax and its friends warn of their own affairs
]
N, B, DELTA = 10_000, 100, 1e-6
KINDS = {
    "poisson": (lambda b: Poisson(b / N), NeighboringRelation.ADD_OR_REMOVE_ONE),
    "without-replacement": (lambda b: WithoutReplacement(N, b), NeighboringRelation.REPLACE_ONE),
    "with-replacement": (lambda b: WithReplacement(N, b), NeighboringRelation.REPLACE_ONE),
}
SAMPLINGS = list(KINDS)
KNOWN = {"num_samples": N, "target_delta": DELTA}


def epsilon(sampling, noise, batch_size, steps):
    make, relation = KINDS[sampling]
    event = dp_sgd_event(sampling=make(batch_size), noise_multiplier=noise, steps=steps)
    return ExactAccountant(relation).compose(event).get_epsilon(DELTA)


def params(**changes):
    usual = {"noise_multipliers": 2.0, "num_samples": N, "delta": DELTA, "batch_size": B}
    return accounting.DpParams(**usual | changes)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_epsilon_of_a_run(sampling):
    accountant = exact.training_accountant(sampling)
    assert accountant.compute_epsilon(500, params()) == epsilon(sampling, 2.0, B, 500)
    assert accountant.compute_epsilon(0, params()) == 0
    assert accountant.compute_epsilon(5, params(is_finite_guarantee=False)) == float("inf")


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_calibration_of_the_noise(sampling):
    noise = accounting.calibrate_noise_multiplier(
        target_epsilon=2.0,
        accountant=exact.training_accountant(sampling),
        batch_sizes=B,
        num_updates=500,
        tol=1e-3,
        **KNOWN,
    )
    print(f"\n  {sampling}: noise multiplier {noise:.4f} for epsilon 2 at delta {DELTA}")
    assert epsilon(sampling, noise, B, 500) <= 2.0
    assert epsilon(sampling, noise - 5e-3, B, 500) > 2.0


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_calibration_of_the_steps(sampling):
    steps = accounting.calibrate_num_updates(
        target_epsilon=2.0,
        accountant=exact.training_accountant(sampling),
        noise_multipliers=2.0,
        batch_sizes=B,
        **KNOWN,
    )
    make, relation = KINDS[sampling]
    ours = calibrate_steps(
        lambda steps: dp_sgd_event(sampling=make(B), noise_multiplier=2.0, steps=steps),
        target_epsilon=2.0,
        target_delta=DELTA,
        neighboring_relation=relation,
    )
    print(f"\n  {sampling}: {steps} steps for epsilon 2 at delta {DELTA}")
    assert epsilon(sampling, 2.0, B, steps) <= 2.0
    assert steps in (ours.value, ours.value - 1)  # theirs may stop a step early


@pytest.mark.parametrize("sampling", ["poisson", "without-replacement"])
def test_calibration_of_the_batch_size(sampling):
    size = accounting.calibrate_batch_size(
        target_epsilon=2.0,
        accountant=exact.training_accountant(sampling),
        noise_multipliers=2.0,
        num_updates=500,
        **KNOWN,
    )
    print(f"\n  {sampling}: batches of {size} for epsilon 2 at delta {DELTA}")
    assert epsilon(sampling, 2.0, size, 500) <= 2.0 < epsilon(sampling, 2.0, size + 2, 500)


def test_schedules_of_noise_and_batch_size():
    accountant = exact.training_accountant("without-replacement")
    changing = params(
        noise_multipliers=[(0, 2.0), (100, 3.0), (900, 1.0)], batch_size_scale_schedule={50: 2}
    )
    event = accountant.event(300, changing)
    found = [(part.count, part.event.sample_size, part.event.event.noise_multiplier)
             for part in event.events]  # fmt: skip
    assert found == [(50, 100, 2.0), (50, 200, 2.0), (200, 200, 3.0)]


def test_jax_privacys_own_poisson_analysis_takes_our_accountant():
    analysis = accounting.DpsgdTrainingAccountant(exact.ExactAccountantConfig())
    assert analysis.compute_epsilon(500, params()) == epsilon("poisson", 2.0, B, 500)


def test_jax_privacys_own_answer_for_fixed_batches_is_the_lower_end():
    """It composes one attained pair in one order: what that reaches, not what bounds it."""
    theirs = accounting.DpsgdTrainingAccountant(accounting.PldAccountantConfig())
    method = accounting.SamplingMethod.FIXED_BATCH_SIZE
    value = theirs.compute_epsilon(2000, params(sampling_method=method))
    event = dp_sgd_event(sampling=WithoutReplacement(N, B), noise_multiplier=2.0, steps=2000)
    accountant = ExactAccountant(NeighboringRelation.REPLACE_ONE).compose(event)
    ours = accountant.epsilon_bracket(DELTA)
    print(f"\n  replace one, fixed batches: jax_privacy {value:.4f}, here {ours}")
    assert value < ours.upper
    assert value == pytest.approx(ours.lower, rel=1e-3)


@pytest.mark.parametrize(
    "changes", [{"examples_per_user": 3}, {"cycle_length": 4}, {"truncated_batch_size": 120}]
)
def test_what_is_not_covered_is_refused(changes):
    (name,) = changes
    with pytest.raises(ValueError, match=f"{name}="):
        exact.training_accountant("poisson").compute_epsilon(5, params(**changes))


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="without-replacement"):
        exact.training_accountant("gossip")
    with pytest.raises(ValueError, match="tightness="):
        exact.training_accountant("poisson", tightness="loose")
    with pytest.raises(ValueError, match="noise_multipliers"):
        exact.training_accountant("poisson").compute_epsilon(5, params(noise_multipliers=None))
