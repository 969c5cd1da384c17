"""Small runs that several tests make."""

from __future__ import annotations

from typing import Any

from accountants.events import resque_event
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.named_functions import function_named


def absolute_loss(records: int) -> AbsoluteLoss:
    """l1 regression of random data in two dimensions."""
    found = function_named("absolute", records=records, dimension=2)
    assert isinstance(found, AbsoluteLoss)
    return found


def oracle_calls(n: int, draws: int, sigma: float, calls: int, zeta: float = 0.0) -> Any:
    """The event of calls of a private oracle; `zeta` is the failure probability of each."""
    return resque_event(
        dataset_size=n,
        draws=draws,
        noise_multiplier=sigma,
        failure_probability=zeta,
        calls=calls,
    )
