"""The whole Rényi curve beside dp_accounting's: time and error, in one run.

Every contestant starts from the event and ends with the curve at dp_accounting's default orders.
Rounds are interleaved and medians compared, one thread.  The errors are against the moments by
mpmath with 40 digits, at orders that include fractional ones near 1.

Run as ``python -m benchmarks.renyi``; exits 3 when a bar is missed.
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

import dp_accounting
import mpmath
import numpy as np
from dp_accounting.rdp import RdpAccountant
from numpy.typing import NDArray

from accountants.events import sampled_gaussian_event
from accountants.renyi.accountant import RenyiAccountant
from accountants.sampling import Poisson

EACH_BAR, MEDIAN_BAR, ERROR_BAR = 15.0, 25.0, 1e-10
ROUNDS = 9
REPEATS = 15  # of our own, much shorter, work within a round
CHECKED = (1.00001, 1.001, 1.1, 1.5, 2.0, 2.5, 8.0, 20.5, 63.0, 128.0, 1024.0, 1e4)


@dataclass(frozen=True)
class Case:
    """One Poisson-sampled Gaussian release under add-or-remove-one."""

    q: float
    sigma: float

    @property
    def label(self) -> str:
        return f"q={self.q:g}, sigma={self.sigma:g}"

    def event(self) -> dp_accounting.DpEvent:
        return sampled_gaussian_event(sampling=Poisson(self.q), noise_multiplier=self.sigma)


CASES = (Case(0.01, 1.0), Case(256 / 50000, 0.8), Case(0.001, 0.7), Case(0.05, 2.0))


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    label: str
    ours: float
    theirs: float
    ratio: float
    bar: str
    missed: bool
    note: str


def timed(work: Callable[[], object], repeats: int = 1) -> float:
    """CPU seconds per call of ``work``."""
    begin = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - begin) / repeats


def medians(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """Median seconds of both sides over interleaved rounds."""
    ours()
    theirs()
    mine, other = [], []
    gc.disable()
    try:
        for _ in range(ROUNDS):
            mine.append(timed(ours, REPEATS))
            other.append(timed(theirs))
    finally:
        gc.enable()
    return statistics.median(mine), statistics.median(other)


def reference(case: Case, order: float) -> mpmath.mpf:
    """Divergence of one order by the trapezoid rule with 40 digits.

    The step is a fifth of what double precision needs; the moment is that of the pair
    ((1-q) N(0, s^2) + q N(1, s^2), N(0, s^2)), the larger direction.
    """
    with mpmath.workdps(40):
        q, gap, a = mpmath.mpf(case.q), 1 / mpmath.mpf(case.sigma), mpmath.mpf(order)
        if order > 100 and (a - 1) * gap**2 / 2 > 60 - mpmath.log(q):
            # All but exp(-60) of the moment is at the record's own mean.
            return a * gap**2 / 2 + a / (a - 1) * mpmath.log(q)
        step = mpmath.mpf(1) / int(12 * max(1.0, float(gap)))
        low, high = -18, float(a * gap) + 18

        def term(j: int) -> mpmath.mpf:
            u = j * step
            w = q * mpmath.expm1(gap * u - gap**2 / 2)
            return mpmath.exp(-u * u / 2) * ((1 + w) ** a - 1 - a * w)

        total = mpmath.fsum(term(j) for j in range(int(low / step), int(high / step) + 1))
        return mpmath.log1p(total * step / mpmath.sqrt(2 * mpmath.pi)) / (a - 1)


def ours(event: dp_accounting.DpEvent, orders: NDArray[np.float64]) -> NDArray[np.float64]:
    """The curve of one release."""
    return RenyiAccountant().compose(event).rdp(orders)


def curve_row(case: Case) -> Row:
    """The curve at dp_accounting's default orders."""
    event = case.event()
    orders = np.array(RdpAccountant()._orders, dtype=np.float64)
    mine, other = medians(lambda: ours(event, orders), lambda: RdpAccountant().compose(event))
    checked = np.array(CHECKED)
    true = [reference(case, order) for order in CHECKED]
    errors = [
        float(mpmath.mpf(float(value)) / exact - 1)
        for value, exact in zip(ours(event, checked), true, strict=True)
    ]
    theirs = np.array(RdpAccountant(orders=list(CHECKED)).compose(event)._rdp, dtype=np.float64)
    loose = max(float(value) / float(exact) - 1 for value, exact in zip(theirs, true, strict=True))
    ratio = other / mine
    missed = not (ratio >= EACH_BAR and max(map(abs, errors)) <= ERROR_BAR and min(errors) >= 0)
    note = f"error {min(errors):.0e} to {max(errors):.0e}, theirs up to {loose:.0e}"
    return Row(f"Rényi curve, {case.label}", mine, other, ratio, f">= {EACH_BAR:g}", missed, note)


def rows() -> list[Row]:
    """All rows; the last is the median of the ratios."""
    found = [curve_row(case) for case in CASES]
    ratio = statistics.median(row.ratio for row in found)
    mine = statistics.median(row.ours for row in found)
    other = statistics.median(row.theirs for row in found)
    missed = not ratio >= MEDIAN_BAR
    found.append(
        Row("Rényi curve, median", mine, other, ratio, f">= {MEDIAN_BAR:g}", missed, "of the above")
    )
    return found


def main() -> int:
    """Print the table; 3 when a bar is missed, else 0."""
    print("| what | ours | dp_accounting RDP | ratio | bar | |")
    print("|---|---|---|---|---|---|")
    found = rows()
    for row in found:
        verdict = "MISSED, " if row.missed else ""
        print(
            f"| {row.label} | {row.ours * 1e3:.2f} ms | {row.theirs * 1e3:.2f} ms "
            f"| {row.ratio:.3g} | {row.bar} | {verdict}{row.note} |",
            flush=True,
        )
    return 3 if any(row.missed for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
