"""Configurations of a grid, each with the noise at which its whole event fits the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

from dp2theory.optimizers.dp2 import resolve_phases
from dp2theory.optimizers.grid_context import GridContext
from dp2theory.optimizers.grids import grid_of
from dp2theory.optimizers.ledger import planned_event
from dp2theory.optimizers.registry import is_private
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.planning.gate import default_delay
from dp2theory.planning.methods import Settings, calibrate_method, with_budget_settings

if TYPE_CHECKING:
    from dp2theory.experiments.settings import Setting
    from dp2theory.optimizers.steps import Optimizer
    from dp2theory.planning.budget import Budget

#: Settings of a `Task`, and its noise multiplier.
Configuration: TypeAlias = tuple[dict[str, Any], float]

#: Noise multipliers by budget, method and planned event at the noise multiplier of plain steps.
_CALIBRATED: dict[tuple[Budget, str, str], float] = {}


def settings_of(optimizer: Optimizer) -> dict[str, Any]:
    """Return an optimizer's settings as a `Task` takes them: without what the task fills in."""
    values = {
        field.name: getattr(optimizer, field.name)
        for field in fields(optimizer)  # type: ignore[arg-type]
        if field.name not in ("noise_multiplier", "public", "expected_batch_size")
    }
    return {name: value for name, value in values.items() if value is not None}


def configurations(
    setting: Setting,
    method: str,
    *,
    delay: int | None = None,
    base: Mapping[str, Any] | None = None,
    noise_multiplier: float | None = None,
    given: Mapping[str, Any] | None = None,
) -> Sequence[Configuration]:
    """Return every configuration of the method's grid with its noise multiplier.

    Parameters
    ----------
    setting : Setting
    method : str
    delay : int, optional
        Of a method with phases; T // 40 if None.
    base : mapping, optional
        Settings of the tuned DP-SGD, for the grids laid around it.
    noise_multiplier : float, optional
        Taken in place of the one that meets the budget.
    given : mapping, optional
        Settings that are fixed before the search.
    """
    budget = setting.budget()
    steps = budget.steps
    private = is_private(method)
    plain = _plain_noise(budget) if private else 0.0
    fixed = with_budget_settings(method, Settings.from_mapping(given or {}), budget)
    context = GridContext(
        noise_multiplier=plain,
        steps=steps,
        base=None if base is None else DpSgd(**base, noise_multiplier=plain),
        phases=resolve_phases(default_delay(steps) if delay is None else delay, None, None),
        public=setting.public(),
        expected_batch_size=float(setting.batch_size),
        settings=fixed.given(),
    )
    grid = []
    for optimizer in grid_of(method)(context):
        settings = settings_of(optimizer)
        if private and noise_multiplier is None:
            grid.append((settings, _noise(setting, method, optimizer, settings)))
        else:
            grid.append((settings, noise_multiplier or 0.0))
    return grid


def _plain_noise(budget: Budget) -> float:
    key = budget, "", ""
    if key not in _CALIBRATED:
        _CALIBRATED[key] = budget.calibrate().noise_multiplier
    return _CALIBRATED[key]


def _noise(
    setting: Setting, method: str, optimizer: Optimizer, settings: Mapping[str, Any]
) -> float:
    budget = setting.budget()
    event = planned_event(optimizer, budget.sampling, budget.dataset_size, budget.steps)
    plain = _plain_noise(budget)
    if event == budget.event(plain):
        return plain
    # Configurations that release alike share one calibration.
    key = budget, method, repr(event)
    if key not in _CALIBRATED:
        _CALIBRATED[key] = calibrate_method(
            method, Settings.from_mapping(settings), budget, public=setting.public()
        ).noise_multiplier
    return _CALIBRATED[key]
