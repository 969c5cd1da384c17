"""The schedule of a private ball subproblem: public numbers only, fixed before any data are read.

A subproblem on N draws is solved by `restarts` rounds of phased stochastic gradient descent
(Feldman, Koren and Talwar 2020). Phase i takes about N/2^i draws with steps of eta/4^(i-1), and
ends with the mean of its iterates plus Gaussian noise in proportion to its step size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from dp2theory.problems.validation import positive_real, real_in, whole_number
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.functions import check_ball

__all__ = ["Phase", "excess_estimate", "phase_sizes", "schedule"]


@dataclass(frozen=True)
class Phase:
    """One phase, and what it will release.

    Attributes
    ----------
    name : str
        ``"restart 1, phase 2"``.
    restart, phase : int
        Both from 1.
    start, draws : int
        Which queries of the pool: ``start`` to ``start + draws``.
    step : float
        eta.
    noise_multiplier : float
        sigma: noise per coordinate over c L eta. One differing draw moves the mean by at most
        twice that length (up to the failure probability), so that sigma is twice the noise over
        the sensitivity.
    noise_std : float
        sigma c L eta.
    """

    name: str
    restart: int
    phase: int
    start: int
    draws: int
    step: float
    noise_multiplier: float
    noise_std: float

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return asdict(self)


def phase_sizes(draws: int, constants: PrivateConstants) -> tuple[int, ...]:
    """Return the draws of every phase of one restart; they add up to `draws`.

    Phase i = 1, 2, … has ``floor(draws/shrink^i)``, down to 1; what is left over is added to the
    first one.
    """
    whole_number("draws", draws)
    most = draws if constants.phases is None else constants.phases
    sizes: list[int] = []
    share = draws / constants.phase_shrink
    while share >= 1 and len(sizes) < most:
        sizes.append(math.floor(share))
        share /= constants.phase_shrink
    sizes = sizes or [0]
    sizes[0] += draws - sum(sizes)
    return tuple(sizes)


def schedule(
    *,
    draws: int,
    dimension: int,
    lipschitz: float,
    radius: float,
    smoothing: float,
    multiplier: float,
    noise_multiplier: float,
    constants: PrivateConstants | None = None,
) -> tuple[Phase, ...]:
    """Return the phases of one subproblem.

    Parameters
    ----------
    draws : int
        N, at least one for each restart.
    dimension : int
        d.
    lipschitz, radius, smoothing : float
        L, r and rho >= r.
    multiplier : float
        Strong convexity of the subproblem: the multiplier of the oracle and the regulariser's.
    noise_multiplier : float
        sigma >= 0; 0 is not private.
    constants : PrivateConstants, optional

    Raises
    ------
    ValueError
        If an argument is outside its domain.

    Notes
    -----
    A restart on n draws, from a start at a root mean square distance D of the minimiser, begins
    with steps of ``(D/L) sqrt(p/(q w n + s d sigma^2 c^2))``, which balances
    the terms of `excess_estimate`.
    The first restart has D = r; the next ones have ``radius_margin sqrt(2 excess/multiplier)``,
    within ``[D/radius_shrink, r]``: strong convexity turns an excess into a distance.
    """
    constants = constants or PrivateConstants()
    whole_number("dimension", dimension)
    positive_real("lipschitz", lipschitz)
    positive_real("multiplier", multiplier)
    check_ball(radius, smoothing)
    noise = real_in("noise_multiplier", noise_multiplier, 0.0, math.inf, open_high=True)
    whole_number("draws", draws, minimum=constants.restarts)
    phases: list[Phase] = []
    start = 0
    restarts = _restarts(
        draws, dimension, lipschitz, radius, smoothing, multiplier, noise, constants
    )
    for restart, (size, step, _) in enumerate(restarts, 1):
        for index, number in enumerate(phase_sizes(size, constants), 1):
            std = noise * constants.drift_factor * lipschitz * step
            name = f"restart {restart}, phase {index}"
            phases.append(Phase(name, restart, index, start, number, step, noise, std))
            start += number
            step /= constants.step_shrink
    return tuple(phases)


def excess_estimate(
    *,
    draws: int,
    dimension: int,
    lipschitz: float,
    radius: float,
    smoothing: float,
    multiplier: float,
    noise_multiplier: float,
    constants: PrivateConstants | None = None,
) -> float:
    """Return what `schedule` promises for the mean excess of a subproblem.

    The arguments are those of `schedule`. Bounds of the last restart's phases, added up:
    ``E D_i^2/(2 eta_i T_i) + eta_i L^2 w/2``, D_i the noise of the phase before (at first the
    distance from the start) and w = exp(r^2/rho^2) (resque.E4). An estimate and no bound: that the
    loss is averaged over the iterates before each step and the regulariser over those after it is
    left out, at most 2 L r/T_i for a phase.
    """
    constants = constants or PrivateConstants()
    restarts = _restarts(
        draws, dimension, lipschitz, radius, smoothing, multiplier, noise_multiplier, constants
    )
    return list(restarts)[-1][2]


def _restarts(
    draws: int,
    dimension: int,
    lipschitz: float,
    radius: float,
    smoothing: float,
    multiplier: float,
    noise_multiplier: float,
    constants: PrivateConstants,
) -> Iterator[tuple[int, float, float]]:
    """Draws, first step size and excess of every restart."""
    distance = radius
    for size in _shares(draws, constants.restarts):
        step, excess = _balanced(
            size, distance, dimension, lipschitz, radius / smoothing, noise_multiplier, constants
        )
        yield size, step, excess
        reached = constants.radius_margin * math.sqrt(2 * excess / multiplier)
        distance = min(radius, max(distance / constants.radius_shrink, reached))


def _shares(draws: int, restarts: int) -> tuple[int, ...]:
    """Draws of every restart; the first one takes what is left over."""
    each = draws // restarts
    return (draws - each * (restarts - 1), *(each,) * (restarts - 1))


def _balanced(
    draws: int,
    distance: float,
    dimension: int,
    lipschitz: float,
    relative_radius: float,
    noise_multiplier: float,
    constants: PrivateConstants,
) -> tuple[float, float]:
    """Return the first step size of a restart and its excess."""
    a, b = constants.phase_shrink, constants.step_shrink
    # sum over phases of: first distance; step sizes; noise of the phase before, i >= 2.
    p, q = a / 2, b / (2 * (b - 1))
    s = b**3 / 2 * (a / b) ** 2 / (1 - a / b)
    moment = math.exp(relative_radius**2)
    noise = dimension * (noise_multiplier * constants.drift_factor) ** 2
    cost = q * moment / draws + s * noise / draws**2
    step = distance / lipschitz * math.sqrt(p / cost) / draws
    return step, 2 * distance * lipschitz * math.sqrt(p * cost)
