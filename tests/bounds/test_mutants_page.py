"""docs/mutants.md says what docs/mutants.json has, and every survivor there has its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sympy import Abs

import bounds
from bounds.assumptions import Assumption
from bounds.dp2.symbols import C, eta, g
from bounds.mutants import outcomes
from bounds.proof.step import inequality
from bounds.symbols import j, t
from tests.bounds.made import MADE
from tests.bounds.mutants_page import KEPT, PAGE, kept, mark_of, page, record


def test_the_page_is_made_from_what_is_kept() -> None:
    assert KEPT.exists()
    assert PAGE.read_text(encoding="utf-8") == page(kept())


def test_every_survivor_has_a_reason() -> None:
    records = kept()
    assert len(records) > 100
    bare = [
        f"{id}: {name}"
        for id, each in records.items()
        for name, why in each["survivors"].items()
        if not why
    ]
    assert bare == []


def test_numbers_add_up() -> None:
    for id, each in kept().items():
        made = sum(each["mutants"].values())
        assert made == sum(each["killed"].values()) + len(each["survivors"]), id


def test_a_record_counts_and_a_survivor_without_reason_shows() -> None:
    spare = replace(
        MADE,
        assumptions=(*MADE.assumptions[:1], Assumption("spare", eta <= 7, "not needed")),
        steps=(inequality("mean", Abs(g(t, j)) <= C, "clipped", "spare"),),
        statement=Abs(g(t, j)) <= C,
        slack={},
    )
    ends = outcomes(spare, refute=())
    made = record(spare, ends, "mark")
    assert made["mutants"] == {"constants": 0, "steps": 0, "assumptions": 2, "phases": 0}
    assert made["killed"] == {"replay": 1, "counterexample": 0}
    assert made["survivors"] == {"assumption spare": ""}
    text = page({"dp2.made": made})
    assert "**dp2.made**, `assumption spare`: **no reason is given**" in text
    assert "1 theorems, 2 variants" in text


@pytest.mark.slow
def test_the_page_is_of_the_theorems_as_they_are() -> None:
    """Run ``python -m tests.bounds.mutants_page`` after a theorem changed."""
    marks = {id: each["fingerprint"] for id, each in kept().items()}
    assert marks == {id: mark_of(each) for id, each in bounds.theorems().items()}
