"""Functions by name: those with known minima, random data, and real data."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dp2theory.problems.errors import MissingExtraError
from dp2theory.problems.validation import positive_real, real_in, whole_number
from dp2theory.resque.distances import MaxDistance, PositiveMax, WeightedDistance
from dp2theory.resque.functions import Array, StochasticFunction
from dp2theory.resque.losses import AbsoluteLoss, HingeLoss

#: Of a vector or a table: a table of as many takes most of a gigabyte.
_MOST_NUMBERS = 10**8


def maximum(*, dimension: int = 16) -> MaxDistance:
    """Return ||x - c||_inf with c_i proportional to i^(-1/2) and ||c|| = 1."""
    return MaxDistance(_decaying(dimension))


def maximum_flat(*, dimension: int = 16) -> MaxDistance:
    """Return ||x - c||_inf with all c_i equal and ||c|| = 1."""
    return MaxDistance(_flat(dimension), name="max-flat")


def distance(*, dimension: int = 16) -> WeightedDistance:
    """Return ||x - c||_1 / sqrt(d) with c_i proportional to i^(-1/2) and ||c|| = 1."""
    return WeightedDistance(_decaying(dimension), _flat(dimension))


def distance_flat(*, dimension: int = 16) -> WeightedDistance:
    """Return ||x - c||_1 / sqrt(d) with all c_i equal and ||c|| = 1."""
    return WeightedDistance(_flat(dimension), _flat(dimension), name="l1-flat")


def positive_max(*, dimension: int = 16, offset: float = 0.0) -> PositiveMax:
    """Return max(0, max_i x_i - offset)."""
    return PositiveMax(dimension, offset)


def absolute(
    *, records: int = 4000, dimension: int = 8, noise: float = 0.1, seed: int = 0
) -> AbsoluteLoss:
    """Return l1 regression on random data: unit rows, a true vector of length 1/2, R = 1.

    Parameters
    ----------
    records, dimension : int
        n and d.
    noise : float
        Standard deviation of what is added to the targets, >= 0.
    seed : int
    """
    features, rng = _unit_rows(records, dimension, seed)
    noise = real_in("noise", noise, 0.0, np.inf, open_high=True)
    truth = 0.5 * _flat(dimension)
    targets = features @ truth + noise * rng.standard_normal(records)
    return AbsoluteLoss(features, targets, lipschitz=1.0)


def hinge(
    *, records: int = 4000, dimension: int = 8, margin: float = 0.3, seed: int = 0
) -> HingeLoss:
    """Return a support vector machine on random data: unit rows, labels from a noisy direction.

    Parameters
    ----------
    records, dimension : int
        n and d.
    margin : float
        Scale at which labels become certain, > 0: the label is 1 with probability
        1/(1 + exp(-<a, e>/margin)), e the direction of equal coordinates.  R = 4.
    seed : int
    """
    features, rng = _unit_rows(records, dimension, seed)
    score = features @ _flat(dimension) / positive_real("margin", margin)
    labels = np.where(rng.random(records) < 1 / (1 + np.exp(-score)), 1.0, -1.0)
    return HingeLoss(features, labels, radius=4.0, lipschitz=1.0)


def svm_breast_cancer(*, radius: float = 4.0) -> HingeLoss:
    """Return a support vector machine on 569 tumours, 30 standardised measurements, intercept.

    Rows are divided by the longest one, so that L = 1; the preparation reads the data and is not
    accounted.

    Parameters
    ----------
    radius : float
        R > 0; hand-chosen, the minimiser over all space is further away.
    """
    data, classes = _scikit_learn("breast_cancer", "svm-breast-cancer")
    labels = np.where(classes > 0, 1.0, -1.0)
    return HingeLoss(_prepared(data), labels, radius=radius, name="svm-breast-cancer")


def l1_diabetes(*, radius: float = 4.0) -> AbsoluteLoss:
    """Return l1 regression of the progress of 442 diabetics on 10 measurements and an intercept.

    Targets are standardised; rows are divided by the longest one, so that L = 1; the preparation
    reads the data and is not accounted.

    Parameters
    ----------
    radius : float
        R > 0; hand-chosen.
    """
    data, progress = _scikit_learn("diabetes", "l1-diabetes")
    targets = (progress - progress.mean()) / progress.std()
    return AbsoluteLoss(_prepared(data), targets, radius=radius, name="l1-diabetes")


#: What makes each function, by its name on the command line.
FUNCTIONS: dict[str, Callable[..., StochasticFunction]] = {
    "max": maximum,
    "max-flat": maximum_flat,
    "l1": distance,
    "l1-flat": distance_flat,
    "positive-max": positive_max,
    "absolute": absolute,
    "hinge": hinge,
    "svm-breast-cancer": svm_breast_cancer,
    "l1-diabetes": l1_diabetes,
}


def function_named(name: str, **options: Any) -> StochasticFunction:
    """A function by its name.

    Parameters
    ----------
    name : str
        A key of `FUNCTIONS`.
    **options
        Arguments of the maker of that name.

    Raises
    ------
    ValueError
        For an unknown name or option, or a value outside its domain.
    MissingExtraError
        If it needs scikit-learn (extra ``data``).
    """
    if name not in tuple(FUNCTIONS):
        raise ValueError(f"name={name!r}: must be one of {', '.join(FUNCTIONS)}")
    maker = FUNCTIONS[name]
    known = inspect.signature(maker).parameters
    for option, value in options.items():
        if option not in known:
            allowed = ", ".join(known) or "nothing"
            raise ValueError(f"{option}={value!r}: function {name!r} takes {allowed}")
    return maker(**options)


def _size(dimension: int) -> int:
    return whole_number("dimension", dimension, maximum=_MOST_NUMBERS)


def _decaying(dimension: int) -> Array:
    sizes = 1 / np.sqrt(np.arange(1.0, _size(dimension) + 1))
    result: Array = sizes / np.linalg.norm(sizes)
    return result


def _flat(dimension: int) -> Array:
    dimension = _size(dimension)
    return np.full(dimension, dimension**-0.5)


def _unit_rows(records: int, dimension: int, seed: int) -> tuple[Array, np.random.Generator]:
    dimension = _size(dimension)
    records = whole_number("records", records, maximum=max(1, _MOST_NUMBERS // dimension))
    rng = np.random.default_rng(whole_number("seed", seed, minimum=0))
    rows = rng.standard_normal((records, dimension))
    # A little below 1, so that rounding makes no row longer than the public bound L = 1.
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * (1 + 1e-12)
    return rows, rng


def _scikit_learn(data_set: str, name: str) -> tuple[Array, Array]:
    try:
        from sklearn import datasets
    except ImportError:
        raise MissingExtraError(name, "scikit-learn") from None
    load: Any = getattr(datasets, f"load_{data_set}")
    data, target = load(return_X_y=True)
    return np.asarray(data, dtype=np.float64), np.asarray(target, dtype=np.float64)


def _prepared(data: Array) -> Array:
    """Standardised columns, an intercept, and the longest row of length 1."""
    columns = (data - data.mean(axis=0)) / data.std(axis=0)
    rows = np.hstack([columns, np.ones((len(columns), 1))])
    lengths = np.linalg.norm(rows, axis=1)
    result: Array = rows / (lengths.max() * (1 + 1e-12))
    return result
