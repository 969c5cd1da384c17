"""Reads an event tree down to counted leaves.

This is the only place where counts are applied: an accountant sees each distinct leaf with
the number of times it is used, and never multiplies by itself.  What is not known here is
not passed on: the walk fails closed and says why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import validation

_NEAREST = (
    "supported: GaussianDpEvent, PoissonSampledDpEvent of a GaussianDpEvent, and "
    "compositions of them"
)


class UnsupportedLeaf(Exception):
    """An event without a theorem; carries the event and the reason."""

    def __init__(self, event: dp_accounting.DpEvent, reason: str) -> None:
        super().__init__(reason)
        self.event = event
        self.reason = reason


@dataclass(frozen=True, order=True)
class SampledGaussian:
    """One Gaussian release on a Poisson sample; ``sampling_probability`` 1 is no sampling."""

    sampling_probability: float
    noise_multiplier: float

    @property
    def reveals_nothing(self) -> bool:
        """Whether the output does not depend on the data."""
        return self.sampling_probability == 0 or self.noise_multiplier == math.inf

    @property
    def reveals_everything(self) -> bool:
        """Whether the release has no noise (accounted as ε = inf, like dp_accounting)."""
        return self.noise_multiplier == 0 and not self.reveals_nothing


@dataclass(frozen=True)
class NonPrivate:
    """A release without any privacy."""


Leaf = SampledGaussian | NonPrivate


def leaves(
    event: dp_accounting.DpEvent, count: int, relation: NeighboringRelation
) -> Iterator[tuple[Leaf, int]]:
    """Yield each leaf of ``event`` with the number of times that it is applied.

    Parameters
    ----------
    event : dp_accounting.DpEvent
    count : int
        How often the whole tree is applied, >= 0.
    relation : NeighboringRelation

    Yields
    ------
    (SampledGaussian or NonPrivate, int)

    Raises
    ------
    UnsupportedLeaf
        At the first event without a theorem.
    ValueError
        If a parameter of an event is outside its domain.
    """
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
    elif isinstance(event, dp_accounting.GaussianDpEvent):
        yield SampledGaussian(1.0, validation.noise_multiplier(event.noise_multiplier)), count
    elif isinstance(event, dp_accounting.PoissonSampledDpEvent):
        yield _poisson(event), count
    else:
        raise UnsupportedLeaf(event, _reason(event, relation))


def _poisson(event: dp_accounting.PoissonSampledDpEvent) -> SampledGaussian:
    sampling_probability = validation.probability(event.sampling_probability)
    if not isinstance(event.event, dp_accounting.GaussianDpEvent):
        raise UnsupportedLeaf(
            event,
            "Poisson sampling is accounted over one GaussianDpEvent a sample, not over "
            f"{type(event.event).__name__}; {_NEAREST}",
        )
    return SampledGaussian(
        sampling_probability, validation.noise_multiplier(event.event.noise_multiplier)
    )


def _reason(event: dp_accounting.DpEvent, relation: NeighboringRelation) -> str:
    kind = type(event).__name__
    fixed_size = (
        dp_accounting.SampledWithoutReplacementDpEvent,
        dp_accounting.SampledWithReplacementDpEvent,
    )
    if isinstance(event, fixed_size):
        return (
            f"{kind}: no theorem for fixed-size batches under {relation.name} is built in yet, "
            "and the formula for Poisson sampling would understate their cost; sample by "
            "Poisson (PoissonSampledDpEvent) to be accounted"
        )
    return f"{kind} has no theorem in this accountant; {_NEAREST}"
