"""Independence, conditional means and normality on a finite probability space."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from bounds.evaluate_functions import Values
from bounds.evaluate_numpy import Arrays
from bounds.evaluate_scalar import free_symbols

__all__ = ["conditional", "independent", "standard_normal"]

_TOLERANCE = 1e-10


def independent(
    fact: Any, arrays: Arrays, axes: tuple[Any, ...], weights: Values, guard: Any
) -> bool:
    """``Independent(X, Y1, …)``: the joint law of X and all Ys is the product of the two laws."""
    target, *others = fact.args
    for (x,), ys in _cases([target], others, arrays, axes, weights.size, guard):
        first, second = _labels(x[np.newaxis]), _labels(ys)
        joint = np.zeros((first.max() + 1, second.max() + 1))
        np.add.at(joint, (first, second), weights)
        if np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).max() > _TOLERANCE:
            return False
    return True


def conditional(
    fact: Any, arrays: Arrays, axes: tuple[Any, ...], weights: Values, guard: Any
) -> bool:
    """``Conditional(X, M, Y1, …)``: M is the mean of X where all Ys have given values."""
    target, mean, *others = fact.args
    for (x, m), ys in _cases([target, mean], others, arrays, axes, weights.size, guard):
        groups = _labels(ys)
        mass = np.bincount(groups, weights)
        average = np.bincount(groups, weights * x) / np.where(mass > 0, mass, 1.0)
        size = 1 + np.abs(x).max()
        if np.abs((average[groups] - m)[weights > 0]).max(initial=0) > _TOLERANCE * size:
            return False
    return True


def standard_normal(values: Values, weights: Values) -> bool:
    """Moments 1 to 4 of a quadrature of N(0, 1), for every index: 0, 1, 0, 3."""
    if values.shape[-1] != weights.size:
        return False
    rows = values.reshape(-1, weights.size)
    rows = rows[~np.isnan(rows).any(axis=1)]
    moments = np.stack([rows**power @ weights for power in (1, 2, 3, 4)], axis=-1)
    return bool(np.allclose(moments, [0, 1, 0, 3], atol=1e-9))


def _cases(
    targets: list[Any],
    others: list[Any],
    arrays: Arrays,
    axes: tuple[Any, ...],
    scenarios: int,
    guard: Any,
) -> Iterator[tuple[list[Values], Values]]:
    """For all values of the targets' indices: the targets, and the Ys for all other indices.

    A guard's indices are fixed too; only where it holds is anything claimed.
    """
    fixed = targets if guard is None else [*targets, guard]
    own = {each for target in fixed for each in free_symbols(target)}
    allowed = None if guard is None else arrays.truth(guard)
    shape = np.broadcast_shapes(
        *(np.shape(each) for each in arrays.values.values()), (1,) * (len(axes) + 1)
    )[:-1]
    full = (*shape, scenarios)
    xs = [np.broadcast_to(arrays.value(target), full) for target in targets]
    ys = [np.broadcast_to(arrays.value(each), full) for each in others]
    covers = None if allowed is None else np.broadcast_to(allowed, (*shape, allowed.shape[-1]))
    places: list[Any] = [
        range(size) if axes[at] is None or axes[at] in own else [slice(None)]
        for at, size in enumerate(shape)
    ]
    for place in product(*places):
        spots = tuple(each if isinstance(each, int) else 0 for each in place)
        if covers is not None and not bool(covers[spots].all()):
            continue
        values = [x[spots] for x in xs]
        if any(np.isnan(value).any() for value in values):
            continue
        rows = np.concatenate([y[tuple(place)].reshape(-1, scenarios) for y in ys])
        rows = rows[~np.isnan(rows).any(axis=1)]
        yield values, rows if rows.size else np.zeros((1, scenarios))


def _labels(rows: Values) -> Values:
    """A number for every different column."""
    size = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
    rounded = np.round(rows / size, 10) + 0.0
    return np.asarray(np.unique(rounded, axis=1, return_inverse=True)[1]).reshape(-1)
