"""The pairs of laws that explicit data sets attain, with exact rational parameters.

Every pair of one release here is one of two kinds: a *location pair*, P = E N(K u) against
Q = E N(K v) with K the number of copies of the record in a batch and N the noise, or a *table* of
probabilities.  A restatement of docs/proofs/lower-ends.md and docs/proofs/poisson.md that shares
no code with the accountants (docs/proofs/enclosure.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.laws.ball_events import Laplace, Leaf, RandomizedResponse
from accountants.sampling import (
    Poisson,
    ShuffledEpochs,
    TruncatedPoisson,
    WeightedWithReplacement,
    WithoutReplacement,
    WithReplacement,
)
from accountants.walk import Release

#: The relations by shorter names.
ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
#: One record in the place of another.
REPLACE = NeighboringRelation.REPLACE_ONE
#: An empty record in the place of one.
SPECIAL = NeighboringRelation.REPLACE_SPECIAL

#: Gradients of the other records, in clip norms, of the data sets that are tried.
OTHERS = (Fraction(-1), Fraction(-99, 100), Fraction(-1, 2), Fraction(0))
#: Samplings whose pair dominates and is attained where a record is added or removed.
PROVED_BOTH_WAYS = (Poisson, WithoutReplacement, WithReplacement, WeightedWithReplacement)


@dataclass(frozen=True)
class LocationPair:
    """P = E N(K u), Q = E N(K v), K ~ Bin(draws, share), noise N of a given scale.

    Attributes
    ----------
    noise : {"normal", "laplace"}
    draws : int
    share : Fraction
        In (0, 1].
    first, second : Fraction
        u and v, how far one copy moves the sum, in clip norms.
    variance : Fraction
        Square of the scale of the noise, in clip norms.
    """

    noise: str
    draws: int
    share: Fraction
    first: Fraction
    second: Fraction
    variance: Fraction

    @property
    def plain(self) -> bool:
        """Whether the record is in the batch for certain."""
        return self.share == 1

    @property
    def monotone(self) -> bool:
        """Whether the loss is monotone in the output: means of P and of Q on two sides of 0."""
        return self.plain or self.first * self.second <= 0

    @property
    def gap_squared(self) -> Fraction:
        """Square of the distance of the two means over the scale, where the record is certain."""
        return (self.draws * (self.first - self.second)) ** 2 / self.variance

    def reversed(self) -> LocationPair:
        """Q against P."""
        return LocationPair(
            self.noise, self.draws, self.share, self.second, self.first, self.variance
        )


@dataclass(frozen=True)
class TablePair:
    """Finitely many outcomes with exact probabilities under P and Q.

    Attributes
    ----------
    first, second : tuple of Fraction
        Of the outcomes under P and under Q, in one order.
    """

    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]

    def reversed(self) -> TablePair:
        """Q against P."""
        return TablePair(self.second, self.first)


#: Two laws of one release with exact parameters.
Pair = LocationPair | TablePair


@dataclass(frozen=True)
class Product:
    """One data set against another: what a whole run puts out on them.

    Attributes
    ----------
    name : str
        Which data sets.
    parts : tuple of (pair, count)
    dominating : bool
        Whether this product and the others of its list also bound every other pair of
        neighbouring data sets (their maximum is then the truth).
    """

    name: str
    parts: tuple[tuple[Pair, int], ...]
    dominating: bool


def attained(counts: Mapping[Leaf, int], relation: NeighboringRelation) -> list[Product]:
    """The products that are tried; the true δ is at least that of each.

    Parameters
    ----------
    counts : mapping from leaf to int
        Leaves with noise (``ball_events.read`` without ``NonPrivate``).
    relation : NeighboringRelation
    """
    dominating = all(_both_ways(leaf, relation) for leaf in counts)
    found: dict[tuple[tuple[Pair, int], ...], Product] = {}
    for name, order, others in _variants(counts, relation):
        parts: dict[Pair, int] = {}
        for leaf, n in counts.items():
            pair = _pair(leaf, relation, order == "second", others)
            back = n // 2 if order == "half" else 0
            for item, times in ((pair, n - back), (pair.reversed(), back)):
                if times:
                    parts[item] = parts.get(item, 0) + times
        key = tuple(parts.items())
        found.setdefault(key, Product(name, key, dominating))
    return list(found.values())


def _both_ways(leaf: Leaf, relation: NeighboringRelation) -> bool:
    if isinstance(leaf, Laplace):  # sampled and replaced: attained, not shown to dominate
        return relation is not REPLACE or leaf.sampling_probability == 1
    if not isinstance(leaf, Release):
        return True
    if isinstance(leaf.sampling, Poisson):
        return True
    if isinstance(leaf.sampling, WithoutReplacement) and relation is not ADD_OR_REMOVE:
        return leaf.sampling.batch_size == leaf.sampling.dataset_size
    return isinstance(leaf.sampling, PROVED_BOTH_WAYS) and relation is ADD_OR_REMOVE


def _variants(
    counts: Mapping[Leaf, int], relation: NeighboringRelation
) -> list[tuple[str, str, Fraction]]:
    """(name, order of the data sets, what the other records are)."""
    sampled = any(
        isinstance(leaf, Release)
        and isinstance(
            leaf.sampling, (WithoutReplacement, WithReplacement, WeightedWithReplacement)
        )
        for leaf in counts
    )
    if relation is ADD_OR_REMOVE:
        return [
            ("record present first", "first", OTHERS[0]),
            ("record absent first", "second", OTHERS[0]),
        ]
    if relation is SPECIAL:
        others = (Fraction(-1), Fraction(1)) if sampled else (Fraction(-1),)
        return [
            (
                f"record {'1 against none' if order == 'first' else 'none against 1'}, others {z}",
                order,
                z,
            )
            for z in others
            for order in ("first", "second")
        ]
    if not sampled:
        return [("record 1 against -1", "first", OTHERS[0])]
    return [
        ("record 1 against -1, others -1", "first", OTHERS[0]),
        ("record -1 against 1, others -1", "second", OTHERS[0]),
        ("record 1 against -1, reversed in half of the steps, others -1", "half", OTHERS[0]),
        *((f"record 1 against -1, others {float(z):g}", "first", z) for z in OTHERS[1:]),
    ]


def _pair(leaf: Leaf, relation: NeighboringRelation, second: bool, others: Fraction) -> Pair:
    if isinstance(leaf, RandomizedResponse):
        p, k = Fraction(leaf.noise_parameter), leaf.num_buckets
        kept, other = 1 - p + p / k, p / k
        # The k - 2 buckets that are neither the old nor the new one look alike.
        pair: Pair = TablePair((kept, other, other * (k - 2)), (other, kept, other * (k - 2)))
    elif isinstance(leaf, Laplace):
        u, v = (1, -1) if relation is REPLACE else (1, 0)
        pair = LocationPair(
            "laplace",
            1,
            Fraction(leaf.sampling_probability),
            Fraction(u),
            Fraction(v),
            Fraction(leaf.noise_multiplier) ** 2,
        )
    elif isinstance(leaf, Release):
        pair = _release(leaf, relation, others)
    else:
        raise TypeError(f"{leaf!r} has no pair")
    return pair.reversed() if second else pair


def _release(leaf: Release, relation: NeighboringRelation, others: Fraction) -> LocationPair:
    sampling = leaf.sampling
    variance = Fraction(leaf.noise_multiplier) ** 2
    one, zero = Fraction(1), Fraction(0)
    u, v = (one, -one) if relation is REPLACE else (one, zero)
    if isinstance(sampling, Poisson):
        share = Fraction(sampling.sampling_probability)
        return LocationPair("normal", 1, share, u, v, variance)
    if isinstance(sampling, TruncatedPoisson):
        return LocationPair("normal", 1, kept_share(sampling), u, v, variance)
    if isinstance(sampling, ShuffledEpochs):
        return LocationPair("normal", 1, one, u, v, variance * sampling.batches)
    if isinstance(sampling, WithoutReplacement):
        draws, share = 1, Fraction(sampling.batch_size, sampling.dataset_size)
    elif isinstance(sampling, WithReplacement):
        draws, share = sampling.batch_size, Fraction(1, sampling.dataset_size)
    else:
        assert isinstance(sampling, WeightedWithReplacement)
        draws, share = sampling.batch_size, Fraction(sampling.largest_probability)
    if share == 1:  # a batch of all records: the others' part of the sum is known
        return LocationPair("normal", draws, share, u, v, variance)
    if relation is ADD_OR_REMOVE:
        u, v = 2 * one, zero
    elif relation is SPECIAL:
        u, v = 1 - others, -others
    else:
        u, v = 1 - others, -1 - others
    return LocationPair("normal", draws, share, u, v, variance)


def kept_share(sampling: TruncatedPoisson) -> Fraction:
    """Lower bound on the chance that a record is in a truncated batch, n others around it.

    q P(J < B) + B/(n+1) P(Bin(n+1, q) > B), J ~ Bin(n, q); see docs/proofs/lower-ends.md.
    """
    n, cap = sampling.dataset_size, sampling.truncated_batch_size
    q = Fraction(sampling.sampling_probability)
    if cap > n or q == 1:
        return q if cap > n else Fraction(cap, n + 1)
    with flint.ctx.workprec(128):
        at = ball(q)
        below: Any = 1 - at.beta_lower(cap, n + 1 - cap, 1)
        above: Any = at.beta_lower(cap + 1, n + 1 - cap, 1)
        value = at * below + flint.arb(cap) / (n + 1) * above
        low = value.lower()
        if not low > 0:
            return Fraction(0)
        return min(q, exact_fraction(low))


def ball(value: Fraction) -> Any:
    """A ball around a rational at the working precision."""
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def exact_fraction(value: Any) -> Fraction:
    """The rational that an exact ball is."""
    mantissa, exponent = value.man_exp()
    whole = int(mantissa)
    power = int(exponent)
    return Fraction(whole * 2**power) if power >= 0 else Fraction(whole, 2**-power)
