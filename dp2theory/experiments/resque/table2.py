"""Table 2: exponents of private methods, four accountants on five settings, and our runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dp2theory.digits import short
from dp2theory.experiments.resque.accounting import SETTINGS, AccountedRow, account
from dp2theory.experiments.resque.fig1 import (
    Crossing,
    fewest_gate,
    linear_gate,
    meeting_gate,
    meetings,
    other_oracle_gate,
)
from dp2theory.experiments.resque.rates import RateRow, private_exponents
from dp2theory.experiments.resque.request import ResqueRequest
from dp2theory.experiments.resque.result import Gate, ResqueResult, ResqueVerdict
from dp2theory.resque.private_ledger import ACCOUNTANTS
from dp2theory.resque.private_study import METHODS, PrivateRow, PrivateStudy, private_study

#: Its heading.
TITLE = "Private methods: exponents of n, four accountants, and our runs"
#: What is checked.
CLAIM = (
    "By its rate private ReSQue needs the fewest gradients while d << n^(4/3); exact accounting of "
    "216 oracle calls is tighter than Rényi, that than truncated CDP, and that than advanced "
    "composition; in private runs its excess falls as n grows."
)
#: What stands below the picture.
CAPTION = (
    "Exponents: our evaluations of theorem resque.table2, without constants and logarithms. "
    "Recalled, not the paper's statement (* where it is a part): the row AFKT21, KLL21's powers of "
    "the privacy ε, and n^(9/2) of BFTT19; for losses that need not be smooth FKT20 is read as at "
    "least quadratic. Accountants: all oracle calls of theorem resque.private.rate at δ = 1e-6, "
    "without the failure probability of the drift bound and without calls of the bisection. Runs: "
    "l1 regression of random data, with both."
)
#: What is said of it besides.
NOTES: tuple[str, ...] = (
    "Every ε is about the replacement of one record; the lower end is attained by a mechanism that "
    "the events describe, the upper end is proved for all of them.",
    "Runs have at most 10^4 records, where constants and logarithms decide and rates say little.",
)
#: Sizes of the runs, where no others are asked for.
SIZES: dict[str, Any] = {
    "thetas": tuple(Fraction(k, 12) for k in (0, 3, 6, 9, 12, 15, 16, 18, 24)),
    "accounted": SETTINGS,
    "settings": ((500, 8), (2000, 8), (8000, 8)),
    "methods": METHODS,
    "target_epsilon": 1.0,
}


@dataclass(frozen=True)
class PrivateTable:
    """Exponents, accounted settings and runs.

    Attributes
    ----------
    thetas : tuple of Fraction
    exponents : tuple of RateRow
    meetings : tuple of Crossing
    accounted : tuple of AccountedRow
    study : PrivateStudy
    """

    thetas: tuple[Fraction, ...]
    exponents: tuple[RateRow, ...]
    meetings: tuple[Crossing, ...]
    accounted: tuple[AccountedRow, ...]
    study: PrivateStudy

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "thetas": [float(theta) for theta in self.thetas],
            "private": [row.to_json() for row in self.exponents],
            "meetings": [one.to_json() for one in self.meetings],
            "accounted": [row.to_json() for row in self.accounted],
            "study": self.study.to_json(),
        }


def compute(request: ResqueRequest) -> ResqueResult:
    """Evaluate the exponents, account the settings and run every private method."""
    sizes = request.sized(SIZES)
    accounted = request.map("accounting oracle calls", account, list(sizes["accounted"]))
    study = private_study(
        settings=sizes["settings"],
        methods=sizes["methods"],
        target_epsilon=sizes["target_epsilon"],
        seeds=len(request.seeds),
        first_seed=request.seeds[0],
        executor=request.executor,
        progress=request.counting("private runs"),
    )
    data = PrivateTable(
        tuple(sizes["thetas"]),
        private_exponents(sizes["thetas"]),
        meetings(),
        tuple(accounted),
        study,
    )
    notes = (*NOTES, *beside_each_other(study))
    seeds = tuple(request.seeds)
    caption = f"{CAPTION} {least_excess(study)}"
    return ResqueResult("resque-table2", TITLE, judge(data), data, caption, seeds, notes)


def least_excess(study: PrivateStudy) -> str:
    """Who has the least excess in each setting, and how far ReSQue is from that."""
    told = []
    for start in study.starts:
        n, d = start.dataset_size, start.dimension
        best = study.best(n, d)
        ours = [
            row.excess
            for row in study.rows
            if (row.method, row.dataset_size, row.dimension) == ("resque", n, d)
        ]
        far = f", ReSQue's is {ours[0] / best.excess:.3g} times that" if ours else ""
        told.append(f"n = {n:,}, d = {d}: {best.method}{far}")
    return f"Least excess of our runs: {'; '.join(told)}."


def beside_each_other(study: PrivateStudy) -> list[str]:
    """Excess and gradients of every method, setting by setting, the start's excess first."""
    told = []
    for start in study.starts:
        n, d = start.dataset_size, start.dimension
        rows = [row for row in study.rows if (row.dataset_size, row.dimension) == (n, d)]
        parts = [f"{row.method} {row.excess:.2g} with {row.queries:,.0f} gradients" for row in rows]
        told.append(f"Excess at n = {n:,}, d = {d}: start {start.excess:.2g}, {', '.join(parts)}.")
    return told


def judge(data: PrivateTable) -> ResqueVerdict:
    """Gate by gate: who needs fewest gradients, the order of accountants, budgets that are kept."""
    gates = [
        fewest_gate(data.thetas, data.exponents),
        meeting_gate(data.meetings),
        linear_gate(data.thetas, data.exponents),
        other_oracle_gate(data.thetas, data.exponents),
        order_gate(data.accounted),
        budget_gate(data.study.rows, data.study.target_epsilon),
    ]
    ours = [row for row in data.study.rows if row.method == "resque"]
    if len({row.dataset_size for row in ours}) > 1:
        gates.append(falls_gate(ours))
    return ResqueVerdict(CLAIM, tuple(gates))


def order_gate(rows: Sequence[AccountedRow]) -> Gate:
    """exact < Rényi < truncated CDP < advanced composition in every setting."""
    told = [
        f"n = {row.dataset_size:,}, noise/sensitivity {row.noise_multiplier / 2:g}: "
        + " < ".join(short(row.epsilon[name].upper, "upper", 5) for name in ACCOUNTANTS)
        for row in rows
    ]
    broken = [row for row in rows if not row.ordered]
    text = f"{len(rows) - len(broken)} of {len(rows)} settings ({', '.join(told)})"
    return Gate("exact < Rényi < truncated CDP < advanced", bool(rows) and not broken, text)


def budget_gate(rows: Sequence[PrivateRow], target: float) -> Gate:
    """No run claims more than its budget."""
    most = max((row.epsilon.upper for row in rows), default=float("inf"))
    return Gate(
        "every run within its budget", most <= target,
        f"ε at most {most:.6g} of {target:g} in {len(rows)} rows",
    )  # fmt: skip


def falls_gate(rows: Sequence[PrivateRow]) -> Gate:
    """More records, less excess, from each number of records to the next."""
    ordered = sorted(rows, key=lambda row: row.dataset_size)
    falls = all(two.excess < one.excess for one, two in pairwise(ordered))
    told = ", ".join(f"{row.excess:.2g} at n = {row.dataset_size:,}" for row in ordered)
    return Gate("ReSQue's excess falls as n grows", falls, told)
