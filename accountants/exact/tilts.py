"""Cumulants of a run tabulated over tilts, and the search for the tilts that matter.

The tilt that belongs to an ε or a δ may be anything from 1e-3 to 1e6, and past a barrier near
2 sigma^2 log(1/q) the cumulants of a sampled release jump by many orders: the search inserts
tilts where neighbouring values differ too much to be interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.errors import AccuracyError
from accountants.exact.moments import Moments

Array = NDArray[np.float64]

_POINTS = 16
_LADDER = np.arange(_POINTS) / (_POINTS - 1)
_LARGEST_TILT = 1e16
_JUMP = 20.0  # largest drop of log δ between neighbouring tilts at the crossing, in nats


@dataclass(frozen=True)
class TiltTable:
    """Cumulants of a whole run at a geometric grid of tilts.

    Attributes
    ----------
    c : ndarray
        Tilts, increasing.
    psi, slope, curvature : ndarray
        log E exp(c L) of the run and its derivatives.
    moments : tuple of Moments
        What the table was made from, one for each pair.
    """

    c: Array
    psi: Array
    slope: Array
    curvature: Array
    moments: tuple[Moments, ...]

    @property
    def saddle_epsilon(self) -> Array:
        """The ε whose saddle point is each tilt."""
        return self.slope - 1 / self.c - 1 / (1 + self.c)

    @property
    def own_estimate(self) -> Array:
        """log δ estimated at each tilt for its own ε; decreasing."""
        exponent = self.psi - self.c * self.saddle_epsilon - np.log(self.c * (1 + self.c))
        return exponent - 0.5 * np.log(2 * math.pi * self.width)

    def first(self, count: int) -> TiltTable:
        """The table of the first ``count`` tilts."""
        return TiltTable(
            self.c[:count],
            self.psi[:count],
            self.slope[:count],
            self.curvature[:count],
            self.moments,
        )

    @property
    def width(self) -> Array:
        """Second derivative of the exponent at each tilt."""
        return self.curvature + 1 / self.c**2 + 1 / (1 + self.c) ** 2

    def log_estimate(self, epsilon: Array | float) -> Array:
        """Saddle-point estimate of log δ(ε) at each tilt (an estimate, no bound)."""
        exponent = self.psi - self.c * epsilon - np.log(self.c * (1 + self.c))
        return exponent - 0.5 * np.log(2 * math.pi * self.width)

    @property
    def log_chernoff_factor(self) -> Array:
        """log of the factor kappa(c) in δ(ε) <= kappa(c) exp(psi(c) - c ε), proved."""
        log_factor: Array = -np.log1p(self.c) + self.c * (np.log(self.c) - np.log1p(self.c))
        return log_factor

    def log_chernoff(self, epsilon: float) -> float:
        """Smallest proved bound on log δ(ε) over the tabulated tilts."""
        return float(np.min(self.log_chernoff_factor + self.psi - self.c * epsilon))


def locate(
    tabulate: Callable[[Array], TiltTable],
    key: Callable[[TiltTable], Array],
    target: float,
    centre: float,
) -> tuple[TiltTable, int]:
    """Tabulate around the tilt at which a decreasing ``key`` crosses ``target``.

    Parameters
    ----------
    tabulate : callable
        From tilts to their table.
    key : callable
        From a table to values that decrease in the tilt.
    target : float
        Value to enclose.
    centre : float
        First guess of the tilt.

    Returns
    -------
    (TiltTable, int)
        A table that reaches beyond the crossing, and the first index with key <= target.

    Raises
    ------
    AccuracyError
        If no crossing is found between tilts 1e-9 and 1e16.
    """
    c = _ladder(centre / 12, centre * 2.5)
    for _ in range(40):
        table = tabulate(c)
        crossed = np.flatnonzero(key(table) <= target)
        if not crossed.size:
            if c[-1] > _LARGEST_TILT:
                break
            c = _ladder(max(float(c[0]), float(c[-1]) / 30), float(c[-1]) * 3)
            continue
        k = int(crossed[0])
        if k == 0:
            if c[0] < 1e-9:
                break
            c = _ladder(float(c[0]) / 20, float(c[min(4, c.size - 1)]))
            continue
        estimate = table.own_estimate
        if estimate[k - 1] - estimate[k] > _JUMP and c[k] / c[k - 1] > 1 + 1e-9:
            c = np.concatenate([c[max(0, k - 16) : k], np.linspace(c[k - 1], c[k], 10)[1:]])
            continue
        reach = max(60.0, 3.5 * abs(float(estimate[k])))
        drop = float(estimate[k]) - estimate
        useful = np.flatnonzero(drop <= reach)
        last = int(useful[-1])
        if drop[last] < 0.3 * reach and last + 1 < c.size and c[last + 1] > c[last] * 1.001:
            inserted = np.linspace(c[last], c[last + 1], 8)[1:]
            c = np.concatenate([c[max(0, k - 16) : last + 1], inserted])
            continue
        if last == k and last + 1 == c.size:
            c = np.concatenate([c[max(0, k - 16) :], c[-1] * np.array([1.1, 1.25, 1.5, 2.0])])
            continue
        return table.first(last + 1), k
    raise AccuracyError(
        "no saddle point found: the largest possible loss is reached first, or the loss has an "
        "extreme spread"
    )


def _ladder(low: float, high: float) -> Array:
    """Tilts in geometric progression from ``low`` to ``high``."""
    return np.exp(math.log(low) + math.log(high / low) * _LADDER)
