"""One private ball subproblem: gradients in one round, then localisation in phases with noise.

What a call releases is one point for each phase. Everything else that depends on the data (draws,
gradients, iterates) stays inside. docs/explanation/resque-privacy.md says why the noise suffices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from dp2theory.problems.validation import positive_real, real_in, whole_number
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.counters import Counter
from dp2theory.resque.estimator import QueryPool
from dp2theory.resque.functions import (
    Array,
    IndexArray,
    StochasticFunction,
    check_ball,
    check_function,
    check_generator,
    check_records,
    check_vector,
)
from dp2theory.resque.phases import Phase, schedule

__all__ = ["Localised", "PrivateBallOracle", "Release", "localise"]


@dataclass(frozen=True, slots=True)
class Release:
    """What one phase let out, and the noise that was put on it.

    Attributes
    ----------
    name : str
        Of the phase.
    draws : int
    step : float
        eta.
    noise_multiplier, noise_std : float
        sigma, and sigma c L eta per coordinate.
    released : ndarray, shape (d,)
        The mean of the iterates with noise, from the centre of the ball, before it is projected.
    clean : ndarray, shape (d,)
        The mean without noise. It is no release: it is here for tests of the noise and for audits.
    """

    name: str
    draws: int
    step: float
    noise_multiplier: float
    noise_std: float
    released: Array = field(repr=False)
    clean: Array = field(repr=False)


@dataclass(frozen=True)
class Localised:
    """Answer of a subproblem.

    Attributes
    ----------
    point : ndarray, shape (d,)
        From the centre of the ball, within its radius.
    releases : tuple of Release
        One for each phase, in order.
    """

    point: Array
    releases: tuple[Release, ...] = field(repr=False)


def localise(
    pool: QueryPool,
    phases: Sequence[Phase],
    *,
    radius: float,
    multiplier: float,
    anchor: Array | None = None,
    rng: np.random.Generator,
) -> Localised:
    """Minimise ``f_rho(y + u) + multiplier/2 ||u - anchor||^2`` over ``||u|| <= radius``.

    Parameters
    ----------
    pool : QueryPool
        Around y, with the draws of all phases.
    phases : sequence of Phase
        From `schedule`.
    radius : float
        r.
    multiplier : float
        > 0.
    anchor : ndarray, shape (d,), optional
        From y; default 0.
    rng : numpy.random.Generator
        For the noise.

    Returns
    -------
    Localised

    Raises
    ------
    ValueError
        If the phases ask for more draws than the pool has, or an argument is outside its domain.

    Notes
    -----
    Every step is ``u <- P((u - eta w_t(u) g_t + eta l anchor)/(1 + eta l))``, P the projection on
    the ball: the exact proximal step of regulariser and ball, which moves no two points apart.
    Each draw is used in one step. A phase starts at the projected release of the one before.
    """
    dimension = pool.center.size
    positive_real("multiplier", multiplier)
    positive_real("radius", radius)
    at = np.zeros(dimension) if anchor is None else check_vector("anchor", anchor, dimension)
    asked = sum(phase.draws for phase in phases)
    if not phases or asked > pool.size:
        raise ValueError(f"phases ask for {asked} draws, must be 1 to {pool.size} (the pool)")
    u = np.zeros(dimension)
    releases = []
    for phase in phases:
        clean = _descend(pool, phase, u, radius, multiplier, at)
        released = clean + phase.noise_std * rng.standard_normal(dimension)
        releases.append(
            Release(
                phase.name,
                phase.draws,
                phase.step,
                phase.noise_multiplier,
                phase.noise_std,
                released,
                clean,
            )
        )
        u = _into_ball(released, radius)
    return Localised(u, tuple(releases))


def _descend(
    pool: QueryPool, phase: Phase, u: Array, radius: float, multiplier: float, anchor: Array
) -> Array:
    """The mean of the iterates of one phase."""
    rows = slice(phase.start, phase.start + phase.draws)
    inverse = 1 / pool.smoothing**2
    keep = 1 / (1 + phase.step * multiplier)
    # The weight of resque.E7 in place, and scaled rows: a call a step would cost more than a step.
    offsets = list(pool.offsets[rows] * inverse)
    moves = list(pool.gradients[rows] * (phase.step * keep))
    pull = anchor * (phase.step * multiplier * keep)
    half, limit = 0.5 * inverse, radius * radius
    square, total = float(u @ u), np.zeros_like(u)
    for offset, move in zip(offsets, moves, strict=True):
        weight = math.exp(float(offset @ u) - half * square)
        u = keep * u - weight * move + pull
        square = float(u @ u)
        if square > limit:
            u *= radius / math.sqrt(square)
            square = limit
        total += u
    return total / phase.draws


def check_gradients(gradients: Array, lipschitz: float) -> None:
    """Refuse gradients that are longer than L, or not finite: the noise would not cover them."""
    longest = math.sqrt(float(np.einsum("ij,ij->i", gradients, gradients).max()))
    if not longest <= lipschitz * (1 + 1e-12):
        raise ValueError(
            f"function.lipschitz={lipschitz!r} must bound every subgradient; one of length "
            f"{longest:.6g} came: the privacy promised would be wrong"
        )


def _into_ball(u: Array, radius: float) -> Array:
    length = float(np.linalg.norm(u))
    return u * (radius / length) if length > radius else u


@dataclass
class PrivateBallOracle:
    """Ball oracle of the smoothed, regularised empirical risk with Gaussian noise.

    Answers ``argmin f_rho + regularisation/2 ||x - anchor||^2 + multiplier/2 ||x - center||^2``
    over the ball around `center`, with about the excess of `excess_estimate`.

    Parameters
    ----------
    function : StochasticFunction
        Mean over the records.
    radius, smoothing : float
        r and rho >= r.
    draws : int
        N: queries of one call, uniform draws with replacement.
    noise_multiplier : float
        sigma >= 0; 0 is the reference without privacy.
    rng : numpy.random.Generator
    constants : PrivateConstants
    anchor : ndarray, shape (d,), optional
        Public; default the function's start.
    regularisation : float
        >= 0.
    counter : Counter
        Gets one oracle call and one parallel round a call.
    executor : concurrent.futures.Executor, optional
        Where the queries are evaluated; the answer does not depend on it.
    samples : ndarray of int, shape (draws,), optional
        The records to ask, in this order, in place of draws. For audits: the accounting of draws
        with replacement does not describe such a run.
    observe : callable, optional
        Is shown every `Release`, its clean mean included: for tests and audits.

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    """

    function: StochasticFunction
    radius: float
    smoothing: float
    draws: int
    noise_multiplier: float
    rng: np.random.Generator = field(repr=False)
    constants: PrivateConstants = field(default_factory=PrivateConstants)
    anchor: Array | None = None
    regularisation: float = 0.0
    counter: Counter = field(default_factory=Counter)
    executor: Executor | None = field(default=None, repr=False)
    samples: IndexArray | None = field(default=None, repr=False)
    observe: Callable[[Release], None] | None = field(default=None, repr=False)

    #: For `accelerate`: the answer never leaves the ball.
    restricted = True

    def __post_init__(self) -> None:
        check_function(self.function)
        check_ball(self.radius, self.smoothing)
        whole_number("draws", self.draws, minimum=self.constants.restarts)
        real_in("noise_multiplier", self.noise_multiplier, 0.0, math.inf, open_high=True)
        real_in("regularisation", self.regularisation, 0.0, math.inf, open_high=True)
        start = self.function.start if self.anchor is None else self.anchor
        self.anchor = check_vector("anchor", start, self.function.dimension)
        check_generator(self.rng)
        if self.samples is not None:
            self.samples = check_records(self.samples, self.function.sample_size, "samples")

    def phases(self, multiplier: float) -> tuple[Phase, ...]:
        """The schedule of a call at this multiplier; it depends on public numbers alone."""
        return schedule(
            draws=self.draws,
            dimension=self.function.dimension,
            lipschitz=self.function.lipschitz,
            radius=self.radius,
            smoothing=self.smoothing,
            multiplier=positive_real("multiplier", multiplier) + self.regularisation,
            noise_multiplier=self.noise_multiplier,
            constants=self.constants,
        )

    def solve(self, center: Array, multiplier: float) -> Array:
        """Return the released answer of one call.

        Parameters
        ----------
        center : ndarray, shape (d,)
            Made of public numbers and earlier releases.
        multiplier : float
            > 0, likewise.

        Returns
        -------
        ndarray, shape (d,)
            Within `radius` of `center`.
        """
        phases = self.phases(multiplier)
        with self.counter.subproblem():
            pool = QueryPool.draw(
                self.function,
                center,
                smoothing=self.smoothing,
                size=self.draws,
                rng=self.rng,
                counter=self.counter,
                executor=self.executor,
                samples=self.samples,
            )
            check_gradients(pool.gradients, self.function.lipschitz)
            whole = multiplier + self.regularisation
            assert self.anchor is not None
            found = localise(
                pool,
                phases,
                radius=self.radius,
                multiplier=whole,
                anchor=(self.anchor - pool.center) * (self.regularisation / whole),
                rng=self.rng,
            )
        self.counter.steps(self.draws)
        if self.observe is not None:
            for release in found.releases:
                self.observe(release)
        return pool.center + found.point
