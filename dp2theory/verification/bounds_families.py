"""Which reference runs test which theorems, and how a family of runs is carried out.

A family is a way to run the reference code. `FAMILIES` says which theorems each answers; a test
makes sure that it does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bounds.model import Model
from bounds.operators import Conditional, E, Independent, StandardNormal
from bounds.theorem import Theorem
from dp2theory.verification import bounds_convex
from dp2theory.verification.bounds_convex import Case, Family
from dp2theory.verification.bounds_margin import examine
from dp2theory.verification.bounds_setting import Setting, attained
from dp2theory.verification.verify_report import RUNS, Test

#: Family by name, and the theorems that it answers.
FAMILIES: Mapping[str, tuple[Family, tuple[str, ...]]] = {
    "rates": (
        bounds_convex.rates,
        tuple(
            "dp2.master dp2.master.average dp2.master.best dp2.master.down dp2.variation"
            " dp2.variation.cycles dp2.variation.bounded dp2.variation.count"
            " dp2.variation.steps dp2.variation.renewal dp2.W dp2.W.apriori dp2.B"
            " dp2.B.apriori dp2.B.variation dp2.B.tuned dp2.B.metric dp2.gamma.clip"
            " dp2.gamma.damping dp2.noise.bias.dependent".split()
        ),
    ),
    "decaying": (
        bounds_convex.decaying,
        tuple(
            "dp2.A dp2.A.metric dp2.A.norm dp2.A0.decline dp2.closed dp2.first-phase.bound".split()
        ),
    ),
    "uncapped": (bounds_convex.uncapped, ("dp2.A0", "dp2.A0.tail")),
    "common": (
        bounds_convex.common,
        tuple(
            "dp2.C dp2.C.apriori dp2.C.shrink dp2.C.metric dp2.master.common dp2.CTV.any-step"
            " dp2.CTV.chi dp2.CTV".split()
        ),
    ),
    "freeze": (
        bounds_convex.freeze,
        ("dp2.C.freeze", "dp2.CTV.freeze", "dp2.noise.bias.independent"),
    ),
    "plain_sgd": (
        bounds_convex.plain_sgd,
        ("dp2.dp-sgd.any-step", "dp2.dp-sgd", "dp2.noise.average"),
    ),
}
#: What holds by chance, or by the way the code draws: it is not looked for in a sample.
_LAWS = (Conditional, Independent, StandardNormal)


@dataclass(frozen=True)
class Job:
    """A family and the setting that it is run with."""

    family: str
    setting: Setting

    @property
    def ids(self) -> tuple[str, ...]:
        """The theorems that it answers."""
        return FAMILIES[self.family][1]


def jobs(level: str, seed: int) -> list[Job]:
    """What is run at a level, whatever theorems are asked for."""
    plain = Setting(seed=seed)
    bowl = Setting(problem="quadratic", dimension=2, delay=4, noise_multiplier=2.0, seed=seed)
    settings = {
        "rates": [plain, attained(20, 5, seed=seed), attained(7, 2, seed=seed), bowl],
        "decaying": [plain, attained(6, 3, seed=seed)],
        "uncapped": [plain],
        "common": [plain, bowl],
        "freeze": [plain],
        "plain_sgd": [plain, attained(1, 1, seed=seed), bowl],
    }
    if level == "full":
        more = [
            Setting(problem=problem, steps=60, delay=delay, runs=128, dimension=5,
                    noise_multiplier=noise, seed=seed)
            for problem in ("absolute", "huber", "quadratic")
            for delay in (3, 10, 30)
            for noise in (0.5, 4.0)
        ]  # fmt: skip
        settings = {name: [*few, *more] for name, few in settings.items()}
    return [Job(name, each) for name, few in settings.items() for each in few]


def perform(job: Job, theorems: Mapping[str, Theorem]) -> tuple[dict[str, list[Test]], float]:
    """Run a job and evaluate the statements of those theorems that it answers.

    Parameters
    ----------
    job : Job
    theorems : mapping of str to Theorem
        Others are left alone.

    Returns
    -------
    dict of str to list of Test, float
        Tests by theorem, and CPU seconds. A theorem one of whose assumptions the runs do not
        satisfy has a test of count 0, which says so.
    """
    began = time.process_time()
    found: dict[str, list[Test]] = {}
    for case in FAMILIES[job.family][0](job.setting):
        for id in case.ids:
            if id in theorems:
                found.setdefault(id, []).append(_test(theorems[id], case))
    return found, time.process_time() - began


def _test(theorem: Theorem, case: Case) -> Test:
    broken = unsatisfied(theorem, case.model)
    if broken:
        what = f"{case.model.note}: not a model of {', '.join(broken)}"
        return Test(RUNS, what, 0)
    found = examine(theorem, case.model, runs=case.runs)
    return Test(RUNS, case.model.note, case.runs, found.slack, found.interval, found.violation)


def unsatisfied(theorem: Theorem, model: Model) -> tuple[str, ...]:
    """Assumptions that a run breaks, of those that can be seen in a sample.

    Laws (independence, conditional means, normality) and equations between expectations hold by
    the way the code draws, not in a sample of it; an assumption on a process that the run does not
    have (a run that is drawn a second time) is not looked at either.
    """
    broken = []
    for each in theorem.assumptions:
        formula = each.formula
        if formula.atoms(*_LAWS) or (formula.atoms(E) and formula.is_Equality):
            continue
        try:
            holds = model.holds(formula)
        except ValueError:
            continue
        if not holds:
            broken.append(each.id)
    return tuple(broken)


def with_runs(job: Job, runs: int, seed: int) -> Job:
    """The same with another number of runs from other seeds."""
    return replace(job, setting=replace(job.setting, runs=runs, seed=seed))
