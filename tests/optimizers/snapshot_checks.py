"""Checks of the geometry snapshot: must pass on it, and fail on broken variants (tests/bites)."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
from dp_accounting import ComposedDpEvent, GaussianDpEvent, SelfComposedDpEvent

from accountants.events import dp_sgd_event
from accountants.sampling import Poisson
from dp2theory.optimizers import protocol
from dp2theory.optimizers.ledger import planned_event
from dp2theory.optimizers.snapshot import Snapshot
from dp2theory.problems.protocol import Array, Problem
from dp2theory.problems.squares import BIN_EDGES, BINS, norm_quantile
from tests.optimizers.checks import small_problem

SETTINGS: dict[str, Any] = {
    "learning_rate": 0.9,
    "clip_norm": 0.3,
    "noise_multiplier": 0.8,
    "snapshot_noise_multiplier": 1.7,
    "refreshes": 3,
    "period": 2,
    "histogram_noise_multiplier": 0.6,
    "exponent": 0.5,
    "floor": 1.5,
}
STEPS, Q = 8, 0.15


def literal_snapshot(problem: Problem, seed: int) -> tuple[Array, list[Array]]:
    """The optimizer as a plain loop over records; returns parameters and what was released."""
    rng = np.random.Generator(np.random.SFC64(seed))
    s, n, d = SETTINGS, problem.dataset_size, problem.dimension
    w, divisor, c0, released = np.zeros(d), np.ones(d), 0.0, []

    def gradient(record: int) -> Array:
        return problem.clipped_gradient_sum(w, np.array([record]), clip_norm=np.inf)

    for t in range(STEPS):
        if t == 0:
            counts = np.zeros(BINS)
            for record in range(n):
                norm = np.linalg.norm(gradient(record) ** 2)
                counts[int(np.sum(norm > BIN_EDGES))] += 1
            counts = counts + s["histogram_noise_multiplier"] * rng.standard_normal(BINS)
            released.append(counts)
            c0 = norm_quantile(counts, 0.9, noise_std=s["histogram_noise_multiplier"])
        if t % s["period"] == 0 and t // s["period"] < s["refreshes"]:
            total = np.zeros(d)
            for record in range(n):
                squares = gradient(record) ** 2
                total += squares * min(1.0, c0 / np.linalg.norm(squares))
            std = s["snapshot_noise_multiplier"] * c0
            total = total + std * rng.standard_normal(d)
            released.append(total)
            roots = np.maximum(total, s["floor"] * std) ** s["exponent"]
            divisor = roots * np.mean(1 / roots)
        batch = rng.choice(n, rng.binomial(n, Q), replace=False, shuffle=False)
        total = np.zeros(d)
        for record in batch:
            g = gradient(record) / divisor
            total += g * min(1.0, s["clip_norm"] / np.linalg.norm(g))
        total += s["noise_multiplier"] * s["clip_norm"] * rng.standard_normal(d)
        released.append(total / (Q * n))
        w = w - s["learning_rate"] * released[-1]
    return w, released


def check_against_the_literal_loop(kind: type[Snapshot] = Snapshot) -> None:
    problem, seen = small_problem(3), []
    result = protocol.run(
        kind(**SETTINGS), problem, sampling=Poisson(Q), steps=STEPS, rng=11,
        on_release=lambda _step, release: seen.append(np.array(release)),
    )  # fmt: skip
    parameters, released = literal_snapshot(problem, 11)
    assert len(seen) == len(released)
    for ours, theirs in zip(seen, released, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result.parameters, parameters, rtol=1e-9, atol=1e-12)


def literal_event() -> Any:
    """What SETTINGS release in STEPS steps."""
    return ComposedDpEvent(
        [
            SelfComposedDpEvent(GaussianDpEvent(SETTINGS["histogram_noise_multiplier"]), 1),
            SelfComposedDpEvent(GaussianDpEvent(SETTINGS["snapshot_noise_multiplier"]), 3),
            dp_sgd_event(
                sampling=Poisson(Q), noise_multiplier=SETTINGS["noise_multiplier"], steps=STEPS
            ),
        ]
    )


def check_ledger(kind: type[Snapshot] = Snapshot) -> None:
    """The ledger is what was executed: as foretold, and as the noise that was really added."""
    problem = small_problem(3)
    with _Spy() as spy:
        result = protocol.run(kind(**SETTINGS), problem, sampling=Poisson(Q), steps=STEPS, rng=2)
    assert result.ledger == literal_event()
    assert result.ledger == planned_event(kind(**SETTINGS), Poisson(Q), problem.dataset_size, STEPS)
    # Every release: noise std over the bound that its records keep, as executed.
    full = [sigma for records, sigma in spy.releases if records == problem.dataset_size]
    rest = [sigma for records, sigma in spy.releases if records != problem.dataset_size]
    np.testing.assert_allclose(full, [0.6, 1.7, 1.7, 1.7], rtol=1e-12)
    np.testing.assert_allclose(rest, [0.8] * STEPS, rtol=1e-12)


class _Spy:
    """Records of every release how many records it read, and noise over clip norm."""

    def __init__(self) -> None:
        self.releases: list[tuple[int, float]] = []

    def __enter__(self) -> _Spy:
        inner = protocol.release_mean

        def spy(problem: Problem, parameters: Array, batch: Any, query: Any, **more: Any) -> Array:
            clean = inner(problem, parameters, batch, _without_noise(query), **more | {"rng": None})
            probe = _Ones()
            noisy = inner(problem, parameters, batch, query, **more | {"rng": probe})
            scale = (noisy - clean) * more["expected_batch_size"]
            bound = 1.0 if query.statistic == "squared-norm-histogram" else query.clip_norm
            self.releases.append((batch.size, float(np.mean(scale)) / bound))
            return inner(problem, parameters, batch, query, **more)

        self._patch = mock.patch.object(protocol, "release_mean", spy)
        self._patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.stop()


class _Ones:
    """A generator whose normals are all 1, so that the noise is its standard deviation."""

    def standard_normal(self, shape: Any) -> Array:
        return np.ones(shape)


def _without_noise(query: Any) -> Any:
    from dataclasses import replace

    return replace(query, noise_multiplier=0.0)


def check_noise_law(kind: type[Snapshot] = Snapshot, runs: int = 60) -> None:
    """The first snapshot's noise has mean 0 and standard deviation sigma0 C0, per coordinate."""
    problem = small_problem(3)
    settings = SETTINGS | {"statistic_clip_norm": 0.02, "histogram_noise_multiplier": None}
    noise = []
    clean = _first_release(kind(**settings | {"snapshot_noise_multiplier": 1e-9}), problem, 0)
    for seed in range(runs):
        noise.append(_first_release(kind(**settings), problem, seed) - clean)
    values = np.concatenate(noise) / (1.7 * 0.02)
    tolerance = 4.5 / np.sqrt(values.size)
    assert abs(np.mean(values)) < tolerance
    assert abs(np.mean(values**2) - 1) < tolerance * np.sqrt(2)
    # The noises of runs and coordinates are not one and the same.
    assert np.unique(values).size == values.size


def _first_release(optimizer: Snapshot, problem: Problem, seed: int) -> Array:
    seen: list[Array] = []
    protocol.run(
        optimizer, problem, sampling=Poisson(Q), steps=1, rng=seed,
        on_release=lambda _step, release: seen.append(np.array(release)),
    )  # fmt: skip
    return seen[0]
