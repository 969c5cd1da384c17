"""Where to cut the outputs of one release, and how to tilt: choices, all in doubles.

No claim rests on this module: bad choices make an enclosure wide, not wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.laws.ball_masses import Masses, OutOfReach
from accountants.laws.ball_pairs import TablePair

Array = NDArray[np.float64]

#: Cuts of the outputs of one release, at the most.
MOST_CUTS = 600_000
_GRID = 6000


@dataclass(frozen=True)
class Sketch:
    """The loss of one release as weighted points: losses, and logarithms of P-masses.

    Attributes
    ----------
    losses : ndarray
        In nats, increasing.
    logs : ndarray
        log of the P-mass at each.
    """

    losses: Array
    logs: Array

    def cumulant(self, tilt: float) -> float:
        """log E exp(tilt * loss)."""
        terms = self.logs + tilt * self.losses
        top = float(terms.max())
        return top + math.log(float(np.exp(terms - top).sum()))

    def moments(self, tilt: float) -> tuple[float, float]:
        """Mean and standard deviation of the loss under the tilted law."""
        terms = self.logs + tilt * self.losses
        weights = np.exp(terms - terms.max())
        weights /= weights.sum()
        mean = float(weights @ self.losses)
        return mean, math.sqrt(max(float(weights @ (self.losses - mean) ** 2), 0.0))


def grid(masses: Masses, reach: float, normal: bool) -> Array:
    """Points over all outputs that have a P-density above exp(-reach^2/2)."""
    centers = masses.centers
    if not normal:
        return np.linspace(centers.min(), centers.max(), _GRID)
    first = masses.first_centers
    low, high = float(first.min()) - reach, float(first.max()) + reach
    widest = float(centers.max() - centers.min())
    points = int(min(400_000, max(_GRID, (high - low) * max(widest, 1.0) * 12)))
    return np.linspace(low, high, points)


def sketch(masses: Masses, x: Array, normal: bool) -> Sketch:
    """The law of the loss, from the densities on a grid."""
    first, second = masses.log_densities(x)
    logs = first + math.log(x[1] - x[0]) - (0.5 * math.log(2 * math.pi) if normal else math.log(2))
    losses = first - second
    if not normal:  # two atoms: outputs beyond all means, where the loss is constant
        ends = np.array([first[0], first[-1]]) - math.log(2)
        losses = np.concatenate([losses[:1], losses, losses[-1:]])
        logs = np.concatenate([ends[:1], logs, ends[1:]])
    return Sketch(losses, logs)


def table_sketch(pair: TablePair) -> Sketch:
    """The same for a table."""
    rows = [
        (math.log(p) - math.log(q), math.log(p))
        for p, q in zip(pair.first, pair.second, strict=True)
        if p > 0 and q > 0
    ]
    return Sketch(np.array([r[0] for r in rows]), np.array([r[1] for r in rows]))


def best_tilt(sketches: Sequence[tuple[Sketch, int]], epsilon: float) -> tuple[float, float]:
    """The tilt that minimises the Chernoff bound on δ, and the logarithm of that bound."""

    def value(log_tilt: float) -> float:
        tilt = math.exp(log_tilt)
        total = sum(n * s.cumulant(tilt) for s, n in sketches)
        return total - tilt * epsilon - math.log(tilt * (1 + tilt))

    points = np.linspace(math.log(1e-3), math.log(1e7), 47)
    values: list[float] = []
    for point in points:
        values.append(value(float(point)))
        if len(values) > 3 and values[-1] > min(values) + 30:
            break
    i = int(np.argmin(values))
    low, high = float(points[max(i - 1, 0)]), float(points[min(i + 1, len(values) - 1)])
    for _ in range(18):
        a, b = low + 0.382 * (high - low), low + 0.618 * (high - low)
        if value(a) < value(b):
            high = b
        else:
            low = a
    tilt = math.exp((low + high) / 2)
    exponent = value(math.log(tilt)) + math.log(tilt) - tilt * math.log1p(1 / tilt)
    return tilt, exponent


def tilt_for_delta(sketches: Sequence[tuple[Sketch, int]], log_delta: float) -> float:
    """The tilt that gives the smallest Chernoff bound on the ε of a δ."""

    def value(log_tilt: float) -> float:
        tilt = math.exp(log_tilt)
        factor = tilt * math.log(tilt) - (1 + tilt) * math.log1p(tilt)
        total = sum(n * s.cumulant(tilt) for s, n in sketches)
        return (total + factor - log_delta) / tilt

    low, high = math.log(1e-3), math.log(1e7)
    points = np.linspace(low, high, 47)
    i = int(np.argmin([value(float(point)) for point in points]))
    low, high = float(points[max(i - 1, 0)]), float(points[min(i + 1, 46)])
    for _ in range(18):
        a, b = low + 0.382 * (high - low), low + 0.618 * (high - low)
        if value(a) < value(b):
            high = b
        else:
            low = a
    return math.exp((low + high) / 2)


def stops(losses: Array, logs: Array, tilt: float, step: float) -> list[int]:
    """Lattice points in use: all of them where there is much of the tilted law, few elsewhere.

    The error of a cell grows like its mass times its width squared: that is kept about equal.
    """
    order = np.argsort(losses)
    at = losses[order]
    terms = (logs + tilt * losses)[order]
    heap = np.concatenate([[0.0], np.cumsum(np.exp(terms - terms.max()))])
    heap /= heap[-1]
    places = np.concatenate([[at[0] - step], at])
    low, high = math.floor(at[0] / step) - 1, math.ceil(at[-1] / step) + 1
    widest = max(1.0, min(0.5 / (tilt * step), 0.25 / step, (high - low) / 8))

    def mass(k: int, width: int) -> float:
        ends = np.interp([k * step, (k + width) * step], places, heap)
        return float(ends[1] - ends[0])

    if high - low > MOST_CUTS * 20:
        raise OutOfReach(f"one release spans more than {MOST_CUTS * 20} lattice points")
    sizes = np.diff(np.interp(step * np.arange(float(low), high + 1.0), places, heap))
    allowed = 0.25 * float(sizes.max())
    found, k, width = [low - 1, low], low, 1
    while k < high:
        while width > 1 and mass(k, width) * width * width > allowed:
            width //= 2
        while 2 * width <= widest and mass(k, 2 * width) * 4 * width * width <= allowed:
            width *= 2
        k += width
        found.append(k)
        if len(found) > MOST_CUTS:
            raise OutOfReach(f"more than {MOST_CUTS} cuts of one release")
    return [*found, found[-1] + 1]


def cuts(masses: Masses, x: Array, wanted: Array) -> Array:
    """Outputs where the loss is one of ``wanted`` (increasing), in increasing order."""
    losses = masses.log_ratio(x)
    if not np.isfinite(losses).all():
        raise OutOfReach("losses beyond the range of floats")
    found: list[Array] = []
    turns = np.flatnonzero(np.diff(np.sign(np.diff(losses)))) + 1
    for piece in [np.arange(x.size)] if masses.monotone else np.split(np.arange(x.size), turns):
        first, last = int(piece[0]), min(int(piece[-1]) + 1, x.size - 1)
        u, at = losses[first : last + 1], x[first : last + 1]
        if u[0] > u[-1]:
            u, at = u[::-1], at[::-1]
        u = np.maximum.accumulate(u)
        targets = wanted[(wanted >= u[0]) & (wanted <= u[-1])]
        if targets.size:
            found.append(_polished(masses, np.interp(targets, u, at), targets, at))
    if not found:
        return np.array([x[x.size // 2]])
    return np.unique(np.concatenate(found))


def _polished(masses: Masses, x: Array, targets: Array, within: Array) -> Array:
    """Newton steps with a numerical slope, kept inside the piece."""
    low, high = float(within.min()), float(within.max())
    width = max((high - low) * 1e-7, 1e-9)
    for _ in range(3):
        slope = (masses.log_ratio(x + width) - masses.log_ratio(x - width)) / (2 * width)
        gap = targets - masses.log_ratio(x)
        with np.errstate(all="ignore"):
            move = np.where(np.abs(slope) > 1e-12, gap / slope, 0.0)
        x = np.clip(x + np.clip(move, -0.1, 0.1), low, high)
    return x
