"""The recursion over steps: convolve, correct, fold, keep the law unimodal."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from accountants.tight.kernel import Kernel

Array = NDArray[np.float64]

_UNIT = 2.0**-53
_MARGINS = (1e-12, 1e-10, 1e-8, 1e-6)  # relative, within a cell
_TRANSFORM = 7.0  # units of rounding of one transform per binary digit of its length, in l2


@dataclass(frozen=True)
class Worst:
    """Upper bound on the worst profile after some steps, for every ε >= 0 at once.

    Attributes
    ----------
    h : float
        Distance of the nodes.
    masses : ndarray, shape (N,)
        Mass of the loss at h, 2h, …, Nh.
    infinite : float
        Mass at infinity.
    extra : float
        Mass that had to be added to keep the law unimodal; near 0 in a good run.
    rounding : float
        Bound on all rounding, to be added to δ.
    """

    h: float
    masses: Array
    infinite: float
    extra: float
    rounding: float

    def delta(self, epsilon: float) -> float:
        """Upper bound on δ(ε): chord in exp(ε) between nodes."""
        position = epsilon / self.h
        node = math.floor(position)
        if node >= self.masses.size:
            return min(1.0, self.infinite + self.rounding)
        low, high = self._at(node), self._at(node + 1)
        share = math.expm1(epsilon - node * self.h) / math.expm1(self.h)
        return min(1.0, low + min(max(share, 0.0), 1.0) * (high - low))

    def _at(self, node: int) -> float:
        k = np.arange(node + 1, self.masses.size + 1)
        above = self.masses[node:] @ -np.expm1((node - k) * self.h)
        return float(above) * (1 + 1e-12) + self.infinite + self.rounding

    def epsilon(self, delta: float) -> float:
        """Smallest ε >= 0 with ``self.delta(ε) <= delta``; inf where there is none."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0, self.masses.size
        if self._at(high) > delta:
            return math.inf
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._at(middle) > delta else (low, middle)
        upper, lower = self._at(low), self._at(high)
        share = (upper - delta) / (upper - lower)
        part = math.log1p(share * math.expm1(self.h))
        # The two values may nearly agree, and their differences be known badly.
        for margin in _MARGINS:
            found = low * self.h + part * (1 + margin)
            if self.delta(found) <= delta:
                return found
        return high * self.h


class Fold:
    """State of the recursion.

    Parameters
    ----------
    kernel : Kernel
        The step that is repeated.
    h : float
        Distance of the nodes.
    size : int
        N, number of nodes above 0.
    """

    def __init__(self, kernel: Kernel, h: float, size: int) -> None:
        self.h = h
        self.size = max(size, kernel.up.size)
        k = np.arange(self.size + 1)
        self._half = np.exp(-0.5 * h * k)
        self._half_back = np.exp(0.5 * h * k[1:])
        self._mirror = np.exp(-h * k[1:])
        self._weight = 1 + self._mirror
        self.switch(kernel)
        # V_1 is the one-step profile itself.
        self.masses = np.zeros(self.size)
        self.masses[: kernel.up.size] = kernel.up
        self.infinite = kernel.lost
        self.extra = 0.0
        self.rounding = kernel.slack
        self._settle()

    def switch(self, kernel: Kernel) -> None:
        """Use another step from now on; its reach must not exceed the grid."""
        self.kernel = kernel
        up, down = kernel.up, kernel.down
        self._reach = up.size
        length = self.size + up.size + down.size + 1
        self._length = fft.next_fast_len(length, real=True)
        moved = np.zeros(self._length)
        moved[1 : up.size + 1] = up
        moved[self._length - down.size :] += down[::-1]
        self._transformed = fft.rfft(moved)
        self._tail = np.cumsum(up[::-1])[::-1]
        self._noise = self._noise_rate(moved)

    def _noise_rate(self, moved: Array) -> tuple[float, float]:
        """(factor of ||law||_2, factor of ||law||_1) in the rounding of one step."""
        eta = _TRANSFORM * _UNIT * math.log2(self._length) + 4 * _UNIT
        root = math.sqrt(self.size)
        return 2 * eta * root * float(np.abs(moved).sum()), eta * root * float(
            np.linalg.norm(moved)
        )

    def step(self) -> None:
        """One more step before those already done."""
        kernel, reach, size = self.kernel, self._reach, self.size
        law = np.zeros(self._length)
        law[reach] = self.centre
        law[reach + 1 : reach + 1 + size] = self.masses
        law[:reach] = (self.masses[:reach] * self._mirror[:reach])[::-1]
        product = fft.rfft(law)
        product *= self._transformed
        moved = fft.irfft(product, self._length)[reach + 1 : reach + 1 + size]
        fresh = moved
        fresh += kernel.stay * self.masses
        if kernel.rows:
            symmetric = self._half[1:] * self.masses
            lift = kernel.correction(np.concatenate([[self.centre], symmetric]))
            fresh[: kernel.rows] += _second(lift, self.h)
        # What leaves the grid, and what the caps leave over at infinity.
        beyond = float(np.sum(self.masses[size - reach :][::-1] * self._tail))
        mass = self._mass()
        self.infinite += beyond + kernel.lost * mass
        one = mass + 1e-300
        two = math.sqrt(2 * float(np.sum(np.square(self.masses))) + self.centre**2)
        self.rounding += self._noise[0] * two + self._noise[1] * one
        self.rounding += (kernel.slack + 8 * _UNIT) * one
        self.masses = fresh
        self._settle()

    def _mass(self) -> float:
        return self.centre + float(np.sum(self._weight * self.masses))

    def _settle(self) -> None:
        """Unimodal majorant; then the mass at 0 is what is left."""
        symmetric = self.masses * self._half[1:]
        highest = np.maximum.accumulate(np.append(symmetric, 0.0)[::-1])[::-1][:-1]
        raised = highest > symmetric
        self.masses = np.where(raised, highest * self._half_back, self.masses)
        left = 1.0 - self.infinite - float(np.sum(self._weight * self.masses))
        self.centre = max(left, float(highest[0]))
        self.extra += self.centre - left

    def result(self) -> Worst:
        """The bound after the steps done so far."""
        return Worst(self.h, self.masses, self.infinite, self.extra, self.rounding)


def _second(lift: Array, h: float) -> Array:
    """Masses at 1 … rows of a profile correction given at 0 … rows - 1 (0 from there on)."""
    values = np.concatenate([lift, [0.0, 0.0]])
    steps = np.diff(values)
    result: Array = steps[1:] / math.expm1(h) - steps[:-1] / -math.expm1(-h)
    return result
