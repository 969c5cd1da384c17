"""Rényi divergences from the symmetric closure of one-step profiles.

A profile bound of the form

    H_a <= weight * integral (P - a Q)_+   for all a >= 1

is a half line u > u_0 of outputs, since P/Q increases where it exceeds 1.  If h bounds the profile
in one order and h' in the other (the same, where the relation is symmetric), then

    M - 1 <= order (order-1) integral_1^inf [a^(order-2) h(a) + a^(-order-1) h'(a)] da,

and the two parts are the integrals of Q g(P/Q) for g(r) = r^order - 1 - order (r - 1) ("up") and of
Q g'(P'/Q') for g' with 1 - order in place of order ("down"), over the half lines.  The integrands
do not vanish to all orders at u_0, so that Gauss-Legendre panels take the place of the trapezoid
rule (derived in docs/proofs/renyi.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy import optimize

from accountants.renyi.lines import Mixture, Nodes, Order
from accountants.renyi.quadrature import COARSE, MAX_TERMS, log_moments
from accountants.renyi.series import ROUND, entropy_excess, log_excess
from accountants.renyi.strips import rounding, smallest_excess

Array = NDArray[np.float64]

_ORDER = 32
_POINTS, _WEIGHTS = leggauss(_ORDER)
_ELLIPSE = 4.0  # sum of the semi-axes of the ellipse, in half widths of a panel
_ANGLE = 0.5 * math.pi
_DIGITS = 32.0  # nats below the moment that the tail beyond the last panel aims at
_MAX_NODES = 500_000
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class HalfLine:
    """The profile weight * integral (P - a Q)_+ for a >= 1.

    Attributes
    ----------
    upper : Mixture
        P = sum p_k N(k gap).
    lower : tuple of float
        Q = d_0 N(0) + d_1 N(lower_gap), of mass at most 1.
    lower_gap : float
        Less than the gap of ``upper``.
    weight : float
    """

    upper: Mixture
    lower: tuple[float, float]
    lower_gap: float = 0.0
    weight: float = 1.0

    def relative(self, u: Array) -> tuple[Array, Array, Array]:
        """P/Q - 1, log(P/Q) and the log of Q relative to N(0, 1)."""
        p = self.upper.probabilities
        d, t = self.lower[1], self.lower_gap
        y = t * u - 0.5 * t * t
        more, log_upper = self.upper.relative(u)
        short = math.fsum((*p, -self.lower[0], -d))
        with np.errstate(over="ignore", invalid="ignore"):
            log_lower = self._log_lower(y)
            # sum p_k (r_k - 1) - d (r - 1) + what Q lacks
            if d > 0 and t > 0:
                first = self.upper.gap * u - 0.5 * self.upper.gap**2
                rest = Mixture((1.0, 0.0, *p[2:]), self.upper.gap).relative(u)[0]
                pair = p[1] * np.exp(y) * np.expm1(first - y) + (p[1] - d) * np.expm1(y)
                gained = pair + rest + short
            else:
                gained = more + short
            w = gained * np.exp(-log_lower)
            near = (w > -0.5) & (w < 1e100)
            loss = np.where(near, np.log1p(np.where(near, w, 0.0)), log_upper - log_lower)
        return w, loss, log_lower

    def _log_lower(self, y: Array) -> Array:
        """log of Q relative to N(0, 1), of the log ``y`` of its second term's ratio."""
        d_0, d = self.lower
        if d_0 + d > 0.5:
            # Terms of a sum near 1, but where one of them outgrows the doubles.
            near = np.log1p(d * np.expm1(np.minimum(y, 600.0)) + (d_0 + d - 1))
            return np.where(y > 600, y + math.log(d) if d > 0 else 0.0, near)
        with np.errstate(divide="ignore"):  # a term that is not there
            log_first, log_second = np.log(np.array([d_0, d]))
        lower: Array = np.logaddexp(log_first, log_second + y)
        return lower

    def start(self) -> float:
        """u_0, where P = Q."""
        p, d = self.upper.probabilities, self.lower
        if len(p) == 2 and (d == (1.0, 0.0) or d == p):
            # The record's own two laws meet in the middle.
            return 0.5 * (self.upper.gap + (self.lower_gap if d == p else 0.0))

        def loss(u: float) -> float:
            return float(self.relative(np.array([u]))[0][0])

        high = 1.0
        while loss(high) < 0:
            high *= 2
        low = -1.0
        # Where Q lacks mass, P > Q may hold from far on the left.
        while loss(low) > 0:
            low *= 2
            if low < -64:
                return low
        return float(optimize.brentq(loss, low, high, xtol=1e-14))

    def edge(self, b: float) -> float:
        """Range beyond the tilted mean that orders from 1 + ``b`` on need."""
        least = smallest_excess(self.upper, Order.REMOVE, b) * self.weight
        return math.sqrt(2 * (_DIGITS + math.log(1 + (1 + b) / least)))

    def rounding(self, b: Array, unit: float = ROUND) -> Array:
        """Bound on the relative error of the parts that floats leave; see ``strips.rounding``."""
        parts = rounding(self.upper, Order.REMOVE, b, self.edge(float(b[0])), unit)
        return parts * (2.0 if self.lower_gap > 0 else 1.0)

    def panels(self, b_low: float, b_high: float) -> Panels:
        """Gauss-Legendre panels that suit the orders 1 + ``b_low`` … 1 + ``b_high``."""
        c = self.upper.reach
        tall = 0.5 * (_ELLIPSE - 1 / _ELLIPSE)
        half = min(0.5, 0.98 * _ANGLE / (tall * c))
        first = self.start()
        last = c * (1 + b_high) + self.edge(b_low)
        count = max(1, math.ceil((last - first) / (2 * half)))
        return Panels(self, first, half, count)


