"""Distances to a point in the max norm and in weighted l1, and a maximum of coordinates.

Their minima are known and they have exact proximal maps: what acceleration is tested on.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dp2theory.problems.validation import positive_real, real_in, whole_number
from dp2theory.resque.closed_forms import smoothed_absolute
from dp2theory.resque.functions import Array, IndexArray, check_vector


def project_l1(vector: Array, radius: float = 1.0) -> Array:
    """The nearest point of the l1 ball of a radius around 0.

    Parameters
    ----------
    vector : ndarray, shape (d,)
    radius : float
        > 0.

    Returns
    -------
    ndarray, shape (d,)
        Every coordinate shrunk by one threshold, found from the sorted sizes (Held, Wolfe and
        Crowder, 1974).
    """
    vector = check_vector("vector", vector)
    positive_real("radius", radius)
    sizes = np.abs(vector)
    if sizes.sum() <= radius:
        return np.array(vector)
    ordered = np.sort(sizes)[::-1]
    excess = (np.cumsum(ordered) - radius) / np.arange(1, ordered.size + 1)
    kept = ordered > excess
    kept[0] = True  # also where the radius is below the rounding of the largest size
    threshold = excess[np.flatnonzero(kept)[-1]]
    shrunk: Array = np.sign(vector) * np.maximum(sizes - threshold, 0.0)
    return shrunk


@dataclass(frozen=True, eq=False)
class MaxDistance:
    """f(x) = max_i |x_i - c_i|, 1-Lipschitz, minimum 0 at c.

    Parameters
    ----------
    center : ndarray, shape (d,)
        c, not 0; the start is 0 and R = ||c||.
    name, sample_size, lipschitz, optimal_value
        See `dp2theory.resque.functions.StochasticFunction`: one sample, L = 1, minimum 0.
    """

    center: Array
    name: str = "max"
    sample_size: int = 1
    lipschitz: float = 1.0
    optimal_value: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _center(self.center))
        positive_real("lipschitz", self.lipschitz)
        _check_known(self.sample_size, self.optimal_value)

    @property
    def dimension(self) -> int:
        """d."""
        return self.center.size

    @cached_property
    def start(self) -> Array:
        """Zeros, shape (d,)."""
        return np.zeros(self.dimension)

    @cached_property
    def radius(self) -> float:
        """R = ||c||, the distance of the minimiser from the start."""
        return float(np.linalg.norm(self.center))

    def value(self, x: Array) -> float:
        """Return f(x)."""
        return float(np.abs(check_vector("x", x, self.dimension) - self.center).max())

    def subgradients(self, points: Array, samples: IndexArray) -> Array:
        """Return the sign at the first largest coordinate, 0 elsewhere; shape (N, d)."""
        away = points - self.center
        rows, largest = np.arange(len(away)), np.abs(away).argmax(axis=1)
        result = np.zeros_like(away)
        result[rows, largest] = np.sign(away[rows, largest])
        return result

    def prox(self, center: Array, multiplier: float) -> Array:
        """Return argmin f + multiplier/2 ||. - center||^2, by Moreau's identity."""
        center = check_vector("center", center, self.dimension)
        positive_real("multiplier", multiplier)
        moved: Array = center - project_l1(multiplier * (center - self.center)) / multiplier
        return moved


