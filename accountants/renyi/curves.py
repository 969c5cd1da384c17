"""One release's Rényi curve: which pair or profile, for each sampling scheme and relation.

Units are clip norms on the sum.  Under ADD_OR_REMOVE_ONE, and for Poisson sampling under every
relation, one pair dominates in each direction and is attained, so that the curve is exact.  For
batches of fixed size under the two replacements the curve is that of the symmetric closure of a
profile bound: never above, and usually well below, what converts from published Rényi bounds.
With replacement the curve is conditional on at most kappa copies of a record (derived in
docs/proofs/renyi.md).
"""

from __future__ import annotations

import math
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from accountants.copies import CopyLaw
from accountants.relations import Direction, NeighboringRelation
from accountants.renyi.lines import Mixture, Order
from accountants.renyi.quadrature import divergences
from accountants.renyi.series import ROUND
from accountants.renyi.symmetric import replaced, special_replaced
from accountants.sampling import (
    GroupedPoisson,
    Poisson,
    Repeating,
    ShuffledEpochs,
    TruncatedPoisson,
    WithoutReplacement,
)
from accountants.truncated import cut_probability
from accountants.walk import Release

Array = NDArray[np.float64]

#: One record in the place of another.
REPLACE = NeighboringRelation.REPLACE_ONE
#: An empty record in the place of one.
SPECIAL = NeighboringRelation.REPLACE_SPECIAL


def failure(release: Release) -> float:
    """Chance that a batch is cut, whatever the record in question does; 0 unless it may be cut."""
    sampling = release.sampling
    return cut_probability(sampling) if isinstance(sampling, TruncatedPoisson) else 0.0


def divergence(
    release: Release,
    relation: NeighboringRelation,
    direction: Direction,
    orders: Array,
    copies: CopyLaw | None = None,
) -> Array:
    """Upper bounds on the Rényi divergence of one release.

    Parameters
    ----------
    release : Release
        With 0 < noise multiplier < inf and a sampling that can draw the record.
    relation : NeighboringRelation
    direction : Direction
        From the larger data set (or that with the real record), to it, or either.
    orders : ndarray, shape (A,)
        Finite, > 1, increasing.
    copies : CopyLaw, optional
        Law of the number of copies given K <= kappa; needed with replacement.

    Returns
    -------
    ndarray, shape (A,)
        In nats; conditional on no more than kappa copies, and on no cut batch.

    Raises
    ------
    ValueError
        With replacement and without ``copies``.
    """
    sampling = release.sampling
    gap = 1 / release.noise_multiplier
    if isinstance(sampling, ShuffledEpochs):
        return _gaussian(orders, gap * (2.0 if relation is REPLACE else 1.0))
    if isinstance(sampling, (Poisson, TruncatedPoisson)):
        q = sampling.sampling_probability
        if q == 1:
            return _gaussian(orders, gap * (2.0 if relation is REPLACE else 1.0))
        return divergences(Mixture((1 - q, q), gap), _order(direction), orders)
    if isinstance(sampling, WithoutReplacement):
        q = sampling.sampling_probability
        if q == 1:
            return _gaussian(orders, gap * (1.0 if relation is SPECIAL else 2.0))
        law: tuple[float, ...] = (1 - q, q)
    elif isinstance(sampling, Repeating):
        if copies is None:
            raise ValueError(
                f"copies=None: must be a CopyLaw for {type(sampling).__name__}, because "
                + untruncated(sampling, release.noise_multiplier)
            )
        law = copies.probabilities
    elif isinstance(sampling, GroupedPoisson):
        raise TypeError("the Rényi accountant is for single records")
    else:
        assert_never(sampling)
    if relation is REPLACE:
        return replaced(law, gap, orders)
    if relation is SPECIAL:
        return special_replaced(law, gap, direction, orders)
    return divergences(Mixture(law, 2 * gap), _order(direction), orders)


def ceiling(release: Release, relation: NeighboringRelation, copies: CopyLaw | None) -> float:
    """What no order's divergence exceeds in the direction ADD; ``inf`` where nothing is known.

    Adding a record, the output's density is at most 1/p_0 times that of the larger data set.
    """
    sampling = release.sampling
    if relation is not NeighboringRelation.ADD_OR_REMOVE_ONE:
        return math.inf
    if isinstance(sampling, ShuffledEpochs):
        return math.inf
    if copies is not None:
        absent, present = copies.absent, copies.present
    elif isinstance(sampling, (Poisson, TruncatedPoisson, WithoutReplacement)):
        present = sampling.sampling_probability
        absent = 1 - present
    else:
        return math.inf
    if absent <= 0:
        return math.inf
    log_absent = math.log1p(-present) if present < 0.5 else math.log(absent)
    return -log_absent * (1 + 8 * ROUND)


def untruncated(sampling: Repeating, noise_multiplier: float) -> str:
    """Why the curve with replacement needs a largest number of copies."""
    m = sampling.batch_size
    least = 4 * (m / noise_multiplier) ** 2 + 2 * m * math.log(sampling.draw_probability)
    return (
        "without a largest number of copies the event that one record fills the batch alone "
        f"makes the divergence of order 2 at least 4 m^2/sigma^2 - 2 m log(1/p) = {least:.6g} "
        f"(m = {m}, p = {sampling.draw_probability:.3g}); truncate the number of copies and "
        "carry its tail in δ"
    )


def _gaussian(orders: Array, gap: float) -> Array:
    value: Array = 0.5 * gap * gap * orders * (1 + 8 * ROUND)
    return value


def _order(direction: Direction) -> Order:
    return {
        Direction.REMOVE: Order.REMOVE,
        Direction.ADD: Order.ADD,
        Direction.SYMMETRIC: Order.REPLACE,
    }[direction]
