"""Sweeps: every cell of a spec on every seed, and what they say beside the first method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dp2theory.experiments.cells import Cell, CellMaker, Progress
from dp2theory.experiments.task_data import Task, TaskResult, code_id
from dp2theory.experiments.tasks import run_tasks
from dp2theory.optimizers.grids import GRIDS
from dp2theory.optimizers.tuning import NOT_ACCOUNTED, check_seeds_apart, tuning_seeds
from dp2theory.planning.paired import compare_pairs
from dp2theory.problems.unit import unit_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dp2theory.experiments.settings import Setting
    from dp2theory.experiments.spec import Spec
    from dp2theory.experiments.tasks import ResultStore

#: What is said of every sweep.
NOTES = (
    "ε is that of one run, released alone: releasing several runs, or choosing among them, costs "
    "more.",
    "Losses and metrics are computed on the records without noise: they are for the "
    "experimenter's eyes and are not covered by ε.",
)
#: Said where the first method has several configurations.
SEVERAL_BASELINES = (
    "The first method has several configurations; the others are compared with the one of the "
    "smallest mean loss."
)
#: Said where nothing was tuned.
NOT_TUNED = (
    "Nothing was tuned here: what separates methods may be their step sizes. tune = true chooses "
    "them by the methods' grids."
)


class Memory:
    """Results of this process alone: the store of a sweep that was given none."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[Task, TaskResult]] = {}

    def get(self, key: str) -> TaskResult | None:
        """Return the result of a task, if it is there."""
        return self.kept[key][1] if key in self.kept else None

    def put(self, key: str, task: Task, result: TaskResult) -> None:
        """Keep the result of a task."""
        self.kept[key] = (task, result)

    def accepts(self, code: str) -> bool:
        """Whether results of this code may be used."""
        return code == code_id()


class Sweep:
    """A sweep with what it has made so far.

    Parameters
    ----------
    spec : Spec
    executor : concurrent.futures.Executor, optional
        Where runs go; in this process if None.
    store : Store, optional
        Keeps every run; what it has is not run again.
    progress : callable, optional
        Called with what is going on, runs done, runs in all.

    Attributes
    ----------
    cells : list of Cell
        Made so far, setting by setting.
    executor : concurrent.futures.Executor or None
        May be set until `run` is called.
    """

    def __init__(
        self,
        spec: Spec,
        *,
        executor: Executor | None = None,
        store: ResultStore | None = None,
        progress: Progress | None = None,
    ) -> None:
        if spec.tune:
            check_seeds_apart(tuning_seeds(spec.tune_seeds), spec.seeds)
        self.spec = spec
        self.cells: list[Cell] = []
        self.executor = executor
        self._store: ResultStore = Memory() if store is None else store
        self._progress = progress

    def run(self) -> None:
        """Make the cells, and run each on all seeds.

        Raises
        ------
        KeyboardInterrupt
            When interrupted; `result` then has the runs made so far.
        """
        maker = CellMaker(
            self.spec, executor=self.executor, store=self._store, progress=self._progress
        )
        settings = self.spec.settings
        for place, setting in enumerate(settings):
            if self._progress is not None and not self.spec.tune:
                self._progress("calibrating", place, len(settings))
            self.cells += maker.cells(setting)
        # Seed by seed within a setting: what there is after an interrupt is paired.
        tasks = [
            cell.task(seed, self.spec.record_every)
            for setting in settings
            for seed in self.spec.seeds
            for cell in self._of(setting)
        ]
        progress = self._progress
        run_tasks(
            tasks,
            executor=self.executor,
            store=self._store,
            progress=None if progress is None else lambda done, n: progress("running", done, n),
        )

    def wanted(self) -> int:
        """Return the number of runs of the whole sweep, grid searches apart."""
        return self.spec.cells * len(self.spec.seeds)

    def done(self) -> int:
        """Return the number of runs that are there, of those of the cells made so far."""
        return sum(len(self._runs(cell)) for cell in self.cells)

    def result(self) -> dict[str, Any]:
        """Return what came out, as plain values.

        Returns
        -------
        dict
            ``groups`` (one per setting: what its runs have in common and its ``cells``),
            ``runs``, ``seeds``, ``tuning_seeds``, ``notes``. Infinities are floats here.

        Raises
        ------
        RuntimeError
            If a run reports other releases than those that were accounted.
        """
        groups = [self._group(setting) for setting in self.spec.settings if self._of(setting)]
        notes = list(NOTES)
        if not self.spec.tune:
            notes.append(NOT_TUNED)
        else:
            notes.append(NOT_ACCOUNTED)
            as_given = [method for method in self.spec.methods if method not in GRIDS]
            if as_given:
                notes.append(f"Without a grid, and run as given: {', '.join(as_given)}.")
        if len(self.spec.choices[self.spec.methods[0]]) > 1:
            notes.append(SEVERAL_BASELINES)
        return {
            "groups": groups,
            "runs": self.done(),
            "seeds": list(self.spec.seeds),
            "tuning_seeds": list(tuning_seeds(self.spec.tune_seeds)) if self.spec.tune else None,
            "notes": notes,
        }

    def _of(self, setting: Setting) -> list[Cell]:
        return [cell for cell in self.cells if cell.setting is setting]

    def _runs(self, cell: Cell) -> dict[int, TaskResult]:
        """The runs of a cell by seed, in the order of the seeds."""
        keys = {seed: cell.task(seed, self.spec.record_every).key() for seed in self.spec.seeds}
        found = {seed: self._store.get(key) for seed, key in keys.items()}
        runs = {seed: result for seed, result in found.items() if result is not None}
        for seed, result in runs.items():
            if not result.diverged and result.ledger != cell.ledger:
                raise RuntimeError(
                    f"the run of {cell.method} with seed {seed} executed {result.ledger}, but "
                    f"{cell.ledger} was accounted"
                )
        return runs

    def _group(self, setting: Setting) -> dict[str, Any]:
        cells = self._of(setting)
        runs = [self._runs(cell) for cell in cells]
        first = [i for i, cell in enumerate(cells) if cell.method == self.spec.methods[0]]
        baseline = min(first, key=lambda i: _mean_loss(runs[i]))
        problem = setting.load()
        return {
            "problem": setting.problem,
            "problem_options": dict(setting.problem_options),
            "unit": unit_of(problem),
            "dataset_size": problem.dataset_size,
            "dimension": problem.dimension,
            "public_share": setting.public_share,
            "batch_size": setting.batch_size,
            "steps": setting.run_steps,
            "sampling": setting.sampling,
            "relation": setting.resolved_relation,
            "target_epsilon": setting.target_epsilon,
            "delta": setting.delta,
            "baseline": baseline,
            "cells": [
                _described(cell, runs[i], None if i == baseline else runs[baseline])
                for i, cell in enumerate(cells)
            ],
        }


