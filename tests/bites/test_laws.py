"""Accountants that are wrong on purpose, and the laws that find out.

Each kind of fault is met by ``check_accountant`` with its default settings.  The ordinary tests
run one law that has to find it; the slow ones run everything and hold each audit to a minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from accountants.laws.check import check_accountant
from accountants.laws.report import LawReport
from tests.bites import (
    laws_wrong,
    laws_wrong_answers,
    laws_wrong_others,
    laws_wrong_pure,
    laws_wrong_slips,
)

CPU_SECONDS = 60.0
QUICK_SECONDS = 1.5  # for one law: corners come first, and each part is asked at least once
UNDERSTATED, CONTRACT = "understatement", "contract"


@dataclass(frozen=True)
class Wrong:
    """What is to be found: under which law, and whether ε is below the truth there."""

    make: Any
    law: str
    kind: str = UNDERSTATED


TWELVE = {
    "sensitivity halved": [
        Wrong(laws_wrong.SensitivityHalved, "L10"),
        Wrong(laws_wrong.ReplaceInDiameters, "L10"),
        Wrong(laws_wrong.FixedSizeMovesByOne, "L11"),
    ],
    "count dropped": [
        Wrong(laws_wrong.InnerCountDropped, "L15"),
        Wrong(laws_wrong.OuterCountDropped, "L15"),
    ],
    "direction forgotten": [Wrong(laws_wrong.DirectionForgotten, "L11")],
    "order grid extrapolated": [
        Wrong(laws_wrong_slips.FewOrdersExtrapolated, "L13"),
        Wrong(laws_wrong_slips.OrdersExtrapolated, "L13"),
    ],
    "NaN to 0": [
        Wrong(laws_wrong_slips.NothingChecked, "L2", CONTRACT),
        Wrong(laws_wrong_slips.OverflowToZero, "L13"),
    ],
    "Poisson for fixed-size": [Wrong(laws_wrong.PoissonForFixedSize, "L11")],
    "mixture pair as upper bound": [
        Wrong(laws_wrong.MixturePairAsUpper, "L12"),
        Wrong(laws_wrong_slips.ReflectionForgotten, "L12"),
    ],
    "tail of truncation dropped": [
        Wrong(laws_wrong_slips.LossesBeyondDropped, "L13"),
        Wrong(laws_wrong_slips.CopiesBeyondDropped, "L4"),
    ],
    "delta floor": [
        Wrong(laws_wrong.DeltaFloor, "L13"),
        Wrong(laws_wrong.LowDeltaFloor, "L13"),
    ],
    "wrong reflection": [Wrong(laws_wrong_slips.WrongReflection, "L12")],
    "stale cache": [
        Wrong(laws_wrong.StaleCache, "L15"),
        Wrong(laws_wrong.CacheWithoutRelation, "L10"),
        Wrong(laws_wrong.CacheWithoutEvent, "L10"),
    ],
    "off-by-one steps": [
        Wrong(laws_wrong.OffByOneSteps, "L15"),
        Wrong(laws_wrong.OffByOneCalls, "L15"),
    ],
}

OTHERS = [
    Wrong(laws_wrong.MixturePairForCopies, "L4"),
    Wrong(laws_wrong_others.ManyStepsForgotten, "L13"),
    Wrong(laws_wrong_others.TinyDeltaExtrapolated, "L13"),
    Wrong(laws_wrong_others.LargeRatesMirrored, "L4"),
    Wrong(laws_wrong_others.SmallRatesRounded, "L3"),
    Wrong(laws_wrong_others.MuchNoiseIsPrivate, "L4"),
    Wrong(laws_wrong_others.VarianceForDeviation, "L10"),
    Wrong(laws_wrong_others.AmplifiedTwice, "L4"),
    Wrong(laws_wrong_others.CopiesForgotten, "L4"),
    Wrong(laws_wrong_others.AveragedNoise, "L4"),
    Wrong(laws_wrong_others.LastOfComposed, "L4"),
    Wrong(laws_wrong_others.LargestOfComposed, "L15"),
    Wrong(laws_wrong_others.PlainReplaceAsAdd, "L10"),
    Wrong(laws_wrong_others.EventsOverwritten, "L15"),
    Wrong(laws_wrong_others.InnerCountOnly, "L9"),
    Wrong(laws_wrong_others.CountsOverflow, "L13"),
    Wrong(laws_wrong_others.GroupsForLength, "L15", CONTRACT),
    Wrong(laws_wrong_answers.Clipped, "L13"),
    Wrong(laws_wrong_answers.InfinityToZero, "L2"),
    Wrong(laws_wrong_answers.RoundedToThreeDigits, "L10"),
    Wrong(laws_wrong_answers.SlightlyTooSmall, "L10"),
    Wrong(laws_wrong_answers.CentralLimit, "L3"),
    Wrong(laws_wrong_answers.TwiceTheDelta, "L10"),
    Wrong(laws_wrong_answers.NegativeEpsilon, "L1", CONTRACT),
    Wrong(laws_wrong_answers.HalfTheDelta, "L4"),
    Wrong(laws_wrong_answers.LowerEndTooHigh, "L4", CONTRACT),
    Wrong(laws_wrong_answers.DrawnAnew, "L15"),
    Wrong(laws_wrong_answers.SpentByReading, "L15"),
    Wrong(laws_wrong_answers.OrderMatters, "L15"),
    Wrong(laws_wrong_answers.RatesClipped, "L2", CONTRACT),
    Wrong(laws_wrong_answers.SignOfNoiseIgnored, "L2", CONTRACT),
    Wrong(laws_wrong_answers.AnyDelta, "L2", CONTRACT),
    Wrong(laws_wrong_answers.NoNoiseIsFree, "L2"),
    Wrong(laws_wrong_answers.UnknownIsFree, "L4"),
    Wrong(laws_wrong_answers.EatsMemory, "L14", CONTRACT),
    Wrong(laws_wrong_slips.RoundedDown, "L4"),
    Wrong(laws_wrong_slips.WrappedAround, "L4"),
    Wrong(laws_wrong_slips.LogarithmToBaseTen, "L4"),
    Wrong(laws_wrong_slips.OrderForOrderLessOne, "L4"),
    Wrong(laws_wrong_slips.SmallRateFormula, "L4"),
    Wrong(laws_wrong_slips.OrdersNearOne, "L3"),
    Wrong(laws_wrong_slips.PlainDifference, "L13"),
    Wrong(laws_wrong_slips.BracketForRoots, "L13"),
    Wrong(laws_wrong_pure.LaplaceMovesByOne, "L4"),
    Wrong(laws_wrong_pure.BucketsIgnored, "L4"),
    Wrong(laws_wrong_pure.FlipProbability, "L4"),
    Wrong(laws_wrong_pure.ResponsesOnce, "L15"),
    Wrong(laws_wrong_pure.AdvancedWithoutDrift, "L4"),
    Wrong(laws_wrong_pure.DearestOnly, "L15"),
]


def named(wrong: Wrong) -> str:
    """For test ids."""
    return str(wrong.make.__name__)


def assert_found(report: LawReport, wrong: Wrong) -> None:
    """The law is violated, by an answer of that kind, with a case and with what settles it."""
    found = [f for f in report.violations if f.law == wrong.law and f.kind == wrong.kind]
    assert found, report.describe()
    assert report.exit_code == 3
    for finding in found:
        assert finding.confirmed_by
        if wrong.kind == UNDERSTATED:
            assert finding.oracle is not None
            assert finding.shortfall > 0


EVERY = [wrong for kind in TWELVE.values() for wrong in kind]
QUICK = [kind[0] for kind in TWELVE.values()]  # each takes a second or two


def test_there_are_twelve_kinds_and_more() -> None:
    assert len(TWELVE) == 12
    assert len({wrong.make for wrong in OTHERS} - {wrong.make for wrong in EVERY}) >= 12


@pytest.mark.parametrize("wrong", QUICK, ids=named)
def test_one_law_finds_it(wrong: Wrong) -> None:
    report = check_accountant(wrong.make, laws=wrong.law, cpu_budget=QUICK_SECONDS)
    assert_found(report, wrong)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", EVERY, ids=named)
def test_the_whole_audit_finds_it_within_a_minute(wrong: Wrong) -> None:
    report = check_accountant(wrong.make)
    assert_found(report, wrong)
    assert report.cpu_seconds < CPU_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("wrong", OTHERS, ids=named)
def test_other_faults_are_found_too(wrong: Wrong) -> None:
    assert_found(check_accountant(wrong.make, laws=wrong.law), wrong)
