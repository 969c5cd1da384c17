"""Gaussian smoothing f_rho(x) = E f(x + rho Z) of a convex L-Lipschitz function.

What smoothing costs and what it buys, from the theorems resque.F1 to resque.F4, and estimates of
f_rho by plain sampling where there is no closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bounds.catalogue import theorem
from dp2theory.problems.validation import positive_real, whole_number
from dp2theory.resque.functions import (
    Array,
    Smoothed,
    StochasticFunction,
    check_function,
    check_numbers,
    check_rng,
    check_vector,
)

#: Sampled gradients that are held at a time.
_BLOCK = 4096
_MOST = 10**10  # draws of one estimate; hours of them


def mean_length(dimension: int) -> float:
    """E ||Z|| of a standard normal Z in d dimensions (theorem resque.F1.norm)."""
    return _number("resque.F1.norm", dimension=whole_number("dimension", dimension))


def smoothing_bias(smoothing: float, dimension: int, lipschitz: float = 1.0) -> float:
    """Largest possible value of f_rho - f, which is >= 0: L rho E||Z|| (theorem resque.F1).

    Parameters
    ----------
    smoothing : float
        rho > 0.
    dimension : int
        d.
    lipschitz : float
        L > 0.
    """
    return _number(
        "resque.F1",
        dimension=whole_number("dimension", dimension),
        smoothing_std=positive_real("smoothing", smoothing),
        lipschitz=positive_real("lipschitz", lipschitz),
    )


def smoothing_for(
    accuracy: float, dimension: int, lipschitz: float = 1.0, *, share: float = 0.5
) -> float:
    """The standard deviation rho at which smoothing uses up a share of an accuracy.

    Parameters
    ----------
    accuracy : float
        eps > 0, what f may exceed its minimum by.
    dimension : int
        d.
    lipschitz : float
        L > 0.
    share : float
        The part of `accuracy` that smoothing may cost, in (0, 1); the paper's half by default.

    Returns
    -------
    float
        rho = share eps/(L sqrt(d)): resque.F1 in its simple form L rho sqrt(d), which a little
        overrates the bias L rho E||Z|| (`smoothing_bias`).
    """
    accuracy = positive_real("accuracy", accuracy)
    share = positive_real("share", share)
    if share >= 1:
        raise ValueError(f"share={share!r} must be in (0, 1)")
    for_one = _number(
        "resque.F1",
        "simple",
        dimension=whole_number("dimension", dimension),
        smoothing_std=1,
        lipschitz=positive_real("lipschitz", lipschitz),
    )
    return share * accuracy / for_one


def smoothness(smoothing: float, lipschitz: float = 1.0) -> float:
    """Lipschitz constant sqrt(2/pi) L/rho of the gradient of f_rho (theorem resque.F3)."""
    return _number(
        "resque.F3",
        smoothing_std=positive_real("smoothing", smoothing),
        lipschitz=positive_real("lipschitz", lipschitz),
    )


def gradient_change(distance: ArrayLike, smoothing: float, lipschitz: float = 1.0) -> Array:
    """Largest ||grad f_rho(x) - grad f_rho(y)|| at a distance ||x - y|| (theorem resque.F4).

    2 L (2 Phi(||x - y||/(2 rho)) - 1): near `smoothness` times the distance for close points, and
    2 L at most.  |x| in one dimension attains it.
    """
    return np.asarray(
        theorem("resque.F4").evaluate(
            distance=check_numbers("distance", distance),
            smoothing_std=positive_real("smoothing", smoothing),
            lipschitz=positive_real("lipschitz", lipschitz),
        )
    )


@dataclass(frozen=True, eq=False)
class Estimate:
    """A sampled mean.

    Attributes
    ----------
    mean : ndarray, shape () or (d,)
    standard_error : ndarray, same shape
        Of each entry of the mean.
    draws : int
    """

    mean: Array
    standard_error: Array
    draws: int


@dataclass(frozen=True, eq=False)
class GaussianSmoothing:
    """The smoothed function of a function: closed forms where there are any, sampling everywhere.

    Parameters
    ----------
    function : StochasticFunction
    smoothing : float
        rho > 0.
    """

    function: StochasticFunction
    smoothing: float

    def __post_init__(self) -> None:
        check_function(self.function)
        object.__setattr__(self, "smoothing", positive_real("smoothing", self.smoothing))

    @property
    def bias(self) -> float:
        """Largest possible f_rho - f."""
        return smoothing_bias(self.smoothing, self.function.dimension, self.function.lipschitz)

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of the gradient."""
        return smoothness(self.smoothing, self.function.lipschitz)

    @property
    def exact(self) -> bool:
        """Whether `value` and `gradient` have closed forms."""
        return isinstance(self.function, Smoothed)

    def value(self, x: Array) -> float:
        """f_rho(x), exactly.  ValueError where there is no closed form."""
        return self._closed().smoothed_value(self._point(x), self.smoothing)

    def gradient(self, x: Array) -> Array:
        """The gradient of f_rho, exactly, shape (d,).  ValueError without a closed form."""
        return self._closed().smoothed_gradient(self._point(x), self.smoothing)

    def sampled_value(self, x: Array, *, draws: int, rng: np.random.Generator) -> Estimate:
        """f_rho(x) as a mean of f(x + rho Z).

        Parameters
        ----------
        x : ndarray, shape (d,)
        draws : int
            >= 2; f is evaluated at one point after the other.
        rng : numpy.random.Generator
        """
        x, draws = self._point(x), whole_number("draws", draws, minimum=2, maximum=_MOST)
        rng = check_rng(rng)
        values = np.fromiter(
            (
                self.function.value(x + self.smoothing * rng.standard_normal(x.size))
                for _ in range(draws)
            ),
            dtype=np.float64,
            count=draws,
        )
        return _estimate(values.sum(), values.var() * draws, draws)

    def sampled_gradient(self, x: Array, *, draws: int, rng: np.random.Generator) -> Estimate:
        """The gradient of f_rho as a mean of subgradients of random samples at x + rho Z.

        Parameters
        ----------
        x : ndarray, shape (d,)
        draws : int
            >= 2.
        rng : numpy.random.Generator
        """
        x, draws = self._point(x), whole_number("draws", draws, minimum=2, maximum=_MOST)
        rng = check_rng(rng)
        count, mean, squares = 0, np.zeros_like(x), np.zeros_like(x)
        for start in range(0, draws, _BLOCK):
            size = min(_BLOCK, draws - start)
            points = x + self.smoothing * rng.standard_normal((size, x.size))
            samples = rng.integers(0, self.function.sample_size, size=size)
            gradients = self.function.subgradients(points, samples)
            # Chan, Golub and LeVeque (1983): means and squares of two groups joined.
            here = gradients.mean(axis=0)
            away = here - mean
            count += size
            squares += np.square(gradients - here).sum(axis=0)
            squares += away**2 * size * (count - size) / count
            mean += away * size / count
        return _estimate(mean * draws, squares, draws)

    def _point(self, x: Any) -> Array:
        return check_vector("x", x, self.function.dimension)

    def _closed(self) -> Smoothed:
        if not isinstance(self.function, Smoothed):
            raise ValueError(
                f"function={self.function.name!r} has no closed form of its smoothing: use "
                "sampled_value and sampled_gradient"
            )
        return self.function


def _estimate(total: Any, squares: Any, draws: int) -> Estimate:
    error = np.sqrt(np.asarray(squares) / (draws - 1) / draws)
    return Estimate(np.asarray(total / draws), error, draws)


def _number(identifier: str, name: str = "bound", **parameters: Any) -> float:
    return float(theorem(identifier).evaluate(name, **parameters))
