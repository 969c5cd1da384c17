"""Why a theorem is not tested on runs, in words for the table."""

from __future__ import annotations

from collections.abc import Sequence

from dp2theory.verification.verify_report import DRAWS, RUNS, Test

#: By the beginning of an id; the longest that fits counts.
REASONS = {
    "dp2.recalled": "a recalled form, above dp2.closed, which runs test",
    "dp2.relaxed": "a recalled form, above dp2.closed, which runs test",
    "dp2.phi": "on a function of the delay, not on runs",
    "dp2.S1": "on a product of two functions of the delay, not on runs",
    "dp2.S2": "on the bound as a function of the delay, not on runs",
    "dp2.hermite": "on whole numbers, not on runs",
    "dp2.exponent": "on whole numbers, not on runs",
    "dp2.noise.clamped.update": "no reference optimizer clamps the second moment",
    "dp2.noise.order": "on two noise levels, not on runs",
    "dp2.first-phase": "compares two bounds, not runs",
    "dp2.closed.from-A": "compares two bounds, not runs",
    "dp2.h.folded-normal.slopes": "on derivatives of a function, not on runs",
    "dp2.h.bounds.average": "on averages with weights that no reference run has",
    "resque.table": "on exponents of rates, which hold up to constants",
    "resque.private": "on rates, which hold up to constants",
    "resque.parallel": "on numbers of queries up to constants",
    "resque.definitions": "on laws, which a model has exactly and a sample of runs does not",
    "resque.approximate": "on rare events of laws, which a sample of runs does not show",
    "resque.ball.log": "on two numbers, not on runs",
    "resque.drift.binomial": "on two numbers, not on runs",
    "resque.E3.ratio": "on a sequence of numbers, not on draws",
}


def why_not(id: str, tests: Sequence[Test]) -> str:
    """Why there is no run of a theorem, or no test at all; empty when there are runs or draws.

    Models, points and worst cases are none.
    """
    if any(each.count and each.on in (RUNS, DRAWS) for each in tests):
        return ""
    skipped = [each.what for each in tests if not each.count]
    if skipped:
        return skipped[0]
    found = [start for start in REASONS if id == start or id.startswith(start)]
    return REASONS[max(found, key=len)] if found else "no reference run has what it speaks of"
