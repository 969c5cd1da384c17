"""How much of a budget goes to the geometry snapshot: a rule of public figures alone.

Let sigma_all be the noise multiplier with which ONE Gaussian release over all records spends the
whole budget (epsilon, delta). Gaussian releases compose by adding sigma^-2, so that R snapshots
with

    sigma0 = max(sigma_all sqrt(R / share), 4)

take at most `share` of what Gaussian releases could take in all. The share, the smallest noise of
four records' worth, and one snapshot rather than several, were chosen on problems named in
docs/planning.md and tried on others. No data enters.

The histogram that releases C0 has noise small against the tail that it has to see: the count
beyond an edge sums up to BINS noises, and is to be known to a quarter of (1 - quantile) n. It
never takes more than `HISTOGRAM_SHARE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from dp2theory.problems.squares import BINS
from dp2theory.problems.validation import whole_number

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import Calibration

#: Share of the budget that the snapshots take together, at most.
SNAPSHOT_SHARE = 0.05
#: Smallest sigma0: a snapshot need not be more exact than a few records, and its floor, which is
#: in units of its noise, must not let coordinates through that hardly any record touches.
SMALLEST_NOISE = 4.0
#: Largest share that the histogram takes.
HISTOGRAM_SHARE = 0.01
#: Share of the records whose squares the clip norm from the histogram holds.
QUANTILE = 0.9
#: Number of snapshots.
REFRESHES = 1


class SnapshotBudget(Protocol):
    """What the rule reads of a `dp2theory.planning.budget.Budget`."""

    @property
    def dataset_size(self) -> int:
        """Number of records."""

    @property
    def steps(self) -> int:
        """Steps of the run."""

    def calibrate_event(self, make_event: Callable[[float], DpEvent]) -> Calibration:
        """The smallest noise multiplier with which an event meets the budget."""


def equal_period(refreshes: int, steps: int) -> int:
    """Return the steps between `refreshes` snapshots that all fall into `steps` steps."""
    whole_number("refreshes", refreshes, maximum=max(1, steps))
    return max(1, steps // refreshes)


def whole_budget_multiplier(budget: SnapshotBudget) -> float:
    """Return sigma_all: the multiplier of one unsampled Gaussian release that spends it all."""
    from dp_accounting import GaussianDpEvent

    return budget.calibrate_event(lambda sigma: GaussianDpEvent(sigma)).noise_multiplier


def rule_settings(given: Mapping[str, Any], budget: SnapshotBudget) -> dict[str, Any]:
    """Return refreshes, period, snapshot and histogram noise for a budget.

    Parameters
    ----------
    given : mapping
        Settings that the user fixed; `refreshes`, `quantile` and `statistic_clip_norm` are read.
    budget : SnapshotBudget

    Returns
    -------
    dict
        `refreshes`, `snapshot_noise_multiplier`, `period` where there are several, and
        `histogram_noise_multiplier` unless C0 was given.
    """
    refreshes = whole_number("refreshes", given.get("refreshes", REFRESHES))
    sigma_all = whole_budget_multiplier(budget)
    derived: dict[str, Any] = {
        "refreshes": refreshes,
        "snapshot_noise_multiplier": max(
            sigma_all * math.sqrt(refreshes / SNAPSHOT_SHARE), SMALLEST_NOISE
        ),
    }
    if refreshes > 1:
        derived["period"] = equal_period(refreshes, budget.steps)
    if given.get("statistic_clip_norm") is None:
        tail = (1.0 - given.get("quantile", QUANTILE)) * budget.dataset_size
        derived["histogram_noise_multiplier"] = max(
            tail / (4.0 * math.sqrt(BINS)), sigma_all / math.sqrt(HISTOGRAM_SHARE)
        )
    return derived
