"""What every non-private method returns, and when it stops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dp2theory.problems.validation import positive_real, real_in
from dp2theory.resque.counters import Counts
from dp2theory.resque.functions import Array, StochasticFunction

#: What is told after every round: rounds so far, f(x) - f* (None where f* is not known).
Progress = Callable[[int, float | None], None]


@dataclass(frozen=True)
class ParallelRun:
    """A run of one method on one function.

    Attributes
    ----------
    x : ndarray, shape (d,)
        The answer.
    method, function : str
    dimension : int
    accuracy : float
        What was asked for.
    value : float
        f(x).
    suboptimality : float or None
        f(x) - f*; None where f* is not known. It is negative when x is outside of the ball of
        radius R and better than everything inside.
    counts : Counts
    accepted : int or None
        Accepted steps of ball acceleration; None for the other methods.
    forced : int or None
        Those among them for which no multiplier was found in time.
    K : float or None
        (R/r)^(2/3), the natural number of ball steps.
    smoothing : float or None
        rho; None without smoothing.
    stopped : str
        ``"accuracy"`` (f(x) - f* <= accuracy was seen), ``"guarantee"`` (the steps after which
        the method's own bound is met), or ``"max_rounds"``.
    """

    x: Array = field(repr=False)
    method: str
    function: str
    dimension: int
    accuracy: float
    value: float
    suboptimality: float | None
    counts: Counts
    accepted: int | None
    forced: int | None
    K: float | None
    smoothing: float | None
    stopped: str

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, without the point."""
        return {
            "method": self.method,
            "function": self.function,
            "dimension": self.dimension,
            "accuracy": self.accuracy,
            "value": self.value,
            "suboptimality": self.suboptimality,
            "counts": self.counts.to_json(),
            "accepted": self.accepted,
            "forced": self.forced,
            "K": self.K,
            "smoothing": self.smoothing,
            "stopped": self.stopped,
        }


@dataclass(frozen=True)
class Target:
    """f* + accuracy, where f* is known.

    Reading f is no query: the methods themselves never see it, and no count includes it.

    Attributes
    ----------
    function : StochasticFunction
    accuracy : float
        eps > 0.
    optimal_value : float or None
        f*; None where it is not known: then no run ends at the target.
    """

    function: StochasticFunction
    accuracy: float
    optimal_value: float | None

    def gap(self, x: Array) -> float | None:
        """Return f(x) - f*, or None."""
        return None if self.optimal_value is None else self.function.value(x) - self.optimal_value

    def reached(self, x: Array) -> bool:
        """Whether f(x) - f* <= accuracy is known."""
        gap = self.gap(x)
        return gap is not None and gap <= self.accuracy


def make_target(
    function: StochasticFunction, accuracy: float, optimal_value: float | None
) -> Target:
    """Return the target; `optimal_value` None means the function's own."""
    known = function.optimal_value if optimal_value is None else optimal_value
    if known is not None:
        known = real_in("optimal_value", known, -np.inf, np.inf)
        if not np.isfinite(known):
            raise ValueError(f"optimal_value={known!r} must be finite")
    return Target(function, positive_real("accuracy", accuracy), known)
