"""From D_a <= rho a on 1 < a <= omega to (ε, δ): the best order, and the value rounded up.

Every order gives a valid bound, so that an order found in floating point costs tightness only;
what is rounded is the bound at the order that was found.
"""

from __future__ import annotations

import math

from scipy import optimize

from accountants.rounding import above, below

_UNIT = 2.0**-53
_ITERATIONS = 1000


def order_for_delta(rho: float, epsilon: float) -> float:
    """v = a - 1 > 0 where the bound on δ at ``epsilon`` is smallest, to 1e-12.

    δ <= exp((a-1)(rho a - ε)) (1/a) (1 - 1/a)^(a-1); the derivative of its logarithm in a is
    rho (2a - 1) - ε + log(1 - 1/a), which increases.  0 where a would round to 1.
    """

    def slope(log_v: float) -> float:
        return rho * (2 * math.exp(log_v) + 1) - epsilon - math.log1p(math.exp(-log_v))

    # At the left end 2 rho v <= 1 and log v <= ε - rho - 2, so that the slope is negative; at
    # the right end 2 rho v >= ε + 1 and the logarithm is at least -log 2.
    left = min(0.0, -math.log(2 * rho)) - max(rho - epsilon, 0.0) - 2
    largest = (epsilon + 1) / (2 * rho)
    if left < -700 or largest == math.inf:  # beyond doubles: a curve that is 0 but for rounding
        return 0.0
    right = math.log(max(1.0, largest))
    return math.exp(optimize.brentq(slope, left, right, xtol=1e-12, maxiter=_ITERATIONS))


def order_for_epsilon(rho: float, log_delta: float) -> float:
    """v = a - 1 > 0 where the bound on ε at ``log_delta`` is smallest, to 1e-12.

    ε <= rho a + log(1 - 1/a) - (log δ + log a)/(a - 1); its derivative has the sign of
    rho v^2 + log(1 + v) + log δ, which increases in v.
    """
    wanted = -log_delta
    # log(1+v) <= v bounds the root from below; each term by itself bounds it from above.
    left = 2 * wanted / (1 + math.sqrt(1 + 4 * rho * wanted))
    right = math.sqrt(wanted / rho)
    if right == math.inf:  # rho is below the normal doubles
        right = math.sqrt(wanted) / math.sqrt(rho)
    if wanted < 700:
        right = min(right, math.expm1(wanted))
    right = max(right * (1 + 1e-12), left * (1 + 1e-9))
    left *= 1 - 1e-12

    def slope(v: float) -> float:
        return rho * v * v + math.log1p(v) - wanted

    if not slope(left) < 0 < slope(right):
        return left
    return float(optimize.brentq(slope, left, right, xtol=left * 1e-13, maxiter=_ITERATIONS))


def log_delta(rho: float, omega: float, epsilon: float) -> float:
    """Smallest log δ(ε) that one order of the curve gives, rounded up.

    Parameters
    ----------
    rho : float
        Finite, > 0.
    omega : float
        > 1, ``inf`` allowed.
    epsilon : float
        Finite, >= 0.

    Returns
    -------
    float
        At most 0.

    Notes
    -----
    Canonne, Kamath and Steinke 2020; derived in docs/proofs/truncated-cdp.md.
    """
    v = min(order_for_delta(rho, epsilon), below(omega - 1, 2))
    if v <= 0:
        return 0.0
    terms = (v * (rho * (1 + v)), -v * epsilon, -v * math.log1p(1 / v), -math.log1p(v))
    return min(0.0, _sum_up(terms))


def epsilon(rho: float, omega: float, log_delta: float) -> float:
    """Smallest ε(δ) that one order of the curve gives, rounded up.

    Parameters
    ----------
    rho : float
        Finite, > 0.
    omega : float
        > 1, ``inf`` allowed.
    log_delta : float
        log δ, finite, < 0.

    Returns
    -------
    float
        At least 0.
    """
    v = min(order_for_epsilon(rho, log_delta), below(omega - 1, 2))
    terms = (rho * (1 + v), -math.log1p(1 / v), -log_delta / v, -math.log1p(v) / v)
    return max(0.0, _sum_up(terms))


def _sum_up(terms: tuple[float, ...]) -> float:
    """Sum, moved up by more than the rounding of its terms."""
    error = 8 * _UNIT * math.fsum(abs(term) for term in terms)
    return above(math.fsum(terms) + error)