@dataclass(frozen=True, eq=False)
class WeightedDistance:
    """f(x) = sum_i w_i |x_i - c_i|, ||w||-Lipschitz, minimum 0 at c.

    Parameters
    ----------
    center : ndarray, shape (d,)
        c, not 0; the start is 0 and R = ||c||.
    weights : ndarray, shape (d,)
        w, positive.
    name, sample_size, optimal_value
        See `dp2theory.resque.functions.StochasticFunction`: one sample, minimum 0.
    """

    center: Array
    weights: Array
    name: str = "l1"
    sample_size: int = 1
    optimal_value: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _center(self.center))
        weights = check_vector("weights", self.weights, self.center.size)
        if not (weights > 0).all():
            raise ValueError(f"weights holds {weights.min()}, must be positive")
        object.__setattr__(self, "weights", weights)
        _check_known(self.sample_size, self.optimal_value)

    @property
    def dimension(self) -> int:
        """d."""
        return self.center.size

    @cached_property
    def lipschitz(self) -> float:
        """L = ||w||."""
        return float(np.linalg.norm(self.weights))

    @cached_property
    def start(self) -> Array:
        """Zeros, shape (d,)."""
        return np.zeros(self.dimension)

    @cached_property
    def radius(self) -> float:
        """R = ||c||, the distance of the minimiser from the start."""
        return float(np.linalg.norm(self.center))

    def value(self, x: Array) -> float:
        """Return f(x)."""
        return float(self.weights @ np.abs(check_vector("x", x, self.dimension) - self.center))

    def subgradients(self, points: Array, samples: IndexArray) -> Array:
        """Return w times the signs, shape (N, d)."""
        result: Array = self.weights * np.sign(points - self.center)
        return result

    def smoothed_value(self, x: Array, smoothing: float) -> float:
        """Return E f(x + smoothing Z)."""
        away = check_vector("x", x, self.dimension) - self.center
        real_in("smoothing", smoothing, 0.0, np.inf, open_high=True)
        return float(self.weights @ smoothed_absolute(away, smoothing)[0])

    def smoothed_gradient(self, x: Array, smoothing: float) -> Array:
        """Return the gradient of the average, shape (d,)."""
        away = check_vector("x", x, self.dimension) - self.center
        real_in("smoothing", smoothing, 0.0, np.inf, open_high=True)
        result: Array = self.weights * smoothed_absolute(away, smoothing)[1]
        return result

    def prox(self, center: Array, multiplier: float) -> Array:
        """Return argmin f + multiplier/2 ||. - center||^2: soft thresholds."""
        center = check_vector("center", center, self.dimension)
        positive_real("multiplier", multiplier)
        away = center - self.center
        shrunk = np.maximum(np.abs(away) - self.weights / multiplier, 0.0)
        result: Array = self.center + np.sign(away) * shrunk
        return result


@dataclass(frozen=True, eq=False)
class PositiveMax:
    """f(x) = max(0, max_i x_i - offset), 1-Lipschitz, minimum 0 at the start.

    With steps that leave the flat part at once, one differing step of a subgradient method sends
    two runs apart coordinate by coordinate: the instance on which raw drift is at its worst.

    Parameters
    ----------
    dimension : int
    offset : float
        >= 0.
    radius : float
        R > 0.
    name, sample_size, lipschitz, optimal_value
        See `dp2theory.resque.functions.StochasticFunction`: one sample, L = 1, minimum 0.
    """

    dimension: int
    offset: float = 0.0
    radius: float = 1.0
    name: str = "positive-max"
    sample_size: int = 1
    lipschitz: float = 1.0
    optimal_value: float = 0.0

    def __post_init__(self) -> None:
        whole_number("dimension", self.dimension)
        real_in("offset", self.offset, 0.0, np.inf, open_high=True)
        positive_real("radius", self.radius)
        positive_real("lipschitz", self.lipschitz)
        _check_known(self.sample_size, self.optimal_value)

    @cached_property
    def start(self) -> Array:
        """Zeros, shape (d,)."""
        return np.zeros(self.dimension)

    def value(self, x: Array) -> float:
        """Return f(x)."""
        return max(0.0, float(check_vector("x", x, self.dimension).max()) - self.offset)

    def subgradients(self, points: Array, samples: IndexArray) -> Array:
        """Return the unit vector of the first largest coordinate where it is above the offset."""
        rows, largest = np.arange(len(points)), points.argmax(axis=1)
        result = np.zeros_like(points)
        result[rows, largest] = points[rows, largest] > self.offset
        return result


def _check_known(sample_size: int, optimal_value: float | None) -> None:
    """Refuse constants that are none; an optimum that is not known is None."""
    whole_number("sample_size", sample_size)
    if optimal_value is not None:
        real_in("optimal_value", optimal_value, -sys.float_info.max, sys.float_info.max)


def _center(value: Array) -> Array:
    center = check_vector("center", value)
    if not center.any():
        raise ValueError("center is 0, must not be: the start is 0")
    return center
