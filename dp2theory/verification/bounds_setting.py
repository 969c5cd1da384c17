"""Settings of reference runs on convex problems with a box, and the letters of the theorems there.

Constants that a theorem takes from its user (C, Gamma, D1, bounds on E D) are known ones of the
problem where there are any, else the smallest that hold on the runs: then the bound is as small as
the theorem allows, and the test as sharp.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from accountants.sampling import WithoutReplacement
from bounds.model import Model
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.problems.convex import huber, least_absolute_deviations, quadratic
from dp2theory.problems.linear import AbsoluteError, LinearProblem
from dp2theory.problems.protocol import Array, Constants, Problem
from dp2theory.problems.rows import DenseRows
from dp2theory.verification.bounds_trace import PLAIN, Boxed, Traces, play

#: Problems of the runs: least absolute deviations, Huber's loss, a quadratic, and a
#: multiple of |w| in one dimension, on which bounds are attained.
PROBLEMS = ("absolute", "huber", "quadratic", "slope")
#: Clip norms over the bound on gradients: rounding must not clip.
CLIPPED = 1 + 1e-12


@dataclass(frozen=True)
class Setting:
    """One way to run DP²-RMSProp on a convex problem.

    Attributes
    ----------
    problem : str
        From `PROBLEMS`.
    dimension, records, batch_size, steps, delay : int
    noise_multiplier, ema, damping : float
    rate : float
        Step size of the first step, in units of the side of the box over (C sqrt(steps)).
    ratio : float
        Step size in adaptive phases over that in SGD phases.
    decay : float
        alpha, where the step size decays with the phases.
    runs, seed : int
        Number of runs; the seed of the first. Run k of setting S is the same in every call.
    """

    problem: str = "absolute"
    dimension: int = 3
    records: int = 64
    batch_size: int = 8
    steps: int = 24
    delay: int = 6
    noise_multiplier: float = 0.5
    ema: float = 0.5
    damping: float = 0.5
    rate: float = 0.5
    ratio: float = 1.0
    decay: float = 1.0
    runs: int = 32
    seed: int = 0

    @property
    def words(self) -> str:
        """What is run, for people."""
        return (
            f"{self.runs} runs on {self.problem} (d = {self.dimension}, T = {self.steps}, "
            f"s = {self.delay}, sigma = {self.noise_multiplier:.3g})"
        )


#: Slope of the loss in one dimension, and the end of its box: not 1, so that no power is lost.
SLOPE, END = 2.0, 3.0


#: From the end of the box down, without noise to speak of: the last step but one ends beside 0.
def attained(steps: int, delay: int, **more: Any) -> Setting:
    """The setting in which the master inequality and theorem B are equalities."""
    damping = 0.5
    return Setting(
        problem="slope",
        dimension=1,
        records=1,
        batch_size=1,
        steps=steps,
        delay=delay,
        noise_multiplier=1e-13,
        ema=0.0,
        damping=damping,
        rate=1 / sqrt(steps),
        ratio=SLOPE + damping,
        runs=2,
        **more,
    )


@dataclass(frozen=True)
class Ground:
    """A problem, its box, and what is known of it.

    Attributes
    ----------
    problem : Problem
        What is minimised.
    low, high : float
        Ends of the box, the same in every coordinate.
    start, minimiser : ndarray, shape (d,)
        First iterate, and a point of least loss in the box.
    lipschitz : float
        Lipschitz constant of the loss in the box.
    smoothness : float or None
        Lipschitz constant of the gradient; None where there is none.
    optimal_value : float
        Least loss in the box.
    """

    problem: Problem
    low: float
    high: float
    start: Array
    minimiser: Array
    lipschitz: float
    smoothness: float | None
    optimal_value: float

    @property
    def side(self) -> float:
        """Of the box."""
        return self.high - self.low


def ground(setting: Setting) -> Ground:
    """The problem of a setting. ValueError for a name that is not in `PROBLEMS`."""
    n, d = setting.records, setting.dimension
    made: Problem
    if setting.problem == "slope":
        known = Constants(lipschitz=SLOPE, diameter=END, optimal_value=0.0)
        rows, target = DenseRows(np.full((1, 1), SLOPE)), np.zeros(1)
        made = LinearProblem("slope", {"train": rows}, {"train": target}, AbsoluteError(), known)
        return Ground(made, 0.0, END, np.full(1, END), np.zeros(1), SLOPE, None, 0.0)
    if setting.problem == "quadratic":
        bowl = quadratic(n=n, d=d, strong_convexity=1.0 if d == 1 else 0.3, seed=setting.seed)
        made, minimiser = bowl, bowl.centres.mean(axis=0)
    elif setting.problem in ("absolute", "huber"):
        make = least_absolute_deviations if setting.problem == "absolute" else huber
        linear = make(n=n + n % 2, d=d, seed=setting.seed)
        # Targets come in pairs around those of the minimiser.
        targets = linear.targets["train"]
        half = len(targets) // 2
        middle = (targets[:half] + targets[half:]) / 2
        matrix = np.stack([linear.rows["train"].dot(unit) for unit in np.eye(d)], axis=1)[:half]
        made, minimiser = linear, np.linalg.lstsq(matrix, middle, rcond=None)[0]
    else:
        raise ValueError(f"problem={setting.problem!r} must be one of {', '.join(PROBLEMS)}")
    known = made.constants
    return Ground(
        made,
        -1.0,
        1.0,
        np.where(minimiser > 0, -1.0, 1.0),  # the corner that is furthest away
        minimiser,
        float(known.lipschitz or 0.0),
        known.smoothness,
        float(known.optimal_value or 0.0),
    )


@dataclass(frozen=True)
class Stage:
    """A setting that was run: traces and the constants behind them.

    Attributes
    ----------
    setting : Setting
        What was asked for.
    ground : Ground
        Where it was run.
    traces : Traces
        What was recorded.
    eta : float
        First step size.
    nu1, nu2 : float
        Noise std of DP-SGD steps and of adaptive ones.
    """

    setting: Setting
    ground: Ground
    traces: Traces
    eta: float
    nu1: float
    nu2: float

    def model(self, values: dict[str, Any], processes: dict[str, Any]) -> Model:
        """The runs as a model: scenarios are the seeds."""
        return Model(values, processes, note=self.setting.words)


def base_step(setting: Setting, place: Ground) -> float:
    """The step size of the first step."""
    return setting.rate * place.side / (place.lipschitz * sqrt(setting.steps))


def stage(
    setting: Setting,
    mode: str = PLAIN,
    *,
    decaying: bool = False,
    eta: float | None = None,
    place: Ground | None = None,
) -> Stage:
    """Run a setting.

    Parameters
    ----------
    setting : Setting
    mode : str
        ``"plain"``, ``"common"`` or ``"freeze"`` (see `Boxed`).
    decaying : bool
        Step size eta decay^phase/sqrt(t) of theorem A (``"plain"``), or eta decay^updates of
        theorem C; else constant.
    eta : float, optional
        The step size; that of the setting where not given.
    place : Ground, optional
        That of the setting where not given.
    """
    place = ground(setting) if place is None else place
    eta = base_step(setting, place) if eta is None else eta
    C, eps, s = place.lipschitz, setting.damping, setting.delay
    # A clip norm at which nothing is clipped: ||g_i|| <= C, ||g_i/D|| <= C/eps.
    wide, scaled = C * CLIPPED, C * CLIPPED / eps

    def size(step: int) -> float:
        if mode == PLAIN:
            return eta * setting.decay ** (step // s) / sqrt(step + 1)
        updates = (step // s + 1) // 2
        return eta * setting.decay**updates

    def make() -> Boxed:
        optimizer = Dp2RmsProp(
            learning_rate=eta,
            clip_norm=wide,
            adaptive_learning_rate=eta * (setting.ratio if mode == PLAIN else 1.0),
            preconditioned_clip_norm=scaled,
            noise_multiplier=setting.noise_multiplier,
            delay=s,
            ema=setting.ema,
            damping=eps,
        )
        return Boxed(optimizer, place.low, place.high, size if decaying else None, mode)

    problem = place.problem
    batch = min(setting.batch_size, problem.dataset_size)
    traces = play(
        make,
        problem,
        sampling=WithoutReplacement(problem.dataset_size, batch),
        batch_size=batch,
        steps=setting.steps,
        start=place.start,
        seeds=range(1000 * setting.seed, 1000 * setting.seed + setting.runs),
        optimal_value=place.optimal_value,
    )
    noise = setting.noise_multiplier / batch
    return Stage(setting, place, traces, eta, noise * wide, noise * scaled)


def letters(stage: Stage) -> tuple[dict[str, Any], dict[str, Any]]:
    """The letters that all convex theorems share: values and processes."""
    setting, place, seen = stage.setting, stage.ground, stage.traces
    T, d = setting.steps, setting.dimension
    adaptive = seen.adaptive
    D, g = seen.D, seen.g
    norms, moments = D.sum(axis=1).mean(axis=-1), (g**2 / D).sum(axis=1).mean(axis=-1)

    def largest(values: Any, where: Any) -> float:
        return float(values[where].max()) if where.any() else float(values.max())

    values: dict[str, Any] = {
        "T": T,
        "Tm": T,
        "s": setting.delay,
        "d": d,
        "K": -(-T // setting.delay),
        "u": min(setting.delay / T, 1.0),
        "R": place.side,
        "C": place.lipschitz,
        "C1": place.lipschitz * CLIPPED,
        "C2": place.lipschitz * CLIPPED / setting.damping,
        "b": min(setting.batch_size, place.problem.dataset_size),
        "sigma": setting.noise_multiplier,
        "nu1": stage.nu1,
        "nu2": stage.nu2,
        "eps": setting.damping,
        "beta": setting.ema,
        "alpha": setting.decay,
        "rho": setting.ratio,
        "eta": stage.eta,
        "D1": largest(norms, adaptive),
        "Gam": largest(moments, adaptive),
        "Gc": largest(moments, ~adaptive),
        "best_gap": float(seen.gap[:-1].mean(axis=-1).min()),
    }
    processes: dict[str, Any] = {
        "w": seen.w,
        "g": g,
        "grad": seen.grad,
        "N": seen.N,
        "D": D,
        "gap": seen.gap,
        "mode": adaptive.astype(float),
        "nu": np.where(adaptive, stage.nu2, stage.nu1),
        "omega": np.ones(T),
        "a": np.full(T, stage.eta),
        "Rj": np.full(d, place.side),
        "lower": np.full(d, place.low),
        "wstar": place.minimiser,
        "Q": D,
        "Dn": norms,
        "Gamt": moments,
        "X": seen.g + seen.N,
    }
    return values, processes
