"""Parallel non-smooth convex minimisation: Theorems 1 and 2, and two methods to compare with."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np

from dp2theory.problems.validation import positive_real, whole_number
from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.ball_run import Step
from dp2theory.resque.ball_solvers import SOLVERS, ParallelConstants
from dp2theory.resque.counters import Counter
from dp2theory.resque.functions import StochasticFunction, check_function, check_rng
from dp2theory.resque.parallel_run import ParallelRun, Progress, make_target
from dp2theory.resque.randomized_smoothing import solve_randomized_smoothing
from dp2theory.resque.subgradient import solve_subgradient

__all__ = ["METHODS", "ball_steps", "multiplier_floor", "smoothing_for", "solve_parallel"]

#: In the order of Table 1: SGD, DBW12, Theorem 1, Theorem 2.
METHODS = ("sgd", "randomized-smoothing", *SOLVERS)
_LARGEST_STEPS = 1e6  # K of a run that is not capped: more take hours


def smoothing_for(accuracy: float, dimension: int, lipschitz: float) -> float:
    """Return rho = eps/(2 sqrt(d) L): the average over the Gaussian costs eps/2 (resque.F1).

    What `smoothing.smoothing_for` answers, without the catalogue of theorems, which takes longer to
    load than many a run.
    """
    dimension = whole_number("dimension", dimension)
    lipschitz = positive_real("lipschitz", lipschitz)
    return positive_real("accuracy", accuracy) / (2 * math.sqrt(dimension) * lipschitz)


def ball_steps(radius: float, ball_radius: float) -> float:
    """Return K = (R/r)^(2/3), the natural number of ball steps."""
    radius = positive_real("radius", radius)
    return float((radius / positive_real("ball_radius", ball_radius)) ** (2 / 3))


def multiplier_floor(accuracy: float, radius: float, ball_radius: float) -> float:
    """Return eps K^2/R^2, the smallest multiplier of a subproblem.

    No subproblem needs more than about (L R/eps)^2/K queries there (resque.parallel.1). Accepted
    steps are about K log in number, as measured; the proved number (resque.ball.floor) is for a
    floor that is 1.8 times lower: that of half the accuracy, the other half being the smoothing's,
    and of a ball of 0.93 r.
    """
    positive_real("accuracy", accuracy)
    return accuracy * ball_steps(radius, ball_radius) ** 2 / radius**2


def solve_parallel(
    function: StochasticFunction,
    *,
    accuracy: float,
    method: str = "resque-1",
    rng: np.random.Generator | int,
    executor: Executor | None = None,
    constants: ParallelConstants | None = None,
    optimal_value: float | None = None,
    max_rounds: int | None = None,
    counter: Counter | None = None,
    progress: Progress | None = None,
) -> ParallelRun:
    """Find a point with f(x) - f* <= eps in few parallel rounds of gradient queries.

    Parameters
    ----------
    function : StochasticFunction
    accuracy : float
        eps > 0, in units of f.
    method : str
        ``"resque-1"`` (Theorem 1: ball acceleration, subproblems by weighted stochastic gradient
        steps), ``"resque-2"`` (Theorem 2: by accelerated minibatches), ``"sgd"``, or
        ``"randomized-smoothing"`` (Duchi, Bartlett and Wainwright 2012).
    rng : numpy.random.Generator or int
        The result depends on it and on no worker.
    executor : concurrent.futures.Executor, optional
        Where the queries of a round are evaluated, in blocks; None: in this process. SGD asks one
        query at a time and makes no use of it.
    constants : ParallelConstants, optional
        Of the two ReSQue methods.
    optimal_value : float, optional
        f*, default that of the function (`reference_optimum` finds it for losses on data). Known,
        the run ends when f(x) - f* <= eps is seen; unknown, when the method's own bound says so.
    max_rounds : int, optional
        Cap on parallel rounds. Default: none for ReSQue, whose outer loop ends by itself (a run
        that would take millions of rounds is refused without one); see
        `solve_subgradient` and `solve_randomized_smoothing` for those.
    counter : Counter, optional
    progress : callable, optional
        ``progress(rounds, gap)`` after every accepted step.

    Returns
    -------
    ParallelRun

    Raises
    ------
    ValueError
        An argument outside its domain, or an unknown method.
    RoundError
        A subproblem asked for a second parallel round, or for none.

    Notes
    -----
    Smoothing is rho = eps/(2 sqrt(d) L), the ball has radius r = rho (times
    ``constants.radius_over_smoothing``), and the multipliers have the floor eps K^2/R^2,
    K = (R/r)^(2/3). Query depth is the number of subproblems, those of the search for a
    multiplier included.

    Honest limits. ``stopped == "guarantee"`` of the ReSQue methods means that the weights reached
    R^2/eps, which proves f_rho(x) - f_rho* <= eps/2 for an exact oracle; what the error of the
    stochastic solvers adds to the outer loop is not analysed (the literature uses bias-reduced
    estimates there). The exponents of resque.parallel.1 and resque.parallel.2 are upper bounds:
    on easy instances total queries grow more slowly than eps^-2. And counts do not test the
    estimator: on the named functions runs that leave the weights out take about as many rounds;
    what weights are for shows in the excess of one subproblem. An accepted step may be *forced*:
    at the largest multiplier, where an exact answer would be inside the band and the
    stochastic one is not.
    """
    check_function(function)
    if method not in METHODS:
        raise ValueError(f"method={method!r} must be one of {', '.join(METHODS)}")
    positive_real("accuracy", accuracy)
    if max_rounds is not None:
        whole_number("max_rounds", max_rounds)
    if constants is not None and not isinstance(constants, ParallelConstants):
        raise ValueError(f"constants={constants!r} must be ParallelConstants")
    counter = Counter() if counter is None else counter
    common: dict[str, Any] = {
        "accuracy": accuracy,
        "optimal_value": optimal_value,
        "max_rounds": max_rounds,
        "counter": counter,
        "progress": progress,
    }
    if method not in SOLVERS:
        if constants is not None:
            raise ValueError(f"constants are of the ReSQue methods, not of method={method!r}")
        if method == "sgd":
            return solve_subgradient(function, rng=rng, **common)
        return solve_randomized_smoothing(function, rng=rng, executor=executor, **common)
    return _resque(
        function, method, ParallelConstants() if constants is None else constants,
        check_rng(rng), executor, **common,
    )  # fmt: skip


def _resque(
    function: StochasticFunction,
    method: str,
    constants: ParallelConstants,
    rng: np.random.Generator,
    executor: Executor | None,
    *,
    accuracy: float,
    optimal_value: float | None,
    max_rounds: int | None,
    counter: Counter,
    progress: Progress | None,
) -> ParallelRun:
    target = make_target(function, accuracy, optimal_value)
    smoothing = smoothing_for(accuracy, function.dimension, function.lipschitz)
    ball = constants.radius_over_smoothing * smoothing
    wanted = ball_steps(function.radius, ball)
    if wanted > _LARGEST_STEPS and max_rounds is None:
        raise ValueError(
            f"accuracy={accuracy!r} with radius_over_smoothing={constants.radius_over_smoothing!r}"
            f" takes about K = {wanted:.3g} rounds: give max_rounds above {_LARGEST_STEPS:.0e}"
        )
    oracle = SOLVERS[method](function, ball, smoothing, rng, constants, counter, executor)
    observe: Callable[[Step], None] | None = None
    if progress is not None:
        tell = progress

        def observe(step: Step) -> None:
            tell(counter.query_depth, target.gap(step.x))

    run = accelerate(
        oracle,
        start=function.start,
        domain_radius=function.radius,
        lipschitz=function.lipschitz,
        accuracy=accuracy / 2,  # the other half is the smoothing's
        floor=multiplier_floor(accuracy, function.radius, ball),
        floor_first=False,
        band=constants.band,
        stop=target.reached,
        max_calls=max_rounds,
        calls_per_step=constants.calls_per_step,
        observe=observe,
        counter=counter,
    )
    stopped = {"stop": "accuracy", "weight": "guarantee"}.get(run.stopped, "max_rounds")
    return ParallelRun(
        run.x, method, function.name, function.dimension, accuracy, function.value(run.x),
        target.gap(run.x), counter.snapshot(), run.accepted, run.forced,
        ball_steps(function.radius, ball), smoothing, stopped,
    )  # fmt: skip
