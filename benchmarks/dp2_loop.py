"""Steps per second of DP² on sparse logistic regression beside a vmap-per-example JAX loop.

DP-SGD code in JAX forms one dense gradient per record (`benchmarks._jax_peer`); here no gradient
of a record is ever formed. Both sides: one thread, pinned to one core, CPU time, rounds
interleaved, medians. d = 10,000, 1 % of entries, batches of 64 (Poisson here; the peer draws 64
records with replacement, which is cheaper for it), delay 25.

Two bars: at least 10 times the steps/s of the peer's loop *at the same precision* (float64), and
at most 4 times the time of drawing the noise. Shown beside them and not judged: dense data, the
peer's loop in float32, and the peer's arithmetic written by an expert as one compiled program for
the whole run, which is far faster than the loop. No claim is made against that one.

Run as ``python -m benchmarks.dp2_loop``; exits 3 when a bar is missed, 4 when none is missed but
the peer could not be run (the extra ``bench`` brings jax).
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
from numpy.typing import NDArray
from scipy import sparse

from accountants.sampling import Poisson
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.protocol import run
from dp2theory.problems.linear import LinearProblem, Logistic
from dp2theory.problems.rows import DenseRows, SparseRows

#: What jax is started with: one thread, and float64 where it is asked for.
XLA = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "1",
}
RECORDS, DIMENSION, ACTIVE = 2_000, 10_000, 100
BATCH_SIZE, DELAY, STEPS = 64, 25, 200
ROUNDS = 9
RATIO_BAR, NOISE_BAR = 10.0, 4.0
MISSED, NOT_RUN = 3, 4
NORMALS, OURS = "drawing d normals", "DP2 here, sparse"
JUDGED = "JAX loop, sparse, float64"
OPTIMIZER = Dp2RmsProp(0.5, 1.0, 0.005, 500.0, 1.0, delay=DELAY)

Array = NDArray[np.float64]
Work = Callable[[], None]


@dataclass(frozen=True)
class Data:
    """Rows with `ACTIVE` entries each, as columns and values of shape (records, active)."""

    columns: NDArray[np.int64]
    values: Array
    targets: Array

    def matrix(self) -> sparse.csr_array:
        """The rows, sparse."""
        pointers = np.arange(0, self.columns.size + 1, ACTIVE)
        shape = (RECORDS, DIMENSION)
        return sparse.csr_array((self.values.ravel(), self.columns.ravel(), pointers), shape=shape)


def make_data() -> Data:
    """The same synthetic data for all contestants; the last column is an intercept."""
    rng = np.random.default_rng(0)
    columns = np.empty((RECORDS, ACTIVE), dtype=np.int64)
    for row in columns:
        row[:-1] = np.sort(rng.choice(DIMENSION - 1, ACTIVE - 1, replace=False))
        row[-1] = DIMENSION - 1
    values = rng.standard_normal(columns.shape)
    targets = (rng.random(RECORDS) < 0.5).astype(np.float64)
    return Data(columns, values, targets)


def ours(data: Data, rng: np.random.Generator, *, dense: bool) -> Work:
    """`run` of DP²-RMSProp, whole: its checks, its final loss and its ledger included."""
    rows = DenseRows(data.matrix().toarray()) if dense else SparseRows(data.matrix())
    problem = LinearProblem("bench", {"train": rows}, {"train": data.targets}, Logistic())
    sampling, start = Poisson(BATCH_SIZE / RECORDS), np.zeros(DIMENSION)

    def work() -> None:
        run(
            OPTIMIZER,
            problem,
            sampling=sampling,
            steps=STEPS,
            rng=rng,
            initial_parameters=start,
        )

    return work


def draw_noise(rng: np.random.Generator) -> Work:
    """The normals of the run, and nothing else."""

    def work() -> None:
        for _ in range(STEPS):
            rng.standard_normal(DIMENSION)

    return work


def peers(data: Data) -> dict[str, Work]:
    """The contestants in JAX; raises ImportError without jax."""
    os.environ.update(XLA)
    from benchmarks._jax_peer import VERSION, Peer

    print(f"jax {VERSION}, jit, {', '.join(f'{k}={v!r}' for k, v in XLA.items())}")

    def of(*, dense: bool, precision: str) -> Peer:
        rows = data.columns, data.values, data.targets
        sizes = DIMENSION, BATCH_SIZE, STEPS
        return Peer(OPTIMIZER, *rows, *sizes, dense, precision)

    return {
        JUDGED: of(dense=False, precision="float64").loop(),
        "JAX loop, dense, float64": of(dense=True, precision="float64").loop(),
        "JAX loop, sparse, float32": of(dense=False, precision="float32").loop(),
        "JAX loop, dense, float32": of(dense=True, precision="float32").loop(),
        "JAX one program, sparse, float64": of(dense=False, precision="float64").one_program(),
        "JAX one program, sparse, float32": of(dense=False, precision="float32").one_program(),
        "JAX one program, dense, float32": of(dense=True, precision="float32").one_program(),
    }


def one_core() -> None:
    """Pin this process to one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def measure(contestants: dict[str, Work]) -> dict[str, float]:
    """Median CPU seconds per step of each contestant, rounds interleaved."""
    times: dict[str, list[float]] = {label: [] for label in contestants}
    for work in contestants.values():
        work()  # compilation, imports and caches
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for label, work in contestants.items():
                begin = time.process_time()
                work()
                times[label].append((time.process_time() - begin) / STEPS)
    finally:
        gc.enable()
    return {label: statistics.median(taken) for label, taken in times.items()}


