"""Cells of a sweep: one method with one set of settings on one setting, calibrated or tuned."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from accountants import Bracket
from dp2theory.experiments.task_data import Task
from dp2theory.optimizers.grids import GRIDS
from dp2theory.optimizers.ledger import planned_event
from dp2theory.optimizers.registry import MODIFIERS, is_private, method_class
from dp2theory.optimizers.tuning import tuning_seeds
from dp2theory.planning.methods import (
    Settings,
    calibrate_method,
    make_optimizer,
    with_budget_settings,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dp_accounting import DpEvent

    from dp2theory.experiments.settings import Setting
    from dp2theory.experiments.spec import Spec
    from dp2theory.experiments.tasks import ResultStore
    from dp2theory.experiments.tuned import Tuned
    from dp2theory.optimizers.steps import Optimizer

#: Called with what is going on, runs done, runs in all.
Progress = Callable[[str, int, int], None]

#: Fields of an optimizer that a task fills in itself.
_FILLED = ("noise_multiplier", "public", "expected_batch_size")


@dataclass(frozen=True)
class Cell:
    """One configuration of a sweep.

    Attributes
    ----------
    setting : Setting
    method : str
    settings : mapping
        All hyper-parameters, defaults filled in.
    noise_multiplier : float
        With which the whole event meets the budget of the setting; 0 without noise.
    epsilon : Bracket
        Of one run, by the event that it executes; infinite without noise.
    event : DpEvent
        All that one run releases.
    tuned : Tuned or None
        The grid search behind the settings.
    """

    setting: Setting
    method: str
    settings: Mapping[str, Any]
    noise_multiplier: float
    epsilon: Bracket
    event: DpEvent
    tuned: Tuned | None = None

    @property
    def ledger(self) -> str:
        """The event as text: what the runs must report."""
        return repr(self.event)

    def task(self, seed: int, record_every: int | None) -> Task:
        """Return the run of one seed."""
        return Task(
            self.setting, self.method, self.settings, self.noise_multiplier, seed, record_every
        )


class CellMaker:
    """Makes cells; equal calibrations are made once.

    Parameters
    ----------
    spec : Spec
    executor, store
        For the runs of grid searches.
    progress : callable, optional
    """

    def __init__(
        self,
        spec: Spec,
        *,
        executor: Executor | None = None,
        store: ResultStore | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._spec = spec
        self._executor = executor
        self._store = store
        self._progress = progress
        self._calibrated: dict[tuple[Setting, str], float] = {}
        self._accounted: dict[tuple[float, str, str], Bracket] = {}

    def cells(self, setting: Setting) -> list[Cell]:
        """Return the cells of one setting, method by method in the order of the spec."""
        if self._spec.tune:
            return self._tuned_cells(setting)
        return [
            self._given_cell(setting, method, choice)
            for method in self._spec.methods
            for choice in self._spec.choices[method]
        ]

    def _given_cell(self, setting: Setting, method: str, choice: Mapping[str, Any]) -> Cell:
        given, sigma = Settings.from_mapping(choice), 0.0
        if is_private(method):
            if math.isinf(setting.target_epsilon):
                raise ValueError(f"target_epsilon=inf: {method} needs a finite budget")
            given = with_budget_settings(method, given, setting.budget())
            # Cells that release alike, whatever their step sizes, share one calibration.
            event = repr(_event(setting, _optimizer(setting, method, given, 1.0)))
            if (setting, event) not in self._calibrated:
                self._calibrated[setting, event] = calibrate_method(
                    method, given, setting.budget(), public=setting.public()
                ).noise_multiplier
            sigma = self._calibrated[setting, event]
        return self._cell(setting, method, given, sigma)

    def _tuned_cells(self, setting: Setting) -> list[Cell]:
        from dp2theory.experiments.tuned import tune_delays

        base: Tuned | None = None
        made = []
        names = self._spec.methods
        if any(method != "dp-sgd" and is_private(method) for method in names):
            names = ("dp-sgd", *names)  # the grids of the others are laid around it
        for place, method in enumerate(names):
            if method not in GRIDS:
                choices = self._spec.choices[method]
                made += [self._given_cell(setting, method, choice) for choice in choices]
                continue
            only_base = place == 0 and len(names) > len(self._spec.methods)
            delays: Sequence[int | None] = [
                choice.get("delay") for choice in self._spec.choices.get(method, ({},))
            ]
            try:
                found = tune_delays(
                    setting,
                    method,
                    delays,
                    tune_seeds=tuning_seeds(self._spec.tune_seeds),
                    base=base if method != "dp-sgd" else None,
                    executor=self._executor,
                    store=self._store,
                    progress=self._watched(f"tuning {method} on {setting.problem}"),
                )
            except ArithmeticError as error:
                if type(error) is not ArithmeticError:
                    raise
                raise ValueError(f"tune=True: {error}") from None
            if method == "dp-sgd":
                base = found[0]
            if not only_base:
                made += [self._of_tuned(setting, method, tuned) for tuned in found]
        return made

    def _of_tuned(self, setting: Setting, method: str, tuned: Tuned) -> Cell:
        given = Settings.from_mapping(tuned.settings)
        return self._cell(setting, method, given, tuned.noise_multiplier, tuned)

    def _cell(
        self,
        setting: Setting,
        method: str,
        given: Settings,
        sigma: float,
        tuned: Tuned | None = None,
    ) -> Cell:
        optimizer = _optimizer(setting, method, given, sigma)
        event = _event(setting, optimizer)
        epsilon = Bracket(math.inf, math.inf)
        if sigma > 0:
            asked = (setting.delta, setting.resolved_relation, repr(event))
            if asked not in self._accounted:
                self._accounted[asked] = setting.budget().account(event)
            epsilon = self._accounted[asked]
        kind = method_class(method)
        inner: Any = optimizer
        while not isinstance(inner, kind):  # momentum and decay are wrapped around it
            inner = inner.optimizer
        values = {field.name: getattr(inner, field.name) for field in fields(kind)}
        values |= {name: given.given().get(name) for name in MODIFIERS}
        settings = {
            name: value
            for name, value in values.items()
            if value is not None and name not in _FILLED
        }
        return Cell(setting, method, settings, sigma, epsilon, event, tuned)

    def _watched(self, what: str) -> Callable[[int, int], None] | None:
        progress = self._progress
        if progress is None:
            return None
        return lambda done, total: progress(what, done, total)


def _optimizer(
    setting: Setting, method: str, given: Settings, noise_multiplier: float
) -> Optimizer:
    return make_optimizer(
        method,
        given,
        noise_multiplier=noise_multiplier,
        steps=setting.run_steps,
        public=setting.public(),
        expected_batch_size=float(setting.batch_size),
    )


def _event(setting: Setting, optimizer: Optimizer) -> Any:
    return planned_event(
        optimizer, setting.description(), setting.load().dataset_size, setting.run_steps
    )
