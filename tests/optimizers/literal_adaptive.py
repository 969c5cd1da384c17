"""Adaptive methods as plain loops: every record clipped by hand, every moment from its history.

Nothing here is recursive where a closed form exists: averages are weighted sums over all gradients
so far, so that a slip in the package's recursions cannot hide in a copy of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dp2theory.problems.protocol import Array, Problem

Settings = dict[str, Any]
Scale = Callable[[list[Array], Settings, float], Array]


def weights(ema: float, count: int) -> Array:
    """(1 - ema) ema^(k-i) for i = 1..k."""
    return (1 - ema) * np.array([ema ** (count - i) for i in range(1, count + 1)])


def rmsprop(history: list[Array], s: Settings, nu: float) -> Array:
    return np.sqrt(weights(s["ema"], len(history)) @ np.square(history))


def adagrad(history: list[Array], s: Settings, nu: float) -> Array:
    return np.sqrt(np.square(history).sum(axis=0))


def adam(history: list[Array], s: Settings, nu: float) -> Array:
    w = weights(s["ema"], len(history))
    return np.sqrt(w @ np.square(history) / w.sum())


def yogi(history: list[Array], s: Settings, nu: float) -> Array:
    v = np.full(history[0].shape, s["initial_second_moment"])
    for g in history:
        for j in range(v.size):  # coordinate by coordinate, as one would by hand
            if v[j] > g[j] ** 2:
                v[j] -= (1 - s["ema"]) * g[j] ** 2
            elif v[j] < g[j] ** 2:
                v[j] += (1 - s["ema"]) * g[j] ** 2
    return np.sqrt(v)


def debiased_accumulator(history: list[Array], s: Settings, nu: float) -> Array:
    squares = np.array([[max(x * x - nu, 0.0) for x in g] for g in history])
    return np.sqrt(weights(s["ema"], len(history)) @ squares)


def debiased_ema(history: list[Array], s: Settings, nu: float) -> Array:
    w = weights(s["ema"], len(history))
    v = w @ np.square(history) - w.sum() * nu
    return np.sqrt(np.where(v > 0, v, 0.0))


def noise_aware(history: list[Array], s: Settings, nu: float) -> Array:
    w = weights(s["ema"], len(history))
    w = w / w.sum()
    floor = s.get("noise_floor", 1.0) * nu
    if s["floor"] == "certainty":
        floor *= np.sqrt(2 * np.sum(w**2))
    v = w @ np.square(history) - nu
    return np.sqrt(np.where(v > floor, v, floor))


def average(history: list[Array], s: Settings, corrected: bool = True) -> Array:
    """The last gradient, or its average over the history where there is a `gradient_ema`."""
    if "gradient_ema" not in s:
        return history[-1]
    w = weights(s["gradient_ema"], len(history))
    return np.asarray(w @ np.array(history) / (w.sum() if corrected else 1.0))


class Releases:
    """Poisson batches and noisy means, drawn in the order of a run."""

    def __init__(self, problem: Problem, q: float, seed: int) -> None:
        self.problem, self.q = problem, q
        self.rng = np.random.Generator(np.random.SFC64(seed))
        self.b = q * problem.dataset_size

    def batch(self) -> Array:
        n = self.problem.dataset_size
        return self.rng.choice(n, self.rng.binomial(n, self.q), replace=False, shuffle=False)

    def mean(
        self, w: Array, batch: Array, clip: float, sigma: float, divisor: Array | None = None
    ) -> Array:
        total = np.zeros(w.size)
        for record in batch:
            g = self.problem.clipped_gradient_sum(w, np.array([record]), clip_norm=np.inf)
            if divisor is not None:
                g = g / divisor
            length = np.linalg.norm(g)
            total += g if length <= clip else g * (clip / length)
        if sigma > 0:
            total = total + sigma * clip * self.rng.standard_normal(w.size)
        return total / self.b


def every_step(
    problem: Problem, scale: Scale, s: Settings, *, q: float, steps: int, seed: int
) -> Array:
    """The plain and the DP form; `s` without noise multiplier is the plain one."""
    releases = Releases(problem, q, seed)
    clip, sigma = s.get("clip_norm", np.inf), s.get("noise_multiplier", 0.0)
    nu = (sigma * clip / releases.b) ** 2 if sigma else 0.0
    w, history = np.zeros(problem.dimension), []
    for _ in range(steps):
        history.append(releases.mean(w, releases.batch(), clip, sigma))
        direction = average(history, s, corrected=scale is not yogi)
        w = w - s["learning_rate"] * direction / (scale(history, s, nu) + s["damping"])
    return w


def delayed(
    problem: Problem,
    scale: Scale,
    s: Settings,
    *,
    q: float,
    steps: int,
    seed: int,
    noise_first: bool = False,
) -> Array:
    """The delayed form, DP² (where `s` has a noise multiplier) and ablation 2."""
    releases = Releases(problem, q, seed)
    sgd = s.get("sgd_steps") or s["delay"]
    cycle = sgd + (s.get("adaptive_steps") or s["delay"])
    clip, sigma = s.get("clip_norm", np.inf), s.get("noise_multiplier", 0.0)
    nu = (sigma * clip / releases.b) ** 2 / sgd if sigma else 0.0
    w = np.zeros(problem.dimension)
    means: list[Array] = []
    phase: list[Array] = []
    divisor = np.ones(problem.dimension)
    for t in range(steps):
        batch = releases.batch()
        if t % cycle == 0:
            phase = []
        if t % cycle == sgd:
            means.append(np.mean(phase, axis=0))
            divisor = scale(means, s, nu) + s["damping"]
            phase = []
        if t % cycle < sgd:
            phase.append(releases.mean(w, batch, clip, sigma))
            w = w - s["learning_rate"] * phase[-1]
            continue
        if noise_first or not sigma:
            phase.append(releases.mean(w, batch, clip, sigma) / divisor)
        else:
            phase.append(releases.mean(w, batch, s["preconditioned_clip_norm"], sigma, divisor))
        w = w - s["adaptive_learning_rate"] * average(phase, s)
    return w


def extra_noise(problem: Problem, s: Settings, *, q: float, steps: int, seed: int) -> Array:
    """Ablation 1."""
    releases = Releases(problem, q, seed)
    sigma, delay = s["noise_multiplier"], s["delay"]
    w, plain = np.zeros(problem.dimension), []
    for t in range(steps):
        batch = releases.batch()
        windows = [np.mean(plain[i : i + delay], axis=0) for i in range(0, t - delay + 1, delay)]
        plain.append(releases.mean(w, batch, s["clip_norm"], sigma))
        if t < delay:
            w = w - s["learning_rate"] * plain[-1]
        else:
            divisor = rmsprop(windows, s, 0.0) + s["damping"]
            second = releases.mean(w, batch, s["preconditioned_clip_norm"], sigma, divisor)
            w = w - s["adaptive_learning_rate"] * second
    return w