def main() -> int:
    """Print the table; return 0, 3 when a bar is missed, or 4 when the peer could not be run."""
    one_core()
    data = make_data()
    rng = np.random.Generator(np.random.SFC64(0))
    contestants = {
        NORMALS: draw_noise(rng),
        OURS: ours(data, rng, dense=False),
        "DP2 here, dense": ours(data, rng, dense=True),
    }
    absent = ""
    print(
        f"d = {DIMENSION}, {ACTIVE} entries a row, batches of {BATCH_SIZE}, delay {DELAY}; one "
        f"thread and core for all, CPU time, medians of {ROUNDS} rounds of {STEPS} steps"
    )
    try:
        contestants |= peers(data)
    except ImportError as error:
        absent = str(error)
    seconds = measure(contestants)
    step = seconds[OURS]
    print(f"{'':<34}{'us/step':>10}{'steps/s':>10}{'time / ours':>13}")
    for label, taken in seconds.items():
        print(f"{label:<34}{taken * 1e6:>10.1f}{1 / taken:>10.0f}{taken / step:>13.2f}")
    noise = step / seconds[NORMALS]
    missed = not noise <= NOISE_BAR
    print(f"DP2 step / drawing its noise: {noise:.2f} (bar <= {NOISE_BAR:g}): {_verdict(missed)}")
    if absent:
        print(
            f"steps/s against the JAX loop (bar >= {RATIO_BAR:g} x): NOT RUN, {absent} "
            "(pip install 'dp2theory[bench]')"
        )
        return MISSED if missed else NOT_RUN
    ratio = seconds[JUDGED] / step
    slow = not ratio >= RATIO_BAR
    print(f"steps/s against the {JUDGED}: {ratio:.1f} x (bar >= {RATIO_BAR:g} x): {_verdict(slow)}")
    fastest = min((taken, label) for label, taken in seconds.items() if label.startswith("JAX"))
    print(f"against the {fastest[1]}: {fastest[0] / step:.1f} x (not judged)")
    return MISSED if missed or slow else 0


def _verdict(missed: bool) -> str:
    return "MISSED" if missed else "fine"


if __name__ == "__main__":
    sys.exit(main())
