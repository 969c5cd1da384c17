"""What every accountant here does alike: walks events, counts releases, copies, and says how many.

An accountant that answers from counted releases subclasses ``CountingAccountant``; its own file
then holds only what it makes of the counts.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant

from accountants import validation
from accountants.walk import Leaf, NonPrivate, Release, UnsupportedLeaf, leaves


class CountingAccountant(PrivacyAccountant):
    """A dp_accounting ``PrivacyAccountant`` that keeps each distinct release with its count.

    Parameters
    ----------
    neighboring_relation : NeighboringRelation

    Raises
    ------
    ValueError
        If the relation is unknown.
    """

    def __init__(self, neighboring_relation: NeighboringRelation) -> None:
        if not isinstance(neighboring_relation, NeighboringRelation):
            raise ValueError(
                f"neighboring_relation={neighboring_relation!r}: must be one of "
                + ", ".join(r.name for r in NeighboringRelation)
            )
        super().__init__(neighboring_relation)
        self._counts: dict[Release, int] = {}
        self._steps = 0
        self._non_private = False

    @property
    def steps(self) -> int:
        """Number of releases composed so far."""
        return self._steps

    def __len__(self) -> int:
        return self._steps

    def __bool__(self) -> bool:
        return True

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # a shallow copy would share the counts

    def compose(self, event: dp_accounting.DpEvent, count: int = 1) -> Self:
        """Compose ``event`` ``count`` times; see ``PrivacyAccountant.compose``.

        Raises
        ------
        ValueError
            If a parameter of the event or ``count`` is outside its domain.
        UnsupportedEventError
            If no theorem covers a part of the event; the message says which and why.
        """
        count = validation.whole(count, "count")
        # dp_accounting's ledger takes no empty event.
        nothing = count == 0 or _is_empty(event)
        if nothing and self._maybe_compose(event, 0, False) is None:
            return self
        super().compose(event, count)
        return self

    def _maybe_compose(
        self, event: dp_accounting.DpEvent, count: int, do_compose: bool
    ) -> PrivacyAccountant.CompositionErrorDetails | None:
        try:
            found = list(leaves(event, count, self.neighboring_relation))
        except UnsupportedLeaf as error:
            return self.CompositionErrorDetails(
                invalid_event=error.event, error_message=error.reason
            )
        reason = self._refusal([leaf for leaf, _ in found])
        if reason:
            return self.CompositionErrorDetails(invalid_event=event, error_message=reason)
        if do_compose:
            for leaf, times in found:
                self._add(leaf, times)
        return None

    def _refusal(self, found: Sequence[Leaf]) -> str:
        """Why this accountant takes no such releases though theorems exist, or an empty text."""
        return ""

    def _moderated(self, release: Release) -> Release | None:
        """The release to count in place of a given one; None where it leaves no privacy."""
        return release

    def _add(self, leaf: Leaf, times: int) -> None:
        self._steps += times * (leaf.releases if isinstance(leaf, Release) else 1)
        if times == 0:
            return
        if isinstance(leaf, NonPrivate) or leaf.reveals_everything:
            self._non_private = True
        elif not leaf.reveals_nothing:
            release = self._moderated(leaf)
            if release is None:
                self._non_private = True
            else:
                self._counts[release] = self._counts.get(release, 0) + times


def _is_empty(event: dp_accounting.DpEvent) -> bool:
    return isinstance(event, dp_accounting.SelfComposedDpEvent) and (
        validation.whole(event.count, "SelfComposedDpEvent.count") == 0 or _is_empty(event.event)
    )
