"""A plan for the geometry snapshot: noise of each release, and what the whole costs.

Sizes are enough: the rule (`dp2theory.optimizers.snapshot_rule`) reads public figures only, and
no data is touched. The plan is what `train --method snapshot` will run at the same budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.optimizers.snapshot_rule import (
    QUANTILE,
    SMALLEST_NOISE,
    SNAPSHOT_SHARE,
    whole_budget_multiplier,
)
from dp2theory.planning.methods import (
    Settings,
    calibrate_method,
    planned_event_of,
    with_budget_settings,
)
from dp2theory.problems.squares import BINS
from dp2theory.problems.validation import positive_real, whole_number

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import Bracket
    from dp2theory.planning.budget import Budget

#: The method that is planned, as the registry names it.
METHOD = "snapshot"
#: Largest signal over noise of a snapshot below which the plan says that it may see nothing.
LOW_REACH = 3.0


@dataclass(frozen=True)
class PlannedRelease:
    """One kind of release of the run.

    Attributes
    ----------
    what : str
        "histogram", "snapshot" or "gradient".
    count : int
        How often it is made.
    noise_multiplier : float
        Noise std over the bound that each record keeps.
    records : str
        "all" or "batch".
    """

    what: str
    count: int
    noise_multiplier: float
    records: str

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values."""
        return {
            "what": self.what,
            "count": self.count,
            "noise_multiplier": self.noise_multiplier,
            "records": self.records,
        }


@dataclass(frozen=True)
class SnapshotPlan:
    """Noise, snapshots and cost of a run of the method `snapshot`.

    Attributes
    ----------
    budget : Budget
    dimension : int or None
    settings : dict
        What the releases depend on, as `--set` of `dp2theory train` takes them.
    noise_multiplier : float
        sigma of the gradient releases, with which the whole meets the budget.
    noise_multiplier_without : float
        The same without snapshots and histogram (DP-SGD's).
    snapshot_share, histogram_share : float
        Of the budget, in units of what Gaussian releases over all records could take.
    epsilon : Bracket
        Of the whole.
    event : DpEvent
        The whole, as `run` will have executed it.
    releases : tuple of PlannedRelease
        In the order of their first occurrence.
    reach : float or None
        Largest possible signal of a snapshot over its noise where the squares of all records
        are spread evenly over all coordinates: n / (sqrt(d) sigma0).
    notes : tuple of str
    """

    budget: Budget
    dimension: int | None
    settings: dict[str, Any]
    noise_multiplier: float
    noise_multiplier_without: float
    snapshot_share: float
    histogram_share: float
    epsilon: Bracket
    event: DpEvent
    releases: tuple[PlannedRelease, ...]
    reach: float | None
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The plan as plain values; the event as its repr."""
        return {
            "noise_multiplier": self.noise_multiplier,
            "noise_multiplier_without": self.noise_multiplier_without,
            "settings": self.settings,
            "snapshot_share": self.snapshot_share,
            "histogram_share": self.histogram_share,
            "epsilon": self.epsilon.to_json(),
            "steps": self.budget.steps,
            "releases": [release.to_json() for release in self.releases],
            "events": repr(self.event),
            "reach": self.reach,
            "notes": list(self.notes),
        }


def plan_snapshot(
    budget: Budget,
    *,
    dimension: int | None = None,
    refreshes: int | None = None,
    statistic_clip_norm: float | None = None,
) -> SnapshotPlan:
    """Plan the snapshots of a run within a budget.

    Parameters
    ----------
    budget : Budget
    dimension : int, optional
        Number of parameters, only to say how far a snapshot reaches.
    refreshes : int, optional
        Number of snapshots; the rule's, 1, if None.
    statistic_clip_norm : float, optional
        C0 as a public constant; released by a histogram if None.

    Returns
    -------
    SnapshotPlan

    Raises
    ------
    ValueError
        For values outside their domain, such as more snapshots than steps.
    accountants.InfeasibleBudgetError
        When the budget cannot be met.
    """
    given: dict[str, Any] = {}
    if refreshes is not None:
        given["refreshes"] = whole_number("refreshes", refreshes, maximum=budget.steps)
    if statistic_clip_norm is not None:
        given["statistic_clip_norm"] = positive_real("statistic_clip_norm", statistic_clip_norm)
    if dimension is not None:
        whole_number("dimension", dimension)
    settings = with_budget_settings(METHOD, Settings.from_mapping(given), budget)
    calibration = calibrate_method(METHOD, settings, budget)
    values = settings.given()
    sigma_all = whole_budget_multiplier(budget)
    sigma0, count = values["snapshot_noise_multiplier"], values["refreshes"]
    histogram = values.get("histogram_noise_multiplier")
    reach = None
    if dimension is not None:
        reach = budget.dataset_size / (math.sqrt(dimension) * sigma0)
    releases = [
        PlannedRelease("snapshot", count, sigma0, "all"),
        PlannedRelease("gradient", budget.steps, calibration.noise_multiplier, "batch"),
    ]
    if histogram is not None:
        releases.insert(0, PlannedRelease("histogram", 1, histogram, "all"))
    return SnapshotPlan(
        budget=budget,
        dimension=dimension,
        settings=values,
        noise_multiplier=calibration.noise_multiplier,
        noise_multiplier_without=budget.calibrate().noise_multiplier,
        snapshot_share=count * (sigma_all / sigma0) ** 2,
        histogram_share=0.0 if histogram is None else (sigma_all / histogram) ** 2,
        epsilon=calibration.epsilon,
        event=planned_event_of(
            METHOD, settings, budget, noise_multiplier=calibration.noise_multiplier
        ),
        releases=tuple(releases),
        reach=reach,
        notes=_notes(budget, values, reach),
    )


def _notes(budget: Budget, values: dict[str, Any], reach: float | None) -> tuple[str, ...]:
    notes = [
        f"The share of {SNAPSHOT_SHARE:.0%}, sigma0 of at least {SMALLEST_NOISE:g} and the single "
        "snapshot are a rule of thumb of public "
        "figures, chosen on a few problems and tried on others (docs/planning.md); it is no "
        "theorem."
    ]
    histogram = values.get("histogram_noise_multiplier")
    tail = (1 - values.get("quantile", QUANTILE)) * budget.dataset_size
    if histogram is None:
        notes.append("C0 is taken for a public constant: it must not have been read off the data.")
    elif 3 * histogram * math.sqrt(BINS) > tail:
        notes.append(
            f"The histogram's noise, summed over its {BINS} bins, is not small against the "
            f"{tail:.0f} records beyond the quantile: C0 may come out far too small. With a public "
            "constant for it (--statistic-clip-norm) there is no histogram."
        )
    if values["refreshes"] > 1:
        notes.append(
            "On the problems tried, with one exception (digits), several snapshots were no better "
            "than one of the same total price."
        )
    if reach is not None and reach < LOW_REACH:
        notes.append(
            f"With squares spread evenly over all coordinates a snapshot has at most {reach:.2g} "
            "times its noise in each: it may see little but its floor."
        )
    return tuple(notes)
