"""How adaptive methods do early in a run, each tuned for that moment.

Very early DP² is behind DP-SGD: its first preconditioner is the root of one squared phase mean,
from v = 0, most of it noise. This compares remedies (bias correction, debiasing, floors) after a
few cycles and at the end. A method is tuned anew for each horizon, on tuning seeds, by its loss
at that step; so that no row pays for being tuned for another moment.

Run as ``python -m dp2theory.experiments.early PROBLEM``; prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from dp2theory.experiments.seeds import derived_seeds
from dp2theory.problems.validation import whole_number, whole_numbers

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dp2theory.experiments.settings import Setting
    from dp2theory.experiments.tasks import ResultStore, TaskResult
    from dp2theory.planning.paired import PairedComparison


@dataclass(frozen=True)
class Arm:
    """A line of the table: a method's grid, some of its settings fixed.

    Attributes
    ----------
    label : str
        Name in the table.
    method : str
        A method with a grid.
    fixed : mapping
        Settings that replace the grid's.
    """

    label: str
    method: str
    fixed: Mapping[str, Any] = field(default_factory=dict)


#: What the table compares: the first two are what the others are measured by.
ARMS = (
    Arm("DP-SGD", "dp-sgd"),
    Arm("DP²-RMSProp", "dp2-rmsprop"),
    Arm("DP-RMSProp", "dp-rmsprop"),
    # Adam's bias correction of v, and no average of directions.
    Arm("DP², bias corrected", "dp2-adam", {"gradient_ema": 0.0}),
    Arm("DP², debiased squares", "dp2-rmsprop-debiased", {"clamp": "accumulator"}),
    Arm("DP², debiased average", "dp2-rmsprop-debiased", {"clamp": "ema"}),
    Arm("DP², noise-aware, signal floor", "dp2-rmsprop-noise-aware", {"floor": "signal"}),
    Arm("DP², noise-aware, certainty floor", "dp2-rmsprop-noise-aware", {"floor": "certainty"}),
    Arm("DP-RMSProp, noise-aware", "dp-rmsprop-noise-aware"),
)


#: Settings, noise multiplier and losses of one cell.
_Entry: TypeAlias = tuple[Mapping[str, Any], float, tuple[float, ...]]


@dataclass(frozen=True)
class EarlyCell:
    """One method at one step, tuned for it.

    Attributes
    ----------
    arm : str
    step : int
    settings : mapping
        The configuration with the smallest mean loss at this step over the tuning seeds.
    noise_multiplier : float
        With which a whole run of it meets the budget.
    losses : tuple of float
        Train losses at this step, one per evaluation seed; inf where a run diverged before.
    against_sgd, against_dp2 : PairedComparison or None
        With the first two arms at the same step; None for themselves, or after a divergence.
    """

    arm: str
    step: int
    settings: Mapping[str, Any]
    noise_multiplier: float
    losses: tuple[float, ...]
    against_sgd: PairedComparison | None
    against_dp2: PairedComparison | None

    @property
    def mean(self) -> float:
        """Mean loss over the evaluation seeds."""
        return math.fsum(self.losses) / len(self.losses)


@dataclass(frozen=True)
class EarlyResult:
    """The whole table.

    Attributes
    ----------
    setting : Setting
    delay : int
        Delay s of the methods with phases.
    steps : tuple of int
        Horizons.
    cells : tuple of EarlyCell
        Arm by arm, horizon by horizon.
    tune_seeds, seeds : tuple of int
    """

    setting: Setting
    delay: int
    steps: tuple[int, ...]
    cells: tuple[EarlyCell, ...]
    tune_seeds: tuple[int, ...]
    seeds: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain values; infinite losses are "inf"."""
        return {
            "setting": self.setting.to_json(),
            "delay": self.delay,
            "steps": list(self.steps),
            "tune_seeds": list(self.tune_seeds),
            "seeds": list(self.seeds),
            "cells": [
                {
                    "arm": cell.arm,
                    "step": cell.step,
                    "settings": dict(cell.settings),
                    "noise_multiplier": cell.noise_multiplier,
                    "losses": [x if math.isfinite(x) else "inf" for x in cell.losses],
                    "against_sgd": cell.against_sgd and cell.against_sgd.to_json(),
                    "against_dp2": cell.against_dp2 and cell.against_dp2.to_json(),
                }
                for cell in self.cells
            ],
        }

    def table(self) -> str:
        """Return a Markdown table: mean loss, and the ratio to DP-SGD with its interval."""
        head = ["method", *(f"step {step}" for step in self.steps)]
        lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for arm in dict.fromkeys(cell.arm for cell in self.cells):
            texts = [_text(cell) for cell in self.cells if cell.arm == arm]
            lines.append(f"| {' | '.join([arm, *texts])} |")
        return "\n".join(lines)


