"""One regularised empirical risk, minimised by ball acceleration with a private oracle.

Between the oracle's calls nothing reads the data: the search for a multiplier compares distances
of released points with the radius, and a run ends when its weight or its number of calls, both
public, are large enough.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dp2theory.resque import failure
from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.ball_run import BallRun
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.counters import Counter
from dp2theory.resque.functions import Array, StochasticFunction, check_vector
from dp2theory.resque.localization import PrivateBallOracle, Release
from dp2theory.resque.private_part import PartPlan, longest_phases

__all__ = ["PartRun", "minimise_privately"]


@dataclass(frozen=True)
class PartRun:
    """What a run on one part of the data did.

    Attributes
    ----------
    plan : PartPlan
    parameters : ndarray, shape (d,)
        The answer, a release.
    calls : int
        Oracle calls made, as counted by the oracle.
    acceleration : BallRun
        Steps, multipliers, moves, and why the run ended: all of it public.
    """

    plan: PartPlan
    parameters: Array = field(repr=False)
    calls: int
    acceleration: BallRun = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "parameters": self.parameters.tolist(),
            "calls": self.calls,
            "accepted": self.acceleration.accepted,
            "forced": self.acceleration.forced,
            "stopped": self.acceleration.stopped,
            "plan": self.plan.to_json(),
        }


def minimise_privately(
    function: StochasticFunction,
    plan: PartPlan,
    *,
    start: Array,
    rng: np.random.Generator,
    constants: PrivateConstants | None = None,
    counter: Counter | None = None,
    executor: Executor | None = None,
    observe: Callable[[Release], None] | None = None,
) -> PartRun:
    """Minimise the mean loss of a part plus its regulariser around `start`.

    Parameters
    ----------
    function : StochasticFunction
        The mean over the records of the part.
    plan : PartPlan
    start : ndarray, shape (d,)
        Public: where the last part ended.
    rng : numpy.random.Generator
    constants : PrivateConstants, optional
        Those of the plan.
    counter : Counter, optional
    executor : concurrent.futures.Executor, optional
        Where queries are evaluated; the answer does not depend on it.
    observe : callable, optional
        Is shown every `Release`, for tests and audits.

    Returns
    -------
    PartRun

    Raises
    ------
    ValueError
        If the function has another number of records or another L than the plan, or its calls
        would fail more often with these constants.
    """
    if function.sample_size != plan.dataset_size:
        raise ValueError(
            f"function has {function.sample_size} records, must have {plan.dataset_size} as planned"
        )
    constants = constants or PrivateConstants()
    _check_planned(function, plan, constants)
    counter = counter or Counter()
    start = check_vector("start", start, function.dimension)
    before = counter.oracle_calls
    oracle = PrivateBallOracle(
        function,
        plan.radius,
        plan.smoothing,
        plan.draws,
        plan.noise_multiplier,
        rng,
        constants=constants,
        anchor=start,
        regularisation=plan.risk.regularisation,
        counter=counter,
        executor=executor,
        observe=observe,
    )
    run = accelerate(
        oracle,
        start=start,
        domain_radius=plan.risk.domain_radius,
        lipschitz=plan.slope,
        accuracy=plan.risk.accuracy,
        floor=plan.floor,
        band=constants.band,
        calls_per_step=constants.calls_per_step,
        floor_first=False,
        max_calls=plan.max_calls,
        counter=counter,
    )
    return PartRun(plan, run.x, counter.oracle_calls - before, run)


def _check_planned(
    function: StochasticFunction, plan: PartPlan, constants: PrivateConstants
) -> None:
    """Refuse a function or constants that the plan's noise was not made for."""
    slope = function.lipschitz + plan.risk.regularisation * plan.risk.domain_radius
    if abs(slope - plan.slope) > 1e-9 * plan.slope:
        raise ValueError(
            f"function.lipschitz={function.lipschitz!r} must be what was planned for, "
            f"{plan.slope - (slope - function.lipschitz):.6g}"
        )
    if plan.noise_multiplier == 0:
        return
    phases = longest_phases(
        draws=plan.draws,
        dimension=function.dimension,
        lipschitz=function.lipschitz,
        radius=plan.radius,
        smoothing=plan.smoothing,
        constants=constants,
    )
    fails = failure.call_failure(phases)
    if fails > plan.failure_probability * (1 + 1e-9):
        raise ValueError(
            f"constants={constants!r} must be those of the plan: a call would fail with "
            f"probability {fails:.3g}, and {plan.failure_probability:.3g} is accounted for"
        )
