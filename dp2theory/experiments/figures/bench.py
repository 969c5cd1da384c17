"""Tuned methods on one setting, as the figures compare them: equal privacy, equal seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dp2theory.experiments.figures.result import CONFIDENCE
from dp2theory.experiments.figures.statistics import Mean, mean_over_seeds
from dp2theory.experiments.tasks import Task, run_tasks
from dp2theory.experiments.tuned import Tuned, tune_delays, tune_setting
from dp2theory.optimizers.tuning import check_seeds_apart
from dp2theory.planning.paired import PairedComparison, compare_pairs

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dp2theory.experiments.settings import Setting
    from dp2theory.experiments.tasks import ResultStore, TaskResult

#: Called with what is going on, the runs done and the runs in all.
Progress: TypeAlias = Callable[[str, int, int], None]

#: Points of each learning curve.
RECORDS = 60
#: The best configurations of a grid on two tuning seeds that run on all tuning seeds.
FINALISTS = 3


@dataclass(frozen=True)
class Arm:
    """One tuned method with its runs.

    Attributes
    ----------
    label : str
        Unique within a figure.
    tuned : Tuned
    runs : tuple of TaskResult
        One per seed.
    """

    label: str
    tuned: Tuned
    runs: tuple[TaskResult, ...]

    @property
    def losses(self) -> tuple[float, ...]:
        """Final mean train loss per seed; inf where a run diverged."""
        return tuple(
            math.inf if run.diverged or not math.isfinite(run.final_loss) else run.final_loss
            for run in self.runs
        )

    @property
    def mean(self) -> Mean:
        """Mean of `losses` with its interval."""
        return mean_over_seeds(self.losses)

    def against(self, other: Arm) -> PairedComparison | None:
        """Paired comparison with another arm; None where a run of either diverged."""
        ours, theirs = self.losses, other.losses
        if not all(math.isfinite(loss) for loss in (*ours, *theirs)):
            return None
        return compare_pairs(ours, theirs, confidence=CONFIDENCE)

    def to_json(self, baseline: Arm | None = None) -> dict[str, Any]:
        """Plain values; ``against`` compares with `baseline`, if there is one."""
        tuned, paired = self.tuned, None if baseline is None else self.against(baseline)
        return {
            "label": self.label,
            "method": tuned.method,
            "settings": dict(tuned.settings),
            "noise_multiplier": tuned.noise_multiplier,
            "epsilon": (
                {"lower": "inf", "upper": "inf"}
                if tuned.epsilon is None
                else tuned.epsilon.to_json()
            ),
            "configurations": len(tuned.table),
            "losses": [loss if math.isfinite(loss) else "inf" for loss in self.losses],
            "train_loss": self.mean.to_json(),
            "metrics": self.metrics(),
            "diverged": sum(not math.isfinite(loss) for loss in self.losses),
            "against": None if paired is None else paired.to_json(),
            "curve": self.curve(),
        }

    def metrics(self) -> dict[str, Any]:
        """Mean of each of the problem's figures over the runs that did not diverge."""
        whole = [run.metrics for run in self.runs if not run.diverged]
        names = whole[0] if whole else {}
        return {name: mean_over_seeds([one[name] for one in whole]).to_json() for name in names}

    def curve(self) -> dict[str, list[Any]]:
        """Mean train loss along the runs that did not diverge, with its interval."""
        whole = [run for run in self.runs if not run.diverged and run.loss_steps]
        if not whole:
            return {"steps": [], "losses": [], "lower": [], "upper": []}
        columns = np.array([run.losses for run in whole], dtype=np.float64).T
        means = [mean_over_seeds(column.tolist()) for column in columns]
        return {
            "steps": [int(step) for step in whole[0].loss_steps],
            "losses": [_number(one.value) for one in means],
            "lower": [one.lower for one in means],
            "upper": [one.upper for one in means],
        }


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"


@dataclass(frozen=True)
class Bench:
    """Where the runs of a figure are made.

    Attributes
    ----------
    setting : Setting
    seeds, tune_seeds : tuple of int
        Those that are evaluated on, and those that configurations are chosen on.
    executor : concurrent.futures.Executor or None
    store : ResultStore or None
    progress : callable or None
        Called with what is going on, the runs done and the runs in all.
    finalists : int or None
        Configurations of a grid that run on all tuning seeds (`tune_setting`).
    """

    setting: Setting
    seeds: tuple[int, ...]
    tune_seeds: tuple[int, ...]
    executor: Executor | None = None
    store: ResultStore | None = None
    progress: Progress | None = None
    finalists: int | None = FINALISTS
    _bases: dict[Any, Tuned] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds={self.seeds!r} must be one or more distinct integers")
        check_seeds_apart(self.tune_seeds, self.seeds)

    def at(self, **changes: Any) -> Bench:
        """This bench on a setting with some fields changed."""
        return replace(self, setting=replace(self.setting, **changes), _bases={})

    def base(self) -> Tuned:
        """The tuned DP-SGD, around which the other grids are laid; searched for once."""
        if "dp-sgd" not in self._bases:
            self._bases["dp-sgd"] = tune_setting(
                self.setting, "dp-sgd", **self._where("tuning dp-sgd")
            )
        return self._bases["dp-sgd"]

    def tune(
        self, method: str, *, delay: int | None = None, noise_multiplier: float | None = None
    ) -> Tuned:
        """The best configuration of a method's grid at the setting's budget.

        Parameters
        ----------
        method : str
        delay : int, optional
            T // 40 by default.
        noise_multiplier : float, optional
            This one instead of the one that meets the budget.
        """
        if method == "dp-sgd" and noise_multiplier is None:
            return self.base()
        return tune_setting(
            self.setting,
            method,
            delay=delay,
            base=self.base(),
            noise_multiplier=noise_multiplier,
            **self._where(f"tuning {method}"),
        )

    def tune_delays(self, method: str, delays: Sequence[int]) -> list[Tuned]:
        """The best configuration for each delay."""
        base = self.base()
        return tune_delays(
            self.setting,
            method,
            tuple(delays),
            base=base,
            **self._where(f"tuning {method} at {len(delays)} delays"),
        )

    def run(self, tuned: Mapping[str, Tuned], *, curves: bool = False) -> dict[str, Arm]:
        """Run tuned configurations on the seeds of the bench.

        Parameters
        ----------
        tuned : mapping of label to Tuned
        curves : bool
            Record the train loss along the runs.

        Returns
        -------
        dict
            Label to `Arm`, in the same order.
        """
        every = max(1, self.setting.run_steps // RECORDS) if curves else None
        tasks = [
            Task(one.setting, one.method, one.settings, one.noise_multiplier, seed, every)
            for one in tuned.values()
            for seed in self.seeds
        ]
        results = iter(
            run_tasks(
                tasks, executor=self.executor, store=self.store, progress=self.counting("running")
            )
        )
        return {
            label: Arm(label, one, tuple(next(results) for _ in self.seeds))
            for label, one in tuned.items()
        }

    def counting(self, description: str) -> Callable[[int, int], None] | None:
        """A callback that tells how many runs of one kind are done."""
        tell = self.progress
        return None if tell is None else lambda done, total: tell(description, done, total)

    def _where(self, description: str) -> dict[str, Any]:
        return {
            "tune_seeds": self.tune_seeds,
            "finalists": self.finalists,
            "executor": self.executor,
            "store": self.store,
            "progress": self.counting(description),
        }
