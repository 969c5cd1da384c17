"""Each adapter answers what its package answers to a user who asks it directly."""

import importlib
import math
import warnings
from importlib.metadata import version

import dp_accounting as dp
import pytest

from accountants import NeighboringRelation
from accountants.laws import adapters
from tests.peers.lock import TARGET, differences, locked

pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("default"),  # theirs are not this project's
]
ADD, REPLACE, SPECIAL = NeighboringRelation
DELTA = 1e-5


def module(name: str):
    """A module of another package, or a skip that says how it is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            pytest.skip(f"{name} is not installed: `{TARGET}` runs this")


def run(q, sigma, steps):
    step = dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(sigma))
    return dp.SelfComposedDpEvent(step, steps)


def answer(name, *events, relation=ADD):
    accountant = adapters.load(name).make(relation)
    for event in events:
        accountant.compose(event)
    return accountant.get_epsilon(DELTA)


def test_the_environment_is_the_locked_one():
    module("opacus")
    module("autodp")
    assert differences() == []
    assert version("autodp") == locked()["autodp"] == "0.2.3.1"
    assert set(adapters.installed()) == set(adapters.names())


@pytest.mark.parametrize("mechanism", ["rdp", "prv"])
def test_opacus_steps(mechanism):
    direct = module("opacus.accountants").create_accountant(mechanism)
    for _ in range(20):
        direct.step(noise_multiplier=1.1, sample_rate=0.01)
    for _ in range(3):
        direct.step(noise_multiplier=2.0, sample_rate=0.5)
    adapter = adapters.load(f"opacus-{mechanism}").make(ADD)
    adapter.compose(run(0.01, 1.1, 5), 3).compose(run(0.01, 1.1, 5)).compose(run(0.5, 2.0, 3))
    assert adapter.accountant.history == direct.history
    assert adapter.get_epsilon(DELTA) == direct.get_epsilon(delta=DELTA)
    assert len(adapter) == len(direct)


def test_opacus_gaussian_dp_and_its_refusal():
    direct = module("opacus.accountants").create_accountant("gdp")
    for _ in range(20):
        direct.step(noise_multiplier=1.1, sample_rate=0.01)
    assert answer("opacus-gdp", run(0.01, 1.1, 20)) == direct.get_epsilon(delta=DELTA)
    with pytest.raises(ValueError, match="have to stay constant"):
        answer("opacus-gdp", run(0.01, 1.1, 20), run(0.02, 1.1, 1))


def test_opacus_orders_and_calibration():
    module("opacus")
    from opacus.accountants.utils import get_noise_multiplier

    candidate = adapters.load("opacus-rdp")
    two = candidate.make_with_orders(ADD, [2.0, 5.0]).compose(run(0.01, 1.1, 20))
    alone = candidate.make_with_orders(ADD, [2.0]).compose(run(0.01, 1.1, 20))
    assert two.get_epsilon(DELTA) <= alone.get_epsilon(DELTA)
    assert list(candidate.renyi(dp.GaussianDpEvent(2.0), ADD, [2.0, 4.0])) == [0.25, 0.5]
    direct = get_noise_multiplier(
        target_epsilon=2.0, target_delta=DELTA, sample_rate=0.01, steps=50, accountant="rdp"
    )
    assert candidate.calibrate(lambda sigma: run(0.01, sigma, 50), ADD, 2.0, DELTA) == direct


def test_prv_accountant_with_two_kinds_of_steps():
    package = module("prv_accountant")
    prvs = [package.PoissonSubsampledGaussianMechanism(0.01, 1.1), package.LaplaceMechanism(0.5)]
    direct = package.PRVAccountant(prvs, 0.1, DELTA / 1000, [20, 3])
    expected = direct.compute_epsilon(DELTA, [20, 3])
    adapter = adapters.load("prv-accountant").make(ADD)
    laplace = dp.SelfComposedDpEvent(dp.LaplaceDpEvent(2.0), 3)
    adapter.compose(run(0.01, 1.1, 20)).compose(laplace)
    assert adapter.epsilon_bracket(DELTA) == (expected[0], expected[2])
    assert adapter.get_epsilon(DELTA) == expected[2]
    delta = package.PRVAccountant(prvs, 0.1, 1e-10, [20, 3]).compute_delta(1.0, [20, 3])[2]
    assert adapter.get_delta(1.0) == delta


def test_prv_accountant_without_sampling():
    package = module("prv_accountant")
    direct = package.PRVAccountant([package.GaussianMechanism(2.0)], 0.1, DELTA / 1000)
    expected = direct.compute_epsilon(DELTA, [1])[2]
    assert answer("prv-accountant", dp.GaussianDpEvent(2.0)) == expected


def test_prv_accountant_calibrates_with_the_error_of_its_answers():
    module("prv_accountant")
    sigma = adapters.load("prv-accountant").calibrate(lambda s: run(0.01, s, 20), ADD, 1.0, DELTA)
    assert 0.9 < answer("prv-accountant", run(0.01, sigma, 20)) <= 1.0


def test_autodp_under_both_relations():
    zoo = module("autodp.mechanism_zoo")
    rules = module("autodp.transformer_zoo")
    gaussian = zoo.GaussianMechanism(1.1)
    sampled = rules.AmplificationBySampling(PoissonSampling=True)(
        gaussian, 0.01, improved_bound_flag=True
    )
    expected = rules.Composition()([sampled], [20]).get_approxDP(DELTA)
    assert answer("autodp", run(0.01, 1.1, 20)) == expected

    halved = zoo.GaussianMechanism(0.55)  # relative to the two clip norms that replacing moves
    halved.neighboring = "replace_one"
    fixed = rules.AmplificationBySampling(PoissonSampling=False)(halved, 0.02)
    event = dp.SampledWithoutReplacementDpEvent(50, 1, dp.GaussianDpEvent(1.1))
    composed = rules.Composition()([fixed, halved], [20, 1]).get_approxDP(DELTA)
    given = (dp.SelfComposedDpEvent(event, 20), dp.GaussianDpEvent(1.1))
    assert answer("autodp", *given, relation=REPLACE) == composed
    truthful = zoo.RandresponseMechanism(0.75).get_approxDP(DELTA)
    response = dp.RandomizedResponseDpEvent(0.5, 2)
    assert answer("autodp", response, relation=REPLACE) == truthful
    with pytest.raises(AssertionError, match="incompatible"):
        answer("autodp", run(0.01, 1.1, 20), relation=REPLACE)


def test_riskcal_steps_and_calibration():
    package = module("riskcal.accountants")
    calibration = module("riskcal.calibration")
    direct = package.CTDAccountant()
    for _ in range(20):
        direct.step(noise_multiplier=1.1, sample_rate=0.01)
    assert answer("riskcal", run(0.01, 1.1, 20)) == direct.get_epsilon(delta=DELTA)
    expected = calibration.find_noise_multiplier_for_epsilon_delta(
        package.CTDAccountant, sample_rate=0.01, num_steps=20, epsilon=1.0, delta=DELTA
    )
    found = adapters.load("riskcal").calibrate(lambda s: run(0.01, s, 20), ADD, 1.0, DELTA)
    assert found == expected


@pytest.mark.parametrize("engine", ["rdp", "pld"])
def test_jax_privacy_training(engine):
    package = module("jax_privacy.accounting")
    config = {"rdp": package.RdpAccountantConfig, "pld": package.PldAccountantConfig}[engine]
    training = package.DpsgdTrainingAccountant(dp_accountant_config=config())
    settings = {"num_samples": 64, "delta": DELTA, "batch_size": 1}
    poisson = package.DpParams(noise_multipliers=[(0, 1.1), (20, 2.0)], **settings)
    given = (run(1 / 64, 1.1, 20), run(1 / 64, 2.0, 5))
    expected = training.compute_epsilon(25, poisson)
    assert answer(f"jax-privacy-{engine}", *given) == expected
    assert answer(f"jax-privacy-{engine}", *given, relation=SPECIAL) == expected
    sampling = package.SamplingMethod.FIXED_BATCH_SIZE
    fixed = package.DpParams(noise_multipliers=1.1, sampling_method=sampling, **settings)
    event = dp.SampledWithoutReplacementDpEvent(64, 1, dp.GaussianDpEvent(1.1))
    twenty = dp.SelfComposedDpEvent(event, 20)
    expected = training.compute_epsilon(20, fixed)
    assert answer(f"jax-privacy-{engine}", twenty, relation=REPLACE) == expected
    assert answer(f"jax-privacy-{engine}") == 0.0
    with pytest.raises(dp.UnsupportedEventError):
        answer(f"jax-privacy-{engine}", run(1 / 64, 1.1, 20), relation=REPLACE)


def test_jax_privacy_calibration():
    package = module("jax_privacy.accounting")
    training = package.DpsgdTrainingAccountant(dp_accountant_config=package.RdpAccountantConfig())
    expected = package.calibrate_noise_multiplier(
        target_epsilon=1.0,
        accountant=training,
        batch_sizes=1,
        num_updates=20,
        num_samples=64,
        target_delta=DELTA,
    )
    candidate = adapters.load("jax-privacy-rdp")
    assert candidate.calibrate(lambda s: run(1 / 64, s, 20), ADD, 1.0, DELTA) == expected


HELD = {
    "opacus": ("opacus-rdp", lambda adapter: adapter.accountant.history[0][:2]),
    "riskcal": ("riskcal", lambda adapter: adapter.accountant.history[0][:2]),
    "prv_accountant": (
        "prv-accountant",
        lambda adapter: (float(adapter.translated[0].sigma), float(adapter.translated[0].p)),
    ),
}


@pytest.mark.parametrize("package", HELD)
@pytest.mark.parametrize(("sigma", "q"), [(math.nan, 0.5), (-1.0, 0.5), (1.0, 1.5), (1.0, -0.5)])
def test_nothing_is_mended_on_the_way(package, sigma, q):
    """What arrives at the package is what the event holds."""
    module(package)
    name, held = HELD[package]
    adapter = adapters.load(name).make(ADD).compose(run(q, sigma, 1))
    assert held(adapter) == pytest.approx((sigma, q), abs=0, rel=0, nan_ok=True)


def test_autodp_calibration():
    module("autodp")
    candidate = adapters.load("autodp")
    sigma = candidate.calibrate(lambda s: run(0.01, s, 20), ADD, 1.0, DELTA)
    assert 0.99 < answer("autodp", run(0.01, sigma, 20)) < 1.01
    with pytest.raises(dp.UnsupportedEventError):
        candidate.calibrate(dp.GaussianDpEvent, REPLACE, 1.0, DELTA)
