"""The search: corners first, a simple example last, each example put once, budgets kept."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import strategies as st

from accountants.laws.candidate import Candidate
from accountants.laws.case import Case
from accountants.laws.law import Clause, Held, Outcome, Refused, Scope
from accountants.laws.report import Finding, Kind
from accountants.laws.search import EXHAUSTED, search
from tests.laws import small

CASE = Case(None, small.ADD_REMOVE, delta=1e-5)
SCOPE = Scope(
    Candidate("nobody", small.GaussiansOnly),  # type: ignore[arg-type]
    small.ADD_REMOVE,
    lambda request, seconds=None: (),
    {},
    seed=0,
    max_examples=50,
)


def finding(value: float, **changes: Any) -> Finding:
    changes = {"value": value} | changes
    made = Finding("L0", "test", Kind.CONTRACT, CASE, 0.0, None, "by definition", "wrong")
    return dataclasses.replace(made, **changes)


class Numbers:
    """A clause about whole numbers that keeps the examples it was given."""

    def __init__(self, broken_from: int, corners: list[int], **changes: Any) -> None:
        self.broken_from, self.corners, self.changes = broken_from, corners, changes
        self.asked: list[int] = []

    def check(self, scope: Scope, example: int) -> Outcome:
        self.asked.append(example)
        if example >= self.broken_from:
            return finding(**({"value": float(example)} | self.changes))
        return Held()

    def clause(self, *, random: bool = True, whole: bool = False) -> Clause:
        return Clause(
            "numbers",
            lambda scope: self.corners,
            self.check,
            (lambda scope: st.integers(0, 10_000)) if random else None,
            whole,
        )


def test_the_simplest_example_is_found() -> None:
    numbers = Numbers(1234, [7])
    seen = search(numbers.clause(), SCOPE, 50)
    assert [found.value for found in seen.findings] == [1234.0]
    assert len(numbers.asked) == len(set(numbers.asked))  # nothing is asked twice


def test_a_broken_corner_is_made_simpler() -> None:
    seen = search(Numbers(3, [5000]).clause(), SCOPE, 50)
    assert seen.findings[0].value == 3.0


def test_nothing_broken_is_counted() -> None:
    seen = search(Numbers(10**9, [1, 2, 3]).clause(), SCOPE, 20)
    assert seen.findings == []
    assert 4 <= seen.answered <= 23
    assert not seen.cut


def test_the_same_seed_asks_the_same() -> None:
    one, two, three = (Numbers(10**9, [1]) for _ in range(3))
    search(one.clause(), SCOPE, 20)
    search(two.clause(), SCOPE, 20)
    search(three.clause(), dataclasses.replace(SCOPE, seed=1), 20)
    assert one.asked == two.asked != three.asked


def test_an_answer_that_changes_is_reported_all_the_same() -> None:
    """Hypothesis must not see an example that fails only sometimes."""
    calls = iter(range(10**6))

    def check(scope: Scope, example: int) -> Outcome:
        return finding(float(example)) if next(calls) % 2 else Held()

    clause = Clause("odd", lambda scope: [0, 1, 2], check, lambda scope: st.integers(0, 99))
    assert len(search(clause, SCOPE, 20).findings) == 1


def test_all_corners_refused_ends_it() -> None:
    asked: list[int] = []

    def check(scope: Scope, example: int) -> Outcome:
        asked.append(example)
        return Refused("not covered")

    clause = Clause("no", lambda scope: [1, 2], check, lambda scope: st.integers())
    seen = search(clause, SCOPE, 20)
    assert (asked, seen.refused, seen.reasons) == ([1, 2], 2, ["not covered"])


def test_a_spent_budget_leaves_one_corner() -> None:
    numbers = Numbers(10**9, [1, 2, 3])
    seen = search(numbers.clause(), SCOPE, 20, lambda: True)
    assert numbers.asked == [1]
    assert seen.cut


def test_exhaustion_ends_the_corners() -> None:
    numbers = Numbers(2, [1, 2, 3, 4], value=EXHAUSTED)
    seen = search(numbers.clause(random=False), SCOPE, 20)
    assert numbers.asked == [1, 2]
    assert len(seen.findings) == 1


def test_every_corner_of_a_whole_clause_is_reported() -> None:
    seen = search(Numbers(2, [1, 2, 3, 4]).clause(random=False, whole=True), SCOPE, 20)
    assert [found.value for found in seen.findings] == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("proof", [None, "proved"])
def test_only_what_is_confirmed_counts(proof: str | None) -> None:
    numbers = Numbers(5, [6], confirmed_by=None, settle=lambda: proof)
    (found,) = search(numbers.clause(random=False), SCOPE, 20).findings
    assert found.confirmed_by == proof
    assert found.counts == (proof is not None)


def test_another_example_is_confirmed_where_the_simplest_is_not() -> None:
    def check(scope: Scope, example: int) -> Outcome:
        return finding(
            float(example),
            kind=Kind.UNDERSTATEMENT,
            confirmed_by=None,
            shortfall=0.0,
            settle=lambda: "proved" if example > 1 else None,
        )

    clause = Clause("some", lambda scope: [1, 2], check)
    (found,) = search(clause, SCOPE, 20).findings
    assert (found.value, found.confirmed_by) == (2.0, "proved")
