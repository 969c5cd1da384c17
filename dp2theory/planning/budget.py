"""What is to be spent and on what: sizes, steps and (epsilon, delta).

The noise multiplier comes from the exact accountant, from its private side; the delay does not
enter, because every step of DP-SGD and of DP² is one sampled Gaussian release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accountants import Bracket, ExactAccountant, NeighboringRelation, calibrate_noise_multiplier
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson, WithoutReplacement, WithReplacement
from dp2theory.problems.validation import open_unit, positive_real, whole_number

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import Calibration

#: Which data sets are neighbours.
RELATIONS = ("add-or-remove-one", "replace-one", "replace-special")
#: Samplings that a budget can be calibrated for.
SAMPLING_SCHEMES = ("poisson", "without-replacement", "with-replacement")


@dataclass(frozen=True)
class Budget:
    """A privacy budget and the run it is to pay for.

    Attributes
    ----------
    dataset_size : int
        Number n of records.
    batch_size : int
        Expected batch size b; sums are divided by it.
    steps : int
        Steps T of the whole run, pilot included.
    target_epsilon, target_delta : float
        The guarantee that the whole run is to meet; ``inf`` where none is wanted (runs without
        noise).
    relation : str
        Neighbouring relation, one of `RELATIONS`.
    sampling_scheme : str
        How batches are drawn, one of `SAMPLING_SCHEMES`; fixed-size batches have `batch_size`
        records.
    """

    dataset_size: int
    batch_size: int
    steps: int
    target_epsilon: float
    target_delta: float
    relation: str = "add-or-remove-one"
    sampling_scheme: str = "poisson"

    def __post_init__(self) -> None:
        for name in ("dataset_size", "batch_size", "steps"):
            whole_number(name, getattr(self, name))
        if self.batch_size > self.dataset_size:
            raise ValueError(
                f"batch_size={self.batch_size}: must be at most dataset_size={self.dataset_size}"
            )
        positive_real("target_epsilon", self.target_epsilon, allow_infinite=True)
        open_unit("target_delta", self.target_delta)
        if self.relation not in RELATIONS:
            raise ValueError(f"relation={self.relation!r}: must be one of {', '.join(RELATIONS)}")
        if self.sampling_scheme not in SAMPLING_SCHEMES:
            raise ValueError(
                f"sampling_scheme={self.sampling_scheme!r}: must be one of "
                f"{', '.join(SAMPLING_SCHEMES)}"
            )

    @property
    def sampling(self) -> Poisson | WithoutReplacement | WithReplacement:
        """The sampling that the run executes and the accountant reads."""
        if self.sampling_scheme == "without-replacement":
            return WithoutReplacement(self.dataset_size, self.batch_size)
        if self.sampling_scheme == "with-replacement":
            return WithReplacement(self.dataset_size, self.batch_size)
        return Poisson(self.batch_size / self.dataset_size)

    @property
    def pilot_steps(self) -> int:
        """T // 4: the first steps of the run, made with DP-SGD while the blocks are watched."""
        return self.steps // 4

    @property
    def neighboring_relation(self) -> NeighboringRelation:
        """The relation as the accountants name it."""
        return NeighboringRelation[self.relation.replace("-", "_").upper()]

    def event(self, noise_multiplier: float, *, steps: int | None = None) -> DpEvent:
        """The run (or its first `steps` steps) as an event tree."""
        return dp_sgd_event(
            sampling=self.sampling,
            noise_multiplier=noise_multiplier,
            steps=self.steps if steps is None else steps,
        )

    def calibrate(self, *, spent: DpEvent | None = None) -> Calibration:
        """The smallest noise multiplier with which the whole run stays within the budget.

        Parameters
        ----------
        spent : DpEvent, optional
            What was released from the same records before and is to be paid from the same
            budget, for example a pilot whose steps the run does not continue.

        Returns
        -------
        accountants.Calibration
            ``noise_multiplier`` and the bracket ``epsilon``, whose upper end is within budget.
        """

        def whole(noise_multiplier: float) -> DpEvent:
            return compose_events(spent, self.event(noise_multiplier))

        return self.calibrate_event(whole)

    def calibrate_event(self, whole: Callable[[float], DpEvent]) -> Calibration:
        """The smallest noise multiplier whose event, all of it, stays within the budget.

        Parameters
        ----------
        whole : callable
            From a noise multiplier to the event of the whole run.
        """
        return calibrate_noise_multiplier(
            whole,
            target_epsilon=self.target_epsilon,
            target_delta=self.target_delta,
            neighboring_relation=self.neighboring_relation,
        )

    def account(self, event: DpEvent) -> Bracket:
        """The epsilon of an event at the budget's delta and relation."""
        return epsilon_of(event, self.target_delta, self.neighboring_relation)

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values."""
        return {
            "dataset_size": self.dataset_size,
            "batch_size": self.batch_size,
            "steps": self.steps,
            "target_epsilon": self.target_epsilon,
            "target_delta": self.target_delta,
            "relation": self.relation,
            "sampling_scheme": self.sampling_scheme,
        }


def compose_events(*events: DpEvent | None) -> DpEvent:
    """One event for releases made one after the other; None stands for no release."""
    from dp_accounting import ComposedDpEvent

    made = [event for event in events if event is not None]
    return made[0] if len(made) == 1 else ComposedDpEvent(made)


def epsilon_of(event: DpEvent, delta: float, relation: NeighboringRelation) -> Bracket:
    """Bracket of the epsilon of an executed event (a ledger) at `delta`."""
    accountant = ExactAccountant(neighboring_relation=relation)
    accountant.compose(event)
    return accountant.epsilon_bracket(delta)


def releases_of(event: DpEvent) -> int:
    """Number of sampled Gaussian releases a ledger holds."""
    accountant = ExactAccountant()
    accountant.compose(event)
    return len(accountant)
