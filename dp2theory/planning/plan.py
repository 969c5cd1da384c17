"""From a problem and a budget to a plan: noise multiplier, delay or the advice not to, reason.

The steps: noise multiplier from the exact accountant; pilot; signal-to-noise by block length;
gate. Nothing is decided by anything but released gradients and public figures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dp2theory.planning.blocks import MINIMUM_BLOCKS, BlockStatistic, noise_energy
from dp2theory.planning.certified import DAMPING, ESTIMATE_NOTE, Certified, certify, check_damping
from dp2theory.planning.certified import NOTES as CERTIFIED_NOTES
from dp2theory.planning.gate import Verdict, judge, shortest_delay
from dp2theory.planning.methods import CLIP_NORM, EFFECTIVE_STEP
from dp2theory.planning.pilot import PilotState, check_step_sizes, run_pilot
from dp2theory.problems.validation import whole_number

if TYPE_CHECKING:
    from accountants import Bracket, Calibration
    from dp2theory.planning.budget import Budget
    from dp2theory.problems.protocol import Problem

#: What is said of every plan.
NOTES_WITHOUT_PILOT = (
    "ε covers the released gradients. It does not cover hyper-parameters (clip norm, learning "
    "rates, damping) that were chosen by looking at losses on the private records, nor such "
    "losses themselves.",
)
#: What is said of a plan with a pilot.
NOTES = (
    "The pilot's steps are the first steps of the run: a run that goes on from it costs the ε "
    "of the plan in all. A pilot that is thrown away costs what it spent on top.",
    "The signal-to-noise ratio is computed from released noisy gradients alone and costs no "
    "privacy. The losses shown are computed on the private records and are not covered by ε.",
    "The gate (ratio 1 and 0.3 at the delay T // 40) is a rule that held on the problems it was "
    "tried on, no theorem; it depends on the clip norm and on the step size of the pilot.",
    *NOTES_WITHOUT_PILOT,
)


@dataclass(frozen=True, eq=False)
class Plan:
    """What the planner found.

    Attributes
    ----------
    budget : Budget
    noise_multiplier : float
        sigma of every step of the run.
    epsilon : Bracket
        Of the whole run, pilot included.
    clip_norm, learning_rate : float
        DP-SGD's C and learning rate; the effective step is their product.
    dimension : int or None
        Number of parameters, where it is known.
    verdict : Verdict
        Advice, delay and reason.
    blocks : tuple of BlockStatistic
        Signal to noise by block length; empty without a pilot.
    pilot : PilotState or None
        The state to continue from; None when no pilot was made.
    pilot_epsilon : Bracket
        What the pilot alone has spent (part of `epsilon` when the run goes on from it).
    certified : tuple of Certified
        What the bounds say: a priori, and estimated from the pilot; empty without a dimension.
    """

    budget: Budget
    noise_multiplier: float
    epsilon: Bracket
    clip_norm: float
    learning_rate: float
    dimension: int | None
    verdict: Verdict
    blocks: tuple[BlockStatistic, ...]
    pilot: PilotState | None
    pilot_epsilon: Bracket
    certified: tuple[Certified, ...] = ()

    @property
    def noise_norm(self) -> float | None:
        """Root mean square norm of the noise in an average of T // 40 released gradients.

        The averaged gradient itself must be larger for a ratio above 1.
        """
        if self.dimension is None:
            return None
        energy = noise_energy(
            self.dimension,
            self.noise_multiplier,
            self.clip_norm,
            self.budget.batch_size,
            self.verdict.default_delay,
        )
        return float(energy**0.5)

    def to_json(self) -> dict[str, Any]:
        """The ``result`` object of ``dp2theory plan``; every epsilon is a bracket."""
        verdict = self.verdict
        return {
            "noise_multiplier": self.noise_multiplier,
            "epsilon": self.epsilon.to_json(),
            "steps": self.budget.steps,
            "advice": verdict.advice,
            "reason": verdict.reason,
            "delay": {
                "recommended": verdict.recommended_delay,
                "default": verdict.default_delay,
                "shortest": shortest_delay(self.budget.steps),
                "first_clear_length": verdict.first_clear_length,
            },
            "snr": {
                "at_default_delay": verdict.snr_at_default_delay,
                "noise_norm_at_default_delay": self.noise_norm,
                "blocks": [
                    {
                        "length": block.length,
                        "value": block.snr,
                        "blocks": block.blocks,
                        "signal": block.signal,
                        "noise": block.noise,
                        "drift": block.drift,
                    }
                    for block in self.blocks
                ],
            },
            "pilot": {
                "steps": self.pilot.steps if self.pilot else 0,
                "epsilon_spent": self.pilot_epsilon.to_json(),
                "losses": [
                    {"step": step, "train_loss": loss}
                    for step, loss in zip(
                        self.pilot.loss_steps if self.pilot else (),
                        self.pilot.losses if self.pilot else (),
                        strict=True,
                    )
                ],
            },
            "certified": {
                "missing": [] if self.certified else ["dimension"],
                "answers": [each.to_json() for each in self.certified],
            },
            "notes": [
                *(NOTES if self.pilot else NOTES_WITHOUT_PILOT),
                *self._rise(),
                *(CERTIFIED_NOTES if self.certified else ()),
                *((ESTIMATE_NOTE,) if len(self.certified) > 1 else ()),
            ],
        }

    def _rise(self) -> list[str]:
        """A warning when the pilot climbed: then a low ratio may be its step size's doing."""
        if self.pilot is None or not self.pilot.losses:
            return []
        first, last = self.pilot.losses[0], self.pilot.final_loss
        if last <= first:
            return []
        return [
            f"The pilot's train loss rose from {first:.4g} to {last:.4g}: its learning rate may be "
            "too large, and the signal-to-noise ratio is that of where it went."
        ]


