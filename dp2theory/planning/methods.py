"""Optimizers by name, with documented settings where the user gives none, and their noise.

The defaults (`dp2theory.optimizers.defaults`) are starting points, not tuned values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from dp2theory.optimizers.defaults import CLIP_NORM as CLIP_NORM
from dp2theory.optimizers.defaults import EFFECTIVE_STEP as EFFECTIVE_STEP
from dp2theory.optimizers.registry import METHODS as METHODS
from dp2theory.optimizers.registry import (
    MODIFIERS,
    build,
    check_words,
    has_setting,
    method_class,
    needs_public_data,
)
from dp2theory.optimizers.registry import is_private as is_private
from dp2theory.planning.budget import compose_events

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import Calibration
    from dp2theory.optimizers.steps import Optimizer
    from dp2theory.planning.budget import Budget
    from dp2theory.problems.public import PublicData


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters as given by a user; None means the method's default.

    Attributes
    ----------
    learning_rate, clip_norm : float or None
        Of DP-SGD, or of the SGD phases of DP².
    adaptive_learning_rate, preconditioned_clip_norm : float or None
        Of the adaptive phases.
    delay, sgd_steps, adaptive_steps : int or None
        Phase lengths: `delay` for both, or each.
    ema, damping : float or None
    more : mapping of str to object
        Settings of less common methods, by name.
    """

    learning_rate: float | None = None
    clip_norm: float | None = None
    adaptive_learning_rate: float | None = None
    preconditioned_clip_norm: float | None = None
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    ema: float | None = None
    damping: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def given(self) -> dict[str, Any]:
        """The settings that are not None."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values |= values.pop("more")
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Settings:
        """Settings by name, the uncommon ones under `more`."""
        common = {each.name for each in fields(cls)} - {"more"}
        return cls(
            **{name: value for name, value in values.items() if name in common},
            more={name: value for name, value in values.items() if name not in common},
        )


def make_optimizer(
    method: str,
    settings: Settings,
    *,
    noise_multiplier: float,
    steps: int,
    public: PublicData | None = None,
    expected_batch_size: float | None = None,
) -> Optimizer:
    """The optimizer of that name with `settings`, and defaults where they are silent.

    Parameters
    ----------
    method : str
        One of `METHODS`.
    settings : Settings
        Only what the method has: a setting it does not know is refused, not ignored.
    noise_multiplier : float
        sigma; the methods without noise do not use it.
    steps : int
        Steps T of the whole run, for the default delay T // 40.
    public : PublicData, optional
        Side information, for the methods that use it; the others ignore it.
    expected_batch_size : float, optional
        Public divisor of the noisy sums, for the methods that reckon with their noise.

    Returns
    -------
    Optimizer
    """
    kind = method_class(method)
    known = {each.name for each in fields(kind)} - {"public", "expected_batch_size"}
    known |= set(MODIFIERS)
    values = settings.given()
    for name, value in values.items():
        if name not in known:
            raise ValueError(
                f"{name}={value!r}: {method} has no such setting, but "
                f"{', '.join(sorted(known - {'noise_multiplier'}))}"
            )
    check_words(method, values)
    if is_private(method):
        values["noise_multiplier"] = noise_multiplier
    if needs_public_data(method):
        if public is None:
            raise ValueError(
                f"public=None: {method} uses side information, so that a share of the records "
                "must be public"
            )
        values["public"] = public
    if has_setting(method, "expected_batch_size"):
        if expected_batch_size is None:
            raise ValueError(f"expected_batch_size=None: {method} needs the divisor of the sums")
        values["expected_batch_size"] = expected_batch_size
    own = {name: value for name, value in values.items() if name not in MODIFIERS}
    return build(method, {**kind.default_settings(own, steps), **values}, steps=steps)


def planned_event_of(
    method: str,
    settings: Settings,
    budget: Budget,
    *,
    noise_multiplier: float,
    public: PublicData | None = None,
) -> DpEvent:
    """The event of a whole run of the method within the budget's sizes, without running it."""
    from dp2theory.optimizers.ledger import planned_event

    optimizer = make_optimizer(
        method,
        settings,
        noise_multiplier=noise_multiplier,
        steps=budget.steps,
        public=public,
        expected_batch_size=float(budget.batch_size),
    )
    return planned_event(optimizer, budget.sampling, budget.dataset_size, budget.steps)


def calibrate_method(
    method: str,
    settings: Settings,
    budget: Budget,
    *,
    public: PublicData | None = None,
    spent: DpEvent | None = None,
) -> Calibration:
    """The smallest noise multiplier with which a whole run of the method meets the budget.

    Parameters
    ----------
    method : str
        A private method. It may make several releases a step, or some over all records: those
        whose multiplier is a setting of its own are paid first, and what is solved for is the
        multiplier that the method calls `noise_multiplier`.
    settings : Settings
    budget : Budget
    public : PublicData, optional
        Side information.
    spent : DpEvent, optional
        What was released from the same records before.

    Returns
    -------
    accountants.Calibration

    Raises
    ------
    accountants.InfeasibleBudgetError
        When the other releases alone exceed the budget.
    """
    if not is_private(method):
        raise ValueError(f"method={method!r}: adds no noise, so there is none to calibrate")
    settings = with_budget_settings(method, settings, budget)

    def whole(noise_multiplier: float) -> DpEvent:
        planned = planned_event_of(
            method, settings, budget, noise_multiplier=noise_multiplier, public=public
        )
        return compose_events(spent, planned)

    return budget.calibrate_event(whole)


def with_budget_settings(method: str, settings: Settings, budget: Budget) -> Settings:
    """The settings, with those that the method derives from the budget where none are given.

    Only methods that make other releases than one per step have such settings (how much of the
    budget those take); for the others nothing changes.
    """
    derive = getattr(method_class(method), "budget_settings", None)
    if derive is None:
        return settings
    given = settings.given()
    check_words(method, given)
    return Settings.from_mapping({**derive(given, budget), **given})
