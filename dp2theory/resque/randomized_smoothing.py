"""The parallel baseline: accelerated steps on the smoothed function, one minibatch a round."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from dp2theory.problems.validation import positive_real, real_in, whole_number
from dp2theory.resque.counters import Counter
from dp2theory.resque.estimator import QueryPool
from dp2theory.resque.functions import StochasticFunction, check_function, check_rng
from dp2theory.resque.parallel_run import ParallelRun, Progress, make_target
from dp2theory.resque.subgradient import OVERTIME

__all__ = ["SmoothingPlan", "plan_smoothing", "solve_randomized_smoothing"]

#: Parts of eps that smoothing and the noise of minibatches may cost (hand-chosen; the rest,
#: 1/4, is for the distance of the start). Smoothing gets what the ball methods give it.
SMOOTHING_SHARE, NOISE_SHARE = 0.5, 0.25
_LARGEST = 1e6  # L R/eps: its square, about, is the number of gradients


@dataclass(frozen=True)
class SmoothingPlan:
    """Sizes of `solve_randomized_smoothing`.

    Attributes
    ----------
    smoothing : float
        rho.
    smoothness : float
        S = sqrt(2/pi) L/rho (resque.F3).
    steps : int
        T, after which the bound is eps.
    batch : int
        m, queries of a round.
    """

    smoothing: float
    smoothness: float
    steps: int
    batch: int


def plan_smoothing(
    *,
    lipschitz: float,
    radius: float,
    dimension: int,
    accuracy: float,
    smoothing_share: float = SMOOTHING_SHARE,
    noise_share: float = NOISE_SHARE,
) -> SmoothingPlan:
    """Return smoothing, number of steps and minibatch for an expected suboptimality of eps.

    Parameters
    ----------
    lipschitz, radius, dimension, accuracy
        L, R, d, eps.
    smoothing_share, noise_share : float
        Parts of eps in (0, 1), with a sum below 1.

    Returns
    -------
    SmoothingPlan

    Notes
    -----
    Method of Duchi, Bartlett and Wainwright (Randomized smoothing for stochastic optimization,
    2012), whose steps let the smoothing shrink; eps is given here, so it is constant. Own
    derivation of the sizes: rho = share eps/(sqrt(d) L) costs ``share eps`` (resque.F1). Steps
    ``y = (A x + a z)/(A + a)``, ``z' = z - (a/S) g``, ``x' = (A x + a z')/(A + a)`` with
    a_t = (t + 1)/2, so A_T = T (T + 3)/4 and a_t^2 <= A_t: smoothness at y, convexity towards x
    and u, and the identity of the step in z give ``A' gap' + S/2 ||z' - u||^2 <= A gap +
    S/2 ||z - u||^2 - a <error, z' - u>``; the last term has mean a^2 E ||error||^2/S. Hence

        E gap_T <= (S R^2/2)/A_T + (L^2/(m S)) sum_t a_t^2/A_T,

    and T and m are the smallest for which the terms are within their shares of eps. So
    T ~ d^(1/4) L R/eps and m T ~ (L R/eps)^2 + T: Table 1's row "DBW12" (resque.table1).
    """
    for name, value in (
        ("smoothing_share", smoothing_share), ("noise_share", noise_share)
    ):  # fmt: skip
        positive_real(name, value)
    real_in("smoothing_share + noise_share", smoothing_share + noise_share, 0, 1, open_high=True)
    positive_real("lipschitz", lipschitz)
    positive_real("radius", radius)
    positive_real("accuracy", accuracy)
    whole_number("dimension", dimension)
    if lipschitz * radius / accuracy > _LARGEST:
        raise ValueError(
            f"accuracy={accuracy!r} must be at least {lipschitz * radius / _LARGEST:.3g}: the "
            "method would ask for too many gradients"
        )
    smoothing = smoothing_share * accuracy / (math.sqrt(dimension) * lipschitz)
    smooth = math.sqrt(2 / math.pi) * lipschitz / smoothing
    start_share = 1 - smoothing_share - noise_share
    wanted = smooth * radius**2 / (2 * start_share * accuracy)
    # The smallest T with T (T + 3)/4 >= wanted.
    steps = max(1, math.ceil((math.sqrt(9 + 16 * wanted) - 3) / 2))
    while steps * (steps + 3) / 4 < wanted:  # the root was rounded down
        steps += 1
    squares = ((steps + 1) * (steps + 2) * (2 * steps + 3) / 6 - 1) / 4  # of (t + 1)/2
    noise = lipschitz**2 * squares / (smooth * steps * (steps + 3) / 4)
    return SmoothingPlan(smoothing, smooth, steps, math.ceil(noise / (noise_share * accuracy)))


def solve_randomized_smoothing(
    function: StochasticFunction,
    *,
    accuracy: float,
    rng: np.random.Generator | int,
    executor: Executor | None = None,
    optimal_value: float | None = None,
    max_rounds: int | None = None,
    smoothing_share: float = SMOOTHING_SHARE,
    noise_share: float = NOISE_SHARE,
    counter: Counter | None = None,
    progress: Progress | None = None,
) -> ParallelRun:
    """Minimise by accelerated randomised smoothing: `plan_smoothing` says the steps.

    Parameters
    ----------
    function : StochasticFunction
    accuracy : float
        eps > 0.
    rng : numpy.random.Generator or int
    executor : concurrent.futures.Executor, optional
        Where the queries of a round run; the answer does not depend on it.
    optimal_value : float, optional
        f*, default that of the function. Known, the run ends when x reaches it within eps;
        unknown, after the planned steps.
    max_rounds : int, optional
        Cap on steps; default: the planned ones, times `OVERTIME` when f* is known.
    smoothing_share, noise_share : float
    counter : Counter, optional
    progress : callable, optional

    Returns
    -------
    ParallelRun
        A step is one parallel round, so both depths are one number.
    """
    check_function(function)
    positive_real("accuracy", accuracy)
    target = make_target(function, accuracy, optimal_value)
    counter = Counter() if counter is None else counter
    rng = check_rng(rng)
    plan = plan_smoothing(
        lipschitz=function.lipschitz,
        radius=function.radius,
        dimension=function.dimension,
        accuracy=accuracy,
        smoothing_share=smoothing_share,
        noise_share=noise_share,
    )
    most = plan.steps if target.optimal_value is None else OVERTIME * plan.steps
    limit = most if max_rounds is None else whole_number("max_rounds", max_rounds)
    x = z = function.start.copy()
    stopped, step, weight = "accuracy" if target.reached(x) else "", 0, 0.0
    while not stopped:
        step += 1
        size = (step + 1) / 2
        y = (weight * x + size * z) / (weight + size)
        pool = QueryPool.draw(
            function,
            y,
            smoothing=plan.smoothing,
            size=plan.batch,
            rng=rng,
            counter=counter,
            executor=executor,
        )
        counter.steps(1)
        z = z - size / plan.smoothness * pool.gradients.mean(axis=0)
        x = (weight * x + size * z) / (weight + size)
        weight += size
        if progress is not None:
            progress(step, target.gap(x))
        if target.reached(x):
            stopped = "accuracy"
        elif step >= limit:
            stopped = "guarantee" if step >= plan.steps else "max_rounds"
    return ParallelRun(
        x, "randomized-smoothing", function.name, function.dimension, accuracy, function.value(x),
        target.gap(x), counter.snapshot(), None, None, None, plan.smoothing, stopped,
    )  # fmt: skip
