"""From counted releases to the runs that bound their privacy loss from above and from below.

For every release and relation this module knows the pair that dominates (docs/proofs/poisson.md,
docs/proofs/fixed-size.md) and the pairs that explicit data sets attain
(docs/proofs/lower-ends.md); ``relations.py`` states both in words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import assert_never

from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import fixed_size
from accountants.copies import CopyLaw, copies_for_tail
from accountants.errors import AccuracyError
from accountants.exact.composition import Composition
from accountants.exact.moments import AnyPair
from accountants.exact.node_law import ClosedPair, LogProfile, ProfilePair
from accountants.exact.run import Run
from accountants.pairs import MixturePair, SampledGaussianPair
from accountants.relations import REPLACE, SPECIAL, Direction, rule
from accountants.sampling import (
    GroupedPoisson,
    OracleDraws,
    Poisson,
    Repeating,
    ShuffledEpochs,
    TruncatedPoisson,
    WithoutReplacement,
)
from accountants.truncated import cut_probability, kept_probability
from accountants.walk import Release

#: Distinct releases, each with how often it is used.
Counts = Mapping[Release, int]

_SMALLEST = 1e-100
_OTHERS = (-1.0, -0.99, -0.5, 0.0)  # gradients of the other records that are tried


@dataclass(frozen=True)
class Part:
    """What one use of a release brings to a run.

    Attributes
    ----------
    pair : pair or None
    gap_squared : float
        (shift / noise std)^2 of a plain Gaussian release.
    tail : float
        Chance that something that the pair leaves out happens.
    """

    pair: AnyPair | None = None
    gap_squared: float = 0.0
    tail: float = 0.0


def is_exact(counts: Counts, relation: NeighboringRelation) -> bool:
    """Whether every release has one pair that dominates and is attained."""
    return all(rule(release.sampling.scheme, relation).exact for release in counts)


def upper_run(
    counts: Counts, relation: NeighboringRelation, direction: Direction, tail: float
) -> Run:
    """The run whose δ, with the chance of what it leaves out, bounds the true one.

    Parameters
    ----------
    counts : mapping from Release to int
        Noise multipliers finite and > 0; counts > 0.
    relation : NeighboringRelation
    direction : Direction
        SYMMETRIC under REPLACE_ONE, else REMOVE or ADD.
    tail : float
        What a truncation may leave out at each use.
    """
    parts = [(_upper(release, relation, direction, tail), n) for release, n in counts.items()]
    return _assemble(parts, "dominating pair")


def lower_runs(
    counts: Counts, relation: NeighboringRelation, direction: Direction, tail: float
) -> list[Run]:
    """Runs that explicit data sets attain; any of them bounds the true δ from below."""
    runs = []
    for name, order, others in _variants(counts, relation):
        parts = []
        for release, n in counts.items():
            first = _lower(release, relation, direction, order, others, tail)
            if order == "half" and n > 1:
                second = _lower(release, relation, direction, "reverse", others, tail)
                parts += [(first, n - n // 2), (second, n // 2)]
            else:
                parts.append((first, n))
        runs.append(_assemble(parts, name))
    return runs


def _variants(counts: Counts, relation: NeighboringRelation) -> list[tuple[str, str, float]]:
    """(name, order, gradient of the others) of the data sets that are tried."""
    coins = (Poisson, GroupedPoisson, TruncatedPoisson)
    fixed = any(not isinstance(r.sampling, coins) for r in counts)
    if not fixed or relation not in (REPLACE, SPECIAL):
        return [("attained pair", "forward", -1.0)]
    if relation is SPECIAL:
        return [("others -1", "forward", -1.0), ("others 1", "forward", 1.0)]
    several = sum(counts.values()) > 1
    found = [("others -1", "forward", -1.0), ("others -1, reversed", "reverse", -1.0)]
    if several:
        found.append(("others -1, half reversed", "half", -1.0))
    found += [(f"others {z:g}", "forward", z) for z in _OTHERS[1:]]
    return found


def _assemble(parts: Sequence[tuple[Part, int]], name: str) -> Run:
    pairs: dict[AnyPair, int] = {}
    for part, n in parts:
        if part.pair is not None:
            pairs[part.pair] = pairs.get(part.pair, 0) + n
    gap_squared = math.fsum(n * part.gap_squared for part, n in parts)
    log_kept = math.fsum(
        n * math.log1p(-part.tail) if part.tail < 1 else -math.inf for part, n in parts
    )
    ordered = tuple(pairs.items())
    if len(ordered) > 1:
        ordered = tuple(sorted(ordered, key=lambda item: repr(item[0])))
    return Run(Composition(ordered, gap_squared), min(log_kept, 0.0), name)


def _check(release: Release) -> None:
    """Refuse what floats cannot square or invert."""
    if release.noise_multiplier < _SMALLEST:
        raise AccuracyError(
            f"a noise multiplier of {release.noise_multiplier:g} is below {_SMALLEST:g}"
        )
    if 0 < release.chance < _SMALLEST:
        raise AccuracyError(f"a sampling probability of {release.chance:g} is below {_SMALLEST:g}")


def _gaussian(shift: float, sigma: float) -> Part:
    return Part(gap_squared=(shift / sigma) ** 2)


def _poisson(q: float, sigma: float, direction: Direction) -> Part:
    if q == 1:
        return _gaussian(2.0 if direction is Direction.SYMMETRIC else 1.0, sigma)
    return Part(SampledGaussianPair(q, sigma, direction))


def _group(
    sampling: GroupedPoisson, sigma: float, direction: Direction, tail: float, *, lumped: bool
) -> Part:
    """Group of records with one gradient: its pair, for an upper end or (lumped) a lower one."""
    q, size = sampling.sampling_probability, sampling.group_size
    if q == 1:
        return _gaussian(size * (2.0 if direction is Direction.SYMMETRIC else 1.0), sigma)
    copies = _binomial(size, q, _finer(tail, direction))
    lost = copies.tail
    if lumped:
        copies, lost = copies.lumped(), 0.0
    if direction is Direction.SYMMETRIC:
        sides = _parts(copies, 1 / sigma), _parts(copies, -1 / sigma)
        return Part(MixturePair(*sides, copies.absent), tail=lost)
    return Part(_one_sided(copies, 1 / sigma, direction), tail=lost)


def _upper(
    release: Release, relation: NeighboringRelation, direction: Direction, tail: float
) -> Part:
    sampling, sigma = release.sampling, release.noise_multiplier
    _check(release)
    if isinstance(sampling, Poisson):
        return _poisson(sampling.sampling_probability, sigma, direction)
    if isinstance(sampling, GroupedPoisson):
        return _group(sampling, sigma, direction, tail, lumped=False)
    if isinstance(sampling, TruncatedPoisson):
        part = _poisson(sampling.sampling_probability, sigma, direction)
        return Part(part.pair, part.gap_squared, cut_probability(sampling))
    if isinstance(sampling, ShuffledEpochs):
        return _gaussian(rule(sampling.scheme, relation).shift, sigma)
    if isinstance(sampling, WithoutReplacement):
        return _subset_upper(sampling, sigma, relation, direction, tail)
    if isinstance(sampling, Repeating):
        return _draws_upper(sampling, sigma, relation, direction, tail)
    assert_never(sampling)


def _draws_upper(
    sampling: Repeating,
    sigma: float,
    relation: NeighboringRelation,
    direction: Direction,
    tail: float,
) -> Part:
    if relation is not REPLACE and relation is not SPECIAL:
        copies = _copies(sampling, _finer(tail, direction))
        return Part(_one_sided(copies, 2 / sigma, direction), tail=copies.tail)
    copies = _copies(sampling, tail)
    if relation is REPLACE:
        profile = partial(fixed_size.log_with_replacement, copies=copies, sigma=sigma)
        pair = _profile_pair(profile, profile, copies.present, 2 / sigma, tail)
    else:
        real = partial(fixed_size.log_real_to_special_copies, copies=copies, sigma=sigma)
        null = partial(fixed_size.log_special_to_real_copies, copies=copies, sigma=sigma)
        ends = (real, null) if direction is Direction.REMOVE else (null, real)
        pair = _profile_pair(*ends, copies.present, 2 / sigma, tail)
    if isinstance(sampling, OracleDraws):
        copies = copies.failing(sampling.failure_probability)
    return Part(pair, tail=copies.tail + pair.lost)


def _subset_upper(
    sampling: WithoutReplacement,
    sigma: float,
    relation: NeighboringRelation,
    direction: Direction,
    tail: float,
) -> Part:
    q = sampling.sampling_probability
    if q == 1:
        return _gaussian(1.0 if relation is SPECIAL else 2.0, sigma)
    if relation is REPLACE:
        return Part(ClosedPair(q, 2 / sigma))
    if relation is SPECIAL:
        real = partial(fixed_size.log_real_to_special, q=q, sigma=sigma)
        null = partial(fixed_size.log_special_to_real, q=q, sigma=sigma)
        ends = (real, null) if direction is Direction.REMOVE else (null, real)
        pair = _profile_pair(*ends, q, 2 / sigma, tail)
        return Part(pair, tail=pair.lost)
    return Part(_one_sided(_one_copy(sampling), 2 / sigma, direction))


def _one_copy(sampling: WithoutReplacement) -> CopyLaw:
    """A record in a subset at most once; (n - m)/n keeps its digits where m is nearly n."""
    n, m = sampling.dataset_size, sampling.batch_size
    return CopyLaw(((n - m) / n, m / n), 0.0)


def _lower(
    release: Release,
    relation: NeighboringRelation,
    direction: Direction,
    order: str,
    others: float,
    tail: float,
) -> Part:
    sampling, sigma = release.sampling, release.noise_multiplier
    if isinstance(sampling, Poisson):
        return _poisson(sampling.sampling_probability, sigma, direction)
    if isinstance(sampling, GroupedPoisson):
        return _group(sampling, sigma, direction, tail, lumped=True)
    if isinstance(sampling, TruncatedPoisson):
        return _poisson(kept_probability(sampling), sigma, direction)
    if isinstance(sampling, ShuffledEpochs):
        shift = rule(sampling.scheme, relation).shift
        return _gaussian(shift / math.sqrt(sampling.batches), sigma)
    if isinstance(sampling, WithoutReplacement):
        if sampling.batch_size == sampling.dataset_size:
            return _gaussian(1.0 if relation is SPECIAL else 2.0, sigma)
        copies = _one_copy(sampling)
    elif isinstance(sampling, Repeating):
        copies = _copies(sampling, _finer(tail, direction))
    else:
        assert_never(sampling)
    if relation is SPECIAL and others == -1.0:
        return Part(_special(copies, sigma, direction, others), tail=copies.tail)
    copies = copies.lumped()
    if relation is SPECIAL:
        return Part(_special(copies, sigma, direction, others))
    if relation is REPLACE:
        return Part(_replaced(copies, sigma, order, others))
    return Part(_one_sided(copies, 2 / sigma, direction))


def _finer(tail: float, direction: Direction) -> float:
    """What may be cut off where the record is missing from the law that is drawn from.

    There a large number of copies weighs up to exp(ε) times its chance, at most the chance of
    a use over δ: the tail is squared, up to the share of δ that it is.
    """
    return max(tail * tail * 1e13, 1e-300) if direction is Direction.ADD else tail


def _replaced(copies: CopyLaw, sigma: float, order: str, others: float) -> AnyPair:
    """Record with gradient 1 against -1, all others with gradient ``others``."""
    if others == -1.0:
        direction = Direction.ADD if order == "reverse" else Direction.REMOVE
        return _one_sided(copies, 2 / sigma, direction)
    first, second = _parts(copies, (1 - others) / sigma), _parts(copies, (-1 - others) / sigma)
    return MixturePair(first, second, copies.absent)


def _special(copies: CopyLaw, sigma: float, direction: Direction, others: float) -> AnyPair:
    """Record with gradient 1 against none, all others with gradient ``others`` (1 or -1)."""
    real_first = direction is Direction.REMOVE
    if others == 1.0:
        # The real record is like the others: only its absence is seen.
        return _one_sided(copies, 1 / sigma, Direction.ADD if real_first else Direction.REMOVE)
    real, null = _parts(copies, 2 / sigma), _parts(copies, 1 / sigma)
    first, second = (real, null) if real_first else (null, real)
    return MixturePair(first, second, copies.absent)


def _one_sided(copies: CopyLaw, gap: float, direction: Direction) -> AnyPair:
    """(sum p_k N(k gap), N(0)) or its reverse."""
    if copies.largest == 1 and copies.present <= 0.5:
        return SampledGaussianPair(copies.present, 1 / gap, direction)
    parts = _parts(copies, gap)
    if direction is Direction.ADD:
        return MixturePair((), parts, copies.absent)
    return MixturePair(parts, (), copies.absent)


def _parts(copies: CopyLaw, gap: float) -> tuple[tuple[float, float], ...]:
    return tuple((p, k * gap) for k, p in enumerate(copies.probabilities) if k)


def _copies(sampling: Repeating, tail: float) -> CopyLaw:
    return _binomial(sampling.batch_size, sampling.draw_probability, tail)


@lru_cache(maxsize=256)
def _binomial(draws: int, probability: float, tail: float) -> CopyLaw:
    largest = copies_for_tail(draws, probability, tail)
    return CopyLaw.of(draws, probability, largest=largest)


def _profile_pair(
    forward: LogProfile, reverse: LogProfile, chance: float, gap: float, lost: float
) -> ProfilePair:
    if gap < 1e-100:
        raise AccuracyError(f"a noise multiplier of {2 / gap:g} is too large for profiles")
    return ProfilePair.of(
        forward, reverse, log_floor=math.log(lost), chance=chance, typical_gap=gap
    )
