"""Every constant of the private pipeline, with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dp2theory.problems.validation import positive_real, real_in, whole_number
from dp2theory.resque.functions import check_band
from dp2theory.resque.sourced import Sourced

#: No factor is larger, or smaller than its inverse: beyond, it is a slip.
LARGEST_FACTOR = 1e6


@dataclass(frozen=True)
class PrivateConstants(Sourced):
    """Constants of the private pipeline; `SOURCES` says where each comes from.

    Parameters
    ----------
    drift_factor : float
        c >= 1: a phase's noise covers copies that drift c times the least possible distance.
    radius_over_smoothing : float
        r/rho in (0, 1].
    phase_shrink, step_shrink : float
        A phase has the draws of the one before over `phase_shrink` > 1, and its step size over
        `step_shrink` > `phase_shrink`.
    restarts : int
        Times that an oracle call localises, each with its share of the draws.
    phases : int, optional
        Largest number of phases of a restart; None: as many as there are draws for.
    radius_shrink : float
        A restart searches at least 1/radius_shrink of the radius of the one before.
    radius_margin : float
        Times the root mean square distance that is promised for the one before.
    band : (float, float)
        A step of the outer loop is accepted when it moves by this part of r.
    calls_per_step : int
        Oracle calls of one outer step before the best point so far is taken.
    mean_calls_per_step : float
        Oracle calls over accepted steps that the cap on calls is made for.
    draws_factor : float
        Draws of an oracle call over those of the rate, at least.
    full_noise : float
        sigma at which draws are enough: fewer would give more noise for the same privacy.
    smoothing_share : float
        Part of the accuracy that smoothing may cost, in (0, 1).
    part_shrink, part_step_shrink : float
        Records and step size of a part over those of the next one.
    statistical_step, private_step : float
        Factors of the first step size R/L min(. / sqrt(n), . epsilon / sqrt(d log(1/delta))).
    accuracy_share, accuracy_shrink : float
        Accuracy of the first part over the one asked for, and of a part over the next one.

    Raises
    ------
    ValueError
        If a constant is outside its domain.
    """

    drift_factor: float = 1.1
    radius_over_smoothing: float = 1 / 128
    phase_shrink: float = 2.0
    step_shrink: float = 4.0
    restarts: int = 1
    phases: int | None = None
    radius_shrink: float = 4.0
    radius_margin: float = 2.0
    band: tuple[float, float] = (0.5, 0.93)
    calls_per_step: int = 8
    mean_calls_per_step: float = 1.0
    draws_factor: float = 10.0
    full_noise: float = 6.0
    smoothing_share: float = 0.5
    part_shrink: float = 2.0
    part_step_shrink: float = 4.0
    statistical_step: float = 4.0
    private_step: float = 0.5
    accuracy_share: float = 0.5
    accuracy_shrink: float = 2.0

    SOURCES: ClassVar[Mapping[str, str]] = {
        "drift_factor": "resque.drift.powers: at r/rho = 1/128 a call fails with a probability of"
        " about 10^-16",
        "radius_over_smoothing": "measured at n = 4000, d = 8, epsilon = 1: the excess falls from"
        " 1/32 (.014) over 1/64 (.008) to 1/128 (.005) and 1/256 (.003), at equal failures, while"
        " the time of a run grows as its root",
        "phase_shrink": "Feldman, Koren and Talwar 2020, phased SGD (recalled)",
        "step_shrink": "Feldman, Koren and Talwar 2020, phased SGD (recalled)",
        "restarts": "measured: a second one has a larger excess at every number of draws from 500"
        " to 16000 (n = 4000, d = 8, sigma = 8)",
        "phases": "None: phases of one draw are the last",
        "radius_shrink": "hand-chosen",
        "radius_margin": "hand-chosen: a distance above twice its root mean square is rare",
        "band": "hand-chosen: below 1 so that a step cut short by the ball is never accepted",
        "calls_per_step": "hand-chosen: noise can hide the band from the search",
        "mean_calls_per_step": "hand-chosen: the bound on steps has room for searches, which"
        " take 1.0 to 1.1 calls a step where they begin at the last multiplier",
        "draws_factor": "hand-chosen: resque.private.subproblem has no constants",
        "full_noise": "hand-chosen: noise over draws hardly falls any more beyond (measured)",
        "smoothing_share": "hand-chosen: half of the accuracy",
        "part_shrink": "Feldman, Koren and Talwar 2020, localisation (recalled)",
        "part_step_shrink": "Feldman, Koren and Talwar 2020, localisation (recalled)",
        "statistical_step": "Feldman, Koren and Talwar 2020, localisation (recalled)",
        "private_step": "Feldman, Koren and Talwar 2020, localisation (recalled)",
        "accuracy_share": "hand-chosen: half of the accuracy",
        "accuracy_shrink": "hand-chosen: errors of all parts add up to twice that of the first",
    }

    def __post_init__(self) -> None:
        real_in("drift_factor", self.drift_factor, 1.0, LARGEST_FACTOR)
        positive_real("radius_over_smoothing", self.radius_over_smoothing)
        real_in("radius_over_smoothing", self.radius_over_smoothing, 1 / LARGEST_FACTOR, 1.0)
        for name in ("phase_shrink", "radius_shrink", "part_shrink", "part_step_shrink"):
            _above("1", name, getattr(self, name), 1.0)
        _above("phase_shrink", "step_shrink", self.step_shrink, self.phase_shrink)
        whole_number("restarts", self.restarts)
        if self.phases is not None:
            whole_number("phases", self.phases)
        real_in("radius_margin", self.radius_margin, 1.0, LARGEST_FACTOR)
        check_band(self.band)
        whole_number("calls_per_step", self.calls_per_step, minimum=2)
        real_in("mean_calls_per_step", self.mean_calls_per_step, 1.0, LARGEST_FACTOR)
        for name in (
            "draws_factor",
            "full_noise",
            "statistical_step",
            "private_step",
            "accuracy_share",
        ):
            positive_real(name, getattr(self, name))
            real_in(name, getattr(self, name), 1 / LARGEST_FACTOR, LARGEST_FACTOR)
        real_in("accuracy_shrink", self.accuracy_shrink, 1.0, LARGEST_FACTOR)
        positive_real("smoothing_share", self.smoothing_share)
        real_in("smoothing_share", self.smoothing_share, 1 / LARGEST_FACTOR, 1.0, open_high=True)


def _above(what: str, name: str, value: Any, bound: float) -> None:
    if not bound < positive_real(name, value) <= LARGEST_FACTOR:
        raise ValueError(f"{name}={value!r} must be above {what} and at most {LARGEST_FACTOR:g}")


#: What the theorem resque.drift.orders allows, without the sharper resque.drift.powers: a phase
#: fails with a probability of about 10^-11.8.
WIDE = PrivateConstants(drift_factor=2.0, radius_over_smoothing=1 / 64)
