"""The ball oracle called on its own answer, again and again: what acceleration is compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dp2theory.problems.validation import whole_number
from dp2theory.resque.ball_acceleration import Calls
from dp2theory.resque.bisection_free import (
    MultiplierOracle,
    check_answer,
    check_multiplier_oracle,
)
from dp2theory.resque.functions import Array, check_vector


@dataclass(frozen=True)
class NaiveRun:
    """What `iterate_oracle` returns.

    Attributes
    ----------
    x : ndarray, shape (d,)
        The answer.
    calls : int
        Calls of the ball oracle.
    moves : ndarray, shape (calls,)
        How far each call moved; r until the last one.
    stopped : str
        ``"stop"``, ``"minimum"`` (a minimiser inside of the ball), ``"stalled"`` (the answer was
        where the call began: the radius is below rounding) or ``"max_calls"``.
    """

    x: Array = field(repr=False)
    calls: int
    moves: Array = field(repr=False)
    stopped: str

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, without the iterate."""
        return {
            "calls": self.calls,
            "moves": [float(each) for each in self.moves],
            "stopped": self.stopped,
        }


def iterate_oracle(
    oracle: MultiplierOracle,
    *,
    start: Array,
    stop: Callable[[Array], bool] | None = None,
    max_calls: int | None = None,
    observe: Callable[[Array], None] | None = None,
    counter: Calls | None = None,
) -> NaiveRun:
    """Call the ball oracle on its own answer: x <- argmin of f on B(x, r).

    Parameters
    ----------
    oracle : MultiplierOracle
        Exact, of radius r. Its multiplier is read only to see that it is 0.
    start : ndarray, shape (d,)
    stop : callable, optional
        ``stop(x) -> bool``, asked before the first call and after each.
    max_calls : int, optional
    observe : callable, optional
        Is shown every answer.
    counter : Counter, optional
        The one that `oracle` counts with; it is checked.

    Returns
    -------
    NaiveRun

    Notes
    -----
    The ball around x holds the point a part r/||x - x*|| of the way to a minimiser x*, and no call
    moves away from x*. So f(x) - f* falls by the factor 1 - r/R at least, and the calls grow as
    R/r.
    """
    check_multiplier_oracle(oracle)
    x = check_vector("start", start).copy()
    if max_calls is not None:
        whole_number("max_calls", max_calls, minimum=0)
    counted = 0 if counter is None else counter.oracle_calls
    moves: list[float] = []
    while True:
        if stop is not None and stop(x):
            stopped = "stop"
            break
        if max_calls is not None and len(moves) >= max_calls:
            stopped = "max_calls"
            break
        answer, multiplier = check_answer(oracle.minimise(x), x)
        moves.append(float(np.linalg.norm(answer - x)))
        x = answer
        if observe is not None:
            observe(x)
        if multiplier == 0:
            stopped = "minimum"
            break
        if moves[-1] == 0:
            stopped = "stalled"
            break
    if counter is not None and counter.oracle_calls - counted != len(moves):
        raise RuntimeError(
            f"{len(moves)} calls of the oracle were made, but its counter counted "
            f"{counter.oracle_calls - counted}"
        )
    return NaiveRun(x, len(moves), np.array(moves), stopped)
