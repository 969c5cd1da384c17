"""A second engine for adaptive adversaries without replacement: a finite family of configurations.

All configurations are covered by rectangles of angles, each dominated by one Gram matrix; the
recursion takes the largest step of all of them in both orders.  Neither the Hellinger budget
nor unimodality is used.  Slow, and for a few steps of moderate size only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from accountants.fixed_size import log_without_replacement
from accountants.tight.frontier import Rectangles, first_cover
from tests.tight.configurations import both_orders, planar

Array = NDArray[np.float64]


class Family:
    """Worst profile after some steps, at the nodes l = 0 … size.

    Parameters
    ----------
    q, sigma : float
    h : float
        Distance of the nodes.
    size : int
        Nodes.
    rectangles : int
        About how many rectangles to use.
    """

    def __init__(self, q: float, sigma: float, h: float, size: int, rectangles: int) -> None:
        self.q, self.sigma, self.h, self.size = q, sigma, h, size
        self.node = np.arange(size + 1)
        self._half = np.exp(-0.5 * h * self.node)
        attained = np.array([[2.0, 0.0], [0.0, 0.0]])
        self.base = self._profiles([attained])
        self.reach = int(np.argmax(self.base[0][:, 0] < 1e-12)) or size
        self.members = self._cover(rectangles)
        # V_1 is the larger order of the attained pair.
        self.set(self.base[0][:, 0])

    def _profiles(self, pairs: list[Array]) -> tuple[Array, Array]:
        epsilon = self.h * self.node
        both = [both_orders(pair, self.q, self.sigma, epsilon) for pair in pairs]
        # No configuration exceeds the attained pair's profile, in either order.
        cap = np.exp(log_without_replacement(epsilon, self.q, self.sigma))[:, None]
        ahead, behind = (
            np.minimum(np.maximum(np.array(side).T, 0.0) * (1 + 1e-9), cap)
            for side in zip(*both, strict=True)
        )
        return ahead, behind

    def _pairs(self, cover: Rectangles) -> list[Array]:
        grams = cover.dominating()
        length = np.sqrt(grams.a)
        u = np.stack([length, 0 * length], axis=1)
        along = grams.c / np.maximum(length, 1e-300)
        v = np.stack([along, np.sqrt(np.maximum(grams.b - along**2, 0))], axis=1)
        return list(planar(u, v))

    def _cover(self, rectangles: int) -> tuple[Array, Array]:
        """Halve the rectangles whose steps exceed those of the attained pair most."""
        states = []
        self.set(self.base[0][:, 0])
        for t in range(30):
            if t in (0, 3, 10, 29):
                states.append(self.windows())
            self.advance(self.base)
        cover = first_cover(5)
        ahead, behind = self._profiles(self._pairs(cover))
        while len(cover.low) < rectangles:
            excess = np.zeros(len(cover.low))
            for state in states:
                usual = self.increments(state, self.base).max(axis=1)
                both = self.increments(state, (ahead, behind)) - usual[:, None]
                gain = np.maximum(both[:, : len(cover.low)], both[:, len(cover.low) :])
                relative = gain / (usual + 1e-3 * usual.max())[:, None]
                excess = np.maximum(excess, relative.max(axis=0))
            worst = np.zeros(excess.size, dtype=bool)
            worst[np.argsort(excess)[-max(4, excess.size // 8) :]] = True
            fresh = cover.where(worst).halved()
            new_ahead, new_behind = self._profiles(self._pairs(fresh))
            cover = cover.where(~worst).joined(fresh)
            ahead = np.concatenate([ahead[:, ~worst], new_ahead], axis=1)
            behind = np.concatenate([behind[:, ~worst], new_behind], axis=1)
        return ahead, behind

    def set(self, values: Array) -> None:
        """State with these values at the nodes; mass at infinity is the last one."""
        self.values = np.minimum(values, 1.0)
        padded = np.append(self.values, self.values[-1])
        steps = np.diff(padded)
        masses = steps[1:] / math.expm1(self.h) - steps[:-1] / -math.expm1(-self.h)
        self.masses = np.maximum(masses, 0.0)
        used = float(np.sum(self.masses * (1 + np.exp(-self.h * self.node[1:]))))
        self.centre = max(0.0, 1 - float(self.values[-1]) - used)

    def windows(self) -> tuple[Array, Array]:
        """Matrices of the symmetrised law at l - j and l + j."""
        symmetric = np.append(self.centre, self.masses * self._half[1:])
        j = self.node[: self.reach + 1]
        low = np.abs(self.node[:, None] - j)
        high = self.node[:, None] + j
        above = np.where(high <= self.size, symmetric[np.minimum(high, self.size)], 0.0)
        above[:, 0] = 0.0
        return symmetric[low], above

    def increments(self, windows: tuple[Array, Array], members: tuple[Array, Array]) -> Array:
        """Step of each member in both orders at each node, shape (nodes, 2 members)."""
        weight = self._half[: self.reach + 1, None]
        ahead, behind = (side[: self.reach + 1] * weight for side in members)
        low, high = windows
        both = np.concatenate([low @ ahead + high @ behind, low @ behind + high @ ahead], axis=1)
        return both / self._half[:, None]

    def advance(self, members: tuple[Array, Array] | None = None) -> None:
        """One more step."""
        members = self.members if members is None else members
        gain = self.increments(self.windows(), members).max(axis=1)
        self.set(self.values + gain + 2e-12)  # what the tables leave out

    def epsilon(self, delta: float) -> float:
        """Smallest ε at which ``delta`` is not exceeded."""
        node = int(np.argmax(self.values <= delta)) - 1
        share = (self.values[node] - delta) / (self.values[node] - self.values[node + 1])
        return node * self.h + math.log1p(float(share) * math.expm1(self.h))

    def delta(self, epsilon: float) -> float:
        """Upper bound on δ(ε)."""
        node = int(epsilon / self.h)
        share = math.expm1(epsilon - node * self.h) / math.expm1(self.h)
        low, high = self.values[node], self.values[node + 1]
        return float(low + share * (high - low))
