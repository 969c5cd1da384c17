"""No false alarms: what is sound passes, however loose, choosy or rounded it is."""

from __future__ import annotations

from typing import Any

import pytest

from accountants import ExactAccountant, RenyiAccountant, TruncatedCdpAccountant
from accountants.laws.check import check_accountant
from accountants.laws.report import Verdict
from tests.bites.laws_wrong_lattice import LatticeAccountant
from tests.bites.laws_wrong_pure import PureAccountant
from tests.bites.laws_wrong_slips import GaussianOnly, RenyiGrid
from tests.laws import right

OURS = [ExactAccountant, RenyiAccountant, TruncatedCdpAccountant]
OTHERS = [
    right.Doubled,
    right.RefusesTinyDelta,
    GaussianOnly,
    LatticeAccountant,
    PureAccountant,
    RenyiGrid,
]
QUICK_LAWS = ("L1", "L2", "L10", "L13")
MANY = 20_000


@pytest.mark.parametrize("make", [*OURS, *OTHERS])
def test_a_few_examples_raise_no_alarm(make: Any) -> None:
    report = check_accountant(make, laws=QUICK_LAWS, max_examples=4, cpu_budget=1.0)
    report.check()
    assert not report.suspects, report.describe()
    assert any(result.verdict is Verdict.HOLDS for result in report.results)


def test_an_infinite_answer_is_never_below_the_truth() -> None:
    """What it breaks is the law that asks for a finite answer or an error, and no other."""
    report = check_accountant(right.AlwaysInfinite, laws=QUICK_LAWS, max_examples=4, cpu_budget=1.0)
    assert {finding.law for finding in report.violations} == {"L13"}
    assert not report.understatements
    assert not report.suspects


@pytest.mark.slow
@pytest.mark.parametrize("make", OTHERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_whole_audit_raises_no_alarm(make: Any, seed: int) -> None:
    report = check_accountant(make, seed=seed)
    report.check()
    assert not report.suspects, report.describe()


@pytest.mark.slow
@pytest.mark.parametrize("make", OURS)
def test_ours_hold_on_very_many_examples(make: Any) -> None:
    """An hour or so for each: seed after seed, without a budget, until so many were answered."""
    answered = seed = 0
    while answered < MANY:
        report = check_accountant(make, max_examples=100, seed=seed, cpu_budget=None)
        report.check()
        assert not report.suspects, report.describe()
        answered += sum(result.examples for result in report.results)
        seed += 1
