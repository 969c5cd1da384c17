"""Plan of a private run: everything that is fixed before the data are read, within a budget.

Every number is public, the noise multiplier included: it is calibrated for the cap on oracle calls,
with draws, multiplicities and failures as the accountants count them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from accountants import validation
from accountants.errors import InfeasibleBudgetError
from dp2theory.problems.validation import positive_real, whole_number
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.functions import StochasticFunction, check_function
from dp2theory.resque.needed_size import NeededSize, needed_size
from dp2theory.resque.private_part import RELATION, PartPlan, plan_part
from dp2theory.resque.reduction import RiskPart, risk_parts

__all__ = ["RELATION", "PartPlan", "PrivatePlan", "plan_private"]


_REFERENCE = "no noise: a reference without privacy, epsilon is infinite"


@dataclass(frozen=True)
class PrivatePlan:
    """Plan of a private run.

    Attributes
    ----------
    parts : tuple of PartPlan
        On disjoint records.
    constants : PrivateConstants
    accuracy : float
        Excess that is asked for.
    target_epsilon, target_delta : float
        The budget; each part meets it, and a record is in one part.
    needed : NeededSize
        Records and gradients that the rate asks for at this accuracy, without constants.
    notes : tuple of str
        What a reader of the results must know.
    """

    parts: tuple[PartPlan, ...]
    constants: PrivateConstants
    accuracy: float
    target_epsilon: float
    target_delta: float
    needed: NeededSize
    notes: tuple[str, ...]

    @property
    def private(self) -> bool:
        """Whether there is noise in every part."""
        return all(part.noise_multiplier > 0 for part in self.parts)

    def without_noise(self) -> PrivatePlan:
        """The same plan with noise 0: a reference that is not private, for comparison."""
        silent = tuple(replace(part, noise_multiplier=0.0) for part in self.parts)
        return replace(self, parts=silent, notes=(*self.notes, _REFERENCE))

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "accuracy": self.accuracy,
            "target_epsilon": self.target_epsilon,
            "target_delta": self.target_delta,
            "private": self.private,
            "relation": RELATION.name,
            "needed": self.needed.to_json(),
            "parts": [part.to_json() for part in self.parts],
            "constants": self.constants.to_json(),
            "notes": list(self.notes),
        }


def plan_private(
    function: StochasticFunction,
    *,
    accuracy: float,
    target_epsilon: float,
    target_delta: float,
    constants: PrivateConstants | None = None,
    parts: int | None = None,
    smoothing: float | None = None,
    draws: int | None = None,
    max_calls: int | None = None,
) -> PrivatePlan:
    """Plan a run within a privacy budget, from public numbers of the function alone.

    Parameters
    ----------
    function : StochasticFunction
        Only dimension, sample size, Lipschitz constant and radius are read.
    accuracy : float
        Excess that is asked for, at most L R.
    target_epsilon, target_delta : float
        The budget under the exchange of one record.
    constants : PrivateConstants, optional
    parts : int, optional
        Disjoint parts of the data, about n/2, n/4, … records. Default: as many as the analysis
        promises something for (`resolution` at most 1) and that can gain more than their accuracy;
        at least one.
    smoothing : float, optional
        rho of the first part; default `smoothing_share` of its accuracy. Larger values give a
        scaled instance: a problem smoothed further, with fewer oracle calls, the same accounting.
        Later parts have theirs in proportion to their accuracy.
    draws, max_calls : int, optional
        For every part, in place of what the rate and the bound ask for. A cap below the bound
        ends runs early; the guarantee is that of the cap.

    Returns
    -------
    PrivatePlan

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    InfeasibleBudgetError
        If no noise meets the budget: failures alone use half of delta, or the accountant finds
        none; or if the run is too large.
    """
    constants = constants or PrivateConstants()
    check_function(function)
    whole_number("function.sample_size", function.sample_size, minimum=2)
    epsilon = validation.target_epsilon(target_epsilon, open_ends=True)
    delta = validation.target_delta(target_delta, open_ends=True)
    if smoothing is not None:
        positive_real("smoothing", smoothing)
    cache: dict[RiskPart, PartPlan] = {}

    def risks_of(number: int) -> tuple[RiskPart, ...]:
        return risk_parts(
            dataset_size=function.sample_size,
            parts=number,
            dimension=function.dimension,
            lipschitz=function.lipschitz,
            radius=function.radius,
            accuracy=accuracy,
            target_epsilon=epsilon,
            target_delta=delta,
            constants=constants,
        )

    def planned(risk: RiskPart) -> PartPlan:
        if risk not in cache:
            scale = constants.accuracy_shrink ** (1 - risk.index)
            cache[risk] = plan_part(
                function,
                risk,
                smoothing=None if smoothing is None else smoothing * scale,
                draws=draws,
                max_calls=max_calls,
                target_epsilon=epsilon,
                target_delta=delta,
                constants=constants,
            )
        return cache[risk]

    if parts is None:
        parts = _promising(risks_of, planned, function, constants)
    found = tuple(planned(risk) for risk in risks_of(parts))
    needed = needed_size(
        dimension=function.dimension,
        relative_accuracy=accuracy / (function.lipschitz * function.radius),
        target_epsilon=epsilon,
        target_delta=delta,
    )
    notes = _notes(function, found, needed, smoothing is not None)
    return PrivatePlan(found, constants, float(accuracy), epsilon, delta, needed, notes)


def _promising(
    risks_of: Callable[[int], tuple[RiskPart, ...]],
    planned: Callable[[RiskPart], PartPlan],
    function: StochasticFunction,
    constants: PrivateConstants,
) -> int:
    """How many parts the analysis promises something for, at least 1."""
    number = 1
    # Later parts do not depend on how many there are; the first one gets what they leave.
    while function.sample_size / constants.part_shrink ** (number + 1) >= 2 * constants.restarts:
        last = risks_of(number + 1)[-1]
        idle = function.lipschitz * last.domain_radius <= last.accuracy
        try:
            if idle or planned(last).resolution > 1:
                break
        except InfeasibleBudgetError:  # no such part: fewer may do
            break
        number += 1
    while number > 1 and planned(risks_of(number)[0]).resolution > 1:
        number -= 1
    return number


def _notes(
    function: StochasticFunction,
    parts: Sequence[PartPlan],
    needed: NeededSize,
    scaled: bool,
) -> tuple[str, ...]:
    """What must be said of a plan before anybody reads its results."""
    notes = []
    size = function.sample_size
    if getattr(function, "lipschitz_from_data", False):
        notes.append(
            f"L = {function.lipschitz:.6g} was read from the data and is not accounted for: give a "
            "public bound (lipschitz=)"
        )
    if size < needed.dataset_size:
        notes.append(
            f"n = {size} records are fewer than the {needed.dataset_size} that the rate asks for "
            "at this accuracy, constants left out"
        )
    if scaled:
        notes.append(
            "scaled instance: smoothing is given and not what the accuracy asks for; the "
            "accounting is the same"
        )
    for part in parts:
        where = f"part {part.risk.index}"
        if part.resolution > 1:
            notes.append(
                f"{where}: the analysis promises an excess of {part.resolution:.3g} times what "
                "ball acceleration needs of a call, so it promises nothing for this run"
            )
        if part.max_calls < part.accepted_bound:
            notes.append(
                f"{where}: the cap of {part.max_calls} oracle calls is below the bound of "
                f"{part.accepted_bound:.0f} accepted steps, the run may end early"
                + (
                    " and far from the accuracy (a larger smoothing, a scaled instance, needs "
                    "fewer calls)"
                    if 2 * part.max_calls < part.accepted_bound
                    else ""
                )
            )
    return tuple(notes)
