"""Five private settings, each accounted four ways: what composition over oracle calls costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from accountants.events import resque_event
from bounds import theorems
from dp2theory.problems.validation import real_in, whole_number
from dp2theory.resque.private_ledger import ACCOUNTANTS, epsilon_by_accountant

if TYPE_CHECKING:
    from accountants import Bracket

#: Records, dimension, and noise over the sensitivity of one draw.
SETTINGS = ((100_000, 100, 2), (100_000, 100, 4), (100_000, 100, 8), (10_000, 1000, 4),
            (10_000, 1000, 8))  # fmt: skip
#: δ of all settings.
DELTA = 1e-6


@dataclass(frozen=True)
class AccountedRow:
    """ε of all oracle calls together by four accountants.

    Attributes
    ----------
    dataset_size, dimension : int
        n and d.
    calls, draws : int
        Oracle calls, and draws of one call (theorem resque.private.rate at privacy ε = 1).
    noise_multiplier : float
        sigma: twice the noise over sensitivity of one draw.
    target_delta : float
    epsilon : dict of str to Bracket
        By accountant. The lower end is the exact accountant's in all of them.
    """

    dataset_size: int
    dimension: int
    calls: int
    draws: int
    noise_multiplier: float
    target_delta: float
    epsilon: dict[str, Bracket]

    @property
    def ordered(self) -> bool:
        """Whether every upper end is below the next one."""
        ends = [self.epsilon[name].upper for name in ACCOUNTANTS]
        return all(one < other for one, other in pairwise(ends))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "dataset_size": self.dataset_size,
            "dimension": self.dimension,
            "calls": self.calls,
            "draws": self.draws,
            "noise_multiplier": self.noise_multiplier,
            "noise_over_sensitivity": self.noise_multiplier / 2,
            "target_delta": self.target_delta,
            "epsilon": {name: bracket.to_json() for name, bracket in self.epsilon.items()},
        }


def account(dataset_size: int, dimension: int, noise_over_sensitivity: float) -> AccountedRow:
    """Account one setting four ways; a process can be told of it.

    Parameters
    ----------
    dataset_size, dimension : int
    noise_over_sensitivity : float
        Half of the noise multiplier: replacing a draw moves a sum by up to twice its norm.
    """
    dataset_size = whole_number("dataset_size", dataset_size, maximum=10**15)
    dimension = whole_number("dimension", dimension, maximum=10**15)
    real_in("noise_over_sensitivity", noise_over_sensitivity, 0.0, math.inf, open_high=True)
    rate = theorems()["resque.private.rate"]
    where: dict[str, Any] = {
        "dataset_size": dataset_size,
        "dimension": dimension,
        "target_epsilon": 1.0,
    }
    calls, draws = (round(float(rate.evaluate(name, **where))) for name in ("calls", "batch"))
    noise_multiplier = 2.0 * noise_over_sensitivity
    event = resque_event(
        dataset_size=dataset_size,
        draws=draws,
        noise_multiplier=noise_multiplier,
        failure_probability=0.0,
        calls=calls,
    )
    epsilon = epsilon_by_accountant(event, DELTA)
    return AccountedRow(dataset_size, dimension, calls, draws, noise_multiplier, DELTA, epsilon)
