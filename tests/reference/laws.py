"""Privacy loss laws of one step, for the contour: pairs of one-dimensional Gaussian mixtures.

In units of the noise, P = sum p_i N(a_i, 1) and Q = sum q_j N(b_j, 1) with shifts in clip norms
divided by sigma:

======================  ==================================  ====================================
sampling                attained pair, one record g or g'   shifts (others all equal to z)
======================  ==================================  ====================================
Poisson                 see ``pairs``                       0 and 1 (and -1)
without replacement     two components, weights 1-q, q      g - z and g' - z
with replacement        K ~ Bin(m, 1/n) copies              K (g - z) and K (g' - z)
======================  ==================================  ====================================

A law answers three questions: double-precision atoms of the loss for planning (``atoms``), exact
atoms for the sum (``nodes``), and how a sum over atoms becomes the moment M(z) (``finish``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import flint
import numpy as np

from .pairs import Step

PLANNING_STEP = 0.1


class Law(Protocol):
    """The loss of one step, as weighted points."""

    def atoms(self, c: float) -> tuple[np.ndarray, np.ndarray]:
        """(losses, log of weight times exp(c loss)) in double precision."""

    def finish_double(self, z: Any, total: Any, log_scale: float) -> Any:
        """M(z) exp(-log_scale) from the sum over atoms times that factor, in double precision."""

    def nodes(self, c: float, depth: float, margin: float, scale: float) -> tuple[list[Any], ...]:
        """(losses, weights) in ball arithmetic; what is below exp(-depth) at tilt c is left out."""

    def finish(self, z: Any, total: Any) -> Any:
        """M(z) from the sum over atoms, in ball arithmetic."""


@dataclass(frozen=True)
class Given:
    """Weights written out."""

    values: tuple[Fraction, ...]

    def balls(self) -> list[Any]:
        return [to_arb(w) for w in self.values]

    def doubles(self) -> np.ndarray:
        return np.array([float(w) for w in self.values])


@dataclass(frozen=True)
class Copies:
    """P(K = k), K ~ Bin(draws, 1/among), for k = 0 ... largest.

    With ``conditioned`` divided by P(K <= largest); else the measure lacks the tail.
    """

    draws: int
    among: int
    largest: int
    conditioned: bool = False

    def balls(self) -> list[Any]:
        w = flint.arb(1) / self.among
        if self.among == 1:
            return [flint.arb(int(k == self.draws)) for k in range(self.largest + 1)]
        out = [(self.draws * (-w).log1p()).exp()]
        for k in range(self.largest):
            out.append(out[-1] * (self.draws - k) / ((k + 1) * (self.among - 1)))
        if self.conditioned:
            total = sum(out, flint.arb(0))
            out = [x / total for x in out]
        return out

    def doubles(self) -> np.ndarray:
        return np.array([float(x) for x in self.balls()])

    def tail(self) -> Any:
        """A ball that holds P(K > largest): first term times a geometric series."""
        if self.largest >= self.draws:
            return flint.arb(0)
        k = self.largest + 1
        if self.among == 1:
            return flint.arb(1)
        first = replace_largest(self, k).balls()[k]
        ratio = flint.arb(self.draws - k) / ((k + 1) * (self.among - 1))
        return first / (1 - ratio) if ratio < 1 else flint.arb(1)


def replace_largest(copies: Copies, largest: int) -> Copies:
    """The unconditioned law with another number of terms."""
    return Copies(copies.draws, copies.among, largest)


def copies_with_tail(draws: int, among: int, log_tail: float) -> Copies:
    """The fewest copies that leave P(K > largest) below exp(log_tail)."""
    largest = min(draws, max(1, math.ceil(draws / among)))
    while True:
        found = Copies(draws, among, largest)
        tail = found.tail()
        if largest >= draws or tail < flint.arb(log_tail).exp():
            return found
        largest += 1


@dataclass(frozen=True)
class Mixture:
    """sum_k weight_k N(shift_k), shifts in clip norms, in increasing or decreasing order."""

    weights: Given | Copies
    shifts: tuple[Fraction, ...]


NULL = Mixture(Given((Fraction(1),)), (Fraction(0),))


@dataclass(frozen=True)
class MixtureLaw:
    """log dP/dQ under P for two mixtures."""

    upper: Mixture
    lower: Mixture
    sigma: Fraction

    def reversed(self) -> MixtureLaw:
        return MixtureLaw(self.lower, self.upper, self.sigma)

    @cached_property
    def _double(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        return tuple(
            (part.weights.doubles(), np.array([float(a / self.sigma) for a in part.shifts]))
            for part in (self.upper, self.lower)
        )

    def log_densities(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(log dP/dN(0,1), log dQ/dN(0,1)) in doubles, without overflow."""
        upper, lower = (log_mixture(w, a, u) for w, a in self._double)
        return upper, lower

    def _weight(self, c: float, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        log_p, log_q = self.log_densities(u)
        return log_p - log_q, -u * u / 2 + log_p + c * (log_p - log_q)

    def _support(self, c: float, depth: float) -> tuple[float, float]:
        """Where the weight at tilt c is within exp(-depth) of its maximum (and a bit around)."""
        (_, a), (_, b) = self._double
        edge = 26.0 + math.sqrt(2 * depth)
        low = (1 + c) * min(a) - c * max(b) - edge
        high = (1 + c) * max(a) - c * min(b) + edge
        u = np.linspace(low, high, max(200, min(20_000, math.ceil(high - low))))
        for _ in range(2):  # narrow down; the first grid may be coarse
            _, weight = self._weight(c, u)
            step = u[1] - u[0]
            room = depth + 2 * step * (abs(u).max() + step)
            keep = np.flatnonzero(weight > weight.max() - room)
            low, high = float(u[keep[0]] - 2 * step), float(u[keep[-1]] + 2 * step)
            u = np.linspace(low, high, max(200, min(20_000, math.ceil(2 * (high - low)))))
        return low, high

    def atoms(self, c: float) -> tuple[np.ndarray, np.ndarray]:
        low, high = self._support(c, 40.0)
        u = np.arange(low, high, PLANNING_STEP)
        loss, weight = self._weight(c, u)
        keep = weight > weight.max() - 40
        return loss[keep], weight[keep] + math.log(PLANNING_STEP / math.sqrt(2 * math.pi))

    def finish_double(self, z: Any, total: Any, log_scale: float) -> Any:
        return total

    def step(self, margin: float, scale: float) -> float:
        """First guess of the inner step; the contour checks it and asks for less."""
        gaps = [
            abs(float((x - y) / self.sigma))
            for part in (self.upper, self.lower)
            for x, y in zip(part.shifts[1:], part.shifts, strict=False)
        ]
        strip = math.pi / max(gaps, default=1.0)
        first = 2 * math.pi * strip / (margin + min(strip, 9.0) ** 2 / 2)
        return scale * min(first, 2 * math.pi / math.sqrt(2 * margin))

    def nodes(self, c: float, depth: float, margin: float, scale: float) -> tuple[list[Any], ...]:
        h = self.step(margin, scale)
        low, high = self._support(c, depth)
        k = np.arange(math.floor(low / h), math.ceil(high / h) + 1)
        _, weight = self._weight(c, k * h)
        edge = np.flatnonzero(weight > weight.max() - depth)
        if edge[0] == 0 or edge[-1] == len(k) - 1:
            raise AssertionError("the node range is too short")
        step = flint.arb(h)
        scale_ball = step / (2 * flint.arb.pi()).sqrt()
        parts = [
            (part.weights.balls(), [to_arb(a / self.sigma) for a in part.shifts])
            for part in (self.upper, self.lower)
        ]
        losses, weights = [], []
        for index in k[edge[0] : edge[-1] + 1]:
            u = step * int(index)
            log_p, log_q = (
                sum((w * (a * (u - a / 2)).exp() for w, a in zip(*x, strict=True)), flint.arb(0))
                for x in parts
            )
            losses.append((log_p / log_q).log())
            weights.append(scale_ball * log_p * (-u * u / 2).exp())
        return losses, weights

    def finish(self, z: Any, total: Any) -> Any:
        return total


def log_mixture(weights: np.ndarray, shifts: np.ndarray, u: np.ndarray) -> np.ndarray:
    """log sum_k w_k exp(a_k u - a_k^2/2) for weights that sum to one."""
    exponents = shifts[:, None] * (u - shifts[:, None] / 2)
    with np.errstate(divide="ignore", over="ignore"):
        terms = np.log(weights)[:, None] + exponents
        top = terms.max(axis=0)
        large = top + np.log(np.exp(terms - top).sum(axis=0))
        excess = weights @ np.expm1(np.minimum(exponents, 30.0))
        small = np.log1p(np.maximum(excess, -0.5))
    near = (exponents.max(axis=0) < 30.0) & (excess > -0.5)
    return np.asarray(np.where(near, small, large))


def to_arb(x: Fraction) -> Any:
    """A ball around the rational x at the working precision."""
    return flint.arb(x.numerator) / x.denominator


# ------------------------------------------------------------------------------ the pairs in use


def _two(q: Fraction, shift: Fraction | int) -> Mixture:
    if q == 1:
        return Mixture(Given((q,)), (Fraction(shift),))
    return Mixture(Given((1 - q, q)), (Fraction(0), Fraction(shift)))


def sampled(one: Step, direction: str) -> MixtureLaw:
    """Poisson sampling: the pairs of ``pairs``."""
    far = _two(one.q, 1)
    if direction == "remove":
        return MixtureLaw(far, NULL, one.sigma)
    if direction == "add":
        return MixtureLaw(NULL, far, one.sigma)
    return MixtureLaw(far, _two(one.q, -1), one.sigma)


def without_replacement(
    q: Fraction, sigma: Fraction, z: Fraction | int = -1, record: int = 1, other: int = -1
) -> MixtureLaw:
    """One record replaced (``record`` against ``other``), all others equal to ``z``."""
    upper, lower = (NULL if shift == 0 else _two(q, shift) for shift in (record - z, other - z))
    return MixtureLaw(upper, lower, sigma)


def with_replacement(
    copies: Copies, sigma: Fraction, z: Fraction | int = -1, record: int = 1, other: int = -1
) -> MixtureLaw:
    """The same for draws with replacement: the shift is paid once per copy."""

    def mixture(shift: Fraction | int) -> Mixture:
        if shift == 0:
            return NULL
        return Mixture(copies, tuple(Fraction(shift) * k for k in range(copies.largest + 1)))

    return MixtureLaw(mixture(record - z), mixture(other - z), sigma)
