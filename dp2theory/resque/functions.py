"""What is minimised: the mean of convex Lipschitz functions that can be queried one by one."""

from __future__ import annotations

import reprlib
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dp2theory.problems.validation import positive_real, whole_number

Array = NDArray[np.float64]
IndexArray = NDArray[np.int64]


@runtime_checkable
class StochasticFunction(Protocol):
    """f(x) = mean over samples s of f_s(x), each f_s convex and L-Lipschitz.

    Attributes
    ----------
    name : str
    dimension : int
        d.
    sample_size : int
        Number n of samples; 1 for a function that is not a mean.
    lipschitz : float
        L: the l2 norm of every subgradient of every f_s is at most this.
    start : ndarray, shape (d,)
        Where algorithms start.
    radius : float
        R: results are compared with the smallest value of f within R of ``start``.
    optimal_value : float or None
        That smallest value, where it is known.
    """

    @property
    def name(self) -> str:
        """Name for people."""

    @property
    def dimension(self) -> int:
        """Number d of parameters."""

    @property
    def sample_size(self) -> int:
        """Number n of samples."""

    @property
    def lipschitz(self) -> float:
        """L."""

    @property
    def start(self) -> Array:
        """Where algorithms start, shape (d,)."""

    @property
    def radius(self) -> float:
        """R."""

    @property
    def optimal_value(self) -> float | None:
        """Smallest value within R of the start, where known."""

    def value(self, x: Array) -> float:
        """Return f(x), exactly."""

    def subgradients(self, points: Array, samples: IndexArray) -> Array:
        """Return a subgradient of f_samples[i] at points[i] for each i.

        Parameters
        ----------
        points : ndarray, shape (N, d)
        samples : ndarray of int, shape (N,)

        Returns
        -------
        ndarray, shape (N, d)

        Notes
        -----
        The innermost call of every method: it trusts its arguments, which `QueryPool.draw` and
        the algorithms have checked.
        """


@runtime_checkable
class Smoothed(Protocol):
    """A function whose average over a Gaussian has a closed form."""

    def smoothed_value(self, x: Array, smoothing: float) -> float:
        """Return E f(x + smoothing Z), Z standard normal in d dimensions."""

    def smoothed_gradient(self, x: Array, smoothing: float) -> Array:
        """Return its gradient, shape (d,)."""


@runtime_checkable
class Proximal(Protocol):
    """A function whose proximal map has a closed form."""

    def prox(self, center: Array, multiplier: float) -> Array:
        """Return argmin f + multiplier/2 ||. - center||^2, shape (d,)."""


@runtime_checkable
class Recorded(StochasticFunction, Protocol):
    """A function that is the mean over records of a data set."""

    def part(self, records: IndexArray) -> Recorded:
        """Return the mean over some records, by their indices."""


def check_numbers(name: str, value: Any) -> Array:
    """Return `value` as an array of floats of any shape, or raise ValueError.

    Text, truth values and complex numbers are no real numbers, though NumPy would turn them into
    such.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name}={reprlib.repr(value)} must be made of real numbers")
    return array.astype(np.float64, copy=False)


def check_vector(name: str, value: Any, dimension: int | None = None) -> Array:
    """Return `value` as a finite float array of shape (dimension,), or raise ValueError."""
    array = check_numbers(name, value)
    wanted = "(d,)" if dimension is None else f"({dimension},)"
    if array.ndim != 1 or not array.size or (dimension is not None and array.size != dimension):
        raise ValueError(f"{name} has shape {array.shape!r}, must be {wanted}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has entries that are not finite, must have none")
    return array


def check_table(features: Any, targets: Any, names: tuple[str, str]) -> tuple[Array, Array]:
    """Return a table of shape (n, d) and its column of shape (n,), finite, or raise ValueError."""
    table = check_numbers(names[0], features)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"{names[0]} has shape {table.shape!r}, must be (n, d), not empty")
    if not np.isfinite(table).all():
        raise ValueError(f"{names[0]} has entries that are not finite, must have none")
    return table, check_vector(names[1], targets, table.shape[0])


def check_domain(start: Any, radius: Any, dimension: int) -> tuple[Array, float]:
    """Return a start (zeros where None) and a radius, or raise ValueError."""
    center = np.zeros(dimension) if start is None else check_vector("start", start, dimension)
    return center, positive_real("radius", radius)


def check_rng(rng: Any) -> np.random.Generator:
    """Return the generator itself, or a new one from a seed, or raise ValueError."""
    if isinstance(rng, np.random.Generator):
        return rng
    try:
        return np.random.default_rng(whole_number("rng", rng, minimum=0))
    except ValueError:
        raise ValueError(
            f"rng={reprlib.repr(rng)} must be a numpy.random.Generator or an integer >= 0"
        ) from None


def check_generator(rng: Any) -> None:
    """Refuse what is no generator, seeds too: a state that several objects share has to be one."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng={reprlib.repr(rng)} must be a numpy.random.Generator")


def check_ball(radius: Any, smoothing: Any) -> None:
    """Refuse a ball that is wider than the smoothing, or sizes that are not positive."""
    if positive_real("radius", radius) > positive_real("smoothing", smoothing):
        raise ValueError(
            f"radius={radius!r} must be at most smoothing={smoothing!r}: the second moment of the"
            " estimator is bounded there only (resque.E5)"
        )


def check_band(band: Any, *, closed: bool = False) -> tuple[float, float]:
    """Return two numbers 0 < low < high < 1 (<= 1 if `closed`), or raise ValueError."""
    allowed = f"must be two numbers 0 < low < high {'<=' if closed else '<'} 1"
    try:
        low, high = (positive_real("band", each) for each in band)
    except (TypeError, ValueError):
        raise ValueError(f"band={reprlib.repr(band)} {allowed}") from None
    if not low < high <= 1 or (high == 1 and not closed):
        raise ValueError(f"band={band!r} {allowed}")
    return low, high


def check_records(records: Any, size: int, name: str = "records") -> IndexArray:
    """Return indices of records within [0, size), at least one, or raise ValueError."""
    try:
        array = np.asarray(records)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} has shape {array.shape!r} and type {array.dtype}, must be integers of shape "
            "(m,), not empty"
        )
    if array.min() < 0 or array.max() >= size:
        bad = array[(array < 0) | (array >= size)][0]
        raise ValueError(f"{name} holds {bad}, must be within [0, {size})")
    return array.astype(np.int64)


_ATTRIBUTES = (
    "name", "dimension", "sample_size", "lipschitz", "start", "radius", "optimal_value", "value",
    "subgradients",
)  # fmt: skip


def check_function(function: Any) -> StochasticFunction:
    """Return `function` if it can be minimised here, or raise ValueError."""
    if not isinstance(function, StochasticFunction):
        missing = [name for name in _ATTRIBUTES if not hasattr(function, name)]
        raise ValueError(
            f"function={reprlib.repr(function)}: must have the attributes of a StochasticFunction "
            f"(dp2theory.resque.functions); missing: {', '.join(missing)}"
        )
    whole_number("function.dimension", function.dimension)
    whole_number("function.sample_size", function.sample_size)
    positive_real("function.lipschitz", function.lipschitz)
    positive_real("function.radius", function.radius)
    check_vector("function.start", function.start, function.dimension)
    return function
