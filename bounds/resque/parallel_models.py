"""Small runs of the ball solver and of the outer loop, and runs that break an assumption each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import ceil, exp, sqrt
from typing import Any

import numpy as np

from bounds.model import Model
from bounds.resque.symbols import (
    G_est,
    L_lip,
    R_dom,
    calls,
    eps_opt,
    kappa,
    lam_reg,
    query_factor,
    r,
    rounds_factor,
)
from bounds.symbols import T, d

__all__ = ["accelerated_models", "call_models", "solver_models"]

#: Values of the letters of a run, by name.
Arrays = dict[str, Any]


def _solver(
    slope: Callable[[Any], Any],
    value: Callable[[Any], Any],
    *,
    steps: int,
    lam: float = 1.0,
    ball: float = 1.0,
    noise: float = 0.0,
    start: float = 0.0,
    minimiser: float = 0.0,
    moves: bool = True,
    project: bool = True,
) -> Arrays:
    """Projected steps on ``value(u) + lam/2 u^2`` in one dimension, noise of either sign."""
    signs = np.array(list(product((-1.0, 1.0), repeat=steps))).T if noise else np.zeros((steps, 1))
    u = np.full(signs.shape[1], start)
    points, estimates = [u], []
    for step in range(1, steps + 1):
        e = slope(u) + noise * signs[step - 1]
        estimates.append(e)
        if moves:
            u = u - 2 / (lam * (step + 1)) * (e + lam * u)
        points.append(np.clip(u, -ball, ball) if project else u)
        u = points[-1]
    at = np.array(points)
    estimate = np.array(estimates)

    def whole(x: Any) -> Any:
        return value(x) + lam / 2 * x**2 - value(minimiser) - lam / 2 * minimiser**2

    weights = np.arange(1, steps + 1) * 2 / (steps * (steps + 1))
    mean = (weights[:, None] * at[:-1]).sum(axis=0)
    average = np.zeros((steps, at.shape[1]))
    average[-1] = whole(mean)
    return {
        "u_ball": at[:, None, :],
        "e_x": estimate[:, None, :],
        "G_sub": (slope(at[:-1]) + lam * at[:-1])[:, None, :],
        "u_opt": np.array([minimiser]),
        "dist_u": (at - minimiser) ** 2,
        "gap_u": whole(at[:-1]),
        "gap_avg": average,
    }


def solver_models(rng: np.random.Generator) -> Iterator[Model]:
    """Noisy linear losses, and one broken assumption each."""
    tilt = float(rng.uniform(0.2, 0.8))

    def numbers(steps: int, moment: float) -> dict[Any, Any]:
        return {d: 1, T: steps, lam_reg: 1, r: 1, G_est: moment}

    def linear(u: Any) -> Any:
        return tilt * u

    def tilted(u: Any) -> Any:
        return tilt + 0 * u

    noisy = _solver(tilted, linear, steps=3, noise=1.0, minimiser=-tilt)
    moment = sqrt(1 + tilt**2)
    yield Model(numbers(3, moment), noisy, note="a run")
    yield Model(numbers(3, moment), {**noisy, "gap_avg": noisy["gap_avg"] + 20}, note="no average")
    lifted = {**noisy, "gap_u": noisy["gap_u"] + 20, "gap_avg": noisy["gap_avg"] + 20}
    yield Model(numbers(3, moment), lifted, note="without strongly-convex")

    def flat(u: Any) -> Any:
        return 0 * u

    still = _solver(flat, flat, steps=60, start=1.0, moves=False)
    yield Model(numbers(60, 0.1), still, note="without update")
    blind = {**still, "dist_u": 0 * still["dist_u"]}
    yield Model(numbers(60, 0.1), blind, note="without dist")
    outside = _solver(flat, flat, steps=1, start=10.0, project=False)
    yield Model(numbers(1, 0.1), outside, note="without inside")
    wrong = _solver(flat, flat, steps=60)
    gap = tilt**2 / 2
    biased = {
        **wrong,
        "u_opt": np.array([-tilt]),
        "dist_u": (wrong["u_ball"][:, 0] + tilt) ** 2,
        "G_sub": wrong["G_sub"] + tilt,
        "gap_u": wrong["gap_u"] + gap,
        "gap_avg": wrong["gap_avg"] + gap,
    }
    yield Model(numbers(60, 0.01), biased, note="without unbiased")

    def steep(u: Any) -> Any:
        return 1000 * np.sign(u)

    def corner(u: Any) -> Any:
        return 1000 * np.abs(u)

    swinging = _solver(steep, corner, steps=9, start=1.0)
    yield Model(numbers(9, 0.1), swinging, note="without moment")


def _calls(
    factor: float, **changes: Any
) -> tuple[dict[Any, Any], dict[str, Any], dict[str, float]]:
    """An outer loop with L = R = 1, d = 4, eps = 1/2: r = 1/8 and (R/r)^(2/3) = 4 calls."""
    made = {"ball": 0.125, "calls": 4, "lam": 8.0, "fewer": 1.0, "eps": 0.5, **changes}
    values = {d: 4, L_lip: 1, R_dom: 1, eps_opt: made["eps"], kappa: 1}
    number = ceil(factor / (made["lam"] * made["ball"]) ** 2 / made["fewer"])
    arrays = {
        "reg": np.full(made["calls"], made["lam"]),
        "queries": np.full(made["calls"], number),
    }
    return {**values, r: made["ball"], calls: made["calls"]}, arrays, made


_CALL_CHANGES: dict[str, dict[str, Any]] = {
    "a run": {},
    "without floor": {"lam": 0.1},
    "without largest": {"lam": 400.0},
    "without calls": {"calls": 400},
    "without batch": {"fewer": 40.0},
    "without radius": {"ball": 1e-6, "calls": 9000, "lam": 1e6, "eps": 0.01},
}


def call_models(rng: np.random.Generator) -> Iterator[Model]:
    """Outer loops with stochastic gradient steps."""
    factor = 2 * (1 + exp(0.5)) ** 2
    for note, changes in _CALL_CHANGES.items():
        values, arrays, _ = _calls(factor, **changes)
        yield Model(values, arrays, note=note)


def accelerated_models(rng: np.random.Generator) -> Iterator[Model]:
    """Outer loops with accelerated steps."""
    for note, changes in {
        **_CALL_CHANGES,
        "without largest": {"lam": 10.0},  # nothing rests on it here
        "without batch": {"fewer": 1 / 40},
        "without rounds": {},
    }.items():
        values, arrays, made = _calls(20.0, **changes)
        smooth = sqrt(2 / float(np.pi)) / made["ball"] + made["lam"]
        number = ceil(3 * sqrt(smooth / made["lam"])) * (40 if note == "without rounds" else 1)
        arrays = {
            **arrays,
            "rounds": np.full(int(made["calls"]), number),
            "call_gap": np.zeros(int(made["calls"])),
        }
        yield Model({**values, rounds_factor: 3, query_factor: 20}, arrays, note=note)
