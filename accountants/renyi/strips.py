"""Error bounds of the trapezoid rule for Rényi moments of a pair on a line.

For a function f that is analytic in |Im u| < a, with integrals of |f(. + iy)| at most N there,
the trapezoid rule of step h errs by at most 2 N / (exp(2 pi a/h) - 1).  The constants N, and the
tails that are cut off, are derived in docs/proofs/renyi.md; b = order - 1 throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from accountants.renyi.lines import Mixture, Order
from accountants.renyi.series import ROUND

Array = NDArray[np.float64]

_DIGITS = 34.0  # nats below the moment that the errors aim at
_MANTISSA = 24


@dataclass(frozen=True)
class Strip:
    """Nodes for a set of orders and the bound on what they miss.

    Attributes
    ----------
    height : float
        Half height a of the strip that the bound uses.
    step : float
        Distance h of the nodes, with few digits, so that the nodes are exact.
    low, high : float
        Range of the nodes.
    edge : float
        The log of the integrand falls at least with this slope beyond the range of an order.
    tilt : float
        How much further that range reaches for each unit of the order.
    """

    height: float
    step: float
    low: float
    high: float
    edge: float
    tilt: float

    @staticmethod
    def of(mixture: Mixture, order: Order, b_low: float, b_high: float) -> Strip:
        """A strip that suits the orders 1 + ``b_low`` … 1 + ``b_high``."""
        least = smallest_excess(mixture, order, b_low)
        steep = 0.0 if order is Order.REMOVE else -b_high * mixture.log_absent
        digits = _DIGITS + steep + math.log(8 + (8 + 4 * b_low) / least)
        widest = math.pi / mixture.reach * (1.0 if order is Order.REMOVE else 0.5)
        height = min(math.sqrt(2 * digits), widest)
        step = _few_digits(2 * math.pi * height / (digits + 0.5 * height * height))
        edge = math.sqrt(2 * (_DIGITS + steep + math.log(1 + (2 + b_low) / least)))
        low = -edge - (mixture.reach if order is Order.REPLACE else 0.0)
        tilt = 0.0 if order is Order.ADD else mixture.reach
        if order is Order.REPLACE:  # what the mirror image adds to the slope beyond ``edge``
            tilt += mixture.reach * min(
                1.0, mixture.present / mixture.absent * math.exp(-mixture.reach * edge)
            )
        high = mixture.reach + tilt * b_high + edge
        first, last = math.floor(low / step), math.ceil(high / step)
        return Strip(height, step, first * step, last * step, edge, tilt)

    def ends(self, b: Array) -> NDArray[np.intp]:
        """How many nodes each order uses: those up to its own range."""
        unused = np.floor((b[-1] - b) * (self.tilt / self.step)).astype(np.intp)
        used: NDArray[np.intp] = self.size - unused
        return used

    @property
    def size(self) -> int:
        """Number of nodes."""
        return round((self.high - self.low) / self.step) + 1

    def nodes(self) -> Array:
        """The nodes, whole multiples of the step."""
        first = round(self.low / self.step)
        return self.step * np.arange(first, first + self.size, dtype=np.float64)

    def relative_error(
        self,
        mixture: Mixture,
        order: Order,
        b: Array,
        log_excess: Array,
        log_last: Array,
        unit: float = ROUND,
    ) -> Array:
        """Bound on (M - 1 - sum) / sum.

        Parameters
        ----------
        b : ndarray, shape (A,)
        log_excess : ndarray, shape (A,)
            log of the sum for M - 1.
        log_last : ndarray, shape (A,)
            log of the density of P times exp(b loss) at the last node that each order uses.
        unit : float
            Rounding unit of the nodes.
        """
        with np.errstate(over="ignore", under="ignore"):  # an infinite bound is one
            missed = self._missed(mixture, order, b, log_excess, log_last)
            return missed + rounding(mixture, order, b, self.edge, unit)

    def _missed(
        self, mixture: Mixture, order: Order, b: Array, log_excess: Array, log_last: Array
    ) -> Array:
        alpha, rising = 1 + b, -b * mixture.log_absent  # log of p_0^-b
        log_b, log_p = np.log(b), 2 * math.log(mixture.present)
        below, beyond = self.low, self.high - mixture.reach
        if order is Order.REMOVE:
            log_norm = np.log1p((2 + 2 * alpha) * np.exp(-log_excess))
            curved = np.log(alpha) + log_b + log_p - mixture.log_absent - math.log(2)
            left = np.minimum(log_b, curved) + special.log_ndtr(below)
        elif order is Order.ADD:
            log_norm = np.logaddexp(rising, np.log1p(2 * b)) - log_excess
            curved = np.log(alpha) + log_b + log_p - 2 * mixture.log_absent - math.log(2)
            left = rising + np.minimum(0.0, curved) + special.log_ndtr(below)
        else:
            twice = math.log(2) + rising + np.logaddexp(0.0, -log_excess)
            log_norm = np.logaddexp(twice, np.log1p(2 * alpha) - log_excess)
            both = special.log_ndtr([below, below + mixture.reach])
            left = log_b + np.logaddexp(both[0], both[1])
        right = (
            log_b + special.log_ndtr(-beyond)
            if order is Order.ADD
            else log_last - math.log(self.edge)
        )
        turns = 2 * math.pi * self.height / self.step
        fixed = math.log(2) + 0.5 * self.height**2 - turns - math.log(-math.expm1(-turns))
        error: Array = np.exp(log_norm + fixed) + np.exp(np.logaddexp(left, right) - log_excess)
        return error


def rounding(mixture: Mixture, order: Order, b: Array, edge: float, unit: float = ROUND) -> Array:
    """Bound on the relative error of a sum for M - 1 that floats leave.

    Each exponent b L - u^2/2 is a few units off for its size, at nodes up to ``edge`` beyond the
    tilted mean; sums of positive terms add what the adding loses.  ``unit`` is the rounding unit
    of the nodes; the gap itself is a double, and so is the result.
    """
    c = mixture.reach
    tilt = c * (np.ones_like(b) if order is Order.ADD else 1 + b)
    far = tilt + edge
    # At outputs below 0 a ratio moves by at most this for what its exponent does; there alone
    # powers of the inverse count, and of two mirror images one is there.
    calm = min(1.0, mixture.present / mixture.absent)
    losses = {Order.REMOVE: 1.0, Order.ADD: calm, Order.REPLACE: 1 + calm}[order]
    moved = (1 + losses * (1 + b)) * c * far
    units: Array = 1.5 * far**2 + 8 * moved + 4 * losses * (1 + b) * c * c
    return unit * units + ROUND * (200 + moved)


def smallest_excess(mixture: Mixture, order: Order, b: float) -> float:
    """Lower bound on M - 1: b KL >= 2 b TV^2, with TV at the middle of the nearest two means."""
    apart = mixture.gap * (2.0 if order is Order.REPLACE else 1.0)
    variation = mixture.present * math.erf(apart / (2 * math.sqrt(2)))
    return max(2 * b * variation * variation, 1e-280)


def _few_digits(step: float) -> float:
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.floor(math.ldexp(mantissa, _MANTISSA)), exponent - _MANTISSA)
