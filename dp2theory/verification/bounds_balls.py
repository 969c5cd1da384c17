"""Runs of ReSQue's ball methods as models of their theorems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, sqrt
from typing import Any

import numpy as np

from bounds.model import Model
from dp2theory.problems.protocol import Array
from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.ball_oracle import ExactBallOracle, ProximalOracle
from dp2theory.resque.ball_run import Step
from dp2theory.resque.ball_solvers import ParallelConstants, WeightedBallOracle, pool_size
from dp2theory.resque.bisection_free import FreeStep, accelerate_without_bisection
from dp2theory.resque.distances import WeightedDistance
from dp2theory.resque.drift import INSTANCES, simulate
from dp2theory.resque.named_functions import distance, distance_flat, maximum, maximum_flat
from dp2theory.verification.bounds_case import Case

#: Losses of the ball oracle that are tried, by name.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "max": maximum,
    "max-flat": maximum_flat,
    "l1": distance,
    "l1-flat": distance_flat,
}


@dataclass(frozen=True)
class Ball:
    """Ball acceleration on a function whose minimiser is known.

    Attributes
    ----------
    function : str
        A key of `FUNCTIONS`.
    dimension : int
    radius, accuracy : float
        r and the suboptimality asked for, in units of R and of L R.
    """

    function: str = "max"
    dimension: int = 16
    radius: float = 0.1
    accuracy: float = 0.01

    @property
    def words(self) -> str:
        """What is run, for people."""
        return (
            f"ball acceleration on {self.function} (d = {self.dimension}, r = {self.radius:g} R, "
            f"eps = {self.accuracy:g} L R)"
        )


def ball(setting: Ball) -> Iterator[Case]:
    """Accelerated runs with an exact oracle: potential, sum and counts of accepted steps."""
    function = FUNCTIONS[setting.function](dimension=setting.dimension)
    R, L = function.radius, function.lipschitz
    r, eps = setting.radius * R, setting.accuracy * L * R
    floors = {
        "resque.ball.count": 2 * eps / R**2,
        "resque.ball.floor": eps / (R ** (2 / 3) * r ** (4 / 3)),
    }
    best = function.optimal_value
    for id, floor in floors.items():
        steps: list[Step] = []

        def stop(x: Array) -> bool:
            return bool(function.value(x) - best <= eps)

        run = accelerate(
            ProximalOracle(function, r),
            start=function.start,
            domain_radius=R,
            lipschitz=L,
            accuracy=eps,
            floor=floor,
            stop=stop,
            observe=steps.append,
        )
        arrays = _accelerated(function, steps)
        values: dict[str, Any] = {"d": setting.dimension, "R_dom": R, "L_lip": L, "r": r,
                                  "eps_opt": eps, "c_acc": 0.5, "T": len(steps) - 2}  # fmt: skip
        model = Model(values, arrays, note=setting.words)
        ids = ("resque.ball.potential", "resque.ball.sum")
        yield Case(ids, model, 1, by_chance=False)
        if len(steps) >= 3 and not run.forced:
            # Still above the accuracy after T + 1 = one step less than it took.
            model = Model(values, _cut(arrays, len(steps) - 1), note=setting.words)
            yield Case((id,), model, 1, by_chance=False)
    yield _free(setting, function, r, eps)


def _cut(arrays: dict[str, Any], steps: int) -> dict[str, Any]:
    """The first steps of a run."""
    longer = ("x", "v_ball", "gap_ball", "dist")
    return {
        name: each if name == "x_opt" else each[: steps + (name in longer)]
        for name, each in arrays.items()
    }


def _accelerated(function: Any, steps: list[Step]) -> dict[str, Any]:
    start = function.start
    x = np.stack([start, *(each.x for each in steps)])
    v = np.stack([start, *(each.v for each in steps)])
    weights = np.array([each.weight for each in steps])
    y = np.stack([each.y for each in steps])
    return {
        "x": x,
        "v_ball": v,
        "y": y,
        "A": weights,
        "A_old": np.concatenate([[0.0], weights[:-1]]),
        "a_ball": np.array([each.size for each in steps]),
        "lam": np.array([each.multiplier for each in steps]),
        "x_opt": function.center,
        "gap_ball": np.array([function.value(each) for each in x]) - function.optimal_value,
        "move": ((x[1:] - y) ** 2).sum(axis=1),
        "dist": ((v - function.center) ** 2).sum(axis=1),
    }


def _free(setting: Ball, function: Any, r: float, eps: float) -> Case:
    """A run without bisection."""
    steps: list[FreeStep] = []
    accelerate_without_bisection(
        ExactBallOracle(function, r),
        start=function.start,
        domain_radius=function.radius,
        lipschitz=function.lipschitz,
        accuracy=eps,
        max_calls=60,
        observe=steps.append,
    )
    start, best = function.start, function.optimal_value
    x = np.stack([start, *(each.x for each in steps)])
    v = np.stack([start, *(each.v for each in steps)])
    weights = np.array([each.weight for each in steps])
    old = np.concatenate([[0.0], weights[:-1]])
    z = np.stack([each.z for each in steps])
    arrays = {
        "x": x,
        "v_ball": v,
        "y": np.stack([each.y for each in steps]),
        "z": z,
        "A": weights,
        "A_old": old,
        "a_ball": np.array([each.full_weight for each in steps]) - old,
        "lam": np.array([each.multiplier for each in steps]),
        "guess": np.array([each.guess for each in steps]),
        "part": np.array([each.part for each in steps]),
        "x_opt": function.center,
        "gap_ball": np.array([function.value(each) for each in x]) - best,
        "gap_z": np.array([function.value(each) for each in z]) - best,
    }
    values = {"d": setting.dimension, "r": r}
    model = Model(values, arrays, note=f"without bisection: {setting.words}")
    return Case(("resque.ball.free",), model, 1, by_chance=False)


@dataclass(frozen=True)
class Drift:
    """Pairs of runs that differ in one draw.

    Attributes
    ----------
    kind : str
        A key of `dp2theory.resque.drift.INSTANCES`.
    steps, paths, seed : int
    ratio : float
        r/rho.
    """

    kind: str = "absolute"
    steps: int = 16
    paths: int = 1000
    ratio: float = 0.3
    seed: int = 0

    @property
    def words(self) -> str:
        """What is run, for people."""
        return (
            f"{self.paths} pairs of runs on {self.kind} losses (T = {self.steps}, "
            f"r/rho = {self.ratio:g})"
        )


def drift(setting: Drift) -> Iterator[Case]:
    """Coupled runs that share their noise: drift at orders 2, 3 and 4."""
    from bounds import theorems

    instance = INSTANCES[setting.kind](setting.steps)
    size = instance.step_share * setting.steps**-0.5
    rng = np.random.default_rng([setting.seed, setting.steps])
    found = 2 * size * simulate(
        instance, steps=setting.steps, ratio=setting.ratio, method="shared",
        paths=setting.paths, rng=rng,
    )  # fmt: skip
    rho = 1 / setting.ratio
    known = theorems()["resque.E6"]

    def scaled(order: float) -> float:
        kappa = known.evaluate("kappa", norm_order=order, relative_radius=setting.ratio)
        return float(size * float(kappa) / rho)

    # What a statement looks at is the end of the run.
    apart = np.full((setting.steps + 1, setting.paths), np.nan)
    apart[-1] = found
    values = {
        "L_lip": 1.0,
        "eta_step": size,
        "rho_s": rho,
        "t_rel": setting.ratio,
        "a_len": 0.0,
        "T": setting.steps,
        "half_excess": 1,
        "h_step": scaled(4.0),
        "n_ord": 1,
    }
    arrays = {
        "apart": apart**2,
        "apart_size": apart,
        "h_order": np.array([0.0, scaled(2.0), scaled(3.0)]),
    }
    ids = ("resque.drift", "resque.drift.orders", "resque.drift.powers")
    yield Case(ids, Model(values, arrays, note=setting.words), setting.paths)


@dataclass(frozen=True)
class Subproblem:
    """The weighted solver on one ball.

    Attributes
    ----------
    dimension, runs, seed : int
    radius, smoothing, multiplier : float
        r, rho and lambda, for L = 1.
    """

    dimension: int = 3
    runs: int = 64
    radius: float = 0.2
    smoothing: float = 0.4
    multiplier: float = 2.0
    seed: int = 0

    @property
    def words(self) -> str:
        """What is run, for people."""
        return (
            f"{self.runs} ball subproblems (d = {self.dimension}, r = {self.radius:g}, "
            f"rho = {self.smoothing:g}, lambda = {self.multiplier:g})"
        )


def solver(setting: Subproblem) -> Iterator[Case]:
    """Excess of the weighted solver over the exact minimum of the subproblem."""
    d, r, rho, lam = setting.dimension, setting.radius, setting.smoothing, setting.multiplier
    function = WeightedDistance(np.ones(d), np.full(d, 1 / sqrt(d)))
    center = 1 + np.linspace(0.1, 0.3, d)
    constants = ParallelConstants()
    queries = pool_size(function.lipschitz, lam, r, constants.pool_factor)

    def value(u: Array) -> float:
        return function.smoothed_value(center + u, rho) + lam / 2 * float(u @ u)

    least = value(_exact(function, center, r, rho, lam))
    excess = []
    for run in range(setting.runs):
        rng = np.random.default_rng([setting.seed, run])
        oracle = WeightedBallOracle(function, r, rho, rng, constants)
        excess.append(value(oracle.solve(center, lam) - center) - least)
    ends = np.full((queries, setting.runs), np.nan)
    ends[-1] = excess
    G = function.lipschitz * exp(0.5 * (r / rho) ** 2)
    values = {"d": d, "r": r, "lam_reg": lam, "T": queries, "G_est": G}
    model = Model(values, {"gap_avg": ends}, note=setting.words)
    yield Case(("resque.parallel.solver",), model, setting.runs)


def _exact(function: WeightedDistance, center: Array, r: float, rho: float, lam: float) -> Array:
    """The minimiser on the ball, by projected gradient steps of a smooth, strongly convex loss."""
    smooth = sqrt(2 / np.pi) * function.lipschitz / rho + lam
    u = np.zeros_like(center)
    for _ in range(2000):
        u = u - (function.smoothed_gradient(center + u, rho) + lam * u) / smooth
        u = u / max(1.0, float(np.linalg.norm(u)) / r)
    return u
