"""The search for a whole number where some costs cannot be computed."""

from __future__ import annotations

import pytest

from accountants.bracket import Bracket
from accountants.errors import AccuracyError
from accountants.integer_search import Search


def refusing(below: int, above: int = 10**15):
    """Cost sqrt(number), which cannot be computed below and above certain numbers."""

    def cost(number: int) -> Bracket:
        if not below <= number <= above:
            raise AccuracyError(f"no cost at {number}")
        return Bracket(number**0.5, number**0.5)

    return cost


@pytest.mark.parametrize(("below", "target"), [(300, 100.0), (3000, 100.0), (9000, 100.0)])
def test_a_start_that_cannot_be_computed_is_not_the_end(below, target):
    assert Search(refusing(below), target, 1, 10**12).run(256) == (10_000, 10_001)


def test_a_start_near_the_end_of_the_range():
    assert Search(refusing(300), 1e9, 1, 1000).run(256) == (1000, None)


def test_an_answer_among_what_cannot_be_computed_is_refused():
    with pytest.raises(AccuracyError, match="no cost at"):
        Search(refusing(300), 10.0, 1, 10**12).run(256)


def test_a_cost_that_can_never_be_computed_is_refused():
    with pytest.raises(AccuracyError, match="no cost at"):
        Search(refusing(10**13), 10.0, 1, 10**12).run(256)
