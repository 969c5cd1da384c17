"""Time of an optimizer step beside the time of drawing its noise, in one run.

A private step must draw d normals, so that is the unit: the ratio says what sampling,
gradients, clipping and the update cost on top. Rounds are interleaved, so that a change of
the machine's speed hits both sides; medians are compared. One thread.

Run as ``python -m benchmarks.optimizer_step`` or ``python benchmarks/optimizer_step.py``;
exits 3 when the bar is missed. Needs the extra ``data`` (the `text` problem).
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
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from accountants.sampling import Poisson
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.steps import Optimizer
from dp2theory.problems.protocol import Problem
from dp2theory.problems.registry import get_problem

BAR = 4.0
BATCH_SIZE = 64
STEPS_PER_ROUND = 200


@dataclass(frozen=True)
class Row:
    """One line of the table; times are seconds per step, `bar` None means not judged."""

    label: str
    seconds: float
    ratio: float
    bar: float | None

    @property
    def missed(self) -> bool:
        """Whether the ratio is above its bar."""
        return self.bar is not None and not self.ratio <= self.bar


def _run_steps(problem: Problem, optimizer: Optimizer) -> Callable[[np.random.Generator], None]:
    sampling = Poisson(BATCH_SIZE / problem.dataset_size)
    start = np.zeros(problem.dimension)

    def steps(rng: np.random.Generator) -> None:
        run(
            optimizer,
            problem,
            sampling=sampling,
            steps=STEPS_PER_ROUND,
            rng=rng,
            initial_parameters=start,
        )

    return steps


def measure(problem: Problem, *, rounds: int = 15) -> list[Row]:
    """Return the table for `problem`: normals, DP-SGD (not judged) and DP² (judged).

    The delay is 25, so that 200 steps hold both phases equally; the whole of `run` is timed,
    its final loss and its ledger included.
    """
    d = problem.dimension
    dp_sgd = _run_steps(problem, DpSgd(0.5, 1.0, 1.0))
    dp2 = _run_steps(problem, Dp2RmsProp(0.5, 1.0, 0.005, 500.0, 1.0, delay=25))

    def normals(rng: np.random.Generator) -> None:
        for _ in range(STEPS_PER_ROUND):
            rng.standard_normal(d)

    contestants = {"draw d normals": normals, "DP-SGD step": dp_sgd, "DP2 step": dp2}
    times: dict[str, list[float]] = {label: [] for label in contestants}
    # The generator kind of `run` with a seed; both sides draw from the same kind.
    rng = np.random.Generator(np.random.SFC64(0))
    for work in contestants.values():
        work(rng)  # imports and caches
    gc.disable()
    try:
        for _ in range(rounds):
            for label, work in contestants.items():
                begin = time.perf_counter()
                work(rng)
                times[label].append((time.perf_counter() - begin) / STEPS_PER_ROUND)
    finally:
        gc.enable()
    unit = statistics.median(times["draw d normals"])
    bars = {"DP2 step": BAR}
    return [
        Row(label, statistics.median(taken), statistics.median(taken) / unit, bars.get(label))
        for label, taken in times.items()
    ]


def main() -> int:
    """Print the table; return 0, or 3 when a bar is missed."""
    problem = get_problem("text")
    rows = measure(problem)
    print(
        f"text: d = {problem.dimension}, Poisson batches of {BATCH_SIZE} expected, "
        "SFC64, one thread, medians of interleaved rounds"
    )
    print(f"{'':<18}{'us/step':>10}{'x normals':>12}{'bar':>8}")
    for row in rows:
        bar = "" if row.bar is None else f"{row.bar:g}"
        verdict = "  MISSED" if row.missed else ""
        print(f"{row.label:<18}{row.seconds * 1e6:>10.1f}{row.ratio:>12.2f}{bar:>8}{verdict}")
    return 3 if any(row.missed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
