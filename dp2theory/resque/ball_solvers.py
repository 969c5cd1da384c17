"""Ball subproblems solved from one pool of queries: all gradients first, then steps.

Both solvers minimise ``F(u) = f_rho(y + u) + l/2 ||u||^2`` over the ball ``||u|| <= r``, with
r <= rho. Every gradient is queried at ``y + xi_i`` in one parallel round before the first step;
the steps reweight what came back (ReSQue), so they are sequential but ask nothing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import numpy as np

from dp2theory.problems.validation import positive_real, real_in, whole_number
from dp2theory.resque.counters import Counter
from dp2theory.resque.estimator import QueryPool
from dp2theory.resque.functions import (
    Array,
    StochasticFunction,
    check_ball,
    check_band,
    check_function,
    check_generator,
)
from dp2theory.resque.sourced import Sourced

__all__ = [
    "SOLVERS",
    "AcceleratedBallOracle",
    "ParallelConstants",
    "WeightedBallOracle",
    "accelerated_excess",
    "accelerated_steps",
    "pool_size",
    "weighted_excess",
]

_SMOOTHNESS = math.sqrt(2 / math.pi)
#: Gradients of one subproblem: more would not be held in the memory of one machine.
_LARGEST_POOL = 10**9


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        positive_real(name, value)


@dataclass(frozen=True)
class ParallelConstants(Sourced):
    """Constants of the parallel methods; `SOURCES` says where each comes from.

    Parameters
    ----------
    pool_factor : float
        C > 0: a subproblem queries ``ceil(C L^2/(l r)^2)`` gradients.
    rounds_factor : float
        c > 0: the accelerated solver makes ``ceil(c sqrt((sqrt(2/pi) L/rho + l)/l))`` steps.
    radius_over_smoothing : float
        r/rho in (0, 1].
    band : (float, float)
        A step of the outer loop is accepted when it moves by this part of r.
    calls_per_step : int
        Oracle calls of one outer step before the best point so far is taken.
    """

    pool_factor: float = 20.0
    rounds_factor: float = 3.0
    radius_over_smoothing: float = 1.0
    band: tuple[float, float] = (0.5, 0.93)
    calls_per_step: int = 16

    SOURCES: ClassVar[Mapping[str, str]] = {
        "pool_factor": "hand-chosen; resque.parallel.1 proves 2 (1 + sqrt(e))^2 = 14.03 enough for"
        " an excess of l r^2 in expectation with the weighted solver",
        "rounds_factor": "hand-chosen: exp(-3) of the start's excess is left (accelerated_excess)",
        "radius_over_smoothing": "1: the largest ball with a bounded second moment (resque.E5,"
        " sqrt(e) L)",
        "band": "hand-chosen: below 1 so that a step cut short by the ball is never accepted",
        "calls_per_step": "hand-chosen: 16 halvings leave nothing of the range of multipliers",
    }

    def __post_init__(self) -> None:
        positive_real("pool_factor", self.pool_factor)
        positive_real("rounds_factor", self.rounds_factor)
        positive_real("radius_over_smoothing", self.radius_over_smoothing)
        real_in("radius_over_smoothing", self.radius_over_smoothing, 0.0, 1.0)
        check_band(self.band)
        whole_number("calls_per_step", self.calls_per_step, minimum=2)


def pool_size(lipschitz: float, multiplier: float, radius: float, factor: float) -> int:
    """Return ``ceil(C (L/(l r))^2)``, the queries of one subproblem.

    Parameters
    ----------
    lipschitz, multiplier, radius : float
        L, l and r.
    factor : float
        C.

    Returns
    -------
    int
        At least 1. With l at its floor eps K^2/R^2 or above, K = (R/r)^(2/3), this is at most
        C (L R/eps)^2/K + 1 (resque.parallel.1).
    """
    _check_positive(lipschitz=lipschitz, multiplier=multiplier, radius=radius, factor=factor)
    try:
        wanted = factor * (lipschitz / multiplier / radius) ** 2
    except OverflowError:
        wanted = math.inf
    if wanted > _LARGEST_POOL:
        raise ValueError(
            f"multiplier={multiplier!r} and radius={radius!r}: a subproblem would ask for "
            f"{wanted:.3g} gradients, must be at most {_LARGEST_POOL:.0e}"
        )
    return max(1, math.ceil(wanted))


def accelerated_steps(lipschitz: float, multiplier: float, smoothing: float, factor: float) -> int:
    """Return ``ceil(c sqrt(Ls/l))`` with ``Ls = sqrt(2/pi) L/rho + l`` (resque.F3)."""
    _check_positive(lipschitz=lipschitz, multiplier=multiplier, smoothing=smoothing, factor=factor)
    smooth = _SMOOTHNESS * lipschitz / smoothing + multiplier
    wanted = factor * math.sqrt(smooth / multiplier)
    if not wanted <= _LARGEST_POOL:
        raise ValueError(
            f"multiplier={multiplier!r}: a subproblem would take {wanted:.3g} steps, must be at "
            f"most {_LARGEST_POOL:.0e}"
        )
    return max(1, math.ceil(wanted))


def weighted_excess(
    *, lipschitz: float, multiplier: float, radius: float, smoothing: float, queries: int
) -> float:
    """Return the bound ``2 (G + l r)^2/(l (N + 1))`` on E F(answer) - min F of the weighted solver.

    Parameters
    ----------
    lipschitz, multiplier, radius, smoothing : float
        L, l, r and rho, r <= rho.
    queries : int
        N, the gradients and steps of the subproblem.

    Returns
    -------
    float
        With ``G = L exp(r^2/(2 rho^2))`` (resque.E5 at p = 2); theorem resque.parallel.solver.
    """
    _check_positive(lipschitz=lipschitz, multiplier=multiplier, smoothing=smoothing)
    real_in("radius", positive_real("radius", radius), 0.0, smoothing)
    whole_number("queries", queries)
    moment = lipschitz * math.exp(0.5 * (radius / smoothing) ** 2)
    return 2 * (moment + multiplier * radius) ** 2 / (multiplier * (queries + 1))


def accelerated_excess(
    *,
    lipschitz: float,
    multiplier: float,
    radius: float,
    smoothing: float,
    steps: int,
    queries: int,
) -> float:
    """Return a bound on E F(answer) - min F of `AcceleratedBallOracle`.

    Parameters
    ----------
    lipschitz, multiplier, radius, smoothing : float
        L, l, r and rho, r <= rho.
    steps, queries : int
        T and N >= T; every step averages ``floor(N/T)`` gradients at least.

    Returns
    -------
    float
        ``(1 - a)^T L r + a G^2/(l b)``, where ``a = sqrt(l/Ls)``, ``b = floor(N/T)``
        and ``G = L exp(r^2/(2 rho^2))``.

    Notes
    -----
    Own derivation. Let ``V = F(x) - F(u*) + l/2 ||z - u*||^2``. With y' = (x + a z)/(1 + a),
    x' - y' = a (z' - z_) for z_ = a y' + (1 - a) z, and Ls a^2 = l. Smoothness at y', convexity
    towards x, strong convexity towards u*, and the three-point inequality of the projection give
    ``V' <= (1 - a) V - a <error, z' - u*>``: the squares ||z' - z_||^2 and ||y' - u*||^2 cancel.
    The error of the gradient is centred given the past, and a projection is non-expansive, so the
    last term is at most ``(a^2/l) E ||error||^2 <= (a^2/l) G^2/b`` on average. Summing the
    geometric series leaves a G^2/(l b). At the start x = z = 0 and V <= L r, since
    F(0) - F(u*) <= L ||u*|| - l/2 ||u*||^2. With the default constants the second term is about
    half of l r^2; the first is above l r^2 where L/(l r) > e^3, and that is where the theorem's
    rate has a logarithm that a fixed `rounds_factor` leaves out.
    """
    _check_positive(lipschitz=lipschitz, multiplier=multiplier, smoothing=smoothing)
    real_in("radius", positive_real("radius", radius), 0.0, smoothing)
    whole_number("queries", queries, minimum=whole_number("steps", steps))
    smooth = _SMOOTHNESS * lipschitz / smoothing + multiplier
    rate = math.sqrt(multiplier / smooth)
    moment = lipschitz * math.exp(0.5 * (radius / smoothing) ** 2)
    return (1 - rate) ** steps * lipschitz * radius + rate * moment**2 / (
        multiplier * (queries // steps)
    )


@dataclass
class _PoolOracle(ABC):
    """What both oracles share: one pool of queries for each subproblem.

    Parameters
    ----------
    function : StochasticFunction
    radius : float
        r of the ball.
    smoothing : float
        rho >= r.
    rng : numpy.random.Generator
    constants : ParallelConstants
    counter : Counter
        Counts calls, rounds, queries and steps.
    executor : concurrent.futures.Executor, optional
        Where the queries are evaluated; the answer does not depend on it.
    """

    function: StochasticFunction
    radius: float
    smoothing: float
    rng: np.random.Generator = field(repr=False)
    constants: ParallelConstants = field(default_factory=ParallelConstants)
    counter: Counter = field(default_factory=Counter)
    executor: Executor | None = field(default=None, repr=False)

    #: For `accelerate`: the answer never leaves the ball.
    restricted = True

    def __post_init__(self) -> None:
        check_function(self.function)
        check_ball(self.radius, self.smoothing)
        check_generator(self.rng)

    def solve(self, center: Array, multiplier: float) -> Array:
        """Return about argmin over the ball around `center` of f_rho + l/2 ||. - center||^2.

        Parameters
        ----------
        center : ndarray, shape (d,)
        multiplier : float
            l > 0.

        Returns
        -------
        ndarray, shape (d,)
            Within `radius` of `center`.
        """
        positive_real("multiplier", multiplier)
        size = pool_size(
            self.function.lipschitz, multiplier, self.radius, self.constants.pool_factor
        )
        with self.counter.subproblem():
            pool = QueryPool.draw(
                self.function,
                center,
                smoothing=self.smoothing,
                size=self._size(size, multiplier),
                rng=self.rng,
                counter=self.counter,
                executor=self.executor,
            )
            moved = self._steps(pool, multiplier)
        return pool.center + moved

    def _size(self, size: int, multiplier: float) -> int:
        return size

    @abstractmethod
    def _steps(self, pool: QueryPool, multiplier: float) -> Array:
        """The answer, from the centre."""


class WeightedBallOracle(_PoolOracle):
    """The solver of Theorem 1: a stochastic gradient step for every query, weighted average.

    Steps ``u <- P(u - 2/(l (t + 1)) (e_t(u) + l u))``, answer the mean of the iterates with
    weights proportional to t. Excess at most 2 (G + l r)^2/(l (N + 1)) in expectation
    (`weighted_excess`, resque.parallel.solver). N sequential steps.
    """

    def _steps(self, pool: QueryPool, multiplier: float) -> Array:
        size, inverse = pool.size, 1 / self.smoothing**2
        offsets, gradients = pool.offsets * inverse, pool.gradients
        u = np.zeros(offsets.shape[1])
        square, total = 0.0, np.zeros_like(u)
        limit = self.radius
        for t in range(1, size + 1):
            total += t * u
            # The weight of resque.E7 in place: a call for each step would cost more than the step.
            weight = math.exp(float(offsets[t - 1] @ u) - 0.5 * inverse * square)
            u = (1 - 2 / (t + 1)) * u - (2 * weight / (multiplier * (t + 1))) * gradients[t - 1]
            square = float(u @ u)
            if square > limit * limit:
                u *= limit / math.sqrt(square)
                square = limit * limit
        self.counter.steps(size)
        return total * (2 / (size * (size + 1)))


class AcceleratedBallOracle(_PoolOracle):
    """The solver of Theorem 2: accelerated steps on minibatches of the pool.

    ``T = ceil(c sqrt(Ls/l))`` steps, Ls = sqrt(2/pi) L/rho + l, with constant momentum; step t
    averages the t-th of T nearly equal parts of the pool, so that no query is used twice. All
    points at which gradients are estimated stay in the ball, where the estimator's second moment
    is bounded: the usual extrapolation ``u + b (u - u_old)`` would leave it. Guarantee:
    `accelerated_excess`.
    """

    def _number(self, multiplier: float) -> int:
        return accelerated_steps(
            self.function.lipschitz, multiplier, self.smoothing, self.constants.rounds_factor
        )

    def _size(self, size: int, multiplier: float) -> int:
        return max(size, self._number(multiplier))

    def _steps(self, pool: QueryPool, multiplier: float) -> Array:
        number = self._number(multiplier)
        smooth = _SMOOTHNESS * self.function.lipschitz / self.smoothing + multiplier
        rate = math.sqrt(multiplier / smooth)
        cuts = np.linspace(0, pool.size, number + 1).astype(int).tolist()
        x = z = np.zeros_like(pool.center)
        for low, high in pairwise(cuts):
            at = (x + rate * z) / (1 + rate)
            gradient = pool.mean(pool.center + at, slice(low, high)) + multiplier * at
            z = rate * at + (1 - rate) * z - (rate / multiplier) * gradient
            length = float(np.linalg.norm(z))
            if length > self.radius:
                z *= self.radius / length
            x = rate * z + (1 - rate) * x
        self.counter.steps(number)
        return x


#: Ball oracles by the name of the method that uses them.
SOLVERS: dict[str, type[_PoolOracle]] = {
    "resque-1": WeightedBallOracle,
    "resque-2": AcceleratedBallOracle,
}
