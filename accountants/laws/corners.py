"""The inputs at which accountants have gone wrong, and those that no accountant may answer.

Everything is ordered simplest first, so that a search that walks a tuple reports the plainest case.
The inputs of public reports (the links stand beside them) are among the events.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

__all__ = ["DELTAS", "EPSILONS", "EVENTS", "INVALID", "LIMITS", "REPORTS"]

_ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
_REPLACE = NeighboringRelation.REPLACE_ONE
#: An event tree of dp_accounting.
Event: TypeAlias = dp_accounting.DpEvent

#: Values of δ, the most telling ones first.
DELTAS: tuple[float, ...] = (
    *(1e-5, 1e-6, 0.1, 0.5, 0.9, 1.0, 1e-10, 1e-16, 1e-30, 1e-300, 0.0),
    *(1e-3, 1e-4, 1e-9, 1e-12, 1e-18, 1.1e-18, 1.13e-18, 1 / 48000),
)
#: Values of ε, the most telling ones first.
EPSILONS: tuple[float, ...] = (1.0, 0.1, 10.0, 0.0, 0.01, 100.0, 1e-5, 1e-10, 1e-30, 1e3, 1e4)
#: Numbers of uses, the most telling ones first.
COUNTS: tuple[int, ...] = (1, 10, 1000, 100_000, 100_000_000, 0, 2, 5)


def gaussian(sigma: float) -> Event:
    """One Gaussian release; noise std on the sum over clip norm."""
    return dp_accounting.GaussianDpEvent(sigma)


def poisson(q: float, sigma: float) -> Event:
    """One Gaussian release on a Poisson sample."""
    return dp_accounting.PoissonSampledDpEvent(q, gaussian(sigma))


def without(n: int, m: int, sigma: float) -> Event:
    """One Gaussian release on ``m`` of ``n`` records drawn without replacement."""
    return dp_accounting.SampledWithoutReplacementDpEvent(n, m, gaussian(sigma))


def replaced(n: int, m: int, sigma: float) -> Event:
    """One Gaussian release on ``m`` draws with replacement from ``n`` records."""
    return dp_accounting.SampledWithReplacementDpEvent(n, m, gaussian(sigma))


def laplace(scale: float) -> Event:
    """One Laplace release; scale of the noise over the clip norm (L1)."""
    return dp_accounting.LaplaceDpEvent(scale)


def response(p: float, buckets: int) -> Event:
    """One randomized response: with probability ``p`` a bucket drawn uniformly."""
    return dp_accounting.RandomizedResponseDpEvent(p, buckets)


def times(count: int | float, event: Event) -> Event:
    """``count`` adaptive repetitions, whatever the count is."""
    return dp_accounting.SelfComposedDpEvent(event, count)


def both(*events: Event) -> Event:
    """A composition of different events."""
    return dp_accounting.ComposedDpEvent(list(events))


#: Public reports of wrong answers: (where, event, relation, δ).
REPORTS: tuple[tuple[str, Event, NeighboringRelation, float], ...] = (
    # 1: two units of the noise multiplier
    ("google/differential-privacy#378", gaussian(1.0), _REPLACE, 1e-5),
    ("google/differential-privacy#378", times(100, gaussian(1.0)), _REPLACE, 1e-5),
    # 2: the Poisson formula for batches of fixed size
    ("yuxiangw/autodp#3", times(1000, without(100, 1, 2.0)), _REPLACE, 1e-5),
    ("yuxiangw/autodp#3", times(1000, without(100, 1, 1.0)), _REPLACE, 1e-5),
    # 3: a central limit answered as a guarantee
    ("pytorch/opacus#715", times(1000, poisson(0.01, 0.6)), _ADD_REMOVE, 1e-5),
    ("pytorch/opacus#643", times(10_000, poisson(0.001, 0.7)), _ADD_REMOVE, 1e-6),
    ("pytorch/opacus#384", times(50, poisson(0.2, 3.0)), _ADD_REMOVE, 1 / 48000),
    # 4: tiny delta
    *(
        ("microsoft/prv_accountant#17", times(10_000, poisson(0.00033, 4.0)), _ADD_REMOVE, d)
        for d in (1.13e-18, 1.1e-18, 1e-10, 1e-30)
    ),
    *(
        ("microsoft/prv_accountant#17", gaussian(1.0), _ADD_REMOVE, d)
        for d in (1e-16, 1e-18, 1e-30)
    ),
    # 5: large delta
    ("pytorch/opacus#585", times(10, poisson(0.01, 1.0)), _ADD_REMOVE, 0.5),
    ("pytorch/opacus#585", times(10, poisson(0.01, 1.0)), _ADD_REMOVE, 0.9),
    # 6: little noise
    ("pytorch/opacus#604", gaussian(0.02), _ADD_REMOVE, 1e-5),
    # 7: the best order off the grid
    ("pytorch/opacus#670", times(10, poisson(0.001, 20.0)), _ADD_REMOVE, 1e-9),
    ("pytorch/opacus#670", times(10, poisson(0.01, 10.0)), _ADD_REMOVE, 1e-5),
    # 8: sampling everything is not sampling
    ("google-deepmind/jax_privacy#384", times(10, poisson(1.0, 1.0)), _ADD_REMOVE, 1e-5),
    # 9: an order just above 1
    *(
        ("tensorflow/privacy#166", poisson(0.00105, 1.0), _ADD_REMOVE, d)
        for d in (1e-3, 1e-4, 1e-5)
    ),
    # 10: moderate epsilon, long runs
    ("microsoft/prv_accountant#36", times(1000, poisson(0.125, 0.8)), _ADD_REMOVE, 1e-6),
    ("pytorch/opacus#601", times(10, poisson(0.2, 1.0)), _ADD_REMOVE, 1e-5),
    ("pytorch/opacus#601", times(500, poisson(0.2, 1.0)), _ADD_REMOVE, 1e-5),
    # 11: the number of compositions of randomized response
    ("google/differential-privacy 0.6.0", times(5, response(0.5, 2)), _REPLACE, 1e-5),
    # 12: how many steps there were
    ("pytorch/opacus#834", times(100, poisson(0.01, 1.0)), _ADD_REMOVE, 1e-5),
)


def _reported(*kinds: type[Event]) -> tuple[Event, ...]:
    """Events of the reports whose innermost repeated part is of one of these kinds."""
    found = []
    for _, event, _, _ in REPORTS:
        part = event.event if isinstance(event, dp_accounting.SelfComposedDpEvent) else event
        if isinstance(part, kinds) and event not in found:
            found.append(event)
    return tuple(found)


def _unique(*events: Event) -> tuple[Event, ...]:
    return tuple(e for i, e in enumerate(events) if e not in events[:i])


#: Events of each family that every law is asked about before any is drawn.
EVENTS: dict[str, tuple[Event, ...]] = {
    "gaussian": _unique(
        *(gaussian(s) for s in (1.0, 0.1, 10.0, 0.2, 3.0, 0.02, 0.01, 100.0, 1e4)),
        *(times(t, gaussian(1.0)) for t in COUNTS),
        *(times(t, gaussian(10.0)) for t in (100, 1000, 100_000)),
        *(times(100_000_000, gaussian(s)) for s in (1e4, 100.0)),
        times(10, times(10, gaussian(1.0))),
        *_reported(dp_accounting.GaussianDpEvent),
    ),
    "poisson": _unique(
        *(poisson(q, 1.0) for q in (0.01, 0.1, 0.5, 1.0, 1e-5, 1e-9, 0.99)),
        *(poisson(0.01, s) for s in (0.1, 10.0, 0.3, 0.01, 1e4)),
        *(times(t, poisson(0.01, 1.0)) for t in COUNTS[:6]),
        *(times(t, poisson(0.5, 1.0)) for t in (2, 10)),
        *(times(t, poisson(1.0, 1.0)) for t in (10, 1000)),
        times(30_000, poisson(1e-3, 0.6)),
        times(100_000_000, poisson(1e-9, 1.0)),
        times(100_000_000, poisson(1e-5, 1.0)),
        times(10, times(100, poisson(0.01, 1.0))),
        *_reported(dp_accounting.PoissonSampledDpEvent),
    ),
    "without-replacement": _unique(
        *(without(n, m, 1.0) for n, m in ((100, 1), (10, 1), (2, 1), (100, 50), (10, 9), (10, 10))),
        without(1000, 155, 2.0),
        without(1_000_000_000, 1, 1.0),
        *(times(t, without(100, 1, 1.0)) for t in (1000, 100_000)),
        times(10, without(10, 1, 4.0)),
        *(times(t, without(2, 1, 10.0)) for t in (10, 1000)),
        *_reported(dp_accounting.SampledWithoutReplacementDpEvent),
    ),
    "with-replacement": _unique(
        *(replaced(n, m, 1.0) for n, m in ((100, 1), (10, 1), (2, 1), (2, 4), (3, 3), (10, 10))),
        replaced(3, 3, 1.4),
        replaced(2, 4, 1.4),
        *(times(t, replaced(100, 1, 1.0)) for t in (1000, 100_000)),
        times(10, replaced(10, 1, 4.0)),
        times(1000, replaced(100, 10, 10.0)),
        times(1000, replaced(3, 3, 1.4)),
    ),
    "laplace": _unique(
        *(laplace(s) for s in (1.0, 0.1, 10.0, 0.01, 1e4)),
        *(times(t, laplace(1.0)) for t in (1, 0, 2, 5, 10)),
        *(times(t, laplace(10.0)) for t in (10, 1000, 100_000)),
        times(100_000_000, laplace(1e4)),
    ),
    "randomized-response": _unique(
        *(response(p, 2) for p in (0.5, 0.1, 0.9, 0.01, 1e-9, 1.0)),
        *(response(0.5, k) for k in (3, 10, 1000)),
        *(times(t, response(0.5, 2)) for t in (5, 1, 0, 2, 10, 100, 1000)),
        times(5, response(0.1, 10)),
        both(*(response(0.5, 2) for _ in range(5))),
        times(1000, response(0.99, 2)),
        times(100_000_000, response(0.999, 2)),
        *_reported(dp_accounting.RandomizedResponseDpEvent),
    ),
    "composition": _unique(
        both(gaussian(1.0), gaussian(1.0)),
        both(gaussian(1.0), gaussian(10.0)),
        both(gaussian(1.0), poisson(0.01, 1.0)),
        both(gaussian(1.0), laplace(1.0)),
        both(gaussian(1.0), response(0.5, 2)),
        both(laplace(1.0), response(0.5, 2)),
        both(times(10, gaussian(10.0)), times(1000, poisson(0.01, 1.0))),
        both(times(500, poisson(0.01, 1.0)), times(300, poisson(0.02, 2.0))),
        both(times(1000, without(100, 1, 1.0)), gaussian(10.0)),
        both(times(1000, without(100, 1, 1.0)), times(1000, replaced(100, 1, 1.0))),
        times(10, both(gaussian(10.0), poisson(0.1, 1.0))),
        both(gaussian(1.0), dp_accounting.NoOpDpEvent()),
        both(),
    ),
}

#: What must come out at the ends of the domains: an epsilon, or the event that means the same.
LIMITS: tuple[tuple[str, Event, float | Event], ...] = (
    ("sigma = 0", gaussian(0.0), math.inf),
    ("sigma = 0, sampled", poisson(0.5, 0.0), math.inf),
    ("sigma = inf", gaussian(math.inf), 0.0),
    ("q = 0", poisson(0.0, 1.0), 0.0),
    ("q = 0, many steps", times(1000, poisson(0.0, 1.0)), 0.0),
    ("q = 1", poisson(1.0, 1.0), gaussian(1.0)),
    ("q = 1, many steps", times(10, poisson(1.0, 1.0)), times(10, gaussian(1.0))),
    ("T = 0", times(0, gaussian(1.0)), 0.0),
    ("T = 0, sampled", times(0, poisson(0.01, 1.0)), 0.0),
    ("T = 0, Laplace", times(0, laplace(1.0)), 0.0),
    ("no parts", both(), 0.0),
    ("scale = 0", laplace(0.0), math.inf),
    ("p = 0", response(0.0, 2), math.inf),
    ("p = 1", response(1.0, 2), 0.0),
    ("one bucket", response(0.5, 1), 0.0),
    ("non-private", dp_accounting.NonPrivateDpEvent(), math.inf),
)

_NAN = math.nan

#: domain -> (label, event), or (label, number) where the argument of a method is meant.
INVALID: dict[str, tuple[tuple[str, Event | float], ...]] = {
    "noise_multiplier": (
        *((f"sigma = {s}", gaussian(s)) for s in (_NAN, -1.0, -math.inf)),
        *((f"Poisson, sigma = {s}", poisson(0.01, s)) for s in (_NAN, -1.0, -math.inf)),
        *((f"10 steps, sigma = {s}", times(10, poisson(0.01, s))) for s in (_NAN, -1.0)),
        *((f"without replacement, sigma = {s}", without(100, 1, s)) for s in (_NAN, -1.0)),
        *((f"with replacement, sigma = {s}", replaced(100, 1, s)) for s in (_NAN, -1.0)),
    ),
    "sampling_probability": (
        *((f"q = {q}", poisson(q, 1.0)) for q in (1.5, -0.1, _NAN, math.inf)),
        *((f"10 steps, q = {q}", times(10, poisson(q, 1.0))) for q in (1.5, -0.1, _NAN)),
    ),
    "event_count": (
        *((f"count = {t}", times(t, gaussian(1.0))) for t in (-1, 1.5, _NAN)),
        *((f"Poisson, count = {t}", times(t, poisson(0.01, 1.0))) for t in (-1, 1.5)),
    ),
    "compose_count": tuple((f"compose(event, {t})", t) for t in (-1, 1.5, _NAN)),
    "sample_size": (
        ("without replacement, m > n", without(10, 11, 1.0)),
        ("10 steps without replacement, m > n", times(10, without(10, 11, 1.0))),
        ("without replacement, m = -1", without(10, -1, 1.0)),
        ("with replacement, m = -1", replaced(10, -1, 1.0)),
    ),
    "source_dataset_size": (
        ("without replacement, n = 0", without(0, 1, 1.0)),
        ("with replacement, n = 0", replaced(0, 1, 1.0)),
        ("with replacement, n = -1", replaced(-1, 1, 1.0)),
    ),
    "laplace_scale": tuple((f"scale = {s}", laplace(s)) for s in (_NAN, -1.0, -math.inf)),
    "noise_parameter": tuple((f"p = {p}", response(p, 2)) for p in (1.5, -0.1, _NAN)),
    "num_buckets": tuple((f"buckets = {k}", response(0.5, k)) for k in (0, -1)),
    "target_delta": tuple((f"delta = {d}", d) for d in (2.0, _NAN, -1e-5, math.inf)),
    # a negative epsilon is no error: the divergence is defined there too
    "target_epsilon": (("epsilon = nan", _NAN),),
}
