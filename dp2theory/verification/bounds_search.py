"""Searching the settings of reference runs for instances on which a bound is close to failing.

Random restarts and local moves: some settings are drawn, then the best one so far of each theorem
in turn is moved a little. Slacks of a search are estimates from few runs, and the smallest of many
estimates is too small; the instance that is found is therefore run again, more often and from
other seeds, and only that counts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

import numpy as np

from bounds.theorem import Theorem
from dp2theory.resque.drift import INSTANCES
from dp2theory.verification.bounds_balls import FUNCTIONS, Ball, Drift, Subproblem
from dp2theory.verification.bounds_draws import TAME, Pool
from dp2theory.verification.bounds_families import FAMILIES, Job, perform, unsatisfied
from dp2theory.verification.bounds_margin import examine
from dp2theory.verification.bounds_setting import Setting, attained
from dp2theory.verification.verify_report import Test

#: Share of the budget that is spent on random settings before the moves; hand-chosen.
RANDOM = 0.4
#: How far a move goes, on a logarithmic scale; hand-chosen.
STRIDE = 0.4


@dataclass(frozen=True)
class Space:
    """Settings that are searched; all ranges are hand-chosen.

    Attributes
    ----------
    starts : sequence
        Settings that others are made from, by changing their numbers.
    reals : mapping of str to (float, float)
        Ranges on a logarithmic scale.
    wholes : mapping of str to (int, int)
        Ranges of whole numbers.
    sample : str
        The field that says how many runs or draws there are.
    few, many : int
        How many during the search, and for the one that it found, in a quick call.
    """

    starts: Sequence[Any]
    reals: Mapping[str, tuple[float, float]]
    wholes: Mapping[str, tuple[int, int]]
    sample: str = "runs"
    few: int = 8
    many: int = 32


_LOSSES = Space(
    [Setting(problem, records=32) for problem in ("absolute", "huber", "quadratic")]
    + [replace(attained(6, 2), noise_multiplier=0.1)],
    {
        "noise_multiplier": (1e-6, 4.0),
        "damping": (0.1, 3.0),
        "rate": (0.02, 4.0),
        "ratio": (0.2, 4.0),
        "ema": (0.02, 0.95),
    },
    {"steps": (1, 24), "delay": (1, 24), "dimension": (1, 4), "batch_size": (1, 16)},
)
#: What is searched, by family; the other families hold at every setting by equations.
SPACES: Mapping[str, Space] = {
    **dict.fromkeys(("rates", "common", "freeze", "plain_sgd", "decaying"), _LOSSES),
    "nonconvex": _LOSSES,
    "staleness": replace(_LOSSES, starts=_LOSSES.starts[1:3]),
    "estimator": Space(
        [Pool(order=2), Pool(order=3), Pool(order=4)],
        {"distance": (0.02, 0.5), "smoothing": (0.05, 2.0)},
        {"dimension": (3, 8)},
        sample="size",
        few=2000,
        many=20_000,
    ),
    "ball": Space(
        [Ball(name) for name in FUNCTIONS],
        {"radius": (0.02, 1.0), "accuracy": (1e-3, 0.3)},
        {"dimension": (1, 32)},
        sample="",
    ),
    "drift": Space(
        [Drift(kind) for kind in INSTANCES],
        {"ratio": (0.01, 0.7)},
        {"steps": (1, 32)},
        sample="paths",
        few=300,
        many=3000,
    ),
    "solver": Space(
        [Subproblem()],
        {"multiplier": (1.0, 20.0), "radius": (0.1, 0.4)},
        {"dimension": (1, 6)},
        few=8,
        many=64,
    ),
}
#: Families of settings in which bad instances are looked for.
SEARCHED = tuple(SPACES)


@dataclass
class _Best:
    slack: float = float("inf")
    setting: Any = None
    tried: int = 0


def sharpen(
    family: str,
    theorems: Mapping[str, Theorem],
    *,
    seed: int,
    budget: int,
    effort: int = 1,
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
    effort : int
        By how much more runs the best setting of each theorem is confirmed than in a quick call.

    Returns
    -------
    dict of str to list of Test, float
        The confirmed instances by theorem, and CPU seconds.
    """
    began = time.process_time()
    make, covered = FAMILIES[family]
    space = SPACES[family]
    wanted = {id: theorems[id] for id in covered if id in theorems}
    best = {id: _Best() for id in wanted}
    rng = np.random.default_rng([seed, list(FAMILIES).index(family)])
    queue = list(wanted)
    for trial in range(budget if wanted else 0):
        old = best[queue[trial % len(queue)]].setting
        fresh = old is None or trial < RANDOM * budget
        setting = random_setting(space, rng) if fresh else moved(space, old, rng)
        setting = _sized(space, setting, space.few, seed)
        for case in make(setting):
            for id in case.ids if case.model is not None else ():
                assert case.model is not None
                if id not in wanted or unsatisfied(wanted[id], case.model):
                    continue
                best[id].tried += 1
                found = examine(wanted[id], case.model)
                if found.slack is not None and found.slack < best[id].slack:
                    best[id].slack, best[id].setting = found.slack, setting
    return _confirmed(family, wanted, best, seed + 1, effort), time.process_time() - began