def resolve_step_sizes(clip_norm: float | None, learning_rate: float | None) -> tuple[float, float]:
    """Clip norm and learning rate with defaults filled in: C = 1, learning rate = 1 / C."""
    clip = CLIP_NORM if clip_norm is None else clip_norm
    check_step_sizes(clip, EFFECTIVE_STEP)  # before it is divided by
    rate = EFFECTIVE_STEP / clip if learning_rate is None else learning_rate
    check_step_sizes(clip, rate)
    return clip, rate


def make_plan(
    budget: Budget,
    problem: Problem | None = None,
    *,
    dimension: int | None = None,
    clip_norm: float | None = None,
    learning_rate: float | None = None,
    damping: float = DAMPING,
    seed: int = 0,
    record_every: int | None = None,
    on_step: Callable[[int], None] | None = None,
    on_pilot: Callable[[PilotState], None] | None = None,
    calibration: Calibration | None = None,
) -> Plan:
    """Plan a run.

    Parameters
    ----------
    budget : Budget
    problem : Problem, optional
        Without one no pilot is made: the plan then has the noise multiplier and the default
        delay, and gives no advice.
    dimension : int, optional
        Number of parameters, where there is no problem to ask.
    clip_norm, learning_rate : float, optional
        DP-SGD's; default clip norm 1 and learning rate 1 / clip norm.
    damping : float
        Of DP². Only the certified bound reads it.
    seed : int
        Seed of the pilot (and of the run that goes on from it).
    record_every : int, optional
        Steps between records of the pilot's train loss.
    on_step : callable, optional
        Called after each pilot step.
    on_pilot : callable, optional
        Called with the finished pilot at once, before it is judged: what it released is owed
        whatever happens afterwards, so it is to be kept here.
    calibration : accountants.Calibration, optional
        What ``budget.calibrate()`` answered, if it was asked before.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        For values outside their domain; `accountants.InfeasibleBudgetError` when no noise
        multiplier meets the budget.
    dp2theory.planning.pilot.InterruptedPilot
        When the pilot is interrupted; what it released is in ``partial``.
    """
    clip, rate = resolve_step_sizes(clip_norm, learning_rate)
    check_damping(damping, clip)  # before a pilot has spent anything
    whole_number("seed", seed, minimum=0)
    for name, value in (("dimension", dimension), ("record_every", record_every)):
        if value is not None:
            whole_number(name, value)
    if calibration is None:
        calibration = budget.calibrate()
    state: PilotState | None = None
    blocks: tuple[BlockStatistic, ...] = ()
    why = ""
    if problem is None:
        why = "no pilot was made, so nothing was measured"
    elif budget.pilot_steps < MINIMUM_BLOCKS:
        why = (
            f"no pilot was made: a quarter of {budget.steps} steps is fewer than the "
            f"{MINIMUM_BLOCKS} blocks that a signal-to-noise ratio needs"
        )
    else:
        state = run_pilot(
            problem,
            budget,
            noise_multiplier=calibration.noise_multiplier,
            clip_norm=clip,
            learning_rate=rate,
            seed=seed,
            record_every=record_every,
            on_step=on_step,
        )
        if on_pilot is not None:
            on_pilot(state)
        blocks = state.statistics()
    verdict = judge(blocks, budget.steps)
    if state is None:
        verdict = replace(
            verdict,
            reason=f"{why}; s = {verdict.default_delay} (T // 40) is the default delay, "
            "which pays only where gradients stand clear of their noise",
        )
    known = dimension if problem is None else problem.dimension
    return Plan(
        budget=budget,
        noise_multiplier=calibration.noise_multiplier,
        epsilon=calibration.epsilon,
        clip_norm=clip,
        learning_rate=rate,
        dimension=known,
        verdict=verdict,
        blocks=blocks,
        pilot=state,
        pilot_epsilon=spent_by(state, budget, calibration.epsilon),
        certified=certify(
            budget,
            dimension=known,
            noise_multiplier=calibration.noise_multiplier,
            clip_norm=clip,
            blocks=None if state is None else state.blocks,
            statistics=blocks,
            recommended=verdict.recommended_delay,
            damping=damping,
        ),
    )


def spent_by(state: PilotState | None, budget: Budget, whole: Bracket) -> Bracket:
    """What a pilot alone has spent; nothing was spent where none was made.

    Parameters
    ----------
    state : PilotState or None
    budget : Budget
    whole : Bracket
        Epsilon of the whole run, which bounds that of its beginning: the answer where the
        accountant cannot keep its stated error for the shorter run.
    """
    from accountants import AccuracyError, Bracket

    if state is None or not state.steps:
        return Bracket(0.0, 0.0)
    try:
        return budget.account(state.ledger)
    except AccuracyError:
        return Bracket(0.0, whole.upper)
