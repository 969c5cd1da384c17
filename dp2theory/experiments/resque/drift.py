"""Drift of coupled runs on neighbouring data: shared noise, noise of one's own, no smoothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dp2theory.experiments.resque.request import ResqueRequest
from dp2theory.experiments.resque.result import Gate, ResqueResult, ResqueVerdict
from dp2theory.resque.drift import DriftRow, DriftTable, drift_table
from dp2theory.resque.fit import log_slope

#: Its heading.
TITLE = "Drift of two runs that differ in one record, over 2 x step x Lipschitz constant"
#: What is checked.
CLAIM = (
    "On the hard losses the drift of raw subgradient steps grows as sqrt(T)/2; that of reweighted "
    "queries with shared noise stays within 2 % of 1, and everywhere below its bound."
)
#: What stands below the picture.
CAPTION = (
    "Our simulations of pairs of runs whose first step is on opposite losses and all later ones on "
    "the same. hard: max(0, max x_i - offset) in T dimensions; absolute: |a·x - b| of 1000 "
    "records in 10 dimensions; linear: x and -x in turn. Sharp bounds: theorems "
    "resque.drift (p = 2) and resque.drift.powers (p > 2); the others: resque.drift.orders."
)
#: What is said of it besides.
NOTES = (
    "Standard errors are over pairs of runs; of high moments they are themselves rough.",
    "Independent noise is what the coupling forgoes: its drift grows with the number of steps.",
)
#: What is simulated: each a call of `drift_table`.
SIZES: dict[str, Any] = {
    "hard": {
        "horizons": (50, 100, 200, 400), "ratios": (0.25,), "paths": 200,
        "methods": ("shared", "raw"),
    },
    "independent": {
        "horizons": (100, 400, 1600), "ratios": (0.1,), "paths": 500,
        "methods": ("shared", "independent"),
    },
    "linear": {
        "horizons": (200,), "ratios": (0.05, 0.1, 0.2), "orders": (2.0, 4.0, 8.0),
        "paths": 50_000, "methods": ("shared",),
    },
    "absolute": {
        "horizons": (400,), "ratios": (0.1, 0.25), "orders": (2.0, 4.0, 8.0), "paths": 1000,
        "methods": ("shared",),
    },
}  # fmt: skip
#: Part -> losses; the others are called by the losses' name.
KINDS = {"independent": "absolute"}
#: How far above 1 the drift with shared noise may be.
COUPLED = 0.02
#: The slope of raw drift against sqrt(T) is 1/2 up to this relative error (hand-chosen).
RAW = 0.02
#: A measured moment is above its bound when it is so by more standard errors (hand-chosen).
ERRORS = 3.0
#: Slope of log drift against log T that independent noise must show (hand-chosen, about 1/2).
INDEPENDENT_SLOPES = (0.4, 0.6)


@dataclass(frozen=True)
class Part:
    """One table of one seed.

    Attributes
    ----------
    part : str
        A key of `SIZES`.
    seed : int
    table : DriftTable
    """

    part: str
    seed: int
    table: DriftTable

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"part": self.part, "seed": self.seed, **self.table.to_json()}


@dataclass(frozen=True)
class Drifts:
    """All tables.

    Attributes
    ----------
    parts : tuple of Part
        At least "hard" of one seed.
    """

    parts: tuple[Part, ...]

    def rows(self, part: str | None = None, method: str | None = None) -> list[DriftRow]:
        """Rows of one part (or all) and of one method (or all), seed by seed."""
        return [
            row
            for one in self.parts
            if part in (None, one.part)
            for row in one.table.rows
            if method in (None, row.method)
        ]

    def raw_slope(self) -> float:
        """Least-squares slope of raw drift against sqrt(T) on the hard losses."""
        rows = self.rows("hard", "raw")
        return float(
            np.polyfit([row.steps**0.5 for row in rows], [row.drift for row in rows], 1)[0]
        )

    def independent_slope(self) -> float | None:
        """Slope of log drift against log T with independent noise; None where not simulated."""
        rows = self.rows("independent", "independent")
        if not rows:
            return None
        return log_slope([row.steps for row in rows], [row.drift for row in rows])

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "parts": [part.to_json() for part in self.parts],
            "raw_slope": self.raw_slope(),
            "independent_slope": self.independent_slope(),
        }


def compute(request: ResqueRequest) -> ResqueResult:
    """Simulate every part, seed by seed."""
    sizes = request.sized(SIZES)
    items = [(name, options, seed) for seed in request.seeds for name, options in sizes.items()]
    data = Drifts(tuple(request.map("simulating drift", part_of, items)))
    verdict = judge(data)
    return ResqueResult("drift", TITLE, verdict, data, CAPTION, tuple(request.seeds), NOTES)


def part_of(name: str, options: dict[str, Any], seed: int) -> Part:
    """Simulate one part; a process can be told of it."""
    # A stream of its own for every part, whatever the other parts are.
    place = list(SIZES).index(name)
    rng = np.random.default_rng([seed, place])
    return Part(name, seed, drift_table(KINDS.get(name, name), rng=rng, **options))


def judge(data: Drifts) -> ResqueVerdict:
    """Gate by gate: raw drift grows, coupled drift does not, moments stay below their bounds."""
    gates = [raw_gate(data), coupled_gate(data), bound_gate(data.rows())]
    slope = data.independent_slope()
    if slope is not None:
        gates.append(independent_gate(data, slope))
    return ResqueVerdict(CLAIM, tuple(gates))


def raw_gate(data: Drifts) -> Gate:
    """Raw drift is linear in sqrt(T) with slope 1/2."""
    slope, rows = data.raw_slope(), data.rows("hard", "raw")
    told = ", ".join(f"{row.drift:.4g} at T = {row.steps}" for row in rows)
    return Gate(
        "raw drift grows as sqrt(T)/2", abs(2 * slope - 1) <= RAW,
        f"slope {slope:.4f} against sqrt(T) ({told})",
    )  # fmt: skip


def coupled_gate(data: Drifts) -> Gate:
    """On the hard losses shared noise keeps the drift near 1."""
    rows = data.rows("hard", "shared")
    worst = max(abs(row.drift - 1) for row in rows)
    told = ", ".join(f"{row.drift:.4f}" for row in rows)
    return Gate(f"coupled drift within {COUPLED:.0%} of 1", worst <= COUPLED, told)


def bound_gate(rows: Sequence[DriftRow]) -> Gate:
    """No moment of coupled drift is seen above either bound."""
    bounded = [row for row in rows if row.bound is not None]
    above = [row for row in bounded if not _below(row)]
    closest = max((row.drift / row.sharp_bound for row in bounded if row.sharp_bound), default=0.0)
    text = f"{len(bounded) - len(above)} of {len(bounded)}, at most {closest:.4f} of the sharp one"
    return Gate("moments below their bounds", not above, text)


def _below(row: DriftRow) -> bool:
    lowest = row.drift - ERRORS * row.standard_error
    return all(bound is None or lowest <= bound for bound in (row.bound, row.sharp_bound))


def independent_gate(data: Drifts, slope: float) -> Gate:
    """With noise of one's own drift grows as sqrt(T), where shared noise does not let it."""
    low, high = INDEPENDENT_SLOPES
    rows = data.rows("independent")
    shared, own = (
        ", ".join(f"{row.drift:.3g}" for row in rows if row.method == method)
        for method in ("shared", "independent")
    )
    return Gate(
        "independent noise drifts as sqrt(T)", low <= slope <= high,
        f"slope {slope:.3f} of the logarithms: {own}, where shared noise gives {shared}",
    )  # fmt: skip
