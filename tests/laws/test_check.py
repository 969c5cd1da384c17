"""check_accountant: verdicts, arguments, what counts, repeatability."""

from __future__ import annotations

import builtins
import math
import re
from typing import Any

import pytest

from accountants.laws import catalogue, enclosure
from accountants.laws.check import Allowance, check_accountant
from accountants.laws.report import Kind, LawReport, Verdict
from tests.laws import small

QUICK = ("L1", "L10", "L15")


def audit(maker: Any, laws: Any = QUICK, **options: Any) -> LawReport:
    return check_accountant(maker, laws=laws, max_examples=4, **options)


def test_a_right_one_obeys() -> None:
    report = audit(small.GaussiansOnly)
    assert report.ok
    assert report.exit_code == 0
    assert {result.verdict for result in report.results} == {Verdict.HOLDS}
    report.check()


def test_a_wrong_one_is_shown_with_a_case_and_a_proof() -> None:
    report = audit(small.Halved)
    assert report.exit_code == 3
    worst = report.understatements[0]
    assert worst.kind is Kind.UNDERSTATEMENT
    assert worst.confirmed_by
    assert worst.oracle is not None
    assert worst.value < worst.oracle.lower  # type: ignore[operator]
    assert worst.relative_shortfall == pytest.approx(0.5, rel=1e-6)
    with pytest.raises(AssertionError, match="epsilon below the truth"):
        report.check()


def test_a_loose_one_is_no_violation() -> None:
    report = audit(small.Doubled, "L3")
    assert report.ok
    assert report.looseness
    assert not report.understatements


def test_without_a_confirmation_it_is_suspect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enclosure, "too_small", lambda *args, **options: None)
    report = audit(small.Halved, "L10")
    assert report.exit_code == 0
    assert report.results[0].verdict is Verdict.SUSPECT
    assert report.suspects


def test_the_same_seed_gives_the_same_report() -> None:
    one, two = (audit(small.Halved, "L4", seed=3, cpu_budget=None).to_json() for _ in range(2))
    del one["cpu_seconds"], two["cpu_seconds"]
    assert one == two


def test_what_is_not_offered_does_not_apply() -> None:
    report = audit(small.GaussiansOnly, ("L6", "L7", "L11"))
    verdicts = [result.verdict for result in report.results]
    assert verdicts == [Verdict.NOT_APPLICABLE, Verdict.NOT_APPLICABLE, Verdict.REFUSED]
    assert all(result.note for result in report.results)


def test_a_hang_is_a_violation_of_the_law_about_resources() -> None:
    report = audit(small.Endless, "L14")
    (found,) = report.violations
    assert found.value == "no answer"
    # On a machine that has no time for it, the clock ends it first.
    assert re.search(r"\d s of CPU|no answer within \d+ s", found.message)


def test_a_budget_cuts_and_says_so() -> None:
    report = audit(small.GaussiansOnly, "L4", cpu_budget=0.0)
    assert "CPU budget" in report.results[0].note
    assert report.results[0].examples >= 1


def test_progress_names_law_and_relation() -> None:
    told: list[str] = []
    audit(small.GaussiansOnly, "L10", progress=told.append)
    assert told == ["L10 unit under ADD_OR_REMOVE_ONE"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"laws": "L99"}, "laws='L99'"),
        ({"laws": ()}, "laws="),
        ({"max_examples": -1}, "max_examples=-1"),
        ({"max_examples": 1.5}, "max_examples=1.5"),
        ({"seed": -1}, "seed=-1"),
        ({"cpu_budget": math.nan}, "cpu_budget=nan"),
        ({"relation": "replace"}, "relation='replace'"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_accountant(small.GaussiansOnly, **options)


def test_without_flint_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name == "flint":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match="python-flint"):
        check_accountant(small.GaussiansOnly)


def test_an_allowance_is_divided() -> None:
    now = [0.0]
    allowance = Allowance(lambda: now[0], 10.0)
    part = allowance.part(4)
    assert not part()
    now[0] = 9.9
    assert not part()
    now[0] = 10.1
    assert part()
    assert not allowance.part(1)()
    now[0] = 20.1
    assert allowance.part(1)()
    assert not Allowance(lambda: now[0], None).part(3)()


def test_the_catalogue_is_complete() -> None:
    laws = catalogue.laws()
    assert list(laws) == [f"L{i}" for i in range(1, 16)]
    for law in laws.values():
        assert law.statement
        assert law.reason
        assert law.source
        assert law.clauses
