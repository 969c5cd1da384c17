"""Reference runs on smooth losses: the nonconvex theorems, staleness h(s), and averaged noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, log, sqrt
from typing import Any, ClassVar

import numpy as np

from dp2theory.problems.linear import LinearProblem, logistic_sigmoid
from dp2theory.problems.protocol import Array, Constants
from dp2theory.problems.rows import DenseRows
from dp2theory.verification.bounds_case import Case
from dp2theory.verification.bounds_setting import (
    CLIPPED,
    Ground,
    Setting,
    Stage,
    ground,
    letters,
    stage,
)
from dp2theory.verification.verify_report import DRAWS

#: Of (sigmoid(z) - y)^2 with y in {0, 1}: largest slope 2/4, largest curvature 2/16 + 2/(6 sqrt 3).
STEEPEST, MOST_CURVED = 0.5, 0.125 + 1 / (3 * sqrt(3))
#: The privacy budget that the rates are stated at.
DELTA, EPSILON = 1e-5, 1.0


@dataclass(frozen=True)
class SquaredSigmoid:
    """(sigmoid(z) - y)^2 for targets y in {0, 1}: smooth, bounded below by 0, not convex."""

    classifies: ClassVar[bool] = True

    def value(self, predictions: Array, targets: Array) -> Array:
        """See `PointLoss.value`."""
        return np.asarray((logistic_sigmoid(predictions) - targets) ** 2)

    def derivative(self, predictions: Array, targets: Array) -> Array:
        """See `PointLoss.derivative`."""
        at = logistic_sigmoid(predictions)
        return np.asarray(2 * (at - targets) * at * (1 - at))


def wave(setting: Setting) -> Ground:
    """A classification by `SquaredSigmoid` with rows of length 1, without a box."""
    rng = np.random.default_rng([setting.seed, 7])
    n, d = setting.records, setting.dimension
    rows = rng.standard_normal((n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    targets = (rows @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0).astype(float)
    known = Constants(lipschitz=STEEPEST, smoothness=MOST_CURVED)
    problem = LinearProblem(
        "squared-sigmoid", {"train": DenseRows(rows)}, {"train": targets}, SquaredSigmoid(),
        known, convex=False,
    )  # fmt: skip
    start = 2 * rng.standard_normal(d)
    # 0 is below every loss, so that what is called the gap is one from above.
    return Ground(problem, -inf, inf, start, start, STEEPEST, MOST_CURVED, 0.0)


def nonconvex(setting: Setting) -> Iterator[Case]:
    """DP²-RMSProp without a box on a nonconvex loss, or on a bowl on which the bound is attained.

    With damping 1 the noise has one standard deviation in both phases, as the rates ask for.
    """
    bowl = setting.problem == "quadratic"
    setting = setting if bowl else replace(setting, problem="squared-sigmoid")
    place = ground(setting) if bowl else wave(setting)
    place = replace(place, low=-inf, high=inf)
    L, eps = float(place.smoothness or 0.0), setting.damping
    done = stage(setting, eta=min(1.0, eps) / L, place=place)
    if bowl and _clips(done):
        return  # what is clipped is biased
    values, processes = _smooth_letters(done)
    ids = ["dp2.nonconvex", "dp2.nonconvex.l1"]
    yield Case(tuple(ids), done.model(values, processes), setting.runs)
    if eps != 1.0 or bowl:
        return
    T, n, long = setting.steps, place.problem.dataset_size, log(1 / DELTA)
    values |= {
        "C": place.lipschitz * CLIPPED,
        "nu2": done.nu1,
        "n": n,
        "eps_dp": EPSILON,
        "delta": DELTA,
        "alpha0": done.eta * sqrt(setting.dimension),
        "c_s": setting.noise_multiplier**2 * (EPSILON * n) ** 2 / (T * values["b"] ** 2 * long),
    }
    processes["nu"] = np.full(T, done.nu1)
    for id, power in (("dp2.nonconvex.rate", 1.0), ("dp2.nonconvex.rate.short", 0.5)):
        share = {"c_T": T * long**power / (n * EPSILON)}
        yield Case((id,), done.model(values | share, processes), setting.runs)


def _clips(done: Stage) -> bool:
    """Whether a bowl has gradients beyond the clip norm, out where noise took the iterate."""
    problem: Any = done.ground.problem
    away = done.traces.w[None] - problem.centres[:, None, :, None]
    sizes = np.linalg.norm(away * problem.curvatures[:, None], axis=2)
    return bool(sizes.max() > done.ground.lipschitz * CLIPPED)


def _smooth_letters(done: Stage) -> tuple[dict[str, Any], dict[str, Any]]:
    seen = done.traces
    values, processes = letters(done)
    error = ((seen.g - seen.grad[:-1]) ** 2).sum(axis=1).mean(axis=-1)
    values |= {
        "L": done.ground.smoothness,
        "tau_g": sqrt(float(error.max()) * values["b"]),
        "gap1": float(seen.gap[0].mean()),
        "Tad": float(seen.adaptive.sum()),
    }
    for name in ("Rj", "lower", "wstar"):
        del processes[name]
    return values, processes


def staleness(setting: Setting) -> Iterator[Case]:
    """h(s) on a smooth convex loss in a box: its definition and its bounds."""
    s = setting.delay
    setting = replace(setting, steps=max(1, setting.steps // (2 * s)) * 2 * s)
    done = stage(setting)
    seen = done.traces
    values, processes = _smooth_letters(done)
    released = (seen.g + seen.N).reshape(-1, 2, s, setting.dimension, setting.runs)
    X = released[:, 0].mean(axis=1)
    below = np.abs(X).mean(axis=-1).sum(axis=1) + setting.dimension * setting.damping
    sizes = np.abs(seen.g).mean(axis=-1).sum(axis=1).reshape(-1, 2, s)[:, 1]
    ratios = sizes / below[:, None]
    k, i = np.unravel_index(int(ratios.argmax()), ratios.shape)
    clips = np.sqrt(((seen.g / seen.D) ** 2).sum(axis=1).mean(axis=-1))
    rates = np.where(seen.adaptive, done.eta * setting.ratio, done.eta)
    values |= {
        "h": float(ratios.max()),
        "k0": int(k) + 1,
        "i0": int(i) + 1,
        "a1": done.eta,
        "a2": done.eta * setting.ratio,
    }
    processes |= {"X": X, "a": rates, "clip": clips}
    ids = ("dp2.h.definition", "dp2.h.saturation", "dp2.h.linear")
    yield Case(ids, done.model(values, processes), setting.runs)


def averaged(setting: Setting) -> Iterator[Case]:
    """One SGD phase without a box on a bowl: the square of its average, and its noise."""
    setting = replace(setting, problem="quadratic", steps=setting.delay)
    place = replace(ground(setting), low=-inf, high=inf)
    done = stage(setting, eta=1 / float(place.smoothness or 1.0), place=place)
    values, processes = _smooth_letters(done)
    noise = done.traces.N
    sums = np.concatenate([0 * noise[:1], np.cumsum(noise, axis=0)])
    yield Case(
        ("dp2.noise.bias", "dp2.noise.average"),
        done.model(values, processes | {"S": sums}),
        setting.runs,
    )
    std = done.nu1 / sqrt(setting.delay)
    draws = (noise.mean(axis=0) / std).ravel()
    means = np.array([0.0, 0.5, 1.5, -3.0]) * std
    model = done.model({"tau": std, "d": len(means)}, {"Z": draws, "m": means})
    ids = ("dp2.h.bounds", "dp2.h.folded-normal", "dp2.noise.clamped", "dp2.noise.clamped.zero")
    yield Case(ids, model, draws.size, DRAWS)
