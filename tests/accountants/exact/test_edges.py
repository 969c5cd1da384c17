"""Ends at the edges: δ = 0, noise that is nearly none or drowns everything. Each is a bound."""

import math

import mpmath
import pytest

from accountants import AccuracyError, ExactAccountant, GroupAccountant, NeighboringRelation
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson, WithoutReplacement, WithReplacement

REPLACE = NeighboringRelation.REPLACE_ONE
ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE


def steps(sampling, sigma, count=1):
    return dp_sgd_event(sampling=sampling, noise_multiplier=sigma, steps=count)


def encloses_the_largest_loss(sampling, absent, count):
    """Whether ε(0), where a record is only ever added, lies between both ends."""
    accountant = ExactAccountant(direction="add").compose(steps(sampling, 1.0, count))
    found = accountant.epsilon_bracket(0.0)
    with mpmath.workdps(50):
        true = -count * mpmath.log(absent())
        return found.lower <= true <= found.upper


def never_sampled(q):
    return encloses_the_largest_loss(Poisson(q), lambda: 1 - mpmath.mpf(q), 7)


def never_drawn(draws):
    def absent():
        return (1 - mpmath.mpf(1) / 1000) ** draws

    return encloses_the_largest_loss(WithReplacement(1000, draws), absent, 3)


@pytest.mark.parametrize("q", [0.1, 1e-3, 0.7, 0.99])
def test_epsilon_of_zero_where_records_are_added(q):
    assert never_sampled(q)


@pytest.mark.parametrize("draws", [1, 30, 2000])
def test_epsilon_of_zero_with_replacement(draws):
    assert never_drawn(draws)


def total_variation(sigma):
    """δ(0) of one step at q = 1/2 for groups of two that are exchanged, to first order."""
    return 2 * 0.5 * 2 / sigma / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("sigma", [1e12, 1e14, 1e15, 1e16, 1e20])
def test_groups_under_noise_that_drowns_everything(sigma):
    accountant = GroupAccountant(REPLACE, group_size=2).compose(steps(Poisson(0.5), sigma))
    found = accountant.delta_bracket(0.0)
    true = total_variation(sigma)
    assert found.lower <= true * (1 + 1e-6)
    assert found.upper >= true * (1 - 1e-6)


@pytest.mark.parametrize("sigma", [3e14, 1e15, 3e15, 1e16])
@pytest.mark.parametrize("q", [0.5, 1e-3])
def test_few_steps_under_such_noise_are_refused_or_bounded(sigma, q):
    accountant = ExactAccountant().compose(steps(Poisson(q), sigma, 3))
    with pytest.raises(AccuracyError):
        accountant.delta_bracket(0.0)
    assert 0 <= accountant.epsilon_bracket(1e-6).upper < 1e-12


@pytest.mark.parametrize("sigma", [1e-200, 1e-160, 1e-101])
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("sampling", [Poisson(0.1), WithoutReplacement(100, 5)])
def test_hardly_any_noise_is_no_privacy_or_refused(sampling, size, sigma):
    accountant = GroupAccountant(ADD_OR_REMOVE, group_size=size).compose(steps(sampling, sigma, 3))
    assert accountant.unsampled_log_delta(1.0) == 0.0
    with pytest.raises(AccuracyError, match="is below 1e-100"):
        accountant.delta_bracket(1.0)
