"""Pairs of distributions on a line: densities at nodes, and what bounds their quadrature.

The output u is measured in noise standard deviations.  ``Mixture`` is the law of a sum in which
a record occurs K times, sum p_k N(k gap, 1), beside N(0, 1) (``REMOVE``), N(0, 1) beside it
(``ADD``), or beside its mirror image (``REPLACE``, one copy only): the dominating pairs of
docs/proofs/poisson.md and docs/proofs/fixed-size.md.  The bounds below are derived in
docs/proofs/renyi.md.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.renyi.series import entropy_excess, log_excess

Array = NDArray[np.float64]

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_FAR = 600.0  # exponents above this are kept in logarithms
_LOW = -0.5  # density ratios below 1 + this are summed from positive terms


class Order(enum.Enum):
    """Which distribution comes first."""

    REMOVE = "remove"
    ADD = "add"
    REPLACE = "replace"


@dataclass(frozen=True)
class Mixture:
    """sum p_k N(k gap, 1), the output when a record occurs k times with probability p_k.

    Attributes
    ----------
    probabilities : tuple of float
        p_0 … p_kappa, summing to 1; p_0 > 0 and some other one too.
    gap : float
        Shift of one copy in noise standard deviations, > 0.
    """

    probabilities: tuple[float, ...]
    gap: float

    @property
    def absent(self) -> float:
        """p_0."""
        return self.probabilities[0]

    @property
    def present(self) -> float:
        """1 - p_0, summed from its parts."""
        return math.fsum(self.probabilities[1:])

    @property
    def log_absent(self) -> float:
        """log p_0, from 1 - p_0 where that is small."""
        return math.log1p(-self.present) if self.present < 0.5 else math.log(self.absent)

    @property
    def reach(self) -> float:
        """Largest shift."""
        return self.gap * (len(self.probabilities) - 1)

    def relative(self, u: Array) -> tuple[Array, Array]:
        """(density ratio to N(0, 1)) - 1 at ``u``, and the log of the ratio."""
        k = np.arange(1, len(self.probabilities), dtype=u.dtype)[:, None]
        p = np.array(self.probabilities[1:], dtype=u.dtype)
        y = (k * self.gap) * u - 0.5 * np.square(k * self.gap)
        if y.max() < _FAR:
            w = np.expm1(y[0]) * p[0] if p.size == 1 else p @ np.expm1(y)
            if w.min() > _LOW:
                return w, np.log1p(w)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            w = p @ np.expm1(y)
            log_ratio = np.log1p(w)
            # Where w overflows, and where 1 + w cancels: p_0 may be below its rounding.
            hard = (y.max(axis=0) > _FAR) | (w <= _LOW)
            terms = y[:, hard] + np.log(p)[:, None]
            log_ratio[hard] = np.logaddexp(self.log_absent, np.logaddexp.reduce(terms, axis=0))
            return w, log_ratio

    def log_power_mean(self, b: Array) -> tuple[Array, Array]:
        """Minkowski's upper bound on log E r^(1+b), and a bound on its excess.

        r is the density ratio; E is over N(0, 1).  ||r|| <= sum p_k ||r_k|| in L^(1+b), where
        ||r_k|| = exp(b (k gap)^2/2); each single term is a lower bound.
        """
        k = np.arange(1, len(self.probabilities), dtype=np.float64)
        p = np.array(self.probabilities[1:])
        growth = 0.5 * b[:, None] * np.square(k * self.gap)
        with np.errstate(divide="ignore", under="ignore", over="ignore", invalid="ignore"):
            terms = growth + np.log(p)
            far = np.logaddexp(self.log_absent, np.logaddexp.reduce(terms, axis=1))
            near = np.log1p(np.expm1(growth) @ p)
        log_norm = np.where(growth[:, -1] < _FAR, near, far)
        top = np.maximum(terms.max(axis=1), self.log_absent)
        return (1 + b) * log_norm, (1 + b) * (log_norm - top)

    def size(self, b: Array) -> Array:
        """Lower bound on log E r^(1+b), at least 1: what errors of it are compared with."""
        value, excess = self.log_power_mean(b)
        return np.maximum(value - excess, 1.0)


@dataclass(frozen=True)
class Nodes:
    """A pair (P, Q) at equidistant or Gaussian nodes.

    Attributes
    ----------
    loss : ndarray, shape (J,)
        log(P/Q).
    log_mass : ndarray, shape (J,)
        log of node weight times density of P.
    slope : float
        E_Q[(P/Q) log(P/Q) - P/Q + 1], the part of the moment that is linear in order - 1.
    """

    loss: Array
    log_mass: Array
    slope: float


def line_nodes(mixture: Mixture, order: Order, u: Array, step: float) -> Nodes:
    """The pair at equidistant nodes ``u``."""
    base = math.log(step) - _HALF_LOG_TWO_PI - 0.5 * u * u
    w, log_ratio = mixture.relative(u)
    if order is Order.REMOVE:
        log_mass = base + log_ratio
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = np.where(
                w < 1e100,
                np.exp(base) * entropy_excess(w, log_ratio),
                np.exp(log_mass) * (log_ratio - 1) + np.exp(base),
            )
        return Nodes(log_ratio, log_mass, float(slopes.sum()))
    if order is Order.ADD:
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = np.where(
                w < 1e100,
                np.exp(base) * log_excess(w, log_ratio),
                np.exp(base + log_ratio),
            )
        return Nodes(-log_ratio, base, float(slopes.sum()))
    other_w, other = mixture.relative(-u)
    loss = log_ratio - other
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        relative = np.where(1 + other_w > 1e-8, (w - other_w) / (1 + other_w), np.expm1(loss))
        slopes = np.where(
            np.maximum(w, other_w) < 1e100,
            np.exp(base + other) * entropy_excess(relative, loss),
            np.exp(base + log_ratio) * np.maximum(loss - 1, 0) + np.exp(base + other),
        )
    return Nodes(loss, base + log_ratio, float(slopes.sum()))
