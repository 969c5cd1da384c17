"""Strategies cover what they promise, print briefly and shrink to round numbers."""

from __future__ import annotations

import random

import dp_accounting
import pytest
from dp_accounting.privacy_accountant import UnsupportedEventError
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from accountants import ExactAccountant
from accountants.laws import corners
from accountants.laws.notation import describe, number
from accountants.laws.strategies import (
    FAMILIES,
    LEAVES,
    deltas,
    epsilons,
    events,
    noise_multipliers,
    probabilities,
    relations,
    steps,
    total_steps,
)

QUIET = settings(max_examples=1000, database=None, suppress_health_check=list(HealthCheck))


def smallest(strategy, condition, seed=0):
    return find(strategy, condition, settings=QUIET, random=random.Random(seed))


@pytest.mark.parametrize(
    ("strategy", "condition", "round_numbers"),
    [
        (noise_multipliers(), lambda x: True, {1.0}),
        (noise_multipliers(), lambda x: x > 3, {10.0, 5.0}),
        (noise_multipliers(), lambda x: x < 0.3, {0.1, 0.2}),
        (noise_multipliers(), lambda x: x >= 100, {100.0}),
        (probabilities(), lambda x: True, {0.01}),
        (probabilities(), lambda x: x > 0.3, {0.5, 1.0}),
        (probabilities(), lambda x: x < 1e-4, {1e-5}),
        (probabilities(), lambda x: x == 1, {1.0}),
        (deltas(), lambda x: True, {1e-5}),
        (deltas(), lambda x: x > 0.05, {0.1}),
        (deltas(), lambda x: x < 1e-12, {1e-13}),
        (epsilons(), lambda x: True, {1.0}),
        (epsilons(), lambda x: x < 0.5, {0.1}),
        (steps(), lambda x: True, {1}),
        (steps(), lambda x: x > 1, {2, 10}),
        (steps(), lambda x: x > 1234, {2000, 5000, 10_000}),
        (steps(), lambda x: x == 0, {0}),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_numbers_shrink_to_round_ones(strategy, condition, round_numbers, seed):
    assert smallest(strategy, condition, seed) in round_numbers


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (dp_accounting.DpEvent, "Gaussian(sigma=1)"),
        (dp_accounting.PoissonSampledDpEvent, "Poisson(q=0.01) Gaussian(sigma=1)"),
        (dp_accounting.LaplaceDpEvent, "Laplace(scale=1)"),
        (dp_accounting.RandomizedResponseDpEvent, "RandomizedResponse(p=0.1, buckets=2)"),
        (dp_accounting.SelfComposedDpEvent, "1 x Gaussian(sigma=1)"),
        (dp_accounting.ComposedDpEvent, "Gaussian(sigma=1) + Gaussian(sigma=1)"),
        (
            dp_accounting.SampledWithoutReplacementDpEvent,
            "WithoutReplacement(n=10, m=1) Gaussian(sigma=1)",
        ),
        (
            dp_accounting.SampledWithReplacementDpEvent,
            "WithReplacement(n=10, m=1) Gaussian(sigma=1)",
        ),
    ],
)
def test_events_shrink_to_the_plainest_of_their_kind(kind, text):
    assert describe(smallest(events(), lambda event: isinstance(event, kind))) == text


