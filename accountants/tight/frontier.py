"""Which configurations of gradients can be worst in one step without replacement.

Given the other records of the batch, one step is P = (1-q)N(0) + qN(u), Q = (1-q)N(0) + qN(v)
with u = g - z, v = g' - z, where g, g' are the two records' gradients and z that of the record
whose place they take.  Only the Gram matrix A = |u|^2, B = |v|^2, C = <u,v> matters.  Every
configuration in the unit ball is dominated, for every f-divergence, by a triangle inscribed in
the unit circle that is not obtuse: two angles (docs/proofs/adaptive.md, section 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_REACH = 7.5  # standard deviations around each mean that are integrated
_FLAT_STEP = 0.5  # trapezoid step where the integrand is as wide as the normal density
_SINGULAR_STEP = 0.45  # times sigma: the nearest branch point is pi sigma/2 off the real axis
_NODES_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Grams:
    """Gram matrices of (u, v), one per entry.

    Attributes
    ----------
    a, b, c : ndarray
        |u|^2, |v|^2 and <u,v>, of one shape.
    """

    a: Array
    b: Array
    c: Array


ATTAINED = Grams(np.array([4.0]), np.array([0.0]), np.array([0.0]))
"""g = 1, g' = z = -1: the pair whose composition is attained."""


def inscribed(angle_z_prime: Array, angle_z: Array) -> Grams:
    """Triangles inscribed in the unit circle.

    Parameters
    ----------
    angle_z_prime, angle_z : ndarray
        Angles at g and at g', each in [0, pi/2], their sum at least pi/2.
    """
    first, second = np.sin(angle_z_prime), np.sin(angle_z)
    c = -4 * first * second * np.cos(angle_z_prime + angle_z)
    return Grams(4 * second**2, 4 * first**2, c)


@dataclass(frozen=True)
class Rectangles:
    """Rectangles of angles (g1, g2) with corners ``low`` and ``high``, shape (n, 2)."""

    low: Array
    high: Array

    def dominating(self) -> Grams:
        """One Gram matrix per rectangle that dominates all triangles in it.

        A and B grow in their own angle and C in both: the largest A and B go with the smallest
        C, which is not negative on any triangle.
        """
        top = inscribed(self.high[:, 0], self.high[:, 1])
        bottom = inscribed(self.low[:, 0], self.low[:, 1])
        return Grams(top.a, top.b, np.maximum(bottom.c, 0.0))

    def halved(self) -> Rectangles:
        """Each rectangle cut in two across its longer side, empty halves left out."""
        rows = np.arange(len(self.low))
        side = np.argmax(self.high - self.low, axis=1)
        middle = 0.5 * (self.low[rows, side] + self.high[rows, side])
        lower, upper = self.high.copy(), self.low.copy()
        lower[rows, side] = middle
        upper[rows, side] = middle
        return Rectangles(
            np.concatenate([self.low, upper]), np.concatenate([lower, self.high])
        ).kept()

    def kept(self) -> Rectangles:
        """Those that hold a triangle with g1 <= g2 (Hellinger distances are symmetric)."""
        inside = self.high.sum(axis=1) >= math.pi / 2 - 1e-12
        inside &= self.low[:, 0] <= self.high[:, 1]
        return Rectangles(self.low[inside], self.high[inside])

    def joined(self, other: Rectangles) -> Rectangles:
        """All of both."""
        return Rectangles(
            np.concatenate([self.low, other.low]), np.concatenate([self.high, other.high])
        )

    def where(self, mask: NDArray[np.bool_]) -> Rectangles:
        """Those selected by ``mask``."""
        return Rectangles(self.low[mask], self.high[mask])


def first_cover(cells: int) -> Rectangles:
    """Equal squares over all triangles with g1 <= g2."""
    edges = np.linspace(0.0, math.pi / 2, cells + 1)
    i, j = np.meshgrid(np.arange(cells), np.arange(cells), indexing="ij")
    low = np.stack([edges[i.ravel()], edges[j.ravel()]], axis=1)
    high = np.stack([edges[i.ravel() + 1], edges[j.ravel() + 1]], axis=1)
    return Rectangles(low, high).kept()


def hellinger(grams: Grams, q: float, sigma: float) -> Array:
    """2 int (sqrt P - sqrt Q)^2 of each configuration, rounded up.

    Parameters
    ----------
    grams : Grams
    q : float
        Sampling probability in (0, 1).
    sigma : float
        Noise multiplier.

    Notes
    -----
    Trapezoid sums in the plane of u and v.  (sqrt X - sqrt Y)^2 is analytic where X and Y have
    no zero, that is within pi sigma/2 of the real plane: the sum converges like
    exp(-2 pi d/step).  The tails outside the box are bounded by 2 (X + Y) and added.
    """
    shift = np.sqrt(grams.a) / sigma
    along = np.where(grams.a > 0, grams.c / np.sqrt(np.maximum(grams.a, 1e-300)), 0.0) / sigma
    across = np.sqrt(np.maximum(grams.b / sigma**2 - along**2, 0.0))
    step = min(_FLAT_STEP, _SINGULAR_STEP * sigma)
    x = _nodes(max(0.0, float(np.max(np.maximum(shift, along)))), min(0.0, along.min()), step)
    y = _nodes(float(across.max()), 0.0, step)
    weight_x = np.exp(-0.5 * x * x) * step / math.sqrt(2 * math.pi)
    weight_y = np.exp(-0.5 * y * y) * step / math.sqrt(2 * math.pi)
    result = np.empty(len(shift))
    block = max(1, _NODES_AT_ONCE // (x.size * y.size))
    for start in range(0, len(shift), block):
        part = slice(start, start + block)
        first = q * np.exp(shift[part, None] * x - 0.5 * shift[part, None] ** 2)
        second = q * np.exp(along[part, None] * x - 0.5 * along[part, None] ** 2)
        third = np.exp(across[part, None] * y - 0.5 * across[part, None] ** 2)
        left = first[:, :, None]
        right = second[:, :, None] * third[:, None, :]
        roots = np.sqrt(left + (1 - q)) + np.sqrt(right + (1 - q))
        integrand = np.square((left - right) / roots)
        result[part] = 2 * np.einsum("nij,i,j->n", integrand, weight_x, weight_y, optimize=True)
    outside = 16 * q * math.erfc(_REACH / math.sqrt(2))
    return result * (1 + 1e-9) + outside


def _nodes(largest: float, smallest: float, step: float) -> Array:
    return np.arange(smallest - _REACH, largest + _REACH + step, step)
