"""Closed forms, quick answers, and which of two directions counts."""

import math

import dp_accounting
import mpmath
import pytest

from accountants import AccuracyError, ExactAccountant, NeighboringRelation
from accountants.exact import inversion, single
from accountants.exact.domination import upper_run
from accountants.exact.inversion import surely_below
from accountants.relations import Direction
from accountants.sampling import Poisson
from accountants.walk import Release
from tests.accountants.exact.settings import ADD, REMOVE, composition


def sampled(q: float, sigma: float) -> dp_accounting.DpEvent:
    return dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(sigma))


def test_a_budget_above_the_chance_of_being_used_costs_nothing():
    accountant = ExactAccountant().compose(sampled(1e-5, 0.3), 10)
    chance = accountant.hit_probability_bound
    assert chance == pytest.approx(1e-4, rel=1e-3)
    assert accountant.get_epsilon(chance * 1.001) == 0
    assert accountant.get_epsilon(chance * 0.5) > 0


def test_total_variation_gives_zero_at_huge_noise():
    accountant = ExactAccountant().compose(sampled(0.01, 1e300), 10)
    assert accountant.epsilon_bracket(1e-12).upper == 0
    with pytest.raises(AccuracyError, match=r"1e\+300"):
        accountant.get_delta(0.0)


@pytest.mark.parametrize("name", ["log_hit_probability", "log_total_variation_bound"])
@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_quick_bounds_are_bounds(name, relation):
    directions = (
        [Direction.SYMMETRIC]
        if relation is NeighboringRelation.REPLACE_ONE
        else [Direction.REMOVE, Direction.ADD]
    )
    for direction in directions:
        counts = {Release(Poisson(0.02), 1.3): 40, Release(Poisson(0.01), 2.0): 5}
        one = upper_run(counts, relation, direction, 0.0)
        assert getattr(one, name) >= inversion.delta_value(one.composition, 0.0).upper
    plain = upper_run({Release(Poisson(1.0), 3.0): 2}, relation, directions[0], 0.0)
    assert getattr(plain, name) >= plain.closed_form(0.0)[0]


def test_second_direction_is_dropped_only_when_below():
    one = composition(0.05, 2.0, 5000, ADD)
    exact = inversion.delta_value(one, 9.0)
    assert surely_below(one, 9.0, exact.upper + 1e-6)
    assert not surely_below(one, 9.0, exact.lower - 1e-6)


def test_direction_both_is_the_larger():
    event = sampled(0.05, 2.0)
    cost = {
        d: ExactAccountant(direction=d).compose(event, 500).get_epsilon(1e-5)
        for d in ("remove", "add", "both")
    }
    assert cost["both"] == max(cost["remove"], cost["add"])
    assert cost["remove"] > cost["add"]


def test_gaussian_bracket_is_tight_and_private():
    for gap in (1e-4, 0.1, 1.0, 30.0):
        for delta in (0.1, 1e-5, 1e-18, 1e-300):
            log_delta = single.gaussian(gap)
            found = single.epsilon_bracket(log_delta, math.log(delta))
            assert found.width <= 1e-10 * found.upper + 1e-300
            if found.lower > 0:
                with mpmath.workdps(340):
                    e, g = mpmath.mpf(found.upper), mpmath.mpf(gap)
                    value = mpmath.ncdf(g / 2 - e / g) - mpmath.exp(e) * mpmath.ncdf(-g / 2 - e / g)
                    assert value <= delta


def test_largest_loss_of_the_add_direction():
    accountant = ExactAccountant(direction="add").compose(sampled(0.01, 1.0), 3)
    edge = -3 * math.log1p(-0.01)
    assert accountant.epsilon_bracket(0.0).upper == pytest.approx(edge, rel=1e-14)
    assert accountant.get_delta(edge * 1.001) == 0
    assert accountant.get_delta(edge * 0.5) > 0


def test_estimates_are_close_and_are_not_used_as_bounds():
    accountant = ExactAccountant().compose(sampled(0.01, 1.0), 1000)
    estimate = accountant.log_delta_estimate(2.0)
    assert estimate == pytest.approx(accountant.log_delta_bracket(2.0).upper, abs=0.3)
    assert accountant.log_delta_bracket(2.0).width < 1e-8


def test_refusals_say_what_and_why():
    too_quiet = composition(0.01, 1e-4, 10, REMOVE)
    with pytest.raises(AccuracyError, match=r"epsilon at delta = 1e-6 .* relative error of 1e-06"):
        inversion.epsilon_bracket(too_quiet, math.log(1e-6))


@pytest.mark.parametrize(
    ("delta", "words"), [(1e-7, "1e-7"), (9.9999e-8, "1e-7"), (1.13e-18, "1.13e-18"), (0.5, "5e-1")]
)
def test_a_refusal_tells_delta_in_scientific_notation(delta, words):
    assert inversion._power_of_ten(math.log(delta)) == words
