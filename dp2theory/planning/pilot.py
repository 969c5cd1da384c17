"""The pilot: the first quarter of the run itself, made with DP-SGD while the blocks are watched.

The pilot's steps are the first steps of the run, so pilot and run together cost what the run
alone costs: T releases. Only a pilot that is thrown away costs extra.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dp2theory.optimizers.defaults import SGD_PHASE_RATE
from dp2theory.optimizers.protocol import DivergedRun, InterruptedRun, make_generator, run
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.planning.blocks import MINIMUM_BLOCKS, Array, BlockMeans, BlockStatistic
from dp2theory.problems.validation import positive_real, real_in, whole_number

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from dp2theory.optimizers.protocol import RunResult
    from dp2theory.planning.budget import Budget
    from dp2theory.problems.protocol import Problem

#: The pilot walks at this share of the DP-SGD learning rate: the blocks compare gradients at
#: neighbouring iterates, and a full step blurs them.
PILOT_RATE = SGD_PHASE_RATE
#: Allowed clip norms, and learning rates on the command line: squares and products of two of them
#: are doubles with room to spare. No sensible unit of a gradient comes near the ends.
STEP_SIZES = (1e-100, 1e100)


@dataclass(frozen=True, eq=False)
class PilotState:
    """Everything a pilot leaves behind: enough to judge, to account, and to go on.

    Attributes
    ----------
    problem : str
        Name of the problem.
    budget : Budget
        The run that the pilot is the beginning of.
    noise_multiplier, clip_norm : float
        sigma and C of its releases.
    learning_rate : float
        The DP-SGD learning rate; the pilot used `PILOT_RATE` times it.
    seed : int
        Seed of the generator that drew initial parameters, batches and noise.
    steps : int
        Releases made.
    complete : bool
        Whether all steps were made, so that a run can go on from here. An interrupted pilot
        keeps its ledger, which is owed, but no block means.
    parameters : ndarray, shape (dimension,)
        The iterate.
    final_loss : float
        Mean train loss at `parameters`.
    blocks : BlockMeans
        Statistics of the released noisy gradients.
    loss_steps, losses : tuple
        Mean train loss along the way. All losses are computed on the records without noise:
        they are not covered by the ledger.
    rng_state : dict
        State of the generator after the last step.
    """

    problem: str
    budget: Budget
    noise_multiplier: float
    clip_norm: float
    learning_rate: float
    seed: int
    steps: int
    complete: bool
    parameters: Array
    final_loss: float
    blocks: BlockMeans
    loss_steps: tuple[int, ...]
    losses: tuple[float, ...]
    rng_state: dict[str, Any]

    @property
    def ledger(self) -> DpEvent:
        """The releases it made."""
        return self.budget.event(self.noise_multiplier, steps=self.steps)

    def generator(self) -> np.random.Generator:
        """A generator that continues the pilot's random stream."""
        generator, _ = make_generator(0)
        generator.bit_generator.state = self.rng_state
        return generator

    def statistics(self) -> tuple[BlockStatistic, ...]:
        """Signal to noise by block length."""
        return self.blocks.statistics(
            noise_multiplier=self.noise_multiplier,
            clip_norm=self.clip_norm,
            batch_size=self.budget.batch_size,
        )


class InterruptedPilot(KeyboardInterrupt):
    """A pilot stopped by the user; `partial` holds what was released until then."""

    def __init__(self, partial: PilotState) -> None:
        super().__init__(f"pilot interrupted after {partial.steps} steps")
        self.partial = partial


def check_step_sizes(clip_norm: float, learning_rate: float) -> None:
    """Refuse a clip norm outside `STEP_SIZES`, or a learning rate not positive and finite."""
    low, high = STEP_SIZES
    real_in("clip_norm", clip_norm, low, high)
    positive_real("learning_rate", learning_rate)


def run_pilot(
    problem: Problem,
    budget: Budget,
    *,
    noise_multiplier: float,
    clip_norm: float,
    learning_rate: float,
    seed: int,
    record_every: int | None = None,
    on_step: Callable[[int], None] | None = None,
) -> PilotState:
    """Make the first T // 4 DP-SGD steps of the run and keep block means of what they release.

    Parameters
    ----------
    problem : Problem
    budget : Budget
        Must have the problem's data set size and at least 16 steps.
    noise_multiplier, clip_norm : float
        sigma and C.
    learning_rate : float
        The DP-SGD learning rate of the run; the pilot uses a third of it.
    seed : int
        One generator draws initial parameters, batches and noise. Noise is scaled by sigma only
        after it is drawn, so pilots that differ in the budget alone share batches and noise.
    record_every : int, optional
        Steps between two records of the train loss.
    on_step : callable, optional
        Called with the step's number, for progress bars.

    Returns
    -------
    PilotState

    Raises
    ------
    ValueError
        For values outside their domain, and when the pilot diverges.
    InterruptedPilot
        On KeyboardInterrupt, with the steps made so far.
    """
    check_step_sizes(clip_norm, learning_rate)
    whole_number("seed", seed, minimum=0)
    if budget.dataset_size != problem.dataset_size:
        raise ValueError(
            f"dataset_size={budget.dataset_size}: must be {problem.dataset_size}, the number of "
            f"records of problem {problem.name!r}"
        )
    if budget.pilot_steps < MINIMUM_BLOCKS:
        raise ValueError(
            f"steps={budget.steps}: a pilot of T // 4 steps needs at least {4 * MINIMUM_BLOCKS}"
        )
    rng, _ = make_generator(seed)
    blocks = BlockMeans(problem.dimension)

    def state(result: RunResult) -> PilotState:
        return PilotState(
            problem=problem.name,
            budget=budget,
            noise_multiplier=noise_multiplier,
            clip_norm=clip_norm,
            learning_rate=learning_rate,
            seed=seed,
            steps=result.steps,
            complete=result.completed,
            parameters=np.array(result.parameters, dtype=np.float64),
            final_loss=float(result.final_loss),
            # An interrupt may have come in the middle of `add`.
            blocks=blocks if result.completed else BlockMeans(problem.dimension),
            loss_steps=tuple(int(step) for step in result.loss_steps),
            losses=tuple(float(loss) for loss in result.losses),
            rng_state=dict(rng.bit_generator.state),
        )

    try:
        result = run(
            DpSgd(
                learning_rate=PILOT_RATE * learning_rate,
                clip_norm=clip_norm,
                noise_multiplier=noise_multiplier,
            ),
            problem,
            sampling=budget.sampling,
            steps=budget.pilot_steps,
            rng=rng,
            record_every=record_every,
            on_step=on_step,
            on_release=lambda _step, gradient: blocks.add(gradient),
        )
    except DivergedRun as error:
        raise ValueError(f"learning_rate: {error}") from None
    except InterruptedRun as stop:
        raise InterruptedPilot(state(stop.partial)) from stop
    made = state(result)
    # Gradients of a clipped linear model stay finite where the iterate does not.
    finite = np.isfinite(made.parameters).all() and np.isfinite(made.losses).all()
    if not (finite and np.isfinite(made.final_loss)):
        raise ValueError(
            f"learning_rate={learning_rate!r}: the pilot ends at train loss {made.final_loss!r}: "
            f"take a smaller learning rate (its {made.steps} releases are owed all the same)"
        )
    return made
