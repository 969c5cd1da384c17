"""delta(epsilon) by repeated convolution of the loss density: positive terms only, no transform.

Where few steps carry the privacy loss (small T, tiny q) the characteristic function decays so
slowly that inversion is out of reach; here nothing oscillates and nothing cancels.

*One-sided* (a mixture with shifts >= 0 against N(0), either order).  With w_0 the weight of
shift 0, L - log w_0 = S > 0.  The log of the density of S under Q is kept on a uniform grid of
y = log S; two sums are combined by

    f(s) = int f_a(s p) f_b(s (1 - p)) s dp,     p = 1 / (1 + e^-w),  trapezoid in w.

*Two-sided* (a mixture against its mirror image).  g(l) = e^(l/2) f_Q(l) is even and convolves
like a density.  It is kept on a uniform grid of y = asinh(l / A).  The integrand has a peak where
l' is near 0 and one where l - l' is near 0; a smooth partition of unity gives each to the
variable that resolves it.

Densities of P follow from f_P(l) = e^l f_Q(l).  Interpolation is of degree 9 in log f.  The number
of digits comes from a second run with other steps; double precision caps it at about 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .laws import NULL, Copies, Given, MixtureLaw
from .log_table import DEGREE, LogTable, log_sum, trim

Parts = Sequence[tuple[MixtureLaw, int]]

T = TypeVar("T")


@dataclass(frozen=True)
class Steps:
    """Resolution of one run: grid step of the tables and of the integrals (relative)."""

    table: float
    integral: float
    floor: float = 700.0  # logs of densities below (maximum - floor) are dropped


COARSE = Steps(table=0.030, integral=0.030)
FINE = Steps(table=0.0191, integral=0.0213)

# ------------------------------------------------------------------ one-sided: remove and add


@dataclass(frozen=True)
class _Components:
    """Weights and shifts (in units of the noise) of the components away from 0."""

    rest: float  # weight of the component at 0
    weights: np.ndarray
    shifts: np.ndarray

    def log_odds(self, u: np.ndarray) -> np.ndarray:
        """log of (density of the other components / density of the one at 0)."""
        return self._top(u)[0]

    def mean(self, u: np.ndarray) -> np.ndarray:
        """Posterior mean of the shift, given that it is not 0."""
        return self._top(u)[1]

    def _top(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        terms = np.log(self.weights / self.rest)[:, None] + self.shifts[:, None] * (
            u - self.shifts[:, None] / 2
        )
        top = terms.max(axis=0)
        share = np.exp(terms - top)
        total = share.sum(axis=0)
        return top + np.log(total), (self.shifts @ share) / total


def _components(law: MixtureLaw) -> _Components:
    mixture = law.upper if law.lower == NULL else law.lower
    if law.upper != NULL and law.lower != NULL:
        mixture = law.upper
    weights = mixture.weights.doubles()
    shifts = np.array([float(a / law.sigma) for a in mixture.shifts])
    if shifts[0] != 0 or len(shifts) < 2:
        raise ValueError("no component at 0, or none elsewhere: use the closed form")
    keep = weights[1:] > 1e-290
    return _Components(float(weights[0]), weights[1:][keep], shifts[1:][keep])


def kind(law: MixtureLaw) -> str:
    """Which of the forms above a pair has; ValueError when none."""
    for mixture in (law.upper, law.lower):
        if not isinstance(mixture.weights, Given | Copies):
            raise ValueError(f"{mixture}: unknown weights")
    if law.lower == NULL and min(law.upper.shifts) >= 0:
        return "upper"
    if law.upper == NULL and min(law.lower.shifts) >= 0:
        return "lower"
    mirrored = tuple(-a for a in law.lower.shifts)
    if law.upper.weights == law.lower.weights and law.upper.shifts == mirrored:
        return "mirrored"
    raise ValueError("a pair without monotone loss: not served by this method")


def _single_one_sided(law: MixtureLaw, steps: Steps) -> LogTable:
    """log f_S(e^y) of one step, exactly: S = softplus(V), V the log odds at u."""
    parts = _components(law)
    ends = parts.log_odds(np.array([-40.0, 40.0]))
    slope = float(parts.mean(np.array([0.0]))[0])
    low, high = float(ends[0]), math.log(max(float(ends[1]), 1.0)) + 0.5
    step = steps.table * min(1.0, 4.0 * slope)
    y = low + step * np.arange(math.ceil((high - low) / step))
    big_s = np.exp(y)
    capped = np.minimum(big_s, 30.0)
    v = np.where(big_s > 30, big_s, np.log(np.expm1(capped)))  # e^-30 is below rounding
    left, right = np.full_like(v, -42.0), np.full_like(v, 60.0)
    u = np.zeros_like(v)
    for _ in range(60):  # Newton's iteration, kept between bounds
        value = parts.log_odds(u)
        left, right = np.where(value < v, u, left), np.where(value < v, right, u)
        move = u - (value - v) / parts.mean(u)
        inside = (move > left) & (move < right)
        new = np.where(inside, move, (left + right) / 2)
        if np.all(np.abs(new - u) <= 4e-16 * np.abs(u)):
            break
        u = new
    log_slope = np.log(parts.mean(u)) - np.log1p(np.exp(-v))  # dS/du = mean * sigmoid(V)
    return trim(low, step, -u * u / 2 - 0.5 * math.log(2 * math.pi) - log_slope, steps.floor)


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
        out[i : i + rows] = log_sum(exponents) + math.log(dw)
    return trim(low, step, out, steps.floor)


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
    mirror = values[1 : DEGREE + 2][::-1]
    return EvenTable(
        scale, LogTable(-step * len(mirror), step, np.concatenate([mirror, values[:keep]]))
    )


def _single_two_sided(law: MixtureLaw, steps: Steps) -> EvenTable:
    parts = _components(law)
    w, shifts = parts.weights[:, None], parts.shifts[:, None]
    front = 2 * w * np.exp(-shifts * shifts / 2)

    def excess(u: np.ndarray) -> np.ndarray:
        """Density of the mixture relative to N(0, 1), minus one."""
        return np.asarray((w * np.expm1(shifts * (u - shifts / 2))).sum(axis=0))

    def loss(u: np.ndarray) -> np.ndarray:
        low = 1 + excess(-u)
        with np.errstate(over="ignore"):
            gain = front * np.sinh(np.minimum(shifts * u, 300.0))
        direct = np.log1p(gain.sum(axis=0) / low)
        far = np.log(parts.rest) + np.logaddexp(0.0, parts.log_odds(u)) - np.log(low)
        return np.asarray(np.where(shifts.max() * u < 250.0, direct, far))

    def posterior(u: np.ndarray) -> np.ndarray:
        odds = parts.log_odds(u)
        return np.asarray(parts.mean(u) / (1 + np.exp(np.minimum(-odds, 700.0))))

    scale = float(loss(np.array([min(1.0, 1.0 / parts.shifts[0])]))[0])
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
    log_q_density = np.log1p(excess(-u)) - u * u / 2
    slope = posterior(u) + posterior(-u)  # dL/du
    log_f = log_q_density - 0.5 * math.log(2 * math.pi) - np.log(slope)
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
            out[i : i + 200] = np.logaddexp(out[i : i + 200], log_sum(exponents))
    if a is b:
        out += math.log(2.0)
    return _even(scale, step, out, steps.floor)


# ---------------------------------------------------------------------------------- the answers


def _compose(
    parts: Parts,
    steps: Steps,
    single: Callable[[MixtureLaw, Steps], T],
    join: Callable[[T, T, Steps], T],
) -> T:
    """Binary powers of each part, joined smallest first."""
    total: T | None = None
    for law, times in parts:
        power, count = single(law, steps), times
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
    """delta(epsilon) of one composition at one resolution."""

    def __init__(self, parts: Parts, steps: Steps) -> None:
        kinds = {kind(law) for law, _ in parts}
        if len(kinds) != 1:
            raise ValueError(f"{kinds}: one kind of pair at a time")
        self.kind, self.steps = kinds.pop(), steps
        self.offset = sum(t * math.log(_components(law).rest) for law, t in parts)
        if self.kind == "mirrored":
            self._even = _compose(parts, steps, _single_two_sided, _join_two_sided)
        else:
            self._table = _compose(parts, steps, _single_one_sided, _join_one_sided)

    def mass(self) -> float:
        """Total mass of Q; 1 up to the error of the tables (two-sided: by the mirrored pair)."""
        if self.kind != "mirrored":
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
        if self.kind == "lower":
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
            if self.kind == "upper":
                above = loss - self.offset
                ok = above > 0
                terms = np.where(ok, self._table(np.log(np.where(ok, above, 1.0))) + gain, -np.inf)
            else:
                terms = self._even(loss) - loss / 2 + gain
        return float(log_sum(terms[None, :])[0]) + math.log(self.steps.integral / 3)

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


def _pair(floor: float, coarser: float) -> tuple[Steps, ...]:
    return tuple(Steps(coarser * s.table, coarser * s.integral, floor) for s in (COARSE, FINE))


def delta_reference(parts: Parts, epsilon: float, coarser: float = 1.0) -> tuple[float, float]:
    """(log delta, digits of delta on which two resolutions agree)."""
    a = b = -math.inf
    floor = 190.0 + max(epsilon, 0.0)
    while b < -(floor - max(epsilon, 0.0) - 110.0):
        if floor > 2e3:
            raise ArithmeticError(f"delta at epsilon={epsilon} is too small for this method")
        a, b = (Profile(parts, s).log_delta(epsilon) for s in _pair(floor, coarser))
        floor *= 2
    return b, -math.log10(max(abs(math.expm1(a - b)), 1e-16))


def epsilon_reference(parts: Parts, delta: float, coarser: float = 1.0) -> tuple[float, float]:
    """(epsilon, digits on which two resolutions agree)."""
    a = b = math.inf
    floor = 110.0 - math.log(delta) + 30.0
    while b > floor - 110.0 + math.log(delta):
        a, b = (Profile(parts, s).epsilon(math.log(delta)) for s in _pair(floor, coarser))
        floor = 2 * floor + b
    if a == b:
        return b, 15.0
    return b, -math.log10(max(abs(a / b - 1), 1e-16))
