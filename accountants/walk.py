"""Reads an event tree down to counted leaves.

This is the only place where counts are applied: an accountant sees each distinct leaf with
the number of times it is used, and never multiplies by itself.  What is not known here is
not passed on: the walk fails closed and says why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, assert_never

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import validation
from accountants.events import (
    ResqueOracleDpEvent,
    ShuffledEpochDpEvent,
    WeightedWithReplacementDpEvent,
)
from accountants.relations import rule
from accountants.sampling import (
    GroupedPoisson,
    OracleDraws,
    Poisson,
    Repeating,
    Sampling,
    ShuffledEpochs,
    TruncatedPoisson,
    WeightedWithReplacement,
    WithoutReplacement,
    WithReplacement,
)

_NEAREST = (
    "supported: GaussianDpEvent, a GaussianDpEvent under Poisson, fixed-size, weighted or "
    "shuffled sampling, and compositions of them"
)
_ONLY_REPLACED = (
    "where a record is added, removed or left empty the number of records, or what an empty "
    "record does to a call, is not what the call's noise and failure probability are stated for"
)


class UnsupportedLeaf(Exception):
    """An event without a theorem; carries the event and the reason."""

    def __init__(self, event: dp_accounting.DpEvent, reason: str) -> None:
        super().__init__(reason)
        self.event = event
        self.reason = reason


@dataclass(frozen=True)
class Release:
    """One Gaussian release on one sampled batch (one epoch of them where epochs are shuffled).

    Attributes
    ----------
    sampling : Sampling
        ``Poisson(1.0)`` where nothing is sampled.
    noise_multiplier : float
        Noise std on the sum over clip norm, >= 0.
    """

    sampling: Sampling
    noise_multiplier: float

    @property
    def reveals_nothing(self) -> bool:
        """Whether the output does not depend on the data."""
        absent = isinstance(self.sampling, (Poisson, GroupedPoisson, TruncatedPoisson)) and (
            self.sampling.sampling_probability == 0
        )
        return absent or self.noise_multiplier == math.inf

    @property
    def reveals_everything(self) -> bool:
        """Whether the release has no noise (accounted as ε = inf, like dp_accounting)."""
        return self.noise_multiplier == 0 and not self.reveals_nothing

    @property
    def chance(self) -> float:
        """Chance of a record (or of any of a group) to be in a batch.

        Expected copies, at most 1, where a record may repeat.
        """
        sampling = self.sampling
        if isinstance(sampling, ShuffledEpochs):
            return 1.0
        if isinstance(sampling, Repeating):
            return min(1.0, sampling.batch_size * sampling.draw_probability)
        if isinstance(sampling, GroupedPoisson):
            return -math.expm1(self.log_absent)
        if isinstance(sampling, (Poisson, WithoutReplacement, TruncatedPoisson)):
            return sampling.sampling_probability
        assert_never(sampling)

    @property
    def log_absent(self) -> float:
        """log of the chance that a record is not in the batch at all."""
        sampling = self.sampling
        if isinstance(sampling, Repeating):
            return sampling.batch_size * math.log1p(-sampling.draw_probability)
        if isinstance(sampling, GroupedPoisson):
            q = sampling.sampling_probability
            return sampling.group_size * math.log1p(-q) if q < 1 else -math.inf
        return math.log1p(-self.chance) if self.chance < 1 else -math.inf

    @property
    def most_copies(self) -> int:
        """Largest number of times that a record, or records of a group, can be in one batch."""
        sampling = self.sampling
        if isinstance(sampling, Repeating):
            return sampling.batch_size
        if isinstance(sampling, GroupedPoisson):
            return sampling.group_size
        if isinstance(sampling, (Poisson, WithoutReplacement, TruncatedPoisson, ShuffledEpochs)):
            return 1
        assert_never(sampling)

    @property
    def failure(self) -> float:
        """Chance that the bound behind one use fails, whatever is truncated; rounded up."""
        if not isinstance(self.sampling, OracleDraws) or self.sampling.failure_probability == 0:
            return 0.0
        drawn = -math.expm1(self.log_absent)
        return min(1.0, drawn * self.sampling.failure_probability * (1 + 1e-12))

    @property
    def releases(self) -> int:
        """Noisy sums that one use gives out."""
        return self.sampling.batches if isinstance(self.sampling, ShuffledEpochs) else 1


@dataclass(frozen=True)
class NonPrivate:
    """A release without any privacy."""


#: What a tree is walked down to.
Leaf = Release | NonPrivate


def leaves(
    event: dp_accounting.DpEvent, count: int, relation: NeighboringRelation
) -> Iterator[tuple[Leaf, int]]:
    """Yield each leaf of ``event`` with the number of times that it is applied.

    Parameters
    ----------
    event : dp_accounting.DpEvent
    count : int
        How often the whole tree is applied, >= 0; at most 10^15, also with the tree's own counts.
    relation : NeighboringRelation

    Yields
    ------
    (Release or NonPrivate, int)

    Raises
    ------
    UnsupportedLeaf
        At the first event without a theorem.
    ValueError
        If a parameter of an event is outside its domain.
    """
    validation.uses(count)
    if isinstance(event, dp_accounting.NoOpDpEvent):
        return
    if isinstance(event, dp_accounting.NonPrivateDpEvent):
        yield NonPrivate(), count
    elif isinstance(event, dp_accounting.SelfComposedDpEvent):
        times = validation.whole(event.count, "SelfComposedDpEvent.count")
        yield from leaves(event.event, count * times, relation)
    elif isinstance(event, dp_accounting.ComposedDpEvent):
        for child in event.events:
            yield from leaves(child, count, relation)
    else:
        yield _release(event, relation), count


def _release(event: dp_accounting.DpEvent, relation: NeighboringRelation) -> Release:
    sampling = _sampling(event)
    if isinstance(event, dp_accounting.TruncatedSubsampledGaussianDpEvent):
        sigma: Any = event.noise_multiplier
    elif isinstance(event, ResqueOracleDpEvent):
        sigma = validation.oracle_noise(event.noise_multiplier, event.failure_probability)
    else:
        gaussian = event if isinstance(event, dp_accounting.GaussianDpEvent) else event.event
        if not isinstance(gaussian, dp_accounting.GaussianDpEvent):
            raise UnsupportedLeaf(
                event,
                f"{type(event).__name__} is accounted over one GaussianDpEvent a sample, not "
                f"over {type(gaussian).__name__}; {_NEAREST}",
            )
        sigma = gaussian.noise_multiplier
    release = Release(sampling, validation.noise_multiplier(sigma))
    try:
        rule(sampling.scheme, relation)
    except ValueError as error:
        why = f"; {_ONLY_REPLACED}" if isinstance(sampling, OracleDraws) else ""
        raise UnsupportedLeaf(event, f"{type(event).__name__}: {error}{why}") from None
    reason = _outside(sampling, relation)
    if reason:
        raise UnsupportedLeaf(event, f"{type(event).__name__}: {reason}")
    return release


def _sampling(event: dp_accounting.DpEvent) -> Sampling:
    if isinstance(event, dp_accounting.GaussianDpEvent):
        return Poisson(1.0)
    if isinstance(event, dp_accounting.PoissonSampledDpEvent):
        return Poisson(validation.probability(event.sampling_probability))
    if isinstance(event, dp_accounting.SampledWithoutReplacementDpEvent):
        return WithoutReplacement(event.source_dataset_size, event.sample_size)
    if isinstance(event, dp_accounting.SampledWithReplacementDpEvent):
        return WithReplacement(event.source_dataset_size, event.sample_size)
    if isinstance(event, WeightedWithReplacementDpEvent):
        return WeightedWithReplacement(event.largest_probability, event.sample_size)
    if isinstance(event, ShuffledEpochDpEvent):
        return ShuffledEpochs(event.dataset_size, event.batch_size)
    if isinstance(event, dp_accounting.TruncatedSubsampledGaussianDpEvent):
        return TruncatedPoisson(
            event.dataset_size, event.sampling_probability, event.truncated_batch_size
        )
    if isinstance(event, ResqueOracleDpEvent):
        draws = validation.whole(event.draws, "draws", 1)
        return OracleDraws(event.dataset_size, draws, event.failure_probability)
    raise UnsupportedLeaf(
        event, f"{type(event).__name__} has no theorem in this accountant; {_NEAREST}"
    )


def _outside(sampling: Sampling, relation: NeighboringRelation) -> str:
    """Why the sizes of a scheme are outside its theorem, or an empty text."""
    adding = relation is NeighboringRelation.ADD_OR_REMOVE_ONE
    if isinstance(sampling, WithReplacement) and sampling.dataset_size < 2:
        return "draws with replacement need dataset_size >= 2; supported: GaussianDpEvent"
    if (
        adding
        and isinstance(sampling, WithoutReplacement)
        and sampling.batch_size >= sampling.dataset_size
    ):
        return (
            f"a batch of all {sampling.dataset_size} records of the larger data set cannot be "
            "drawn from the smaller one; supported: batch_size < dataset_size, or REPLACE_ONE"
        )
    return ""
