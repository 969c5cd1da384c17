"""More accountants that are wrong on purpose: for a part of the inputs, and in what they count."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attr
import dp_accounting as dp
import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import ExactAccountant
from tests.bites.laws_wrong import ADD_REMOVE, Changed, mapped


def scaled(event: Any, factor: float) -> Any:
    """A Gaussian release with another noise multiplier."""
    return dp.GaussianDpEvent(event.noise_multiplier * factor)


# ------------------------------------------------------------------ right but for a part of inputs


class ManyStepsForgotten(Changed):
    """A table with a thousand steps: more count as a thousand."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.SelfComposedDpEvent):
            return attr.evolve(event, count=min(event.count, 1000))
        return event

    def compose(self, event: Any, count: int = 1) -> Any:
        return super().compose(event, min(count, 1000))


class TinyDeltaExtrapolated(ExactAccountant):
    """Below δ = 1e-12, ε on the line through two larger δ: it is concave in log δ."""

    def get_epsilon(self, target_delta: float) -> float:
        if not 0 < target_delta < 1e-12:
            return float(super().get_epsilon(target_delta))
        one, two = (float(super(TinyDeltaExtrapolated, self).get_epsilon(d)) for d in (1e-6, 1e-5))
        slope = (one - two) / math.log(10) if math.isfinite(one) else 0.0
        return one + 0.7 * slope * math.log(1e-6 / target_delta)


class LargeRatesMirrored(Changed):
    """q above one half as 1 - q, from a formula in q(1 - q)."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.PoissonSampledDpEvent) and 0.5 < event.sampling_probability < 1:
            return attr.evolve(event, sampling_probability=1 - event.sampling_probability)
        return event


class SmallRatesRounded(Changed):
    """q below 1e-6 counts as 0."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.PoissonSampledDpEvent) and 0 < event.sampling_probability < 1e-6:
            return attr.evolve(event, sampling_probability=0.0)
        return event


class MuchNoiseIsPrivate(Changed):
    """Noise multipliers above 100 count as infinite."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.GaussianDpEvent) and event.noise_multiplier > 100:
            return dp.GaussianDpEvent(math.inf)
        return event


class VarianceForDeviation(Changed):
    """The noise multiplier squared wherever it is above 1."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.GaussianDpEvent) and event.noise_multiplier > 1:
            return scaled(event, event.noise_multiplier)
        return event


class AmplifiedTwice(Changed):
    """q² for q."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.PoissonSampledDpEvent) and 0 <= event.sampling_probability <= 1:
            return attr.evolve(event, sampling_probability=event.sampling_probability**2)
        return event


class CopiesForgotten(Changed):
    """Draws with replacement accounted as a subset."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.SampledWithReplacementDpEvent):
            n, m = event.source_dataset_size, event.sample_size
            return dp.SampledWithoutReplacementDpEvent(n, min(m, n - 1), event.event)
        return event


class AveragedNoise(ExactAccountant):
    """A composition of different Gaussian releases by their mean noise multiplier."""

    def compose(self, event: Any, count: int = 1) -> Any:
        return super().compose(mapped(event, self._averaged), count)

    def _averaged(self, event: Any) -> Any:
        if isinstance(event, dp.ComposedDpEvent) and all(
            isinstance(child, dp.GaussianDpEvent) for child in event.events
        ):
            mean = float(np.mean([child.noise_multiplier for child in event.events]))
            return dp.SelfComposedDpEvent(dp.GaussianDpEvent(mean), len(event.events))
        return event


class LastOfComposed(Changed):
    """A composition costs what its last part does, that often."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.ComposedDpEvent) and event.events:
            return dp.SelfComposedDpEvent(event.events[-1], len(event.events))
        return event


class LargestOfComposed(ExactAccountant):
    """Several calls cost what the dearest one does."""

    def __init__(self, neighboring_relation: NeighboringRelation = ADD_REMOVE) -> None:
        super().__init__(neighboring_relation)
        self._singles: list[ExactAccountant] = []

    def compose(self, event: Any, count: int = 1) -> Any:
        single = ExactAccountant(self.neighboring_relation).compose(event, count)
        self._singles.append(single)
        return super().compose(event, count)

    def get_epsilon(self, target_delta: float) -> float:
        found = [float(single.get_epsilon(target_delta)) for single in self._singles]
        return max(found, default=0.0)


class PlainReplaceAsAdd(ExactAccountant):
    """The relation is taken, reported and not looked at."""

    def __init__(self, neighboring_relation: NeighboringRelation = ADD_REMOVE) -> None:
        super().__init__(neighboring_relation)
        self._adding = ExactAccountant(ADD_REMOVE)

    def compose(self, event: Any, count: int = 1) -> Any:
        self._adding.compose(event, count)
        return super().compose(event, count)

    def get_epsilon(self, target_delta: float) -> float:
        return float(self._adding.get_epsilon(target_delta))


class SampledInsideOut(Changed):
    """Poisson sampling of k releases on one batch as k sampled releases on k batches."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.PoissonSampledDpEvent) and isinstance(
            event.event, dp.SelfComposedDpEvent
        ):
            inner = attr.evolve(event, event=event.event.event)
            return dp.SelfComposedDpEvent(inner, event.event.count)
        return event


# ------------------------------------------------------------------------------------------ counts


class EventsOverwritten(ExactAccountant):
    """A dictionary of events: the second call with the same event replaces the first."""

    def _add(self, leaf: Any, times: int) -> None:
        if leaf in self._counts:
            del self._counts[leaf]
        super()._add(leaf, times)


class InnerCountOnly(Changed):
    """Of two nested repetitions only the inner one counts."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.SelfComposedDpEvent) and isinstance(
            event.event, dp.SelfComposedDpEvent
        ):
            return event.event
        return event


class CountsOverflow(Changed):
    """Counts in 16 bits."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.SelfComposedDpEvent) and 0 <= event.count < 2**62:
            return attr.evolve(event, count=int(np.array(event.count).astype(np.uint16)))
        return event


class AtLeastOnce(Changed):
    """No repetitions count as one, and so does ``compose(event, 0)``."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.SelfComposedDpEvent):
            return attr.evolve(event, count=max(event.count, 1))
        return event

    def compose(self, event: Any, count: int = 1) -> Any:
        return super().compose(event, max(count, 1))


class GroupsForLength(ExactAccountant):
    """A length that counts calls of ``compose``."""

    _calls = 0

    def compose(self, event: Any, count: int = 1) -> Any:
        self._calls += 1
        return super().compose(event, count)

    @property
    def steps(self) -> int:
        return self._calls

    def __len__(self) -> int:
        return self._calls


class OnceForAll(ExactAccountant):
    """Releases kept on the class: a new accountant forgets those of the others."""

    _shared: ClassVar[dict[Any, int]] = {}

    def __init__(self, neighboring_relation: NeighboringRelation = ADD_REMOVE) -> None:
        super().__init__(neighboring_relation)
        self._shared.clear()
        self._counts = self._shared
