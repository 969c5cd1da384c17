"""Grid search for the runs of a comparison, from step 0 or from a pilot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.optimizers.tuning import TunedOptimizer, tune
from dp2theory.planning.comparison import PilotSettings, pilot_delay, pilot_of_seed
from dp2theory.planning.gate import default_delay

if TYPE_CHECKING:
    from dp2theory.optimizers.sgd import DpSgd
    from dp2theory.planning.budget import Budget
    from dp2theory.planning.pilot import PilotState
    from dp2theory.problems.protocol import Array, Problem
    from dp2theory.problems.public import PublicData

#: Added to a tuning seed for the pilot in front of it, so that the noise of the pilot does not
#: come again in the run that goes on from it.
_PILOT_SEED_SHIFT = 2**20


@dataclass(frozen=True)
class Start:
    """Where the runs that are tuned start.

    Attributes
    ----------
    steps : int
        Steps that are left.
    parameters : ndarray or mapping of seed to ndarray or None
        Start of each run; None is the problem's own.
    pilot : PilotState or None
        A pilot whose recommended delay can be taken.
    """

    steps: int
    parameters: Array | Mapping[int, Array] | None = None
    pilot: PilotState | None = None


def start_of(
    pilot: PilotState | PilotSettings | None,
    problem: Problem,
    budget: Budget,
    seeds: Sequence[int],
) -> Start:
    """Make or take the pilots in front of the runs of the tuning `seeds`."""
    if pilot is None:
        return Start(budget.steps)
    if isinstance(pilot, PilotSettings):
        states = {
            seed: pilot_of_seed(pilot, problem, budget, seed + _PILOT_SEED_SHIFT) for seed in seeds
        }
        return Start(
            budget.steps - budget.pilot_steps,
            {seed: state.parameters for seed, state in states.items()},
            states[seeds[0]],
        )
    return Start(budget.steps - pilot.steps, pilot.parameters, pilot)


def tune_method(
    method: str,
    problem: Problem,
    budget: Budget,
    *,
    noise_multiplier: float,
    seeds: Sequence[int],
    base: DpSgd | None = None,
    pilot: PilotState | PilotSettings | None = None,
    phases: Mapping[str, int] | None = None,
    public: PublicData | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TunedOptimizer:
    """The best configuration of a method's grid on the tuning seeds.

    Parameters
    ----------
    method : str
        A key of `dp2theory.optimizers.grids.GRIDS`.
    problem : Problem
    budget : Budget
    noise_multiplier : float
    seeds : sequence of int
        Tuning seeds; evaluate on others.
    base : DpSgd, optional
        The tuned DP-SGD that the other grids build on.
    pilot : PilotState or PilotSettings, optional
        What the runs go on from.
    phases : mapping, optional
        ``delay``, or ``sgd_steps`` and ``adaptive_steps``; by default the delay that the pilot
        recommends, else T // 40 of the whole run.
    public : PublicData, optional
        Side information, for the methods that use it.
    settings : mapping, optional
        Settings that are fixed before the search, for the grids that read them.
    progress : callable, optional
        Called with (runs done, runs in all).

    Returns
    -------
    TunedOptimizer
    """
    start = start_of(pilot, problem, budget, seeds)
    lengths = dict(phases or {})
    if not lengths:
        lengths = {"delay": default_delay(budget.steps)}
        if start.pilot is not None:
            lengths = {"delay": pilot_delay(start.pilot)}
    return tune(
        problem,
        method,
        sampling=budget.sampling,
        steps=start.steps,
        noise_multiplier=noise_multiplier,
        seeds=seeds,
        base=base,
        public=public,
        settings=settings,
        initial_parameters=start.parameters,
        progress=progress,
        delay=lengths.get("delay"),
        sgd_steps=lengths.get("sgd_steps"),
        adaptive_steps=lengths.get("adaptive_steps"),
    )
