"""A small linear model, and what the reference DP²-RMSProp does with it."""

import numpy as np

from accountants.sampling import Poisson
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.protocol import run
from dp2theory.problems.linear import LinearProblem, Logistic
from dp2theory.problems.rows import DenseRows

RECORDS, DIMENSION = 40, 7
SETTINGS = {
    "learning_rate": 0.7,
    "clip_norm": 0.4,
    "adaptive_learning_rate": 0.02,
    "preconditioned_clip_norm": 3.0,
    "noise_multiplier": 0.8,
    "ema": 0.6,
    "damping": 0.01,
}
PHASES = [{"delay": 1}, {"delay": 4}, {"sgd_steps": 3, "adaptive_steps": 2}]


def dp2(**changes):
    phases = (
        {} if {"delay", "sgd_steps"} & changes.keys() else {"sgd_steps": 3, "adaptive_steps": 2}
    )
    return Dp2RmsProp(**SETTINGS | phases | changes)


def toy():
    """Logistic regression; the first column is that of the intercept, scales differ."""
    rng = np.random.default_rng(7)
    features = rng.standard_normal((RECORDS, DIMENSION)) * np.logspace(-1, 0.5, DIMENSION)
    features[:, 0] = 1.0
    targets = (features @ rng.standard_normal(DIMENSION) > 0).astype(float)
    return features, targets


def toy_problem():
    features, targets = toy()
    return LinearProblem("toy", {"train": DenseRows(features)}, {"train": targets}, Logistic())


def whole_batches(settings, steps):
    """The reference at sample rate 1: parameters and every release."""
    releases = []
    result = run(
        settings,
        toy_problem(),
        sampling=Poisson(1.0),
        steps=steps,
        rng=3,
        initial_parameters=np.linspace(-1, 1, DIMENSION),
        on_release=lambda _, released: releases.append(released.copy()),
    )
    return result, np.array(releases)


def from_releases(settings, start, releases):
    """Parameters and state of the reference after given releases."""
    parameters, state = start, settings.initial_state(len(start))
    for released in releases:
        parameters, state = settings.apply(parameters, state, released)
    return parameters, state


def relative_error(got, expected):
    """Largest difference over the largest entry."""
    return float(np.max(np.abs(np.asarray(got) - expected)) / np.max(np.abs(expected)))
