"""Advanced composition as an accountant: interface, theorem, ends of its domain."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection
from typing import Any

import dp_accounting
import pytest
from dp_accounting import privacy_accountant_test as shipped
from dp_accounting.privacy_accountant import (
    NeighboringRelation,
    PrivacyAccountant,
    UnsupportedEventError,
)

from accountants import AdvancedCompositionAccountant, ExactAccountant
from accountants.advanced_composition import SLACK_SHARES, epsilon_alone
from accountants.events import dp_sgd_event
from accountants.sampling import (
    Poisson,
    Sampling,
    ShuffledEpochs,
    WithoutReplacement,
    WithReplacement,
)
from accountants.tcdp.advanced import Steps, dwork_rothblum_vadhan, dwork_rothblum_vadhan_mixed
from accountants.walk import Release

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
GAUSSIAN = dp_accounting.GaussianDpEvent


class AdvancedCompositionAccountantTest(shipped.PrivacyAccountantTest):  # type: ignore[misc]
    """The class that dp_accounting ships."""

    def _make_test_accountants(self) -> Collection[PrivacyAccountant]:
        return [AdvancedCompositionAccountant(relation) for relation in NeighboringRelation]


def of(sampling: Sampling, sigma: float, steps: int, relation: Any) -> Any:
    event = dp_sgd_event(sampling=sampling, noise_multiplier=sigma, steps=steps)
    return AdvancedCompositionAccountant(relation).compose(event)


@pytest.mark.parametrize(
    ("sampling", "relation"),
    [
        (Poisson(1.0), ADD_REMOVE),
        (Poisson(0.01), ADD_REMOVE),
        (WithoutReplacement(1000, 10), REPLACE),
        (WithReplacement(1000, 10), REPLACE),
        (ShuffledEpochs(100, 50), REPLACE),
    ],
    ids=lambda value: getattr(value, "scheme", ""),
)
def test_never_below_the_exact_upper_end(sampling: Sampling, relation: Any) -> None:
    event = dp_sgd_event(sampling=sampling, noise_multiplier=8.0, steps=300)
    exact = ExactAccountant(relation).compose(event)
    accountant = of(sampling, 8.0, 300, relation)
    for delta in (1e-7, 1e-4):
        assert exact.get_epsilon(delta) < accountant.get_epsilon(delta) < math.inf
    epsilon = accountant.get_epsilon(1e-6)
    assert accountant.get_delta(epsilon) == pytest.approx(1e-6, rel=1e-6)


def test_the_theorem_for_steps_that_differ() -> None:
    same = dwork_rothblum_vadhan(Steps(0.1, 1e-9, 50), 1e-7)
    mixed = dwork_rothblum_vadhan_mixed([Steps(0.1, 1e-9, 20), Steps(0.1, 1e-9, 30)], 1e-7)
    assert mixed == pytest.approx(same, rel=1e-12)
    parts = [Steps(0.1, 1e-9, 20), Steps(0.3, 1e-8, 10)]
    mean = 20 * 0.1 * math.expm1(0.1) + 10 * 0.3 * math.expm1(0.3)
    spread = math.sqrt(2 * math.log(1e7) * (20 * 0.01 + 10 * 0.09))
    epsilon, delta = dwork_rothblum_vadhan_mixed(parts, 1e-7)
    assert epsilon == pytest.approx(mean + spread, rel=1e-12)
    assert delta == pytest.approx(1e-7 + 20e-9 + 10e-8, rel=1e-12)
    assert dwork_rothblum_vadhan_mixed([], 0.1) == (0.0, pytest.approx(0.1))


def test_two_kinds_of_steps() -> None:
    """Each leaf at its share of δ, put together at the share of the slack that was chosen."""
    small, large = GAUSSIAN(300.0), GAUSSIAN(200.0)
    accountant = AdvancedCompositionAccountant().compose(small, 4000).compose(large, 1000)
    epsilon, share = accountant.epsilon_and_share(1e-6)
    own = (1 - share) * 1e-6 / 5000
    parts = [
        Steps(ExactAccountant().compose(event).get_epsilon(own), own, count)
        for event, count in ((small, 4000), (large, 1000))
    ]
    found, total = dwork_rothblum_vadhan_mixed(parts, share * 1e-6)
    assert epsilon == pytest.approx(found, rel=1e-6)
    assert total <= 1e-6 * (1 + 1e-12)
    worst = [
        AdvancedCompositionAccountant(shares=[one]).compose(small, 4000).compose(large, 1000)
        for one in SLACK_SHARES
    ]
    assert epsilon == min(one.get_epsilon(1e-6) for one in worst)


def test_one_step_is_the_exact_accountants() -> None:
    """Basic composition of one step is that step."""
    accountant = AdvancedCompositionAccountant().compose(GAUSSIAN(2.0))
    exact = ExactAccountant().compose(GAUSSIAN(2.0)).get_epsilon(1e-5)
    assert accountant.get_epsilon(1e-5) == pytest.approx(exact, rel=1e-9)
    assert accountant.epsilon_and_share(1e-5)[1] == 0.0


def test_a_step_alone_is_what_the_exact_accountant_says() -> None:
    for sampling in (WithReplacement(1000, 20), WithoutReplacement(1000, 20)):
        event = dp_sgd_event(sampling=sampling, noise_multiplier=3.0, steps=1)
        exact = ExactAccountant(REPLACE).compose(event)
        for delta in (3e-4, 1e-9):
            found = epsilon_alone(Release(sampling, 3.0), REPLACE, delta)
            assert found == pytest.approx(exact.get_epsilon(delta), rel=1e-3)
            assert exact.get_delta(found) <= delta * (1 + 1e-4)
    assert epsilon_alone(Release(Poisson(0.5), 3.0), ADD_REMOVE, 0.0) == math.inf


@pytest.mark.parametrize("relation", list(NeighboringRelation), ids=lambda r: r.name)
def test_ends_of_the_domain(relation: NeighboringRelation) -> None:
    empty = AdvancedCompositionAccountant(relation)
    assert empty.get_epsilon(0.0) == empty.get_delta(0.0) == 0.0
    open_ = AdvancedCompositionAccountant(relation).compose(dp_accounting.NonPrivateDpEvent())
    assert open_.get_epsilon(0.5) == math.inf
    assert open_.get_delta(1e300) == 1.0
    plain = AdvancedCompositionAccountant(relation).compose(GAUSSIAN(1.0))
    assert plain.get_epsilon(0.0) == math.inf
    assert plain.get_epsilon(1.0) == 0.0
    assert plain.get_delta(math.inf) == 0.0
    assert 0 < plain.get_delta(0.0) <= 1
    tiny = AdvancedCompositionAccountant(relation).compose(GAUSSIAN(1e-200))
    assert tiny.get_epsilon(0.1) == math.inf
    large = AdvancedCompositionAccountant(relation).compose(GAUSSIAN(1e200))
    assert large.get_epsilon(1e-6) < 1e-6


def test_delta_falls_with_epsilon() -> None:
    accountant = of(Poisson(0.01), 4.0, 200, ADD_REMOVE)
    values = [accountant.get_delta(epsilon) for epsilon in (0.5, 1.5)]
    assert all(one > two for one, two in itertools.pairwise(values))


def test_settings_are_json() -> None:
    one = AdvancedCompositionAccountant(REPLACE, [0.0, 0.5])
    found = json.loads(json.dumps(one.settings()))
    assert found == {"neighboring_relation": "REPLACE_ONE", "shares": [0.0, 0.5]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: AdvancedCompositionAccountant("replace"), "neighboring_relation='replace'"),
        (lambda: AdvancedCompositionAccountant(shares=[]), "shares="),
        (lambda: AdvancedCompositionAccountant(shares=[1.0]), r"shares=1\.0: must be numbers in"),
        (lambda: AdvancedCompositionAccountant(shares=[math.nan]), r"shares=\[nan\]"),
        (lambda: AdvancedCompositionAccountant().get_epsilon(1.5), r"target_delta=1\.5"),
        (lambda: AdvancedCompositionAccountant().get_delta(-1.0), r"target_epsilon=-1\.0"),
    ],
)
def test_bad_values_are_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_refused_events_say_why() -> None:
    with pytest.raises(UnsupportedEventError, match="no theorem"):
        AdvancedCompositionAccountant().compose(dp_accounting.LaplaceDpEvent(1.0))
