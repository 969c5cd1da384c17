"""An event tree as a list of counted parts, for accountants that take no trees.

Parameters are handed on as they are: an adapter translates and neither checks nor mends them, so
that what the accountant behind it makes of a NaN or of a probability of 1.5 can be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, NoReturn, Self

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation, UnsupportedEventError

from accountants.laws.candidate import Calibrate, MakeEvent

_SAMPLED = (
    dp_accounting.PoissonSampledDpEvent,
    dp_accounting.SampledWithoutReplacementDpEvent,
    dp_accounting.SampledWithReplacementDpEvent,
)


class Ends(NamedTuple):
    """Both ends of an answer, as they were given: not even their order is looked at.

    Attributes
    ----------
    lower, upper : float
        Of ε or of δ.
    """

    lower: float
    upper: float


class Part(NamedTuple):
    """A mechanism, the sampling around it (None: the whole data set) and how often it is run."""

    mechanism: dp_accounting.DpEvent
    sampling: dp_accounting.DpEvent | None
    times: int

    def sampled_gaussian(self) -> tuple[float, float]:
        """(noise multiplier, sampling probability) of a Gaussian on a Poisson sample."""
        gaussian = isinstance(self.mechanism, dp_accounting.GaussianDpEvent)
        if gaussian and self.sampling is None:
            return self.mechanism.noise_multiplier, 1.0
        if gaussian and isinstance(self.sampling, dp_accounting.PoissonSampledDpEvent):
            return self.mechanism.noise_multiplier, self.sampling.sampling_probability
        return self.refuse()

    def refuse(self) -> NoReturn:
        """Say that the accountant behind an adapter has no entry point for this."""
        raise UnsupportedEventError(f"no entry point for {self.sampling or self.mechanism}")


def parts(event: dp_accounting.DpEvent, count: int = 1) -> list[Part]:
    """The mechanisms of a tree, in order; counts are multiplied, nothing else is computed.

    A part that is run zero times is left out, as a loop over its steps would leave it out.
    """
    if count == 0 or isinstance(event, dp_accounting.NoOpDpEvent):
        return []
    if isinstance(event, dp_accounting.SelfComposedDpEvent):
        return parts(event.event, count * event.count)
    if isinstance(event, dp_accounting.ComposedDpEvent):
        return [part for child in event.events for part in parts(child, count)]
    if isinstance(event, _SAMPLED):
        return [Part(event.event, event, count)]
    return [Part(event, None, count)]


def single(make_event: MakeEvent) -> Part:
    """The one part of a run, for calibrations that take numbers in place of events."""
    found = parts(make_event(1.0))
    if len(found) != 1:
        raise UnsupportedEventError(f"one kind of step is calibrated, not {len(found)}")
    return found[0]


def from_numbers(solve: Callable[[float, int, float, float], float]) -> Calibrate:
    """A calibration from ``solve(q, steps, target_epsilon, target_delta) -> noise multiplier``.

    Such functions are about Poisson batches, and none of them states that for replacing a record.
    """

    def calibrate(
        make_event: MakeEvent, relation: NeighboringRelation, epsilon: float, delta: float
    ) -> float:
        run = single(make_event)
        if relation is NeighboringRelation.REPLACE_ONE:
            run.refuse()
        return float(solve(run.sampled_gaussian()[1], run.times, epsilon, delta))

    return calibrate


class PartsAdapter:
    """Keeps what the parts of the events are to the accountant behind it, with their counts.

    ``translate(relation, part)`` says what they are.
    """

    def __init__(
        self, translate: Callable[[NeighboringRelation, Part], Any], relation: NeighboringRelation
    ) -> None:
        self._translate = partial(translate, relation)
        self.translated: list[Any] = []
        self.counts: list[int] = []

    @property
    def starts(self) -> list[int]:
        """How many steps come before each of them."""
        return [sum(self.counts[:place]) for place in range(len(self.counts))]

    def compose(self, event: dp_accounting.DpEvent, count: int = 1) -> Self:
        """Take an event ``count`` times; nothing is taken of one that is refused in part."""
        found = [(self._translate(part), part.times) for part in parts(event, count)]
        self.translated += [translated for translated, _ in found]
        self.counts += [times for _, times in found]
        return self


class StepAdapter:
    """Opacus' interface, which others share: ``step``, a ``history`` and ``get_epsilon(delta=)``.

    Equal steps of a row stand in the history as one entry with their number. The first of them
    goes through ``step``; the others, which would only raise that number, are added to it.
    """

    def __init__(self, accountant: Any, **options: Any) -> None:
        self.accountant = accountant
        self._options = options

    def compose(self, event: dp_accounting.DpEvent, count: int = 1) -> Self:
        """Take the steps of an event ``count`` times."""
        found = [(*part.sampled_gaussian(), part.times) for part in parts(event, count)]
        for noise_multiplier, sample_rate, steps in found:
            self.accountant.step(noise_multiplier=noise_multiplier, sample_rate=sample_rate)
            *setting, before = self.accountant.history[-1]
            self.accountant.history[-1] = (*setting, before + steps - 1)
        return self

    def get_epsilon(self, target_delta: float) -> float:
        """ε of the steps so far."""
        return self.accountant.get_epsilon(delta=target_delta, **self._options)  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.accountant)
