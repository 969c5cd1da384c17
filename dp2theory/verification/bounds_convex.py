"""Reference runs on convex problems as models of the convex theorems, family by family.

A family runs a setting once and answers the theorems that speak of such runs, with the model that
their statements are evaluated on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, sqrt
from typing import Any

import numpy as np

from dp2theory.verification.bounds_case import Case
from dp2theory.verification.bounds_setting import (
    CLIPPED,
    Ground,
    Setting,
    Stage,
    base_step,
    ground,
    letters,
    stage,
)
from dp2theory.verification.bounds_trace import COMMON, FREEZE, PLAIN

#: Runs from which on an equation between moments of the noise says something.
MANY = 16


def rates(setting: Setting) -> Iterator[Case]:
    """Two constant learning rates: DP²-RMSProp as it is, in a box."""
    done = stage(setting)
    yield _rates(done)
    if setting.steps > setting.delay:
        yield _updates(done)
    place = done.ground
    known, _ = _rate_letters(done)
    # What holds before the run: D is at most C + nu1/sqrt(s) + eps on average (dp2.B.metric).
    height = place.lipschitz * CLIPPED + done.nu1 / sqrt(setting.delay) + setting.damping
    top = np.full(setting.dimension, height)
    loose = {"D1": setting.dimension * height, "Gam": place.lipschitz**2 / setting.damping}
    costs = _tuned(setting, known | loose, top, place.side)
    again = stage(setting, eta=costs["eta"], place=place)
    values, processes = _rate_letters(again)
    processes["Dup"] = top
    yield Case(("dp2.B.tuned",), again.model(values | loose | costs, processes), setting.runs)


def _rate_letters(done: Stage) -> tuple[dict[str, Any], dict[str, Any]]:
    setting, seen = done.setting, done.traces
    values, processes = letters(done)
    adaptive = seen.adaptive
    processes["a"] = np.where(adaptive, done.eta * setting.ratio, done.eta)
    distance = np.abs(seen.D - 1).mean(axis=-1)
    zero = np.zeros(setting.dimension)
    processes["spread"] = distance[adaptive].max(axis=0) if adaptive.any() else zero
    processes["Dup"] = np.maximum(_metric_means(done), setting.damping)
    average = seen.w[:-1].mean(axis=0)
    problem, everybody = done.ground.problem, np.arange(done.ground.problem.dataset_size)
    losses = [problem.loss(each) for each in average.T]
    slopes = [
        problem.clipped_gradient_sum(each, everybody, clip_norm=np.inf) / problem.dataset_size
        for each in average.T
    ]
    # Staleness as it was: sizes of gradients over that of the preconditioner, c1 + c2 s in all.
    stale = float(np.abs(seen.g).mean(axis=-1).sum(axis=1).max()) / values["D1"]
    values["c1"], values["c2"] = stale / 2, stale / 2 / setting.delay
    processes["slope"] = np.stack(slopes, axis=-1)
    processes["average"] = average
    values["Delta_avg"] = np.array(losses) - done.ground.optimal_value
    return values, processes


def _metric_means(done: Stage) -> Any:
    """Largest mean of D in each coordinate, over the adaptive steps."""
    mean = done.traces.D.mean(axis=-1)[done.traces.adaptive]
    return mean.max(axis=0) if len(mean) else np.ones(done.setting.dimension)


def _rates(done: Stage) -> Case:
    values, processes = _rate_letters(done)
    ids = (
        "dp2.master dp2.master.average dp2.master.best dp2.master.down dp2.variation "
        "dp2.variation.cycles dp2.variation.bounded dp2.variation.count dp2.variation.steps "
        "dp2.variation.renewal dp2.W dp2.W.apriori dp2.B dp2.B.apriori dp2.B.variation "
        "dp2.gamma.clip dp2.gamma.damping dp2.gamma.staleness"
    ).split()
    return Case(tuple(ids), done.model(values, processes), done.setting.runs)


def _tuned(setting: Setting, known: dict[str, Any], top: Any, side: float) -> dict[str, float]:
    """V, G and the best step of theorem B before the run."""
    T, s, d, rho = setting.steps, setting.delay, setting.dimension, setting.ratio
    eps = setting.damping
    renewals = ceil(T / s) // 2
    adaptive = sum((t // s) % 2 for t in range(T))
    cost = abs(eps / rho - 1) + (top - eps) / rho
    V = float((side**2 * (1 + renewals * cost)).sum())
    later = rho * (known["Gam"] + known["nu2"] ** 2 * known["D1"])
    G = float(adaptive * later + (T - adaptive) * (known["C"] ** 2 + d * known["nu1"] ** 2))
    return {"V0": V, "G0": G, "eta": sqrt(V / G)}


def _phase_means(values: Any, setting: Setting) -> Any:
    """Mean over each phase, the last one perhaps shorter: shape (phases, d, runs)."""
    s = setting.delay
    return np.stack([values[at : at + s].mean(axis=0) for at in range(0, setting.steps, s)])


def _updates(done: Stage) -> Case:
    """What is indexed by updates of the preconditioner: averages, their noise, v and D."""
    setting, seen, eps = done.setting, done.traces, done.setting.damping
    whole = setting.steps // setting.delay * setting.delay
    cut = replace(setting, steps=whole)
    noise, mean = (_phase_means(each[:whole], cut)[::2] for each in (seen.N, seen.g))
    # D after k updates is that of the k-th adaptive phase.
    later = seen.D[setting.delay :: 2 * setting.delay]
    D = np.concatenate([np.full_like(mean[:1], eps), later])
    count = min(len(mean), len(D) - 1)
    values, processes = letters(done)
    processes = {
        "X": (mean + noise)[:count],
        "mbar": mean[:count],
        "nbar": noise[:count],
        "D": D[: count + 1],
        "v": (D[: count + 1] - eps) ** 2,
    }
    ids = ("dp2.B.metric", "dp2.noise.bias.dependent")
    return Case(ids, done.model(values, processes), setting.runs)


def decaying(setting: Setting) -> Iterator[Case]:
    """Theorem A: step sizes alpha^phase eta/sqrt(t), second moment below a cap."""
    place = ground(setting)
    C, eps = place.lipschitz, setting.damping
    std = setting.noise_multiplier * C / min(setting.batch_size, place.problem.dataset_size)
    cap = (C + 6 * std / sqrt(setting.delay)) ** 2
    setting = replace(setting, decay=min(eps, 1 / (sqrt(cap) + eps)))
    done = stage(setting, decaying=True, place=place)
    values, processes = _schedule_letters(done)
    values["M"] = cap
    ids = "dp2.A dp2.A.metric dp2.A.norm dp2.closed dp2.first-phase.bound".split()
    yield Case(tuple(ids), done.model(values, processes), setting.runs)
    # The metric over the step size, which never falls (dp2.A.metric), relative to that of step 1.
    relative = done.traces.D * (processes["a"][0] / processes["a"])[:, None, None]
    model = done.model(values, processes | {"Q": relative})
    yield Case(("dp2.variation.monotone",), model, setting.runs)


def uncapped(setting: Setting) -> Iterator[Case]:
    """Theorem A without a cap: alpha clears the second moment by one standard deviation, or none.

    Without a margin the second moment does exceed 1/alpha at times, which its tail speaks of.
    """
    setting = replace(setting, damping=max(setting.damping, 0.8))
    place = ground(setting)
    C, eps = place.lipschitz * CLIPPED, setting.damping
    nu1 = setting.noise_multiplier * C / min(setting.batch_size, place.problem.dataset_size)
    average = nu1 / sqrt(setting.delay)
    lip = average * sqrt(1 - setting.ema)
    for margin in (1.0, 0.0):
        alpha = 1 / (place.lipschitz + eps + lip * margin + average)
        if alpha <= eps:
            yield _uncapped(replace(setting, decay=alpha), place, average, lip, margin)


def _uncapped(setting: Setting, place: Ground, average: float, lip: float, margin: float) -> Case:
    done = stage(setting, decaying=True, place=place)
    values, processes = _schedule_letters(done)
    s = setting.delay
    cut = replace(setting, steps=setting.steps // s * s)
    noise = _phase_means(done.traces.N[: cut.steps], cut)[::2]
    raw = _phase_means(done.traces.g[: cut.steps], cut)[::2]
    squares = [average**2 * (1 - setting.ema) * (noise[0] / average) ** 2]
    for each in noise[1:]:
        squares.append(setting.ema * squares[-1] + (1 - setting.ema) * each**2)
    processes |= {"zbar": noise / average, "xbar": raw, "ynorm": np.sqrt(np.stack(squares))}
    values |= {"lip": lip, "margin": margin}
    return Case(
        ("dp2.A0", "dp2.A0.decline", "dp2.A0.tail"), done.model(values, processes), setting.runs
    )


def _schedule_letters(done: Stage) -> tuple[dict[str, Any], dict[str, Any]]:
    setting, seen = done.setting, done.traces
    values, processes = letters(done)
    steps = np.arange(setting.steps)
    phases = steps // setting.delay
    processes["a"] = done.eta * setting.decay**phases / np.sqrt(steps + 1)
    firsts = seen.D[:: setting.delay]
    odd = (np.arange(len(firsts)) % 2 == 1)[:, None, None]
    processes["v"] = np.where(odd, (firsts - setting.damping) ** 2, 0.0)
    return values, processes


def common(setting: Setting) -> Iterator[Case]:
    """Theorems C and C-TV: the preconditioner divides in collection steps, too."""
    if setting.ema:  # alpha = sqrt(ema) > 0
        falling = stage(replace(setting, decay=sqrt(setting.ema)), COMMON, decaying=True)
        values, processes = _metric_letters(falling)
        ids = ("dp2.C", "dp2.C.apriori", "dp2.C.shrink", "dp2.C.metric", "dp2.master.common")
        yield Case(ids, falling.model(values, processes), setting.runs)
    steady = stage(replace(setting, decay=1.0), COMMON, decaying=True)
    values, processes = _metric_letters(steady)
    steadily = ("dp2.CTV.any-step", "dp2.master.common", "dp2.C.shrink")
    yield Case(steadily, steady.model(values, processes), setting.runs)
    released = np.abs(processes["X"]).mean(axis=-1).sum(axis=1)
    changed = {"chi": sqrt(1 - setting.ema), "D1": float(released.max())}
    yield Case(("dp2.CTV.chi",), steady.model(values | changed, processes), setting.runs)
    loose = {name: 1.25 * values[name] for name in ("D1", "Gam", "Gc")}
    costs = _common_costs(setting, values | loose)
    tuned = stage(
        replace(setting, decay=1.0), COMMON, decaying=True, eta=costs["eta"], place=steady.ground
    )
    values, processes = _metric_letters(tuned)
    chi = {"chi": values["chi"] * values["D1"] / loose["D1"]}
    if chi["chi"] > costs["chi"]:  # the tuned run varies more than the loose constants allow for
        return
    yield Case(("dp2.CTV",), tuned.model(values | loose | costs, processes), setting.runs)


def _common_costs(setting: Setting, known: dict[str, Any]) -> dict[str, float]:
    """V, G and the best step of theorem C-TV."""
    T, s = setting.steps, setting.delay
    adaptive = sum((t // s) % 2 for t in range(T))
    noise = known["nu2"] ** 2 * known["D1"]
    divided = max(noise, known["nu1"] ** 2 * setting.dimension / setting.damping)
    V = known["R"] ** 2 * known["D1"] * (1 + known["chi"] * (ceil(T / s) // 2))
    G = adaptive * (known["Gam"] + noise) + (T - adaptive) * (known["Gc"] + divided)
    return {"V0": V, "G0": G, "eta": sqrt(V / G), "chi": known["chi"]}


def _metric_letters(done: Stage) -> tuple[dict[str, Any], dict[str, Any]]:
    """Letters where one metric is used in all steps, and is renewed at times."""
    setting, seen = done.setting, done.traces
    values, processes = letters(done)
    s, T = setting.delay, setting.steps
    released = seen.g + seen.N
    steps = np.arange(T)
    X = np.stack([released[t - t % s : t + 1].mean(axis=0) for t in range(T)])
    renewed = ((steps + 1) // s % 2 == 1) & (steps // s % 2 == 0)
    updates = np.concatenate([[0], np.cumsum(renewed)[:-1]])
    norms = seen.D.sum(axis=1).mean(axis=-1)
    moments = (seen.g**2 / seen.D).sum(axis=1).mean(axis=-1)
    rises = np.maximum(np.diff(seen.D, axis=0), 0).sum(axis=1).mean(axis=-1)
    processes |= {
        "X": X,
        "v": (seen.D - setting.damping) ** 2,
        "renew": renewed.astype(float),
        "upd": updates.astype(float),
        "a": done.eta * setting.decay**updates,
    }
    size = float(norms.max())
    chi = float(rises.max(initial=0.0)) / size
    return values | {"D1": size, "Gam": float(moments.max()), "chi": chi}, processes


def freeze(setting: Setting) -> Iterator[Case]:
    """Theorems C and C-TV when collection steps do not move; steps that move are counted."""
    root = sqrt(setting.ema)
    for decay, id in ((root, "dp2.C.freeze"), (1.0, "dp2.CTV.freeze")):
        changed = replace(setting, decay=decay)
        if setting.steps <= setting.delay or not decay:
            continue  # nothing moves, or not for long
        first = stage(changed, FREEZE, decaying=True)
        values, processes = _frozen_letters(first)
        if id == "dp2.C.freeze":
            yield Case((id,), first.model(values, processes), setting.runs)
            continue
        loose = {name: 1.25 * values[name] for name in ("D1", "Gam")} | {"chi": values["chi"]}
        moment = loose["Gam"] + loose["D1"] * values["nu2"] ** 2
        last = (values["Tm"] - 1) // setting.delay
        V = loose["D1"] * values["R"] ** 2 * (1 + loose["chi"] * last)
        eta = sqrt(V / (values["Tm"] * moment))
        tuned = stage(changed, FREEZE, decaying=True, eta=eta, place=first.ground)
        values, processes = _frozen_letters(tuned)
        yield Case((id,), tuned.model(values | loose | {"eta": eta}, processes), setting.runs)
    if setting.runs < MANY:
        return
    still = stage(setting, FREEZE)
    average = _phase_means(still.traces.g[: setting.delay], replace(setting, steps=setting.delay))
    noise = _phase_means(still.traces.N[: setting.delay], replace(setting, steps=setting.delay))
    values, _ = letters(still)
    processes = {"X": average + noise, "mbar": average, "nbar": noise}
    ids = ("dp2.noise.bias.independent",)
    yield Case(ids, still.model(values, processes), setting.runs)


def _frozen_letters(done: Stage) -> tuple[dict[str, Any], dict[str, Any]]:
    setting, seen = done.setting, done.traces
    values, processes = _metric_letters(done)
    moving = seen.adaptive
    count = int(moving.sum())
    last = np.concatenate([seen.w[:-1][moving], seen.w[-1:]])
    D, g = seen.D[moving], seen.g[moving]
    # X at the last moving step of a phase is what the collection phase after it released.
    phases = _phase_means(seen.g + seen.N, setting)[::2]
    X = np.stack([phases[min(t // setting.delay + 1, len(phases) - 1)] for t in range(count)])
    rises = np.maximum(np.diff(D, axis=0), 0).sum(axis=1).mean(axis=-1)
    size = float(D.sum(axis=1).mean(axis=-1).max())
    values |= {
        "Tm": count,
        "D1": size,
        "Gam": float((g**2 / D).sum(axis=1).mean(axis=-1).max()),
        "chi": float(rises.max(initial=0.0)) / size,
    }
    processes |= {
        "w": last,
        "g": g,
        "N": seen.N[moving],
        "D": D,
        "X": X,
        "v": (D - setting.damping) ** 2,
        "grad": seen.grad[:-1][moving],
        "gap": seen.gap[:-1][moving],
        "nu": np.full(count, done.nu2),
        "mode": np.ones(count),
    }
    return values, processes


def plain_sgd(setting: Setting) -> Iterator[Case]:
    """DP-SGD: DP²-RMSProp whose first phase is the whole run; any step, and the best one."""
    setting = replace(setting, delay=setting.steps)
    place = ground(setting)
    C, d = place.lipschitz, setting.dimension
    nu1 = (
        setting.noise_multiplier * C * CLIPPED / min(setting.batch_size, place.problem.dataset_size)
    )
    best = place.side * sqrt(d) / (sqrt(setting.steps) * sqrt(C**2 + d * nu1**2))
    for eta, ids in (
        (base_step(setting, place), ("dp2.dp-sgd.any-step",)),
        (best, ("dp2.dp-sgd.any-step", "dp2.dp-sgd")),
    ):
        done = stage(setting, PLAIN, eta=eta, place=place)
        values, processes = letters(done)
        sums = np.concatenate([0 * done.traces.N[:1], np.cumsum(done.traces.N, axis=0)])
        yield Case(ids, done.model(values, processes), setting.runs)
        if setting.runs >= MANY:
            summed = done.model(values, processes | {"S": sums})
            yield Case(("dp2.noise.average",), summed, setting.runs)
