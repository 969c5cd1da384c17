"""One step of the recursion as a convolution and a small matrix.

Nodes are a_j = exp(j h).  ``caps[j]`` bounds the hockey-stick H_{a_j} of every configuration in
both orders, and ``budget`` bounds, for every configuration,

    sum_{j>=0} exp(-jh/2) H_j(P||Q) + sum_{j>=1} exp(-jh/2) H_j(Q||P).

The increment of one step is a sum of windows of these terms: each window is paid by its caps, or
by the whole budget where that is less (docs/proofs/adaptive.md, section 4).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

Array = NDArray[np.float64]

_SATURATED = 3e-4  # share of the caps beyond which the correction is not kept
_BLOCKS = 8  # the correction is triangular: stored in this many bands of rows
_UNIT = 2.0**-53


@dataclass(frozen=True)
class Kernel:
    """What one step does to the law of the loss.

    Attributes
    ----------
    up : ndarray, shape (J,)
        Mass moved up by 1 … J nodes.
    down : ndarray, shape (D,)
        Mass moved down by 1 … D nodes; signed.
    stay : float
        Mass that stays.
    lost : float
        Mass moved to infinity.
    bands : tuple of (int, int, ndarray)
        (first row, first column, entries): what the increment at the first nodes needs beyond
        the convolution, as a linear map of the symmetrised law at k = 0, 1, ….
    rows : int
        Nodes with such a correction: l = 0 … rows - 1.
    budget : float
        The budget used.
    slack : float
        Bound on the rounding of the kernel in the increment, for a law of mass 1.
    """

    up: Array
    down: Array
    stay: float
    lost: float
    bands: tuple[tuple[int, int, Array], ...]
    rows: int
    budget: float
    slack: float

    def correction(self, symmetric: Array) -> Array:
        """Correction of the increment at l = 0 … rows - 1."""
        result = np.empty(self.rows)
        for row, column, entries in self.bands:
            # einsum rather than BLAS: the answer must not depend on the number of threads.
            part = np.einsum("ij,j->i", entries, symmetric[column : column + entries.shape[1]])
            result[row : row + len(entries)] = part
        return result

    def amplification(self) -> float:
        """Largest factor by which the convolution enlarges a wave on the nodes."""
        length = fft.next_fast_len(self.up.size + self.down.size + 1, real=True)
        moved = np.zeros(4 * length)
        moved[0] = self.stay
        moved[1 : self.up.size + 1] = self.up
        moved[4 * length - self.down.size :] += self.down[::-1]
        return float(np.abs(fft.rfft(moved)).max())

    def work(self, size: int) -> float:
        """Multiply-adds of one step on ``size`` nodes, roughly."""
        matrix = sum(entries.size for _, _, entries in self.bands)
        return 100.0 * (size + self.up.size) + 1.5 * matrix


def symmetric(caps: Array, h: float) -> Kernel:
    """Kernel of the self-dual pair whose profile is given by the caps: no budget.

    Such a pair dominates at every a > 0, so that the step is a plain convolution.
    """
    up = np.maximum(_masses(np.append(caps, caps[-1]), h), 0.0)
    down = up * np.exp(-h * np.arange(1, up.size + 1))
    lost = float(caps[-1])
    stay = 1.0 - lost - math.fsum(up) - math.fsum(down)
    return Kernel(up, down, stay, 2 * lost, (), 0, math.inf, _slack(caps, h))


def grid_budget(hellinger: float, h: float) -> float:
    """Budget on the grid from a bound on 2 int (sqrt P - sqrt Q)^2.

    The sum is D_f/(4 tanh(h/4)) for the chord interpolant f of 2 (1 - sqrt r)^2 at the nodes,
    and the chords add at most 4 sqrt(r) (1 - 1/cosh(h/4)).
    """
    return (hellinger / (4 * math.sinh(h / 4)) + math.tanh(h / 8)) * (1 + 1e-14)


def build(caps: Array, budget: float, h: float) -> Kernel:
    """Kernel of a step.

    Parameters
    ----------
    caps : ndarray, shape (J + 1,)
        F_0 … F_J, non-increasing; beyond the last node the last value is used.
    budget : float
        S; raised where it would be below the saturated caps (a larger budget is valid).
    h : float
        Distance of the nodes.
    """
    j = np.arange(caps.size)
    tilted = caps * np.exp(-0.5 * h * j)
    total = np.cumsum(tilted, dtype=np.longdouble).astype(np.float64)
    far = int(np.searchsorted(total, (1 - _SATURATED) * total[-1])) + 1
    far = min(far, caps.size - 1)
    everything = float(total[-1]) + float(tilted[-1]) / math.expm1(0.5 * h)
    budget = max(budget, everything * (1 + 1e-12))
    # Down caps of nodes 1, 2, … as long as the budget lasts, the next one in part.
    left = budget - float(total[far])
    paid = np.minimum(total - caps[0], left)
    depth = int(np.searchsorted(total - caps[0], left))  # first node not paid in full
    if depth < caps.size:
        part = max(left - float(paid[depth - 1]), 0.0) * math.exp(0.5 * h * depth)
        lower = np.concatenate([caps[:depth], [part, 0.0, 0.0]])
        lost = float(caps[-1])
    else:
        # The budget outlasts the table: the last cap stands for all nodes below it as well.
        lower = np.concatenate([caps, [0.0, 0.0]])
        lost = 2 * float(caps[-1])
    up = np.maximum(_masses(np.append(caps, caps[-1]), h), 0.0)
    mirrored = _masses(lower, h)
    down = mirrored * np.exp(-h * np.arange(1, mirrored.size + 1))
    stay = 1.0 - float(caps[-1]) - math.fsum(up) - math.fsum(down)
    bands, rows = _correction(total, paid, budget, h, far, float(caps[0]))
    slack = _slack(caps, h) + _UNIT * budget * (4 * rows + 8 / h + 8)
    slack += 8 * _UNIT * depth * float(caps[0]) / h if depth < caps.size else 0.0
    slack += 2 * caps.size * float(np.finfo(np.longdouble).eps) * budget
    return Kernel(up, down, stay, lost, bands, rows, budget, slack)


def _slack(caps: Array, h: float) -> float:
    """Rounding of masses, summed: each slope of the caps is known to a few units.

    The slopes add up to F_0/h.  For the same reason the correction, at most S, costs S/h.
    """
    return 64 * _UNIT * (float(caps[0]) / h + 1)


def _masses(values: Array, h: float) -> Array:
    """Mass at nodes 1 … n - 2 of the law whose profile has these values at nodes 0 … n - 1."""
    steps = np.diff(values)
    result: Array = steps[1:] / math.expm1(h) - steps[:-1] / -math.expm1(-h)
    return result


def _correction(
    total: Array, paid: Array, budget: float, h: float, far: int, first: float
) -> tuple[tuple[tuple[int, int, Array], ...], int]:
    """Windows with m + l < ``far`` that may be paid more than the convolution pays.

    With x = m + l and y = m - l the window costs min(cF(x) + cF(y) - F_0, S); the convolution
    has cF(x) + min(cF(y) - F_0, S - cF(far)).  Summed by parts in m, the difference becomes a
    matrix that acts on the symmetrised law itself.
    """
    rows = (far + 1) // 2
    edges = np.unique(np.linspace(0, rows, _BLOCKS + 1).astype(int))
    bands = []
    for start, stop in itertools.pairwise(edges):
        lines = np.arange(start, stop)[:, None]
        columns = np.arange(start, far - start + 1)[None, :]
        x, y = columns + lines, columns - lines
        inside = (x < far) & (y >= 0)
        x, y = np.where(inside, x, 0), np.where(inside, y, 0)
        cost = np.minimum(total[x] + (total[y] - first), budget) - total[x] - paid[y]
        cost = np.where(inside, np.maximum(cost, 0.0), 0.0)
        entries = cost.copy()
        entries[:, 1:] -= cost[:, :-1]
        bands.append((int(start), int(start), entries * np.exp(0.5 * h * lines)))
    return tuple(bands), rows
