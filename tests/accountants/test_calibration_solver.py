"""The calibration ends on the private side, quickly, and says when there is nothing to do."""

import dp_accounting
import pytest

from accountants import (
    AccuracyError,
    ExactAccountant,
    InfeasibleBudgetError,
    NeighboringRelation,
    calibrate_noise_multiplier,
)
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson, ShuffledEpochs


def calibrated(q, steps, epsilon, delta, relation=NeighboringRelation.ADD_OR_REMOVE_ONE):
    def make_event(sigma):
        return dp_sgd_event(sampling=Poisson(q), noise_multiplier=sigma, steps=steps)

    found = calibrate_noise_multiplier(
        make_event, target_epsilon=epsilon, target_delta=delta, neighboring_relation=relation
    )
    again = ExactAccountant(relation).compose(make_event(found.noise_multiplier))
    return found, again.epsilon_bracket(delta)


@pytest.mark.parametrize(
    ("q", "steps", "epsilon", "delta"),
    [
        (0.01, 1000, 2.0, 1e-6),
        (0.01, 1000, 0.01, 1e-6),
        (0.01, 1000, 100.0, 1e-6),
        (0.01, 1000, 2.0, 1e-30),
        (1.0, 1, 1000.0, 1e-5),
        (0.2, 500, 0.5, 1e-12),
        (1e-3, 10**5, 1.0, 1e-8),
    ],
)
@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_ends_within_a_billionth_on_the_private_side(q, steps, epsilon, delta, relation):
    found, again = calibrated(q, steps, epsilon, delta, relation)
    assert again == found.epsilon
    assert epsilon * (1 - 1e-9) < again.upper <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "sigma"),
    [(0.01, 243.785437676), (100.0, 0.0946699071), (1000.0, 0.0245817834)],
)
def test_one_gaussian_release(epsilon, sigma):
    """Values of the public report opacus#604, computed independently."""
    found, _ = calibrated(1.0, 1, epsilon, 1e-5)
    assert found.noise_multiplier == pytest.approx(sigma, rel=2e-9)


def test_more_budget_needs_less_noise():
    sigmas = [calibrated(0.01, 500, e, 1e-6)[0].noise_multiplier for e in (0.5, 1, 2, 4, 8)]
    assert sigmas == sorted(sigmas, reverse=True)


def test_nothing_to_calibrate():
    with pytest.raises(InfeasibleBudgetError, match="nothing to calibrate") as caught:
        calibrated(1e-5, 10, 3.0, 1e-3)
    assert "noise_multiplier" in caught.value.nearest


def test_a_fixed_part_that_spends_everything():
    def make_event(sigma):
        return dp_accounting.ComposedDpEvent(
            [dp_accounting.GaussianDpEvent(sigma), dp_accounting.GaussianDpEvent(0.5)]
        )

    with pytest.raises(InfeasibleBudgetError, match="not met by any"):
        calibrate_noise_multiplier(make_event, target_epsilon=1.0, target_delta=1e-6)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target_epsilon", float("nan")),
        ("target_epsilon", 0.0),
        ("target_epsilon", float("inf")),
        ("target_delta", 1.0),
        ("target_delta", 0.0),
        ("target_delta", float("nan")),
    ],
)
def test_domains(name, value):
    arguments = {"target_epsilon": 1.0, "target_delta": 1e-5} | {name: value}
    with pytest.raises(ValueError, match=name):
        calibrate_noise_multiplier(dp_accounting.GaussianDpEvent, **arguments)


def test_unsupported_sampling_is_refused():
    def make_event(sigma):
        return dp_sgd_event(sampling=ShuffledEpochs(100, 10), noise_multiplier=sigma, steps=10)

    with pytest.raises(dp_accounting.UnsupportedEventError, match="ShuffledEpoch"):
        calibrate_noise_multiplier(make_event, target_epsilon=1.0, target_delta=1e-5)


def test_a_budget_beyond_every_loss_is_quick_and_quiet():
    """Without sampling the releases would already meet it at the smallest noise multiplier."""
    with pytest.raises(InfeasibleBudgetError, match="nothing to calibrate"):
        calibrated(0.01, 1000, 1e300, 1e-6)


def test_small_sampling_probability_and_few_steps():
    """One rare large loss decides here; the estimate that starts the solve knows it."""
    found, again = calibrated(1.6e-4, 2, 3.0, 1e-5)
    assert again == found.epsilon
    assert 3 * (1 - 1e-9) < again.upper <= 3


def test_where_the_engine_refuses_slowly_it_is_asked_slowly_once(monkeypatch):
    """ε = 1000 of 1000 sampled steps: the first refusal may take seconds, those near by may not."""
    patience = []
    whole = ExactAccountant.log_delta_upper

    def noted(self, epsilon, *, rough=False, patient=True):
        patience.append(patient)
        return whole(self, epsilon, rough=rough, patient=patient)

    monkeypatch.setattr(ExactAccountant, "log_delta_upper", noted)
    with pytest.raises(AccuracyError, match="cannot be computed"):
        calibrated(0.01, 1000, 1000.0, 1e-5)
    assert patience[0] is True
    assert patience[1:] == [False] * 4
