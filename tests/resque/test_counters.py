"""The counter holds every subproblem to one parallel round."""

from __future__ import annotations

import pytest

from dp2theory.resque.counters import Counter, Counts, RoundError


def test_totals_and_snapshots() -> None:
    counter = Counter()
    with counter.subproblem():
        counter.round(100)
        counter.steps(7)
    before = counter.snapshot()
    counter.round(5)
    counter.exact_call()
    assert before == Counts(1, 1, 7, 100)
    assert counter.snapshot() == Counts(2, 3, 8, 106)
    assert counter.snapshot().to_json() == {
        "oracle_calls": 2, "query_depth": 3, "computational_depth": 8, "queries": 106,
    }  # fmt: skip
    assert (counter.oracle_calls, counter.query_depth) == (2, 3)
    assert (counter.computational_depth, counter.queries) == (8, 106)


def rounds(counter: Counter, number: int) -> None:
    """One subproblem with so many rounds."""
    with counter.subproblem():
        for _ in range(number):
            counter.round(1)


def test_a_subproblem_has_exactly_one_round() -> None:
    counter = Counter()
    with pytest.raises(RoundError, match="second parallel round"):
        rounds(counter, 2)
    with pytest.raises(RoundError, match="without a parallel round"):
        rounds(counter, 0)
    with (
        pytest.raises(RoundError, match="inside another"),
        counter.subproblem(),
        counter.subproblem(),
    ):
        pass
    assert counter.query_depth == 1  # the refused round was not counted
    with counter.subproblem():  # and the counter can be used on
        counter.round(2)


def test_an_error_inside_is_passed_on_as_it_is() -> None:
    counter = Counter()
    with pytest.raises(ZeroDivisionError), counter.subproblem():
        1 / 0  # noqa: B018
    with counter.subproblem():
        counter.round(1)


@pytest.mark.parametrize("number", [-1, 1.5, True, "3"])
def test_only_whole_numbers_count(number: object) -> None:
    with pytest.raises(ValueError, match="queries="):
        Counter().round(number)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="number="):
        Counter().steps(number)  # type: ignore[arg-type]
