"""Budgets: the private side, the cost of a discarded pilot, and refused values."""

import pytest
from dp_accounting import SelfComposedDpEvent

from accountants import ExactAccountant
from dp2theory.planning.budget import compose_events, epsilon_of, releases_of
from tests.planning.small import small_budget


def test_calibration_ends_on_the_private_side():
    budget = small_budget()
    found = budget.calibrate()
    assert 3.0 * (1 - 1e-8) < found.epsilon.upper <= 3.0
    again = ExactAccountant().compose(budget.event(found.noise_multiplier))
    assert again.get_epsilon(1e-4) == found.epsilon.upper


def test_a_discarded_pilot_is_paid_from_the_same_budget():
    budget = small_budget()
    plain = budget.calibrate().noise_multiplier
    pilot = budget.event(plain, steps=budget.pilot_steps)
    found = budget.calibrate(spent=pilot)
    assert found.noise_multiplier > plain * 1.05  # 40 of 200 releases more
    whole = compose_events(pilot, budget.event(found.noise_multiplier))
    assert releases_of(whole) == 160 + 40
    assert 3.0 * (1 - 1e-8) < budget.account(whole).upper <= 3.0
    # The bite: at the noise that ignores the pilot the budget is overspent.
    assert budget.account(compose_events(pilot, budget.event(plain))).lower > 3.3


def test_events_are_composed_in_order_and_none_is_nothing():
    budget = small_budget()
    event = budget.event(1.0, steps=3)
    assert compose_events(None, event) is event
    assert isinstance(event, SelfComposedDpEvent)
    assert releases_of(compose_events(None, None)) == 0
    assert budget.account(compose_events(None, None)).upper == 0


def test_relation_matters():
    replace = small_budget(relation="replace-one")
    event = replace.event(1.3)
    assert replace.account(event).lower > small_budget().account(event).upper * 1.5
    assert epsilon_of(event, 1e-4, replace.neighboring_relation) == replace.account(event)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": 0}, "steps=0"),
        ({"steps": True}, "steps=True"),
        ({"batch_size": 1501}, "batch_size=1501"),
        ({"target_epsilon": float("nan")}, "target_epsilon=nan"),
        ({"target_epsilon": -1.0}, "target_epsilon=-1.0"),
        ({"target_delta": 1.0}, "target_delta=1.0"),
        ({"target_delta": float("nan")}, "target_delta=nan"),
        ({"relation": "neighbours"}, "add-or-remove-one, replace-one"),
    ],
)
def test_bad_values_are_named(changes, words):
    with pytest.raises(ValueError, match=words):
        small_budget(**changes)


def test_without_a_target_there_is_nothing_to_calibrate():
    with pytest.raises(ValueError, match="inf"):
        small_budget(target_epsilon=float("inf")).calibrate()
