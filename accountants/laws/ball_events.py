"""Reads an event tree down to counted leaves: Gaussian releases, Laplace, randomized response.

``accountants.walk`` knows Gaussian releases only.  Where the meaning of an event under a relation
is not settled by the event's own description, it is left out and the reason is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import validation
from accountants.sampling import (
    OracleDraws,
    Poisson,
    ShuffledEpochs,
    TruncatedPoisson,
    WeightedWithReplacement,
    WithoutReplacement,
    WithReplacement,
)
from accountants.walk import NonPrivate, Release, UnsupportedLeaf, leaves

__all__ = ["Bare", "Laplace", "Leaf", "RandomizedResponse", "Release", "read"]


@dataclass(frozen=True)
class Laplace:
    """A sum of vectors of L1 norm at most 1 with Laplace noise, over a Poisson sample.

    Attributes
    ----------
    noise_multiplier : float
        Scale of the noise over the L1 bound of one record, > 0 and finite.
    sampling_probability : float
    """

    noise_multiplier: float
    sampling_probability: float = 1.0


@dataclass(frozen=True)
class RandomizedResponse:
    """A record's bucket with probability 1 - p + p/k, each other one with p/k; 0 < p < 1, k > 1.

    Attributes
    ----------
    noise_parameter : float
        p, the chance that the answer is drawn from all buckets.
    num_buckets : int
        k.
    """

    noise_parameter: float
    num_buckets: int


@dataclass(frozen=True)
class Bare:
    """A release without noise: it shows a record that is in its batch for certain.

    Attributes
    ----------
    share : float
        Chance that one draw gives the record.
    draws : int
    """

    share: float
    draws: int = 1


#: What an enclosure is composed of.
Leaf = Release | Laplace | RandomizedResponse | Bare


def read(
    event: dp_accounting.DpEvent, relation: NeighboringRelation, count: int = 1
) -> dict[Leaf, int]:
    """Every leaf of ``event`` that reveals anything, with its number of uses.

    Parameters
    ----------
    event : dp_accounting.DpEvent
    relation : NeighboringRelation
    count : int
        How often the whole tree is applied.

    Returns
    -------
    dict
        ``Bare`` stands for any leaf without noise.

    Raises
    ------
    ValueError
        If a parameter is outside its domain.
    UnsupportedLeaf
        If an event has no settled meaning here.
    """
    found: dict[Leaf, int] = {}
    for leaf, times in _leaves(event, validation.uses(validation.whole(count, "count")), relation):
        if isinstance(leaf, Release):
            if leaf.reveals_nothing:
                continue
            if leaf.reveals_everything:
                leaf = _bare(leaf)
        if times:
            found[leaf] = validation.uses(found.get(leaf, 0) + times)
    return found


def _leaves(
    event: dp_accounting.DpEvent, count: int, relation: NeighboringRelation
) -> Iterator[tuple[Leaf, int]]:
    if isinstance(event, dp_accounting.SelfComposedDpEvent):
        times = validation.whole(event.count, "SelfComposedDpEvent.count")
        yield from _leaves(event.event, validation.uses(count * times), relation)
    elif isinstance(event, dp_accounting.ComposedDpEvent):
        for child in event.events:
            yield from _leaves(child, count, relation)
    elif isinstance(event, dp_accounting.LaplaceDpEvent):
        yield from _laplace(event.noise_multiplier, 1.0, count)
    elif isinstance(event, dp_accounting.PoissonSampledDpEvent) and isinstance(
        event.event, dp_accounting.LaplaceDpEvent
    ):
        chance = validation.probability(event.sampling_probability)
        yield from _laplace(event.event.noise_multiplier, chance, count)
    elif isinstance(event, dp_accounting.RandomizedResponseDpEvent):
        yield from _response(event, count, relation)
    else:
        for leaf, times in leaves(event, count, relation):
            if isinstance(leaf, Release) and isinstance(leaf.sampling, OracleDraws):
                raise UnsupportedLeaf(event, "an oracle call has bounds, but no one law of its own")
            yield (Bare(1.0) if isinstance(leaf, NonPrivate) else leaf), times


def _bare(leaf: Release) -> Bare:
    sampling = leaf.sampling
    if isinstance(sampling, Poisson):
        return Bare(sampling.sampling_probability)
    if isinstance(sampling, TruncatedPoisson):  # drawn and kept: at least B of the n + 1 are
        share = sampling.truncated_batch_size / (sampling.dataset_size + 1)
        return Bare(sampling.sampling_probability * min(1.0, math.nextafter(share, 0.0)))
    if isinstance(sampling, WithoutReplacement):
        whole = sampling.batch_size == sampling.dataset_size
        share = sampling.batch_size / sampling.dataset_size
        return Bare(1.0 if whole else math.nextafter(share, 0.0))
    if isinstance(sampling, ShuffledEpochs):
        return Bare(1.0)
    assert isinstance(sampling, (WithReplacement, WeightedWithReplacement))
    return Bare(math.nextafter(sampling.draw_probability, 0.0), sampling.batch_size)


def _laplace(noise: float, chance: float, count: int) -> Iterator[tuple[Leaf, int]]:
    scale = validation.noise_multiplier(noise)
    if chance == 0 or scale == math.inf:
        return
    yield (Bare(chance) if scale == 0 else Laplace(scale, chance)), count


def _response(
    event: dp_accounting.RandomizedResponseDpEvent, count: int, relation: NeighboringRelation
) -> Iterator[tuple[Leaf, int]]:
    noise = validation.probability(event.noise_parameter, "noise_parameter")
    buckets = validation.whole(event.num_buckets, "num_buckets", 1)
    if relation is not NeighboringRelation.REPLACE_ONE:
        raise UnsupportedLeaf(
            event,
            f"what randomized response puts out without a record is not settled by the event, so "
            f"there is no truth under {relation.name}; supported: REPLACE_ONE",
        )
    if buckets == 1 or noise == 1:
        return
    yield (Bare(1.0) if noise == 0 else RandomizedResponse(noise, buckets)), count
