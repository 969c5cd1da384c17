"""The truth between two ends, fast, for every event that the strategies make.

Gaussian releases: the exact accountant, and for few batches of fixed size where a record is
replaced, what an adaptive run attains.  One Laplace release and randomized response: their own
closed forms.  Repeated Laplace releases and several kinds together: balls on a coarse lattice, or,
where that would take too long, the best part from below and the sum of the parts from above.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import validation
from accountants.bracket import Bracket
from accountants.errors import AccuracyError
from accountants.events import sampled_gaussian_event
from accountants.laws import adaptive, laplace, randomized_response
from accountants.laws.ball_curves import OutOfReach
from accountants.laws.ball_curves import delta_bracket as delta_by_balls
from accountants.laws.ball_curves import epsilon_bracket as epsilon_by_balls
from accountants.laws.ball_events import Bare, Laplace, Leaf, RandomizedResponse, read
from accountants.laws.ball_pairs import attained
from accountants.rounding import above, below
from accountants.walk import Release, UnsupportedLeaf

__all__ = ["NoOracle", "delta_bracket", "epsilon_bracket"]


_SECONDS = 5.0
_FEWER = 100_000  # uses of each leaf that a lower end falls back to
_CLOSE = 1e-4  # ends are not brought nearer than this part of themselves


class NoOracle(Exception):
    """No truth is known for the event; the message says why."""


def epsilon_bracket(
    event: dp_accounting.DpEvent, relation: NeighboringRelation, delta: float
) -> Bracket:
    """Smallest ε such that ``event`` is (ε, ``delta``)-DP, between two ends.

    Parameters
    ----------
    event : dp_accounting.DpEvent
    relation : NeighboringRelation
    delta : float
        In [0, 1].

    Returns
    -------
    Bracket
        A release without noise has ε = inf; where its record is only sampled, the lower end is
        that of the rest as soon as ``delta`` reaches the chance that it is used.

    Raises
    ------
    ValueError
        If ``delta`` or a parameter of the event is outside its domain.
    NoOracle
        If the event has no settled meaning or no truth is within reach.
    """
    at = validation.target_delta(delta)
    counts = _read(event, relation)
    shown = _shown(counts)
    if shown is not None:
        if at < shown:
            return Bracket(math.inf, math.inf)
        return Bracket(_epsilon(_noisy(counts), relation, at).lower, math.inf)
    return _epsilon(counts, relation, at)


def delta_bracket(
    event: dp_accounting.DpEvent, relation: NeighboringRelation, epsilon: float
) -> Bracket:
    """Smallest δ such that ``event`` is (``epsilon``, δ)-DP, between two ends.

    See ``epsilon_bracket``.
    """
    at = validation.target_epsilon(epsilon)
    counts = _read(event, relation)
    shown = _shown(counts)
    if shown is not None:
        return Bracket(max(shown, _delta(_noisy(counts), relation, at).lower), 1.0)
    return _delta(counts, relation, at)


def _read(event: dp_accounting.DpEvent, relation: NeighboringRelation) -> dict[Leaf, int]:
    try:
        return read(event, relation)
    except UnsupportedLeaf as error:
        raise NoOracle(error.reason) from None


def _shown(counts: Mapping[Leaf, int]) -> float | None:
    """Lower end of the chance that a release without noise has the record, if there is one."""
    bare = [(leaf, n) for leaf, n in counts.items() if isinstance(leaf, Bare)]
    if not bare:
        return None
    if any(leaf.share == 1 for leaf, _ in bare):
        return 1.0
    hidden = math.fsum(n * leaf.draws * math.log1p(-leaf.share) for leaf, n in bare)
    return max(0.0, -math.expm1(hidden) * (1 - 1e-12))


def _noisy(counts: Mapping[Leaf, int]) -> dict[Leaf, int]:
    return {leaf: n for leaf, n in counts.items() if not isinstance(leaf, Bare)}


def _kinds(counts: Mapping[Leaf, int]) -> list[dict[Leaf, int]]:
    """All Gaussian releases together, every other leaf by itself."""
    kinds: list[dict[Leaf, int]] = []
    gaussian: dict[Leaf, int] = {}
    for leaf, n in counts.items():
        if isinstance(leaf, Release):
            gaussian[leaf] = n
        else:
            kinds.append({leaf: n})
    return ([gaussian] if gaussian else []) + kinds


def _epsilon(counts: Mapping[Leaf, int], relation: NeighboringRelation, delta: float) -> Bracket:
    if not counts or delta == 1:
        return Bracket(0.0, 0.0)
    kinds = _kinds(counts)
    top = math.fsum(n * _largest_loss(leaf, relation) for leaf, n in counts.items())
    top = above(top * (1 + 1e-14), 2)
    if delta == 0:
        return Bracket(top if top == math.inf else below(top * (1 - 4e-14), 4), top)
    if len(kinds) == 1:
        only = _epsilon_of_kind(kinds[0], relation, delta)
        if only is not None:
            return only
    products = attained(counts, relation)
    for fineness in (4.0, 1.0):
        with contextlib.suppress(OutOfReach):
            found = epsilon_by_balls(products, delta, top, _SECONDS, fineness)
            if all(product.dominating for product in products):
                return found
            return Bracket(found.lower, max(found.lower, _summed(kinds, relation, delta, top)))
    parts = [_epsilon_of_kind(kind, relation, delta) for kind in kinds]
    lower = max([part.lower for part in parts if part is not None], default=0.0)
    with contextlib.suppress(OutOfReach):  # leaving releases out is a processing of the outputs
        fewer = {leaf: min(n, _FEWER) for leaf, n in counts.items()}
        found = epsilon_by_balls(attained(fewer, relation), delta, top, _SECONDS, 1.0)
        lower = max(lower, found.lower)
    return Bracket(lower, max(lower, _summed(kinds, relation, delta, top)))


def _summed(
    kinds: list[dict[Leaf, int]], relation: NeighboringRelation, delta: float, top: float
) -> float:
    """Upper end of ε by basic composition, δ in equal shares."""
    share = delta / len(kinds) * (1 - 1e-15)
    total = 0.0
    for kind in kinds:
        found = _epsilon_of_kind(kind, relation, share)
        if found is None:
            leaf, n = next(iter(kind.items()))
            found = Bracket(0.0, above(n * _largest_loss(leaf, relation) * (1 + 1e-14), 2))
        total += found.upper
    return min(top, above(total, len(kinds)))


def _delta(counts: Mapping[Leaf, int], relation: NeighboringRelation, epsilon: float) -> Bracket:
    if not counts or epsilon == math.inf:
        return Bracket(0.0, 0.0)
    kinds = _kinds(counts)
    top = math.fsum(n * _largest_loss(leaf, relation) for leaf, n in counts.items())
    if epsilon >= above(top * (1 + 1e-14), 2):
        return Bracket(0.0, 0.0)
    if len(kinds) == 1:
        only = _delta_of_kind(kinds[0], relation, epsilon)
        if only is not None:
            return only
    try:
        return delta_by_balls(attained(counts, relation), epsilon, _SECONDS)
    except OutOfReach as error:
        raise NoOracle(str(error)) from None


def _largest_loss(leaf: Leaf, relation: NeighboringRelation) -> float:
    """Largest loss of one use, inf where it has no bound."""
    if isinstance(leaf, RandomizedResponse):
        return _response(leaf, 1).loss
    if not isinstance(leaf, Laplace):
        return math.inf
    ratio = _move(relation) / leaf.noise_multiplier
    q = leaf.sampling_probability
    if q == 1:
        return ratio
    if relation is NeighboringRelation.REPLACE_ONE:  # both sides have the record's absence
        half = ratio / 2
        if half > 700:
            return ratio
        return math.log1p(q * math.expm1(half)) - math.log1p(q * math.expm1(-half))
    remove = math.log1p(q * math.expm1(ratio)) if ratio < 700 else ratio
    return max(remove, -math.log1p(q * math.expm1(-ratio)))


def _epsilon_of_kind(
    counts: Mapping[Leaf, int], relation: NeighboringRelation, delta: float
) -> Bracket | None:
    leaf, n = next(iter(counts.items()))
    if isinstance(leaf, Release):
        return _gaussian(counts, relation, delta=delta)
    if isinstance(leaf, RandomizedResponse):
        if n > randomized_response.MOST_TIMES:
            return None
        return randomized_response.epsilon(_response(leaf, n), delta)
    assert isinstance(leaf, Laplace)
    if n == 1 and leaf.sampling_probability == 1:
        return laplace.one_epsilon(_move(relation) / leaf.noise_multiplier, delta)
    return None


def _delta_of_kind(
    counts: Mapping[Leaf, int], relation: NeighboringRelation, epsilon: float
) -> Bracket | None:
    leaf, n = next(iter(counts.items()))
    if isinstance(leaf, Release):
        return _gaussian(counts, relation, epsilon=epsilon)
    if isinstance(leaf, RandomizedResponse):
        if n > randomized_response.MOST_TIMES:
            return None
        return randomized_response.delta(_response(leaf, n), epsilon)
    assert isinstance(leaf, Laplace)
    if n == 1 and leaf.sampling_probability == 1:
        return laplace.one_delta(_move(relation) / leaf.noise_multiplier, epsilon)
    return None


def _response(leaf: RandomizedResponse, times: int) -> randomized_response.Response:
    return randomized_response.Response(leaf.noise_parameter, leaf.num_buckets, times)


def _move(relation: NeighboringRelation) -> float:
    """How far a record moves a sum of vectors of norm 1."""
    return 2.0 if relation is NeighboringRelation.REPLACE_ONE else 1.0


def _gaussian(
    counts: Mapping[Leaf, int],
    relation: NeighboringRelation,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
) -> Bracket:
    from accountants.exact.accountant import ExactAccountant

    accountant = ExactAccountant(relation)
    for leaf, n in counts.items():
        assert isinstance(leaf, Release)
        sigma = leaf.noise_multiplier
        accountant.compose(
            sampled_gaussian_event(sampling=leaf.sampling, noise_multiplier=sigma), n
        )
    try:
        if delta is not None:
            found = accountant.epsilon_bracket(delta)
        else:
            assert epsilon is not None
            found = accountant.delta_bracket(epsilon)
    except AccuracyError as error:
        raise NoOracle(str(error)) from None
    if found.width <= found.upper * _CLOSE:
        return found
    # The accountant's lower end is that of fixed data sets, its upper one of runs that adapt.
    if delta is not None:
        low = adaptive.lower_epsilon(counts, relation, delta)
    else:
        assert epsilon is not None
        low = adaptive.lower_delta(counts, relation, epsilon, near=found.lower)
    return Bracket(max(found.lower, min(low, found.upper)), found.upper)
