"""Literal loops of the methods with side information; also run on broken variants (tests/bites)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from accountants.events import dp_sgd_event
from accountants.sampling import Poisson
from dp2theory.optimizers.ledger import planned_event
from dp2theory.optimizers.mirror_descent import PdaDpmd
from dp2theory.optimizers.projected import DpAdaGradProjected
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.side_information import AdaDps, AdaDpsStatistics
from dp2theory.problems.protocol import Array, Problem
from dp2theory.problems.public import PublicData, split_public
from tests.optimizers.checks import small_problem

Q, STEPS = 0.2, 7
COMMON: dict[str, Any] = {"learning_rate": 0.8, "clip_norm": 0.3, "noise_multiplier": 0.7}
SETTINGS: dict[str, dict[str, Any]] = {
    "adadps": {"public_batch_size": 5, "ema": 0.7, "damping": 0.2},
    "adadps-statistics": {"exponent": 0.25, "floor": 1.5},
    "pda-dpmd": {"schedule_steps": 5, "public_batch_size": 6},
    "dp-adagrad-projected": {"rank": 4, "damping": 0.01},
}
KINDS: dict[str, type[Any]] = {
    kind.name: kind for kind in (AdaDps, AdaDpsStatistics, PdaDpmd, DpAdaGradProjected)
}


def parts() -> tuple[Problem, PublicData]:
    return split_public(small_problem(5), 0.3, seed=1)


def _single(problem: Problem, w: Array, record: int) -> Array:
    return problem.clipped_gradient_sum(w, np.array([record]), clip_norm=math.inf)


class _Literal:
    """One private run by hand: divisor before clipping, then noise, then `move`."""

    def __init__(self, private: Problem, public: PublicData) -> None:
        self.public = public
        self.records = [public.problem, public.dataset_size]
        self.v = np.zeros(private.dimension)

    def mean(self, w: Array, size: int, step: int) -> Array:
        inner, n = self.public.problem, self.public.dataset_size
        return np.mean([_single(inner, w, (step * size + i) % n) for i in range(size)], axis=0)

    def adadps(self, s: dict[str, Any]) -> tuple[Callable[..., Array], Callable[..., Array]]:
        size = s["public_batch_size"]

        def divisor(w: Array, t: int) -> Array:
            h = self.mean(w, size, t) ** 2
            self.v = h if t == 0 else s["ema"] * self.v + (1 - s["ema"]) * h
            root = np.sqrt(self.v) + s["damping"] * np.sqrt(np.mean(self.v))
            return root * np.mean(1 / root)

        return divisor, lambda w, t, g: w - COMMON["learning_rate"] * g

    def adadps_statistics(self, s: dict[str, Any]) -> Any:
        inner, n, d = self.public.problem, self.public.dataset_size, self.v.size
        squares = np.stack([_single(inner, np.zeros(d), i) ** 2 for i in range(n)])
        record = math.sqrt(np.mean(np.sum(squares**2, axis=1)))
        raised = np.maximum(squares.sum(axis=0), s["floor"] * record) ** s["exponent"]
        fixed = raised * np.mean(1 / raised)
        return lambda w, t: fixed, lambda w, t, g: w - COMMON["learning_rate"] * g

    def pda_dpmd(self, s: dict[str, Any]) -> Any:
        def move(w: Array, t: int, g: Array) -> Array:
            share = math.cos(math.pi * t / (2 * s["schedule_steps"]))
            share = share if t < s["schedule_steps"] else 0.0
            h = self.mean(w, s["public_batch_size"], t)
            return w - COMMON["learning_rate"] * (share * g + (1 - share) * h)

        return lambda w, t: np.ones(w.size), move

    def dp_adagrad_projected(self, s: dict[str, Any]) -> Any:
        inner, n, d = self.public.problem, self.public.dataset_size, self.v.size
        matrix = np.stack([_single(inner, np.zeros(d), i) for i in range(n)])
        _, vectors = np.linalg.eigh(matrix.T @ matrix)
        basis = vectors[:, -s["rank"] :]

        def move(w: Array, t: int, g: Array) -> Array:
            h = basis @ (basis.T @ g)
            self.v = self.v + h**2
            return w - COMMON["learning_rate"] * h / (np.sqrt(self.v) + s["damping"])

        return lambda w, t: np.ones(d), move


def literal(name: str, private: Problem, public: PublicData, seed: int) -> Array:
    divisor, move = getattr(_Literal(private, public), name.replace("-", "_"))(SETTINGS[name])
    rng = np.random.Generator(np.random.SFC64(seed))
    n, w = private.dataset_size, np.zeros(private.dimension)
    for t in range(STEPS):
        d = divisor(w, t)
        total = np.zeros(w.size)
        for record in rng.choice(n, rng.binomial(n, Q), replace=False, shuffle=False):
            g = _single(private, w, record) / d
            total += g * min(1.0, COMMON["clip_norm"] / np.linalg.norm(g))
        total += COMMON["noise_multiplier"] * COMMON["clip_norm"] * rng.standard_normal(w.size)
        w = move(w, t, total / (Q * n))
    return w


def check_literal(name: str, kind: type[Any] | None = None) -> None:
    private, public = parts()
    optimizer = (kind or KINDS[name])(**COMMON, public=public, **SETTINGS[name])
    result = run(optimizer, private, sampling=Poisson(Q), steps=STEPS, rng=9)
    expected = literal(name, private, public, 9)
    np.testing.assert_allclose(result.parameters, expected, rtol=1e-8, atol=1e-10)
    wanted = dp_sgd_event(sampling=Poisson(Q), noise_multiplier=0.7, steps=STEPS)
    assert result.ledger == wanted
    assert planned_event(optimizer, Poisson(Q), private.dataset_size, STEPS) == wanted