def _text(cell: EarlyCell) -> str:
    if not math.isfinite(cell.mean):
        return "diverged"
    text = f"{cell.mean:.4f}"
    if cell.against_sgd is None or cell.against_sgd.ratio_interval is None:
        return text
    ratio = cell.against_sgd.ratio_interval
    return f"{text} ({cell.against_sgd.ratio:.3f}, {ratio.lower:.3f}–{ratio.upper:.3f})"


def early_losses(
    setting: Setting,
    *,
    arms: Sequence[Arm] = ARMS,
    cycles: Sequence[int] = (1, 2, 4, 8),
    delay: int | None = None,
    tune_seeds: Sequence[int] | None = None,
    seeds: Sequence[int] | None = None,
    executor: Executor | None = None,
    store: ResultStore | None = None,
    progress: Callable[[str], None] | None = None,
) -> EarlyResult:
    """Compare methods after some cycles of 2 s steps and at the end, each tuned for that step.

    Parameters
    ----------
    setting : Setting
    arms : sequence of Arm
        DP-SGD and DP²-RMSProp first.
    cycles : sequence of int
        Horizons in cycles; those beyond the run are left out.
    delay : int, optional
        s; T // 40 if None.
    tune_seeds, seeds : sequence of int, optional
        Two and eight derived ones (`dp2theory.experiments.seeds`) if None.
    executor, store
        As in `dp2theory.experiments.tuned.tune_setting`.
    progress : callable, optional
        Called with the label of each arm before it is run.

    Returns
    -------
    EarlyResult

    Raises
    ------
    ValueError
        When the first two arms are not dp-sgd and dp2-rmsprop, or seeds overlap.
    ArithmeticError
        When every configuration of an arm diverged before a horizon.
    """
    from dp2theory.experiments.configurations import configurations
    from dp2theory.experiments.tasks import Task, run_tasks
    from dp2theory.experiments.tuned import tune_setting
    from dp2theory.optimizers.tuning import check_seeds_apart
    from dp2theory.planning.gate import default_delay

    if [arm.method for arm in arms[:2]] != ["dp-sgd", "dp2-rmsprop"]:
        raise ValueError(
            f"arms={[arm.method for arm in arms]!r} must begin with dp-sgd and dp2-rmsprop"
        )
    total = setting.run_steps
    delay = default_delay(total) if delay is None else whole_number("delay", delay)
    if not isinstance(cycles, Iterable):
        raise ValueError(f"cycles={cycles!r} must be integers >= 1")
    for count in cycles:
        whole_number("cycles", count)
    if tune_seeds is not None:
        whole_numbers("tune_seeds", tune_seeds, minimum=0)
    if seeds is not None:
        whole_numbers("seeds", seeds, minimum=0)
    every = 2 * delay
    steps = (*sorted({every * k for k in cycles if every * k < total}), total)
    tune_seeds = tuple(tune_seeds or derived_seeds("early tuning", 2))
    seeds = tuple(seeds or derived_seeds("early evaluation", 8))
    check_seeds_apart(tune_seeds, seeds)
    base = tune_setting(setting, "dp-sgd", tune_seeds=tune_seeds, executor=executor, store=store)

    def run_all(arm: Arm, grid: Any, chosen: Sequence[int]) -> list[list[TaskResult]]:
        """Results per configuration, one per seed in `chosen`."""
        tasks = [
            Task(setting, arm.method, {**settings, **arm.fixed}, sigma, seed, every)
            for settings, sigma in grid
            for seed in chosen
        ]
        results = run_tasks(tasks, executor=executor, store=store)
        k = len(chosen)
        return [results[i * k : (i + 1) * k] for i in range(len(grid))]

    table: dict[tuple[str, int], _Entry] = {}
    for arm in arms:
        if progress is not None:
            progress(arm.label)
        grid = configurations(setting, arm.method, delay=delay, base=base.settings)
        tuning = run_all(arm, grid, tune_seeds)
        best = {
            step: min(range(len(grid)), key=lambda i: math.fsum(_at(tuning[i], step)))
            for step in steps
        }
        for step, i in best.items():
            if math.isinf(math.fsum(_at(tuning[i], step))):
                raise ArithmeticError(f"every configuration of {arm.label} diverged by {step}")
        wanted = sorted(set(best.values()))
        evaluated = dict(zip(wanted, run_all(arm, [grid[i] for i in wanted], seeds), strict=True))
        for step, i in best.items():
            losses = tuple(_at(evaluated[i], step))
            table[arm.label, step] = ({**grid[i][0], **arm.fixed}, grid[i][1], losses)
    return EarlyResult(setting, delay, steps, _cells(arms, steps, table), tune_seeds, seeds)


