"""How likely two coupled runs drift further apart than the noise of a phase is scaled for.

A phase makes T steps u <- N(u - eta w_t(u) g_t) in a ball of radius r around the centre of its
queries, N non-expansive (prox of a regulariser, projection on the ball).  Two data sets that
differ in one record give two runs that share indices and noise.  One differing draw sets them
apart by at most 2 eta L w; afterwards they drift.  With t = r/rho,

    (E||Phi||^p)^(1/p) <= 2 eta L D_p,

D_p from resque.drift at order p = 2 and from resque.drift.powers at whole orders above.  The noise
of the phase covers a shift of c times 2 eta L, so that Markov's inequality bounds the probability
of failure by (D_p/c)^p, for every order p.  What the bound needs, and what it gives:

* every point at which weights are taken, the start of the phase included, lies in the ball;
* steps of every size: nothing is assumed on eta beyond what enters D_p;
* an average of iterates drifts no further than the worst of them, by Minkowski's inequality;
* with b differing draws the shift is at most b c 2 eta L outside an event of the same
  probability: b runs, each differing from the one before it in one draw, and Minkowski again;
* it holds for every start, indices and earlier releases; the probability is over the noise of
  the queries, which both runs share, so that the same event is cut from both.

In one step E||Phi||^p grows by the factor 1 + sum_{q=2}^p C(p, q) h_q^q at most, with
h_q = eta L kappa_q(t)/rho (resque.drift.powers).  resque.drift.orders, which holds at real orders,
bounds this sum by 1 + (p (p - 1)/2) h_p^2 (1 + h_p)^(p-2): log D_p^p grows as p^3 t^2 there and as
p^2 t^2 here.  At c = 2, r/rho = 1/64 and 900 steps this is the difference between 1e-12 and
1e-187.  Nothing much is left to gain: log ||Phi_T|| of alternating linear losses has variance t^2,
and the weight of the differing step has as much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from bounds.catalogue import theorem
from bounds.evaluate import evaluate
from dp2theory.problems.validation import positive_real, whole_number
from dp2theory.resque.functions import Array
from dp2theory.resque.moments import log_kappa, log_kappa_simple

#: resque.drift.powers at whole orders, resque.drift.orders at real ones.
LEMMAS = ("powers", "orders")
#: Orders that are tried, at most; the bound holds for each of them, the smallest one counts.
#: A larger grid only makes probabilities below 1e-150 still smaller.
MOST_ORDER = 2048
_ORDERS = 160
_MOST_STEPS = 10**18  # more is a slip
#: Up to this order kappa is exact, above it the elementary upper bound stands for it.
_EXACT = 64
#: What logarithms are raised by, relative to the terms that they are summed from: some hundred
#: times their rounding error.
_OUTWARD = 1e-9


@dataclass(frozen=True)
class Phase:
    """What the failure probability of a phase depends on.

    Attributes
    ----------
    steps : int
        T, draws of the phase.
    step_size : float
        eta.
    lipschitz : float
        L: every subgradient of every record's loss is at most as long.
    smoothing : float
        rho.
    radius : float
        r of the ball around the centre of the queries that holds all iterates.
    drift_factor : float
        c > 1: noise is scaled for a shift of c 2 eta L by one differing draw.
    """

    steps: int
    step_size: float
    lipschitz: float
    smoothing: float
    radius: float
    drift_factor: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", whole_number("steps", self.steps, maximum=_MOST_STEPS))
        for name in ("step_size", "lipschitz", "smoothing", "radius", "drift_factor"):
            object.__setattr__(self, name, positive_real(name, getattr(self, name)))

    @property
    def relative_radius(self) -> float:
        """t = r/rho."""
        return self.radius / self.smoothing


@dataclass(frozen=True)
class PhaseFailure:
    """An upper bound on the probability that the drift leaves what the noise covers.

    Attributes
    ----------
    probability : float
        Given that a record differs that was drawn; at most 1.
    log10_probability : float
        The same where the probability is no double any more; at most 0.
    order : float
        The order p of the moment that gives it.
    """

    probability: float
    log10_probability: float
    order: float

    def to_json(self) -> dict[str, float]:
        """Plain values."""
        return {
            "probability": self.probability,
            "log10_probability": self.log10_probability,
            "order": self.order,
        }


def phase_failure(
    *,
    steps: int,
    step_size: float,
    lipschitz: float,
    smoothing: float,
    radius: float,
    drift_factor: float,
    lemma: str = "powers",
) -> PhaseFailure:
    """Upper bound on the failure probability of one phase, the smallest over all orders.

    Parameters
    ----------
    steps, step_size, lipschitz, smoothing, radius, drift_factor
        See `Phase`.
    lemma : str
        "powers": resque.drift.powers, at whole orders; "orders": resque.drift.orders, at real
        ones.  Both with resque.drift at order 2.

    Raises
    ------
    ValueError
        For a value outside its domain.
    """
    return _solved(Phase(steps, step_size, lipschitz, smoothing, radius, drift_factor), lemma)


@lru_cache(maxsize=10_000)
def _solved(phase: Phase, lemma: str) -> PhaseFailure:
    """The same phases come back in every restart and call."""
    # p^2 t^2 - p log(c) is smallest at log(c)/(2 t^2).
    reach = math.log(max(phase.drift_factor, 2.0)) / max(phase.relative_radius**2, 1e-300)
    orders = _orders(reach, lemma)
    logs = log_failure(phase, orders, lemma=lemma)
    best = int(np.argmin(logs))
    log = min(float(logs[best]), 0.0)
    probability = 1.0 if log >= 0 else min(1.0, max(math.exp(log), math.ulp(0.0)))
    return PhaseFailure(probability, log / math.log(10), float(orders[best]))


def call_failure(phases: Iterable[Phase | PhaseFailure], *, lemma: str = "powers") -> float:
    """Upper bound on the probability that any phase of an oracle call fails, at most 1.

    Parameters
    ----------
    phases : iterable of Phase or PhaseFailure
        All phases of all restarts of the call; their probabilities add up.
    lemma : str
        See `phase_failure`.
    """
    if not isinstance(phases, Iterable):
        raise ValueError(f"phases={phases!r} must hold Phase or PhaseFailure")
    total = 0.0
    for phase in phases:
        failure = _solved(phase, lemma) if isinstance(phase, Phase) else phase
        if not isinstance(failure, PhaseFailure):
            raise ValueError(f"phases holds {phase!r}, must hold Phase or PhaseFailure")
        total = math.nextafter(total + failure.probability, math.inf)
    return min(total, 1.0)


def smallest_drift_factor(
    probability: float,
    *,
    steps: int,
    step_size: float,
    lipschitz: float,
    smoothing: float,
    radius: float,
    lemma: str = "powers",
) -> float:
    """A factor c at which one phase fails with a probability of at most `probability`.

    Parameters
    ----------
    probability : float
        In (0, 1).
    steps, step_size, lipschitz, smoothing, radius
        See `Phase`.
    lemma : str
        See `phase_failure`.

    Returns
    -------
    float
        The smallest over the orders of D_p probability^(-1/p).
    """
    if positive_real("probability", probability) >= 1:
        raise ValueError(f"probability={probability!r} must be in (0, 1)")
    phase = Phase(steps, step_size, lipschitz, smoothing, radius, 2.0)
    # p t^2 + log(1/probability)/p is smallest at the root of log(1/probability)/t^2.
    reach = 2 * math.sqrt(-math.log(probability)) / phase.relative_radius
    orders = _orders(reach, lemma)
    logs = _raised(log_drift(phase, orders, lemma=lemma), -math.log(probability) / orders)
    least = float(logs.min())
    return math.exp(least) if least < 700 else math.inf


def log_failure(phase: Phase, orders: Array, *, lemma: str = "powers") -> Array:
    """Logarithm of the bound (D_p/c)^p at every order, rounded upwards; it may exceed 0."""
    orders = np.asarray(orders, dtype=np.float64)
    drift = orders * log_drift(phase, orders, lemma=lemma)
    return _raised(drift, -orders * math.log(phase.drift_factor))


def log_drift(phase: Phase, orders: Array, *, lemma: str = "powers") -> Array:
    """Logarithm of D_p at every order p >= 2: the bound on ||Phi||_p over 2 eta L.

    Parameters
    ----------
    phase : Phase
    orders : ndarray
        Whole numbers for the lemma "powers".
    lemma : str
        See `phase_failure`.
    """
    orders = np.asarray(orders, dtype=np.float64)
    if not orders.size or not np.all((orders >= 2) & np.isfinite(orders)):
        raise ValueError(f"orders={orders!r} must be finite and >= 2, not empty")
    if lemma == "orders":
        return _at_real_orders(phase, orders)
    if lemma != "powers":
        raise ValueError(f"lemma={lemma!r} must be one of {', '.join(LEMMAS)}")
    if np.any(orders != np.round(orders)):
        raise ValueError(f"orders={orders!r} must be whole numbers for lemma='powers'")
    growth = np.logaddexp(0.0, _log_terms(phase, orders))
    start = (orders - 1) * phase.relative_radius**2 / 2
    result: Array = start + phase.steps * growth / orders
    return result


def _log_terms(phase: Phase, orders: Array) -> Array:
    """Logarithm of sum_{q=2}^p C(p, q) h_q^q for every order p."""
    t = phase.relative_radius
    powers = np.arange(2.0, orders.max() + 1)
    exact = powers[powers <= _EXACT]
    kappas = np.concatenate([log_kappa(exact, t), log_kappa_simple(powers[len(exact) :], t)])
    steps = math.log(phase.step_size * phase.lipschitz / phase.smoothing) + kappas
    with np.errstate(invalid="ignore"):
        choose = (
            special.gammaln(orders[:, None] + 1)
            - special.gammaln(powers + 1)
            - special.gammaln(orders[:, None] - powers + 1)
        )
    terms = np.where(powers <= orders[:, None], choose + powers * steps, -np.inf)
    result: Array = special.logsumexp(terms, axis=1)
    return result


def _at_real_orders(phase: Phase, orders: Array) -> Array:
    """The theorems' own bounds, at order 2 and above."""
    values: dict[str, Any] = {
        "steps": phase.steps,
        "lipschitz": phase.lipschitz,
        "smoothing_std": phase.smoothing,
        "relative_radius": phase.relative_radius,
        "ball_learning_rate": phase.step_size,
    }
    result = np.empty_like(orders)
    if np.any(orders == 2):
        bound = evaluate(theorem("resque.drift").evaluations["bound"], log=True, **values)
        result[orders == 2] = bound - math.log(2 * phase.step_size * phase.lipschitz)
    above = orders > 2
    if above.any():
        factor = theorem("resque.drift.orders").evaluations["factor"]
        result[above] = evaluate(factor, log=True, norm_order=orders[above], **values)
    return result


def _orders(reach: float, lemma: str) -> Array:
    """The orders to try: dense at first, then by constant factors, to twice the expected best."""
    orders = np.geomspace(2.0, min(max(2 * reach, 32.0), float(MOST_ORDER)), _ORDERS)
    orders[0] = 2.0
    return orders if lemma == "orders" else np.unique(np.round(orders))


def _raised(first: Array, second: Array) -> Array:
    """The sum of two arrays, raised by more than their rounding errors."""
    result: Array = first + second + _OUTWARD * (np.abs(first) + np.abs(second))
    return result