@dataclass(frozen=True)
class Panels:
    """``count`` panels of half width ``half`` from ``first`` on.

    Attributes
    ----------
    line : HalfLine
        The half line that they cover.
    first, half : float
        Start, and half the width of one.
    count : int
        How many.
    """

    line: HalfLine
    first: float
    half: float
    count: int

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.count * _ORDER

    def nodes(self, dtype: type = np.float64) -> tuple[Nodes, Nodes]:
        """The pair for the part "up" and for the part "down"."""
        centres = self.first + self.half * (2 * np.arange(self.count, dtype=dtype) + 1)
        u = np.add.outer(centres, self.half * _POINTS).ravel()
        w, loss, log_lower = self.line.relative(u)
        loss, w = np.maximum(loss, 0.0), np.maximum(w, 0.0)
        log_weight = math.log(self.half * self.line.weight) + np.tile(np.log(_WEIGHTS), self.count)
        base = log_weight - _HALF_LOG_TWO_PI - 0.5 * u * u + log_lower
        with np.errstate(over="ignore", invalid="ignore"):
            near = w < 1e100
            up = np.where(
                near,
                np.exp(base) * entropy_excess(w, loss),
                np.exp(base + loss) * (loss - 1) + np.exp(base),
            )
            down = np.where(near, np.exp(base) * log_excess(w, loss), np.exp(base + loss))
        return (
            Nodes(loss, base + loss, float(up.sum())),
            Nodes(-loss, base, float(down.sum())),
        )

    def log_errors(self, b: Array) -> tuple[Array, Array]:
        """Logs of bounds on the error of the parts "up" and "down": quadrature and tail."""
        half, upper = self.half, self.line.upper
        wide = 0.5 * half * (_ELLIPSE + 1 / _ELLIPSE)
        tall = 0.5 * half * (_ELLIPSE - 1 / _ELLIPSE)
        centres = self.first + half * (2 * np.arange(self.count, dtype=np.float64) + 1)
        left: Array = centres - wide
        right: Array = centres + wide
        cosine = math.cos(upper.reach * tall)
        # Values on the ellipse: |P| <= P(right), |P| >= the sum with real parts at the left end.
        log_left, log_right = upper.relative(left)[1], upper.relative(right)[1]
        floor = upper.absent
        log_low = np.log(cosine * np.exp(np.minimum(log_left, 600.0)) + (1 - cosine) * floor)
        q_left = self.line.relative(left)[2]
        q_high = np.maximum(self.line.relative(right)[2], q_left)
        q_low = np.log(
            cosine * np.exp(np.minimum(q_left, 600.0)) + (1 - cosine) * self.line.lower[0]
        )
        near_zero = np.where(left > 0, left, np.where(right < 0, right, 0.0))
        bell = -0.5 * near_zero**2
        slope = (log_right - log_left) / (right - left)
        alpha = 1 + b[:, None]
        at = np.clip(alpha * slope, left, right)
        power = -0.5 * at * at + alpha * (log_left + slope * (at - left)) - b[:, None] * q_low
        linear = bell + np.maximum(log_right, q_high) + np.log(1 + 2 * alpha)
        inverse = bell - b[:, None] * log_low + alpha * q_high
        constant = (
            math.log(64 / 15 * half * self.line.weight)
            - _HALF_LOG_TWO_PI
            + 0.5 * tall * tall
            - 2 * (_ORDER - 1) * math.log(_ELLIPSE)
            - math.log1p(-(_ELLIPSE**-2))
        )
        up = constant + np.logaddexp(_log_sum(power), _log_sum(linear))
        down = constant + np.logaddexp(_log_sum(inverse), _log_sum(linear))
        end = np.array([self.first + 2 * half * self.count])
        beyond = end - upper.reach * alpha[:, 0]  # slope of the log of the integrand there
        _, loss, log_lower = self.line.relative(end)
        height = math.log(self.line.weight) - _HALF_LOG_TWO_PI - 0.5 * end * end + log_lower
        tail_up = height + alpha[:, 0] * loss - np.log(beyond)
        tail_down = height + loss + np.log(b) - np.log(end - upper.reach)
        return np.logaddexp(up, tail_up), np.logaddexp(down, tail_down)


def _log_sum(x: Array) -> Array:
    top = x.max(axis=1)
    with np.errstate(under="ignore"):
        total: Array = top + np.log(np.exp(x - top[:, None]).sum(axis=1))
    return total


def log_parts(line: HalfLine, b: Array) -> tuple[Array, Array]:
    """Logs of upper bounds on the parts "up" and "down" for orders 1 + ``b``, increasing."""
    up, down = np.full(b.shape, math.inf), np.full(b.shape, math.inf)
    wide = b * line.upper.reach
    level = np.floor(np.log2(np.maximum(wide / 100.0, 1.0)) / 2)
    for some in np.split(np.arange(b.size), np.flatnonzero(np.diff(level)) + 1):
        panels = line.panels(float(b[some[0]]), float(b[some[-1]]))
        terms = panels.size * len(line.upper.probabilities)
        if panels.size > _MAX_NODES or terms > MAX_TERMS // 10:
            continue
        apart = Mixture(line.upper.probabilities, line.upper.gap - line.lower_gap)
        fine = (line.rounding(b[some]) > COARSE * apart.size(b[some])).any()
        dtype = np.longdouble if fine else np.float64
        lost = line.rounding(b[some], float(np.finfo(dtype).eps) / 2)
        ends = np.full(some.size, panels.size)
        for part, nodes, error in zip(
            (up, down), panels.nodes(dtype), panels.log_errors(b[some]), strict=True
        ):
            found = log_moments(nodes, b[some], ends).astype(np.float64)
            part[some] = np.logaddexp(found + lost, error)
    return up, down
