"""How many records and gradients the rate of the private method asks for."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from accountants import validation
from bounds.catalogue import theorem
from dp2theory.problems.validation import positive_real, whole_number

_LARGEST = 10**15  # more records than anybody has


@dataclass(frozen=True)
class NeededSize:
    """What resque.private.rate asks for.

    Attributes
    ----------
    dataset_size : int
        Smallest n at which the rate's error is the accuracy asked for.
    queries : float
        Gradients that the rate has there.
    """

    dataset_size: int
    queries: float

    def to_json(self) -> dict[str, float]:
        """Return a JSON-ready dict."""
        return asdict(self)


def needed_size(
    *, dimension: int, relative_accuracy: float, target_epsilon: float, target_delta: float
) -> NeededSize:
    """Return the smallest n whose best error is the accuracy, and the gradients at that n.

    Parameters
    ----------
    dimension : int
        d.
    relative_accuracy : float
        Accuracy over L R, in (0, 1].
    target_epsilon, target_delta : float
        The budget. The rate, max(n^-1/2, sqrt(d)/(n eps)), has no delta in it: eps is divided by
        sqrt(log(1/delta)) first, as in the lower bound of private convex optimisation.

    Returns
    -------
    NeededSize
        Without constants and other logarithms: what is really needed is more.

    Raises
    ------
    ValueError
        If an argument is outside its domain, or more than 10^15 records are needed.
    """
    accuracy = positive_real("relative_accuracy", relative_accuracy)
    if accuracy > 1:
        raise ValueError(f"relative_accuracy={relative_accuracy!r} must be at most 1 (L R)")
    whole_number("dimension", dimension)
    epsilon = validation.target_epsilon(target_epsilon, open_ends=True)
    delta = validation.target_delta(target_delta, open_ends=True)
    epsilon /= math.sqrt(-math.log(delta))
    rate = theorem("resque.private.rate")

    def value(name: str, size: int) -> float:
        return float(
            rate.evaluate(name, dataset_size=size, dimension=dimension, target_epsilon=epsilon)
        )

    low, high = 0, 1
    while value("optimal_error", high) > accuracy * (1 + 1e-12):
        low, high = high, 2 * high
        if high > _LARGEST:
            raise ValueError(
                f"relative_accuracy={relative_accuracy!r} must be reached by {_LARGEST} records"
            )
    while high - low > 1:
        middle = (low + high) // 2
        if value("optimal_error", middle) > accuracy * (1 + 1e-12):
            low = middle
        else:
            high = middle
    return NeededSize(high, value("bound", high))
