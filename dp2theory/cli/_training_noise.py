"""The noise of `dp2theory train`: a budget, and the noise multiplier of each method within it."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dp2theory.cli._progress import waiting
from dp2theory.cli._setting import Setting

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from dp2theory.cli._training import Request
    from dp2theory.planning.budget import Budget
    from dp2theory.planning.methods import Settings
    from dp2theory.planning.pilot import PilotState


def resolve_noise(
    request: "Request",
    setting: Setting,
    plan: "PilotState | None",
    spent: "DpEvent | None",
    methods: Mapping[str, "Settings"],
) -> tuple["Budget", dict[str, float], dict[str, "Settings"]]:
    """The budget, the noise multipliers it allows (or the budget that the noise makes), settings.

    Parameters
    ----------
    request : Request
    setting : Setting
    plan : PilotState or None
        Whose budget and noise are taken.
    spent : DpEvent or None
        The ledger of a discarded pilot, to be paid from the same budget.
    methods : mapping of str to Settings
        What runs, the method before what it is compared with.

    Returns
    -------
    tuple
        The settings have those filled in that a method derives from the budget.

    Raises
    ------
    ValueError
        For a method that cannot go on from a pilot: it makes other releases besides one a step.
    """
    from dp2theory.optimizers.registry import MODIFIERS
    from dp2theory.planning.methods import is_private, with_budget_settings

    settings = dict(methods)
    budget = _budget(request, setting, plan)
    private = [method for method in methods if is_private(method)]
    if budget is not None:
        settings |= {
            method: with_budget_settings(method, settings[method], budget) for method in private
        }
    reference = setting.budget(math.inf) if budget is None else budget
    events = {
        method: _event(method, settings[method], reference, setting, 1.0) for method in private
    }
    plain = {method for method in private if events[method] == reference.event(1.0)}
    first = next(iter(methods))
    if plan is not None or request.pilot:
        for name in set(MODIFIERS) & settings[first].more.keys():
            raise ValueError(
                f"--set {name}={settings[first].more[name]}: the pilot has none; leave it out, or "
                "train from step 0"
            )
    if (plan is not None or request.pilot) and first not in plain:
        raise ValueError(
            f"--method {first}: makes other releases than one a step, so that it cannot go on "
            "from a pilot"
        )
    if budget is None:
        return (*_from_multiplier(request, setting, spent, settings, private), settings)
    multipliers = dict.fromkeys(methods, 0.0)
    if plan is not None:
        multipliers |= dict.fromkeys(plain, plan.noise_multiplier)
    elif plain:
        with waiting("calibrating the noise", quiet=request.quiet):
            common = budget.calibrate(spent=spent).noise_multiplier
        multipliers |= dict.fromkeys(plain, common)
    for method in private:
        if method not in plain:
            multipliers[method] = _own(request, setting, budget, spent, method, settings[method])
    return budget, multipliers, settings


def _budget(request: "Request", setting: Setting, plan: "PilotState | None") -> "Budget | None":
    if plan is not None:
        return plan.budget
    return None if request.epsilon is None else setting.budget(request.epsilon)


def _event(
    method: str, settings: "Settings", budget: "Budget", setting: Setting, sigma: float
) -> "DpEvent":
    from dp2theory.planning.methods import planned_event_of

    return planned_event_of(method, settings, budget, noise_multiplier=sigma, public=setting.public)


def _own(
    request: "Request",
    setting: Setting,
    budget: "Budget",
    spent: "DpEvent | None",
    method: str,
    settings: "Settings",
) -> float:
    from dp2theory.planning.methods import calibrate_method

    with waiting(f"calibrating the noise of {method}", quiet=request.quiet):
        found = calibrate_method(method, settings, budget, public=setting.public, spent=spent)
    return found.noise_multiplier


def _from_multiplier(
    request: "Request",
    setting: Setting,
    spent: "DpEvent | None",
    settings: Mapping[str, "Settings"],
    private: list[str],
) -> tuple["Budget", dict[str, float]]:
    """All private methods at the multiplier given; the budget is what the method then costs."""
    from dp2theory.planning.budget import compose_events

    open_budget = setting.budget(math.inf)
    sigma = request.noise_multiplier
    multipliers = dict.fromkeys(settings, 0.0)
    if sigma is None or not private:
        return open_budget, multipliers
    multipliers |= dict.fromkeys(private, sigma)
    costs = _event(private[0], settings[private[0]], open_budget, setting, sigma)
    with waiting("accounting", quiet=request.quiet):
        whole = open_budget.account(compose_events(spent, costs))
    return setting.budget(whole.upper), multipliers
