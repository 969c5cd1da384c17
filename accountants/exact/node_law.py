"""Loss laws given by nodes: pairs that a privacy profile defines, and the closure of one pair.

A profile h(ε) >= 0 on ε >= 0 for each order of a relation defines a pair (A, B) whose own
profile is h on a >= 1 and, by reversal, the other order's on a < 1 (docs/proofs/fixed-size.md).
Here A, the law of the loss L under the first distribution, is a set of nodes with masses:
exact for a profile that is linear in exp(ε) between knots, which is how a profile without a
density is bounded; by Gauss-Legendre panels for the closure of a sampled Gaussian pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from accountants.errors import AccuracyError
from accountants.exact.cumulants import ROUND, TiltedPair, centred_characteristic
from accountants.fixed_size import log_without_replacement
from accountants.mixtures import log_expm1

Array = NDArray[np.float64]
#: log of a bound on δ at each ε >= 0.
LogProfile = Callable[[Array], Array]

_RATIO = 0.015  # of neighbouring knots: the chords inflate the variance of the loss by ratio^2/6
_COARSEST = 0.03
_FAR, _FAR_RATIO = 100.0, 3e-4  # losses from which on knots are spaced by ratio again
_FIRST = 1e-3  # first knot relative to the total variation distance
_PANEL = 0.7
_GAUSS = tuple(leggauss(n) for n in (24, 18))


@dataclass(frozen=True, eq=False)
class NodeMoments:
    """Moments of a loss law given by nodes; the counterpart of ``MomentTable``.

    Attributes
    ----------
    loss, log_mass : ndarray, shape (J,)
        Nodes of the loss, and log of their masses under A.
    other_loss, other_log_mass : ndarray
        A second set of nodes for the same law, to see the error of quadrature (the same set
        where there is none).
    """

    loss: Array
    log_mass: Array
    other_loss: Array
    other_log_mass: Array

    def at(self, tilts: Array) -> tuple[Array, Array, Array]:
        """log E exp(c L) and its first two derivatives at ``tilts``."""
        exponent = self.log_mass + np.multiply.outer(tilts, self.loss)
        peak = exponent.max(axis=1)
        weight = np.exp(exponent - peak[:, None])
        total = weight.sum(axis=1)
        mean = (weight @ self.loss) / total
        spread = (weight @ (self.loss * self.loss)) / total - mean * mean
        return peak + np.log(total), mean, np.maximum(spread, 0.0)

    def log_modulus(self, tilt: float, t: Array) -> Array:
        """log |M(c+it)/M(c)| at tilt c."""
        exponent = self.log_mass + tilt * self.loss
        weight = np.exp(exponent - exponent.max())
        weight /= weight.sum()
        centred = self.loss - float(weight @ self.loss)
        real, imaginary = centred_characteristic(weight, centred, t, many_steps=False)
        return 0.5 * np.log1p(np.maximum(2 * real + real * real + imaginary * imaginary, -1.0))

    def tilted(self, tilt: float) -> TiltedPair:
        """The law tilted by ``tilt``."""
        log_moment, rounding = _log_moment(self.loss, self.log_mass, tilt)
        other, _ = _log_moment(self.other_loss, self.other_log_mass, tilt)
        weight = np.exp(self.log_mass + tilt * self.loss - log_moment)
        mean = float(weight @ self.loss)
        centred = self.loss - mean
        spread = math.sqrt(float(weight @ (centred * centred)))
        other_weight = np.exp(self.other_log_mass + tilt * self.other_loss - log_moment)
        other_centred = self.other_loss - mean
        size = float(weight @ np.abs(self.loss))
        return TiltedPair(
            log_moment=log_moment,
            rounding=rounding,
            quadrature=abs(other - log_moment),
            weight=weight,
            centred=centred,
            shifted_weight=other_weight,
            shifted_centred=other_centred,
            mean=mean,
            spread=spread,
            mean_bar=8 * ROUND * (size + spread) + abs(float(other_weight @ other_centred)),
        )


def _log_moment(loss: Array, log_mass: Array, tilt: float) -> tuple[float, float]:
    """log E exp(c L) and its rounding; near 0 from E[exp(c L) - 1], small terms only."""
    growth = tilt * loss
    if float(growth.max()) < 300:
        mass = np.exp(log_mass)
        missing = math.fsum(mass) - 1.0  # mass at infinity is left out of the nodes
        terms = mass * np.expm1(growth)
        excess = float(terms.sum())
        if abs(excess) < 0.3:
            size = float((np.abs(terms) * (8 + np.abs(log_mass))).sum())
            return math.log1p(excess + missing), 4 * ROUND * (size + 1e-3)
    exponent = log_mass + growth
    peak = float(exponent.max())
    scaled = np.exp(exponent - peak)
    total = float(scaled.sum())
    size = float((np.abs(exponent) + np.abs(log_mass)) @ scaled) / total
    return peak + math.log(total), 4 * ROUND * (8 + abs(peak) + size)


@dataclass(frozen=True, eq=False)
class ProfilePair:
    """The pair that chords of two profiles define, one profile for each order.

    Attributes
    ----------
    loss, log_mass : ndarray
        The law A of the loss, as nodes.
    lost : float
        Mass of A at an infinite loss.
    mean_gap : float
        2.6 times the total variation distance (see ``Pair``).
    forward, reverse : callable
        The profiles.
    chance : float
        That a use of the release draws the record.
    typical_gap : float
        Typical shift over noise, for first guesses (see ``Pair``).
    direction : None
        There is none: both orders are in the law.
    """

    loss: Array
    log_mass: Array
    lost: float
    mean_gap: float
    chance: float
    typical_gap: float
    forward: LogProfile
    reverse: LogProfile
    direction: None = None

    def moment_table(self, top_tilt: float) -> NodeMoments:
        """Moments for any tilt."""
        return NodeMoments(self.loss, self.log_mass, self.loss, self.log_mass)

    def log_delta(self, epsilon: float) -> tuple[float, float]:
        """log δ(ε) of one release."""
        above = self.loss > epsilon
        if not above.any():
            return (math.log(self.lost) if self.lost else -math.inf), 1e-12
        terms = self.log_mass[above] + np.log(-np.expm1(epsilon - self.loss[above]))
        value = float(np.logaddexp.reduce(terms))
        return (float(np.logaddexp(value, math.log(self.lost))) if self.lost else value), 1e-11

    @staticmethod
    def of(
        forward: LogProfile,
        reverse: LogProfile,
        *,
        log_floor: float,
        chance: float,
        typical_gap: float,
    ) -> ProfilePair:
        """Chords of the profiles of both orders.

        Parameters
        ----------
        forward, reverse : callable
            log of a bound on δ(ε), ε >= 0, when the output is drawn from the first or from the
            second data set; equal at ε = 0.  The same function for a symmetric relation.
        log_floor : float
            log of the mass that may be put at an infinite loss.
        chance, typical_gap : float
            See ``Pair``; only for first guesses.

        Raises
        ------
        AccuracyError
            If the profiles cannot belong to a pair.
        """
        up = chord_masses(forward, _knots(forward, log_floor))
        down = up if reverse is forward else chord_masses(reverse, _knots(reverse, log_floor))
        at_zero = math.exp(up.log_total)
        # B-mass on L > 0 of each order, A-mass exp(L) times it; the rest sits at 0.
        above = math.fsum(np.exp(up.log_mass + up.loss)) + up.lost
        below = math.fsum(np.exp(down.log_mass))
        atom = 1 - above - below
        if atom < -1e-9:
            raise AccuracyError(f"the profiles leave a mass of {atom:.3g} at loss 0")
        loss = np.concatenate([-down.loss[::-1], [0.0], up.loss])
        with np.errstate(divide="ignore"):
            middle = math.log(max(atom, 5e-324))
        log_mass = np.concatenate([down.log_mass[::-1], [middle], up.log_mass + up.loss])
        lost, bound = up.lost, 2.6 * at_zero
        return ProfilePair(loss, log_mass, lost, bound, chance, typical_gap, forward, reverse)


@dataclass(frozen=True)
class Chords:
    """Masses of the law whose profile is piecewise linear in exp(ε) between knots.

    Attributes
    ----------
    loss, log_mass : ndarray
        Losses > 0 and log of their masses under B; A has exp(loss) times as much.
    lost : float
        Mass of A at an infinite loss.
    log_total : float
        log of the profile at ε = 0.
    """

    loss: Array
    log_mass: Array
    lost: float
    log_total: float


def chord_masses(log_profile: LogProfile, knots: Array) -> Chords:
    """The law of the chords of a profile between ``knots`` (the first is 0): pessimistic."""
    log_h = log_profile(knots)
    while True:
        # slopes: (h_i - h_{i+1})/(a_{i+1} - a_i), positive; their differences are the masses
        drop = log_h[:-1] + np.log(-np.expm1(np.minimum(np.diff(log_h), -1e-300)))
        run = knots[:-1] + log_expm1(np.diff(knots))
        log_slope = drop - run
        convex = np.diff(log_slope) < 0
        if convex.all():
            break
        # A knot above the chord of its neighbours is left out: any subset of knots is valid.
        keep = np.concatenate([[True], convex, [True]])
        knots, log_h = knots[keep], log_h[keep]
        if knots.size < 4:
            raise AccuracyError("a profile without a convex part")
    log_mass = np.append(log_slope[:-1] + np.log(-np.expm1(np.diff(log_slope))), log_slope[-1])
    lost = math.exp(log_h[-1])
    loss = knots[1:]
    # Rebuild the profile from the masses and lift them until it is nowhere below.
    tail_b = np.logaddexp.accumulate(log_mass[::-1])[::-1]
    gaps = loss[:-1] + log_expm1(np.diff(loss))
    pieces = np.append(tail_b[1:] + gaps, log_h[-1])
    rebuilt = np.logaddexp.accumulate(pieces[::-1])[::-1]
    short = float(np.max(log_h[1:] - rebuilt))
    return Chords(loss, log_mass + max(short, 0.0) + 1e-12, lost, float(log_h[0]))


def falls_to(log_profile: LogProfile, log_floor: float, *, largest: float, halvings: int) -> float:
    """An ε at which a profile has fallen to a floor, the smallest to so many halvings.

    Parameters
    ----------
    log_profile : callable
        log δ at each ε >= 0, decreasing.
    log_floor : float
        log of the δ that counts as nothing.
    largest : float
        Losses beyond it are refused.
    halvings : int
        Of the interval that is found by doubling.
    """
    high = 1.0
    while float(log_profile(np.array([high]))[0]) > log_floor:
        high *= 2
        if high > largest:
            raise AccuracyError(f"a profile with losses beyond {largest:g}")
    low = 0.0
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        if float(log_profile(np.array([middle]))[0]) > log_floor:
            low = middle
        else:
            high = middle
    return high


def _knots(log_profile: LogProfile, log_floor: float) -> Array:
    high = falls_to(log_profile, log_floor, largest=1e7, halvings=12)
    first = min(_FIRST * math.exp(float(log_profile(np.array([0.0]))[0])), 1e-3 * high)
    # Knots lie at fixed places, so that answers vary smoothly with the parameters.
    turn = _COARSEST / _RATIO
    low_rung, high_rung = (
        math.floor(math.log(first) / _RATIO),
        math.ceil(math.log(min(turn, high)) / _RATIO),
    )
    ladder = np.exp(_RATIO * np.arange(low_rung, high_rung))
    parts = [np.array([0.0]), ladder]
    if high <= turn:
        parts.append(np.array([high]))
    else:
        middle = min(high, _FAR)
        parts.append(turn + _COARSEST * np.arange(math.ceil((middle - turn) / _COARSEST) + 1.0))
    if high > _FAR:
        rungs = math.ceil(math.log(high / _FAR) / _FAR_RATIO)
        parts.append(_FAR * np.exp(_FAR_RATIO * np.arange(1.0, rungs + 1)))
    return np.unique(np.concatenate(parts))


@dataclass(frozen=True, order=True)
class ClosedPair:
    """The symmetric closure of ((1-q)N(0)+qN(g), N(0)): the tight pair without replacement.

    Parameters
    ----------
    q : float
        Sampling probability in (0, 1).
    gap : float
        g, in noise standard deviations.
    direction : None
        There is none: the closure is its own mirror image.
    """

    q: float
    gap: float
    direction: None = None

    @property
    def typical_gap(self) -> float:
        """See ``Pair``."""
        return self.gap

    @property
    def chance(self) -> float:
        """See ``Pair``."""
        return self.q

    @property
    def mean_gap(self) -> float:
        """See ``Pair``."""
        return self.q * self.gap

    def log_delta(self, epsilon: float) -> tuple[float, float]:
        """log δ(ε) of one release and its error bar, ε >= 0."""
        value = log_without_replacement(epsilon, self.q, 2 / self.gap)
        return float(value), 4 * ROUND * (1000 + 16 * (2 + epsilon / self.gap + self.gap) ** 2)

    def moment_table(self, top_tilt: float) -> NodeMoments:
        """Moments for tilts up to ``top_tilt``."""
        (loss, mass), (other, other_mass) = (self._nodes(top_tilt, *g) for g in _GAUSS)
        return NodeMoments(loss, mass, other, other_mass)

    def _nodes(self, top_tilt: float, points: Array, weights: Array) -> tuple[Array, Array]:
        """B lives on u > g/2 with density N(u; 0); A is exp(L) times it, and mirrored."""
        low, high = 0.5 * self.gap, (top_tilt + 1) * self.gap + 12.0
        count = math.ceil((high - low) / min(_PANEL, 1.5 / self.gap))
        if count > 20_000:
            raise AccuracyError(f"moments of {self} would need {count} panels")
        edges = np.linspace(low, high, count + 1)
        half = 0.5 * np.diff(edges)
        u = (edges[:-1, None] + half[:, None] * (1 + points)).ravel()
        log_b = -0.5 * u * u - 0.5 * math.log(2 * math.pi) + np.log(np.outer(half, weights)).ravel()
        y = self.gap * (u - 0.5 * self.gap)
        far = y > 600
        loss = np.where(
            far,
            y + math.log(self.q),
            np.log1p(self.q * np.expm1(np.where(far, 0.0, y))),
        )
        atom = 1 - math.fsum(np.exp(log_b)) - math.fsum(np.exp(log_b + loss))
        nodes = np.concatenate([-loss[::-1], [0.0], loss])
        masses = np.concatenate([log_b[::-1], [math.log(max(atom, 5e-324))], log_b + loss])
        return nodes, masses
