"""Runs in numbers for the tests of the convex theorems: the update rule, played by itself.

One loss, one start, a box [0, R]; every letter is computed here, not by `bounds`.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from bounds.dp2 import (
    common_constant,
    common_decay,
    common_freeze,
    common_freeze_constant,
    common_metric,
    counts,
    dp_sgd,
    gamma,
    iterates,
    master,
    two_rates,
    two_rates_before,
    two_rates_metric,
    variation,
    weighted,
)
from bounds.dp2.symbols import D1, C, Gam, R, eps, eta, nu1, nu2, rho, s
from bounds.model import Model
from bounds.proof.replay import Report, replay
from bounds.symbols import T, d
from bounds.theorem import Theorem

MODULES = (
    master,
    iterates,
    gamma,
    counts,
    variation,
    dp_sgd,
    weighted,
    two_rates,
    two_rates_before,
    two_rates_metric,
    common_metric,
    common_decay,
    common_freeze,
    common_constant,
    common_freeze_constant,
)
#: The theorems of this part, which cite one another only.
ALL = {each.id: each for module in MODULES for each in module.THEOREMS}
_DONE: dict[str, Report] = {}


def replayed(theorem: Theorem) -> Report:
    """The replay of a theorem; what it cites is checked once in a session."""
    known = theorem is ALL.get(theorem.id)
    if known and theorem.id in _DONE:
        return _DONE[theorem.id]
    report = replay(theorem, theorems=ALL, done=_DONE)
    if known:
        _DONE[theorem.id] = report
    return report


def modes(steps: int, delay: int) -> np.ndarray:
    """0 in DP-SGD steps, 1 in adaptive ones, DP-SGD first."""
    return (np.arange(steps) // delay) % 2


def linear_run(
    steps: int, delay: int, *, slope: float = 0.7, damping: float = 0.3, side: float = 1.3
) -> Model:
    """F = C w on [0, R], no noise, EMA constant 0, rho = C + damping, eta = R/(C T).

    Every inequality of the master inequality and of theorem B is an equality on it.
    """
    mode = modes(steps, delay)
    rate = side / (slope * steps)
    metric = np.where(mode == 1, slope + damping, 1.0)
    sizes = rate * np.where(mode == 1, slope + damping, 1.0)
    w = [side]
    for size, scale in zip(sizes, metric, strict=True):
        w.append(float(np.clip(w[-1] - size * slope / scale, 0, side)))
    path = np.array(w)
    ones = np.ones((steps, 1, 1))
    return Model(
        {
            T: steps,
            s: delay,
            d: 1,
            R: side,
            C: slope,
            eps: damping,
            rho: slope + damping,
            eta: rate,
            nu1: 0.0,
            nu2: 0.0,
            Gam: slope**2 / (slope + damping),
            D1: slope + damping,
        },
        {
            "w": path[:, None, None],
            "g": slope * ones,
            "grad": slope * ones,
            "gap": slope * path[:steps, None],
            "N": 0 * ones,
            "D": metric[:, None, None],
            "mode": mode,
            "a": sizes,
            "nu": np.zeros(steps),
            "omega": np.ones(steps),
            "Rj": np.array([side]),
            "lower": np.zeros(1),
            "wstar": np.zeros(1),
        },
    )


def noisy_run(
    rng: np.random.Generator, steps: int, dimension: int, *, mixed: bool = False, delay: int = 2
) -> Model:
    """|w - w*| with noise +-nu in every outcome, and a preconditioner that looks at the past."""
    count = steps * dimension
    signs = np.array(list(product((-1.0, 1.0), repeat=count))).T.reshape(steps, dimension, -1)
    mode = modes(steps, delay)
    std = rng.integers(1, 9, steps) / 8  # exact in floats: the mean is exactly 0
    N = std[:, None, None] * signs
    slope, best = rng.uniform(0.5, 2.0, dimension), rng.uniform(0.2, 0.8, dimension)
    sizes, weights = rng.uniform(0.05, 0.5, steps), rng.uniform(0.5, 2.0, steps)
    w = [np.full((dimension, signs.shape[-1]), 1.0)]
    gradients, metrics = [], []
    past = np.zeros_like(w[0])
    for t in range(steps):
        scale = np.exp(rng.uniform(-0.7, 0.7, (dimension, 1)) + 0.3 * past)
        g = slope[:, None] * np.sign(w[t] - best[:, None])
        noise = N[t] * (1 / scale if mixed and mode[t] == 0 else 1.0)
        w.append(np.clip(w[t] - sizes[t] * (g / scale + noise), 0.0, 1.0))
        gradients.append(g)
        metrics.append(scale)
        past = past + signs[t]
    path = np.stack(w)
    gap = (slope[:, None] * np.abs(path[:steps] - best[:, None])).sum(axis=1)
    known: dict[str, Any] = {
        "w": path,
        "g": np.stack(gradients),
        "grad": np.stack(gradients),
        "gap": gap,
        "N": N,
        "D": np.stack(metrics),
        "mode": mode,
        "a": sizes,
        "nu": std,
        "omega": weights,
        "Rj": np.ones(dimension),
        "lower": np.zeros(dimension),
        "wstar": best,
    }
    return Model({T: steps, d: dimension, s: delay}, known)