def test_a_fault_of_two_numbers_shrinks_to_round_ones():
    def fails(case):
        event, delta = case
        repeated = isinstance(event, dp_accounting.SelfComposedDpEvent)
        return repeated and event.count > 30 and event.event.noise_multiplier < 5 and delta < 1e-7

    event, delta = smallest(st.tuples(events(["gaussian"]), deltas()), fails)
    assert event.count in (50, 100, 1000)
    assert event.event.noise_multiplier == 1.0
    assert delta in (1e-8, 1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_gives_its_own_events_and_corners(family):
    seen, drawn = set(), []

    @settings(QUIET, max_examples=300)
    @given(events([family], most_steps=10**6))
    def collect(event):
        drawn.append(event)
        assert total_steps(event) <= 10**6
        seen.update(kinds(event))

    collect()
    expected = set(LEAVES) if family == "composition" else {family}
    assert seen - {"composition"} == expected
    corner = sum(event in corners.EVENTS[family] for event in drawn)
    assert 0.2 < corner / len(drawn) < 0.9


def kinds(event):
    """Families of the leaves."""
    if isinstance(event, dp_accounting.SelfComposedDpEvent):
        return kinds(event.event)
    if isinstance(event, dp_accounting.ComposedDpEvent):
        return {"composition"}.union(*(kinds(e) for e in event.events))
    names = {type(found[0]): family for family, found in corners.EVENTS.items()}
    return {names[type(event)]} if type(event) in names else set()


def test_a_composition_is_made_of_the_families_named():
    @settings(QUIET, max_examples=200)
    @given(events(["laplace", "composition"]))
    def check(event):
        assert kinds(event) <= {"laplace", "composition"}

    check()


@settings(max_examples=300)
@given(noise_multipliers(), probabilities(), deltas(), epsilons(), steps(), relations())
def test_ranges_and_short_print(sigma, q, delta, epsilon, count, relation):
    assert 0.01 <= sigma <= 1e4
    assert 1e-9 <= q <= 1
    assert 1e-30 <= delta <= 1
    assert 1e-30 <= epsilon <= 100
    assert 0 <= count <= 10**8
    assert isinstance(count, int)
    for value in (sigma, q, delta, epsilon, count):
        digits = number(value).partition("e")[0].replace(".", "").strip("0")
        assert len(digits) <= 2
    assert relation in list(type(relation))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: noise_multipliers(0.0, 1.0), "low=0.0, high=1.0"),
        (lambda: noise_multipliers(2.0, 1.0), "low=2.0, high=1.0"),
        (lambda: noise_multipliers(1.11, 1.12), "one digit"),
        (lambda: probabilities(0.1, 1.5), "high=1.5"),
        (lambda: deltas(-1.0), "low=-1.0"),
        (lambda: steps(0), "most=0"),
        (lambda: events(["gauss"]), r"families=\['gauss'\]: must be some of gaussian"),
        (lambda: events([]), r"families=\[\]"),
        (lambda: events(most_steps=1), "most_steps=1"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


class TestCorners:
    def test_families(self):
        assert set(corners.EVENTS) == set(FAMILIES)

    @pytest.mark.parametrize("family", LEAVES)
    def test_events_belong_to_their_family(self, family):
        assert all(kinds(event) <= {family, "composition"} for event in corners.EVENTS[family])

    def test_every_reported_input_is_among_the_events(self):
        events_ = [event for found in corners.EVENTS.values() for event in found]
        assert all(event in events_ for _, event, _, _ in corners.REPORTS)
        assert all(delta in corners.DELTAS for *_, delta in corners.REPORTS)

    def test_nothing_twice(self):
        for found in (*corners.EVENTS.values(), corners.DELTAS, corners.EPSILONS):
            assert all(item not in found[:i] for i, item in enumerate(found))

    @pytest.mark.parametrize("domain", corners.INVALID)
    def test_the_invalid_ones_are_refused_by_our_own_accountant(self, domain):
        for _, item in corners.INVALID[domain]:
            with pytest.raises((ValueError, UnsupportedEventError)):
                ask(domain, item)

    def test_the_limits_are_what_our_own_accountant_answers(self):
        for _, event, expected in corners.LIMITS:
            accountant = ExactAccountant()
            if accountant.supports(event):
                if isinstance(expected, dp_accounting.DpEvent):
                    expected = ExactAccountant().compose(expected).get_epsilon(1e-5)
                assert accountant.compose(event).get_epsilon(1e-5) == expected


def ask(domain, item):
    """Put an invalid item where its domain says."""
    if domain == "target_delta":
        return ExactAccountant().compose(corners.gaussian(1.0)).get_epsilon(item)
    if domain == "target_epsilon":
        return ExactAccountant().compose(corners.gaussian(1.0)).get_delta(item)
    if domain == "compose_count":
        return ExactAccountant().compose(corners.gaussian(1.0), item)
    return ExactAccountant().compose(item)
