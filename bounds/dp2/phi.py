"""The paper's trade-off phi(u) in numbers: its minimiser over u, and over integer delays.

    phi(u) = (c1 + c2 u) B(u)^((2 + u)/(2u)),   B(u) = sqrt(c3 + c4/u) + eps,   u = s/T.

ln phi is strictly convex in x = 1/u (`dp2.phi.convex`), so that the relaxed form has one
minimiser; with the exact exponent it is a sawtooth with many local minima (`dp2.phi.sawtooth`),
and every integer is looked at. All in logs: B^(1/u) overflows a double soon.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from math import exp, inf, isfinite, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: What may be taken for the number of phases K - 1: T/s + 1/2, floor(T/s), ceil(T/s) - 1.
EXPONENTS = ("relaxed", "floor", "ceiling")


def _exp(logarithm: float) -> float:
    return exp(logarithm) if logarithm < 700 else inf


def check_whole(name: str, value: Any) -> None:
    """Refuse what is no positive integer."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name}={value!r}: must be a positive integer")


def check_steps(steps: Any) -> None:
    """Refuse a number of steps that is no positive integer."""
    check_whole("steps", steps)


def check_number(name: str, value: Any, *, zero: bool = False) -> None:
    """Refuse what is no positive and finite number, or, where `zero` is allowed, no number >= 0."""
    good = isinstance(value, numbers.Real) and not isinstance(value, bool)
    try:
        good = good and 0 <= float(value) < inf and (zero or value > 0)
    except OverflowError:  # an integer that is no double
        good = False
    if not good:
        raise ValueError(f"{name}={value!r}: must be {'>= 0' if zero else 'positive'} and finite")


@dataclass(frozen=True)
class Tradeoff:
    """The constants of phi.

    Attributes
    ----------
    staleness_intercept, staleness_slope : float
        c1, c2.
    second_moment_floor, second_moment_noise : float
        c3, c4, with M = c3 + c4/u.
    damping : float
        eps.
    """

    staleness_intercept: float
    staleness_slope: float
    second_moment_floor: float
    second_moment_noise: float
    damping: float

    def __post_init__(self) -> None:
        for name in ("staleness_intercept", "staleness_slope", "second_moment_floor",
                     "second_moment_noise"):  # fmt: skip
            check_number(name, getattr(self, name), zero=True)
        check_number("damping", self.damping)
        if self.staleness_intercept + self.staleness_slope <= 0:
            raise ValueError("staleness_intercept and staleness_slope: at least one must be > 0")
        if self.second_moment_floor + self.second_moment_noise <= 0:
            raise ValueError(
                "second_moment_floor and second_moment_noise: at least one must be > 0"
            )

    def base(self, relative_delay: float = 1.0) -> float:
        """B(u): one over the decay of the step size per phase. It is least at u = 1."""
        check_number("relative_delay", relative_delay)
        u = relative_delay
        return sqrt(self.second_moment_floor + self.second_moment_noise / u) + self.damping

    @property
    def informative(self) -> bool:
        """Whether B >= 1 for all u.

        Below 1 it would stand for step sizes that grow from phase to phase, which the theorem
        excludes (alpha <= 1), and phi falls as u goes to 0: its minimiser means nothing for s.
        """
        return self.base() >= 1

    def log_phi(self, relative_delay: ArrayLike) -> Array:
        """ln phi(u) for numbers u > 0."""
        try:
            given = np.asarray(relative_delay)
        except ValueError:  # rows of different lengths
            given = np.asarray(None)
        if given.dtype.kind not in "iuf" or not ((given > 0) & np.isfinite(given)).all():
            raise ValueError(f"relative_delay={relative_delay!r}: must be positive and finite")
        u = given.astype(np.float64, copy=False)
        return self._log(u, 1 / u + 0.5)

    def _log(self, u: Array, exponent: Array) -> Array:
        root = np.sqrt(self.second_moment_floor + self.second_moment_noise / u)
        stale = np.log(self.staleness_intercept + self.staleness_slope * u)
        out: Array = stale + exponent * np.log(root + self.damping)
        return out

    def slope(self, x: float) -> float:
        """Derivative of ln phi in x = 1/u."""
        check_number("x", x)
        root = sqrt(self.second_moment_floor + self.second_moment_noise * x)
        base = root + self.damping
        rise = log(base) + (x + 0.5) * self.second_moment_noise / (2 * root * base)
        c1, c2 = self.staleness_intercept, self.staleness_slope
        return rise - c2 / (x * (c1 * x + c2))

    def minimiser(self) -> Minimiser:
        """The u in (0, 1] at which phi is least (`dp2.phi.minimiser`).

        Raises
        ------
        ValueError
            When phi only comes close to its infimum as u goes to 0: B is 1 or less for every u.
        """
        if self.slope(1.0) >= 0:
            return Minimiser(1.0, _exp(float(self.log_phi(1.0))), False)
        low, high = 1.0, 2.0
        while self.slope(high) <= 0:
            low, high = high, 2 * high
            if not isfinite(high) or high > 1e300:
                raise ValueError(
                    "phi has no minimiser: its base is at most 1 for every delay, and it falls "
                    "as u goes to 0"
                )
        while True:
            middle = low + (high - low) / 2
            if not low < middle < high:
                break
            low, high = (low, middle) if self.slope(middle) > 0 else (middle, high)
        u = 1 / low
        return Minimiser(u, _exp(float(self.log_phi(u))), True)

    def best_delay(self, steps: int, exponent: str = "relaxed") -> tuple[int, float]:
        """The integer delay that minimises phi(s/T), and ln phi there; ties to the smaller s.

        Parameters
        ----------
        steps : int
        exponent : str
            ``"relaxed"``: T/s + 1/2; ``"floor"``: floor(T/s), what the relaxation stands for;
            ``"ceiling"``: ceil(T/s) - 1, the exponent of the last phase.
        """
        values = self.log_over_delays(steps, exponent)
        place = int(np.argmin(values))
        return place + 1, float(values[place])

    def log_over_delays(self, steps: int, exponent: str = "relaxed") -> Array:
        """ln phi for s = 1, …, T with one of `EXPONENTS`, in exact integer arithmetic."""
        check_steps(steps)
        if exponent not in EXPONENTS:
            raise ValueError(f"exponent={exponent!r}: must be one of {', '.join(EXPONENTS)}")
        s = np.arange(1, steps + 1)
        powers: dict[str, Any] = {
            "relaxed": steps / s + 0.5, "floor": steps // s, "ceiling": -(-steps // s) - 1,
        }  # fmt: skip
        return self._log(s / steps, powers[exponent])


@dataclass(frozen=True)
class Minimiser:
    """Where phi is least.

    Attributes
    ----------
    relative_delay : float
        u* in (0, 1].
    value : float
        phi(u*).
    interior : bool
        False where u* = 1: one phase, which is DP-SGD.
    """

    relative_delay: float
    value: float
    interior: bool
