"""One question to an accountant: an event, a relation, and a δ or an ε."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.laws import notation


@dataclass(frozen=True)
class Case:
    """What is composed, under which relation, and what is asked.

    Attributes
    ----------
    event : DpEvent
        May have parameters outside their domains: laws ask for those too.
    relation : NeighboringRelation
    delta, epsilon : float or None
        The δ at which ε is asked, or the ε at which δ is.
    count : int
        How often the event is composed.
    """

    event: dp_accounting.DpEvent
    relation: NeighboringRelation
    delta: float | None = None
    epsilon: float | None = None
    count: int = 1

    @property
    def whole(self) -> dp_accounting.DpEvent:
        """The event with its count, as one tree."""
        if self.count == 1:
            return self.event
        return dp_accounting.SelfComposedDpEvent(self.event, self.count)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; NaN and infinities as strings."""
        return {
            "event": notation.event_to_plain(self.event),
            "relation": self.relation.name,
            "delta": plain(self.delta),
            "epsilon": plain(self.epsilon),
            "count": plain(self.count),
            "code": notation.code(self.event),
        }

    def describe(self) -> str:
        """One line for a person."""
        times = "" if self.count == 1 else f", composed {self.count} times"
        at = "" if self.delta is None else f", delta={self.delta!r}"
        at += "" if self.epsilon is None else f", epsilon={self.epsilon!r}"
        return f"{notation.describe(self.event)}{times}, {self.relation.name}{at}"


def plain(value: Any) -> Any:
    """A number fit for JSON: what is not finite becomes its text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
