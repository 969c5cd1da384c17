"""What `calibrate` solves: one of noise multiplier, steps and batch size, given the others."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.cli._inputs import (
    SAMPLINGS,
    RunInputs,
    check_sizes,
    default_relation,
    noise,
    relation_of,
    resolve_run,
    size_inputs,
)
from dp2theory.cli._ledger import one_unit
from dp2theory.cli._output import Input

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import Bracket

TARGETS = ("noise-multiplier", "steps", "batch-size")
NAMES = {"noise-multiplier": "noise multiplier", "steps": "steps", "batch-size": "batch size"}


@dataclass(frozen=True)
class Wanted:
    """The budget and the inputs that are known; what is solved for is None."""

    target: str
    epsilon: float
    delta: Input
    dataset_size: int
    batch_size: int | None
    epochs: int | None
    steps: int | None
    noise_multiplier: float | None
    sampling: str
    relation: str | None
    tightness: str
    group_size: int = 1

    def check(self) -> None:
        """Refuse what the solve would trip over, before it begins."""
        if self.noise_multiplier is not None:
            noise("noise_multiplier", self.noise_multiplier)
        if self.target != "steps":
            self.run(self.batch_size or 1)
        elif self.batch_size is not None:
            check_sizes(self.sampling, self.dataset_size, self.batch_size)

    def run(self, batch_size: int) -> RunInputs:
        """The run with this batch size."""
        return resolve_run(
            dataset_size=self.dataset_size,
            batch_size=batch_size,
            epochs=self.epochs,
            steps=self.steps,
            sampling=self.sampling,
            relation=self.relation,
            supported=SAMPLINGS,
        )

    def budget(self) -> dict[str, Any]:
        """The keyword arguments that every solve takes."""
        relation = self.relation or default_relation(self.sampling)
        return {
            "target_epsilon": self.epsilon,
            "target_delta": self.delta.value,
            "neighboring_relation": relation_of(relation),
            "tightness": self.tightness,
            "group_size": self.group_size,
        }


@dataclass(frozen=True)
class Solution:
    """What was found, and the run that it belongs to.

    Attributes
    ----------
    value : float or int
        The noise multiplier, steps or batch size.
    epsilon, next_epsilon : Bracket or None
        ε with that value; with the next whole number, where the value is one.
    steps : int
        Steps of the run.
    inputs : dict
        The resolved run for the output envelope, without what was solved for.
    epochs : int or None
        The steps in epochs, where whole epochs were solved for.
    """

    value: float | int
    epsilon: "Bracket"
    next_epsilon: "Bracket | None"
    steps: int
    inputs: dict[str, Input]
    epochs: int | None = None

    def result(self, name: str) -> dict[str, Any]:
        """For the output envelope."""
        found: dict[str, Any] = {name: self.value, "epsilon": self.epsilon, "steps": self.steps}
        if name != "noise_multiplier":
            found["next_epsilon"] = self.next_epsilon
        if self.epochs is not None:
            found["epochs"] = self.epochs
        return found

    def text(self, name: str, target: float) -> str:
        """For a person."""
        epochs = "" if self.epochs is None else f" ({self.epochs} epochs)"
        lines = [
            f"{name} = {self.value!r}{epochs}",
            f"epsilon <= {self.epsilon.upper!r}",
            f"epsilon >= {self.epsilon.lower!r}",
        ]
        if isinstance(self.value, int):
            unit = "one more epoch" if self.epochs is not None else "one more"
            lines.append(
                "the whole data set may be one batch"
                if self.next_epsilon is None
                else f"with {unit}: epsilon <= {self.next_epsilon.upper!r}, over {target!r}"
            )
        return "\n".join(lines)


def solve(wanted: Wanted) -> Solution:
    """Find what is wanted.

    Raises
    ------
    accountants.InfeasibleBudgetError
        If nothing meets the budget; the nearest feasible is named.
    """
    kinds = {
        "noise-multiplier": _noise_multiplier,
        "steps": _steps,
        "batch-size": _batch_size,
    }
    return kinds[wanted.target](wanted)


def _noise_multiplier(wanted: Wanted) -> Solution:
    from accountants import calibrate_noise_multiplier

    assert wanted.batch_size is not None
    run = wanted.run(wanted.batch_size)
    found = calibrate_noise_multiplier(run.event, **wanted.budget())
    return Solution(found.noise_multiplier, found.epsilon, None, run.steps, run.inputs())


def _steps(wanted: Wanted) -> Solution:
    from dp_accounting import SelfComposedDpEvent

    from accountants import InfeasibleBudgetError
    from accountants.budget import calibrate_steps

    assert wanted.batch_size is not None
    assert wanted.noise_multiplier is not None
    once, per_unit = one_unit(
        wanted.sampling, wanted.dataset_size, wanted.batch_size, wanted.noise_multiplier
    )

    def run_of(units: int) -> "DpEvent":
        return SelfComposedDpEvent(once, units)

    try:
        found = calibrate_steps(run_of, **wanted.budget())
    except InfeasibleBudgetError as error:
        if wanted.sampling != "shuffled-epochs":
            raise

        def in_steps(text: str) -> str:  # what was solved for are epochs
            return re.sub(
                r"steps=(\d+)",
                lambda m: f"steps={int(m[1]) * per_unit} ({m[1]} epochs)",
                text,
            )

        raise InfeasibleBudgetError(in_steps(str(error)), nearest=in_steps(error.nearest)) from None
    inputs = size_inputs(wanted.sampling, wanted.dataset_size, wanted.batch_size)
    return Solution(
        value=found.value * per_unit,
        epsilon=found.epsilon,
        next_epsilon=found.next_epsilon,
        steps=found.value * per_unit,
        inputs=inputs | _rest(wanted),
        epochs=found.value if wanted.sampling == "shuffled-epochs" else None,
    )


def _batch_size(wanted: Wanted) -> Solution:
    from accountants.budget import calibrate_batch_size

    sigma = wanted.noise_multiplier
    assert sigma is not None

    def run_of(batch_size: int) -> "DpEvent":
        return wanted.run(batch_size).event(sigma)

    found = calibrate_batch_size(run_of, dataset_size=wanted.dataset_size, **wanted.budget())
    run = wanted.run(found.value)
    inputs = {key: entry for key, entry in run.inputs().items() if key != "batch_size"}
    return Solution(
        value=found.value,
        epsilon=found.epsilon,
        next_epsilon=found.next_epsilon,
        steps=run.steps,
        inputs=inputs | {"noise_multiplier": Input(sigma)},
    )


def _rest(wanted: Wanted) -> dict[str, Input]:
    relation = wanted.relation or default_relation(wanted.sampling)
    return {
        "sampling": Input(wanted.sampling),
        "relation": Input(relation, default=wanted.relation is None),
        "noise_multiplier": Input(noise("noise_multiplier", wanted.noise_multiplier or 0.0)),
    }
