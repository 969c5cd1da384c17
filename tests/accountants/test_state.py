"""Composition, counts, length, relations and directions."""

from __future__ import annotations

import math
from collections.abc import Callable

import dp_accounting
import pytest

from accountants import Bracket, ExactAccountant, NeighboringRelation
from accountants.events import dp2_event, dp_sgd_event
from accountants.sampling import Poisson
from tests.accountants import checks

CHECKS = [
    checks.check_counts,
    checks.check_order_free,
    checks.check_length,
    checks.check_units,
    checks.check_directions,
    checks.check_sampling,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_checks(check: Callable[[checks.Make], None]) -> None:
    check(ExactAccountant)


def test_defaults() -> None:
    accountant = ExactAccountant()
    assert accountant.neighboring_relation is NeighboringRelation.ADD_OR_REMOVE_ONE
    assert accountant.direction == "both"
    assert isinstance(accountant, dp_accounting.PrivacyAccountant)


@pytest.mark.parametrize("relation", checks.RELATIONS)
def test_empty(relation: NeighboringRelation) -> None:
    accountant = ExactAccountant(relation)
    assert len(accountant) == 0
    assert accountant.epsilon_bracket(1e-6) == Bracket(0.0, 0.0)
    assert accountant.delta_bracket(0.0) == Bracket(0.0, 0.0)
    assert accountant.log_delta_bracket(0.0) == Bracket(-math.inf, -math.inf)


def test_compose_returns_the_accountant_and_keeps_answers_consistent() -> None:
    accountant = ExactAccountant()
    event = checks.sampled(0.02, 1.1)
    assert accountant.compose(event, 100) is accountant
    before = accountant.get_epsilon(1e-6)
    assert accountant.get_epsilon(1e-6) == before  # asking changes nothing
    accountant.compose(event, 0)
    accountant.compose(dp_accounting.NoOpDpEvent(), 7)
    accountant.compose(dp_accounting.ComposedDpEvent([]))
    assert accountant.get_epsilon(1e-6) == before
    assert len(accountant) == 100
    accountant.compose(event)
    assert accountant.get_epsilon(1e-6) > before
    assert len(accountant) == 101


def test_ledger_holds_what_was_composed() -> None:
    accountant = ExactAccountant().compose(checks.sampled(0.9, 3.0), 10)
    again = ExactAccountant().compose(accountant.ledger)
    assert again.get_epsilon(1e-6) == accountant.get_epsilon(1e-6)
    assert len(again) == 10


def test_builders_of_events_are_what_the_accountant_reads() -> None:
    sampling = Poisson(0.02)
    expected = ExactAccountant().compose(checks.sampled(0.02, 1.1), 300).get_epsilon(1e-6)
    for build in (dp_sgd_event, dp2_event):
        event = build(sampling=sampling, noise_multiplier=1.1, steps=300)
        accountant = ExactAccountant().compose(event)
        assert accountant.get_epsilon(1e-6) == expected
        assert len(accountant) == 300


@pytest.mark.parametrize("relation", checks.RELATIONS)
def test_degenerate_noise(relation: NeighboringRelation) -> None:
    """No noise is no privacy, for any delta below 1; infinite noise is no loss."""
    none = ExactAccountant(relation).compose(checks.sampled(0.01, 0.0))
    assert none.epsilon_bracket(1e-6) == Bracket(math.inf, math.inf)
    assert none.get_delta(5.0) == 1.0
    endless = ExactAccountant(relation).compose(checks.gaussian(math.inf), 3)
    assert endless.get_epsilon(1e-6) == 0.0
    assert len(endless) == 3
    unused = ExactAccountant(relation).compose(checks.sampled(0.0, 0.0))
    assert unused.get_epsilon(1e-6) == 0.0


def test_nothing_is_hidden_by_order() -> None:
    """A release without privacy stays, whatever follows."""
    accountant = ExactAccountant().compose(checks.gaussian(0.0)).compose(checks.gaussian(5.0), 10)
    assert accountant.get_epsilon(0.5) == math.inf


def test_delta_zero_and_one() -> None:
    """delta = 0: the largest loss; finite only where the record is at most missing."""
    q, steps = 0.01, 50
    event = checks.run(q, 1.0, steps)
    assert ExactAccountant().compose(event).get_epsilon(0.0) == math.inf
    add = ExactAccountant(direction="add").compose(event)
    largest = -steps * math.log1p(-q)
    bracket = add.epsilon_bracket(0.0)
    assert bracket.lower <= largest * (1 + 1e-15)
    assert bracket.upper >= largest * (1 - 1e-15)
    assert add.get_delta(largest * (1 + 1e-12)) == 0.0
    assert add.get_delta(largest * 0.9) > 0.0
    assert ExactAccountant().compose(event).get_epsilon(1.0) == 0.0
    assert ExactAccountant().compose(event).get_delta(math.inf) == 0.0
