"""Which reference runs test which theorems, and how a family of runs is carried out.

A family is a way to run the reference code. `FAMILIES` says which theorems each answers; a test
makes sure that it does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

from bounds.model import Model
from bounds.operators import Conditional, E, Independent, StandardNormal
from bounds.theorem import Theorem
from dp2theory.resque.drift import INSTANCES
from dp2theory.verification import bounds_balls, bounds_convex, bounds_draws, bounds_smooth
from dp2theory.verification.bounds_balls import Ball, Drift, Subproblem
from dp2theory.verification.bounds_case import Case, Family
from dp2theory.verification.bounds_draws import Pool
from dp2theory.verification.bounds_margin import examine
from dp2theory.verification.bounds_setting import SLOPE, Setting, attained
from dp2theory.verification.verify_report import Test

#: Family by name, and the theorems that it answers.
FAMILIES: Mapping[str, tuple[Family, tuple[str, ...]]] = {
    "rates": (
        bounds_convex.rates,
        tuple(
            "dp2.master dp2.master.average dp2.master.best dp2.master.down dp2.variation"
            " dp2.variation.cycles dp2.variation.bounded dp2.variation.count"
            " dp2.variation.steps dp2.variation.renewal dp2.W dp2.W.apriori dp2.B"
            " dp2.B.apriori dp2.B.variation dp2.B.tuned dp2.B.metric dp2.gamma.clip"
            " dp2.gamma.damping dp2.gamma.staleness dp2.noise.bias.dependent".split()
        ),
    ),
    "decaying": (
        bounds_convex.decaying,
        tuple(
            "dp2.A dp2.A.metric dp2.A.norm dp2.closed dp2.first-phase.bound"
            " dp2.variation.monotone".split()
        ),
    ),
    "uncapped": (bounds_convex.uncapped, ("dp2.A0", "dp2.A0.decline", "dp2.A0.tail")),
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
    "nonconvex": (
        bounds_smooth.nonconvex,
        tuple("dp2.nonconvex dp2.nonconvex.l1 dp2.nonconvex.rate dp2.nonconvex.rate.short".split()),
    ),
    "staleness": (
        bounds_smooth.staleness,
        ("dp2.h.definition", "dp2.h.saturation", "dp2.h.linear"),
    ),
    "averaged": (
        bounds_smooth.averaged,
        tuple(
            "dp2.noise.bias dp2.noise.average dp2.h.bounds dp2.h.folded-normal"
            " dp2.noise.clamped dp2.noise.clamped.zero".split()
        ),
    ),
    "estimator": (
        bounds_draws.estimator,
        tuple(
            "resque.E1 resque.E2 resque.E3 resque.E3.difference resque.E3.orders resque.E4"
            " resque.E5 resque.E6 resque.E6.sharp-2 resque.E6.sharp-4 resque.E7"
            " resque.F1.norm".split()
        ),
    ),
    "smoothing": (
        bounds_draws.smoothing,
        tuple(
            "resque.F1 resque.F2 resque.F3 resque.F3.tight resque.F4 resque.F4.tight resque.F5"
            " resque.F5.gradient".split()
        ),
    ),
    "ball": (
        bounds_balls.ball,
        tuple(
            "resque.ball.potential resque.ball.sum resque.ball.count resque.ball.floor"
            " resque.ball.free".split()
        ),
    ),
    "drift": (
        bounds_balls.drift,
        ("resque.drift", "resque.drift.orders", "resque.drift.powers"),
    ),
    "solver": (bounds_balls.solver, ("resque.parallel.solver",)),
}
#: Families that take any convex loss.
_OF_LOSSES = ("rates", "decaying", "uncapped", "common", "freeze", "plain_sgd")
#: What holds by chance, or by the way the code draws: it is not looked for in a sample.
_LAWS = (Conditional, Independent, StandardNormal)


@dataclass(frozen=True)
class Job:
    """A family and the setting that it is run with."""

    family: str
    setting: Any

    @property
    def ids(self) -> tuple[str, ...]:
        """The theorems that it answers."""
        return FAMILIES[self.family][1]


def jobs(level: str, seed: int) -> list[Job]:
    """What is run at a level, whatever theorems are asked for."""
    plain = Setting(seed=seed)
    bowl = Setting(problem="quadratic", dimension=2, delay=4, noise_multiplier=2.0, seed=seed)
    smooth = Setting(problem="huber", delay=3, seed=seed)
    single = Setting(problem="quadratic", dimension=1, records=1, batch_size=1, steps=5, delay=5,
                     noise_multiplier=1e-13, damping=1.0, runs=2, seed=seed)  # fmt: skip
    # One step across the box, where the bounds with weights, with decay or with one metric are
    # attained; and where only the second step moves.
    once = attained(1, 1, seed=seed)
    ema = 0.25
    metric = SLOPE * sqrt(1 - ema) + once.damping
    second = replace(attained(2, 1, seed=seed), ema=ema, rate=sqrt(2 / ema) * metric)
    # Steps across the whole box, and noise that is most of them in one phase or in the other:
    # without what it costs no bound would hold.
    far = replace(attained(32, 16, seed=seed), ema=0.3, rate=1.0, ratio=1.0, runs=32)
    loud = replace(far, delay=32, noise_multiplier=5.0, damping=2.0)
    shaky = replace(far, noise_multiplier=0.5, damping=0.1)
    # Half way to the minimum, then next to no steps: what a metric that rises costs.
    stuck = replace(attained(24, 8, seed=seed), rate=sqrt(24) / 16, ratio=1e-3)
    heavy = replace(stuck, damping=0.05, rate=0.05 * stuck.rate, ratio=1.0, ema=0.25)
    # Long runs around a minimum: by noise, by the choice of records, by noise in adaptive steps.
    around = replace(single, steps=48, delay=48, noise_multiplier=0.2, runs=32)
    chosen = replace(around, records=32, noise_multiplier=1e-13)
    adaptive = replace(around, delay=1, noise_multiplier=0.05, damping=0.1)
    # Gradients as long as they can be, and noise: second moments beyond every mean.
    steep = replace(attained(8, 2, seed=seed), noise_multiplier=1.0, damping=1.0, rate=0.01,
                    ema=0.05, runs=32)  # fmt: skip
    settings: dict[str, list[Any]] = {
        "rates": [
            plain,
            attained(20, 5, seed=seed),
            attained(7, 2, seed=seed),
            once,
            bowl,
            loud,
            shaky,
            stuck,
        ],
        "decaying": [plain, attained(6, 3, seed=seed), once, loud],
        "uncapped": [plain, steep],
        "common": [plain, replace(once, rate=once.damping, ema=0.25), bowl, loud, shaky, heavy],
        "freeze": [plain, second, shaky],
        "plain_sgd": [plain, once, bowl, loud],
        "nonconvex": [plain, replace(plain, damping=1.0), single, around, chosen, adaptive],
        "staleness": [smooth, bowl],
        "averaged": [replace(bowl, delay=8, runs=256)],
        "estimator": [Pool(seed=seed), Pool(order=4, distance=0.2, seed=seed)],
        "smoothing": [Pool(seed=seed), Pool(dimension=3, distance=2.0, smoothing=1.0, seed=seed)],
        "ball": [Ball(name) for name in bounds_balls.FUNCTIONS],
        "drift": [Drift(kind, seed=seed) for kind in INSTANCES],
        "solver": [Subproblem(seed=seed)],
    }
    if level == "full":
        for name, more in _further(seed).items():
            settings[name] += more
    return [Job(name, each) for name, few in settings.items() for each in few]


def _further(seed: int) -> dict[str, list[Any]]:
    """What only a full call runs."""
    long = [
        Setting(problem=problem, steps=60, delay=delay, runs=128, dimension=5,
                noise_multiplier=noise, seed=seed)
        for problem in ("absolute", "huber", "quadratic")
        for delay in (3, 10, 30)
        for noise in (0.5, 4.0)
    ]  # fmt: skip
    smooth = [each for each in long if each.problem != "absolute"]
    pools = [
        Pool(d, 200_000, order=order, distance=far, seed=seed + 1)
        for d in (3, 10)
        for order, far in ((2, 0.2), (2, 0.8), (3, 0.3), (4, 0.25))
    ]
    return {
        **{name: list(long) for name in _OF_LOSSES},
        "nonconvex": [replace(each, damping=damping) for each in long for damping in (0.3, 1.0)],
        "staleness": list(smooth),
        "averaged": [replace(each, runs=2000) for each in smooth if each.delay <= 10],
        "estimator": list(pools),
        "smoothing": list(pools),
        "ball": [
            Ball(name, 40, radius, accuracy)
            for name in bounds_balls.FUNCTIONS
            for radius in (0.02, 0.3)
            for accuracy in (0.1, 0.001)
        ],
        "drift": [
            Drift(kind, steps, 20_000, ratio, seed)
            for kind in INSTANCES
            for steps in (4, 64)
            for ratio in (0.05, 0.7)
        ],
        "solver": [Subproblem(d, 256, seed=seed) for d in (1, 8)],
    }


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
                found.setdefault(id, []).append(examined(theorems[id], case))
    return found, time.process_time() - began


def examined(theorem: Theorem, case: Case) -> Test:
    """A theorem on one case; a count of 0 where the case is no model of it."""
    if case.model is None:
        assert case.check is not None
        found = case.check(theorem)
        return Test(case.on, case.note, case.runs, found.slack, found.interval, found.violation)
    broken = unsatisfied(theorem, case.model)
    if broken:
        what = f"{case.model.note}: not a model of {', '.join(broken)}"
        return Test(case.on, what, 0)
    found = examine(theorem, case.model, runs=case.runs if case.by_chance else 0)
    return Test(case.on, case.model.note, case.runs, found.slack, found.interval, found.violation)


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
