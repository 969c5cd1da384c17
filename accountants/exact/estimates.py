"""First guesses and Chernoff bounds from the cumulants of a run.

Estimates are no bounds and are named so; the Chernoff bounds are proved at every tilt.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from accountants.exact.composition import Composition
from accountants.exact.tilts import TiltTable, locate
from accountants.profiles import log_gaussian_delta

Array = NDArray[np.float64]


def delta_estimate(composition: Composition, epsilon: float) -> float:
    """Estimate of log δ(ε), by the saddle point or one large loss: no bound, for first guesses.

    Raises
    ------
    AccuracyError
        If there is no saddle point.
    """
    table, estimate = table_for_epsilon(composition, epsilon)
    return past_barrier(composition, table, epsilon, estimate)


def epsilon_estimate(composition: Composition, log_delta: float) -> float:
    """Estimate of ε at δ = exp(``log_delta``) from the saddle point: no bound.

    Raises
    ------
    AccuracyError
        If there is no saddle point.
    """
    return table_for_delta(composition, log_delta)[1]


def chernoff_epsilon(composition: Composition, log_delta: float) -> float:
    """Upper bound on ε at δ = exp(``log_delta``), proved at every tilt; the smallest is taken.

    Raises
    ------
    AccuracyError
        If the cumulants cannot be tabulated.
    """
    table, _ = table_for_delta(composition, log_delta)
    # The tabulated cumulants carry rounding of about 1e-15 a step.
    bounds = (table.log_chernoff_factor + table.psi - log_delta) / table.c
    return float(np.min(bounds + (1e-9 + 1e-14 * composition.steps) / table.c))


def chernoff_log_delta(composition: Composition, epsilon: float) -> float:
    """Upper bound on log δ(ε), proved at every tilt; the smallest is taken.

    Raises
    ------
    AccuracyError
        If the cumulants cannot be tabulated.
    """
    table, _ = table_for_epsilon(composition, epsilon)
    return min(0.0, table.log_chernoff(epsilon) + 1e-9 + 1e-14 * composition.steps)


def past_barrier(
    composition: Composition, table: TiltTable, epsilon: float, estimate: float
) -> float:
    """The saddle estimate, or that of one rare large loss where such a loss decides."""
    at = int(np.searchsorted(table.saddle_epsilon, epsilon))
    ordinary = table.curvature[min(at, table.c.size - 1)] < 9 * table.curvature[0]
    if ordinary or sum(count * pair.chance for pair, count in composition.pairs) > 1:
        return estimate
    terms = [float(log_gaussian_delta(epsilon, math.sqrt(float(table.curvature[0]))))]
    for pair, count in composition.pairs:
        try:
            single, _ = pair.log_delta(epsilon)
        except ArithmeticError:
            return estimate
        terms.append(math.log(count) + single)
    return min(estimate, float(np.logaddexp.reduce(terms)))


def table_for_epsilon(composition: Composition, epsilon: float) -> tuple[TiltTable, float]:
    """A table whose saddles enclose ``epsilon``, and an estimate of log δ there."""
    table, k = locate(
        composition.table,
        lambda t: -t.saddle_epsilon,
        -epsilon,
        composition.typical_tilt(-14.0),
    )
    return table, _between(table.saddle_epsilon, table.log_estimate(epsilon), k, epsilon)


def table_for_delta(composition: Composition, log_delta: float) -> tuple[TiltTable, float]:
    """A table whose saddles enclose log δ, and an estimate of ε there."""
    table, k = locate(
        composition.table,
        lambda t: t.own_estimate,
        log_delta,
        composition.typical_tilt(log_delta),
    )
    return table, _between(table.own_estimate, table.saddle_epsilon, k, log_delta)


def _between(x: Array, y: Array, k: int, target: float) -> float:
    """Value of y where x crosses ``target`` between positions k-1 and k, by a straight line."""
    share = (target - x[k - 1]) / (x[k] - x[k - 1]) if x[k] != x[k - 1] else 0.0
    return float(y[k - 1] + min(max(share, 0.0), 1.0) * (y[k] - y[k - 1]))
