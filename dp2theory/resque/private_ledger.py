"""The ledger of a private run: its oracle calls as event trees, and what accountants make of them.

The parts of the data are disjoint and a replaced record is in one of them, so that epsilon is that
of the dearest part. A run may stop before its cap on calls, but when it does depends on points
that were released: what may be claimed is the cap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dp_accounting

from accountants.advanced_composition import AdvancedCompositionAccountant
from accountants.bracket import Bracket
from accountants.exact.accountant import ExactAccountant
from accountants.renyi.accountant import RenyiAccountant
from accountants.tcdp.accountant import TruncatedCdpAccountant
from dp2theory.problems.validation import whole_number
from dp2theory.resque.private_part import RELATION, PartPlan

__all__ = ["ACCOUNTANTS", "Ledger", "PartLedger", "Row", "epsilon_by_accountant"]

#: In the order that is claimed for many calls; for a few, advanced composition is ahead of two.
ACCOUNTANTS = ("exact", "renyi", "tcdp", "advanced")
_OTHERS = {
    "renyi": RenyiAccountant,
    "tcdp": TruncatedCdpAccountant,
    "advanced": AdvancedCompositionAccountant,
}


@dataclass(frozen=True)
class PartLedger:
    """Oracle calls on one part of the data.

    Attributes
    ----------
    plan : PartPlan
    calls : int
        Calls made, rejected tries of a search included.
    """

    plan: PartPlan
    calls: int

    def __post_init__(self) -> None:
        whole_number("calls", self.calls, minimum=0, maximum=self.plan.max_calls)

    @property
    def executed(self) -> dp_accounting.DpEvent:
        """The event of the calls made."""
        return self.plan.event_of(self.calls)

    @property
    def guaranteed(self) -> dp_accounting.DpEvent:
        """The event of the cap."""
        return self.plan.event


@dataclass(frozen=True)
class Row:
    """One accountant's epsilon of a run.

    Attributes
    ----------
    accountant : str
    guaranteed : Bracket
        For the cap on calls: what may be claimed is its upper end.
    executed : Bracket
        For the calls made; no guarantee, as the run's length depends on what it released.
    """

    accountant: str
    guaranteed: Bracket
    executed: Bracket

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict; infinities are the string "inf"."""
        return {
            "accountant": self.accountant,
            "guaranteed": self.guaranteed.to_json(),
            "executed": self.executed.to_json(),
        }


@dataclass(frozen=True)
class Ledger:
    """Events of a run, one tree for each disjoint part of the data.

    Attributes
    ----------
    parts : tuple of PartLedger
    """

    parts: tuple[PartLedger, ...]

    @property
    def executed(self) -> tuple[dp_accounting.DpEvent, ...]:
        """The calls made, by part."""
        return tuple(part.executed for part in self.parts)

    @property
    def guaranteed(self) -> tuple[dp_accounting.DpEvent, ...]:
        """The calls that the plan allows, by part."""
        return tuple(part.guaranteed for part in self.parts)

    def epsilon(self, target_delta: float) -> Bracket:
        """Epsilon that may be claimed, from the exact accountant.

        Parameters
        ----------
        target_delta : float
            delta in [0, 1], under the exchange of one record.
        """
        return _largest([_exact(event, target_delta) for event in self.guaranteed])

    def table(self, target_delta: float) -> tuple[Row, ...]:
        """Epsilon by four accountants.

        Parameters
        ----------
        target_delta : float
            delta in [0, 1].

        Returns
        -------
        tuple of Row
            In the order of `ACCOUNTANTS`. The lower end is the exact accountant's in every row:
            it is attained by a mechanism that the events describe.
        """
        guaranteed = [epsilon_by_accountant(event, target_delta) for event in self.guaranteed]
        executed = [epsilon_by_accountant(event, target_delta) for event in self.executed]
        return tuple(
            Row(
                name,
                _largest([part[name] for part in guaranteed]),
                _largest([part[name] for part in executed]),
            )
            for name in ACCOUNTANTS
        )

    def to_json(self) -> dict[str, Any]:
        """Return calls made and allowed, by part."""
        return {
            "relation": RELATION.name,
            "parts": [
                {
                    "dataset_size": part.plan.dataset_size,
                    "draws": part.plan.draws,
                    "noise_multiplier": part.plan.noise_multiplier,
                    "failure_probability": part.plan.failure_probability,
                    "calls": part.calls,
                    "max_calls": part.plan.max_calls,
                }
                for part in self.parts
            ],
        }


def epsilon_by_accountant(event: dp_accounting.DpEvent, target_delta: float) -> dict[str, Bracket]:
    """Epsilon of an event when a record is replaced, by the names in `ACCOUNTANTS`.

    Parameters
    ----------
    event : DpEvent
    target_delta : float
        delta in [0, 1].

    Returns
    -------
    dict of str to Bracket
        The lower end is the exact accountant's in all of them.
    """
    exact = _exact(event, target_delta)
    found = {"exact": exact}
    for name, kind in _OTHERS.items():
        upper = kind(RELATION).compose(event).get_epsilon(target_delta)
        # All bound the same number from above, and it is at least what is attained.
        found[name] = Bracket(min(exact.lower, upper), upper)
    return found


def _exact(event: dp_accounting.DpEvent, delta: float) -> Bracket:
    return ExactAccountant(RELATION).compose(event).epsilon_bracket(delta)


def _largest(brackets: Sequence[Bracket]) -> Bracket:
    return Bracket(max(each.lower for each in brackets), max(each.upper for each in brackets))
