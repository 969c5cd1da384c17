"""Ends of δ(ε) for few steps, from losses on a uniform lattice and one FFT.

Where few steps let the characteristic function decay slowly the contour sum does not converge.
Here losses are moved to a lattice, up for an upper end (chords of the profile) and down for a
lower end, the law is tilted so that what matters is not lost in rounding, and powers of its
transform compose it.  What wraps around and what lies beyond the window is bounded and carried
to the safe side (derived in docs/proofs/fixed-size.md).
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.errors import AccuracyError
from accountants.exact.composition import Composition
from accountants.exact.contour import place
from accountants.exact.estimates import table_for_delta, table_for_epsilon
from accountants.exact.lattice_laws import Masses, gaussian_law, lattice_law, loss_range, reach_for
from accountants.exact.tilts import TiltTable

Array = NDArray[np.float64]

#: Releases in a run, at the most: rounding to the lattice adds up.
MOST_STEPS = 3000
_UPPER_SIZE, _LOWER_SIZE = 2**16, 2**19
_NATS = 32.0
_UNIT = 2.0**-53


@dataclass(frozen=True)
class LatticeLaw:
    """Law of the total loss, tilted by ``tilt``: points low + step * j with masses.

    Attributes
    ----------
    low, step : float
    mass : ndarray
        Tilted masses, with what wrapped around.
    log_moment : float
        log of what the tilted masses are to be multiplied by.
    tilt : float
    blur : float
        Bound on the rounding of every mass.
    above, below : float
        Bounds on the tilted masses over and under the window.
    lost : float
        Chance of an infinite loss.
    """

    low: float
    step: float
    mass: Array
    log_moment: float
    tilt: float
    blur: float
    above: float
    below: float
    lost: float

    @property
    def reach(self) -> float:
        """Length of the window."""
        return self.step * self.mass.size

    def _total(self, epsilon: float) -> tuple[float, float, float]:
        """(log scale, sum over the window beyond ε, sum of the weights)."""
        first = max(0, math.floor((epsilon - self.low) / self.step) + 1)
        excess = self.low + self.step * np.arange(first, self.mass.size) - epsilon
        weight = np.exp(-self.tilt * excess) * -np.expm1(-excess)
        log_scale = self.log_moment - self.tilt * epsilon
        return log_scale, float(self.mass[first:] @ weight), float(weight.sum())

    def log_value(self, epsilon: float) -> float:
        """log δ(ε) of the lattice law without its bounds: for root finding."""
        log_scale, total, _ = self._total(epsilon)
        return log_scale + math.log(total) if total > 0 else -math.inf

    def log_delta(self, epsilon: float, *, upper: bool) -> float:
        """An end of log δ(ε), ε inside the window."""
        log_scale, total, weights = self._total(epsilon)
        noise = self.blur * weights + 1e-12 * total
        # A unit of tilted mass weighs at most 1: what wrapped around is taken off a lower end,
        # what lies beyond the top is added to an upper one.
        if not upper:
            rest = total - noise - self.above - self.below
            return log_scale + math.log(rest) - 1e-12 if rest > 0 else -math.inf
        value = log_scale + math.log(total + noise + self.above + 1e-300)
        if self.lost:
            value = float(np.logaddexp(value, math.log(self.lost)))
        return min(0.0, value + 1e-12)


def epsilon_end(composition: Composition, log_delta: float, *, upper: bool) -> float:
    """An upper or a lower end of ε at δ = exp(``log_delta``).

    Raises
    ------
    AccuracyError
        If there are too many steps, or the pair has no lattice law of this side.
    """
    table, guess = table_for_delta(composition, log_delta)
    for _ in range(6):
        law = _compose(composition, table, guess, log_delta, upper)
        low, high = law.low + 0.02 * law.reach, law.low + 0.98 * law.reach
        if law.log_value(low) <= log_delta:
            guess = low
        elif law.log_value(high) > log_delta:
            guess = high
        else:
            break
        table, _ = table_for_epsilon(composition, guess)
    else:
        raise AccuracyError("the lattice window misses epsilon")
    while high - low > 1e-12 * max(1e-3, abs(high)):
        middle = 0.5 * (low + high)
        if law.log_value(middle) > log_delta:
            low = middle
        else:
            high = middle
    return _moved(law, high, log_delta, upper)


def _moved(law: LatticeLaw, epsilon: float, log_delta: float, upper: bool) -> float:
    """ε moved until the end of δ with all its bounds lies on the right side."""
    move = 1e-10 * max(1e-3, abs(epsilon))
    for _ in range(40):
        at = epsilon + move if upper else epsilon - move
        found = law.log_delta(at, upper=upper)
        if (found <= log_delta) if upper else (found >= log_delta):
            return float(at)
        move *= 2
    raise AccuracyError("the lattice bounds are too wide")


def log_delta_end(composition: Composition, epsilon: float, *, upper: bool) -> float:
    """An upper or a lower end of log δ(ε); see ``epsilon_end``."""
    table, guess = table_for_epsilon(composition, epsilon)
    return _compose(composition, table, epsilon, guess, upper).log_delta(epsilon, upper=upper)


def _compose(
    composition: Composition, table: TiltTable, epsilon: float, log_delta: float, upper: bool
) -> LatticeLaw:
    if composition.steps > MOST_STEPS:
        raise AccuracyError(f"{composition.steps} steps are too many for the lattice")
    size = _UPPER_SIZE if upper else _LOWER_SIZE
    window = _window(composition, table, epsilon, log_delta, upper)
    tilt, low = window.tilt, window.low
    step = (window.high - low) / (size - 64 - composition.steps)
    laws = [(lattice_law(pair, step, log_delta, upper), count) for pair, count in composition.pairs]
    if composition.gap_squared > 0:
        gap = math.sqrt(composition.gap_squared)
        laws.append((gaussian_law(gap, step, log_delta, upper), 1))
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    for (first, mass, _), count in laws:
        exponent = _exponent(first, mass, step, tilt)
        weight = np.exp(exponent - exponent.max())
        wrapped = np.zeros(size)
        np.add.at(wrapped, np.arange(mass.size) % size, weight / weight.sum())
        transform *= np.fft.rfft(wrapped) ** count
    start = sum(first * count for (first, _, _), count in laws)
    last = sum((first + mass.size - 1) * count for (first, mass, _), count in laws)
    uses = sum(count for _, count in laws)
    lost_log = math.fsum(count * math.log1p(-lost) for (_, _, lost), count in laws)
    log_moment = _log_moment(laws, step, tilt)
    offset = math.floor(low / step)
    # Chernoff bounds of the lattice law itself on what lies outside the window.
    below = 0.0 if start >= offset else math.exp(min(tilt * offset * step - log_moment, 0.0))
    above = 0.0
    if last >= offset + size:
        if window.steeper is None:
            raise AccuracyError("the lattice window is too short")
        beyond = _log_moment(laws, step, window.steeper) - log_moment
        beyond -= (window.steeper - tilt) * (offset + size) * step
        above = math.exp(min(beyond + 1e-12, 0.0))
    mass = np.roll(np.fft.irfft(transform, size), start - offset)
    return LatticeLaw(
        low=offset * step,
        step=step,
        mass=np.maximum(mass, 0.0),
        log_moment=log_moment + 2e-14 * (uses + 1) * (1 if upper else -1),
        tilt=tilt,
        blur=8 * (uses + 1) * math.log2(size) * _UNIT,
        above=above,
        below=below * (1 + 1e-12),
        lost=-math.expm1(lost_log),
    )


def _exponent(first: int, mass: Array, step: float, tilt: float) -> Array:
    """log of the masses times exp(c L)."""
    with np.errstate(divide="ignore"):
        exponent: Array = np.log(mass) + tilt * step * (first + np.arange(float(mass.size)))
    return exponent


def _log_moment(laws: list[tuple[Masses, int]], step: float, tilt: float) -> float:
    """log E exp(c L) of the whole lattice law."""
    total = 0.0
    for (first, mass, _), count in laws:
        total += count * float(np.logaddexp.reduce(_exponent(first, mass, step, tilt)))
    return total


@dataclass(frozen=True)
class _Window:
    tilt: float
    low: float
    high: float
    steeper: float | None  # tilt that bounds what lies beyond the top, where it is not empty


def _window(
    composition: Composition, table: TiltTable, epsilon: float, log_delta: float, upper: bool
) -> _Window:
    """The shorter of two windows.

    One at the saddle that reaches to the largest possible loss; one at a lower tilt, where
    what lies beyond it is small even after tilting.
    """
    ranges = [(loss_range(pair, log_delta, upper), n) for pair, n in composition.pairs]
    if composition.gap_squared > 0:
        gap = math.sqrt(composition.gap_squared)
        spread = gap * reach_for(log_delta)
        ranges.append(((0.5 * gap * gap - spread, 0.5 * gap * gap + spread), 1))
    smallest = math.fsum(n * low for (low, _), n in ranges)
    largest = math.fsum(n * high for (_, high), n in ranges)
    saddle = int(np.argmin(table.log_estimate(epsilon)))
    found = [_at(table, saddle, epsilon, log_delta, smallest, largest, full=True)]
    with contextlib.suppress(AccuracyError):
        placed = int(np.searchsorted(table.c, place(table, epsilon, log_delta).tilt))
        placed = min(placed, table.c.size - 2)
        found.append(_at(table, placed, epsilon, log_delta, smallest, largest, full=False))
    return min(found, key=lambda window: window.high - window.low)


def _at(
    table: TiltTable,
    index: int,
    epsilon: float,
    log_delta: float,
    smallest: float,
    largest: float,
    *,
    full: bool,
) -> _Window:
    tilt = float(table.c[index])
    low = max(epsilon - (_NATS - log_delta) / tilt, smallest)
    if not full:
        steeper, psi = table.c[index + 1 :], table.psi[index + 1 :]
        reach = (psi - tilt * epsilon - log_delta + _NATS) / (steeper - tilt)
        best = int(np.argmin(reach))
        top = max(float(reach[best]), epsilon + 1e-3 + _NATS / float(steeper[-1]))
        if top < largest:
            return _Window(tilt, low, max(top, low + 1e-9), float(steeper[best]))
    return _Window(tilt, low, max(largest, low + 1e-9), None)
