"""A method beside another at equal privacy: who runs, on which seeds, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.protocol import run
from dp2theory.planning.budget import compose_events, epsilon_of, releases_of
from dp2theory.planning.gate import default_delay, judge
from dp2theory.planning.paired import compare_pairs
from dp2theory.planning.pilot import InterruptedPilot, run_pilot
from dp2theory.planning.trial import InterruptedTrial, SeededRun, run_seed, summarize

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from dp2theory.optimizers.steps import Optimizer
    from dp2theory.planning.budget import Budget
    from dp2theory.planning.pilot import PilotState
    from dp2theory.problems.protocol import Problem


@dataclass(frozen=True)
class PilotSettings:
    """How each run of an arm makes its own pilot: DP-SGD's clip norm and learning rate.

    Attributes
    ----------
    clip_norm, learning_rate : float
    noise_multiplier : float
        Noise on the summed gradient over the clip norm.
    """

    clip_norm: float
    learning_rate: float
    noise_multiplier: float


@dataclass(eq=False)
class Arm:
    """One method of a comparison.

    Attributes
    ----------
    method : str
    optimizer : Optimizer
    pilot : PilotState or PilotSettings or None
        A saved pilot that every run goes on from, or how each run makes its own, or neither.
    delay_by_pilot : bool
        Whether DP² takes the delay that the pilot recommends.
    runs : list of SeededRun
        Filled as they are made.
    """

    method: str
    optimizer: Optimizer
    pilot: PilotState | PilotSettings | None = None
    delay_by_pilot: bool = False
    runs: list[SeededRun] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The runs and their means."""
        return summarize(self.method, self.optimizer, self.runs)


def pilot_of_seed(
    settings: PilotSettings,
    problem: Problem,
    budget: Budget,
    seed: int,
    *,
    record_every: int | None = None,
    on_step: Callable[[int], None] | None = None,
) -> PilotState:
    """The pilot that the run of one seed starts with."""
    return run_pilot(
        problem,
        budget,
        noise_multiplier=settings.noise_multiplier,
        clip_norm=settings.clip_norm,
        learning_rate=settings.learning_rate,
        seed=seed,
        record_every=record_every,
        on_step=on_step,
    )


def pilot_delay(state: PilotState) -> int:
    """The delay that a pilot recommends, or the default one where it advises DP-SGD."""
    recommended = judge(state.statistics(), state.budget.steps).recommended_delay
    return default_delay(state.budget.steps) if recommended is None else recommended


def with_pilot_delay(optimizer: Optimizer, state: PilotState) -> Optimizer:
    """DP² with the delay that a pilot recommends; other optimizers as they are."""
    if not isinstance(optimizer, Dp2RmsProp):
        return optimizer
    return replace(optimizer, delay=pilot_delay(state), sgd_steps=None, adaptive_steps=None)


def run_arms(
    arms: Sequence[Arm],
    problem: Problem,
    budget: Budget,
    seeds: Sequence[int],
    *,
    record_every: int | None = None,
    on_step: Callable[[int], None] | None = None,
    on_run: Callable[[Arm, SeededRun], None] | None = None,
) -> None:
    """Run every arm on every seed, seed by seed, so that what is done so far is paired.

    Parameters
    ----------
    arms : sequence of Arm
        Their ``runs`` are extended.
    problem : Problem
    budget : Budget
    seeds : sequence of int
    record_every : int, optional
        Steps between records of the train loss.
    on_step : callable, optional
        Called after each step.
    on_run : callable, optional
        Called after each run, for example to save what there is.

    Raises
    ------
    KeyboardInterrupt
        When interrupted (an `InterruptedTrial` or `InterruptedPilot`); ``arms`` hold the runs
        made so far, an interrupted run included.
    """
    for place, seed in enumerate(seeds):
        for arm in arms:
            try:
                made = _run_one(arm, problem, budget, seed, place == 0, record_every, on_step)
            except InterruptedTrial as stop:
                arm.runs.append(stop.partial)
                raise
            except InterruptedPilot as stop:
                arm.runs.append(_only_pilot(arm, problem, budget, seed, stop.partial))
                raise
            arm.runs.append(made)
            if on_run is not None:
                on_run(arm, made)


def _run_one(
    arm: Arm,
    problem: Problem,
    budget: Budget,
    seed: int,
    first: bool,
    record_every: int | None,
    on_step: Callable[[int], None] | None,
) -> SeededRun:
    pilot = arm.pilot
    if isinstance(pilot, PilotSettings):
        state: PilotState | None = pilot_of_seed(
            pilot, problem, budget, seed, record_every=record_every, on_step=on_step
        )
        continue_stream = True
    else:
        # A saved pilot has one random stream to go on with; further runs start their own.
        state, continue_stream = pilot, first
    optimizer = arm.optimizer
    if arm.delay_by_pilot and state is not None:
        optimizer = with_pilot_delay(optimizer, state)
    return run_seed(
        optimizer,
        problem,
        sampling=budget.sampling,
        steps=budget.steps,
        seed=seed,
        pilot=state,
        continue_stream=continue_stream,
        record_every=record_every,
        on_step=on_step,
    )


def _only_pilot(
    arm: Arm, problem: Problem, budget: Budget, seed: int, state: PilotState
) -> SeededRun:
    """A run that ended within its pilot: no step of its own, but the pilot's releases count."""
    result = run(
        arm.optimizer,
        problem,
        sampling=budget.sampling,
        steps=0,
        rng=seed,
        initial_parameters=state.parameters,
        start_step=state.steps,
    )
    return SeededRun(seed, result, state, problem.metrics(state.parameters))


def comparison_result(
    method: Arm,
    compare: Arm | None,
    budget: Budget,
    *,
    noise_multiplier: float,
    discarded: DpEvent | None = None,
) -> dict[str, Any]:
    """What ``dp2theory train`` reports: ledgers accounted, means, paired difference.

    Parameters
    ----------
    method, compare : Arm
        With the runs made so far.
    budget : Budget
    noise_multiplier : float
    discarded : DpEvent, optional
        Ledger of a pilot that was thrown away: paid by every run.

    Returns
    -------
    dict
        ``noise_multiplier``, ``epsilon`` and ``releases`` of one run of the method (with the
        discarded pilot), ``steps``, ``method``, ``compare``, ``paired``.
    """
    arms = {"method": method.to_json(), "compare": None if compare is None else compare.to_json()}
    for name, arm in (("method", method), ("compare", compare)):
        described = arms[name]
        if arm is None or described is None:
            continue
        ledger = costliest(arm.runs, discarded)
        bracket = epsilon_of(ledger, budget.target_delta, budget.neighboring_relation)
        described["epsilon"] = bracket.to_json()
        described["releases"] = releases_of(ledger)
    assert arms["method"] is not None
    paired = None
    if compare is not None:
        pairs = [
            (ours.final_loss, theirs.final_loss)
            for ours, theirs in zip(method.runs, compare.runs, strict=False)
            if ours.completed and theirs.completed
        ]
        if pairs:
            paired = compare_pairs(*zip(*pairs, strict=True)).to_json()
    return {
        "noise_multiplier": noise_multiplier,
        "epsilon": arms["method"]["epsilon"],
        "steps": budget.steps,
        "releases": arms["method"]["releases"],
        **arms,
        "paired": paired,
    }


def costliest(runs: Sequence[SeededRun], discarded: DpEvent | None) -> DpEvent:
    """The ledger with most releases, discarded ones included.

    Runs of one arm differ only where one was interrupted.
    """
    longest = max(runs, key=lambda one: one.steps, default=None)
    return compose_events(discarded, None if longest is None else longest.ledger)
