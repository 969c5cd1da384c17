"""The accountant: public reports, laws, sampling schemes, truncation, bad input."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting.privacy_accountant import NeighboringRelation, UnsupportedEventError
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants import ExactAccountant
from accountants.copies import CopyLaw
from accountants.events import ShuffledEpochDpEvent, WeightedWithReplacementDpEvent
from accountants.renyi import conversion
from accountants.renyi.accountant import RenyiAccountant
from accountants.renyi.curves import ceiling
from accountants.renyi.lines import Mixture, Order
from accountants.renyi.quadrature import divergences
from accountants.sampling import WithReplacement
from accountants.walk import Release

ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL


def poisson(q: float, sigma: float) -> dp.DpEvent:
    return dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(sigma))


def subset(n: int, m: int, sigma: float) -> dp.DpEvent:
    return dp.SampledWithoutReplacementDpEvent(n, m, dp.GaussianDpEvent(sigma))


def draws(n: int, m: int, sigma: float) -> dp.DpEvent:
    return dp.SampledWithReplacementDpEvent(n, m, dp.GaussianDpEvent(sigma))


def test_the_best_order_off_the_grid() -> None:
    """tensorflow/privacy#47, opacus#670: within 1 % of the infimum over real orders."""
    for q, sigma, steps, delta, exact in (
        (0.001, 20.0, 10, 1e-9, 6.5912275e-4),
        (0.01, 10.0, 10, 1e-5, 0.00777826588),
    ):
        accountant = RenyiAccountant().compose(poisson(q, sigma), steps)
        epsilon, order = accountant.epsilon_and_order(delta)
        orders = 1 + np.geomspace(1e-2, 1e5, 3000)
        curve = steps * divergences(Mixture((1 - q, q), 1 / sigma), Order.REMOVE, orders)
        dense = conversion.epsilons(orders, curve, math.log(delta)).min()
        assert exact <= epsilon <= dense * (1 + 1e-9)
        assert order > 500


def test_an_order_just_above_one_gives_no_false_zero() -> None:
    """tensorflow/privacy#166."""
    orders = [1 + 1e-8, 1.5, 2.0, 4.0, 8.0, 16.0, 32.0]
    for chosen in (None, orders):
        accountant = RenyiAccountant(orders=chosen).compose(poisson(0.00105, 1.0))
        assert accountant.get_epsilon(1e-3) == 0  # true: δ(0) = 4.02071169e-4
        assert accountant.get_epsilon(1e-4) >= 0.00240434002
        assert accountant.get_epsilon(1e-5) >= 0.00977619822
        assert accountant.get_delta(0.0) >= 4.02071169e-4


def test_large_delta_and_zero() -> None:
    accountant = RenyiAccountant().compose(poisson(0.01, 1.0), 10)
    assert accountant.get_epsilon(0.5) == 0
    assert accountant.get_epsilon(1.0) == 0
    assert accountant.get_epsilon(0.0) == math.inf
    assert RenyiAccountant().get_epsilon(0.0) == 0
    assert accountant.get_delta(math.inf) == 0
    assert 0 < accountant.get_delta(0.0) < 1
    assert 0 < accountant.get_epsilon(1e-300) < math.inf


@pytest.mark.parametrize(("relation", "shift"), [(ADD_OR_REMOVE, 1), (REPLACE, 2), (SPECIAL, 1)])
def test_the_gaussian_in_closed_form(relation: NeighboringRelation, shift: int) -> None:
    accountant = RenyiAccountant(relation).compose(dp.GaussianDpEvent(2.0), 3)
    orders = np.array([[1.5, 2.0], [1.0001, 1e4]])
    np.testing.assert_allclose(accountant.rdp(orders), 3 * shift**2 / 8 * orders, rtol=1e-14)
    whole = RenyiAccountant(relation).compose(poisson(1.0, 2.0), 3)
    np.testing.assert_array_equal(whole.rdp(orders), accountant.rdp(orders))