def _described(
    cell: Cell, runs: Mapping[int, TaskResult], baseline: Mapping[int, TaskResult] | None
) -> dict[str, Any]:
    whole = [result for result in runs.values() if not result.diverged]
    tuned = cell.tuned
    return {
        "method": cell.method,
        "settings": dict(cell.settings),
        "noise_multiplier": cell.noise_multiplier,
        "epsilon": cell.epsilon.to_json(),
        "ledger": cell.ledger,
        "mean_train_loss": _mean_loss(runs) if runs else None,
        "mean_metrics": _mean_metrics(whole) if len(whole) == len(runs) else None,
        "diverged": len(runs) - len(whole),
        "paired": None if baseline is None else _paired(runs, baseline),
        "grid_size": None if tuned is None else len(tuned.table),
        "runs": [
            {
                "seed": seed,
                "train_loss": result.final_loss,
                "diverged": result.diverged,
                "metrics": dict(result.metrics),
                "loss_steps": list(result.loss_steps),
                "losses": list(result.losses),
            }
            for seed, result in runs.items()
        ],
    }


def _mean_loss(runs: Mapping[int, TaskResult]) -> float:
    """Mean final train loss; inf where a run diverged, and where there is none yet."""
    losses = [result.final_loss for result in runs.values()]
    return math.fsum(losses) / len(losses) if losses else math.inf


def _mean_metrics(runs: Sequence[TaskResult]) -> dict[str, float] | None:
    if not runs:
        return None
    with np.errstate(over="ignore"):
        return {
            name: float(np.mean([result.metrics[name] for result in runs]))
            for name in runs[0].metrics
        }


def _paired(
    ours: Mapping[int, TaskResult], theirs: Mapping[int, TaskResult]
) -> dict[str, Any] | None:
    """The comparison on the seeds that both have, unless a run diverged."""
    pairs = [
        (result.final_loss, theirs[seed].final_loss)
        for seed, result in ours.items()
        if seed in theirs
    ]
    if not pairs or not all(math.isfinite(loss) for pair in pairs for loss in pair):
        return None
    return compare_pairs(*zip(*pairs, strict=True)).to_json()
