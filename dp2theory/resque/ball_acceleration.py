"""Ball acceleration: few calls of a ball oracle instead of one for every radius of the way.

Every step needs a multiplier l at which the regularised minimiser around the centre y(l) moves by
about the radius of the ball; it is found by geometric bisection. Every try is one call of the
oracle and is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from dp2theory.problems.validation import positive_real, whole_number
from dp2theory.resque.ball_run import BallRun, Step
from dp2theory.resque.ball_search import ROUNDING, BallOracle, Search, mirror_step
from dp2theory.resque.functions import Array, check_band, check_vector

#: Tries of one step before the best point so far is taken (hand-chosen: halving the logarithm of
#: the range of multipliers 64 times leaves nothing between two doubles).
CALLS_PER_STEP = 64


class Calls(Protocol):
    """What `accelerate` reads of a counter."""

    @property
    def oracle_calls(self) -> int:
        """Oracle calls so far."""
        ...


def lowest_floor(accuracy: float, domain_radius: float) -> float:
    """Return 2 accuracy/R^2: one step accepted there proves the accuracy."""
    radius = positive_real("domain_radius", domain_radius)
    return 2 * positive_real("accuracy", accuracy) / radius**2


def accelerate(
    oracle: BallOracle,
    *,
    start: Array,
    domain_radius: float,
    lipschitz: float,
    accuracy: float,
    floor: float | None = None,
    band: tuple[float, float] = (0.5, 1.0),
    largest: float | None = None,
    stop: Callable[[Array], bool] | None = None,
    max_accepted: int | None = None,
    max_calls: int | None = None,
    calls_per_step: int = CALLS_PER_STEP,
    warm_start: bool = True,
    floor_first: bool = True,
    observe: Callable[[Step], None] | None = None,
    counter: Calls | None = None,
) -> BallRun:
    """Minimise a convex function with a ball oracle, by steps that move about one radius.

    Parameters
    ----------
    oracle : BallOracle
        Of radius r.
    start : ndarray, shape (d,)
    domain_radius : float
        R: the result is compared with the smallest value within R of `start`.
    lipschitz : float
        L of the function.
    accuracy : float
        Suboptimality that is asked for.
    floor : float, optional
        Smallest multiplier; 2 accuracy/R^2 where not given. A higher one makes the subproblems
        cheaper (resque.ball.floor).
    band : (float, float)
        A step is accepted when ``band[0] r <= ||z - y|| <= band[1] r``, or below the band at the
        floor. The upper end must be below 1 where the oracle never leaves the ball: else a step
        that the ball cut short would pass.
    largest : float, optional
        Largest multiplier; L/(band[1] r) where not given, at which no exact step leaves the band.
    stop : callable, optional
        ``stop(x) -> bool``, asked before the first step and after each. It may read the function,
        so that it is not for private runs.
    max_accepted, max_calls : int, optional
        Caps on accepted steps and on calls of the oracle.
    calls_per_step : int
        Cap on the tries of one step. Afterwards the point of the smallest multiplier that stayed
        inside is taken, or, if there is none, a last try at `largest`: for an exact oracle the
        potential falls at any multiplier.
    warm_start : bool
        Begin the search at the last accepted multiplier, at `largest` in the first step; else in
        the middle of the range.
    floor_first : bool
        Try the floor before the search in every step, the textbook order, which costs about one
        call a step. Else go up or down by leaps from where the search begins until both ends are
        known: as many accepted steps for half of the calls. Where low multipliers are dear, as for
        stochastic oracles, take False.
    observe : callable, optional
        Is shown every accepted step.
    counter : Counter, optional
        The one that `oracle` counts with. It is checked: what it counted is what was called.

    Returns
    -------
    BallRun

    Raises
    ------
    ValueError
        An argument outside of what is allowed, a point of the oracle that is not finite or of
        another shape.
    RuntimeError
        The oracle counted another number of calls than were made.

    Notes
    -----
    With an exact oracle (`ProximalOracle`) the potential ``A (f(x) - f*) + ||v - x*||^2/2`` falls
    in every step (resque.ball.potential), and the accepted steps are at most `accepted_bound`
    (resque.ball.count, resque.ball.floor). What an approximate oracle adds is not in these
    statements. Scheme: Carmon and others 2020, with the potential of Monteiro and Svaiter 2013;
    Carmon and others 2023 use it with ReSQue.
    """
    x = check_vector("start", start).copy()
    radius, highest, lowest = _ranges(
        oracle, domain_radius, lipschitz, accuracy, floor, band, largest
    )
    for name, cap in (("max_accepted", max_accepted), ("max_calls", max_calls)):
        if cap is not None:
            whole_number(name, cap, minimum=0)
    search = Search(
        oracle,
        moves=(band[0] * radius, band[1] * radius * (1 + ROUNDING)),
        multipliers=(lowest, highest),
        calls_per_step=whole_number("calls_per_step", calls_per_step, minimum=2),
        warm=warm_start,
        floor_first=floor_first,
        max_calls=math.inf if max_calls is None else max_calls,
    )
    enough = domain_radius**2 / (2 * accuracy) * (1 - ROUNDING)
    counted = 0 if counter is None else counter.oracle_calls
    v, weight = x, 0.0
    rows: list[tuple[float, float, float, int, bool]] = []
    while True:
        if stop is not None and stop(x):
            stopped = "stop"
            break
        if weight >= enough:
            stopped = "weight"
            break
        if max_accepted is not None and len(rows) >= max_accepted:
            stopped = "max_accepted"
            break
        found = search.step(x, v, weight)
        if found is None:
            stopped = "max_calls"
            break
        (multiplier, size, y, z, move), calls, forced = found
        weight += size
        v = mirror_step(v, size, multiplier, y, z)
        x = z
        rows.append((weight, multiplier, move, calls, forced))
        if observe is not None:
            observe(Step(x, v, y, weight, size, multiplier, move, calls, forced))
    if counter is not None and counter.oracle_calls - counted != search.calls:
        raise RuntimeError(
            f"{search.calls} calls of the oracle were made, but its counter counted "
            f"{counter.oracle_calls - counted}: a call is missing in the ledger"
        )
    table = np.array(rows, dtype=float).reshape(-1, 5).T
    return BallRun(
        x=x,
        v=v,
        accepted=len(rows),
        calls=search.calls,
        weights=table[0],
        multipliers=table[1],
        moves=table[2],
        step_calls=table[3].astype(np.int64),
        forced=int(table[4].sum()),
        stopped=stopped,
    )


def _ranges(
    oracle: BallOracle,
    domain_radius: float,
    lipschitz: float,
    accuracy: float,
    floor: float | None,
    band: tuple[float, float],
    largest: float | None,
) -> tuple[float, float, float]:
    """Check the numbers; return radius, largest and smallest multiplier."""
    for name, value in (
        ("domain_radius", domain_radius),
        ("lipschitz", lipschitz),
        ("accuracy", accuracy),
    ):
        positive_real(name, value)
    if not callable(getattr(oracle, "solve", None)):
        raise ValueError(f"oracle={oracle!r} must be a BallOracle (`radius`, `solve`)")
    radius = positive_real("radius of the oracle", oracle.radius)
    check_band(band, closed=True)
    if band[1] >= 1 and getattr(oracle, "restricted", True):
        raise ValueError(
            f"band={band!r} must end below 1: {type(oracle).__name__} does not say that it leaves "
            "the ball (restricted = False), so a step that the ball cuts short would be accepted"
        )
    lowest = lowest_floor(accuracy, domain_radius)
    if floor is not None:
        lowest = positive_real("floor", floor)
    highest = lipschitz / (band[1] * radius)
    if largest is not None:
        highest = positive_real("largest", largest)
    return radius, max(highest, lowest), lowest
