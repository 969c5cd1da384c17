"""Configurations of gradients by brute force: nothing here uses the frontier or the lemmas.

A configuration is a pair of vectors (u, v) of the plane: P = (1-q)N(0) + qN(u),
Q = (1-q)N(0) + qN(v), in units of the clip norm.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]


def random_planar(rng: np.random.Generator, count: int, dimension: int = 3) -> Array:
    """Random (u, v), shape (count, 2, 2): three points of a ball, some of them structured."""
    points = rng.normal(size=(count, 3, dimension))
    points /= np.linalg.norm(points, axis=2, keepdims=True)
    inner = rng.random(count) < 0.3
    points[inner] *= rng.random((int(inner.sum()), 3, 1)) ** (1 / dimension)
    # Near the pair that is attained, and near right angles, the bounds are closest.
    near = rng.random(count) < 0.3
    spread = 10.0 ** -rng.uniform(0.5, 3, (int(near.sum()), 1))
    base = np.zeros((int(near.sum()), 3, dimension))
    base[:, 0, 0], base[:, 1:, 0] = 1.0, -1.0
    shaken = base + spread[:, :, None] * rng.normal(size=base.shape)
    points[near] = shaken / np.maximum(np.linalg.norm(shaken, axis=2, keepdims=True), 1.0)
    u, v = points[:, 0] - points[:, 2], points[:, 1] - points[:, 2]
    return planar(u, v)


def planar(u: Array, v: Array) -> Array:
    """The same pairs of vectors in a plane: coordinates along and across u - v."""
    axis = u - v
    axis = axis / np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-300)
    along_u, along_v = np.sum(u * axis, axis=1), np.sum(v * axis, axis=1)
    across = np.linalg.norm(u - along_u[:, None] * axis, axis=1)
    return np.stack(
        [np.stack([along_u, across], axis=1), np.stack([along_v, across], axis=1)], axis=1
    )


def hockey_stick(pair: Array, q: float, sigma: float, epsilon: Array, nodes: int = 81) -> Array:
    """H_a(P||Q) for a = exp(epsilon) >= 1, by lines along u - v.

    On a line the density P - aQ over N(0) is c + A exp(p x) - B exp(r x), which is monotone on
    each side of one point: at most two roots, found by bisection; between them the integral
    is a sum of normal probabilities.
    """
    u, v = pair / sigma
    a = np.exp(epsilon)[:, None]
    reach = 8.0 + max(abs(u[1]), 0.0)
    y, width = np.linspace(-8.0, reach, nodes, retstep=True)
    weight = np.exp(-0.5 * y * y) * width / math.sqrt(2 * math.pi)
    p, r = u[0], v[0]
    c = (1 - q) * (1 - a) + 0 * y
    rise = q * np.exp(u[1] * y - 0.5 * u @ u) + 0 * a
    fall = a * q * np.exp(v[1] * y - 0.5 * v @ v)

    def density(x: Array) -> Array:
        return c + rise * np.exp(p * x) - fall * np.exp(r * x)

    far = 40.0 + 0 * c
    turn = np.zeros_like(c)
    if p * r > 0 and p != r:
        turn = np.clip(np.log(fall * r / (rise * p)) / (p - r), -40.0, 40.0)
    roots = []
    for low, high in ((-far, turn), (turn, far)):
        below, above = low.copy(), high.copy()
        left = density(low) > 0
        for _ in range(48):
            middle = 0.5 * (below + above)
            same = (density(middle) > 0) == left
            below, above = np.where(same, middle, below), np.where(same, above, middle)
        roots.append(np.where((density(high) > 0) == left, turn, 0.5 * (below + above)))
    edges = [-far, np.minimum(*roots), np.maximum(*roots), far]
    total = np.zeros_like(c)
    for low, high in itertools.pairwise(edges):
        part = c * (ndtr(high) - ndtr(low))
        part += rise * math.exp(0.5 * p * p) * (ndtr(high - p) - ndtr(low - p))
        part -= fall * math.exp(0.5 * r * r) * (ndtr(high - r) - ndtr(low - r))
        total += np.where((density(0.5 * (low + high)) > 0) & (high > low), part, 0.0)
    return total @ weight


def both_orders(pair: Array, q: float, sigma: float, epsilon: Array) -> tuple[Array, Array]:
    """H_a(P||Q) and H_a(Q||P)."""
    swapped = pair[::-1] * np.array([-1.0, 1.0])  # u - v must stay the first axis
    return hockey_stick(pair, q, sigma, epsilon), hockey_stick(swapped, q, sigma, epsilon)


def squared_hellinger(pair: Array, q: float, sigma: float, nodes: int = 241) -> float:
    """2 int (sqrt P - sqrt Q)^2 on a plain grid."""
    u, v = pair / sigma
    x = np.linspace(min(0.0, u[0], v[0]) - 8, max(0.0, u[0], v[0]) + 8, nodes)
    y = np.linspace(-8, max(0.0, u[1]) + 8, nodes)
    base = np.exp(-0.5 * (x[:, None] ** 2 + y**2)) / (2 * math.pi)
    first = 1 - q + q * np.exp(u[0] * x[:, None] + u[1] * y - 0.5 * u @ u)
    second = 1 - q + q * np.exp(v[0] * x[:, None] + v[1] * y - 0.5 * v @ v)
    cell = (x[1] - x[0]) * (y[1] - y[0])
    return float(2 * np.sum(base * (np.sqrt(first) - np.sqrt(second)) ** 2) * cell)


class Copies:
    """A step with replacement, given all other draws: a mixture over subsets of positions."""

    def __init__(
        self,
        rng: np.random.Generator,
        n: int,
        m: int,
        sigma: float,
        largest: int | None = None,
        attained: bool = False,
    ) -> None:
        points = rng.normal(size=(m + 2, 2))
        size = np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-300)
        points /= np.where(rng.random((m + 2, 1)) < 0.7, size, np.maximum(size, 1.0))
        if attained:
            points[:] = [-1.0, 0.0]
            points[0] = [1.0, 0.0]
        g, other, rest = points[0], points[1], points[2:]
        largest = m if largest is None else largest
        subsets = [s for k in range(largest + 1) for s in itertools.combinations(range(m), k)]
        chances = np.array([(1 / n) ** len(s) * (1 - 1 / n) ** (m - len(s)) for s in subsets])
        self.chances = chances / chances.sum()
        moved = np.array([rest[list(s)].sum(axis=0) for s in subsets])
        size = np.array([len(s) for s in subsets])[:, None]
        self.first = (size * g - moved) / sigma
        self.second = (size * other - moved) / sigma

    def densities(self, nodes: int = 220) -> tuple[Array, Array]:
        """P and Q of the cells of a grid, including the cell size."""
        all_means = np.concatenate([self.first, self.second])
        axes = [
            np.linspace(all_means[:, i].min() - 7.5, all_means[:, i].max() + 7.5, nodes)
            for i in (0, 1)
        ]
        cell = np.prod([axis[1] - axis[0] for axis in axes]) / (2 * math.pi)
        densities = []
        for means in (self.first, self.second):
            rows = np.exp(-0.5 * (axes[0][:, None] - means[:, 0]) ** 2) * self.chances
            columns = np.exp(-0.5 * (axes[1][:, None] - means[:, 1]) ** 2)
            densities.append((rows @ columns.T).ravel() * cell)
        return densities[0], densities[1]


def sticks(first: Array, second: Array, epsilon: Array) -> Array:
    """H_a(P||Q) of gridded densities."""
    return np.array([np.maximum(first - math.exp(e) * second, 0).sum() for e in epsilon])
