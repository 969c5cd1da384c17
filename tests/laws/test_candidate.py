"""How accountants are made from what a caller hands over."""

from __future__ import annotations

from typing import Any

import pytest

from accountants import ExactAccountant, RenyiAccountant
from accountants.laws.candidate import RELATIONS, Candidate
from tests.laws import small


def test_a_class_with_a_relation_is_made_for_each() -> None:
    found = Candidate.from_callable(ExactAccountant)
    assert found.relations == RELATIONS
    assert found.name == "ExactAccountant"
    assert found.make(small.REPLACE).neighboring_relation is small.REPLACE
    assert found.make_with_orders is None


def test_orders_are_passed_on() -> None:
    found = Candidate.from_callable(RenyiAccountant)
    assert found.make_with_orders is not None
    assert found.make_with_orders(small.REPLACE, (2.0, 3.0)).neighboring_relation is small.REPLACE


def test_a_factory_without_arguments_says_its_relation() -> None:
    found = Candidate.from_callable(lambda: ExactAccountant(small.REPLACE))
    assert found.relations == (small.REPLACE,)
    assert Candidate.from_callable(small.GaussiansOnly).relations == (small.ADD_REMOVE,)


def test_a_relation_that_cannot_be_made_is_left_out() -> None:
    def make(relation: Any) -> ExactAccountant:
        if relation is not small.REPLACE:
            raise ValueError("only replacing")
        return ExactAccountant(relation)

    assert Candidate.from_callable(make).relations == (small.REPLACE,)


def test_a_candidate_is_itself() -> None:
    made = Candidate("name", small.GaussiansOnly)  # type: ignore[arg-type]
    assert Candidate.from_callable(made) is made


@pytest.mark.parametrize("wrong", [3, None, "ExactAccountant"])
def test_what_cannot_be_called_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="make_accountant="):
        Candidate.from_callable(wrong)


def test_more_required_arguments_are_refused() -> None:
    def make(sigma: float, q: float) -> None:
        raise AssertionError

    with pytest.raises(ValueError, match="requires sigma, q"):
        Candidate.from_callable(make)


def test_no_relation_at_all_is_refused() -> None:
    def make(relation: Any) -> None:
        raise RuntimeError("never")

    with pytest.raises(ValueError, match="makes no accountant for any relation"):
        Candidate.from_callable(make)
