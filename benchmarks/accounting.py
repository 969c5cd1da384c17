"""This accountant beside dp_accounting's PLD accountant: time and error, in one run.

Every contestant starts from the event and ends with a number. Rounds are interleaved, so that a
change of the machine's speed hits both sides; medians are compared. One thread.

Run as ``python -m benchmarks.accounting``; exits 3 when a bar is missed.
"""

from __future__ import annotations

import os

# Before NumPy loads its BLAS.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gc
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import dp_accounting
from dp_accounting.pld import PLDAccountant

from accountants import ExactAccountant, calibrate_noise_multiplier
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson

EPSILON_BAR, CALIBRATION_BAR, STEPS_BAR = 200.0, 300.0, 2.0
EPSILON_ROUNDS, CALIBRATION_ROUNDS = 7, 2
REPEATS = 25  # of our own, much shorter, work within a round


@dataclass(frozen=True)
class Case:
    """A run and its true ε (28 digits by ball arithmetic on two contours, rounded here)."""

    q: float
    sigma: float
    steps: int
    delta: float
    epsilon: float

    @property
    def label(self) -> str:
        return f"q={self.q:g}, sigma={self.sigma:g}, T={self.steps:g}, delta={self.delta:g}"

    def event(self, sigma: float | None = None) -> dp_accounting.DpEvent:
        noise_multiplier = self.sigma if sigma is None else sigma
        return dp_sgd_event(
            sampling=Poisson(self.q), noise_multiplier=noise_multiplier, steps=self.steps
        )


CASES = (
    Case(0.01, 1.0, 1000, 1e-6, 2.124515171120121282370159),
    Case(256 / 50000, 0.8, 20000, 1e-6, 7.609991718583200933108253),
    Case(0.001, 0.7, 100_000, 1e-7, 4.597522669167155358337),
    Case(0.05, 2.0, 5000, 1e-5, 9.379922907511787588982384),
)


@dataclass(frozen=True)
class Row:
    """One line of the table: ratio, its bar, and whether it is at least or at most."""

    label: str
    ours: float
    theirs: float
    ratio: float
    bar: str
    missed: bool
    note: str


def timed(work: Callable[[], object], repeats: int = 1) -> float:
    """Seconds per call of ``work``."""
    begin = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - begin) / repeats


def medians(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int, their_repeats: int = 1
) -> tuple[float, float]:
    """Median seconds of both sides over interleaved rounds."""
    ours()
    theirs()
    mine, other = [], []
    gc.disable()
    try:
        for _ in range(rounds):
            mine.append(timed(ours, REPEATS))
            other.append(timed(theirs, their_repeats))
    finally:
        gc.enable()
    return statistics.median(mine), statistics.median(other)


def epsilon_row(case: Case) -> Row:
    """ε(δ) from the event, add-or-remove, both directions."""
    event = case.event()

    def ours() -> float:
        return ExactAccountant().compose(event).get_epsilon(case.delta)

    def theirs() -> float:
        return float(PLDAccountant().compose(event).get_epsilon(case.delta))

    mine, other = medians(ours, theirs, EPSILON_ROUNDS)
    errors = [answer() / case.epsilon - 1 for answer in (ours, theirs)]
    ratio = other / mine
    missed = not (ratio >= EPSILON_BAR and abs(errors[0]) < abs(errors[1]))
    note = f"error {errors[0]:+.0e} against {errors[1]:+.0e}"
    return Row(f"epsilon, {case.label}", mine, other, ratio, f">= {EPSILON_BAR:g}", missed, note)


def calibration_row(case: Case) -> Row:
    """Noise multiplier for the case's ε at its δ."""

    def ours() -> float:
        return calibrate_noise_multiplier(
            case.event, target_epsilon=case.epsilon, target_delta=case.delta
        ).noise_multiplier

    def theirs() -> float:
        return float(
            dp_accounting.calibrate_dp_mechanism(
                PLDAccountant, case.event, case.epsilon, case.delta
            )
        )

    mine, other = medians(ours, theirs, CALIBRATION_ROUNDS)
    errors = [answer() / case.sigma - 1 for answer in (ours, theirs)]
    ratio = other / mine
    note = f"error {errors[0]:+.0e} against {errors[1]:+.0e}; {CALIBRATION_ROUNDS} rounds"
    missed = not (ratio >= CALIBRATION_BAR and abs(errors[0]) < abs(errors[1]))
    return Row(
        f"calibration, {case.label}", mine, other, ratio, f">= {CALIBRATION_BAR:g}", missed, note
    )


def steps_row(sigma: float) -> Row:
    """T = 1e8 beside T = 1e3 with q sqrt(T) fixed: the cost does not grow with the steps."""
    few = Case(0.01, sigma, 1000, 1e-6, math.nan).event()
    many = Case(0.01 * math.sqrt(1e-5), sigma, 10**8, 1e-6, math.nan).event()

    def long_run() -> float:
        return ExactAccountant().compose(many).get_epsilon(1e-6)

    def short_run() -> float:
        return ExactAccountant().compose(few).get_epsilon(1e-6)

    mine, other = medians(long_run, short_run, 15, REPEATS)
    ratio = mine / other
    return Row(
        f"T=1e8 beside T=1e3, sigma={sigma:g}",
        mine,
        other,
        ratio,
        f"<= {STEPS_BAR:g}",
        not ratio <= STEPS_BAR,
        "time(T=1e8) / time(T=1e3)",
    )


def main() -> int:
    """Print the table; 3 when a bar is missed, else 0."""
    print("| what | ours | dp_accounting PLD | ratio | bar | |")
    print("|---|---|---|---|---|---|")
    missed = False
    makers: list[Callable[[], Row]] = [partial(epsilon_row, case) for case in CASES]
    makers += [partial(steps_row, sigma) for sigma in (0.7, 1.0, 2.0)]
    makers += [partial(calibration_row, case) for case in CASES]
    for make in makers:
        row = make()
        verdict = "MISSED, " if row.missed else ""
        print(
            f"| {row.label} | {row.ours * 1e3:.2f} ms | {row.theirs * 1e3:.2f} ms "
            f"| {row.ratio:.3g} | {row.bar} | {verdict}{row.note} |",
            flush=True,
        )
        missed |= row.missed
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
