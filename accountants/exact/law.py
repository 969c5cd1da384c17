"""The law of a privacy loss as a density that is known to full relative accuracy.

log of the density is a Chebyshev polynomial on each of many short panels.  Convolutions add
positive terms only, so that a density of 1e-300 is as accurate as one of 1: this is what the
contour sum cannot give where the loss has two very different scales.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from accountants.errors import AccuracyError

Array = NDArray[np.float64]

#: Of the Chebyshev polynomial of a log density on one panel.
DEGREE = 13
_POINTS, _WEIGHTS = leggauss(24)
_KNOTS = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
_TO_COEFFICIENTS = (
    2.0
    / (DEGREE + 1)
    * np.cos(np.outer(np.arange(DEGREE + 1), np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1)))
)
_TO_COEFFICIENTS[0] /= 2
_RESOLVED = 2e-13  # size of the last coefficients of a resolved panel, absolute in log density
_VARIATION = 5.5  # nats a log density may vary on a panel: 24 points integrate a bell of twice that
_MAX_PANELS = 2000
_PRUNED = 41.0  # nats below the largest part of a convolution that are left out


@dataclass(frozen=True)
class Law:
    """Density of a real variable on panels; negligible outside them.

    Attributes
    ----------
    breaks : ndarray, shape (n + 1,)
        Panel ends, increasing.
    coefficients : ndarray, shape (n, DEGREE + 1)
        Chebyshev coefficients of the log density on each panel.
    error : float
        Estimated largest error of the log density, absolute.
    top : ndarray, shape (n,)
        Largest log density at the knots of each panel.
    """

    breaks: Array
    coefficients: Array
    error: float
    top: Array

    @property
    def panels(self) -> int:
        """Number of panels."""
        return len(self.coefficients)

    def log_on(self, panel: NDArray[np.intp], x: Array) -> Array:
        """log density at points ``x`` (shape (k, m)) that lie in panels ``panel`` (shape (k,))."""
        left = self.breaks[panel][:, None]
        width = self.breaks[panel + 1][:, None] - left
        return _clenshaw(self.coefficients[panel], 2 * ((x - left) / width) - 1)

    def between(self, ends: Array) -> tuple[Array, Array, Array]:
        """Quadrature over segments, each within one panel.

        Parameters
        ----------
        ends : ndarray, shape (k + 1,)
            Increasing segment ends inside the panels' range.

        Returns
        -------
        (ndarray, ndarray, ndarray), each of shape (k, 24)
            Points, weights and log densities.
        """
        width = np.diff(ends)[:, None]
        x = ends[:-1, None] + 0.5 * width * (1 + _POINTS)
        middle = 0.5 * (ends[:-1] + ends[1:])
        panel = np.clip(np.searchsorted(self.breaks, middle) - 1, 0, self.panels - 1)
        return x, 0.5 * width * _WEIGHTS, self.log_on(panel, x)


class Budget:
    """Work that may be spent on one answer: points of convolutions times panels of factors."""

    def __init__(self, work: int) -> None:
        self._left = work

    def spend(self, work: int) -> None:
        """Take ``work`` off, or refuse with ``AccuracyError``."""
        self._left -= work
        if self._left < 0:
            raise AccuracyError("the density of the loss would take too long to convolve")


def _clenshaw(coefficients: Array, x: Array) -> Array:
    """Chebyshev series with coefficients of shape (k, d) at points of shape (k, m)."""
    twice = 2 * x
    top = coefficients.shape[1] - 1
    one = np.empty_like(x)
    one[:] = coefficients[:, top, None]
    two = np.zeros_like(x)
    spare = np.empty_like(x)
    for j in range(top - 1, 0, -1):
        np.multiply(twice, one, out=spare)
        spare -= two
        spare += coefficients[:, j, None]
        one, two, spare = spare, one, two
    return coefficients[:, 0, None] + x * one - two


def fit(
    log_density: Callable[[Array], Array],
    breaks: Array,
    floor: float,
    inherited_error: float,
    budget: Budget | None = None,
    cost: int = 0,
) -> Law:
    """Represent a log density, splitting panels until each is resolved.

    Parameters
    ----------
    log_density : callable
        Vectorised; may return -inf.
    breaks : ndarray
        First panels.
    floor : float
        log of the mass below which a panel does not matter.
    inherited_error : float
        Error that the values bring along.
    budget : Budget, optional
        What evaluations are charged to, each at ``cost``.

    Raises
    ------
    AccuracyError
        If too many panels or evaluations would be needed.
    """
    left, right = breaks[:-1], breaks[1:]
    done_left: list[Array] = []
    done_right: list[Array] = []
    done_coefficients: list[Array] = []
    done_top: list[Array] = []
    worst = 0.0
    total = 0
    for depth in range(40):
        x = 0.5 * (left + right)[:, None] + 0.5 * (right - left)[:, None] * _KNOTS
        if budget is not None:
            budget.spend(x.size * cost)
        values = np.maximum(log_density(x.ravel()).reshape(x.shape), -1e4)
        coefficients = values @ _TO_COEFFICIENTS.T
        mass = values.max(axis=1) + np.log(right - left)
        matters = mass > floor
        tail = np.abs(coefficients[:, -2:]).max(axis=1)
        rounding = 4e-16 * np.abs(values).max(axis=1)
        # Panels whose whole mass is e.g. exp(-30) of what matters need fewer digits.
        resolved = tail <= _RESOLVED + rounding
        flat = np.ptp(values, axis=1) <= _VARIATION
        narrow = (right - left) <= 1e-13 * np.abs(right)
        good = matters & ((resolved & flat) | narrow)
        split = matters & ~good
        done_left.append(left[good])
        done_right.append(right[good])
        done_coefficients.append(coefficients[good])
        done_top.append(values[good].max(axis=1))
        if good.any():
            worst = max(worst, float((tail + rounding)[good].max()))
        total += int(good.sum())
        if not split.any():
            break
        if total + 2 * int(split.sum()) > _MAX_PANELS or depth == 39:
            raise AccuracyError(
                f"the density of the loss would need more than {_MAX_PANELS} panels"
            )
        middle = 0.5 * (left + right)[split]
        left, right = (
            np.concatenate([left[split], middle]),
            np.concatenate([middle, right[split]]),
        )
    return _assemble(done_left, done_right, done_coefficients, done_top, worst + inherited_error)


def _assemble(
    left: list[Array],
    right: list[Array],
    coefficients: list[Array],
    tops: list[Array],
    error: float,
) -> Law:
    start, stop = np.concatenate(left), np.concatenate(right)
    if not start.size:
        raise AccuracyError("the density of the loss is negligible everywhere")
    order = np.argsort(start)
    start, stop, table = start[order], stop[order], np.concatenate(coefficients)[order]
    top = np.concatenate(tops)[order]
    # A gap of negligible density between panels becomes a panel of its own.
    gaps = np.flatnonzero(stop[:-1] < start[1:])
    if gaps.size:
        filler = np.zeros((gaps.size, table.shape[1]))
        filler[:, 0] = -1e4
        table = np.insert(table, gaps + 1, filler, axis=0)
        top = np.insert(top, gaps + 1, -1e4)
        start = np.insert(start, gaps + 1, stop[gaps])
        stop = np.append(start[1:], stop[-1])
    return Law(np.append(start, stop[-1]), table, error, top)


def convolve(first: Law, second: Law, floor: float, budget: Budget) -> Law:
    """Law of the sum of two independent variables.

    Parameters
    ----------
    first, second : Law
    floor : float
        log of the mass below which a panel of the result does not matter.
    budget : Budget
    """
    same = first is second

    def log_density(x: Array) -> Array:
        if same:
            return math.log(2) + _half(first, second, x)
        return np.logaddexp(_half(first, second, x), _half(second, first, x))

    low = first.breaks[0] + second.breaks[0]
    high = first.breaks[-1] + second.breaks[-1]
    grid = np.concatenate(
        [
            first.breaks + second.breaks[0],
            second.breaks + first.breaks[0],
            first.breaks[-1] + second.breaks,
            2 * first.breaks,
            [low, high],
        ]
    )
    grid = _thin(np.unique(grid[(grid >= low) & (grid <= high)]))
    cost = first.panels + second.panels
    return fit(log_density, grid, floor, first.error + second.error + 1e-15, budget, cost)


def _thin(grid: Array) -> Array:
    """Drop break points that lie closer together than they need to."""
    keep = [0]
    for index in range(1, grid.size - 1):
        gap = grid[index] - grid[keep[-1]]
        scale = max(abs(grid[index]), abs(grid[keep[-1]]))
        if gap > 0.25 * scale:
            keep.append(index)
    keep.append(grid.size - 1)
    return grid[keep]


def _half(primary: Law, other: Law, x: Array) -> Array:
    """log of the part of a convolution in which ``primary`` brings the smaller share.

    The integral runs over s <= x/2 (x >= 0) or s >= x/2 (x < 0) of primary(s) other(x - s):
    s is a node, so that densities which vary on a tiny scale near 0 are met exactly.
    """
    result = np.empty_like(x)
    # Blocks small enough to stay in cache: several times faster than one large block.
    rows = max(1, 16_000 // (primary.panels + other.panels))
    for start in range(0, x.size, rows):
        block = slice(start, start + rows)
        result[block] = _half_block(primary, other, x[block])
    return result


def _half_block(primary: Law, other: Law, x: Array) -> Array:
    low = np.maximum(primary.breaks[0], x - other.breaks[-1])
    high = np.minimum(primary.breaks[-1], x - other.breaks[0])
    low = np.where(x < 0, np.maximum(low, 0.5 * x), low)
    high = np.where(x < 0, high, np.minimum(high, 0.5 * x))
    high = np.maximum(high, low)
    ends = np.concatenate(
        [
            np.broadcast_to(primary.breaks, (x.size, primary.breaks.size)),
            x[:, None] - other.breaks[::-1],
        ],
        axis=1,
    )
    ends = np.sort(np.clip(ends, low[:, None], high[:, None]), axis=1)
    ends = np.concatenate([low[:, None], ends, high[:, None]], axis=1)
    width = np.diff(ends, axis=1)
    row, column = np.nonzero(width > 0)
    if not row.size:
        return np.full(x.size, -1e4)
    begin = ends[row, column]
    width = width[row, column]
    middle = begin + 0.5 * width
    mine = np.clip(np.searchsorted(primary.breaks, middle) - 1, 0, primary.panels - 1)
    theirs = np.clip(np.searchsorted(other.breaks, x[row] - middle) - 1, 0, other.panels - 1)
    # First by the panels' tops (with slack for what lies between knots), then by three points.
    bound = primary.top[mine] + other.top[theirs] + np.log(width)
    highest = np.full(x.size, -np.inf)
    np.maximum.at(highest, row, bound)
    keep = bound > highest[row] - (_PRUNED + 3 * _VARIATION)
    row, begin, width, mine, theirs = (v[keep] for v in (row, begin, width, mine, theirs))
    coarse = begin[:, None] + width[:, None] * np.array([0.04, 0.5, 0.96])
    height = primary.log_on(mine, coarse) + other.log_on(theirs, x[row, None] - coarse)
    height = height.max(axis=1) + np.log(width)
    peak = np.full(x.size, -np.inf)
    np.maximum.at(peak, row, height)
    keep = height > peak[row] - _PRUNED
    row, begin, width, mine, theirs = (v[keep] for v in (row, begin, width, mine, theirs))
    points = begin[:, None] + 0.5 * width[:, None] * (1 + _POINTS)
    logs = primary.log_on(mine, points) + other.log_on(theirs, x[row, None] - points)
    share = (np.exp(logs - peak[row, None]) @ _WEIGHTS) * 0.5 * width
    total = np.bincount(row, weights=share, minlength=x.size)
    with np.errstate(divide="ignore"):
        return np.where(np.isfinite(peak), peak, -1e4) + np.log(np.where(total > 0, total, 1.0))
