"""What a run of a private baseline hands back, and the ball that both baselines stay in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dp2theory.resque.counters import Counts
from dp2theory.resque.functions import Array, Recorded, StochasticFunction, check_function

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import Bracket


class BaselinePlan(Protocol):
    """What is fixed before a run reads the data."""

    @property
    def epsilon(self) -> Bracket:
        """Epsilon at the target delta, under replacement of a record."""

    @property
    def parts(self) -> tuple[DpEvent, ...]:
        """One event for each disjoint part of the data."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""


@dataclass(frozen=True, eq=False)
class Release:
    """What a run published once, and what was hidden in it.

    Attributes
    ----------
    clean : ndarray, shape (d,)
        Before the noise; must stay secret.
    released : ndarray, shape (d,)
        With the noise, before any projection.
    noise_std : float
        What the noise was asked to be, per coordinate.
    """

    clean: Array
    released: Array
    noise_std: float


@dataclass(frozen=True, eq=False)
class BaselineRun:
    """Parameters of a private run, with what they cost.

    Attributes
    ----------
    method : str
    parameters : ndarray, shape (d,)
    counts : Counts
        Queries, depths.
    plan : BaselinePlan
        Settings with their privacy.
    releases : tuple of Release
        Only what is not summed up at once (phased localisation); for checks, not for publication.
    """

    method: str
    parameters: Array
    counts: Counts
    plan: BaselinePlan
    releases: tuple[Release, ...] = ()

    @property
    def parts(self) -> tuple[DpEvent, ...]:
        """One event for each disjoint part of the data: a record is in one, epsilon the largest."""
        return self.plan.parts

    @property
    def epsilon(self) -> Bracket:
        """Epsilon at the target delta, under replacement of a record."""
        return self.plan.epsilon

    def to_json(self) -> dict[str, Any]:
        """Plain values; the ledger as event trees, epsilon as {lower, upper}."""
        from accountants.ledger_trees import event_to_json

        return {
            "method": self.method,
            "parameters": self.parameters.tolist(),
            "counts": self.counts.to_json(),
            "epsilon": self.epsilon.to_json(),
            "plan": self.plan.to_json(),
            "ledger": [event_to_json(event) for event in self.parts],
        }


def check_private(function: Any) -> StochasticFunction:
    """Return a function whose samples are records, at least two, or raise ValueError."""
    checked = check_function(function)
    if not isinstance(checked, Recorded) or checked.sample_size < 2:
        raise ValueError(
            f"function={checked.name!r} with {checked.sample_size} sample(s): must be a mean over "
            "at least 2 records of a data set (part), such as an AbsoluteLoss"
        )
    return checked


def check_planned(function: Any, dataset_size: int, lipschitz: float) -> StochasticFunction:
    """Return a function that fits a plan in what is public, or raise ValueError."""
    checked = check_private(function)
    for name, found, planned in (
        ("sample_size", checked.sample_size, dataset_size),
        ("lipschitz", checked.lipschitz, lipschitz),
    ):
        if found != planned:
            raise ValueError(f"function.{name}={found!r}: must be {planned!r}, as in the plan")
    return checked


def project(x: Array, center: Array, radius: float) -> Array:
    """Return the nearest point of B(center, radius)."""
    moved = x - center
    length = float(np.sqrt(moved @ moved))
    return x if length <= radius else center + (radius / length) * moved


def shortened(gradients: Array, longest: float) -> Array:
    """Return rows of length at most `longest`: privacy must not hang on a function's promise."""
    squares = np.einsum("ij,ij->i", gradients, gradients)
    if not squares.size or squares.max() <= longest**2:
        return gradients
    lengths = np.sqrt(squares)
    result: Array = gradients * np.minimum(1.0, longest / np.maximum(lengths, longest))[:, None]
    return result
