"""More accountants that are wrong on purpose: in their answers, checks, time and memory."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import attr
import dp_accounting as dp
import numpy as np

from accountants import Bracket, ExactAccountant
from tests.bites.laws_wrong import FIXED_SIZE, REPLACE, Changed

SAMPLED = (dp.PoissonSampledDpEvent, *FIXED_SIZE)

# ----------------------------------------------------------------------------------------- answers


class Clipped(ExactAccountant):
    """ε above 50 is reported as 50."""

    def get_epsilon(self, target_delta: float) -> float:
        return min(50.0, float(super().get_epsilon(target_delta)))


class InfinityToZero(ExactAccountant):
    """What is not finite becomes 0."""

    def get_epsilon(self, target_delta: float) -> float:
        found = float(super().get_epsilon(target_delta))
        return found if math.isfinite(found) else 0.0


class RoundedToThreeDigits(ExactAccountant):
    """ε as it is printed."""

    def get_epsilon(self, target_delta: float) -> float:
        return float(f"{super().get_epsilon(target_delta):.3g}")


class SlightlyTooSmall(ExactAccountant):
    """A ten-thousandth too small."""

    def get_epsilon(self, target_delta: float) -> float:
        return float(super().get_epsilon(target_delta)) * (1 - 1e-4)


class CentralLimit(ExactAccountant):
    """What a central limit theorem suggests for many Poisson-sampled steps."""

    def get_epsilon(self, target_delta: float) -> float:
        exact = float(super().get_epsilon(target_delta))  # also checks the argument
        poisson = [leaf for leaf in self._counts if 0 < leaf.chance < 1]
        if self.steps < 10 or len(poisson) != len(self._counts) or not 0 < target_delta < 1:
            return exact
        if any(leaf.sampling.scheme != "poisson" for leaf in poisson):
            return exact
        total = sum(
            n * leaf.chance**2 * math.expm1(min(500.0, leaf.noise_multiplier**-2))
            for leaf, n in self._counts.items()
        )
        move = 2 if self.neighboring_relation is REPLACE else 1
        gaussian = dp.GaussianDpEvent(1 / (move * math.sqrt(total)))
        return float(ExactAccountant().compose(gaussian).get_epsilon(target_delta))


class TwiceTheDelta(ExactAccountant):
    """ε for 2δ, after δ was to be split between two terms and was not."""

    def get_epsilon(self, target_delta: float) -> float:
        return float(super().get_epsilon(min(1.0, 2 * target_delta)))


class NegativeEpsilon(ExactAccountant):
    """The solver's root below 0 is handed on."""

    def get_epsilon(self, target_delta: float) -> float:
        found = float(super().get_epsilon(target_delta))
        return found if found > 0 else -float(target_delta)


class HalfTheDelta(ExactAccountant):
    """get_delta is half of what belongs to get_epsilon."""

    def get_delta(self, target_epsilon: float) -> float:
        return float(super().get_delta(target_epsilon)) / 2


class LowerEndTooHigh(ExactAccountant):
    """A sound upper end with a lower one that no data set attains."""

    def epsilon_bracket(self, target_delta: float) -> Bracket:
        upper = 1.01 * super().epsilon_bracket(target_delta).upper
        return Bracket(upper * (1 - 1e-3), upper)

    def get_epsilon(self, target_delta: float) -> float:
        return 1.01 * float(super().get_epsilon(target_delta))


class DrawnAnew(ExactAccountant):
    """Monte Carlo: another answer at every call, right on average."""

    _generator = np.random.default_rng(7)

    def get_epsilon(self, target_delta: float) -> float:
        error = 1 + 0.01 * float(self._generator.standard_normal())
        return float(super().get_epsilon(target_delta)) * error


class SpentByReading(ExactAccountant):
    """Reading ε starts a new count."""

    def get_epsilon(self, target_delta: float) -> float:
        found = float(super().get_epsilon(target_delta))
        self._counts.clear()
        return found


class OrderMatters(ExactAccountant):
    """A release that costs less than the one before it is left out."""

    _most = 0.0

    def compose(self, event: Any, count: int = 1) -> Any:
        cost = ExactAccountant(self.neighboring_relation).compose(event, count).get_epsilon(1e-5)
        if cost < self._most:
            return self
        self._most = cost
        return super().compose(event, count)


# ---------------------------------------------------------------------------- careless or too slow


class RatesClipped(Changed):
    """q above 1 counts as 1, and below 0 as 0."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.PoissonSampledDpEvent):
            q = min(max(event.sampling_probability, 0.0), 1.0)
            return attr.evolve(event, sampling_probability=q)
        return event


class SignOfNoiseIgnored(Changed):
    """The noise multiplier enters as its square."""

    def change(self, event: Any) -> Any:
        return (
            dp.GaussianDpEvent(abs(event.noise_multiplier))
            if type(event) is dp.GaussianDpEvent
            else event
        )


class AnyDelta(ExactAccountant):
    """δ above 1 is as good as 1, and one below 0 as good as 0; NaN counts as no answer, 0."""

    def get_epsilon(self, target_delta: float) -> float:
        if math.isnan(target_delta):
            return 0.0
        return float(super().get_epsilon(min(max(target_delta, 0.0), 1.0)))


class NoNoiseIsFree(Changed):
    """No noise, no release."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.GaussianDpEvent) and event.noise_multiplier == 0:
            return dp.NoOpDpEvent()
        if isinstance(event, SAMPLED) and isinstance(event.event, dp.NoOpDpEvent):
            return dp.NoOpDpEvent()
        return event


class NoSamplingIsAll(Changed):
    """q = 0 reads as "not given"."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp.PoissonSampledDpEvent):
            return attr.evolve(event, sampling_probability=event.sampling_probability or 1.0)
        return event


class UnknownIsFree(ExactAccountant):
    """An event that it does not know changes nothing."""

    def compose(self, event: Any, count: int = 1) -> Any:
        return super().compose(event, count) if self.supports(event) else self


class WaitsForever(ExactAccountant):
    """A search that never ends for a δ below 1e-14."""

    def get_epsilon(self, target_delta: float) -> float:
        while 0 < target_delta < 1e-14:
            time.sleep(1e-3)
        return float(super().get_epsilon(target_delta))


class EatsMemory(ExactAccountant):
    """A grid of fixed spacing up to ε, whatever its size."""

    def get_epsilon(self, target_delta: float) -> float:
        found = float(super().get_epsilon(target_delta))
        if math.isfinite(found):
            chunks = [np.zeros(10**6) for _ in itertools.islice(itertools.count(), int(found))]
            del chunks
        return found
