"""Sentences about paired comparisons, and what they decide."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dp2theory.experiments.figures.statistics import FAR, percent_interval

if TYPE_CHECKING:
    from dp2theory.experiments.figures.bench import Arm
    from dp2theory.planning.paired import PairedComparison

#: Names of methods in sentences; others are called by their name on the command line.
NAMES = {
    "adadps": "AdaDPS (public data)",
    "adadps-statistics": "AdaDPS (public statistics)",
    "dp-adagrad-projected": "projected DP-AdaGrad",
    "dp-rmsprop": "DP-RMSProp",
    "dp-sgd": "DP-SGD",
    "dp2-rmsprop": "DP²-RMSProp",
    "dp2-rmsprop-extra-noise": "ablation 1 (extra noise)",
    "dp2-rmsprop-noise-first": "ablation 2 (noise first)",
    "pda-dpmd": "PDA-DPMD",
    "rmsprop": "RMSProp",
    "sgd": "SGD",
    "snapshot": "geometry snapshot",
}


def name_of(method: str) -> str:
    """The method's name in a sentence."""
    return NAMES.get(method, method)


def compare(ours: Arm, theirs: Arm, *, name: str | None = None, other: str | None = None) -> str:
    """One clause: "DP² is 6.0 % below DP-SGD [-7.1 %, -5.0 %]".

    Parameters
    ----------
    ours, theirs : Arm
    name, other : str, optional
        What they are called; their methods' names if None.
    """
    name, other = name or name_of(ours.tuned.method), other or name_of(theirs.tuned.method)
    paired = ours.against(theirs)
    if paired is None:
        bad = [arm for arm in (ours, theirs) if not all(map(math.isfinite, arm.losses))]
        words = ", ".join(
            f"{sum(not math.isfinite(loss) for loss in arm.losses)} of {len(arm.losses)} runs of "
            f"{name if arm is ours else other}"
            for arm in bad
        )
        return f"{name} cannot be compared with {other}: {words} diverged"
    change = 100 * (paired.ratio - 1)
    side = "below" if change < 0 else "above"
    clause = f"{name} is {abs(change):.1f} % {side} {other}"
    if paired.ratio >= FAR:
        clause = f"{name} is {paired.ratio:.2g} times {other}"
    if paired.ratio_interval is not None:
        interval = paired.ratio_interval
        clause += f" {percent_interval(interval.lower, interval.upper)}"
    return clause


def below(paired: PairedComparison | None) -> bool | None:
    """Whether ours is below theirs: None where the interval holds 1, or there is none."""
    if paired is None or paired.ratio_interval is None:
        return None
    if paired.ratio_interval.upper < 1:
        return True
    return False if paired.ratio_interval.lower > 1 else None


def decided(comparisons: Iterable[PairedComparison | None]) -> bool | None:
    """True if ours is below in all, False if it is above in one, else None."""
    found = [below(one) for one in comparisons]
    if False in found:
        return False
    return None if None in found else True
