"""The sequential baseline: stochastic subgradient steps, average of the iterates."""

from __future__ import annotations

import math

import numpy as np

from dp2theory.problems.validation import positive_real, whole_number
from dp2theory.resque.counters import Counter
from dp2theory.resque.functions import StochasticFunction, check_function, check_rng
from dp2theory.resque.parallel_run import ParallelRun, Progress, make_target

__all__ = ["OVERTIME", "solve_subgradient", "subgradient_steps"]

#: With a known optimum a run may go on to this many times its guaranteed steps (hand-chosen: the
#: guarantee of a stochastic method is in expectation).
OVERTIME = 4
_BLOCK = 4096
_LARGEST = 1e6  # root of the most steps: days of them


def subgradient_steps(lipschitz: float, radius: float, accuracy: float) -> int:
    """Return T = ceil((L R/eps)^2).

    With steps R/(L sqrt(T)), the mean of the first T iterates has an expected suboptimality of
    at most L R/sqrt(T) <= eps (textbook bound, e.g. Nesterov, Introductory Lectures, 3.2.3;
    Table 1's row "SGD", resque.table1).
    """
    _check = (("lipschitz", lipschitz), ("radius", radius), ("accuracy", accuracy))
    for name, value in _check:
        positive_real(name, value)
    ratio = lipschitz * radius / accuracy
    if ratio > _LARGEST:
        raise ValueError(
            f"accuracy={accuracy!r} takes {ratio:.3g}^2 steps, must take at most {_LARGEST:.0e}^2"
        )
    return math.ceil(ratio**2)


def solve_subgradient(
    function: StochasticFunction,
    *,
    accuracy: float,
    rng: np.random.Generator | int,
    optimal_value: float | None = None,
    max_rounds: int | None = None,
    counter: Counter | None = None,
    progress: Progress | None = None,
) -> ParallelRun:
    """Minimise by stochastic subgradient steps, one query after the other.

    Parameters
    ----------
    function : StochasticFunction
    accuracy : float
        eps > 0.
    rng : numpy.random.Generator or int
        Draws the samples; a function without samples is deterministic.
    optimal_value : float, optional
        f*, default that of the function. Known, the run ends when the average reaches it within
        eps; unknown, after `subgradient_steps`.
    max_rounds : int, optional
        Cap on steps; default: `subgradient_steps`, times `OVERTIME` when f* is known.
    counter : Counter, optional
    progress : callable, optional

    Returns
    -------
    ParallelRun
        Steps, queries and both depths are one number.
    """
    check_function(function)
    positive_real("accuracy", accuracy)
    target = make_target(function, accuracy, optimal_value)
    counter = Counter() if counter is None else counter
    rng = check_rng(rng)
    number = subgradient_steps(function.lipschitz, function.radius, accuracy)
    size = function.radius / (function.lipschitz * math.sqrt(number))
    most = number if target.optimal_value is None else OVERTIME * number
    limit = most if max_rounds is None else whole_number("max_rounds", max_rounds)
    x, total, average = function.start.copy(), np.zeros(function.dimension), function.start
    stopped = "accuracy" if target.reached(average) else ""
    step = 0
    while not stopped:
        if step % _BLOCK == 0:
            samples = rng.integers(0, function.sample_size, size=_BLOCK)
        here = step % _BLOCK
        counter.round(1)
        counter.steps(1)
        total += x
        x = x - size * function.subgradients(x[None], samples[here : here + 1])[0]
        step += 1
        average = total / step
        if progress is not None:
            progress(step, target.gap(average))
        if target.reached(average):
            stopped = "accuracy"
        elif step >= limit:
            stopped = "guarantee" if step >= number else "max_rounds"
    return ParallelRun(
        average, "sgd", function.name, function.dimension, accuracy, function.value(average),
        target.gap(average), counter.snapshot(), None, None, None, None, stopped,
    )  # fmt: skip
