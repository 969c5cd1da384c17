"""Deterministic runs of ball acceleration on ``|x - c|_inf``, to hold against the theorems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Vector = np.ndarray[Any, np.dtype[np.float64]]

#: Rounding must not decide whether a step of exactly r is inside the ball.
_ROUNDING = 1 + 1e-12


def _onto_l1_ball(point: Vector) -> Vector:
    """The nearest point with sum of absolute values at most 1."""
    size = np.abs(point)
    if size.sum() <= 1:
        return point
    ordered = np.sort(size)[::-1]
    excess = np.cumsum(ordered) - 1
    last = np.nonzero(ordered * np.arange(1, size.size + 1) > excess)[0][-1]
    cut: Vector = np.sign(point) * np.maximum(size - excess[last] / (last + 1), 0)
    return cut


@dataclass(frozen=True)
class Problem:
    """``f(x) = |x - c|_inf`` from 0, L = 1 and R = |c| = 1, to 1/50 of the first value."""

    minimiser: Vector
    ratio: float

    @classmethod
    def decaying(cls, ratio: float, dimension: int = 400) -> Problem:
        """Coordinates of c fall as i^(-1/2); the balls have radius 1/ratio."""
        c = np.arange(1, dimension + 1) ** -0.5
        return cls(c / np.linalg.norm(c), ratio)

    @property
    def radius(self) -> float:
        return 1 / self.ratio

    @property
    def accuracy(self) -> float:
        return 0.02 * self.value(np.zeros_like(self.minimiser))

    def value(self, x: Vector) -> float:
        return float(np.abs(x - self.minimiser).max())

    def proximal(self, y: Vector, multiplier: float) -> Vector:
        """argmin f + multiplier/2 |. - y|^2."""
        point: Vector = y - _onto_l1_ball(multiplier * (y - self.minimiser)) / multiplier
        return point

    def potential(self, weight: float, x: Vector, v: Vector) -> float:
        return weight * self.value(x) + float(((v - self.minimiser) ** 2).sum()) / 2


@dataclass
class Run:
    """What a run did: potentials before and after each step, what theorems say of the fall."""

    steps: int = 0
    calls: int = 0
    potentials: list[float] = field(default_factory=list)
    promised: list[float] = field(default_factory=list)
    products: list[float] = field(default_factory=list)  # lam_t A_t
    budget: float = 0.0  # sum of lam_t A_t |x_{t+1} - y_t|^2


def step_size(multiplier: float, weight: float) -> float:
    """a with multiplier * a^2 = weight + a."""
    return float((1 / multiplier + np.sqrt(1 / multiplier**2 + 4 * weight / multiplier)) / 2)


def accelerated(problem: Problem, *, acceptance: float = 0.5, warm: bool = True) -> Run:
    """Ball acceleration; the multiplier by geometric bisection, from the last one if warm."""
    r, eps = problem.radius, problem.accuracy
    lowest, highest = 2 * eps, 1 / r
    x = v = np.zeros_like(problem.minimiser)
    weight, last, run = 0.0, highest, Run(potentials=[0.5])
    while problem.value(x) > eps:
        low, high, multiplier = lowest, highest, lowest
        while True:
            run.calls += 1
            a = step_size(multiplier, weight)
            y = (weight * x + a * v) / (weight + a)
            z = problem.proximal(y, multiplier)
            moved = float(np.linalg.norm(z - y))
            if moved <= r * _ROUNDING and (moved >= acceptance * r or multiplier == lowest):
                break
            if multiplier == lowest and warm:
                multiplier = last
                continue
            if moved > r:
                low = multiplier
            else:
                high = multiplier
            multiplier = float(np.sqrt(low * high))
        last = multiplier if multiplier != lowest else last
        weight += a
        v = v - a * multiplier * (y - z)
        x = z
        fall = multiplier * weight * moved**2
        run.steps += 1
        run.budget += fall
        run.products.append(multiplier * weight)
        run.promised.append(fall / 2)
        run.potentials.append(problem.potential(weight, x, v))
    return run


def without_bisection(problem: Problem) -> Run:
    """One exact call of the ball oracle per step, with a guess of its multiplier."""
    r, eps = problem.radius, problem.accuracy
    x = v = np.zeros_like(problem.minimiser)
    weight, guess, run = 0.0, 1 / r, Run(potentials=[0.5])
    while problem.value(x) > eps:
        a = step_size(guess, weight)
        full = weight + a
        y = (weight * x + a * v) / full
        z, multiplier = ball_oracle(problem, y)
        if multiplier <= guess:
            x, v, weight = z, v - a * multiplier * (y - z), full
            fall = multiplier * full * r**2 * (1 - multiplier / (2 * guess))
            guess /= 2
        else:
            part = guess / multiplier
            after = weight + part * a
            x = ((1 - part) * weight * x + part * full * z) / after
            v, weight = v - part * a * multiplier * (y - z), after
            fall = guess * full * r**2 / 2
            guess *= 2
        run.steps += 1
        run.promised.append(fall if multiplier else 0.0)
        run.potentials.append(problem.potential(weight, x, v))
        if not multiplier:
            break
    return run


def ball_oracle(problem: Problem, y: Vector) -> tuple[Vector, float]:
    """The minimiser of f on the ball around y, and its multiplier (0 inside)."""
    r = problem.radius
    if np.linalg.norm(problem.minimiser - y) <= r:
        return problem.minimiser, 0.0
    low, high = 1e-9, 1 / r * _ROUNDING
    for _ in range(200):
        middle = float(np.sqrt(low * high))
        if np.linalg.norm(problem.proximal(y, middle) - y) > r:
            low = middle
        else:
            high = middle
    return problem.proximal(y, high), high


def naive(problem: Problem) -> int:
    """Calls of the ball oracle alone, ``x <- oracle(x)``, until the accuracy is reached."""
    x, calls = np.zeros_like(problem.minimiser), 0
    while problem.value(x) > problem.accuracy:
        x, _ = ball_oracle(problem, x)
        calls += 1
    return calls
