"""Shortcuts to group privacy that give less than explicit data sets attain."""

from __future__ import annotations

import math

import dp_accounting
import pytest

from accountants import ExactAccountant, GroupAccountant, NeighboringRelation
from accountants.events import dp_sgd_event
from accountants.group_chain import log_chain_factor
from accountants.sampling import Poisson, WithoutReplacement

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
Q, SIGMA, STEPS, DELTA, K = 0.02, 3.0, 100, 1e-5, 6


def run(q: float = Q, sigma: float = SIGMA, steps: int = STEPS) -> dp_accounting.DpEvent:
    return dp_sgd_event(sampling=Poisson(q), noise_multiplier=sigma, steps=steps)


def attained(delta: float = DELTA) -> float:
    """The lower end: a group of equal records, which also dp_accounting's mixture confirms."""
    return GroupAccountant(group_size=K).compose(run()).epsilon_bracket(delta).lower


def test_k_times_epsilon_at_the_same_delta_is_caught() -> None:
    assert K * ExactAccountant().compose(run()).get_epsilon(DELTA) < attained()


def test_one_record_with_k_times_the_chance_is_caught() -> None:
    assert ExactAccountant().compose(run(q=K * Q)).get_epsilon(DELTA) < attained()


def test_a_group_that_enters_as_a_whole_is_caught() -> None:
    # The whole group by one coin: rarer, so that at ε = 0 with little noise it shows less.
    sigma = 0.5
    whole = ExactAccountant().compose(run(sigma=sigma / K, steps=1)).get_delta(0.0)
    group = GroupAccountant(group_size=K).compose(run(sigma=sigma, steps=1))
    assert whole < group.delta_bracket(0.0).lower


def test_a_chain_without_its_geometric_sum_is_caught() -> None:
    # δ_k(kε) = k δ(ε) is what one gets who forgets that each hop multiplies what follows; ε is
    # where the hops' sum matters and few large losses decide.
    event = run(q=1.0, sigma=40.0, steps=1)
    single = ExactAccountant().compose(event)
    group = GroupAccountant(group_size=200).compose(event)
    epsilon = 20.0
    forgot = single.log_delta_upper(epsilon / 200) + math.log(200)
    right = single.log_delta_upper(epsilon / 200) + log_chain_factor(epsilon / 200, 200)
    true = group.log_delta_bracket(epsilon).lower
    assert forgot < true < right


def test_a_chain_at_the_first_size_is_caught() -> None:
    # All but one of the other records leave: the last hop samples nearly everything.
    n, m, k, sigma, epsilon = 60, 4, 55, 6.0, 0.0
    event = dp_sgd_event(sampling=WithoutReplacement(n, m), noise_multiplier=sigma, steps=1)
    group = GroupAccountant(ADD_REMOVE, group_size=k).compose(event)
    bracket = group.delta_bracket(epsilon)
    assert bracket.lower <= bracket.upper
    last_hop = dp_sgd_event(
        sampling=WithoutReplacement(n - k + 1, m), noise_multiplier=sigma, steps=1
    )
    wrong = ExactAccountant(ADD_REMOVE).compose(event).get_delta(epsilon)
    assert wrong < 0.2 * ExactAccountant(ADD_REMOVE).compose(last_hop).delta_bracket(epsilon).lower
    assert group._hop.get_delta(epsilon) == ExactAccountant(ADD_REMOVE).compose(last_hop).get_delta(
        epsilon
    )


@pytest.mark.parametrize("k", [2, 3])
def test_two_groups_of_a_record_each_are_no_group_of_two(k: int) -> None:
    # Composition over disjoint runs is not group privacy: one run sees the sum move k times.
    twice = ExactAccountant().compose(run(), k).get_epsilon(DELTA)
    group = GroupAccountant(group_size=k).compose(run()).epsilon_bracket(DELTA)
    assert twice < group.lower
