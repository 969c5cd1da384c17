"""What is proved of ball acceleration, held against a run: its potential and its count of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bounds.resque.ball_count import THEOREMS
from dp2theory.problems.validation import positive_real, real_in
from dp2theory.resque.ball_acceleration import lowest_floor
from dp2theory.resque.functions import Array, check_band, check_numbers, check_vector

_THEOREM = {each.id: each for each in THEOREMS}


class PotentialStep(Protocol):
    """What the potential reads of a step, with bisection or without."""

    @property
    def x(self) -> Array:
        """First iterate after the step."""
        ...

    @property
    def v(self) -> Array:
        """Second iterate after the step."""
        ...

    @property
    def weight(self) -> float:
        """A after the step."""
        ...

    @property
    def promised_fall(self) -> float:
        """What the theorem says the potential falls by at least."""
        ...


def potential(
    steps: Sequence[PotentialStep],
    *,
    start: Array,
    minimiser: Array,
    optimal_value: float,
    value: Callable[[Array], float],
) -> Array:
    """Return ``A (f(x) - f*) + ||v - x*||^2/2`` before the first step and after each.

    Parameters
    ----------
    steps : sequence of Step or FreeStep
        What `observe` was shown.
    start, minimiser : ndarray, shape (d,)
        Where the run began, and x*.
    optimal_value : float
        f*.
    value : callable
        f.

    Returns
    -------
    ndarray, shape (len(steps) + 1,)
    """
    minimiser = check_vector("minimiser", minimiser)
    start = check_vector("start", start, minimiser.size)
    second = np.array([start, *(each.v for each in steps)])
    distances = ((second - minimiser) ** 2).sum(axis=1)
    weighted = [0.0, *(each.weight * (value(each.x) - optimal_value) for each in steps)]
    result: Array = np.array(weighted) + distances / 2
    return result


@dataclass(frozen=True)
class PotentialCheck:
    """Outcome of `check_potential`.

    Attributes
    ----------
    holds : bool
    step : int or None
        The first step, counted from 1, after which the potential is too high.
    excess : float
        Largest amount, over all steps, by which the potential is above what is allowed; <= 0 up to
        rounding where it holds.
    message : str
        The same in words.
    """

    holds: bool
    step: int | None
    excess: float
    message: str


def check_potential(
    values: Array, promised: Array | Sequence[float] | None = None, *, tolerance: float = 1e-10
) -> PotentialCheck:
    """Say whether a potential falls in every step, and where it does not.

    Parameters
    ----------
    values : ndarray, shape (steps + 1,)
        As from `potential`.
    promised : sequence of float, optional
        How much it falls by at least, per step; else it must not rise.
    tolerance : float
        Room for rounding, relative to the first value.
    """
    values = check_vector("values", values)
    falls = -np.diff(values)
    least = np.zeros_like(falls)
    if promised is not None:
        least = check_numbers("promised", promised)
        if least.shape != falls.shape or not np.isfinite(least).all():
            raise ValueError(
                f"promised has shape {least.shape}, must be {falls.size} finite numbers, one a step"
            )
    room = real_in("tolerance", tolerance, 0.0, 1.0) * abs(float(values[0]))
    excess = least - falls
    bad = np.flatnonzero(excess > room)
    worst = float(excess.max()) if excess.size else 0.0
    if not bad.size:
        return PotentialCheck(True, None, worst, f"falls as it should in {falls.size} steps")
    first = int(bad[0])
    return PotentialCheck(
        False,
        first + 1,
        worst,
        f"step {first + 1} of {falls.size}: the potential goes from {values[first]:.6g} to "
        f"{values[first + 1]:.6g}, must fall by {least[first]:.6g} at least",
    )


def accepted_bound(
    *,
    domain_radius: float,
    ball_radius: float,
    lipschitz: float,
    accuracy: float,
    band: tuple[float, float] = (0.5, 1.0),
    floor: float | None = None,
) -> float:
    """Bound the accepted steps of `accelerate` with an exact oracle (resque.ball.count, .floor).

    Parameters
    ----------
    domain_radius, ball_radius, lipschitz, accuracy, band, floor
        As for `accelerate`, with its default for the largest multiplier. Steps that move by
        band[1] r at most are steps of the ball of that radius, with acceptance band[0]/band[1].

    Raises
    ------
    ValueError
        A number outside of its domain, or a floor above the one that the theorem covers.
    """
    check_band(band, closed=True)
    if floor is not None:
        positive_real("floor", floor)
    numbers: dict[str, Any] = {
        "radius": positive_real("domain_radius", domain_radius),
        "ball_radius": band[1] * positive_real("ball_radius", ball_radius),
        "accuracy": positive_real("accuracy", accuracy),
    }
    rest: dict[str, Any] = {
        "lipschitz": positive_real("lipschitz", lipschitz),
        "acceptance": band[0] / band[1],
    }
    if floor is None or floor <= lowest_floor(accuracy, domain_radius):
        return float(_THEOREM["resque.ball.count"].evaluate(**numbers, **rest))
    raised = _THEOREM["resque.ball.floor"]
    highest = float(raised.evaluate("floor", **numbers))
    if not floor <= highest * (1 + 1e-12):
        raise ValueError(
            f"floor={floor!r} must be at most {highest:.6g}: no bound is proved above it"
        )
    return float(raised.evaluate(**numbers, **rest))
