"""Private baselines by name."""

from __future__ import annotations

import numpy as np

from dp2theory.resque.baseline_run import BaselineRun
from dp2theory.resque.counters import Counter
from dp2theory.resque.functions import StochasticFunction, check_rng
from dp2theory.resque.noisy_sgd import plan_noisy_sgd, run_noisy_sgd
from dp2theory.resque.phased_localization import run_phased
from dp2theory.resque.phased_plan import PhasedConstants, plan_phased

#: Private methods beside ReSQue, by name.
BASELINES = ("noisy-sgd", "phased-localization", "phased-localization-raw")


def run_private_baseline(
    name: str,
    function: StochasticFunction,
    *,
    target_epsilon: float,
    target_delta: float,
    rng: np.random.Generator | int,
    counter: Counter | None = None,
) -> BaselineRun:
    """Plan a baseline for a budget and run it.

    Parameters
    ----------
    name : str
        One of `BASELINES`; "-raw" takes subgradients as they are where a smoothed pass would have
        closed forms.
    function : StochasticFunction
        A mean over records.
    target_epsilon, target_delta : float
        Budget under replacement of a record; > 0, and in (0, 1).
    rng : numpy.random.Generator or int
    counter : Counter, optional

    Returns
    -------
    BaselineRun

    Raises
    ------
    ValueError
        For an unknown name, a function that is no mean over records, a budget outside its domain.
    """
    rng = check_rng(rng)
    if name not in BASELINES:
        raise ValueError(f"name={name!r}: must be one of {', '.join(BASELINES)}")
    if name == "noisy-sgd":
        sgd = plan_noisy_sgd(function, target_epsilon=target_epsilon, target_delta=target_delta)
        return run_noisy_sgd(function, sgd, rng=rng, counter=counter)
    variant = "raw" if name.endswith("raw") else None
    phased = plan_phased(
        function,
        target_epsilon=target_epsilon,
        target_delta=target_delta,
        constants=PhasedConstants(variant=variant),
    )
    return run_phased(function, phased, rng=rng, counter=counter)
