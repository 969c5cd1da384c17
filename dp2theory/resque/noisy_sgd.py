"""Noisy projected subgradient descent: the first private baseline.

Every step draws a batch, adds Gaussian noise to the sum of its subgradients and moves; the
average of the points is the answer (Bassily, Smith and Thakurta, FOCS 2014; with batches of about
sqrt(epsilon n) records Bassily, Feldman, Talwar and Thakurta, NeurIPS 2019). Noise is set by the
exact accountant, not by a formula, so that it is never more than the ledger asks for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dp2theory.problems.validation import open_unit, positive_real, whole_number
from dp2theory.resque.baseline_run import (
    BaselineRun,
    check_planned,
    check_private,
    project,
    shortened,
)
from dp2theory.resque.counters import Counter
from dp2theory.resque.functions import Array, IndexArray, StochasticFunction, check_rng
from dp2theory.resque.sourced import Sourced

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import Bracket
    from accountants.sampling import Sampling

#: How a batch may be drawn.
SAMPLINGS = ("poisson", "with-replacement")


@dataclass(frozen=True)
class NoisySgdConstants(Sourced):
    """Choices of the method; each can be given, and `SOURCES` says where it comes from.

    Attributes
    ----------
    sampling : {"poisson", "with-replacement"}
        How a batch is drawn.
    batch_factor : float
        Batches have sqrt(batch_factor * epsilon * n) records, rounded up.
    privacy_factor : float
        Steps at which noise and optimisation cost the same:
        (epsilon n)^2 / (privacy_factor * d * log(1/delta)).
    steps_per_record : float
        Never more steps than this times n.
    batch_size, steps : int, optional
        In the place of these formulas.
    """

    sampling: str = "poisson"
    batch_factor: float = 0.25
    privacy_factor: float = 32.0
    steps_per_record: float = 1.0
    batch_size: int | None = None
    steps: int | None = None

    SOURCES: ClassVar[Mapping[str, str]] = {
        "sampling": "hand-chosen: exactly accounted, with less noise than draws with replacement",
        "batch_factor": "Bassily et al. (2019), recalled: batches of sqrt(epsilon n/4)",
        "privacy_factor": "Bassily et al. (2019), recalled:"
        " (epsilon n)^2/(32 d log(1/delta)) steps",
        "steps_per_record": "hand-chosen: n steps reach the statistical error 1/sqrt(n)",
        "batch_size": "given by the caller",
        "steps": "given by the caller",
    }

    def __post_init__(self) -> None:
        if self.sampling not in SAMPLINGS:
            raise ValueError(f"sampling={self.sampling!r}: must be one of {', '.join(SAMPLINGS)}")
        for name in ("batch_factor", "privacy_factor", "steps_per_record"):
            positive_real(name, getattr(self, name))
        for name in ("batch_size", "steps"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name))


@dataclass(frozen=True)
class NoisySgdPlan:
    """Everything that is fixed before the data are read.

    Attributes
    ----------
    sampling : Poisson or WithReplacement
        How batches are drawn, as the ledger has it.
    dataset_size, batch_size, steps : int
        Records, expected records of a batch, number of steps.
    lipschitz : float
        The public bound L.
    noise_multiplier : float
        Noise on a sum of subgradients over their bound L.
    step_size : float
        R/(G sqrt(steps)), G^2 a bound on the second moment of a noisy mean.
    excess_bound : float
        R G/sqrt(steps): f at the average exceeds the minimum over B(start, R) by no more, in
        expectation. From ``sum <g_t, x_t - x*> <= R^2/(2 eta) + eta/2 sum ||g_t||^2`` with
        E g_t a subgradient and the step above.
    epsilon : Bracket
        At the target delta, under replacement of a record.
    event : DpEvent
    target_delta : float
    constants : NoisySgdConstants
    """

    sampling: Sampling
    dataset_size: int
    batch_size: int
    steps: int
    lipschitz: float
    noise_multiplier: float
    step_size: float
    excess_bound: float
    epsilon: Bracket
    event: DpEvent = field(repr=False)
    target_delta: float
    constants: NoisySgdConstants

    @property
    def parts(self) -> tuple[DpEvent, ...]:
        """The one event: every step may read every record."""
        return (self.event,)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "sampling": self.sampling.scheme,
            "dataset_size": self.dataset_size,
            "batch_size": self.batch_size,
            "steps": self.steps,
            "lipschitz": self.lipschitz,
            "noise_multiplier": self.noise_multiplier,
            "step_size": self.step_size,
            "excess_bound": self.excess_bound,
            "epsilon": self.epsilon.to_json(),
            "target_delta": self.target_delta,
            "constants": self.constants.to_json(),
        }


def plan_noisy_sgd(
    function: StochasticFunction,
    *,
    target_epsilon: float,
    target_delta: float,
    constants: NoisySgdConstants | None = None,
) -> NoisySgdPlan:
    """Choose batches, steps and noise; of the function only its public numbers are read.

    Parameters
    ----------
    function : StochasticFunction
        A mean over records.
    target_epsilon : float
        In (0, inf).
    target_delta : float
        In (0, 1).
    constants : NoisySgdConstants, optional

    Returns
    -------
    NoisySgdPlan
        Whose epsilon meets the budget under replacement of a record.

    Raises
    ------
    ValueError
        For values outside their domain.
    """
    from accountants import NeighboringRelation, calibrate_noise_multiplier
    from accountants.events import dp_sgd_event
    from accountants.sampling import Poisson, WithReplacement

    function = check_private(function)
    target_epsilon = positive_real("target_epsilon", target_epsilon)
    target_delta = open_unit("target_delta", target_delta)
    constants = constants or NoisySgdConstants()
    n, d = function.sample_size, function.dimension
    batch = constants.batch_size or math.ceil(
        math.sqrt(constants.batch_factor * target_epsilon * n)
    )
    batch = min(batch, n)
    private = (target_epsilon * n) ** 2 / (constants.privacy_factor * d * -math.log(target_delta))
    steps = constants.steps or max(1, math.ceil(min(private, constants.steps_per_record * n)))
    poisson = constants.sampling == "poisson"
    sampling: Sampling = Poisson(batch / n) if poisson else WithReplacement(n, batch)

    def event(noise_multiplier: float) -> DpEvent:
        return dp_sgd_event(sampling=sampling, noise_multiplier=noise_multiplier, steps=steps)

    found = calibrate_noise_multiplier(
        event,
        target_epsilon=target_epsilon,
        target_delta=target_delta,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
    )
    sigma = found.noise_multiplier
    # E||sum/m||^2 <= L^2 (1 + 1/m) for Poisson batches: the variance of coins adds to the mean.
    second_moment = 1 + (1 / batch if poisson else 0) + d * (sigma / batch) ** 2
    length = function.lipschitz * math.sqrt(second_moment)
    return NoisySgdPlan(
        sampling=sampling,
        dataset_size=n,
        batch_size=batch,
        steps=steps,
        lipschitz=function.lipschitz,
        noise_multiplier=sigma,
        step_size=function.radius / (length * math.sqrt(steps)),
        excess_bound=function.radius * length / math.sqrt(steps),
        epsilon=found.epsilon,
        event=event(sigma),
        target_delta=target_delta,
        constants=constants,
    )


def run_noisy_sgd(
    function: StochasticFunction,
    plan: NoisySgdPlan,
    *,
    rng: np.random.Generator | int,
    counter: Counter | None = None,
) -> BaselineRun:
    """Run a plan on the data.

    Parameters
    ----------
    function : StochasticFunction
        The one of the plan, or one on neighbouring data. Subgradients longer than its L are
        shortened, so that the ledger holds whatever the function does.
    plan : NoisySgdPlan
    rng : numpy.random.Generator or int
    counter : Counter, optional
        One round for each step.

    Returns
    -------
    BaselineRun
        With the average of the points before each step.

    Raises
    ------
    ValueError
        If the function has another number of records than the plan, or another bound L.
    """
    function = check_planned(function, plan.dataset_size, plan.lipschitz)
    rng = check_rng(rng)
    counter = counter or Counter()
    center, radius, longest = function.start, function.radius, plan.lipschitz
    noise_std = plan.noise_multiplier * longest
    x, total = center.copy(), np.zeros(function.dimension)
    for _ in range(plan.steps):
        total += x
        records = _draw(plan, rng)
        counter.round(records.size)
        released = _sum(function, x, records, longest)
        released += noise_std * rng.standard_normal(x.size)
        x = project(x - (plan.step_size / plan.batch_size) * released, center, radius)
    counter.steps(plan.steps)
    return BaselineRun("noisy-sgd", total / plan.steps, counter.snapshot(), plan)


def _draw(plan: NoisySgdPlan, rng: np.random.Generator) -> IndexArray:
    n = plan.dataset_size
    if plan.constants.sampling == "with-replacement":
        return rng.integers(n, size=plan.batch_size)
    # A binomial size and a uniform subset: the law of one coin for each record.
    return rng.choice(n, rng.binomial(n, plan.batch_size / n), replace=False, shuffle=False)


def _sum(function: StochasticFunction, x: Array, records: IndexArray, longest: float) -> Array:
    if not records.size:
        return np.zeros(x.size)
    points = np.broadcast_to(x, (records.size, x.size))
    gradients = shortened(function.subgradients(points, records), longest)
    result: Array = gradients.sum(axis=0)
    return result
