"""The study's claims as checks: what was measured, its interval, its bar, and whether it holds.

Everything here is arithmetic on final train losses, so that a doctored loss changes the verdict
and nothing else has to run. The bars are the claims, written down before the runs were made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from accountants import Bracket
from accountants.validation import reals, require
from dp2theory.experiments.study_delay_ratio import Prediction
from dp2theory.experiments.study_losses import Advice, Arm, Measured
from dp2theory.problems.validation import open_unit

#: DP² over DP-SGD, and over DP-RMSProp, on the `het` problems.
AGAINST_DP_SGD = 0.97
#: DP² over DP-RMSProp, at the most.
AGAINST_DP_RMSPROP = 1.02
#: How far DP² may be from DP-SGD on real data, either way.
REAL_DATA = 0.03
#: Snapshot over DP-SGD at equal total privacy.
SNAPSHOT = {"het": 0.92, "hetM": 0.92, "hetB": 0.92, "syn": 0.95, "text": 0.98}
#: Ablation 2 over DP², and ablation 1 over DP² at equal privacy.
NOISE_FIRST = 1.05
#: Ablation 1 over DP² at equal privacy, at the least.
EXTRA_NOISE = 0.99
#: Loss of the advice over the best loss in sight, on each problem and in the mean.
REGRET = 1.05
#: The same in the mean over all problems.
MEAN_REGRET = 1.02
#: Relative error of the noise-only prediction of h(s), where the ratio of signal to noise is low.
DELAY_RATIO = 0.10


@dataclass(frozen=True)
class Check:
    """One claim on one problem.

    Attributes
    ----------
    name : str
        Which claim, as `--only` takes it.
    problem : str
        On what.
    claim : str
        In words.
    measured : float
        The figure; NaN when there was nothing to measure, which is a miss.
    bar : float
        What it is held against.
    sense : {"at most", "at least"}
        The side of the bar on which the claim holds.
    interval : Bracket or None
        Confidence interval over seeds, where there is one.
    whole_interval : bool
        Whether the interval must lie on the right side of the bar with all its length.
    note : str
        What a reader should know besides.
    """

    name: str
    problem: str
    claim: str
    measured: float
    bar: float
    sense: Literal["at most", "at least"] = "at most"
    interval: Bracket | None = None
    whole_interval: bool = False
    note: str = ""

    def _on_the_right_side(self, value: float) -> bool:
        return value <= self.bar if self.sense == "at most" else value >= self.bar

    @property
    def clear(self) -> bool:
        """Whether the interval as a whole is on the right side of the bar."""
        if self.interval is None:
            return False
        return self._on_the_right_side(self.interval.lower) and self._on_the_right_side(
            self.interval.upper
        )

    @property
    def passed(self) -> bool:
        """Whether the claim holds; a NaN is on no side."""
        return self._on_the_right_side(self.measured) and (self.clear or not self.whole_interval)

    @property
    def verdict(self) -> str:
        """In a word or two: also whether the seeds leave room for doubt."""
        if not self.passed:
            return "MISSED"
        return "holds" if self.interval is None or self.clear else "holds, within noise"

    def to_json(self) -> dict[str, Any]:
        """Return plain values; a NaN becomes "nan"."""
        return {
            "name": self.name,
            "problem": self.problem,
            "claim": self.claim,
            "measured": self.measured if math.isfinite(self.measured) else str(self.measured),
            "interval": None if self.interval is None else self.interval.to_json(),
            "bar": self.bar,
            "sense": self.sense,
            "passed": self.passed,
            "verdict": self.verdict,
            "note": self.note,
        }


def _compared(
    name: str, measured: Measured, ours: Arm, theirs: Arm, claim: str, bar: float, **more: Any
) -> Check:
    """A check on the ratio of two mean losses; one that diverged is a miss."""
    if not all(map(math.isfinite, ours.losses + theirs.losses)):
        return Check(
            name, measured.problem, claim, math.nan, bar, **(more | {"note": "a run diverged"})
        )
    pairs = ours.over(theirs)
    return Check(
        name, measured.problem, claim, pairs.ratio, bar, interval=pairs.ratio_interval, **more
    )


def against_dp_sgd(measured: Measured) -> Check:
    """DP² at its best delay against DP-SGD."""
    return _compared(
        "dp-sgd",
        measured,
        measured.best,
        measured.arms["dp-sgd"],
        "train loss of DP²-RMSProp over DP-SGD's",
        AGAINST_DP_SGD,
        note=f"delay {measured.best_delay}",
    )


def against_dp_rmsprop(measured: Measured) -> Check:
    """DP² at its best delay against DP-RMSProp."""
    return _compared(
        "dp-rmsprop",
        measured,
        measured.best,
        measured.arms["dp-rmsprop"],
        "train loss of DP²-RMSProp over DP-RMSProp's",
        AGAINST_DP_RMSPROP,
        note=f"delay {measured.best_delay}",
    )


def sweet_spot(measured: Measured) -> Check:
    """The best delay lies inside the grid: it is better than both ends, beyond seed noise.

    The inner delay is chosen on the tuning seeds, so that the comparison on the others is fair.
    """
    first, *inner, last = sorted(measured.grid)
    inside = min(inner, key=lambda delay: measured.delays[delay].tuning_loss)
    claim = "train loss at the best inner delay over the better end of the delay grid"
    checks = [
        _compared(
            "sweet-spot",
            measured,
            measured.delays[inside],
            measured.delays[end],
            claim,
            1.0,
            whole_interval=True,
            note=f"delay {inside} against {end}",
        )
        for end in (first, last)
    ]
    # NaN first: an end that diverged was not compared with.
    return max(checks, key=lambda check: (math.isnan(check.measured), check.measured))


def real_data(measured: Measured) -> Check:
    """DP² at its best delay is about as good as DP-SGD: neither a gain nor a loss beyond 3 %."""
    pairs = measured.best.over(measured.arms["dp-sgd"])
    inner = pairs.ratio_interval
    distance = None
    if inner is not None:
        ends = (abs(inner.lower - 1), abs(inner.upper - 1))
        inside = inner.lower <= 1 <= inner.upper
        distance = Bracket(0.0 if inside else min(ends), max(ends))
    return Check(
        "real-data",
        measured.problem,
        "distance of DP²-RMSProp's train loss from DP-SGD's, as a share",
        abs(pairs.ratio - 1),
        REAL_DATA,
        interval=distance,
        note=f"ratio {pairs.ratio:.4f} at delay {measured.best_delay}",
    )


def snapshot(measured: Measured) -> Check:
    """The private geometry snapshot against DP-SGD at equal total privacy."""
    return _compared(
        "snapshot",
        measured,
        measured.arms["snapshot"],
        measured.arms["dp-sgd"],
        "train loss of the snapshot method over DP-SGD's at equal total privacy",
        SNAPSHOT[measured.problem],
    )


def noise_first(measured: Measured) -> Check:
    """Ablation 2 (noise, then precondition) against DP² at DP²'s best delay."""
    return _worse(
        "noise-first",
        measured,
        measured.arms["dp2-rmsprop-noise-first"],
        "train loss of ablation 2 (noise first) over DP²-RMSProp's at DP²'s best delay: the "
        "smaller of the ratio of means and the median of ratios",
        NOISE_FIRST,
    )


