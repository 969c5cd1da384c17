"""What a run returns, whole or interrupted."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dp2theory.optimizers.steps import Optimizer, OptimizerState
from dp2theory.problems.protocol import Array

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants.sampling import Sampling


@dataclass(frozen=True)
class RunResult:
    """The outcome of one run.

    Attributes
    ----------
    problem : str
        Name of the problem.
    optimizer : Optimizer
        The configuration that ran.
    sampling : Sampling
        The batches that were drawn.
    parameters : ndarray, shape (dimension,)
        Last iterate.
    state : OptimizerState
        Optimizer state after the last step; with `parameters` it continues the run.
    steps : int
        Steps executed in this call.
    start_step : int
        Number of the first of them.
    final_loss : float
        Mean train loss at `parameters`. Losses are computed on private data for the
        experimenter's eyes; they are not part of `ledger`.
    loss_steps, losses : ndarray
        Step numbers (start_step + steps taken) and train losses recorded on the way.
    ledger : DpEvent
        The event of exactly the steps executed (those of this call only).
    seed : int or None
        Seed, when `rng` was given as one.
    bit_generator : str
        Kind of the generator that drew batches and noise.
    completed : bool
        False when the run was interrupted.
    """

    problem: str
    optimizer: Optimizer
    sampling: Sampling
    parameters: Array = field(repr=False)
    state: OptimizerState = field(repr=False)
    steps: int
    start_step: int
    final_loss: float
    loss_steps: np.ndarray[Any, np.dtype[np.int64]] = field(repr=False)
    losses: Array = field(repr=False)
    ledger: DpEvent
    seed: int | None
    bit_generator: str
    completed: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict; infinite and NaN losses become strings."""
        return {
            "problem": self.problem,
            "optimizer": describe_optimizer(self.optimizer),
            "sampling": {
                "scheme": type(self.sampling).__name__,
                **dataclasses.asdict(self.sampling),
            },
            "steps": self.steps,
            "start_step": self.start_step,
            "completed": self.completed,
            "final_loss": _json_number(self.final_loss),
            "loss_steps": [int(t) for t in self.loss_steps],
            "losses": [_json_number(x) for x in self.losses],
            "seed": self.seed,
            "bit_generator": self.bit_generator,
            "ledger": repr(self.ledger),
        }


class InterruptedRun(KeyboardInterrupt):
    """A run stopped by the keyboard; what was done is kept.

    Attributes
    ----------
    partial : RunResult
        Parameters, state and ledger of the steps that were executed. A release that had been
        made but not yet applied when the interrupt came is counted in the ledger.
    """

    def __init__(self, partial: RunResult) -> None:
        super().__init__(f"interrupted after {partial.steps} steps")
        self.partial = partial

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.partial,)  # not the message: it crosses processes


class DivergedRun(ArithmeticError):
    """A released gradient or an iterate was not finite, so that no further step makes sense.

    Clipped linear models cannot come here; unclipped steps on a product of parameters can.

    Attributes
    ----------
    partial : RunResult
        The state before the step that failed; its ledger counts that step's release. Where the
        last step of a run led out of the doubles, the state after it.
    """

    def __init__(self, partial: RunResult) -> None:
        last = partial.start_step + partial.steps - 1
        super().__init__(
            f"the run of {partial.optimizer.name} on {partial.problem} diverged at step {last}: "
            "take a smaller learning rate"
        )
        self.partial = partial

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.partial,)  # not the message: it crosses processes


def describe_optimizer(optimizer: Optimizer) -> dict[str, Any]:
    """Return the method's name and settings, unset ones left out.

    Side information is summarised by its own `describe`; settings of a wrapper stand beside those
    of the optimizer inside it.
    """
    described: dict[str, Any] = {"method": optimizer.name}
    for each in dataclasses.fields(optimizer):  # type: ignore[arg-type]
        value = getattr(optimizer, each.name)
        if each.name == "optimizer":
            described |= describe_optimizer(value)
        elif value is not None:
            described[each.name] = _describe_setting(value)
    return {**described, "method": optimizer.name}


def _describe_setting(value: Any) -> Any:
    if hasattr(value, "describe"):
        return value.describe()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return value


def _json_number(value: float) -> float | str:
    number = float(value)
    return number if np.isfinite(number) else str(number)
