"""Plan of one part of the data of a private run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.errors import InfeasibleBudgetError
from accountants.events import resque_event
from bounds.catalogue import theorem
from dp2theory.problems.validation import whole_number
from dp2theory.resque import failure
from dp2theory.resque.ball_potential import accepted_bound
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.functions import StochasticFunction
from dp2theory.resque.noise_search import smallest_noise
from dp2theory.resque.phases import excess_estimate, schedule
from dp2theory.resque.reduction import RiskPart
from dp2theory.resque.smoothing import smoothing_for

__all__ = ["RELATION", "PartPlan", "plan_part"]

#: A record of the data set is exchanged for another one.
RELATION = NeighboringRelation.REPLACE_ONE
_LARGEST_CALLS = 10**7  # hand-chosen: more would not end on one machine
_TINY = 1e-200
_ENDLESS = 1e18  # stands for more steps than this


@dataclass(frozen=True)
class PartPlan:
    """Plan of one part of the data.

    Attributes
    ----------
    risk : RiskPart
        Its regularised empirical risk.
    slope : float
        Lipschitz constant of the risk near its domain.
    smoothing, radius : float
        rho and r.
    floor : float
        Smallest multiplier of ball acceleration (resque.ball.floor). Where it is above slope/r,
        every step is taken at it and the search is idle.
    accepted_bound : float
        Bound on the accepted steps: the smaller one of resque.ball.floor, which is proved for
        exact oracles, and `weight_bound`, which holds for any oracle.
    max_calls : int
        Cap on oracle calls, those of a search included.
    draws : int
        N: draws with replacement of one call.
    failure_probability : float
        Bound on the chance that a call's noise does not cover the drift, given that the record
        was drawn.
    noise_multiplier : float
        sigma; 0 in a plan without privacy.
    promised_excess : float
        What the analysis promises for a subproblem at the floor (an estimate).
    resolution : float
        That over 2 l r^2, the accuracy that ball acceleration asks for
        (resque.private.subproblem); above 1 the analysis promises nothing.
    """

    risk: RiskPart
    slope: float
    smoothing: float
    radius: float
    floor: float
    accepted_bound: float
    max_calls: int
    draws: int
    failure_probability: float
    noise_multiplier: float
    promised_excess: float
    resolution: float

    @property
    def dataset_size(self) -> int:
        """Records of the part."""
        return self.risk.dataset_size

    @property
    def queries(self) -> int:
        """Gradients of all calls together, at most."""
        return self.max_calls * self.draws

    def event_of(self, calls: int) -> dp_accounting.DpEvent:
        """The event of so many oracle calls on this part."""
        if self.noise_multiplier == 0:
            number = whole_number("calls", calls, minimum=0)
            return dp_accounting.SelfComposedDpEvent(dp_accounting.NonPrivateDpEvent(), number)
        return resque_event(
            dataset_size=self.dataset_size,
            draws=self.draws,
            noise_multiplier=self.noise_multiplier,
            failure_probability=self.failure_probability,
            calls=calls,
        )

    @property
    def event(self) -> dp_accounting.DpEvent:
        """The event of `max_calls` calls: what is claimed."""
        return self.event_of(self.max_calls)

    @property
    def failure_delta(self) -> float:
        """Part of delta that pays for failures: calls times P(drawn) times the probability."""
        drawn = -math.expm1(self.draws * math.log1p(-1 / self.dataset_size))
        return self.max_calls * drawn * self.failure_probability * (1 + 1e-12)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "risk": self.risk.to_json(),
            "slope": self.slope,
            "smoothing": self.smoothing,
            "radius": self.radius,
            "floor": self.floor,
            "accepted_bound": self.accepted_bound,
            "max_calls": self.max_calls,
            "draws": self.draws,
            "queries": self.queries,
            "failure_probability": self.failure_probability,
            "failure_delta": self.failure_delta,
            "noise_multiplier": self.noise_multiplier,
            "promised_excess": self.promised_excess,
            "resolution": self.resolution,
        }


def longest_phases(
    *,
    draws: int,
    dimension: int,
    lipschitz: float,
    radius: float,
    smoothing: float,
    constants: PrivateConstants,
) -> list[failure.Phase]:
    """Return the phases of a call at its longest steps, for its failure probability.

    Steps are longest without noise and where no restart shrinks its ball: the largest drift.
    The arguments are those of `schedule`.
    """
    longest = schedule(
        draws=draws,
        dimension=dimension,
        lipschitz=lipschitz,
        radius=radius,
        smoothing=smoothing,
        multiplier=_TINY,
        noise_multiplier=0.0,
        constants=constants,
    )
    return [
        failure.Phase(each.draws, each.step, lipschitz, smoothing, radius, constants.drift_factor)
        for each in longest
    ]


def weight_bound(*, largest: float, domain_radius: float, accuracy: float) -> int:
    """Return the most steps after which ball acceleration has the weight that it ends at.

    A run ends at A >= R^2/(2 accuracy). Its steps have ``a = (1/l + sqrt(1/l^2 + 4 A/l))/2``, so
    that ``sqrt(A + a) >= sqrt(A) + 1/(2 sqrt(l))``: after T steps with multipliers up to
    l_max, A >= T^2/(4 l_max), whatever the oracle answers.

    Parameters
    ----------
    largest : float
        l_max.
    domain_radius, accuracy : float
        R and the accuracy of `accelerate`.
    """
    steps = domain_radius * math.sqrt(2 * largest / accuracy) * (1 + 1e-12)
    return math.ceil(min(steps, _ENDLESS))


def plan_part(
    function: StochasticFunction,
    risk: RiskPart,
    *,
    smoothing: float | None,
    draws: int | None,
    max_calls: int | None,
    target_epsilon: float,
    target_delta: float,
    constants: PrivateConstants,
) -> PartPlan:
    """Plan one part: smoothing, ball, cap on calls, draws, failures, and the noise for them.

    Parameters and errors are those of `plan_private`; `smoothing` is this part's.
    """
    lipschitz, dimension = function.lipschitz, function.dimension
    if smoothing is None:
        smoothing = smoothing_for(
            risk.accuracy, dimension, lipschitz, share=constants.smoothing_share
        )
    radius = min(constants.radius_over_smoothing * smoothing, risk.domain_radius)
    # The subgradient of the regulariser grows to regularisation times the domain.
    slope = lipschitz + risk.regularisation * risk.domain_radius
    floor = float(
        theorem("resque.ball.floor").evaluate(
            "floor",
            radius=risk.domain_radius,
            ball_radius=constants.band[1] * radius,
            accuracy=risk.accuracy,
        )
    )
    bound = min(
        accepted_bound(
            domain_radius=risk.domain_radius,
            ball_radius=radius,
            lipschitz=slope,
            accuracy=risk.accuracy,
            band=constants.band,
            floor=floor,
        ),
        weight_bound(
            largest=max(floor, slope / (constants.band[1] * radius)),
            domain_radius=risk.domain_radius,
            accuracy=risk.accuracy,
        ),
    )
    if max_calls is None:
        calls = math.ceil(min(constants.mean_calls_per_step * bound, _ENDLESS))
    else:
        calls = max_calls
    whole_number("max_calls", calls)
    if calls > _LARGEST_CALLS:
        raise InfeasibleBudgetError(
            f"accuracy={risk.accuracy!r} of part {risk.index}: {calls:.3g} oracle calls are more "
            f"than {_LARGEST_CALLS}",
            nearest="a lower accuracy (a larger number), or a larger smoothing (a scaled instance)",
        )
    whole = floor + risk.regularisation
    share = _noise_share(calls, target_epsilon, target_delta)
    if draws is None:
        ratio = lipschitz / (whole * radius)
        wanted = max(
            constants.draws_factor * (ratio**2 + math.sqrt(dimension) * ratio / target_epsilon),
            constants.full_noise * risk.dataset_size / share,
        )
        draws = min(risk.dataset_size, max(constants.restarts, math.ceil(wanted)))
    whole_number("draws", draws, minimum=constants.restarts)
    geometry: dict[str, Any] = {
        "draws": draws,
        "dimension": dimension,
        "lipschitz": lipschitz,
        "radius": radius,
        "smoothing": smoothing,
        "constants": constants,
    }
    phases = longest_phases(**geometry)
    zeta = failure.call_failure(phases)
    part = PartPlan(
        risk, slope, smoothing, radius, floor, bound, calls, draws, zeta, 0.0, math.nan, math.nan
    )
    if not part.failure_delta < target_delta / 2:
        raise InfeasibleBudgetError(*_too_many_failures(part, phases, target_delta))
    sigma = smallest_noise(
        lambda trial: replace(part, noise_multiplier=trial).event,
        target_epsilon=target_epsilon,
        target_delta=target_delta,
        relation=RELATION,
        guess=max(1.8, share * draws / risk.dataset_size),
    )
    excess = excess_estimate(multiplier=whole, noise_multiplier=sigma, **geometry)
    accuracy = 2 * whole * radius**2
    return replace(
        part, noise_multiplier=sigma, promised_excess=excess, resolution=excess / accuracy
    )


def _noise_share(calls: int, epsilon: float, delta: float) -> float:
    """Noise multiplier over share of the records that is drawn, about: the central limit's."""
    return 2 * math.sqrt(2 * calls * (math.log(1.25) - math.log(delta))) / epsilon


def _too_many_failures(
    part: PartPlan, phases: list[failure.Phase], delta: float
) -> tuple[str, str]:
    """Why failures refuse a plan, and what would not."""
    first = phases[0]
    message = (
        f"drift_factor={first.drift_factor!r} at r/rho={first.relative_radius:.6g} may fail with "
        f"a probability that costs {part.failure_delta:.3g} of delta in {part.max_calls} calls, "
        f"must be below delta/2 = {delta / 2:.3g}"
    )
    share = delta / (4 * part.max_calls * len(phases))
    enough = max(
        failure.smallest_drift_factor(
            share,
            steps=each.steps,
            step_size=each.step_size,
            lipschitz=each.lipschitz,
            smoothing=each.smoothing,
            radius=each.radius,
        )
        for each in phases
    )
    return message, f"drift_factor={math.ceil(enough * 100) / 100:g}, or a smaller r/rho"
