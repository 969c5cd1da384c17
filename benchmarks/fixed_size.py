"""Batches drawn with replacement: time and error beside dp_accounting's mixture PLD, and bars.

The setting is n = 50,000, m = 256, noise multiplier 2, delta = 1e-6. Under add-or-remove-one the
peer is ``from_mixture_gaussian_mechanism`` on its default grid, composed 20,000 times; under
replace-one no peer has an answer, and the bars are seconds of CPU on one thread.

Run as ``python -m benchmarks.fixed_size``; exits 3 when a bar is missed.
"""

from __future__ import annotations

import os

# Before NumPy loads its BLAS.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import functools
import gc
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import dp_accounting
from dp_accounting.pld import privacy_loss_distribution

from accountants import ExactAccountant, NeighboringRelation, calibrate_noise_multiplier
from accountants.events import dp_sgd_event
from accountants.sampling import WithReplacement

SIZE, BATCH, SIGMA, DELTA = 50_000, 256, 2.0, 1e-6
SHORT, LONG = 1000, 20_000
# by ball arithmetic on two contours (30 digits, rounded): mixture pair, T = 20,000
EPSILON = 4.766812014559879112604163
RATIO_BAR, FAST_BAR, CALIBRATION_BAR = 100.0, 0.1, 1.0
TIGHT_BARS = {SHORT: 3.0, LONG: 20.0}
ROUNDS = 3
ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    label: str
    seconds: float
    bar: str
    missed: bool
    note: str


def event(steps: int, sigma: float = SIGMA) -> dp_accounting.DpEvent:
    """A run of ``steps`` releases."""
    return dp_sgd_event(sampling=WithReplacement(SIZE, BATCH), noise_multiplier=sigma, steps=steps)


def timed(work: Callable[[], object], repeats: int = 1) -> float:
    """Seconds of CPU per call of ``work``."""
    gc.collect()
    gc.disable()
    try:
        begin = time.process_time()
        for _ in range(repeats):
            work()
        return (time.process_time() - begin) / repeats
    finally:
        gc.enable()


def median(work: Callable[[], object], rounds: int, repeats: int = 1) -> float:
    """Median of ``rounds`` timings."""
    return statistics.median(timed(work, repeats) for _ in range(rounds))


def peer() -> float:
    """ε of the same pair by dp_accounting; copies beyond 10 have a chance below 1e-31."""
    w = 1 / SIZE
    weights = [math.comb(BATCH, k) * w**k * (1 - w) ** (BATCH - k) for k in range(11)]
    pld = privacy_loss_distribution.from_mixture_gaussian_mechanism(
        SIGMA, [2.0 * k for k in range(11)], [x / math.fsum(weights) for x in weights]
    )
    return float(pld.self_compose(LONG).get_epsilon_for_delta(DELTA))


def ratio_row() -> Row:
    """ε under add-or-remove-one beside the peer, rounds interleaved."""
    run = event(LONG)

    def ours() -> float:
        return ExactAccountant(ADD_REMOVE).compose(run).get_epsilon(DELTA)

    ours()
    mine, theirs, found = [], [], 0.0

    def theirs_once() -> None:
        nonlocal found
        found = peer()

    for _ in range(ROUNDS):
        mine.append(timed(ours, 10))
        theirs.append(timed(theirs_once))
    errors = [x / EPSILON - 1 for x in (ours(), found)]
    seconds, other = statistics.median(mine), statistics.median(theirs)
    ratio = other / seconds
    missed = not (ratio >= RATIO_BAR and abs(errors[0]) < abs(errors[1]))
    note = (
        f"dp_accounting {other:.2f} s, ratio {ratio:.0f}, "
        f"error {errors[0]:+.0e} against {errors[1]:+.0e}"
    )
    return Row(f"add/remove, T={LONG}", seconds, f"ratio >= {RATIO_BAR:g}", missed, note)


def fast_row() -> Row:
    """Both ends under replace-one, from the event."""
    run = event(LONG)
    bracket = ExactAccountant(REPLACE).compose(run).epsilon_bracket(DELTA)

    def work() -> object:
        return ExactAccountant(REPLACE).compose(run).epsilon_bracket(DELTA)

    seconds = median(work, ROUNDS, 5)
    note = f"[{bracket.lower:.5f}, {bracket.upper:.5f}]"
    label = f"replace-one, fast, both ends, T={LONG}"
    return Row(label, seconds, f"<= {FAST_BAR:g} s", seconds > FAST_BAR, note)


def calibration_row() -> Row:
    """Noise multiplier for ε = 2 at the fast upper end."""

    def work() -> float:
        return calibrate_noise_multiplier(
            lambda sigma: event(LONG, sigma),
            target_epsilon=2.0,
            target_delta=DELTA,
            neighboring_relation=REPLACE,
        ).noise_multiplier

    found = work()
    seconds = median(work, ROUNDS)
    spent = ExactAccountant(REPLACE).compose(event(LONG, found)).get_epsilon(DELTA)
    late = seconds > CALIBRATION_BAR or not 2.0 * (1 - 1e-6) <= spent <= 2.0
    note = f"noise multiplier {found:.6f}, ε {spent:.9f}"
    label = f"replace-one, fast calibration, T={LONG}"
    return Row(label, seconds, f"<= {CALIBRATION_BAR:g} s", late, note)


def tight_row(steps: int) -> Row:
    """The tight upper end: seconds, and how far above the attained value it is."""
    run = event(steps)

    def work() -> object:
        accountant = ExactAccountant(REPLACE, tightness="tight")
        return accountant.compose(run).epsilon_bracket(DELTA)

    seconds = timed(work)
    bracket = ExactAccountant(REPLACE, tightness="tight").compose(run).epsilon_bracket(DELTA)
    bar = TIGHT_BARS[steps]
    note = f"[{bracket.lower:.5f}, {bracket.upper:.5f}]"
    label = f"replace-one, tight, T={steps}"
    return Row(label, seconds, f"<= {bar:g} s", seconds > bar, note)


def main() -> int:
    """Print the table; 3 when a bar is missed, else 0."""
    print(f"n={SIZE}, m={BATCH}, noise multiplier {SIGMA:g}, delta={DELTA:g}; seconds of CPU")
    print("| what | seconds | bar | |")
    print("|---|---|---|---|")
    missed = False
    makers: list[Callable[[], Row]] = [fast_row, calibration_row, ratio_row]
    makers += [functools.partial(tight_row, steps) for steps in TIGHT_BARS]
    for make in makers:
        row = make()
        verdict = "MISSED, " if row.missed else ""
        print(f"| {row.label} | {row.seconds:.4f} | {row.bar} | {verdict}{row.note} |", flush=True)
        missed |= row.missed
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
