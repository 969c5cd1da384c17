"""Seeded runs of optimizers, from step 0 or going on from a pilot (the online switch).

The ledger of a run is made of what was executed: the pilot's releases, if it goes on from one,
then its own. Both methods of a comparison use the same seeds, hence the same initial parameters,
batches and normals for as long as they draw alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dp2theory.optimizers.protocol import DivergedRun, InterruptedRun, run
from dp2theory.optimizers.results import describe_optimizer
from dp2theory.planning.budget import compose_events
from dp2theory.problems.validation import whole_number

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants.sampling import Sampling
    from dp2theory.optimizers.protocol import RunResult
    from dp2theory.optimizers.steps import Optimizer
    from dp2theory.planning.pilot import PilotState
    from dp2theory.problems.protocol import Problem


@dataclass(frozen=True, eq=False)
class SeededRun:
    """One run of one seed, with the pilot it went on from.

    Attributes
    ----------
    seed : int
    result : RunResult
        Of the steps after the pilot.
    pilot : PilotState or None
    metrics : dict
        The problem's figures at the last iterate; like all losses not covered by the ledger.
    """

    seed: int
    result: RunResult
    pilot: PilotState | None
    metrics: dict[str, float]

    @property
    def steps(self) -> int:
        """Releases in all, pilot included."""
        return self.result.steps + (self.pilot.steps if self.pilot else 0)

    @property
    def completed(self) -> bool:
        """Whether all steps were made."""
        return self.result.completed and (self.pilot is None or self.pilot.complete)

    @property
    def final_loss(self) -> float:
        """Mean train loss at the last iterate."""
        return float(self.result.final_loss)

    @property
    def ledger(self) -> DpEvent:
        """All releases, pilot included."""
        return compose_events(self.pilot.ledger if self.pilot else None, self.result.ledger)

    @property
    def curve(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Steps and recorded mean train losses, pilot included."""
        steps = tuple(int(step) for step in self.result.loss_steps)
        losses = tuple(float(loss) for loss in self.result.losses)
        if self.pilot is None:
            return steps, losses
        # The pilot's last record and the run's first are of the same iterate.
        before = [pair for pair in zip(self.pilot.loss_steps, self.pilot.losses, strict=True)
                  if not steps or pair[0] < steps[0]]  # fmt: skip
        return (
            tuple(step for step, _ in before) + steps,
            tuple(loss for _, loss in before) + losses,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        steps, losses = self.curve
        return {
            "seed": self.seed,
            "completed": self.completed,
            "steps": self.steps,
            "pilot_steps": self.pilot.steps if self.pilot else 0,
            "delay": getattr(self.result.optimizer, "delay", None),
            "train_loss": self.final_loss,
            "metrics": dict(self.metrics),
            "loss_steps": list(steps),
            "losses": list(losses),
        }


class InterruptedTrial(KeyboardInterrupt):
    """A run stopped by the user; `partial` holds it as far as it went."""

    def __init__(self, partial: SeededRun) -> None:
        super().__init__(f"run of seed {partial.seed} interrupted after {partial.steps} steps")
        self.partial = partial


def run_seed(
    optimizer: Optimizer,
    problem: Problem,
    *,
    sampling: Sampling,
    steps: int,
    seed: int,
    pilot: PilotState | None = None,
    continue_stream: bool = True,
    record_every: int | None = None,
    on_step: Callable[[int], None] | None = None,
) -> SeededRun:
    """One run of `steps` releases in all.

    Parameters
    ----------
    optimizer : Optimizer
    problem : Problem
    sampling : Sampling
    steps : int
        Releases T in all; after a pilot of p steps, T - p are left.
    seed : int
    pilot : PilotState, optional
        Go on from its iterate. Phases are counted from the switch.
    continue_stream : bool
        Draw on from the pilot's generator (the online run); else start a stream from `seed`,
        for several continuations of one pilot.
    record_every : int, optional
        Steps between records of the train loss.
    on_step : callable, optional
        Called after each step.

    Returns
    -------
    SeededRun

    Raises
    ------
    InterruptedTrial
        On KeyboardInterrupt, with what was released until then.
    """
    whole_number("steps", steps, minimum=0)
    whole_number("seed", seed, minimum=0)
    done = pilot.steps if pilot else 0
    if pilot is not None and not pilot.complete:
        raise ValueError("pilot: was interrupted, nothing can go on from it")
    if steps < done:
        raise ValueError(f"steps={steps}: the pilot alone has {done}")
    rng: np.random.Generator | int = seed
    if pilot is not None and continue_stream:
        rng = pilot.generator()
    elif pilot is not None:
        # Never the pilot's own stream again: its noise, used twice, would cancel.
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, done])))
    try:
        result = run(
            optimizer,
            problem,
            sampling=sampling,
            steps=steps - done,
            rng=rng,
            initial_parameters=None if pilot is None else pilot.parameters,
            start_step=done,
            record_every=record_every,
            on_step=on_step,
        )
    except DivergedRun as error:
        raise ValueError(f"learning_rate: {error}") from None
    except InterruptedRun as stop:
        partial = stop.partial
        raise InterruptedTrial(
            SeededRun(seed, partial, pilot, problem.metrics(partial.parameters))
        ) from stop
    if not (np.isfinite(result.final_loss) and np.isfinite(result.losses).all()):
        raise ValueError(
            f"learning_rate: the run of {optimizer.name} with seed {seed} ends at train loss "
            f"{result.final_loss!r}: take a smaller learning rate"
        )
    return SeededRun(seed, result, pilot, problem.metrics(result.parameters))


def summarize(method: str, optimizer: Optimizer | None, runs: list[SeededRun]) -> dict[str, Any]:
    """One method's runs as plain values, with means over the completed ones.

    Parameters
    ----------
    method : str
    optimizer : Optimizer or None
        The configuration that ran.
    runs : list of SeededRun
        An interrupted run may be among them: it is listed and takes no part in the means.

    Returns
    -------
    dict
        ``method``, ``settings``, ``runs``, ``mean_train_loss`` and ``mean_metrics`` (None
        without a completed run), ``mean_curve``.
    """
    whole = [one for one in runs if one.completed]
    curves = [one.curve for one in whole]
    with np.errstate(over="ignore"):  # a mean of huge losses may be infinite, and says so
        return _summary(method, optimizer, runs, whole, curves)


def _summary(
    method: str,
    optimizer: Optimizer | None,
    runs: list[SeededRun],
    whole: list[SeededRun],
    curves: list[tuple[tuple[int, ...], tuple[float, ...]]],
) -> dict[str, Any]:
    return {
        "method": method,
        "settings": None if optimizer is None else describe_optimizer(optimizer),
        "runs": [one.to_json() for one in runs],
        "mean_train_loss": float(np.mean([one.final_loss for one in whole])) if whole else None,
        "mean_metrics": {
            name: float(np.mean([one.metrics[name] for one in whole])) for name in whole[0].metrics
        }
        if whole
        else None,
        "mean_curve": {
            "steps": list(curves[0][0]) if curves else [],
            "losses": np.mean([losses for _, losses in curves], axis=0).tolist() if curves else [],
        },
    }
