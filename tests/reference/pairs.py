"""Settings and dominating pairs of Poisson-sampled Gaussian steps.

A step of DP-SGD with sampling probability ``q`` and noise multiplier ``sigma`` is dominated by a
pair of one-dimensional distributions (P, Q).  In units of the noise, with shift s = 1 / sigma:

==========  ==============================  ===============================
direction   P                               Q
==========  ==============================  ===============================
remove      (1 - q) N(0, 1) + q N(s, 1)     N(0, 1)
add         N(0, 1)                         (1 - q) N(0, 1) + q N(s, 1)
replace     (1 - q) N(0, 1) + q N(s, 1)     (1 - q) N(0, 1) + q N(-s, 1)
==========  ==============================  ===============================

The privacy loss log(dP/dQ) is monotone in x for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

DIRECTIONS = ("remove", "add", "replace")


@dataclass(frozen=True)
class Step:
    """``count`` Poisson-sampled Gaussian steps with equal parameters.

    ``q`` and ``sigma`` are exact rationals, so that every arithmetic starts from the same number.
    """

    q: Fraction
    sigma: Fraction
    count: int

    def __post_init__(self) -> None:
        if not 0 < self.q <= 1:
            raise ValueError(f"q={self.q}: must lie in (0, 1]")
        if not self.sigma > 0:
            raise ValueError(f"sigma={self.sigma}: must be positive")
        if self.count < 1:
            raise ValueError(f"count={self.count}: must be at least 1")


def step(q: str | Fraction | float, sigma: str | Fraction | float, count: int) -> Step:
    """A ``Step`` from strings such as ``"256/50000"`` and ``"0.8"`` (exact decimals)."""
    return Step(Fraction(q), Fraction(sigma), int(count))


def log_densities(
    one: Step, direction: str, number: Callable[[Fraction], Any], exp: Any, log: Any
) -> Callable[[Any], tuple[Any, Any]]:
    """The map u -> (log dP/dN, log dQ/dN) with N = N(0, 1), in any arithmetic.

    ``number`` turns a rational into that arithmetic; ``exp`` and ``log`` are its functions.
    """
    if direction not in DIRECTIONS:
        raise ValueError(f"direction={direction!r}: must be one of {DIRECTIONS}")
    q, rest, s = number(one.q), number(1 - one.q), number(1 / one.sigma)
    half = s * s / 2

    def mixture(u: Any) -> Any:
        return log(rest + q * exp(s * u - half))

    if direction == "remove":
        return lambda u: (mixture(u), 0 * u)
    if direction == "add":
        return lambda u: (0 * u, mixture(u))
    return lambda u: (mixture(u), mixture(-u))
