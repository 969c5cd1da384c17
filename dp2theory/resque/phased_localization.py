"""Phased localisation with noise on the output: the second private baseline.

Each phase runs subgradient descent once over records of its own, publishes the average with
Gaussian noise and hands it on as the next start; records halve and steps fall by 4 from phase to
phase, so that later phases correct the noise of earlier ones (Feldman, Koren and Talwar, STOC
2020). A record is in one phase, so that the whole costs what the dearest phase costs.

How far one record moves an average
-----------------------------------
Two runs of T steps of size eta on neighbouring records, with the same start, order and domain.
Until the differing record comes they are the same; its step parts them by at most 2 L eta.

``smoothed``
    Steps along the gradient of f_s averaged over a Gaussian of deviation rho. That function is
    convex and sqrt(2/pi) L/rho-smooth (theorem resque.F3), and a gradient step of at most 2 over
    the smoothness does not part two points further. With ``rho >= eta L/sqrt(2 pi)`` all later
    steps are such, projections too, so that every point, and their average, moves by at most
    2 L eta. A record's averaged gradient must be known in closed form: absolute and hinge losses.
``raw``
    Steps along any subgradients. These are monotone, so that for a shared record
    ``||x - x' - eta (g - g')||^2 <= ||x - x'||^2 + 4 L^2 eta^2``: t steps after the start the
    points are at most 2 L eta sqrt(t) apart, and the average of the points before each step at
    most ``2 L eta (sum_{t<T} sqrt(t))/T <= 2 L eta (2/3) sqrt(T)`` (the argument of Bassily,
    Feldman, Guzman and Talwar, NeurIPS 2020). There are data that move it by
    2 L eta sqrt(T/3): this variant needs some sqrt(T) times the noise.

Both need every f_s to be convex and L-Lipschitz: unlike noisy descent, which shortens what is too
long, they are as private as that promise is true.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dp2theory.resque.baseline_run import (
    BaselineRun,
    Release,
    check_planned,
    project,
    shortened,
)
from dp2theory.resque.counters import Counter
from dp2theory.resque.functions import Array, IndexArray, StochasticFunction, check_rng
from dp2theory.resque.losses import AbsoluteLoss, HingeLoss
from dp2theory.resque.phased_plan import PhasedPlan, no_closed_form


def run_phased(
    function: StochasticFunction,
    plan: PhasedPlan,
    *,
    rng: np.random.Generator | int,
    counter: Counter | None = None,
) -> BaselineRun:
    """Run a plan on the data.

    Parameters
    ----------
    function : StochasticFunction
        The one of the plan, or one on neighbouring data.
    plan : PhasedPlan
    rng : numpy.random.Generator or int
        Orders the records, without a look at them, and makes the noise.
    counter : Counter, optional
        One round of one query for each step; an averaged gradient counts as one query.

    Returns
    -------
    BaselineRun
        With what the last phase published, projected on the domain.

    Raises
    ------
    ValueError
        If the function has another number of records than the plan, or another bound L.
    """
    function = check_planned(function, plan.dataset_size, plan.lipschitz)
    rng = check_rng(rng)
    counter = counter or Counter()
    order = rng.permutation(plan.dataset_size)
    x, used, releases = function.start.copy(), 0, []
    for phase in plan.phases:
        records = order[used : used + phase.records]
        used += phase.records
        clean = one_pass(function, records, x, phase.step_size, phase.smoothing)
        released = clean + phase.noise_std * rng.standard_normal(clean.size)
        releases.append(Release(clean, released, phase.noise_std))
        x = project(released, function.start, function.radius)
        for _ in range(phase.records):
            counter.round(1)
        counter.steps(phase.records)
    name = "phased-localization" + ("" if plan.variant == "smoothed" else "-raw")
    return BaselineRun(name, x, counter.snapshot(), plan, tuple(releases))


def one_pass(
    function: StochasticFunction,
    records: IndexArray,
    start: Array,
    step_size: float,
    smoothing: float,
) -> Array:
    """Return the average of the points before each step of one pass, without noise.

    Parameters
    ----------
    function : StochasticFunction
    records : ndarray of int, shape (T,)
        In the order of their steps.
    start : ndarray, shape (d,)
    step_size : float
    smoothing : float
        0 for subgradients as they are.
    """
    gradient = _smoothed(function, smoothing) if smoothing > 0 else _subgradient(function)
    center, radius = function.start, function.radius
    x, total = start, np.zeros(start.size)
    for record in records.tolist():
        total += x
        x = project(x - step_size * gradient(x, record), center, radius)
    result: Array = total / len(records)
    return result


def _subgradient(function: StochasticFunction) -> Callable[[Array, int], Array]:
    def gradient(x: Array, record: int) -> Array:
        found = function.subgradients(x[None, :], np.array([record]))
        row: Array = shortened(found, function.lipschitz)[0]
        return row

    return gradient


def _smoothed(function: StochasticFunction, smoothing: float) -> Callable[[Array, int], Array]:
    if not isinstance(function, (AbsoluteLoss, HingeLoss)):
        raise no_closed_form(function)
    ask = function.smoothed_subgradients  # never longer than the row, which is at most L long

    def gradient(x: Array, record: int) -> Array:
        row: Array = ask(x[None, :], np.array([record]), smoothing)[0]
        return row

    return gradient
