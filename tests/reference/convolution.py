"""delta(epsilon) by repeated convolution of the loss density: positive terms only, no transform.

Where few steps carry the privacy loss (small T, tiny q) the characteristic function decays so
slowly that inversion is out of reach; here nothing oscillates and nothing cancels.

*One-sided* (remove, add).  L - log(1 - q) = S > 0.  The log of the density of S under Q is kept
on a uniform grid of y = log S; two sums are combined by

    f(s) = int f_a(s p) f_b(s (1 - p)) s dp,     p = 1 / (1 + e^-w),  trapezoid in w.

*Two-sided* (replace).  g(l) = e^(l/2) f_Q(l) is even and convolves like a density.  It is kept on
a uniform grid of y = asinh(l / A).  The integrand has a peak where l' is near 0 and one where
l - l' is near 0; a smooth partition of unity gives each to the variable that resolves it.

Densities of P follow from f_P(l) = e^l f_Q(l).  Interpolation is of degree 9 in log f.  The number
of digits comes from a second run with other steps; double precision caps it at about 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from .pairs import Step

_DEGREE = 9
T = TypeVar("T")


@dataclass(frozen=True)
class Steps:
    """Resolution of one run: grid step of the tables and of the integrals (relative)."""

    table: float
    integral: float
    floor: float = 700.0  # logs of densities below (maximum - floor) are dropped


COARSE = Steps(table=0.030, integral=0.030)
FINE = Steps(table=0.0191, integral=0.0213)

_OFFSETS = np.arange(_DEGREE + 1) - _DEGREE // 2
_FIT = np.linalg.inv(np.vander(_OFFSETS.astype(float), increasing=True))


class LogTable:
    """log of a density on a uniform grid, with local interpolation of degree 9."""

    def __init__(self, start: float, step: float, values: np.ndarray) -> None:
        self.start, self.step, self.values = start, step, values
        lead = _DEGREE // 2
        count = len(values) - _DEGREE
        windows = np.lib.stride_tricks.sliding_window_view(values, _DEGREE + 1)
        # differences from the central value keep the digits of large logs
        centre = windows[:, lead]
        self._coefficients = (_FIT @ (windows - centre[:, None]).T).copy()
        self._coefficients[0] += centre
        self._lead, self._count = lead, count

    @property
    def grid(self) -> np.ndarray:
        return self.start + self.step * np.arange(len(self.values))

    def __call__(self, y: np.ndarray) -> np.ndarray:
        position = (y - self.start) / self.step - self._lead
        cell = np.floor(position).astype(np.int64)
        inside = (cell >= 0) & (cell < self._count)
        cell = np.clip(cell, 0, self._count - 1)
        x = position - cell
        value = self._coefficients[_DEGREE].take(cell)
        for k in range(_DEGREE - 1, -1, -1):
            value = value * x + self._coefficients[k].take(cell)
        return np.asarray(np.where(inside, value, -np.inf))


def _trim(start: float, step: float, values: np.ndarray, floor: float) -> LogTable:
    """Keep the part above the floor (it is one interval: the densities are unimodal in logs)."""
    keep = np.flatnonzero(values > values.max() - floor)
    return LogTable(start + step * int(keep[0]), step, values[keep[0] : keep[-1] + 1])


def _log_sum(exponents: np.ndarray) -> np.ndarray:
    """Row-wise log of the sum of exponentials; -inf for empty rows."""
    top = exponents.max(axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.exp(exponents - safe[:, None]).sum(axis=1)))


# ------------------------------------------------------------------ one-sided: remove and add


def _single_one_sided(one: Step, steps: Steps) -> LogTable:
    """log f_S(e^y) of one step, exactly: S = softplus(V), V = logit q + s u - s^2 / 2."""
    q, s = float(one.q), 1.0 / float(one.sigma)
    middle = math.log(q) - math.log1p(-q) - s * s / 2
    low = middle - 40.0 * s
    high = math.log(max(middle + 40.0 * s, 1.0)) + 0.5
    step = steps.table * min(1.0, 4.0 * s)
    y = low + step * np.arange(math.ceil((high - low) / step))
    big_s = np.exp(y)
    capped = np.minimum(big_s, 30.0)
    v = np.where(big_s > 30, big_s, np.log(np.expm1(capped)))  # e^-30 is below rounding
    u = (v - middle) / s
    log_slope = math.log(s) - np.log1p(np.exp(-v))  # dS/du = s * sigmoid(V)
    return _trim(low, step, -u * u / 2 - 0.5 * math.log(2 * math.pi) - log_slope, steps.floor)


def _moments(table: LogTable) -> tuple[float, float]:
    """(mass, relative spread) of S under Q."""
    y = table.grid
    weight = np.exp(table.values + y)
    mass = float(weight.sum() * table.step)
    mean = float((weight * y).sum() * table.step) / mass
    spread = float((weight * (y - mean) ** 2).sum() * table.step) / mass
    return mass, math.sqrt(spread)


def _join_one_sided(a: LogTable, b: LogTable, steps: Steps) -> LogTable:
    """log density of the sum of independent S_a and S_b."""
    width = min(_moments(a)[1], _moments(b)[1], 1.0)
    step = min(steps.table * min(1.0, 4 * width), min(a.step, b.step) * 1.5)
    dw = steps.integral * min(1.0, 8 * width)
    y_a, y_b = a.grid, b.grid
    low = float(np.logaddexp(y_a[0], y_b[0]))
    high = float(np.logaddexp(y_a[-1], y_b[-1]))
    y = low + step * np.arange(math.ceil((high - low) / step) + 1)
    out = np.empty_like(y)
    rows = 40
    for i in range(0, len(y), rows):
        block = y[i : i + rows, None]
        # beyond these w one part has left its table
        first = math.floor((y_a[0] - block[-1, 0] - 0.1) / dw)
        last = math.ceil((block[-1, 0] - y_b[0] + 0.1) / dw)
        w = np.arange(first, last + 1) * dw
        log_p, log_r = -np.logaddexp(0.0, -w), -np.logaddexp(0.0, w)
        exponents = a(block + log_p) + b(block + log_r) + block + log_p + log_r
        out[i : i + rows] = _log_sum(exponents) + math.log(dw)
    return _trim(low, step, out, steps.floor)


# --------------------------------------------------------------------------- two-sided: replace


@dataclass(frozen=True)
class EvenTable:
    """log g(A sinh y) for an even g."""

    scale: float
    table: LogTable

    def __call__(self, loss: np.ndarray) -> np.ndarray:
        return self.table(np.arcsinh(np.abs(loss) / self.scale))


def _even(scale: float, step: float, values: np.ndarray, floor: float) -> EvenTable:
    """From values at y = 0, step, ...: mirrored so that interpolation at 0 is central."""
    keep = int(np.flatnonzero(values > values.max() - floor)[-1]) + 1
    mirror = values[1 : _DEGREE + 2][::-1]
    return EvenTable(
        scale, LogTable(-step * len(mirror), step, np.concatenate([mirror, values[:keep]]))
    )


def _single_two_sided(one: Step, steps: Steps) -> EvenTable:
    q, s = float(one.q), 1.0 / float(one.sigma)
    front = 2 * q * math.exp(-s * s / 2)

    def loss(u: np.ndarray) -> np.ndarray:
        low = 1 + q * np.expm1(-s * u - s * s / 2)
        with np.errstate(over="ignore"):
            direct = np.log1p(front * np.sinh(np.minimum(s * u, 300.0)) / low)
        tail = math.log(q) + s * u - s * s / 2 - np.log(low)
        return np.where(s * u < 250.0, direct, tail)

    scale = float(loss(np.array([min(1.0, 1.0 / s)]))[0])
    top = float(loss(np.array([42.0]))[0])
    step = steps.table * 0.7
    y = step * np.arange(math.ceil(math.asinh(top / scale) / step))
    target = scale * np.sinh(y)
    low, high = np.zeros_like(y), np.full_like(y, 42.5)
    for _ in range(80):
        middle = (low + high) / 2
        below = loss(middle) < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    u = (low + high) / 2
    # dL/du = s (posterior of the far component under P + the same under Q)
    plus = q / (q + (1 - q) * np.exp(np.minimum(s * s / 2 - s * u, 700.0)))
    minus = q / (q + (1 - q) * np.exp(np.minimum(s * s / 2 + s * u, 700.0)))
    log_q_density = np.log(1 + q * np.expm1(-s * u - s * s / 2)) - u * u / 2
    log_f = log_q_density - 0.5 * math.log(2 * math.pi) - np.log(s * (plus + minus))
    return _even(scale, step, log_f + target / 2, steps.floor)


def _join_two_sided(a: EvenTable, b: EvenTable, steps: Steps) -> EvenTable:
    scale = math.hypot(a.scale, b.scale)
    step = steps.table * 0.7
    # tails no lighter than Gaussian: what lies beyond this is below the floor
    top = math.hypot(*(float(t.scale * np.sinh(t.table.grid[-1])) for t in (a, b)))
    y = step * np.arange(math.ceil(math.asinh(top / scale) / step))
    target = scale * np.sinh(y)
    dy = steps.integral * 0.7
    out = np.full_like(y, -np.inf)
    for inner, outer in ((a, b),) if a is b else ((a, b), (b, a)):
        grid = np.arange(
            -math.ceil(inner.table.grid[-1] / dy), math.ceil(inner.table.grid[-1] / dy)
        )
        x = inner.scale * np.sinh(grid * dy)
        base = inner(x) + np.log(np.cosh(grid * dy)) + math.log(inner.scale * dy)
        log_h_in = 6 * np.log(inner.scale**2 + x * x)
        for i in range(0, len(y), 200):
            rest = target[i : i + 200, None] - x
            log_h_out = 6 * np.log(outer.scale**2 + rest * rest)
            exponents = base + outer(rest) - np.logaddexp(0.0, log_h_in - log_h_out)
            out[i : i + 200] = np.logaddexp(out[i : i + 200], _log_sum(exponents))
    if a is b:
        out += math.log(2.0)
    return _even(scale, step, out, steps.floor)


# ---------------------------------------------------------------------------------- the answers


def _compose(
    parts: Sequence[Step],
    steps: Steps,
    single: Callable[[Step, Steps], T],
    join: Callable[[T, T, Steps], T],
) -> T:
    """Binary powers of each part, joined smallest first."""
    total: T | None = None
    for one in parts:
        power, count = single(one, steps), one.count
        while True:
            if count & 1:
                total = power if total is None else join(total, power, steps)
            count >>= 1
            if not count:
                break
            power = join(power, power, steps)
    assert total is not None
    return total


class Profile:
    """delta(epsilon) of one composition in one direction at one resolution."""

    def __init__(self, parts: Sequence[Step], direction: str, steps: Steps) -> None:
        if any(one.q == 1 for one in parts):
            raise ValueError("q=1: use the closed form")
        self.direction, self.steps = direction, steps
        self.offset = sum(one.count * math.log1p(-float(one.q)) for one in parts)
        if direction == "replace":
            self._even = _compose(parts, steps, _single_two_sided, _join_two_sided)
        else:
            self._table = _compose(parts, steps, _single_one_sided, _join_one_sided)

    def mass(self) -> float:
        """Total mass of Q; 1 up to the error of the tables (replace: by the mirrored pair)."""
        if self.direction != "replace":
            return _moments(self._table)[0]
        grid = self._even.table.grid
        grid = grid[grid >= 0]
        loss = self._even.scale * np.sinh(grid)
        weight = self._even(loss) + np.log(2 * np.cosh(loss / 2)) + np.log(np.cosh(grid))
        weight[0] -= math.log(2.0)
        return float(np.exp(weight).sum() * self._even.scale * self._even.table.step)

    def log_delta(self, epsilon: float) -> float:
        """log delta(epsilon); -inf where it is exactly 0."""
        r = np.arange(-60.0, 45.0, self.steps.integral / 3)
        if self.direction == "add":
            edge = -epsilon - self.offset
            if edge <= 0:
                return -math.inf
            log_p, log_r = -np.logaddexp(0.0, -r), -np.logaddexp(0.0, r)
            gain = np.log(-np.expm1(-edge * np.exp(log_r)))
            terms = self._table(math.log(edge) + log_p) + gain + log_p + log_r + math.log(edge)
        else:
            x = np.exp(np.minimum(r, 12.0)) * max(abs(epsilon), 1e-3)
            loss = epsilon + x
            gain = loss + np.log(-np.expm1(-x)) + np.log(x)
            if self.direction == "remove":
                above = loss - self.offset
                ok = above > 0
                terms = np.where(ok, self._table(np.log(np.where(ok, above, 1.0))) + gain, -np.inf)
            else:
                terms = self._even(loss) - loss / 2 + gain
        return float(_log_sum(terms[None, :])[0]) + math.log(self.steps.integral / 3)

    def epsilon(self, log_delta: float) -> float:
        """The epsilon with this log delta (0 if delta(0) is already smaller)."""
        if self.log_delta(0.0) <= log_delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.log_delta(high) > log_delta:
            low, high = high, 2 * high
        for _ in range(200):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            if self.log_delta(middle) > log_delta:
                low = middle
            else:
                high = middle
        return (low + high) / 2


def _pair(floor: float) -> tuple[Steps, Steps]:
    return replace(COARSE, floor=floor), replace(FINE, floor=floor)


def delta_reference(parts: Sequence[Step], direction: str, epsilon: float) -> tuple[float, float]:
    """(log delta, digits of delta on which two resolutions agree)."""
    a = b = -math.inf
    floor = 190.0 + max(epsilon, 0.0)
    while b < -(floor - max(epsilon, 0.0) - 110.0):
        if floor > 2e3:
            raise ArithmeticError(f"delta at epsilon={epsilon} is too small for this method")
        a, b = (Profile(parts, direction, s).log_delta(epsilon) for s in _pair(floor))
        floor *= 2
    return b, -math.log10(max(abs(math.expm1(a - b)), 1e-16))


def epsilon_reference(parts: Sequence[Step], direction: str, delta: float) -> tuple[float, float]:
    """(epsilon, digits on which two resolutions agree)."""
    a = b = math.inf
    floor = 110.0 - math.log(delta) + 30.0
    while b > floor - 110.0 + math.log(delta):
        a, b = (Profile(parts, direction, s).epsilon(math.log(delta)) for s in _pair(floor))
        floor = 2 * floor + b
    if a == b:
        return b, 15.0
    return b, -math.log10(max(abs(a / b - 1), 1e-16))
