"""Trade-off curves with two ends, from brackets of δ(ε).

The trade-off f(alpha) of a mechanism is the least type II error that any test of level alpha
has in telling any neighbours apart, whichever of the two is the null hypothesis.  For one pair
(P, Q), Q the null, and H(x) = sup_S P(S) - x Q(S) the line 1 - H(x) - x alpha is below f at every
x > 0, and f is the supremum of these lines; that is where both ends come from.

*Lower end*: upper ends of H give lines below those of the true H, so that f lies above their
maximum.  This is a guarantee for every pair.

*Upper end*, where one pair attains the lower ends of H in a direction (Poisson sampling, and
every scheme with an exact rule): H is convex, so that lower ends at some x, with upper ends
beside them, bound it from below everywhere, and f of that pair lies below the maximum of the
lines so found.  Elsewhere the lower ends of H at different x may come from different pairs;
then each of them alone says that some pair has a test on or below one line, and the upper end
is what follows from that for the worst place on the line.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant
from numpy.typing import ArrayLike, NDArray

from accountants import relations
from accountants.conversion import delta_bracket, epsilon_grid, epsilon_points, levels
from accountants.errors import AccuracyError
from accountants.walk import NonPrivate, UnsupportedLeaf, leaves

Array = NDArray[np.float64]

_ROUNDING = 4e-15  # of a line whose terms are at most 1


@dataclass(frozen=True)
class TradeOffCurve:
    """Least type II error at given levels, between two ends.

    Attributes
    ----------
    alpha, lower, upper : tuple of float
        Levels and the two ends.
    one_pair : bool
        Whether the upper end is attained by one pair of neighbours for each direction.
    """

    alpha: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    one_pair: bool


@dataclass(frozen=True)
class _Profile:
    """Ends of H at points x > 0, for one order of the two data sets."""

    x: Array
    lower: Array
    upper: Array

    def reversed(self) -> _Profile:
        """The other order: H_x(P||Q) = 1 - x + x H_{1/x}(Q||P)."""
        x = 1 / self.x[::-1]
        ends = [1 - x + x * end[::-1] for end in (self.lower, self.upper)]
        return _Profile(x, np.maximum(ends[0], np.maximum(1 - x, 0.0)), np.minimum(ends[1], 1.0))


def trade_off(
    accountant: PrivacyAccountant,
    alpha: ArrayLike,
    epsilons: Sequence[float] | None = None,
) -> TradeOffCurve:
    """Trade-off of everything that ``accountant`` has composed.

    Parameters
    ----------
    accountant : PrivacyAccountant
        With ``delta_bracket``; one without has only the lower end (the upper is 1 - alpha).
        Under a relation with two directions and ``direction="both"`` each direction gets its
        own pair of curves, and the smaller is reported.
    alpha : array_like, shape (A,)
        Levels in [0, 1].
    epsilons : sequence of float, optional
        ε >= 0, ascending, where δ is evaluated; default ``conversion.epsilon_grid``.  More of
        them bring the ends together.

    Returns
    -------
    TradeOffCurve

    Raises
    ------
    ValueError
        If ``alpha`` or ``epsilons`` is outside its domain.
    AccuracyError
        If δ cannot be computed at any ε.

    References
    ----------
    Dong, Roth and Su 2022, propositions 2.12 and 2.13; Wasserman and Zhou 2010 for one line.
    """
    a = levels(alpha)
    at = epsilon_grid(accountant) if epsilons is None else epsilon_points(epsilons)
    if not at or any(x >= y for x, y in itertools.pairwise(at)):
        raise ValueError(f"epsilons={epsilons!r}: must be a non-empty ascending sequence")
    one_pair = _is_one_pair(accountant)
    curves = []
    for first, second in _orders(accountant):
        forward, backward = _profile(first, at), _profile(second, at)
        curves.append(_ends(a, forward, backward, one_pair))
    lower = np.min([low for low, _ in curves], axis=0)
    upper = np.min([high for _, high in curves], axis=0)
    return TradeOffCurve(
        tuple(a.tolist()),
        tuple(np.minimum(lower, upper).tolist()),
        tuple(upper.tolist()),
        one_pair,
    )


def _orders(
    accountant: PrivacyAccountant,
) -> list[tuple[PrivacyAccountant, PrivacyAccountant]]:
    """For each null hypothesis the accountants of H(P||Q) and H(Q||P), P the alternative."""
    direction = getattr(accountant, "direction", None)
    if direction is None or accountant.neighboring_relation is NeighboringRelation.REPLACE_ONE:
        return [(accountant, accountant)]
    remove, add = _directed(accountant, "remove"), _directed(accountant, "add")
    pairs = {"remove": [(remove, add)], "add": [(add, remove)]}
    return pairs.get(direction, [*pairs["remove"], *pairs["add"]])


def _directed(accountant: PrivacyAccountant, direction: str) -> PrivacyAccountant:
    settings = dict(accountant.settings())
    settings["neighboring_relation"] = accountant.neighboring_relation
    settings["direction"] = direction
    other: PrivacyAccountant = type(accountant)(**settings)
    return other.compose(accountant.ledger)


def _is_one_pair(accountant: PrivacyAccountant) -> bool:
    """Whether every release has an exact rule: one attained pair for each direction."""
    relation = accountant.neighboring_relation
    if not hasattr(accountant, "delta_bracket"):
        return False
    try:
        found = [leaf for leaf, count in leaves(accountant.ledger, 1, relation) if count]
    except UnsupportedLeaf:
        return False
    return all(
        isinstance(leaf, NonPrivate) or relations.rule(leaf.sampling.scheme, relation).exact
        for leaf in found
    )


def _profile(accountant: PrivacyAccountant, epsilons: Sequence[float]) -> _Profile:
    """Ends of H at exp(ε); points that the accountant refuses are left out."""
    rows, refused = [], None
    for epsilon in epsilons:
        if epsilon > 700:
            continue  # exp(ε) would overflow; such lines say nothing at any usual level
        try:
            bracket = delta_bracket(accountant, epsilon)
        except AccuracyError as error:
            refused = error
            continue
        rows.append((math.exp(epsilon), bracket.lower, bracket.upper))
    if not rows:
        raise refused or ValueError(f"epsilons={epsilons!r}: must have an ε <= 700")
    return _Profile(*np.array(rows).T)


def _ends(
    alpha: Array, forward: _Profile, backward: _Profile, one_pair: bool
) -> tuple[Array, Array]:
    mirrored = backward.reversed()
    # x = 1 may be in both.
    keep = mirrored.x < forward.x[0]
    profile = _Profile(
        *(
            np.concatenate([getattr(mirrored, name)[keep], getattr(forward, name)])
            for name in ("x", "lower", "upper")
        )
    )
    lower = _largest_line(alpha, profile.x, profile.upper) - _ROUNDING
    if one_pair:
        upper = _largest_line(alpha, *_below(profile)) + _ROUNDING
    else:
        upper = _any_pair(alpha, forward, backward) + _ROUNDING
    return np.maximum(lower, 0.0), np.clip(upper, 0.0, 1 - alpha)


def _largest_line(alpha: Array, x: Array, height: Array) -> Array:
    """max over the points of 1 - H - x alpha."""
    lines: Array = 1 - height - x * alpha[:, None]
    best: Array = lines.max(axis=1)
    return np.maximum(best, 0.0)


def _below(profile: _Profile) -> tuple[Array, Array]:
    """Corners (x, H) of a function below the convex H on x >= 0, whose lines bound f above.

    H falls with slope -1 at most.  Between two points it is above the secant of the points to
    the left, continued (from the upper end of one through the lower end of the next), and above
    the continued secant of the points to the right.  At their crossing the smaller of the two
    is taken, so that rounding of the crossing cannot hide the corner.
    """
    x = np.concatenate([[0.0], profile.x])
    low = np.maximum(np.concatenate([[1.0], profile.lower]), 1 - x)
    high = np.concatenate([[1.0], profile.upper])
    slopes = np.minimum((np.diff(low) - (high - low)[:-1]) / np.diff(x), 0.0)
    left = np.maximum(np.concatenate([[-1.0], slopes]), -1.0)
    rising = np.minimum((np.diff(low) + (high - low)[1:]) / np.diff(x), 0.0)
    right = np.concatenate([rising[1:], [0.0, 0.0]])
    # In the last gap H >= 0, the line of slope 0 through (x_n, 0).
    anchor = np.concatenate([x[1:], x[-1:]])
    anchor_low = np.concatenate([low[1:], [0.0]])
    end = np.concatenate([x[1:], [1e300]])
    left = np.minimum(left, right)
    turn = right - left
    raw = (low - left * x) - (anchor_low - right * anchor)
    corner = np.clip(np.where(turn > 0, raw / np.where(turn > 0, turn, 1.0), x), x, end)
    height = np.minimum(low + left * (corner - x), anchor_low + right * (corner - anchor))
    height = np.where(turn > 0, height, low)  # parallel lines have their worst at the points
    return np.concatenate([corner, x]), np.concatenate([np.maximum(height, 0.0), low])


def _any_pair(alpha: Array, forward: _Profile, backward: _Profile) -> Array:
    """Upper end where each lower end of H may come from a pair of its own.

    Some pair has a test on or below the line 1 - H - x alpha, at an unknown level; its curve is
    convex from (0, at most 1) to (1, 0).  The worst places are the two ends of the line, level
    0 and type II error 0.  For the other order of the data sets both axes change places.
    """
    reach, level = 1 - forward.lower, alpha[:, None]
    flat = reach * (1 - level)
    steep = 1 - level * forward.x / np.maximum(reach, 1e-300)
    first = np.maximum(np.maximum(flat, steep), 0.0).min(axis=1)
    reach = 1 - backward.lower
    flat = 1 - level / np.maximum(reach, 1e-300)
    steep = (1 - level) * reach / backward.x
    second = np.maximum(np.maximum(flat, steep), 0.0).min(axis=1)
    return np.asarray(np.minimum(first, second))
