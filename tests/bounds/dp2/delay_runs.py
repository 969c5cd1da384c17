"""A small DP² on synthetic data, all runs at once: what h(s) is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Problem:
    """Features of norm at most 1, labels, and the derivative of the loss in the prediction.

    `steepness` bounds the second derivative of the loss, so that the gradient of F is Lipschitz
    with `steepness` times the largest eigenvalue of the mean of x x'.
    """

    features: Array
    labels: Array
    derivative: Callable[[Array, Array], Array]
    steepness: float

    @property
    def smoothness(self) -> float:
        second = self.features.T @ self.features / len(self.features)
        return self.steepness * float(np.linalg.eigvalsh(second).max())


def problem(name: str, seed: int = 0, records: int = 400, dimension: int = 10) -> Problem:
    """Logistic, Huber or least absolute deviations on sparse unequal features."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(records, dimension)) * 0.8 ** np.arange(dimension)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    truth = rng.uniform(-1, 1, size=dimension)
    score = features @ truth
    if name == "logistic":
        labels = np.where(score + 0.1 * rng.normal(size=records) > 0, 1.0, -1.0)
        return Problem(features, labels, lambda p, y: -y / (1 + np.exp(y * p)), 0.25)
    if name == "huber":
        width = 0.5
        return Problem(features, score, lambda p, y: np.clip((p - y) / width, -1, 1), 1 / width)
    return Problem(features, score, lambda p, y: np.sign(p - y), np.inf)


@dataclass(frozen=True)
class Setting:
    """What a run needs beside the problem; clipping is never active."""

    sigma: float
    learning_rate: float = 0.2
    ratio: float = 0.2
    damping: float = 0.1
    ema: float = 0.5
    batch: int = 32
    steps: int = 400
    runs: int = 24

    @property
    def noise_std(self) -> float:
        return self.sigma / self.batch


def h_of(problem: Problem, setting: Setting, delay: int, seed: int = 1) -> float:
    """The plug-in h(s): the largest ratio of means over runs, over the adaptive steps."""
    rng = np.random.default_rng(seed)
    dimension, total = problem.features.shape[1], len(problem.features)
    iterate = np.zeros((setting.runs, dimension))
    second = np.zeros_like(iterate)
    collected = np.zeros_like(iterate)
    below, ratios = np.inf, []
    for step in range(setting.steps):
        rows = rng.integers(total, size=(setting.runs, setting.batch))
        x, y = problem.features[rows], problem.labels[rows]
        slope = problem.derivative(np.einsum("rbd,rd->rb", x, iterate), y)
        gradient = np.einsum("rb,rbd->rd", slope, x) / setting.batch
        noise = setting.noise_std * rng.normal(size=gradient.shape)
        if (step // delay) % 2 == 0:
            collected += (gradient + noise) / delay
            iterate = iterate - setting.learning_rate * (gradient + noise)
            if (step + 1) % delay == 0:
                below = np.abs(collected).sum(axis=1).mean() + dimension * setting.damping
                second = setting.ema * second + (1 - setting.ema) * collected**2
                collected = np.zeros_like(iterate)
        else:
            ratios.append(np.abs(gradient).sum(axis=1).mean() / below)
            metric = np.sqrt(second) + setting.damping
            moved = gradient / metric + noise / setting.damping
            iterate = iterate - setting.ratio * setting.learning_rate * moved
    return float(max(ratios))


def parameters(problem: Problem, setting: Setting) -> dict[str, float]:
    """What the linear bound takes, with tau_g at most C = 1 and C2 = C/eps."""
    return {
        "smoothness": problem.smoothness,
        "sgd_step_size": setting.learning_rate,
        "adaptive_step_size": setting.ratio * setting.learning_rate,
        "gradient_bound": 1.0,
        "preconditioned_clip_norm": 1 / setting.damping,
        "noise_std": setting.noise_std,
        "preconditioned_noise_std": setting.noise_std / setting.damping,
        "damping": setting.damping,
        "gradient_std": 1.0,
        "batch_size": setting.batch,
        "dimension": problem.features.shape[1],
    }
