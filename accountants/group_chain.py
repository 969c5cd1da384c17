"""Groups of records by a chain of single ones: the releases that the chain needs, and its factor.

From a data set with the group to one without, or with all of it exchanged, one record at a time:
each hop is a pair of neighbours, and k of them multiply what one costs (docs/proofs/group.md).
"""

from __future__ import annotations

import dataclasses
import math
from typing import assert_never

from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.explain import Explanation
from accountants.relations import ADD_OR_REMOVE, SPECIAL, rule
from accountants.rounding import below
from accountants.sampling import (
    GroupedPoisson,
    OracleDraws,
    Poisson,
    Repeating,
    ShuffledEpochs,
    TruncatedPoisson,
    WeightedWithReplacement,
    WithoutReplacement,
    WithReplacement,
)
from accountants.walk import Release

#: Where both bounds on groups are proved.
SOURCE = "docs/proofs/group.md"

_ROUNDING = 1e-13  # more than that of the chain's factor, absolute in its logarithm


def dearest_hop(release: Release, size: int, relation: NeighboringRelation) -> Release | None:
    """The release for the smallest data set that is the larger one of a hop.

    Parameters
    ----------
    release : Release
        Of the larger data set, with the whole group.
    size : int
        k >= 1 records.
    relation : NeighboringRelation

    Returns
    -------
    Release or None
        None where a data set without the group is too small to draw such batches from.
    """
    gone = size - 1
    if gone == 0 or relation is not ADD_OR_REMOVE:
        return release
    sampling = release.sampling
    if isinstance(sampling, (WithoutReplacement, WithReplacement)):
        left, batch = sampling.dataset_size - gone, sampling.batch_size
        if left < 1 + (batch if isinstance(sampling, WithoutReplacement) else 1):
            return None
        smaller = dataclasses.replace(sampling, dataset_size=left)
        return Release(smaller, release.noise_multiplier)
    if isinstance(sampling, WeightedWithReplacement):
        # Others' shares are renormalised as records of share w leave: at most w/(1 - (k-1)w).
        rest = 1 - gone * sampling.largest_probability
        share = sampling.largest_probability / rest * (1 + 1e-12) if rest > 0 else 1.0
        if not share < 1:
            return None
        grown = dataclasses.replace(sampling, largest_probability=share)
        return Release(grown, release.noise_multiplier)
    if isinstance(
        sampling, (Poisson, GroupedPoisson, TruncatedPoisson, ShuffledEpochs, OracleDraws)
    ):
        return release
    assert_never(sampling)


def equal_records(release: Release, size: int, relation: NeighboringRelation) -> Release:
    """A release whose lower ends a group of equal records attains.

    With replacement a draw gives the group with k times the chance of one record.  Without it,
    and where nothing but presence is used, several records are counted as one.

    Parameters
    ----------
    release : Release
        Of the larger data set, with the whole group.
    size : int
        k >= 1 records.
    relation : NeighboringRelation
    """
    sampling, sigma = release.sampling, release.noise_multiplier
    if isinstance(sampling, WithReplacement) and size < sampling.dataset_size:
        share, draws = size / sampling.dataset_size, sampling.batch_size
        return Release(WeightedWithReplacement(below(share), draws), sigma)
    if isinstance(sampling, WithoutReplacement) and relation is not SPECIAL:
        n, m = sampling.dataset_size, sampling.batch_size
        if size + m > n:
            return release
        # None of the group in a subset: the product of (n - m - i)/(n - i).
        log_none = math.fsum(math.log1p(-m / (n - i)) for i in range(min(size, 10**4)))
        present = -math.expm1(log_none) * (1 - 1e-9)
        if 0 < present < 1:
            return Release(WeightedWithReplacement(present, 1), sigma)
    return release


def group_move(release: Release, size: int, relation: NeighboringRelation) -> float:
    """How far a whole group can move one sum, in clip norms; inf where nothing bounds it.

    Parameters
    ----------
    release : Release
    size : int
        k >= 1 records.
    relation : NeighboringRelation
    """
    sampling = release.sampling
    if isinstance(sampling, TruncatedPoisson):
        return math.inf  # the group's records push others out of the batch
    if isinstance(sampling, WithoutReplacement):
        most = min(size, sampling.batch_size)
    elif isinstance(sampling, Repeating):
        most = sampling.batch_size
    elif isinstance(sampling, (Poisson, GroupedPoisson, ShuffledEpochs)):
        most = size
    else:
        assert_never(sampling)
    return most * rule(sampling.scheme, relation).shift


def log_chain_factor(epsilon: float, group_size: int) -> float:
    """log of (exp(kε) - 1)/(exp(ε) - 1) = sum of exp(jε), j < k, rounded up.

    Parameters
    ----------
    epsilon : float
        ε >= 0 of one hop.
    group_size : int
        k >= 1 hops.
    """
    if group_size == 1:
        return 0.0
    whole = group_size * epsilon
    if whole < 1e-8:  # every term is at most exp(kε)
        return math.log(group_size) + whole + _ROUNDING
    top = whole + math.log(-math.expm1(-whole))
    bottom = epsilon + math.log(-math.expm1(-epsilon))
    size = abs(whole) + abs(top) + abs(bottom)
    return top - bottom + _ROUNDING * (1 + size)


def explain_chain(size: int, single: Explanation) -> Explanation:
    """What both ends rest on where a chain is used, from the explanation of a single record."""
    return Explanation(
        upper=f"the smaller of a chain of {size} single records, δ({size}ε) <= δ_1(ε) "
        f"(exp({size}ε) - 1)/(exp(ε) - 1), and of the releases without sampling; for a single "
        f"record {single.upper}",
        lower="the larger of a single record, which is a group as well, and of equal records: "
        f"{single.lower}",
        exact=False,
        source=", ".join(filter(None, [SOURCE, single.source])),
    )