def extra_noise(measured: Measured) -> Check:
    """Ablation 1 (two releases a step) against DP² at equal privacy."""
    return _worse(
        "extra-noise",
        measured,
        measured.arms["dp2-rmsprop-extra-noise"],
        "train loss of ablation 1 (extra noise) at equal privacy over DP²-RMSProp's at DP²'s best "
        "delay (the smaller of the ratio of means and the median of the ratios)",
        EXTRA_NOISE,
    )


def _worse(name: str, measured: Measured, ours: Arm, claim: str, bar: float) -> Check:
    """A check that a method is worse than DP²: by its mean and by its median.

    A few runs that went astray make any mean large and prove nothing, so that the smaller of the
    ratio of means and the median of the ratios seed by seed is what counts.
    """
    theirs = measured.best
    if not all(map(math.isfinite, theirs.losses)):
        return Check(name, measured.problem, claim, math.nan, bar, "at least")
    median, interval = median_ratio(ours.losses, theirs.losses)
    note = f"median of ratios {median:.4f}"
    if all(map(math.isfinite, ours.losses)):
        pairs = ours.over(theirs)
        note = f"ratio of means {pairs.ratio:.4f}, {note}"
        if pairs.ratio <= median:
            median, interval = pairs.ratio, pairs.ratio_interval
    return Check(
        name, measured.problem, claim, median, bar, "at least", interval=interval, note=note
    )


