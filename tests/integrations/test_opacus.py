"""The exact accountant in Opacus: its registry, its engine, its states, its noise search."""

import json
import math

import dp_accounting
import pytest

from accountants import ExactAccountant, NeighboringRelation
from accountants.ledger import ledger_from_json
from accountants.sampling import ShuffledEpochs, WithoutReplacement, WithReplacement
from tests.integrations.packages import needs

opacus_accountants = needs("opacus.accountants", "opacus")
exact = needs("dp2theory.integrations.opacus", "opacus")

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("default"),  # torch and Opacus warn of their own affairs
]
REPLACE = NeighboringRelation.REPLACE_ONE


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """A registry of its own for each test."""
    from opacus.accountants import registry

    monkeypatch.setattr(registry, "_ACCOUNTANTS", dict(registry._ACCOUNTANTS))


def poisson(rate, noise):
    return dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))


def test_registered_accountants_are_made_by_opacus():
    exact.register()
    made = opacus_accountants.create_accountant("exact")
    assert isinstance(made, opacus_accountants.IAccountant)
    assert (made.mechanism(), len(made), made.get_epsilon(1e-5)) == ("exact", 0, 0.0)
    with pytest.raises(ValueError, match="already registered"):
        exact.register()
    exact.register(force=True)


def test_steps_are_counted_and_accounted():
    exact.register()
    accountant = opacus_accountants.create_accountant("exact")
    for _ in range(100):
        accountant.step(noise_multiplier=1.1, sample_rate=0.01)
    for _ in range(20):
        accountant.step(noise_multiplier=0.9, sample_rate=0.02)
    assert len(accountant) == 120  # steps, not groups
    assert accountant.history == [(1.1, 0.01, 100), (0.9, 0.02, 20)]
    ours = ExactAccountant().compose(poisson(0.01, 1.1), 100).compose(poisson(0.02, 0.9), 20)
    assert accountant.epsilon_bracket(1e-5) == ours.epsilon_bracket(1e-5)
    assert accountant.get_epsilon(delta=1e-5) == ours.get_epsilon(1e-5)


def test_between_opacus_own_guarantees():
    exact.register()
    ours = opacus_accountants.create_accountant("exact")
    theirs = opacus_accountants.create_accountant("prv")
    rdp = opacus_accountants.create_accountant("rdp")
    for accountant in (ours, theirs, rdp):
        accountant.history = [(1.0, 0.01, 1000)]
    value, prv = ours.get_epsilon(1e-5), theirs.get_epsilon(1e-5, eps_error=0.01)
    print(f"\n  exact {value:.6f}, Opacus PRV {prv:.6f}, Opacus RDP {rdp.get_epsilon(1e-5):.6f}")
    assert prv - 0.021 < value < prv < rdp.get_epsilon(1e-5)


def test_a_state_goes_through_json_and_back():
    exact.register()
    accountant = opacus_accountants.create_accountant("exact")
    accountant.history = [(1.1, 0.01, 100), (0.9, 0.02, 20)]
    text = json.dumps(accountant.state_dict())
    again = opacus_accountants.create_accountant("exact")
    again.load_state_dict(json.loads(text))
    assert again.history == accountant.history
    again.step(noise_multiplier=0.9, sample_rate=0.02)
    assert again.history[-1] == (0.9, 0.02, 21)
    # the same text is a ledger for `dp2theory account --event`
    ledger = ledger_from_json(json.loads(text))
    epsilon = ExactAccountant().compose(ledger.event).get_epsilon(1e-5)
    assert epsilon == accountant.get_epsilon(1e-5)
    with pytest.raises(ValueError, match="rdp"):
        again.load_state_dict({"history": [], "mechanism": "rdp"})


def test_opacus_noise_search_uses_it():
    from opacus.accountants.utils import get_noise_multiplier

    exact.register()
    budget = {"target_epsilon": 2.0, "target_delta": 1e-5, "sample_rate": 0.01, "steps": 1000}
    noise = get_noise_multiplier(**budget, accountant="exact", epsilon_tolerance=1e-4)
    epsilon = ExactAccountant().compose(poisson(0.01, noise), 1000).get_epsilon(1e-5)
    assert 2.0 - 1e-4 <= epsilon <= 2.0
    rdp = get_noise_multiplier(**budget, accountant="rdp", epsilon_tolerance=1e-4)
    print(f"\n  noise multiplier for epsilon 2: exact {noise:.6f}, Opacus RDP {rdp:.6f}")
    assert noise < rdp


