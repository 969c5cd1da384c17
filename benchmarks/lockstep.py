"""A tuning grid in lockstep beside its runs one by one: CPU time, in one run, and equal bits.

Grids of 15 DP² configurations on 2 seeds, and one configuration on 8 seeds, on three problems.
Rounds are interleaved, medians compared; one thread. The bar is on what `tune` uses lockstep for,
grids; for one configuration the ratio is shown.

Run as ``python -m benchmarks.lockstep``; exits 3 when a bar is missed. Needs the extra ``data``.
"""

from __future__ import annotations

import os

# Before NumPy loads its BLAS.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gc
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from accountants.sampling import Poisson
from dp2theory.optimizers.batched import run_batched
from dp2theory.optimizers.grids import GridContext, grid_of
from dp2theory.optimizers.phases import Phases
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.results import RunResult
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.steps import Optimizer
from dp2theory.problems.protocol import Problem
from dp2theory.problems.registry import get_problem

ROUNDS = 3
MISSED = 3


@dataclass(frozen=True)
class Case:
    """A problem, the batch size and steps of the runs, and the bar for its grid."""

    problem: str
    batch_size: int
    steps: int
    bar: float


CASES = (
    Case("het", 256, 100, 1.5),
    Case("text", 256, 60, 1.2),
    Case("movielens-small", 1024, 6, 1.0),
)


def grid(steps: int) -> list[Optimizer]:
    """The DP²-RMSProp grid around a usual DP-SGD."""
    phases = Phases(steps // 10, steps // 10) if steps >= 20 else Phases(1, 1)
    context = GridContext(1.0, steps, DpSgd(8.0, 1.0, 1.0), phases)
    return list(grid_of("dp2-rmsprop")(context))


def one_by_one(
    optimizers: Sequence[Optimizer], problem: Problem, case: Case, seeds: Sequence[int]
) -> list[list[RunResult]]:
    """The runs as `run` makes them."""
    sampling = Poisson(case.batch_size / problem.dataset_size)
    return [
        [run(o, problem, sampling=sampling, steps=case.steps, rng=seed) for seed in seeds]
        for o in optimizers
    ]


def together(
    optimizers: Sequence[Optimizer], problem: Problem, case: Case, seeds: Sequence[int]
) -> list[list[RunResult]]:
    """The runs in lockstep."""
    sampling = Poisson(case.batch_size / problem.dataset_size)
    return run_batched(optimizers, problem, sampling=sampling, steps=case.steps, seeds=seeds)


def compare(
    optimizers: Sequence[Optimizer], problem: Problem, case: Case, seeds: Sequence[int]
) -> tuple[float, float, bool]:
    """Microseconds per run and step one by one, the speed-up, and whether all bits agree."""
    alone: list[float] = []
    ratios: list[float] = []
    equal = True
    gc.disable()
    try:
        for _ in range(ROUNDS):
            begin = time.process_time()
            first = one_by_one(optimizers, problem, case, seeds)
            middle = time.process_time()
            second = together(optimizers, problem, case, seeds)
            end = time.process_time()
            alone.append((middle - begin) / (len(optimizers) * len(seeds) * case.steps))
            ratios.append((middle - begin) / (end - middle))
            for a, b in zip(first, second, strict=True):
                for x, y in zip(a, b, strict=True):
                    equal = equal and x.parameters.tobytes() == y.parameters.tobytes()
    finally:
        gc.enable()
    return statistics.median(alone) * 1e6, statistics.median(ratios), equal


def main() -> int:
    """Print the table; return 0, or 3 when a bar is missed."""
    print("| problem | runs | us/step alone | times as fast | bar | |")
    print("|---|---|---|---|---|---|")
    missed = False
    for case in CASES:
        problem, configurations = get_problem(case.problem), grid(case.steps)
        for optimizers, seeds, bar in (
            (configurations, (0, 1), case.bar),
            (configurations[:1], tuple(range(8)), None),
        ):
            alone, ratio, equal = compare(optimizers, problem, case, seeds)
            slow = bar is not None and not ratio >= bar
            missed |= slow or not equal
            verdict = "equal bits" if equal else "bits DIFFER"
            print(
                f"| {case.problem} | {len(optimizers)} x {len(seeds)} seeds | {alone:.0f} "
                f"| {ratio:.2f} | {'' if bar is None else f'>= {bar:g}'} "
                f"| {verdict}{', MISSED' if slow else ''} |",
                flush=True,
            )
    return MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