def median_ratio(
    ours: Sequence[float], theirs: Sequence[float], *, confidence: float = 0.95
) -> tuple[float, Bracket | None]:
    """Return the median of the ratios seed by seed, with its interval by order statistics.

    Parameters
    ----------
    ours : sequence of float
        Losses, infinite where a run diverged.
    theirs : sequence of float
        Positive finite losses on the same seeds.
    confidence : float
        Coverage that the interval has at least; None when there are too few seeds for one.
    """
    confidence = open_unit("confidence", confidence)
    first = reals("ours", ours, "losses, one for each seed")
    require(first.ndim == 1 and first.size > 0, "ours", ours, "losses, one for each seed")
    allowed = "finite losses > 0, one for each seed"
    second = reals("theirs", theirs, allowed)
    good = second.ndim == 1 and bool(((second > 0) & (second < math.inf)).all())
    require(good, "theirs", theirs, allowed)
    if len(ours) != len(theirs):
        raise ValueError(f"ours and theirs have {len(ours)} and {len(theirs)} losses: as many")
    ratios = sorted(x / y for x, y in zip(ours, theirs, strict=True))
    count = len(ratios)
    middle = ratios[count // 2]
    if count % 2 == 0:
        middle = (middle + ratios[count // 2 - 1]) / 2
    # The median lies below the (k + 1)-th smallest with the chance of at most k heads in n.
    below, tail = 0, 0.0
    for heads in range(count):
        tail += math.comb(count, heads) / 2**count
        if tail > (1 - confidence) / 2:
            break
        below = heads + 1
    return middle, Bracket(ratios[below - 1], ratios[count - below]) if below else None


def advised(measured: Measured, advice: Advice | None = None) -> Arm:
    """What runs when an advice (the first pilot's by default) is followed."""
    given = measured.advice[0] if advice is None else advice
    return measured.arms["dp-sgd"] if given.delay is None else measured.delays[given.delay]


def regret(measured: Measured) -> Check:
    """The advice against the best of DP² over the grid of delays and DP-SGD.

    All of them are tuned alike and start at step 0. The best is chosen with hindsight, on the
    very seeds that judge, so that the regret is rather over- than understated.
    """
    choices = [measured.arms["dp-sgd"], *(measured.delays[delay] for delay in measured.grid)]
    best = min(choices, key=lambda arm: arm.mean)
    given = measured.advice[0]
    words = given.advice if given.delay is None else f"{given.advice}, delay {given.delay}"
    place = best.settings.get("delay")
    return _compared(
        "regret",
        measured,
        advised(measured),
        best,
        "train loss of the planner's advice over the best of DP² over delays and DP-SGD",
        REGRET,
        note=(
            f"advice: {words} (ratio of signal to noise {given.snr:.2g}); "
            f"best: {best.method}" + (f", delay {place}" if place else "")
        ),
    )


def mean_regret(checks: Sequence[Check]) -> Check:
    """The mean over the problems of their regrets."""
    ratios = [check.measured for check in checks]
    return Check(
        "regret",
        f"mean of {len(checks)}",
        "the same in the mean over problems",
        math.fsum(ratios) / len(ratios) if ratios else math.nan,
        MEAN_REGRET,
    )


def privacy(measured: Measured, target_epsilon: float) -> Check:
    """No method spent more than the budget, all its releases counted."""
    arms = [*measured.arms.values(), *measured.delays.values()]
    return Check(
        "privacy",
        measured.problem,
        "largest epsilon (upper end) of all methods that were compared",
        max(arm.epsilon.upper for arm in arms),
        target_epsilon,
    )


def delay_ratio(problem: str, found: Sequence[Prediction]) -> Check:
    """h(s) is what noise alone predicts, over steps whose average has little signal."""
    errors = {one.delay: abs(one.low_error) for one in found if one.low_error is not None}
    whole = max((abs(one.error) for one in found), default=math.nan)
    return Check(
        "delay-ratio",
        problem,
        "largest relative error of the noise-only h(s) over steps that look back on averages with "
        "a ratio of signal to noise below 0.1",
        max(errors.values(), default=math.nan),
        DELAY_RATIO,
        note=(
            f"delays {', '.join(map(str, sorted(errors)))}; of the whole h(s), early steps with "
            f"more signal included, up to {100 * whole:.0f} %"
        ),
    )
