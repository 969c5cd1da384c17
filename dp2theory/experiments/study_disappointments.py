"""What a reader who hopes for DP² should know, as the study's figures say it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dp2theory.experiments.study_checks import AGAINST_DP_SGD, MEAN_REGRET
from dp2theory.experiments.study_losses import Advice, Measured
from dp2theory.planning.paired import compare_pairs

if TYPE_CHECKING:
    from accountants import Bracket
    from dp2theory.experiments.study import Study


def disappointments(study: Study) -> str:
    """A section in Markdown; empty when there is nothing to say."""
    lines = [
        f"{check.problem}: {check.claim} is {check.measured:.4f}, wanted {check.sense} "
        f"{check.bar:g}."
        for check in study.checks
        if not check.passed
    ]
    claimed = {check.problem for check in study.checks if check.name == "dp-sgd"}
    for one in study.measured:
        lines += _gain(one, one.problem in claimed)
        lines += _tuned_steps(one)
        lines += _switch(one)
    if not lines:
        return ""
    return "## What disappoints\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"


def _gain(one: Measured, claimed: bool) -> Iterator[str]:
    """No gain that could be told from none, or less than is claimed elsewhere."""
    if not one.grid:
        return
    pairs = one.best.over(one.arms["dp-sgd"])
    ends = interval_text(pairs.ratio_interval)
    text = f"{one.problem}: DP² at its best delay is at {pairs.ratio:.4f} {ends} of DP-SGD's loss"
    if pairs.ratio_interval is None or pairs.ratio_interval.upper >= 1:
        yield f"{text}: no gain that could be told from none."
    elif pairs.ratio > AGAINST_DP_SGD and not claimed:
        yield f"{text}: a small gain, on a problem where none was claimed."


def _tuned_steps(one: Measured) -> Iterator[str]:
    """An advice that is worse because the pilot walks with tuned steps."""
    worst = tuned_regret(one)
    if worst is not None and worst > MEAN_REGRET:
        yield (
            f"{one.problem}: a pilot that walks with the *tuned* DP-SGD's step sizes advises "
            f"{advice_text(one.tuned_advice[:1])}, which costs {100 * (worst - 1):.1f} % more "
            "train loss than the best choice; the regret that is judged is the one at the "
            "planner's default steps (clip norm 1, effective step 1)."
        )


def _switch(one: Measured) -> Iterator[str]:
    """The online form, where it is not clearly better than DP-SGD."""
    if not one.switched:
        return
    pairs = compare_pairs(one.switched, one.arms["dp-sgd"].losses[: len(one.switched)])
    if pairs.ratio_interval is None or pairs.ratio_interval.upper >= 1:
        whole = one.best.over(one.arms["dp-sgd"]).ratio
        yield (
            f"{one.problem}: DP² that goes on from a pilot is at {pairs.ratio:.4f} "
            f"{interval_text(pairs.ratio_interval)} of DP-SGD's loss; tuned from step 0 it is at "
            f"{whole:.4f}."
        )


def tuned_regret(one: Measured) -> float | None:
    """Regret of the advice at tuned steps; None where that delay was not run."""
    if not one.tuned_advice:
        return None
    given = one.tuned_advice[0]
    if given.delay is not None and given.delay not in one.delays:
        return None
    arm = one.arms["dp-sgd"] if given.delay is None else one.delays[given.delay]
    choices = [one.arms["dp-sgd"], *one.delays.values()]
    return arm.mean / min(choice.mean for choice in choices)


def advice_text(advice: Sequence[Advice]) -> str:
    """Advices with how often each was given, and the ratios of signal to noise seen."""
    counts: dict[str, list[float]] = {}
    for one in advice:
        what = one.advice if one.delay is None else f"{one.advice}, delay {one.delay}"
        counts.setdefault(what, []).append(one.snr)
    return "; ".join(
        f"{f'{len(ratios)} x ' if len(advice) > 1 else ''}{what} "
        f"({min(ratios):.2g}{f' to {max(ratios):.2g}' if len(ratios) > 1 else ''})"
        for what, ratios in counts.items()
    )


def interval_text(interval: Bracket | None) -> str:
    """An interval with four digits."""
    return "" if interval is None else f"[{interval.lower:.4f}, {interval.upper:.4f}]"
