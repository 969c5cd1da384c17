"""What a run of ball acceleration did, step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dp2theory.resque.functions import Array


@dataclass(frozen=True)
class Step:
    """One accepted step.

    Attributes
    ----------
    x, v : ndarray, shape (d,)
        Both iterates after the step.
    y : ndarray, shape (d,)
        Centre of the ball.
    weight, size, multiplier, move : float
        A after the step, a, l (so that ``l a^2 = A``) and ``||x - y||``.
    calls : int
        Tries of this step, the accepted one included.
    forced : bool
        Taken because the tries were used up, outside of the band and above the floor.
    """

    x: Array = field(repr=False)
    v: Array = field(repr=False)
    y: Array = field(repr=False)
    weight: float
    size: float
    multiplier: float
    move: float
    calls: int
    forced: bool

    @property
    def promised_fall(self) -> float:
        """``l A ||x - y||^2 / 2``: what the potential falls by at least (resque.ball.potential)."""
        return self.multiplier * self.weight * self.move**2 / 2


@dataclass(frozen=True)
class BallRun:
    """What a run of `accelerate` returns.

    Attributes
    ----------
    x, v : ndarray, shape (d,)
        The answer, and the second iterate.
    accepted : int
        Accepted steps.
    calls : int
        Calls of the oracle, including the tries of an unfinished last step.
    weights, multipliers, moves : ndarray, shape (accepted,)
        A_t, l_t and ``||x_t - y_t||``.
    step_calls : ndarray of int, shape (accepted,)
        Tries of each accepted step.
    forced : int
        Steps taken although no try fell into the band; the bound on accepted steps says nothing
        of a run with such steps.
    stopped : str
        ``"stop"`` (the caller's test held), ``"weight"`` (A >= R^2/(2 accuracy), which proves the
        accuracy where the oracle is exact), ``"max_accepted"`` or ``"max_calls"``.
    """

    x: Array = field(repr=False)
    v: Array = field(repr=False)
    accepted: int
    calls: int
    weights: Array = field(repr=False)
    multipliers: Array = field(repr=False)
    moves: Array = field(repr=False)
    step_calls: np.ndarray[Any, np.dtype[np.int64]] = field(repr=False)
    forced: int
    stopped: str

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, without the iterates."""
        return {
            "accepted": self.accepted,
            "calls": self.calls,
            "forced": self.forced,
            "stopped": self.stopped,
            "weights": [float(each) for each in self.weights],
            "multipliers": [float(each) for each in self.multipliers],
            "moves": [float(each) for each in self.moves],
            "step_calls": [int(each) for each in self.step_calls],
        }
