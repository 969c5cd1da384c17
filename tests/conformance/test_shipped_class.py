"""The conformance class in dp_accounting's wheel, under all relations and directions.

It tests the interface.  It is no evidence that any number is right: the last test shows that an
accountant which answers 0 for everything private passes it.
"""

from __future__ import annotations

import math
import unittest
from collections.abc import Collection
from typing import Any

import dp_accounting
import pytest
from dp_accounting import privacy_accountant_test as shipped
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant

from accountants import ExactAccountant
from accountants.renyi.accountant import RenyiAccountant
from accountants.tcdp.accountant import TruncatedCdpAccountant
from accountants.walk import NonPrivate, UnsupportedLeaf, leaves
from tests.accountants import checks
from tests.reference.rows import rows


class ExactAccountantTest(shipped.PrivacyAccountantTest):  # type: ignore[misc]
    """The shipped class on the exact accountant."""

    def _make_test_accountants(self) -> Collection[PrivacyAccountant]:
        return [
            ExactAccountant(relation, direction)
            for relation in NeighboringRelation
            for direction in ("both", "remove", "add")
            if relation is not NeighboringRelation.REPLACE_ONE or direction == "both"
        ]


class RenyiAccountantTest(shipped.PrivacyAccountantTest):  # type: ignore[misc]
    """The shipped class on the Rényi accountant."""

    def _make_test_accountants(self) -> Collection[PrivacyAccountant]:
        return [RenyiAccountant(relation) for relation in NeighboringRelation]


class TruncatedCdpAccountantTest(shipped.PrivacyAccountantTest):  # type: ignore[misc]
    """The shipped class on the accountant of truncated concentrated privacy."""

    def _make_test_accountants(self) -> Collection[PrivacyAccountant]:
        return [TruncatedCdpAccountant(relation) for relation in NeighboringRelation]


class ZeroAccountant(PrivacyAccountant):  # type: ignore[misc]
    """Wrong: whatever has noise costs nothing."""

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        direction: str = "both",
    ) -> None:
        super().__init__(neighboring_relation)
        self._non_private = False

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        try:
            found = list(leaves(event, count, self.neighboring_relation))
        except UnsupportedLeaf as error:
            return self.CompositionErrorDetails(error.event, error.reason)
        if do_compose and any(isinstance(leaf, NonPrivate) for leaf, _ in found):
            self._non_private = True
        return None

    def get_epsilon(self, target_delta: float) -> float:
        return math.inf if self._non_private else 0.0

    def get_delta(self, target_epsilon: float) -> float:
        return 1.0 if self._non_private else 0.0


class _OfZero(shipped.PrivacyAccountantTest):  # type: ignore[misc]
    __test__ = False  # pytest: only run by the test below

    def _make_test_accountants(self) -> Collection[PrivacyAccountant]:
        return [ZeroAccountant(relation) for relation in NeighboringRelation]


def test_the_shipped_class_is_no_evidence() -> None:
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(_OfZero)
    result = unittest.TestResult()
    suite.run(result)
    assert result.testsRun >= 12
    assert result.wasSuccessful(), result.failures + result.errors


def test_the_checks_of_this_project_are() -> None:
    """The same accountant fails on the first reference value and on the first law."""
    row = next(r for r in rows("issue") if r.source == "account")
    accountant = checks.filled(ZeroAccountant, row)
    assert row.delta is not None
    assert accountant.get_epsilon(float(row.delta)) < row.number
    for check in (checks.check_counts, checks.check_units, checks.check_sampling):
        with pytest.raises(AssertionError):
            check(ZeroAccountant)


def test_calls_by_keyword() -> None:
    """dp_accounting calls ``_maybe_compose`` by keyword."""
    accountant = ExactAccountant()
    event = dp_accounting.GaussianDpEvent(1.0)
    assert accountant._maybe_compose(event=event, count=1, do_compose=False) is None
    assert len(accountant) == 0
