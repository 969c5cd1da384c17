"""Sizes at the ends of the doubles, and records that are drawn nearly always."""

from __future__ import annotations

import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.extremes import moderate
from accountants.renyi.accountant import RenyiAccountant
from accountants.renyi.lines import Mixture, Order
from accountants.renyi.quadrature import divergences
from accountants.sampling import Poisson, WeightedWithReplacement
from accountants.tcdp.accountant import TruncatedCdpAccountant
from accountants.walk import Release

ACCOUNTANTS = [RenyiAccountant, TruncatedCdpAccountant]
RELATIONS = list(NeighboringRelation)


def gaussian(sigma):
    return dp_accounting.GaussianDpEvent(sigma)


def steps(sigma):
    return {
        "plain": gaussian(sigma),
        "poisson": dp_accounting.PoissonSampledDpEvent(0.01, gaussian(sigma)),
        "without": dp_accounting.SampledWithoutReplacementDpEvent(100, 10, gaussian(sigma)),
        "with": dp_accounting.SampledWithReplacementDpEvent(2, 1, gaussian(sigma)),
    }


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("make", ACCOUNTANTS)
@pytest.mark.parametrize("sampling", list(steps(1.0)))
def test_the_ends_of_the_noise(make, relation, sampling):
    for sigma in (1e308, 1e160, 1e80):
        large = make(neighboring_relation=relation).compose(steps(sigma)[sampling], 10)
        assert large.get_epsilon(1e-6) == 0.0
        # Never below the truth at epsilon 0, a total variation of some 1e-2/sigma at least.
        # (Half lines do not resolve less than some 1e-16.)
        assert 1e-3 / sigma < large.get_delta(0.0) < 1e-15
        assert large.get_delta(1.0) < 1e-300
    for sigma in (5e-324, 1e-300, 1e-160, 1e-80):
        small = make(neighboring_relation=relation).compose(steps(sigma)[sampling], 10)
        assert small.get_epsilon(1e-6) == math.inf
        assert small.get_delta(1.0) == 1.0


@pytest.mark.parametrize("relation", [NeighboringRelation.ADD_OR_REMOVE_ONE])
@pytest.mark.parametrize("make", ACCOUNTANTS)
def test_the_smallest_chances(make, relation):
    for q in (5e-324, 1e-300, 1e-100):
        for sigma in (1.0, 1e308):
            event = dp_accounting.PoissonSampledDpEvent(q, gaussian(sigma))
            accountant = make(neighboring_relation=relation).compose(event, 10)
            assert accountant.get_epsilon(1e-6) == 0.0
            assert q / max(sigma, 1.0) / 10 <= accountant.get_delta(0.0) < 1e-60


def test_a_release_moves_only_to_one_that_costs_more():
    usual = Release(Poisson(0.01), 1.0)
    assert moderate(usual) == usual
    assert moderate(Release(Poisson(1e-300), 1e300)) == Release(Poisson(1e-70), 1e70)
    assert moderate(Release(WeightedWithReplacement(1e-300, 3), 1.0)) == Release(
        WeightedWithReplacement(1e-70, 3), 1.0
    )
    assert moderate(Release(Poisson(0.5), 1e-100)) is None


@pytest.mark.parametrize("relation", RELATIONS)
def test_many_copies_give_an_answer_without_warnings(relation):
    step = dp_accounting.SampledWithReplacementDpEvent(2, 300, gaussian(1.0))
    accountant = RenyiAccountant(neighboring_relation=relation).compose(step)
    # Half of the draws alone make this loss: (2 * 150)^2 / 2 (half of that where nobody leaves).
    shift = 150 if relation is NeighboringRelation.REPLACE_SPECIAL else 300
    assert 0.9 * shift**2 / 2 < accountant.get_epsilon(1e-6) < 2 * 300**2
    assert accountant.get_delta(1.0) == 1.0
    assert accountant.get_delta(0.0) == 1.0


@pytest.mark.parametrize("order", [1.5, 2.0, 3.0])
def test_a_record_that_is_nearly_always_drawn(order):
    """Against mpmath: p_0 = 1e-20 is lost in 1 - p_0, and in 1 + (ratio - 1)."""
    law = (1e-20, 0.25, 0.75 - 1e-20)
    mixture = Mixture(law, 0.7)
    with mpmath.workdps(40):

        def term(u):
            ratio = sum(
                mpmath.mpf(p) * mpmath.exp(k * mpmath.mpf(0.7) * u - (k * mpmath.mpf(0.7)) ** 2 / 2)
                for k, p in enumerate(law)
            )
            return mpmath.npdf(u) * ratio ** (1 - mpmath.mpf(order))

        truth = float(mpmath.log(mpmath.quad(term, mpmath.linspace(-45, 15, 61))) / (order - 1))
    found = divergences(mixture, Order.ADD, np.array([order]))[0]
    assert truth <= found <= truth * (1 + 1e-9)


def test_the_log_ratio_of_a_record_that_is_nearly_always_drawn():
    mixture = Mixture((2.0**-200, 0.25, 0.75), 2.0)
    _, log_ratio = mixture.relative(np.array([-300.0, -60.0, 0.0, 60.0]))
    assert log_ratio[0] == pytest.approx(-200 * math.log(2), rel=1e-14)
    assert log_ratio[1] == pytest.approx(
        np.logaddexp(-200 * math.log(2), math.log(0.25) - 122.0), rel=1e-14
    )
    assert np.isfinite(log_ratio).all()


def test_huge_losses_cost_no_time_and_no_memory():
    event = dp_accounting.dp_event.TruncatedSubsampledGaussianDpEvent(5, 1.1e-6, 5, 0.001)
    found = RenyiAccountant().compose(event, 2).get_epsilon(1e-6)
    # A single use of the record loses 1/(2 sigma^2), nearly.
    assert 4e5 < found < 1.1e6


@pytest.mark.parametrize("make", ACCOUNTANTS)
def test_copies_beyond_counting_are_no_privacy(make):
    event = dp_accounting.SampledWithReplacementDpEvent(5, 5000, gaussian(1.0))
    accountant = make(neighboring_relation=NeighboringRelation.REPLACE_ONE).compose(event)
    assert accountant.get_epsilon(1e-6) == math.inf
    assert accountant.get_delta(1.0) == 1.0