@pytest.mark.parametrize(("relation", "shift"), [(REPLACE, 2.0), (SPECIAL, 1.0)])
def test_a_shuffled_epoch_is_one_full_release(relation: NeighboringRelation, shift: float) -> None:
    event = ShuffledEpochDpEvent(1000, 30, dp.GaussianDpEvent(3.0))
    accountant = RenyiAccountant(relation).compose(event, 5)
    assert accountant.rdp([4.0])[0] == pytest.approx(5 * 4 * shift**2 / 18, rel=1e-14)
    assert len(accountant) == 5 * 34
    with pytest.raises(UnsupportedEventError):
        RenyiAccountant(ADD_OR_REMOVE).compose(event)


SETTINGS = {
    "poisson": (ADD_OR_REMOVE, poisson(0.01, 1.0), 1000),
    "poisson, replace": (REPLACE, poisson(0.01, 1.0), 1000),
    "poisson, special": (SPECIAL, poisson(0.2, 3.0), 50),
    "small noise": (ADD_OR_REMOVE, poisson(0.125, 0.8), 1000),
    "gaussian": (REPLACE, dp.GaussianDpEvent(20.0), 100),
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_never_below_the_exact_cost(name: str, delta: float) -> None:
    relation, event, steps = SETTINGS[name]
    exact = ExactAccountant(relation).compose(event, steps).epsilon_bracket(delta)
    accountant = RenyiAccountant(relation).compose(event, steps)
    epsilon = accountant.get_epsilon(delta)
    assert exact.lower <= epsilon <= 1.5 * exact.upper + 0.01
    assert accountant.get_delta(epsilon) <= delta


@pytest.mark.parametrize(
    ("sigma", "steps", "published"),
    [(2.0, 20000, 6.6013), (2.0, 1000, 1.6158), (4.0, 20000, 2.1754), (1.0, 20000, 46.61)],
)
def test_without_replacement_reference(sigma: float, steps: int, published: float) -> None:
    """Derived references on an order grid: the optimum over real orders is at most that."""
    accountant = RenyiAccountant(REPLACE).compose(subset(50000, 256, sigma), steps)
    epsilon = accountant.get_epsilon(1e-6)
    assert 0.999 * published <= epsilon <= published * (1 + 1e-4)


@pytest.mark.parametrize(("sigma", "attained"), [(1.0, 13.59701), (2.0, 1.09809), (4.0, 0.35235)])
def test_with_replacement_is_above_what_is_attained(sigma: float, attained: float) -> None:
    """ε of 1000 steps at δ = 1e-6, n = 50000, m = 256: derived references by contours."""
    epsilon = RenyiAccountant(REPLACE).compose(draws(50000, 256, sigma), 1000).get_epsilon(1e-6)
    assert attained <= epsilon <= 4 * attained


def test_the_number_of_copies_is_chosen_well() -> None:
    accountant = RenyiAccountant(REPLACE).compose(draws(50000, 256, 2.0), 1000)
    fixed = [
        RenyiAccountant(REPLACE, largest_copies=kappa).compose(draws(50000, 256, 2.0), 1000)
        for kappa in range(1, 7)
    ]
    epsilons = [one.get_epsilon(1e-6) for one in fixed]
    assert accountant.get_epsilon(1e-6) == min(epsilons)
    assert epsilons[0] == math.inf  # two copies are likelier than 1e-6
    assert np.isfinite(epsilons[2:]).all()
    tails = [one.truncation_delta for one in fixed]
    assert (np.diff(tails) < 0).all()
    # P(K > 2) = 2.24e-8 for one batch
    assert tails[1] == pytest.approx(1000 * 2.202442846e-8, rel=1e-4)
    deltas = [one.get_delta(2.0) for one in fixed]
    assert accountant.get_delta(2.0) == min(deltas)
    assert (np.array(deltas) >= tails).all()


def test_both_directions_count_with_replacement() -> None:
    """One direction is left out only where it cannot win, and it wins somewhere in neither."""
    law = CopyLaw.of(50, 0.01, largest=6).probabilities
    orders = np.array([1.001, 1.1, 2.0, 8.0, 64.0, 500.0])
    both = [divergences(Mixture(law, 0.1), order, orders) for order in (Order.REMOVE, Order.ADD)]
    accountant = RenyiAccountant(ADD_OR_REMOVE, largest_copies=6).compose(draws(100, 50, 20.0), 7)
    np.testing.assert_allclose(accountant.rdp(orders), 7 * np.max(both, axis=0), rtol=1e-12)
    most = ceiling(Release(WithReplacement(100, 50), 20.0), ADD_OR_REMOVE, CopyLaw(law, 0.0))
    assert both[1].max() <= most == pytest.approx(-math.log(law[0]), rel=1e-12)


def test_tiny_delta_with_replacement() -> None:
    accountant = RenyiAccountant(REPLACE).compose(draws(50000, 20, 5.0), 10)
    epsilons = [accountant.get_epsilon(delta) for delta in (1e-12, 1e-60, 1e-300)]
    assert np.isfinite(epsilons).all()
    assert (np.diff(epsilons) > 0).all()


def test_without_truncation_the_curve_is_refused_with_the_reason() -> None:
    for event, relation in (
        (draws(50000, 256, 1.0), ADD_OR_REMOVE),
        (WeightedWithReplacementDpEvent(2e-5, 256, dp.GaussianDpEvent(1.0)), REPLACE),
    ):
        accountant = RenyiAccountant(relation).compose(event)
        with pytest.raises(ValueError, match=r"largest_copies=None.*4 m\^2/sigma\^2.*256604"):
            accountant.rdp([2.0])
        with pytest.raises(ValueError, match="largest_copies"):
            _ = accountant.truncation_delta
        assert math.isfinite(accountant.get_epsilon(1e-6))


def test_the_reason_is_true() -> None:
    """Order 2 of the pair itself, all copies kept, for 10 draws from 1000."""
    accountant = RenyiAccountant(ADD_OR_REMOVE, largest_copies=10).compose(draws(1000, 10, 0.5))
    assert accountant.rdp([2.0])[0] >= 4 * 100 / 0.25 - 20 * math.log(1000)
    assert accountant.truncation_delta == 0


def test_cut_batches_are_carried_in_delta() -> None:
    """Poisson batches of 250 expected, cut at 400: never cheaper than without the cut."""
    cut = dp.TruncatedSubsampledGaussianDpEvent(50000, 0.005, 320, 1.0)
    one = RenyiAccountant().compose(cut, 1000)
    plain = RenyiAccountant().compose(poisson(0.005, 1.0), 1000)
    lost = one.truncation_delta
    # P(Bin(50000, .005) >= 320) = 8.7e-6 or so for one batch
    from scipy import stats

    assert lost == pytest.approx(
        -math.expm1(1000 * math.log1p(-stats.binom.sf(319, 50000, 0.005))), rel=1e-6
    )
    np.testing.assert_array_equal(one.rdp([2.0, 3.0]), plain.rdp([2.0, 3.0]))
    assert one.get_epsilon(lost * 0.99) == math.inf
    delta = 2 * lost
    epsilon = one.get_epsilon(delta)
    left = plain.get_epsilon((delta - lost) / (1 - lost))
    assert epsilon == pytest.approx(left, rel=1e-9)
    assert one.get_delta(epsilon) == pytest.approx(delta, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(
    st.floats(1e-4, 0.5),
    st.floats(0.5, 20.0),
    st.integers(1, 2000),
    st.integers(1, 2000),
    st.sampled_from([ADD_OR_REMOVE, REPLACE]),
)
def test_composition_is_additive(
    q: float, sigma: float, first: int, second: int, relation: NeighboringRelation
) -> None:
    event = poisson(q, sigma)
    together = RenyiAccountant(relation).compose(event, first + second)
    apart = RenyiAccountant(relation).compose(event, second).compose(event, first)
    orders = [1.1, 2.0, 17.3]
    np.testing.assert_array_equal(together.rdp(orders), apart.rdp(orders))
    single = RenyiAccountant(relation).compose(event).rdp(orders)
    np.testing.assert_allclose(together.rdp(orders), (first + second) * single, rtol=1e-14)
    assert len(together) == first + second
    tree = dp.ComposedDpEvent(
        [dp.SelfComposedDpEvent(event, first), dp.SelfComposedDpEvent(event, second)]
    )
    assert RenyiAccountant(relation).compose(tree).get_epsilon(1e-5) == together.get_epsilon(1e-5)


def test_the_curve_as_an_object() -> None:
    accountant = RenyiAccountant(REPLACE, orders=[2.0, 3.0, 4.0], largest_copies=3)
    accountant.compose(draws(50000, 256, 4.0), 100)
    curve = accountant.approximate([4.0, 2.0, 3.0])
    assert curve.orders == (2.0, 3.0, 4.0)
    assert curve.delta == accountant.truncation_delta > 0
    assert curve.get_epsilon(1e-6) == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-11)
    half = RenyiAccountant(REPLACE, largest_copies=3).compose(draws(50000, 256, 4.0), 50)
    twice = half.approximate([2.0, 3.0, 4.0]).repeat(2)
    np.testing.assert_allclose(twice.divergences, curve.divergences, rtol=1e-13)
    assert twice.delta == pytest.approx(curve.delta, rel=1e-9)


def test_mixed_events_add() -> None:
    events = [poisson(0.01, 1.0), subset(50000, 256, 2.0), draws(50000, 256, 4.0)]
    for relation in NeighboringRelation:
        total = RenyiAccountant(relation, largest_copies=3)
        parts = []
        for event in events:
            total.compose(event, 10)
            one = RenyiAccountant(relation, largest_copies=3).compose(event, 10)
            parts.append(one.rdp([1.5, 2.0, 5.0]))
        assert (total.rdp([1.5, 2.0, 5.0]) <= np.sum(parts, axis=0) * (1 + 1e-14)).all()
        assert (total.rdp([1.5, 2.0, 5.0]) >= np.max(parts, axis=0)).all()
        assert total.truncation_delta > 0


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("event", [poisson(0.02, 1.0), subset(2000, 40, 2.0), draws(2000, 40, 3.0)])
def test_monotone(relation: NeighboringRelation, event: dp.DpEvent) -> None:
    def epsilon(event: dp.DpEvent, steps: int, delta: float) -> float:
        return RenyiAccountant(relation).compose(event, steps).get_epsilon(delta)

    base = epsilon(event, 100, 1e-5)
    assert epsilon(event, 101, 1e-5) >= base
    assert epsilon(event, 100, 0.9e-5) >= base
    quieter: Any = copy.copy(event)
    sigma = event.event.noise_multiplier  # type: ignore[attr-defined]
    import attr

    quieter = attr.evolve(event, event=dp.GaussianDpEvent(0.99 * sigma))
    assert epsilon(quieter, 100, 1e-5) >= base


def test_more_orders_never_cost() -> None:
    few = RenyiAccountant(orders=[2.0, 8.0, 32.0]).compose(poisson(0.01, 1.0), 1000)
    more = RenyiAccountant(orders=[2.0, 7.95, 8.0, 32.0]).compose(poisson(0.01, 1.0), 1000)
    real = RenyiAccountant().compose(poisson(0.01, 1.0), 1000)
    assert few.get_epsilon(1e-6) > more.get_epsilon(1e-6) >= real.get_epsilon(1e-6)
    assert few.epsilon_and_order(1e-6)[1] == 8.0


def test_nothing_and_everything() -> None:
    for event in (dp.NoOpDpEvent(), poisson(0.0, 0.0), dp.GaussianDpEvent(math.inf)):
        accountant = RenyiAccountant().compose(event)
        assert accountant.get_epsilon(1e-5) == 0
        assert accountant.get_delta(0.0) == 0
        assert (accountant.rdp([2.0, 3.0]) == 0).all()
    for event in (dp.NonPrivateDpEvent(), dp.GaussianDpEvent(0.0), poisson(0.1, 0.0)):
        accountant = RenyiAccountant().compose(event)
        assert accountant.get_epsilon(1e-5) == math.inf
        assert accountant.get_delta(100.0) == 1
        assert (accountant.rdp([2.0]) == math.inf).all()
        assert RenyiAccountant().compose(event, 0).get_epsilon(1e-5) == 0


def test_copies_do_not_share_and_settings_rebuild() -> None:
    accountant = RenyiAccountant(REPLACE, orders=[8.0, 2.0], largest_copies=3)
    accountant.compose(draws(1000, 10, 4.0), 5)
    twin = copy.copy(accountant)
    twin.compose(draws(1000, 10, 4.0), 5)
    assert len(accountant) == 5
    assert len(twin) == 10
    state = json.loads(json.dumps(accountant.settings()))
    assert state == {
        "neighboring_relation": "REPLACE_ONE",
        "orders": [2.0, 8.0],
        "largest_copies": 3,
    }
    state["neighboring_relation"] = NeighboringRelation[state["neighboring_relation"]]
    again = RenyiAccountant(**state).compose(draws(1000, 10, 4.0), 5)
    assert again.get_epsilon(1e-5) == accountant.get_epsilon(1e-5)
    assert RenyiAccountant().settings()["orders"] is None


@pytest.mark.parametrize("orders", [[1.0], [0.5, 2.0], [math.nan], [math.inf], [], "2", 2.0])
def test_bad_orders_are_named(orders: Any) -> None:
    with pytest.raises(ValueError, match="orders"):
        RenyiAccountant(orders=orders)


def test_bad_input_is_named() -> None:
    accountant = RenyiAccountant().compose(poisson(0.01, 1.0))
    for delta in (-1e-5, 1.5, math.nan):
        with pytest.raises(ValueError, match="target_delta"):
            accountant.get_epsilon(delta)
    for epsilon in (-1.0, math.nan):
        with pytest.raises(ValueError, match="target_epsilon"):
            accountant.get_delta(epsilon)
    with pytest.raises(ValueError, match="orders"):
        accountant.rdp([1.0])
    with pytest.raises(ValueError, match="largest_copies"):
        RenyiAccountant(largest_copies=0)
    with pytest.raises(ValueError, match="neighboring_relation"):
        RenyiAccountant("ADD_OR_REMOVE_ONE")  # type: ignore[arg-type]
    for event in (poisson(0.01, -1.0), poisson(1.5, 1.0), poisson(0.01, math.nan)):
        with pytest.raises(ValueError, match=r"noise_multiplier|sampling_probability"):
            RenyiAccountant().compose(event)
    with pytest.raises(ValueError, match="count"):
        RenyiAccountant().compose(poisson(0.01, 1.0), -1)
    with pytest.raises(UnsupportedEventError):
        RenyiAccountant().compose(dp.LaplaceDpEvent(1.0))


@pytest.mark.parametrize("sigma", [1e-2, 0.3, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-2])
def test_tiny_and_huge(sigma: float, delta: float) -> None:
    for relation in (ADD_OR_REMOVE, REPLACE):
        accountant = RenyiAccountant(relation).compose(poisson(1e-3, sigma), 10**8)
        epsilon = accountant.get_epsilon(delta)
        assert 0 <= epsilon < math.inf
        assert accountant.get_delta(epsilon) <= delta
