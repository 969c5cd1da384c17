"""Ball acceleration without bisection: one call of the exact ball oracle in every step.

The multiplier is guessed before the call and known after it. A guess that was too small costs a
part of the step; nothing is tried twice. The multiplier is the length of a gradient at the answer:
it must come from the oracle, and of private data it would be an access of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dp2theory.problems.validation import positive_real, real_in, whole_number
from dp2theory.resque.ball_acceleration import Calls
from dp2theory.resque.ball_oracle import BallMinimum
from dp2theory.resque.ball_search import ROUNDING, mirror_step, step_size
from dp2theory.resque.functions import Array, check_vector

#: A guess that misses the multiplier by less is right: rounding must not decide between halving
#: and doubling (the first guess L/r is often the multiplier itself).
TIE = 1e-9


class MultiplierOracle(Protocol):
    """An exact ball oracle that knows the multiplier of its answer, as `ExactBallOracle`."""

    @property
    def radius(self) -> float:
        """r."""
        ...

    def minimise(self, center: Array) -> BallMinimum:
        """Return the minimiser on the ball and its multiplier, 0 inside of the ball."""
        ...


@dataclass(frozen=True)
class FreeStep:
    """One step without bisection.

    Attributes
    ----------
    x, v : ndarray, shape (d,)
        Both iterates after the step.
    y, z : ndarray, shape (d,)
        Centre of the ball and the oracle's answer.
    weight, full_weight : float
        A after the step, and what it would be with the whole of it.
    guess, multiplier : float
        The guess l' before the call, and l.
    part : float
        min(1, l'/l): how much of the step was taken.
    """

    x: Array = field(repr=False)
    v: Array = field(repr=False)
    y: Array = field(repr=False)
    z: Array = field(repr=False)
    weight: float
    full_weight: float
    guess: float
    multiplier: float
    part: float

    @property
    def promised_fall(self) -> float:
        """What the potential falls by at least (resque.ball.free)."""
        taken = min(self.multiplier, self.guess)
        square = float(((self.z - self.y) ** 2).sum())
        return taken * self.full_weight * square * (1 - taken / (2 * self.guess))


@dataclass(frozen=True)
class FreeRun:
    """What a run without bisection returns.

    Attributes
    ----------
    x : ndarray, shape (d,)
        The answer.
    calls : int
        Calls of the ball oracle; each is a step, except one that found the minimiser.
    whole : int
        Steps taken whole.
    weights, guesses, multipliers : ndarray, shape (steps,)
        A, l' and l by step.
    stopped : str
        ``"stop"``, ``"weight"`` (A >= R^2/(2 accuracy), which proves the accuracy),
        ``"minimum"`` (the oracle found a minimiser inside of its ball) or ``"max_calls"``.
    """

    x: Array = field(repr=False)
    calls: int
    whole: int
    weights: Array = field(repr=False)
    guesses: Array = field(repr=False)
    multipliers: Array = field(repr=False)
    stopped: str

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, without the iterate."""
        return {
            "calls": self.calls,
            "whole": self.whole,
            "weights": [float(each) for each in self.weights],
            "guesses": [float(each) for each in self.guesses],
            "multipliers": [float(each) for each in self.multipliers],
            "stopped": self.stopped,
        }


def check_multiplier_oracle(oracle: Any) -> MultiplierOracle:
    """Return `oracle` if it answers with a multiplier, or raise ValueError."""
    if not callable(getattr(oracle, "minimise", None)):
        raise ValueError(
            f"oracle={oracle!r} must return the multiplier of its answer (`minimise`, as "
            "ExactBallOracle): computed from the data afterwards it would be an access that no "
            "ledger knows of. Use accelerate with this oracle."
        )
    positive_real("radius of the oracle", oracle.radius)
    checked: MultiplierOracle = oracle
    return checked


def check_answer(answer: BallMinimum, center: Array) -> tuple[Array, float]:
    """Return point and multiplier of an oracle's answer, or raise ValueError."""
    point = check_vector("the oracle's answer", answer[0], center.size)
    multiplier = real_in("the oracle's multiplier", answer[1], 0.0, math.inf, open_high=True)
    return point, multiplier


def accelerate_without_bisection(
    oracle: MultiplierOracle,
    *,
    start: Array,
    domain_radius: float,
    lipschitz: float,
    accuracy: float,
    guess: float | None = None,
    stop: Callable[[Array], bool] | None = None,
    max_calls: int | None = None,
    observe: Callable[[FreeStep], None] | None = None,
    counter: Calls | None = None,
) -> FreeRun:
    """Minimise a convex function with one exact call of the ball oracle in every step.

    Parameters
    ----------
    oracle : MultiplierOracle
        Of radius r; refused if it does not return multipliers.
    start : ndarray, shape (d,)
    domain_radius, lipschitz, accuracy : float
        R, L and the suboptimality asked for, as for `accelerate`.
    guess : float, optional
        Of the first multiplier; L/r where not given.
    stop : callable, optional
        ``stop(x) -> bool``, asked before the first step and after each.
    max_calls : int, optional
    observe : callable, optional
        Is shown every step.
    counter : Counter, optional
        The one that `oracle` counts with; it is checked.

    Returns
    -------
    FreeRun

    Notes
    -----
    The potential falls in every step (resque.ball.free); the number of steps is measured, not
    proved. Scheme: Carmon, Hausler, Jambulapati, Jin and Sidford 2022, as recalled.
    """
    check_multiplier_oracle(oracle)
    x = check_vector("start", start).copy()
    for name, number in (
        ("domain_radius", domain_radius),
        ("lipschitz", lipschitz),
        ("accuracy", accuracy),
    ):
        positive_real(name, number)
    if max_calls is not None:
        whole_number("max_calls", max_calls, minimum=0)
    now = lipschitz / oracle.radius if guess is None else positive_real("guess", guess)
    enough = domain_radius**2 / (2 * accuracy) * (1 - ROUNDING)
    counted = 0 if counter is None else counter.oracle_calls
    v, weight, calls = x, 0.0, 0
    rows: list[tuple[float, float, float]] = []
    while True:
        if stop is not None and stop(x):
            stopped = "stop"
            break
        if weight >= enough:
            stopped = "weight"
            break
        if max_calls is not None and calls >= max_calls:
            stopped = "max_calls"
            break
        size = step_size(now, weight)
        full = weight + size
        y = (weight * x + size * v) / full
        z, multiplier = check_answer(oracle.minimise(y), y)
        calls += 1
        if multiplier == 0:
            x, stopped = z, "minimum"
            break
        part = min(1.0, now / multiplier)
        after = weight + part * size
        x = ((1 - part) * weight * x + part * full * z) / after
        v = mirror_step(v, part * size, multiplier, y, z)
        weight = after
        rows.append((weight, now, multiplier))
        if observe is not None:
            observe(FreeStep(x, v, y, z, weight, full, now, multiplier, part))
        now = now / 2 if multiplier <= now * (1 + TIE) else now * 2
    if counter is not None and counter.oracle_calls - counted != calls:
        raise RuntimeError(
            f"{calls} calls of the oracle were made, but its counter counted "
            f"{counter.oracle_calls - counted}"
        )
    table = np.array(rows, dtype=float).reshape(-1, 3).T
    whole = int((table[2] <= table[1] * (1 + TIE)).sum())
    return FreeRun(x, calls, whole, table[0], table[1], table[2], stopped)
