"""Composition of (ε, δ) guarantees themselves, for comparison.

Only each step's (ε_i, δ_i) is used, so that these answers lose against every accountant that
follows the whole curve.  The optimal theorem is what no method can beat on that information.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from accountants import validation
from accountants.rounding import above, below

_STATES = 200_000
_HALVINGS = 100


@dataclass(frozen=True)
class Steps:
    """``count`` adaptive mechanisms, each (``epsilon``, ``delta``)-DP.

    Raises
    ------
    ValueError
        If a field is outside its domain.
    """

    epsilon: float
    delta: float = 0.0
    count: int = 1

    def __post_init__(self) -> None:
        allowed = "a finite number >= 0"
        value = validation.real("epsilon", self.epsilon, allowed)
        validation.require(0 <= value < math.inf, "epsilon", value, allowed)
        validation.probability(self.delta, "delta")
        validation.whole(self.count, "count")


def dwork_rothblum_vadhan(steps: Steps, slack: float) -> tuple[float, float]:
    """The classical advanced composition theorem, rounded up.

    Parameters
    ----------
    steps : Steps
        k mechanisms, each (ε, δ)-DP.
    slack : float
        δ' in (0, 1).

    Returns
    -------
    (float, float)
        ε sqrt(2 k log(1/δ')) + k ε (e^ε - 1), and k δ + δ'.

    References
    ----------
    Dwork, Rothblum and Vadhan, FOCS 2010; in this form Dwork and Roth 2014, theorem 3.20.
    """
    slack = _slack(slack)
    e, k = steps.epsilon, steps.count
    if k == 0:
        return 0.0, slack
    with np.errstate(over="ignore"):
        linear = float(k * e * np.expm1(e))
    total = linear + e * math.sqrt(-2 * k * math.log(slack))
    return above(total, 8), min(1.0, above(k * steps.delta + slack, 4))


def dwork_rothblum_vadhan_mixed(parts: Sequence[Steps], slack: float) -> tuple[float, float]:
    """The classical theorem for steps that differ, rounded up.

    Parameters
    ----------
    parts : sequence of Steps
    slack : float
        δ' in (0, 1).

    Returns
    -------
    (float, float)
        sum ε_i (e^ε_i - 1) + sqrt(2 log(1/δ') sum ε_i^2), and sum δ_i + δ'; for equal steps what
        `dwork_rothblum_vadhan` gives.

    Notes
    -----
    The proof is that of `heterogeneous` with the larger bound ε_i (e^ε_i - 1) on the mean loss.
    """
    slack = _slack(slack)
    with np.errstate(over="ignore"):
        mean = math.fsum(p.count * p.epsilon * float(np.expm1(p.epsilon)) for p in parts)
        squares = math.fsum(p.count * p.epsilon * p.epsilon for p in parts)
    total = mean + math.sqrt(-2 * math.log(slack) * squares)
    failures = math.fsum(part.count * part.delta for part in parts)
    return above(total, 8) if total else 0.0, min(1.0, above(failures + slack, 4))


def heterogeneous(parts: Sequence[Steps], slack: float) -> tuple[float, float]:
    """Advanced composition of different mechanisms in closed form, rounded up.

    Parameters
    ----------
    parts : sequence of Steps
    slack : float
        δ' in (0, 1).

    Returns
    -------
    (float, float)
        min(sum ε_i, sum ε_i tanh(ε_i/2) + sqrt(2 log(1/δ') sum ε_i^2)), and
        1 - (1 - δ') prod (1 - δ_i).

    References
    ----------
    Kairouz, Oh and Viswanath, ICML 2015, theorem 3.5, its Hoeffding branch; derived in
    docs/proofs/truncated-cdp.md.
    """
    slack = _slack(slack)
    basic = math.fsum(part.count * part.epsilon for part in parts)
    mean = math.fsum(p.count * p.epsilon * math.tanh(p.epsilon / 2) for p in parts)
    squares = math.fsum(p.count * p.epsilon**2 for p in parts)
    total = min(basic, mean + math.sqrt(-2 * math.log(slack) * squares))
    return above(total, 8) if total else 0.0, _with_failures(parts, slack)


def optimal_delta(parts: Sequence[Steps], target_epsilon: float) -> float:
    """Smallest δ for which every composition of such mechanisms is (``target_epsilon``, δ)-DP.

    Parameters
    ----------
    parts : sequence of Steps
        Groups of equal mechanisms; the number of states, the product of (count + 1), is at
        most 200,000.
    target_epsilon : float
        ε in [0, inf].

    Returns
    -------
    float
        1 - (1 - δ') prod (1 - δ_i), δ' of composed randomised responses, rounded up.

    Raises
    ------
    ValueError
        If an argument is outside its domain or there are too many states (use
        ``heterogeneous``).

    References
    ----------
    Kairouz, Oh and Viswanath, ICML 2015, theorem 3.3 (equal mechanisms); Murtagh and Vadhan,
    TCC 2016, theorem 1.5 (different ones).
    """
    epsilon = validation.target_epsilon(target_epsilon)
    loss, log_p, margin = _randomised_responses(parts)
    return _with_failures(parts, _excess(loss, log_p, epsilon) * (1 + margin))


def optimal_epsilon(parts: Sequence[Steps], target_delta: float) -> float:
    """Smallest ε with ``optimal_delta(parts, ε) <= target_delta``; rounded up.

    Returns
    -------
    float
        ``inf`` if the failures alone exceed ``target_delta``.
    """
    delta = validation.target_delta(target_delta)
    log_survival = _log_survival(parts)
    if delta == 1:
        return 0.0
    inner = delta
    if log_survival < 0:
        inner = below(-math.expm1(math.log1p(-delta) - log_survival), 8)
    if not inner >= 0:
        return math.inf
    loss, log_p, margin = _randomised_responses(parts)

    def fits(epsilon: float) -> bool:
        return _excess(loss, log_p, epsilon) * (1 + margin) <= inner

    low, high = 0.0, above(float(loss.max()), 4)
    if fits(low):
        return low
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _randomised_responses(
    parts: Sequence[Steps],
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Loss and log probability of every state, and a relative bound on the rounding."""
    states = math.prod(part.count + 1 for part in parts)
    if states > _STATES:
        raise ValueError(
            f"parts={len(parts)} groups with {states} states: must have at most {_STATES}; use "
            "heterogeneous(), which is a closed form"
        )
    loss, log_p, margin = np.zeros(1), np.zeros(1), 1e-13
    for part in parts:
        k, e = part.count, part.epsilon
        j = np.arange(k + 1, dtype=np.float64)
        ways = special.gammaln(k + 1) - special.gammaln(j + 1) - special.gammaln(k - j + 1)
        own = ways - (k - j) * math.log1p(math.exp(-e)) - j * np.logaddexp(0.0, e)
        loss = np.add.outer(loss, (k - 2 * j) * e).ravel()
        log_p = np.add.outer(log_p, own).ravel()
        margin += 2e-15 * (k * (1 + e) + float(special.gammaln(k + 1)))
    return loss, log_p, margin


def _excess(loss: NDArray[np.float64], log_p: NDArray[np.float64], epsilon: float) -> float:
    """E (1 - exp(ε - loss))_+ under the first of the two distributions."""
    gap = np.maximum(loss - epsilon, 0.0)
    return float(np.sum(np.exp(log_p) * -np.expm1(-gap)))


def _slack(value: float) -> float:
    allowed = "a number in (0, 1)"
    slack = validation.real("slack", value, allowed)
    validation.require(0 < slack < 1, "slack", slack, allowed)
    return slack


def _log_survival(parts: Sequence[Steps]) -> float:
    terms = [
        part.count * math.log1p(-part.delta) if part.delta < 1 else -math.inf
        for part in parts
        if part.count
    ]
    return math.fsum(terms)


def _with_failures(parts: Sequence[Steps], slack: float) -> float:
    survival = _log_survival(parts) + (math.log1p(-slack) if slack < 1 else -math.inf)
    return min(1.0, above(-math.expm1(survival), 8)) if survival < 0 else 0.0
