"""Rényi divergences of sampled Gaussian pairs, all orders at once, by the trapezoid rule.

With b = order - 1, loss L = log(P/Q) and M the moment E_Q (P/Q)^order,

    M - 1 = E_P [exp(bL) - 1 - bL] + b E_Q [(P/Q) L - P/Q + 1],

two sums of non-negative terms: nothing cancels at small sampling probabilities or as b -> 0.
Every value returned is an upper bound: the error of the rule, the tails that are cut off and
rounding are bounded and added (derived in docs/proofs/renyi.md).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from accountants.renyi.lines import Mixture, Nodes, Order, line_nodes
from accountants.renyi.series import ROUND
from accountants.renyi.strips import Strip, rounding

Array = NDArray[np.float64]

_NEGLIGIBLE = 1e-14
_MAX_NODES = 500_000
_MAX_CELLS = 4_000_000
MAX_TERMS = 10_000_000  #: nodes times numbers of copies; beyond it a closed bound has to do
_RATIO = 8.0  # spread of order - 1 within a block
_NEAR = 0.5  # |bL| up to which a series is summed
_OVERFLOW = 600.0
COARSE = 5e-11  #: rounding from which nodes are in extended precision
_POWERS = np.arange(2, 17)
_FACTORIALS = special.factorial(_POWERS)


def divergences(mixture: Mixture, order: Order, orders: Array) -> Array:
    """Upper bounds on the Rényi divergences of one pair.

    Parameters
    ----------
    mixture : Mixture
    order : Order
        Which of the two distributions comes first.
    orders : ndarray, shape (A,)
        Finite orders > 1, increasing.

    Returns
    -------
    ndarray, shape (A,)
        In nats.
    """
    b = orders - 1
    log_moment, exact = _closed(mixture, order, b)
    result = log_moment * (1 + 8 * ROUND) / b
    todo = np.flatnonzero(~exact)
    for some in _grids(mixture, order, b, todo):
        result[some] = np.fmin(result[some], _by_quadrature(mixture, order, b[some]))
    return result


def _closed(mixture: Mixture, order: Order, b: Array) -> tuple[Array, NDArray[np.bool_]]:
    """A closed upper bound on the log moment, and where it is exact to 1e-14."""
    if order is Order.ADD:  # P/Q <= 1/p_0
        return -b * mixture.log_absent, np.zeros(b.shape, dtype=np.bool_)
    log_moment, excess = mixture.log_power_mean(b)
    if order is Order.REPLACE:
        # The mirror image is at least p_0, and near p_0 where the ratio is large.
        log_moment = log_moment - b * mixture.log_absent
        far = np.exp(-(1 + b) * mixture.gap**2)
        excess = excess + b * np.log1p(mixture.present / mixture.absent * far)
    return log_moment, excess <= _NEGLIGIBLE * log_moment


def _grids(
    mixture: Mixture, order: Order, b: Array, todo: NDArray[np.intp]
) -> list[NDArray[np.intp]]:
    """Orders that share one set of nodes: those with a similar range and step."""
    if not todo.size:
        return []
    wide = b[todo] * mixture.reach
    if order is not Order.REMOVE:
        wide = np.maximum(wide, -4 * b[todo] * mixture.log_absent)
    level = np.floor(np.log2(np.maximum(wide / 100.0, 1.0)) / 2)
    return list(np.split(todo, np.flatnonzero(np.diff(level)) + 1))


def _by_quadrature(mixture: Mixture, order: Order, b: Array) -> Array:
    strip = Strip.of(mixture, order, float(b[0]), float(b[-1]))
    if strip.size > _MAX_NODES or strip.size * len(mixture.probabilities) > MAX_TERMS:
        return np.full(b.shape, math.inf)
    lost = rounding(mixture, order, b, strip.edge)
    fine = (lost > COARSE * (mixture.size(b) if order is not Order.ADD else 1.0)).any()
    dtype = np.longdouble if fine else np.float64
    unit = float(np.finfo(dtype).eps) / 2
    nodes = line_nodes(mixture, order, strip.nodes().astype(dtype), strip.step)
    ends = strip.ends(b)
    log_excess = log_moments(nodes, b, ends).astype(np.float64)
    last = (nodes.log_mass[ends - 1] + b * nodes.loss[ends - 1]).astype(np.float64)
    last -= math.log(strip.step)
    error = strip.relative_error(mixture, order, b, log_excess, last, unit)
    value = np.logaddexp(0.0, log_excess + np.log1p(error)) * (1 + 8 * ROUND) / b
    return np.where(np.isfinite(value), value, math.inf)


def log_moments(nodes: Nodes, b: Array, ends: NDArray[np.intp]) -> Array:
    """log(M - 1) by the sums over nodes, of which an order uses the first ``ends``.

    Where M exceeds exp(600) this is log M.
    """
    level = np.floor(np.log(b / b[0]) / math.log(_RATIO)) + np.floor(
        np.log2(np.maximum(ends / ends[0], 1.0))
    )
    cuts = np.flatnonzero(level[1:] > level[:-1])
    starts = [0, *(cuts + 1).tolist()]
    stops = [*starts[1:], b.size]
    found = []
    for start, stop in zip(starts, stops, strict=True):
        end = int(ends[stop - 1])
        rows = max(1, _MAX_CELLS // end)
        for first in range(start, stop, rows):
            found.append(_block(nodes, b[first : min(first + rows, stop)], end))
    return np.concatenate(found)


def _block(nodes: Nodes, b: Array, end: int) -> Array:
    loss, log_mass = nodes.loss[:end], nodes.log_mass[:end]
    reach = _NEAR / b[-1]
    # The loss is monotone in the node.
    rising = loss[-1] >= loss[0]
    keyed = loss if rising else loss[::-1]
    first, last = np.searchsorted(keyed, [-reach, reach])
    if not rising:
        first, last = end - last, end - first
    near = slice(int(first), int(last))
    log_far = np.concatenate((log_mass[:first], log_mass[last:]))
    loss_far = np.concatenate((loss[:first], loss[last:]))
    linear = nodes.slope * b + _series(loss[near] * b[-1], np.exp(log_mass[near]), b / b[-1])
    if not loss_far.size:
        near_only: Array = np.log(linear)
        return near_only
    with np.errstate(under="ignore", over="ignore", divide="ignore"):
        mass = np.exp(log_far)
        linear -= mass.sum() + b * (mass @ loss_far)
        exponent = np.multiply.outer(b, loss_far)
        exponent += log_far
        top = exponent.max(axis=1)
        if top.max() < _OVERFLOW:
            whole: Array = np.log(linear + np.exp(exponent, out=exponent).sum(axis=1))
            return whole
        exponent -= top[:, None]
        log_sum = top + np.log(np.exp(exponent, out=exponent).sum(axis=1))
        small = top < _OVERFLOW
        total = np.where(small, linear + np.exp(np.where(small, log_sum, 0.0)), 1.0)
        return np.where(small, np.log(total), log_sum)


def _series(x: Array, mass: Array, scale: Array) -> Array:
    """Sum of mass * (exp(t x) - 1 - t x) for each t of ``scale``, |x| <= 1/2, 0 < t <= 1."""
    powers = np.cumprod(np.broadcast_to(x, (_POWERS.size + 1, x.size)), axis=0)
    moments = powers[1:] @ mass / _FACTORIALS
    scales = np.cumprod(np.broadcast_to(scale, (_POWERS.size + 1, scale.size)), axis=0)
    total: Array = moments @ scales[1:]
    return total
