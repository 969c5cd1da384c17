"""The loss of one release on a lattice: rounded up by chords of its profile, or rounded down."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from accountants.errors import AccuracyError
from accountants.exact.moments import AnyPair
from accountants.exact.node_law import ClosedPair, LogProfile, ProfilePair, chord_masses, falls_to
from accountants.fixed_size import log_without_replacement
from accountants.pairs import MixturePair, SampledGaussianPair
from accountants.profiles import log_gaussian_delta

Array = NDArray[np.float64]
#: A law on the lattice: first lattice index, masses, mass at an infinite loss.
Masses = tuple[int, Array, float]

_FLOOR_NATS = 25.0
_WIDEST = 2**22  # lattice points of one law
_MOST_KNOTS = 2**18


def loss_range(pair: AnyPair, log_delta: float, upper: bool) -> tuple[float, float]:
    """Smallest and largest loss of one release on the lattice, a step apart at most."""
    if upper:
        forward, reverse = _profiles(pair)
        floor = _floor(pair, log_delta)
        return -_widest(reverse, floor), _widest(forward, floor)
    if not isinstance(pair, (SampledGaussianPair, MixturePair)):
        raise AccuracyError("a law of chords is no lower end")
    reach = reach_for(log_delta) + pair.gap
    loss = pair.nodes(np.linspace(-reach, reach, 4097)).loss
    slack = pair.gap * reach / 2048  # between the points
    return float(loss.min()) - slack, float(loss.max())


def _floor(pair: AnyPair, log_delta: float) -> float:
    """log of the mass that goes to an infinite loss.

    That of the pair where it has one: the cumulants that choose the tilt are its own, and
    further losses would outweigh everything once tilted.
    """
    if isinstance(pair, ProfilePair) and pair.lost > 0:
        return math.log(pair.lost)
    return log_delta - _FLOOR_NATS


def _profiles(pair: AnyPair) -> tuple[LogProfile, LogProfile]:
    if isinstance(pair, ProfilePair):
        return pair.forward, pair.reverse
    if isinstance(pair, ClosedPair):

        def profile(epsilon: Array) -> Array:
            return log_without_replacement(epsilon, pair.q, 2 / pair.gap)

        return profile, profile
    raise AccuracyError("no profile for the lattice of this pair")


def _widest(profile: LogProfile, floor: float) -> float:
    return falls_to(profile, floor, largest=1e6, halvings=30)


def lattice_law(pair: AnyPair, step: float, log_delta: float, upper: bool) -> Masses:
    """(first lattice index, masses, mass at infinity) of one release's loss."""
    if not upper:
        if isinstance(pair, (SampledGaussianPair, MixturePair)):
            return _rounded_down(pair, step, reach_for(log_delta))
        raise AccuracyError("a law of chords is no lower end")
    return _chords(*_profiles(pair), step, _floor(pair, log_delta))


def gaussian_law(gap: float, step: float, log_delta: float, upper: bool) -> Masses:
    """(first lattice index, masses, mass at infinity) of one Gaussian release's loss."""
    if upper:

        def profile(epsilon: Array) -> Array:
            return log_gaussian_delta(epsilon, gap) + 1e-11

        return _chords(profile, profile, step, log_delta - _FLOOR_NATS)
    middle, reach = 0.5 * gap * gap, gap * reach_for(log_delta)
    first, last = math.floor((middle - reach) / step), math.ceil((middle + reach) / step)
    if last - first > _WIDEST:
        raise AccuracyError("a loss too wide for the lattice")
    edges: Array = (step * np.arange(float(first), last + 2.0) - middle) / gap
    return first, _normal_cells(edges), 0.0


def _chords(forward: LogProfile, reverse: LogProfile, step: float, floor: float) -> Masses:
    """Knots on the lattice: the chord of a profile between them is above it."""
    up = chord_masses(forward, _lattice_knots(forward, step, floor))
    down = up
    if reverse is not forward:
        down = chord_masses(reverse, _lattice_knots(reverse, step, floor))
    up_index = np.rint(up.loss / step).astype(np.intp)
    down_index = np.rint(down.loss / step).astype(np.intp)
    first = -int(down_index[-1])
    mass = np.zeros(int(up_index[-1]) - first + 1)
    mass[up_index - first] = np.exp(up.log_mass + up.loss)
    mass[-down_index - first] = np.exp(down.log_mass)
    mass[-first] = max(0.0, 1 - math.fsum(mass) - up.lost)
    return first, mass, up.lost


def _lattice_knots(profile: LogProfile, step: float, floor: float) -> Array:
    count = math.ceil(_widest(profile, floor) / step)
    if count > _MOST_KNOTS:
        raise AccuracyError("a profile too wide for the lattice")
    knots: Array = step * np.arange(count + 1.0)
    return knots


def _rounded_down(pair: SampledGaussianPair | MixturePair, step: float, reach: float) -> Masses:
    """P-masses of small cells of outputs at the lattice point below the cell's losses."""
    span = 2 * reach + 2 * pair.gap
    count = min(600_000, max(20_000, math.ceil(span * pair.gap / step)))
    edges: Array = np.linspace(-reach - pair.gap, reach + pair.gap, count + 1, dtype=np.float64)
    loss = pair.nodes(edges).loss
    mass = _cell_masses(pair, edges)
    # A cell that holds a turning point of the loss is lower inside than at its ends.
    inner = np.minimum(loss[:-1], loss[1:]) - (pair.gap * (edges[1] - edges[0])) ** 2
    index = np.floor(inner / step).astype(np.intp)
    first = int(index.min())
    if int(index.max()) - first > _WIDEST:
        raise AccuracyError("a loss too wide for the lattice")
    return first, np.bincount(index - first, weights=mass).astype(np.float64), 0.0


def _cell_masses(pair: SampledGaussianPair | MixturePair, edges: Array) -> Array:
    parts = _upper_parts(pair)
    rest = math.exp(pair.log_rest) if parts else 1.0
    total: Array = np.zeros(edges.size - 1)
    for weight, mean in ((rest, 0.0), *parts):
        total += weight * _normal_cells(edges - mean)
    return total


def _normal_cells(edges: Array) -> Array:
    """Standard normal masses between neighbouring edges, each from its own tail."""
    below = np.diff(special.ndtr(edges))
    beyond = -np.diff(special.ndtr(-edges))
    result: Array = np.where(edges[1:] < 0, below, beyond)
    return result


def reach_for(log_delta: float) -> float:
    """Standard deviations beyond which a normal law has a share below exp(-25) of δ."""
    return math.sqrt(2 * (25.0 - log_delta))


def _upper_parts(pair: SampledGaussianPair | MixturePair) -> tuple[tuple[float, float], ...]:
    if isinstance(pair, MixturePair):
        return pair.upper
    return ((pair.q, pair.gap),) if pair.moves_upper else ()
