"""Rényi curves of fixed-size batches under the two replacements.

Each is the smallest of bounds that hold order by order; ``law`` is that of the number of copies
of a record, p_0 … p_kappa, and without replacement kappa = 1 (derived in docs/proofs/renyi.md).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from accountants.relations import Direction
from accountants.renyi.halflines import HalfLine, log_parts
from accountants.renyi.lines import Mixture, Order
from accountants.renyi.quadrature import divergences
from accountants.renyi.series import ROUND

Array = NDArray[np.float64]

_LARGE = 32.0  # log moments beyond which the part near P = Q is below rounding
_NEGLIGIBLE = 1e-14
_FAIR = 200.0  # log moments up to which a second bound is tried
_FAIR_NODES = 5e6  # and the nodes that it may take


def replaced(law: tuple[float, ...], gap: float, orders: Array) -> Array:
    """REPLACE_ONE: the profile of h2 (tight without replacement) or of Balle et al.

    Parameters
    ----------
    law : tuple of float
    gap : float
        1 / noise multiplier.
    orders : ndarray, shape (A,)
        Increasing.

    Returns
    -------
    ndarray, shape (A,)
    """
    mixture = Mixture(law, 2 * gap)
    kept = _kept(law)
    b = orders - 1
    attained = divergences(mixture, Order.REMOVE, orders)
    # (r^order - 1)(1 - r^-b) <= r^order: M - 1 is at most the moment over the whole line.
    whole = b * (attained - math.log(kept))
    value = np.logaddexp(0.0, whole) / b
    todo = whole <= _LARGE
    if todo.any():
        some = b[todo]
        log_excess = np.logaddexp(*log_parts(HalfLine(mixture, (kept, 0.0)), some))
        value[todo] = np.fmin(value[todo], np.logaddexp(0.0, log_excess) / some)
    todo = _worth_coupling(law, 2 * gap, b, b * value) & (value > attained * (1 + 1e-6))
    if todo.any():
        value[todo] = np.fmin(value[todo], coupled(law, 2 * gap, orders[todo]))
    return value * (1 + 8 * ROUND)


def _kept(law: tuple[float, ...]) -> float:
    """p_0 + p_1, from the rest where that is small."""
    kept = math.fsum((1.0, *(-p for p in law[2:])))
    return kept if kept > 0.5 else math.fsum(law[:2])


def _worth_coupling(
    law: tuple[float, ...], gap: float, b: Array, found: Array
) -> NDArray[np.bool_]:
    """Where the coupled profile may give less than the log moment ``found``, at a fair cost."""
    if len(law) == 2:
        return np.zeros(b.shape, dtype=np.bool_)
    # its last term alone
    eta, last = math.fsum(law[1:]), gap * (len(law) - 1)
    log_last = math.log(law[-1] / eta) + (1 + b) * math.log(eta) + 0.5 * b * (1 + b) * last**2
    # nodes of all half lines: panels become narrower and reach further with the shift
    nodes = 20 * (1 + b) * gap**2 * len(law) ** 3 / 3
    return (found <= _FAIR) & (log_last < found) & (nodes <= _FAIR_NODES)


def coupled(law: tuple[float, ...], gap: float, orders: Array) -> Array:
    """The curve of Balle et al.'s profile for a base whose groups are Gaussian-dominated.

    Parameters
    ----------
    law : tuple of float
        p_0 … p_kappa, the number of differing draws.
    gap : float
        Shift of one differing draw in noise standard deviations; k of them shift by k gap.
    orders : ndarray, shape (A,)
        Increasing.

    Returns
    -------
    ndarray, shape (A,)
        Upper bounds on the divergence of neighbours in either order.

    Notes
    -----
    The profile is sum_k p_k delta_(k gap)(log(1 + (a - 1)/eta)) with eta = 1 - p_0 (Balle, Barthe
    and Gaboardi, NeurIPS 2018); each k is one half line.
    """
    mixture = Mixture(law, gap)
    eta, b = mixture.present, orders - 1
    parts = []
    for k, p in enumerate(law[1:], 1):
        if p > 0:
            single = Mixture((law[0], eta), gap * k)
            half_line = HalfLine(single, (1.0, 0.0), weight=p / eta)
            parts.append(np.logaddexp(*log_parts(half_line, b)))
    value: Array = np.logaddexp(0.0, np.logaddexp.reduce(parts, axis=0)) / b * (1 + 8 * ROUND)
    return value


def special_replaced(
    law: tuple[float, ...], gap: float, direction: Direction, orders: Array
) -> Array:
    """REPLACE_SPECIAL: one profile from the real record and one to it.

    Parameters
    ----------
    law : tuple of float
    gap : float
        1 / noise multiplier.
    direction : Direction
        REMOVE is from the real record.
    orders : ndarray, shape (A,)
        Increasing.

    Returns
    -------
    ndarray, shape (A,)
    """
    kept = _kept(law)
    b = orders - 1
    real = HalfLine(Mixture(law, 2 * gap), (law[0], law[1]), lower_gap=gap)
    null = HalfLine(Mixture(law, gap), (kept, 0.0))
    removing = direction is Direction.REMOVE
    first, second = (real, null) if removing else (null, real)
    if removing:
        log_moment, excess = _closed_real(real, b)
    else:
        log_moment, excess = null.upper.log_power_mean(b)
        log_moment = log_moment - b * math.log(kept)
    # The part "down" is at most b times a total variation.
    value = np.logaddexp(np.log1p(b), log_moment) / b
    todo = (log_moment < _LARGE) | (excess > _NEGLIGIBLE * log_moment)
    if todo.any():
        some = b[todo]
        up, down = log_parts(first, some)[0], log_parts(second, some)[1]
        value[todo] = np.fmin(value[todo], np.logaddexp(0.0, np.logaddexp(up, down)) / some)
    todo = _worth_coupling(law, gap, b, b * value)
    if todo.any():
        some = b[todo]
        up = _coupled_parts(law, gap, removing, some)[0]
        down = _coupled_parts(law, gap, not removing, some)[1]
        value[todo] = np.fmin(value[todo], np.logaddexp(0.0, np.logaddexp(up, down)) / some)
    return value * (1 + 8 * ROUND)


def _coupled_parts(
    law: tuple[float, ...], gap: float, from_real: bool, b: Array
) -> tuple[Array, Array]:
    """Both parts of the coupled profile from the special record or to it, summed over k."""
    eta, ups, downs = math.fsum(law[1:]), [], []
    for k, p in enumerate(law[1:], 1):
        if p > 0:
            upper = Mixture((law[0], eta), gap * k * (2 if from_real else 1))
            lower = (law[0], eta) if from_real else (1.0, 0.0)
            line = HalfLine(upper, lower, lower_gap=gap * k * from_real, weight=p / eta)
            up, down = log_parts(line, b)
            ups.append(up)
            downs.append(down)
    return np.logaddexp.reduce(ups, axis=0), np.logaddexp.reduce(downs, axis=0)


def _closed_real(line: HalfLine, b: Array) -> tuple[Array, Array]:
    """Minkowski's bound on log E P^order Q^-b, and a bound on its excess.

    ||p_k r_k|| in L^order of N(0) Q^-b, with Q >= d_0 N(0) or Q >= d_1 N(t); the last term alone
    is nearly attained where N(t) is most of Q (Jensen).
    """
    (d_0, d_1), t = line.lower, line.lower_gap
    shifts = line.upper.gap * np.arange(len(line.upper.probabilities))
    with np.errstate(divide="ignore"):
        log_p = np.log(np.array(line.upper.probabilities))
    row = b[:, None]
    from_zero = 0.5 * row * np.square(shifts) - row / (1 + row) * math.log(d_0)
    from_one = 0.5 * row * np.square(shifts - t) - row / (1 + row) * math.log(d_1)
    terms = log_p + np.fmin(from_zero, from_one)
    top = terms.max(axis=1)
    with np.errstate(under="ignore"):
        more = np.log(np.exp(terms - top[:, None]).sum(axis=1))
    alpha = 1 + b
    far = t * t - t * (alpha * shifts[-1] - b * t)
    excess = alpha * more + b * np.log1p(d_0 / d_1 * np.exp(far))
    last = from_one[:, -1] <= from_zero[:, -1]
    return alpha * (top + more), np.where(last & (terms[:, -1] >= top), excess, math.inf)
