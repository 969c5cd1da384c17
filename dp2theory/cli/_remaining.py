"""How many more steps a budget allows after what has run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.cli._answers import Question
from dp2theory.cli._ledger import Described, last_step

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import Bracket


@dataclass(frozen=True)
class Remaining:
    """Steps that remain, and what everything costs with them.

    Attributes
    ----------
    steps : int
        Further steps.
    epochs : int or None
        The same in epochs, where the step is an epoch of shuffled batches.
    spent, epsilon, next_epsilon : Bracket
        ε of what has run, with the further steps, and with one unit more.
    target : float
        The budget's ε.
    ledgers : list of (str, DpEvent)
        What has run, and one further step.
    """

    steps: int
    epochs: int | None
    spent: "Bracket"
    epsilon: "Bracket"
    next_epsilon: "Bracket | None"
    target: float
    ledgers: "list[tuple[str, DpEvent]]"

    def result(self) -> dict[str, Any]:
        """For the output envelope."""
        found: dict[str, Any] = {
            "remaining_steps": self.steps,
            "spent": self.spent,
            "epsilon": self.epsilon,
            "next_epsilon": self.next_epsilon,
        }
        if self.epochs is not None:
            found["remaining_epochs"] = self.epochs
        return found

    def text(self) -> str:
        """For a person."""
        epochs = "" if self.epochs is None else f" ({self.epochs} epochs)"
        assert self.next_epsilon is not None
        return (
            f"remaining steps = {self.steps}{epochs}\n"
            f"epsilon spent so far: in [{self.spent.lower!r}, {self.spent.upper!r}]\n"
            f"epsilon with them: <= {self.epsilon.upper!r}\n"
            f"epsilon with one more: <= {self.next_epsilon.upper!r}, over {self.target!r}"
        )


def remaining(described: Described, question: Question, target: float, tightness: str) -> Remaining:
    """Solve for the number of steps.

    Raises
    ------
    ValueError
        If neither the options nor the ledger say what a step is.
    accountants.InfeasibleBudgetError
        If what has run exceeds the budget.
    """
    from dp_accounting import ComposedDpEvent, NoOpDpEvent

    from accountants.budget import remaining_steps
    from accountants.group import group_accountant

    spent = NoOpDpEvent() if described.spent is None else described.spent
    step, per_unit = described.step, described.steps_per_unit
    if step is None:
        step = last_step(spent)
        if isinstance(step, (NoOpDpEvent, ComposedDpEvent)):
            raise ValueError(
                "--remaining: what is a step? The ledger has none; describe one with "
                "--noise-multiplier, --dataset-size, --batch-size and --sampling"
            )
        per_unit = -(-step.dataset_size // step.batch_size) if is_epoch(step) else 1
    assert question.delta is not None
    found = remaining_steps(
        spent,
        step,
        target_epsilon=target,
        target_delta=question.delta,
        neighboring_relation=question.relation,
        tightness=tightness,
        group_size=question.group_size,
    )
    accountant = group_accountant(
        question.relation, tightness=tightness, group_size=question.group_size
    )
    accountant.compose(spent)
    return Remaining(
        steps=found.value * per_unit,
        epochs=found.value if is_epoch(step) else None,
        spent=accountant.epsilon_bracket(question.delta),
        epsilon=found.epsilon,
        next_epsilon=found.next_epsilon,
        target=target,
        ledgers=[("what has run", spent), ("one further step", step)],
    )


def is_epoch(step: Any) -> bool:
    """Whether one use of the event is a whole epoch."""
    return type(step).__name__ == "ShuffledEpochDpEvent"
