"""Accountants that are wrong on purpose, built on the right one with one change each.

Each is what a library might ship: it has the interface of dp_accounting's ``PrivacyAccountant``
and is right on most inputs.  Others, on code of their own, are in the ``laws_wrong_*`` files
beside this one; ``test_laws.py`` says what catches each.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attr
import dp_accounting as dp
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import ExactAccountant

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
FIXED_SIZE = (dp.SampledWithReplacementDpEvent, dp.SampledWithoutReplacementDpEvent)


def mapped(event: Any, change: Any) -> Any:
    """An event tree with ``change`` applied to every node, from the leaves up."""
    if isinstance(event, dp.ComposedDpEvent):
        event = dp.ComposedDpEvent([mapped(e, change) for e in event.events])
    elif hasattr(event, "event"):
        event = attr.evolve(event, event=mapped(event.event, change))
    return change(event)


class Changed(ExactAccountant):
    """The right accountant, fed with a changed event."""

    def change(self, event: Any) -> Any:
        """One node of the tree, as this accountant misreads it."""
        raise NotImplementedError

    def compose(self, event: Any, count: int = 1) -> Any:
        return super().compose(mapped(event, self.change), count)


# ------------------------------------------------------------------------------------ sensitivity


class SensitivityHalved(Changed):
    """Noise counted as if the clip norm were half of what it is."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.GaussianDpEvent):
            return dp.GaussianDpEvent(2 * event.noise_multiplier)
        return event


class ReplaceInDiameters(SensitivityHalved):
    """Under REPLACE_ONE the multiplier is read relative to the diameter, twice the clip norm."""

    def change(self, event: Any) -> Any:
        return super().change(event) if self.neighboring_relation is REPLACE else event


class FixedSizeMovesByOne(SensitivityHalved):
    """A record that enters a batch of fixed size is taken not to push another one out."""

    def change(self, event: Any) -> Any:
        if isinstance(event, FIXED_SIZE):
            return attr.evolve(event, event=super().change(event.event))
        return event


# ------------------------------------------------------------------------------------------ counts


class InnerCountDropped(Changed):
    """A ``SelfComposedDpEvent`` counts once."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.SelfComposedDpEvent):
            return dp.SelfComposedDpEvent(event.event, min(event.count, 1))
        return event


class OuterCountDropped(ExactAccountant):
    """``compose(event, count)`` counts once."""

    def compose(self, event: Any, count: int = 1) -> Any:
        return super().compose(event, min(count, 1))


class OffByOneSteps(Changed):
    """Repetitions counted by ``range(1, count)``."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.SelfComposedDpEvent) and event.count > 1:
            return dp.SelfComposedDpEvent(event.event, event.count - 1)
        return event


class OffByOneCalls(ExactAccountant):
    """The same slip in ``compose(event, count)``."""

    def compose(self, event: Any, count: int = 1) -> Any:
        return super().compose(event, count - 1 if count > 1 else count)


# ---------------------------------------------------------------------------- pairs and relations


class DirectionForgotten(ExactAccountant):
    """Only what adding a record costs, which is less than what removing it does."""

    def __init__(self, neighboring_relation: NeighboringRelation = ADD_REMOVE) -> None:
        one = "both" if neighboring_relation is REPLACE else "add"
        super().__init__(neighboring_relation, one)


class PoissonForFixedSize(Changed):
    """Batches of fixed size accounted by the formula for Poisson sampling."""

    def change(self, event: Any) -> Any:
        if isinstance(event, FIXED_SIZE):
            q = min(event.sample_size / event.source_dataset_size, 1.0)
            return dp.PoissonSampledDpEvent(q, event.event)
        return event


class _Borrowed:
    """Hands batches of fixed size under REPLACE_ONE to an accountant of adding or removing."""

    borrowed: ClassVar[Any] = FIXED_SIZE

    def __init__(self, neighboring_relation: NeighboringRelation = ADD_REMOVE) -> None:
        self._relation = neighboring_relation
        self._own = ExactAccountant(neighboring_relation)
        self._other = ExactAccountant(ADD_REMOVE)

    def compose(self, event: Any, count: int = 1) -> Any:
        lent = self._relation is REPLACE and any(
            isinstance(part, self.borrowed) for part in _parts(event)
        )
        if lent and not all(isinstance(part, self.borrowed) for part in _parts(event)):
            raise NotImplementedError("batches of fixed size and other events in one composition")
        (self._other if lent else self._own).compose(event, count)
        return self

    def _inner(self) -> ExactAccountant:
        if len(self._own) and len(self._other):
            raise NotImplementedError("batches of fixed size beside other events")
        return self._other if len(self._other) else self._own

    def get_epsilon(self, target_delta: float) -> float:
        return float(self._inner().get_epsilon(target_delta))

    def get_delta(self, target_epsilon: float) -> float:
        return float(self._inner().get_delta(target_epsilon))

    def __len__(self) -> int:
        return len(self._inner())


class MixturePairAsUpper(_Borrowed):
    """(sum p_k N(2k), N(0)) and its reverse as if they dominated under REPLACE_ONE too."""


class MixturePairForCopies(_Borrowed):
    """The same for draws with replacement alone, where even one release reveals more."""

    borrowed = (dp.SampledWithReplacementDpEvent,)


def _parts(event: Any) -> list[Any]:
    """The sampled or plain releases of a tree."""
    if isinstance(event, dp.ComposedDpEvent):
        return [part for child in event.events for part in _parts(child)]
    if isinstance(event, dp.SelfComposedDpEvent):
        return _parts(event.event)
    return [event]


# ----------------------------------------------------------------------------- the delta asked for


class DeltaFloor(ExactAccountant):
    """Answers for δ below 1e-10 with what holds at 1e-10."""

    FLOOR = 1e-10

    def get_epsilon(self, target_delta: float) -> float:
        return float(super().get_epsilon(max(target_delta, self.FLOOR)))

    def epsilon_bracket(self, target_delta: float) -> Any:
        return super().epsilon_bracket(max(target_delta, self.FLOOR))


class LowDeltaFloor(DeltaFloor):
    """The floor of doubles near 1: what ``1 - p`` leaves of a small δ."""

    FLOOR = 2.0**-53


# ---------------------------------------------------------------------------------------- a cache


class StaleCache(ExactAccountant):
    """ε kept by δ, and kept when more is composed."""

    def __init__(self, neighboring_relation: NeighboringRelation = ADD_REMOVE) -> None:
        super().__init__(neighboring_relation)
        self._epsilons: dict[float, float] = {}

    def get_epsilon(self, target_delta: float) -> float:
        if target_delta not in self._epsilons:
            self._epsilons[target_delta] = float(super().get_epsilon(target_delta))
        return self._epsilons[target_delta]


class CacheWithoutRelation(ExactAccountant):
    """ε kept for the whole class by releases and δ, whatever the relation."""

    _epsilons: ClassVar[dict[Any, float]] = {}

    def key(self, target_delta: float) -> Any:
        """What an answer is filed under."""
        return frozenset(self._counts.items()), self._non_private, target_delta

    def get_epsilon(self, target_delta: float) -> float:
        key = self.key(target_delta)
        if key not in self._epsilons or math.isnan(target_delta):
            self._epsilons[key] = float(super().get_epsilon(target_delta))
        return self._epsilons[key]


class CacheWithoutEvent(CacheWithoutRelation):
    """ε kept for the whole class by relation, number of steps and δ, whatever the steps were."""

    _epsilons: ClassVar[dict[Any, float]] = {}

    def key(self, target_delta: float) -> Any:
        return self.neighboring_relation, self.steps, target_delta
