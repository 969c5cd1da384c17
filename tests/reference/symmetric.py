"""Symmetrised pairs: the profile for a >= 1, mirrored below.

A profile of the form  h = sum_k w_k delta_{2k}(log(1 + (a - 1)/eta)),  a >= 1,  belongs to the
loss law with, for every k and every x > k (noise N(0, sigma^2)),

    mass under Q:  (w_k / eta) N(x; 0) dx   at loss  l = log(1 + eta (e^y - 1)),
                                            y = (2 k x - 2 k^2) / sigma^2,
    mass under P:  e^l times that,

the same with P and Q exchanged at -l, and what is left at 0.  Without replacement there is k = 1
with w_1 = eta = q; with replacement w_k = P(K = k) and eta = P(K > 0), K the number of copies.

The integrands end where they are not zero: Gauss-Legendre panels, no trapezoid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import flint
import numpy as np

from .laws import Copies, to_arb

ORDER = 45


@cache
def _rule(order: int, bits: int) -> list[tuple[Any, Any]]:
    return [flint.arb.legendre_p_root(order, k, weight=True) for k in range(order)]


@dataclass(frozen=True)
class SymmetricLaw:
    """Loss under P of the symmetrised pair; ``copies`` None: without replacement, eta = ``q``."""

    sigma: Fraction
    q: Fraction | None = None
    copies: Copies | None = None

    def _weights(self) -> tuple[list[Any], Any]:
        """(w_1, w_2, ..., eta) in ball arithmetic."""
        if self.copies is None:
            assert self.q is not None
            return [to_arb(self.q)], to_arb(self.q)
        weights = self.copies.balls()[1:]
        return weights, sum(weights, flint.arb(0))

    @cached_property
    def _double(self) -> tuple[np.ndarray, float, np.ndarray, float]:
        weights, eta = self._weights()
        atom = float(self.atom())
        shifts = np.array([2 * k / float(self.sigma) for k in range(1, len(weights) + 1)])
        return np.array([float(w / eta) for w in weights]), float(eta), shifts, atom

    def atom(self) -> Any:
        """Mass at loss 0."""
        weights, eta = self._weights()
        root = flint.arb(2).sqrt()
        total = flint.arb(1)
        for k, w in enumerate(weights, 1):
            x = k / to_arb(self.sigma) / root
            below, above = x.erfc() / 2, (-x).erfc() / 2
            total -= w / eta * ((2 - eta) * below + eta * above)
        return total

    def _side(self, index: int, c: float, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(loss, log weight of exp(c loss) under P) on the half line of ``index``."""
        share, eta, shifts, _ = self._double
        e = shifts[index] * (u - shifts[index] / 2)
        with np.errstate(over="ignore"):
            loss = np.where(
                e < 30,
                np.log1p(eta * np.expm1(np.minimum(e, 30))),
                e + math.log(eta) + np.log1p((1 - eta) / eta * np.exp(-np.maximum(e, 30))),
            )
        base = math.log(share[index]) - u * u / 2 - 0.5 * math.log(2 * math.pi)
        return loss, base + (1 + c) * loss

    def _panels(self, index: int, c: float, depth: float, width: float, top: float) -> np.ndarray:
        """Numbers of the panels that matter beside a weight of exp(top)."""
        start = float(self._double[2][index] / 2)
        reach = (1 + c) * 2 * start + 30 + math.sqrt(2 * depth)
        ends = start + width * np.arange(math.ceil((reach - start) / width))
        inner = np.linspace(0, width, 8)
        _, weight = self._side(index, c, (ends[:, None] + inner).ravel())
        return np.flatnonzero(weight.reshape(len(ends), -1).max(axis=1) > top - depth)

    def _top(self, c: float) -> float:
        best = -math.inf
        for index in range(len(self._double[2])):
            start = float(self._double[2][index] / 2)
            u = np.linspace(start, (1 + c) * 2 * start + 8, 4000)
            best = max(best, float(self._side(index, c, u)[1].max()))
        return best

    def atoms(self, c: float) -> tuple[np.ndarray, np.ndarray]:
        x, w = np.polynomial.legendre.leggauss(12)
        top, losses, logs = self._top(c), [np.zeros(1)], [np.full(1, math.log(self._double[3]))]
        for index in range(len(self._double[2])):
            for number in self._panels(index, c, 45.0, 0.8, top):
                u = self._double[2][index] / 2 + 0.8 * number + 0.4 * (x + 1)
                loss, weight = self._side(index, c, u)
                weight = weight + np.log(0.4 * w)
                losses += [loss, -loss]
                logs += [weight, weight - (1 + 2 * c) * loss]
        return np.concatenate(losses), np.concatenate(logs)

    def finish_double(self, z: Any, total: Any, log_scale: float) -> Any:
        return total

    def nodes(self, c: float, depth: float, margin: float, scale: float) -> tuple[list[Any], ...]:
        rule = _rule(ORDER, flint.ctx.prec)
        weights, eta = self._weights()
        width = 0.8 * scale
        top = self._top(c)
        losses, masses = [flint.arb(0)], [self.atom()]
        front = 1 / (2 * flint.arb.pi()).sqrt()
        half = flint.arb(width) / 2
        for index, w in enumerate(weights):
            alpha = 2 * (index + 1) / to_arb(self.sigma)
            for number in self._panels(index, c, depth, width, top):
                left = alpha / 2 + flint.arb(width) * int(number)
                for x, share in rule:
                    u = left + half * (1 + x)
                    loss = (eta * (alpha * (u - alpha / 2)).expm1()).log1p()
                    below = front * w / eta * share * half * (-u * u / 2).exp()
                    losses += [loss, -loss]
                    masses += [below * loss.exp(), below]
        return losses, masses

    def finish(self, z: Any, total: Any) -> Any:
        return total