def _confirmed(
    family: str, wanted: Mapping[str, Theorem], best: Mapping[str, _Best], seed: int, effort: int
) -> dict[str, list[Test]]:
    space = SPACES[family]
    by_setting: dict[Any, list[str]] = {}
    for id, each in best.items():
        if each.setting is not None:
            by_setting.setdefault(each.setting, []).append(id)
    tests: dict[str, list[Test]] = {}
    for setting, ids in by_setting.items():
        again = Job(family, _sized(space, setting, effort * space.many, seed))
        found, _ = perform(again, {id: wanted[id] for id in ids})
        for id, results in found.items():
            tests[id] = [
                replace(each, what=f"found by search: {each.what}", searched=best[id].tried)
                for each in results
            ]
    return tests


def _sized(space: Space, setting: Any, count: int, seed: int) -> Any:
    """The setting with another number of runs, from other seeds, where it has any."""
    return replace(setting, **{space.sample: count}, seed=seed) if space.sample else setting


def random_setting(space: Space, rng: np.random.Generator) -> Any:
    """A setting from all over the ranges."""
    start = space.starts[int(rng.integers(len(space.starts)))]
    changed: dict[str, Any] = {
        name: exp(rng.uniform(log(low), log(high))) for name, (low, high) in space.reals.items()
    }
    for name, (low, high) in space.wholes.items():
        changed[name] = int(rng.integers(low, high + 1))
    return _allowed(start, changed)


def moved(space: Space, setting: Any, rng: np.random.Generator) -> Any:
    """A setting near another: one or two of its numbers are changed."""
    changed: dict[str, Any] = {}
    for name in rng.choice([*space.reals, *space.wholes], size=int(rng.integers(1, 3))):
        value = getattr(setting, name)
        if name in space.reals:
            low, high = space.reals[name]
            changed[name] = min(max(value * exp(rng.normal() * STRIDE), low), high)
        else:
            first, last = space.wholes[name]
            changed[name] = min(max(value + int(rng.integers(-3, 4)), first), last)
    return _allowed(setting, changed)


def _allowed(setting: Any, changed: dict[str, Any]) -> Any:
    """The setting with changes, but for those that it does not admit."""
    if isinstance(setting, Setting):
        if setting.problem == "slope":  # one record in one dimension
            for name in ("dimension", "batch_size"):
                changed.pop(name, None)
        steps = changed.get("steps", setting.steps)
        changed["delay"] = min(changed.get("delay", setting.delay), steps)
    if isinstance(setting, Pool):
        far = changed.get("distance", setting.distance)
        changed["distance"] = min(far, TAME / setting.power)
    return replace(setting, **changed)
