"""A symmetrised pair given by its profile alone, by moments of the profile.

With h(a) = H_a for a >= 1 and h(a) = 1 - a + a h(1/a) below,

    M(z) = 1 + z (z + 1) int_0^inf [e^(z e) + e^(-(1 + z) e)] h(e^e) de.

No density is formed, so that this also serves profiles whose law has no closed form (``h1``), and
checks the node form of ``symmetric`` on those that have one.  e is parametrised by the point u with
log a' = alpha (u - alpha/2), alpha = 2/sigma, e = log(1 + eta (a' - 1)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from .laws import Copies, to_arb
from .symmetric import ORDER, _rule

WIDTH, COARSE_ORDER = 0.8, 12


@dataclass(frozen=True)
class ProfileLaw:
    """``name``: ``tight`` (without replacement, ``q``), ``balle`` or ``h1`` (with, ``copies``)."""

    name: str
    sigma: Fraction
    q: Fraction | None = None
    copies: Copies | None = None
    _cache: dict[int, tuple[np.ndarray, np.ndarray]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def _weights(self) -> tuple[list[Any], Any, Any]:
        """(p_1, p_2, ...), p_0, eta."""
        if self.copies is None:
            assert self.q is not None
            q = to_arb(self.q)
            return [q], 1 - q, q
        balls = self.copies.balls()
        return balls[1:], balls[0], 1 - balls[0]

    def _point(self, u: Any, weights: tuple[list[Any], Any, Any]) -> tuple[Any, Any, Any]:
        """(e, h, de/du) at u."""
        p, p0, eta = weights
        alpha = 2 / to_arb(self.sigma)
        inner = alpha * (u - alpha / 2)
        a = inner.exp()
        grown = 1 + eta * inner.expm1()
        root = flint.arb(2).sqrt()
        balle = flint.arb(0)
        for k, w in enumerate(p, 1):
            d = alpha * k
            x = inner / d
            balle += w * (((x - d / 2) / root).erfc() - a * ((x + d / 2) / root).erfc()) / 2
        value = balle
        if self.name == "h1":
            beta = grown / a
            value = (1 - beta) * self._attained(grown, p, p0, alpha) + beta * balle
        return grown.log(), value, eta * alpha * a / grown

    @staticmethod
    def _attained(grown: Any, p: list[Any], p0: Any, alpha: Any) -> Any:
        """H at exp(e) = grown of (sum_k p_k N(alpha k), N(0)); the root needs half the digits."""
        x = alpha / 2
        goal = grown - p0
        for _ in range(60):
            terms = [w * (alpha * k * (x - alpha * k / 2)).exp() for k, w in enumerate(p, 1)]
            total = sum(terms, flint.arb(0))
            slope = sum((alpha * k * t for k, t in enumerate(terms, 1)), flint.arb(0))
            move = (total / goal).log() * total / slope
            x = flint.arb((x - move).mid())
            if abs(float(move)) < 1e-35:
                break
        root = flint.arb(2).sqrt()
        above = sum((w * ((x - alpha * k) / root).erfc() for k, w in enumerate(p, 1)), flint.arb(0))
        return (above - goal * (x / root).erfc()) / 2

    def _coarse(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """(e, log of h de) at the planning nodes of one panel."""
        if number not in self._cache:
            x, w = np.polynomial.legendre.leggauss(COARSE_ORDER)
            weights = self._weights()
            start = 1 / to_arb(self.sigma)
            e, logs = [], []
            for node, share in zip(x, w, strict=True):
                u = start + flint.arb(WIDTH) * number + flint.arb(WIDTH / 2) * (1 + float(node))
                at, h, slope = self._point(u, weights)
                good = h > 0
                e.append(float(at))
                logs.append(
                    float((h * slope).log()) + math.log(share * WIDTH / 2) if good else -1e9
                )
            self._cache[number] = np.array(e), np.array(logs)
        return self._cache[number]

    def _panels(self, c: float, depth: float, width: float = WIDTH) -> list[int]:
        """Numbers of the panels whose weight at tilt c is within exp(-depth) of the largest."""
        peaks: list[float] = []
        largest = 1 if self.copies is None else self.copies.largest
        reach = (1 + c) * largest * 2 / float(self.sigma) + 12
        while True:
            e, logs = self._coarse(len(peaks))
            peaks.append(float((logs + c * e).max()))
            if peaks[-1] < max(peaks) - depth and (
                len(peaks) * WIDTH > reach or peaks[-1] < max(peaks) - depth - 100
            ):
                break
        wanted = [k for k, peak in enumerate(peaks) if peak > max(peaks) - depth]
        ratio = WIDTH / width
        return list(range(math.floor(wanted[0] * ratio), math.ceil((wanted[-1] + 1) * ratio)))

    def atoms(self, c: float) -> tuple[np.ndarray, np.ndarray]:
        losses, logs = [], []
        for number in self._panels(c, 45.0):
            e, weight = self._coarse(number)
            losses += [e, -e]
            logs += [weight + c * e, weight - (1 + c) * e]
        return np.concatenate(losses), np.concatenate(logs)

    def finish_double(self, z: Any, total: Any, log_scale: float) -> Any:
        return np.exp(-log_scale) + z * (z + 1) * total

    def nodes(self, c: float, depth: float, margin: float, scale: float) -> tuple[list[Any], ...]:
        rule = _rule(ORDER, flint.ctx.prec)
        weights = self._weights()
        width = WIDTH * scale
        half = flint.arb(width) / 2
        losses, masses = [], []
        for number in self._panels(c, depth, width):
            left = 1 / to_arb(self.sigma) + flint.arb(width) * number
            for x, share in rule:
                e, h, slope = self._point(left + half * (1 + x), weights)
                mass = h * slope * share * half
                losses += [e, -e]
                masses += [mass, mass * (-e).exp()]
        return losses, masses

    def finish(self, z: Any, total: Any) -> Any:
        return 1 + z * (z + 1) * total