def _cells(
    arms: Sequence[Arm],
    steps: Sequence[int],
    table: Mapping[tuple[str, int], _Entry],
) -> tuple[EarlyCell, ...]:
    from dp2theory.planning.paired import compare_pairs

    def against(arm: Arm, other: Arm, step: int) -> PairedComparison | None:
        ours, theirs = table[arm.label, step][2], table[other.label, step][2]
        if arm is other or not all(map(math.isfinite, (*ours, *theirs))):
            return None
        return compare_pairs(ours, theirs)

    return tuple(
        EarlyCell(
            arm.label,
            step,
            *table[arm.label, step],
            against(arm, arms[0], step),
            against(arm, arms[1], step),
        )
        for arm in arms
        for step in steps
    )


def _at(results: Sequence[TaskResult], step: int) -> list[float]:
    """Losses recorded at `step`, inf where the run had diverged or its loss was not finite."""
    losses = []
    for result in results:
        curve = dict(zip(result.loss_steps, result.losses, strict=True))
        loss = curve.get(step, math.inf)
        losses.append(loss if math.isfinite(loss) else math.inf)
    return losses


def _say(label: str) -> None:
    sys.stderr.write(f"{label}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of one problem; ``--json`` prints everything."""
    parser = argparse.ArgumentParser(prog="python -m dp2theory.experiments.early")
    parser.add_argument("problem")
    parser.add_argument("--executor", default="serial")
    parser.add_argument("--store", default=None, help="keeps runs, resumes")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)

    from contextlib import nullcontext

    from dp2theory.experiments.executors import open_executor
    from dp2theory.experiments.settings import setting_for
    from dp2theory.experiments.store import Store

    with (
        open_executor(given.executor) as executor,
        nullcontext() if given.store is None else Store(given.store) as store,
    ):
        result = early_losses(
            setting_for(given.problem),
            executor=executor,
            store=store,
            progress=_say,
        )
    sys.stdout.write((json.dumps(result.to_json()) if given.json else result.table()) + "\n")
    return 0


if __name__ == "__main__":
    from dp2theory.experiments.executors import one_thread

    one_thread()
    sys.exit(main())
