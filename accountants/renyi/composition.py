"""Composition of one-step curves, with what truncation leaves to δ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.copies import CopyLaw, copies_for_tail, copy_law_of
from accountants.errors import AccuracyError
from accountants.relations import Direction, NeighboringRelation, directions_of
from accountants.renyi.curves import ceiling, divergence, failure
from accountants.renyi.series import ROUND
from accountants.sampling import (
    Poisson,
    Repeating,
    ShuffledEpochs,
    TruncatedPoisson,
    WithoutReplacement,
)
from accountants.walk import Release

Array = NDArray[np.float64]
#: Laws of copies of the releases in which a record may repeat.
Laws = Mapping[Release, CopyLaw]

_TAILS = 10.0 ** -np.concatenate((np.arange(1.0, 40.0), np.arange(40.0, 306.0, 6.0)))
"""Chances of truncation, over all releases, that are tried where none is prescribed."""


@dataclass(frozen=True)
class Composition:
    """Counted releases, and the law of copies that each is conditioned on.

    Attributes
    ----------
    counts : mapping of Release to int
    relation : NeighboringRelation
    laws : mapping of Release to CopyLaw
        For the releases in which a record may repeat.
    """

    counts: Mapping[Release, int]
    relation: NeighboringRelation
    laws: Laws

    @property
    def log_kept(self) -> float:
        """log of the chance that nothing is truncated or cut in any release, rounded down."""
        total = 0.0
        for release, count in self.counts.items():
            tail = self.laws[release].tail if release in self.laws else failure(release)
            if tail >= 1:
                return -math.inf
            total += count * math.log1p(-tail)
        return total * (1 + 64 * ROUND)

    def log_rest(self, log_delta: float) -> float:
        """log of the δ that is left for the conditional curve: (δ - lost)/(1 - lost)."""
        kept = self.log_kept
        if kept == 0:
            return log_delta
        lost = -math.expm1(kept)
        rest = math.exp(log_delta) * (1 - 2 * ROUND * (1 + abs(log_delta))) - lost * (1 + 4 * ROUND)
        return math.log(rest) - kept - 4 * ROUND if rest > 0 else -math.inf

    def log_total(self, log_delta: float) -> float:
        """log of lost + (1 - lost) δ, where the conditional curve gives δ."""
        kept = self.log_kept
        if kept == -math.inf:
            return 0.0
        if kept == 0:
            return log_delta
        lost = math.log(-math.expm1(kept))
        return float(np.logaddexp(lost, log_delta + kept)) + 4 * ROUND * (1 + abs(lost))

    def divergence(self, orders: Array) -> Array:
        """Upper bounds on the divergence, given that nothing is truncated.

        Parameters
        ----------
        orders : ndarray, shape (A,)
            Increasing.

        Returns
        -------
        ndarray, shape (A,)
            Each direction holds for a whole run: the larger of the two sums.
        """
        first, *others = self._directions()
        total = self._sum(first, orders)
        for direction in others:
            most = sum(
                count * ceiling(release, self.relation, self.laws.get(release))
                for release, count in self.counts.items()
            )
            open_ = total < most
            if open_.any():
                total[open_] = np.maximum(total[open_], self._sum(direction, orders[open_]))
        return total

    def _sum(self, direction: Direction, orders: Array) -> Array:
        total = np.zeros(orders.shape)
        for release, count in self.counts.items():
            law = self.laws.get(release)
            one = divergence(release, self.relation, direction, orders, law)
            total = total + count * one
        return total * (1 + (2 + len(self.counts)) * ROUND)

    def _directions(self) -> tuple[Direction, ...]:
        """Directions to compare; removing costs at least as much where one copy is at stake."""
        directions = directions_of(self.relation)
        plain: tuple[type, ...] = (Poisson, TruncatedPoisson, ShuffledEpochs)
        if self.relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            plain = (*plain, WithoutReplacement)
        if all(isinstance(release.sampling, plain) for release in self.counts):
            return directions[:1]
        return directions


def truncations(
    counts: Mapping[Release, int], largest: int | None, log_delta: float | None
) -> Iterator[Laws]:
    """Laws of copies to try, from fewer copies to more.

    Parameters
    ----------
    counts : mapping of Release to int
    largest : int, optional
        The largest number of copies, where it is prescribed.
    log_delta : float, optional
        log of the δ that truncation must stay below.
    """
    repeated = {r: r.sampling for r in counts if isinstance(r.sampling, Repeating)}
    if not repeated:
        yield {}
        return
    if largest is not None:
        yield {r: copy_law_of(scheme, largest) for r, scheme in repeated.items()}
        return
    total = sum(counts[r] for r in repeated)
    seen: set[tuple[int, ...]] = set()
    for tail in _TAILS:
        if log_delta is not None and math.log(tail) > log_delta:
            continue
        try:
            kappas = tuple(
                copies_for_tail(scheme.batch_size, scheme.draw_probability, tail / total)
                for scheme in repeated.values()
            )
            if kappas in seen:
                continue
            seen.add(kappas)
            laws = {
                r: copy_law_of(scheme, kappa)
                for (r, scheme), kappa in zip(repeated.items(), kappas, strict=True)
            }
        except AccuracyError:
            return
        yield laws
