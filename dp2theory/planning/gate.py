"""The delay rule and the three-state gate: from a signal-to-noise curve to advice.

Rule and thresholds are empirical (problems of the `het` family, text and ratings data): where
the averaged gradient of T // 40 steps stands clear of its noise, DP² beat DP-SGD, and where it
drowns in it, DP² lost or changed nothing. They are not a theorem, and the reason given with each
advice says what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf, isfinite
from typing import Literal

from dp2theory.optimizers.defaults import default_delay as default_delay
from dp2theory.planning.blocks import BlockStatistic

#: Use DP², use it though it is close, or use DP-SGD.
Advice = Literal["dp2", "marginal", "dp-sgd"]

#: From this ratio on the average of one SGD phase is more signal than noise: use DP².
CLEAR_SNR = 1.0
#: Below this ratio the preconditioner would be built from noise: use DP-SGD.
LOW_SNR = 0.3


def shortest_delay(steps: int) -> int:
    """T // 80, at least 1: about 40 preconditioner updates in a run of `steps` steps."""
    return max(1, steps // 80)


def snr_at(blocks: Sequence[BlockStatistic], delay: int) -> float | None:
    """Signal-to-noise ratio at a delay, linear in the block length between measured lengths.

    Beyond the longest measured length the ratio is continued in proportion to the length (the
    noise of an average falls like 1/m); None when nothing was measured.
    """
    if not blocks:
        return None
    for shorter, longer in pairwise(blocks):
        if shorter.length <= delay <= longer.length:
            weight = (delay - shorter.length) / (longer.length - shorter.length)
            return (1 - weight) * shorter.snr + weight * longer.snr
    return blocks[-1].snr * delay / blocks[-1].length


def first_clear_length(blocks: Sequence[BlockStatistic]) -> float:
    """Smallest measured block length whose ratio reaches 1, else continued linearly.

    ``inf`` when the longest measured block shows no signal at all.
    """
    for block in blocks:
        if block.snr >= CLEAR_SNR:
            return block.length
    if not blocks or blocks[-1].snr <= 0:
        return inf
    return ceil(blocks[-1].length * CLEAR_SNR / blocks[-1].snr)


@dataclass(frozen=True)
class Verdict:
    """What the gate says.

    Attributes
    ----------
    advice : {"dp2", "marginal", "dp-sgd"} or None
        None when nothing was measured.
    reason : str
        Why, with the measured figure.
    recommended_delay : int or None
        Delay s to run DP² with: the default one when nothing was measured, None when the advice
        is not to run it.
    default_delay : int
        T // 40, at least 1.
    snr_at_default_delay : float or None
    first_clear_length : float or None
        Smallest block length with ratio 1 (``inf``: none in sight); None if nothing was measured.
    """

    advice: Advice | None
    reason: str
    recommended_delay: int | None
    default_delay: int
    snr_at_default_delay: float | None
    first_clear_length: float | None


def judge(blocks: Sequence[BlockStatistic], steps: int) -> Verdict:
    """Advice and delay for a run of `steps` steps from the blocks its pilot measured.

    Parameters
    ----------
    blocks : sequence of BlockStatistic
        In increasing block length, as `BlockMeans.statistics` returns them.
    steps : int
        Steps T of the whole run, pilot included.

    Returns
    -------
    Verdict
    """
    if steps < 1:
        raise ValueError(f"steps={steps!r}: must be a positive integer")
    usual = default_delay(steps)
    snr = snr_at(blocks, usual)
    if snr is None:
        return Verdict(None, "nothing was measured", usual, usual, None, None)
    clear = first_clear_length(blocks)
    delay = usual if clear >= usual else max(int(clear), shortest_delay(steps))
    seen = (
        f"the average of {usual} released gradient{'s' if usual > 1 else ''} "
        f"(the default delay) has signal-to-noise ratio {snr:.3g}"
    )
    if snr >= CLEAR_SNR:
        reached = f"; ratio 1 is reached at block length {clear:.0f}" if isfinite(clear) else ""
        reason = f"{seen}, clear of the noise (>= {CLEAR_SNR:g}){reached}"
        return Verdict("dp2", reason, delay, usual, snr, clear)
    if snr >= LOW_SNR:
        reason = (
            f"{seen}, between {LOW_SNR:g} and {CLEAR_SNR:g}: DP² is what runs, but it is close, "
            "and DP-SGD may do as well"
        )
        return Verdict("marginal", reason, delay, usual, snr, clear)
    reason = (
        f"{seen}, below {LOW_SNR:g}: a preconditioner built from such averages would follow the "
        "privacy noise and not the gradient"
    )
    return Verdict("dp-sgd", reason, None, usual, snr, clear)