def test_training_by_the_privacy_engine():
    import torch
    from opacus import PrivacyEngine

    exact.register()
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(200, 3), torch.randn(200, 1))
    model = torch.nn.Linear(3, 1)
    engine = PrivacyEngine(accountant="exact")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(data, batch_size=20),
        noise_multiplier=1.3,
        max_grad_norm=1.0,
    )
    for _ in range(2):
        for features, targets in loader:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(features), targets).backward()
            optimizer.step()
    assert len(engine.accountant) == 20
    expected = ExactAccountant().compose(poisson(0.1, 1.3), 20).get_epsilon(1e-5)
    assert engine.get_epsilon(delta=1e-5) == expected


FIXED = [WithoutReplacement(1000, 10), WithReplacement(1000, 10), ShuffledEpochs(1000, 10)]


@pytest.mark.parametrize("sampling", FIXED, ids=lambda sampling: sampling.scheme)
def test_batches_of_fixed_size(sampling):
    from accountants.events import dp_sgd_event

    made = exact.register(sampling.scheme, sampling=sampling)
    accountant = opacus_accountants.create_accountant(sampling.scheme)
    assert type(accountant) is made
    for _ in range(100):
        accountant.step(noise_multiplier=2.0, sample_rate=0.01)
    event = dp_sgd_event(sampling=sampling, noise_multiplier=2.0, steps=100)
    ours = ExactAccountant(REPLACE).compose(event)
    assert accountant.epsilon_bracket(1e-5) == ours.epsilon_bracket(1e-5)
    rdp = opacus_accountants.create_accountant("rdp")
    rdp.history = accountant.history
    print(
        f"\n  {sampling.scheme}, replace one: [{ours.epsilon_bracket(1e-5).lower:.4f}, "
        f"{ours.get_epsilon(1e-5):.4f}]; Opacus RDP, which takes it for Poisson sampling and add "
        f"or remove one: {rdp.get_epsilon(1e-5):.4f}"
    )
    assert ours.epsilon_bracket(1e-5).lower > rdp.get_epsilon(1e-5)
    with pytest.raises(ValueError, match=r"sample_rate=0\.02: must be 0\.01"):
        accountant.step(noise_multiplier=2.0, sample_rate=0.02)


def test_an_epoch_that_has_begun_counts_whole():
    sampling = ShuffledEpochs(100, 10)
    made = exact.accountant_class(mechanism="shuffled", sampling=sampling)

    def epsilon(*history):
        accountant = made()
        accountant.history = list(history)
        return accountant.get_epsilon(1e-5)

    assert epsilon((5.0, 0.1, 21)) == epsilon((5.0, 0.1, 30))
    assert epsilon((5.0, 0.1, 20)) < epsilon((5.0, 0.1, 21))
    # an epoch whose noise changed counts with the least of it
    assert epsilon((5.0, 0.1, 4), (6.0, 0.1, 6)) == epsilon((5.0, 0.1, 10))
    assert epsilon((6.0, 0.1, 10), (5.0, 0.1, 10)) == pytest.approx(
        epsilon((5.0, 0.1, 10), (6.0, 0.1, 10)), rel=1e-9
    )


def test_what_is_not_covered_or_not_a_step_is_refused():
    from dp_accounting.privacy_accountant import UnsupportedEventError

    with pytest.raises(UnsupportedEventError, match="shuffled-epochs"):
        exact.accountant_class(
            mechanism="x",
            sampling=ShuffledEpochs(100, 10),
            relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
        )
    accountant = exact.ExactOpacusAccountant()
    for noise, rate in ((-1.0, 0.1), (math.nan, 0.1), (1.0, 1.5), (1.0, -0.1)):
        with pytest.raises(ValueError, match="must be"):
            accountant.step(noise_multiplier=noise, sample_rate=rate)
    assert accountant.history == []
    with pytest.raises(ValueError, match="alphas"):
        accountant.get_epsilon(1e-5, alphas=[2.0])
    with pytest.raises(ValueError, match="target_delta"):
        accountant.get_epsilon(2.0)
