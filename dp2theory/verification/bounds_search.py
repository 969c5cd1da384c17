"""Searching the settings of reference runs for instances on which a bound is close to failing.

Random restarts and local moves: some settings are drawn, then the best one so far of each theorem
in turn is moved a little. Slacks of a search are estimates from few runs, and the smallest of many
estimates is too small; the instance that is found is therefore run again, more often and from
other seeds, and only that counts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp, log

import numpy as np

from bounds.theorem import Theorem
from dp2theory.verification.bounds_families import FAMILIES, Job, perform, unsatisfied
from dp2theory.verification.bounds_margin import examine
from dp2theory.verification.bounds_setting import PROBLEMS, Setting
from dp2theory.verification.verify_report import Test

#: Runs of an instance during the search; hand-chosen.
RUNS_OF_TRIAL = 8
#: Share of the budget that is spent on random settings before the moves; hand-chosen.
RANDOM = 0.4
#: Ranges of the settings, on a logarithmic scale; hand-chosen.
RANGES: Mapping[str, tuple[float, float]] = {
    "noise_multiplier": (1e-6, 4.0),
    "damping": (0.1, 3.0),
    "rate": (0.02, 4.0),
    "ratio": (0.2, 4.0),
}
LONGEST, WIDEST = 24, 4
#: Families in which settings are searched; theorem A's are too loose for it to tell anything.
SEARCHED = ("rates", "common", "freeze", "plain_sgd", "decaying")


@dataclass
class _Best:
    slack: float = float("inf")
    setting: Setting | None = None
    tried: int = 0
    places: list[Setting] = field(default_factory=list)


def sharpen(
    family: str,
    theorems: Mapping[str, Theorem],
    *,
    seed: int,
    budget: int,
    runs: int,
) -> tuple[dict[str, list[Test]], float]:
    """Look for settings with a small slack.

    Parameters
    ----------
    family : str
        A key of `FAMILIES`.
    theorems : mapping of str to Theorem
        Those to look for; others than the family answers are left alone.
    seed : int
    budget : int
        Settings to try.
    runs : int
        Runs by which the best setting of each theorem is confirmed.

    Returns
    -------
    dict of str to list of Test, float
        The confirmed instances by theorem, and CPU seconds.
    """
    began = time.process_time()
    make, covered = FAMILIES[family]
    wanted = {id: theorems[id] for id in covered if id in theorems}
    best = {id: _Best() for id in wanted}
    rng = np.random.default_rng([seed, list(FAMILIES).index(family)])
    queue = list(wanted)
    for trial in range(budget if wanted else 0):
        old = best[queue[trial % len(queue)]].setting
        fresh = old is None or trial < RANDOM * budget
        setting = random_setting(rng) if fresh or old is None else moved(old, rng)
        setting = replace(setting, runs=RUNS_OF_TRIAL, seed=seed)
        for case in make(setting):
            for id in case.ids if case.model is not None else ():
                assert case.model is not None
                if id not in wanted or unsatisfied(wanted[id], case.model):
                    continue
                best[id].tried += 1
                found = examine(wanted[id], case.model)
                if found.slack is not None and found.slack < best[id].slack:
                    best[id].slack, best[id].setting = found.slack, setting
    return _confirmed(family, wanted, best, seed, runs), time.process_time() - began


def _confirmed(
    family: str, wanted: Mapping[str, Theorem], best: Mapping[str, _Best], seed: int, runs: int
) -> dict[str, list[Test]]:
    by_setting: dict[Setting, list[str]] = {}
    for id, each in best.items():
        if each.setting is not None:
            by_setting.setdefault(each.setting, []).append(id)
    tests: dict[str, list[Test]] = {}
    for setting, ids in by_setting.items():
        again = Job(family, replace(setting, runs=runs, seed=seed + 1))
        found, _ = perform(again, {id: wanted[id] for id in ids})
        for id, results in found.items():
            tests[id] = [
                replace(each, what=f"found by search: {each.what}", searched=best[id].tried)
                for each in results
            ]
    return tests


def random_setting(rng: np.random.Generator) -> Setting:
    """A setting from all over the ranges; |w| in one dimension is a problem like the others."""
    problem = str(rng.choice(PROBLEMS))
    single = problem == "slope"
    steps = int(rng.integers(1, LONGEST + 1))
    logs = {name: exp(rng.uniform(log(low), log(high))) for name, (low, high) in RANGES.items()}
    return Setting(
        problem=problem,
        dimension=1 if single else int(rng.integers(1, WIDEST + 1)),
        records=1 if single else 32,
        batch_size=1 if single else int(rng.choice([1, 4, 16])),
        steps=steps,
        delay=int(rng.integers(1, steps + 1)),
        ema=float(rng.choice([0.0, 0.25, 0.5, 0.9])),
        noise_multiplier=logs["noise_multiplier"],
        damping=logs["damping"],
        rate=logs["rate"],
        ratio=logs["ratio"],
    )


def moved(setting: Setting, rng: np.random.Generator) -> Setting:
    """A setting near another: one or two of its numbers are changed."""
    names = rng.choice([*RANGES, "steps", "delay", "ema"], size=int(rng.integers(1, 3)))
    for name in names:
        if name in RANGES:
            low, high = RANGES[name]
            near = getattr(setting, name) * exp(rng.normal() * 0.4)
            setting = replace(setting, **{name: min(max(near, low), high)})
        elif name == "ema":
            setting = replace(setting, ema=min(max(setting.ema + rng.normal() * 0.2, 0.0), 0.95))
        else:
            near = getattr(setting, name) + int(rng.integers(-3, 4))
            setting = replace(setting, **{name: min(max(near, 1), LONGEST)})
    return replace(setting, delay=min(setting.delay, setting.steps))
