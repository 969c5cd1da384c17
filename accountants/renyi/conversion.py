"""From a Rényi curve to (ε, δ), order by order, and the search for the best order.

If D is the divergence of order a in both directions, then for every ε

    δ <= exp((a - 1)(D - ε)) (1/a) (1 - 1/a)^(a-1)

(Canonne, Kamath and Steinke, NeurIPS 2020, proposition 12; derived in docs/proofs/renyi.md), and
δ at ε = 0 is at most sqrt(1 - exp(-D)) and sqrt(D/2), since D is at least the divergence of order
one.  With b = a - 1 and K = b D, log δ is convex in a for a given ε, and ε is quasi-convex in a
for a given δ, so that a search over real orders finds the infimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from accountants.renyi.series import ROUND

Array = NDArray[np.float64]
#: From increasing orders to divergences in nats.
Curve = Callable[[Array], Array]

_FIRST = 10.0 ** np.linspace(-3.0, 3.0, 25)  # order - 1; extended where the best is at an end
_SMALLEST, _LARGEST = 1e-9, 1e9
_ROUNDS = 3
_PARABOLAS = 2
_WITHIN = 9

APART = 1 + 1e-12
"""Factor on an ε found by a search: a search for δ at it then finds no more than the δ."""


def log_variation(divergence: Array) -> Array:
    """log of the bound on δ at ε = 0 from a divergence of any order above 1."""
    with np.errstate(divide="ignore", over="ignore"):
        hellinger = 0.5 * np.log(-np.expm1(-divergence))
        return np.minimum(np.minimum(hellinger, 0.5 * np.log(0.5 * divergence)), 0.0) * (
            1 - 4 * ROUND
        )


def epsilons(orders: Array, divergence: Array, log_delta: float) -> Array:
    """ε at a given δ from each order alone.

    Parameters
    ----------
    orders, divergence : ndarray, shape (A,)
        Orders > 1 and divergences; NaN or infinity make an order useless, never 0.
    log_delta : float
        log δ < 0.

    Returns
    -------
    ndarray, shape (A,)
        >= 0, rounded up; ``inf`` where an order says nothing.
    """
    b = orders - 1
    usable = np.isfinite(divergence) & (divergence >= 0)
    d = np.where(usable, divergence, 0.0)
    parts = (d, np.log(b / orders), -(log_delta + np.log(orders)) / b)
    value = parts[0] + parts[1] + parts[2]
    value = value + 8 * ROUND * (
        np.abs(parts[0]) + np.abs(parts[1]) + np.abs(parts[2]) + (np.log(orders) - log_delta) / b
    )
    value = np.where(log_variation(d) <= log_delta, 0.0, np.maximum(value, 0.0))
    return np.where(usable, value, math.inf)


def log_deltas(orders: Array, divergence: Array, epsilon: float) -> Array:
    """log δ at a given ε from each order alone, rounded up; at most 0."""
    b = orders - 1
    usable = np.isfinite(divergence) & (divergence >= 0)
    d = np.where(usable, divergence, 0.0)
    value = b * (d - epsilon) + b * np.log(b / orders) - np.log(orders)
    value = value + 8 * ROUND * (b * (d + epsilon - np.log(b / orders)) + np.log(orders))
    value = np.minimum(np.minimum(value, log_variation(d)), 0.0)
    return np.where(usable, value, 0.0)


def best_order(
    curve: Curve, value: Callable[[Array, Array], Array], enough: float = -math.inf
) -> tuple[float, float]:
    """Smallest value over real orders, and the order that gives it.

    Parameters
    ----------
    curve : callable
        Divergences of an increasing array of orders.
    value : callable
        What each order alone gives, of orders and divergences.
    enough : float
        A value from which no further range of orders is looked at.

    Returns
    -------
    (float, float)
        The value, and its order.
    """

    def evaluate(b: Array) -> Array:
        orders = 1 + b
        return value(orders, curve(orders))

    b = _FIRST
    found = evaluate(b)
    best = int(np.argmin(found))
    while best in (0, b.size - 1) and math.isfinite(found[best]) and found[best] > enough:
        low = best == 0
        if (low and b[0] <= _SMALLEST) or (not low and b[-1] >= _LARGEST):
            break
        more = b[:9] * (b[0] / b[8]) if low else b[-9:] * (b[-1] / b[-9])
        more = more[:-1] if low else more[1:]
        extra = evaluate(more)
        b = np.concatenate((more, b) if low else (b, more))
        found = np.concatenate((extra, found) if low else (found, extra))
        best = int(np.argmin(found))
    answer, order = float(found[best]), 1 + float(b[best])
    low_end, high_end = b[max(best - 1, 0)], b[min(best + 1, b.size - 1)]
    for _ in range(_ROUNDS):
        if not math.isfinite(answer) or answer == 0:
            return answer, order
        b = np.geomspace(low_end, high_end, _WITHIN + 2)
        found = evaluate(b)
        best = int(np.argmin(found))
        if found[best] < answer:
            answer, order = float(found[best]), 1 + float(b[best])
        first, last = max(best - 1, 0), min(best + 1, b.size - 1)
        low_end, high_end = b[first], b[last]
    x, y = np.log(b[first : last + 1]), found[first : last + 1]
    for _ in range(_PARABOLAS):
        left, right = (y[0] - y[1], y[-1] - y[1]) if y.size == 3 else (0.0, 0.0)
        if not left + right > 0:
            break
        width = x[1] - x[0]
        vertex = x[1] + 0.5 * width * (left - right) / (left + right)
        x = vertex + 0.02 * width * np.array([-1.0, 0.0, 1.0])
        y = evaluate(np.exp(x))
        best = int(np.argmin(y))
        if y[best] < answer:
            answer, order = float(y[best]), 1 + math.exp(float(x[best]))
    return answer, order
