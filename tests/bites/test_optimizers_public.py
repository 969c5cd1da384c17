"""Broken methods with side information that the literal loops must catch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dp2theory.optimizers.mirror_descent import PdaDpmd
from dp2theory.optimizers.projected import DpAdaGradProjected
from dp2theory.optimizers.side_information import AdaDps, AdaDpsStatistics
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array
from tests.optimizers.public_checks import check_literal

Moved = tuple[Array, OptimizerState]


class NoiseFirst(AdaDps):
    """Divides after clipping and noise."""

    def query(self, state: OptimizerState) -> Query:
        return replace(super().query(state), preconditioner=None)

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        return super().apply(parameters, state, released / state.arrays["preconditioner"])


class FeedsReleases(AdaDps):
    """Averages squares of the released gradient in the place of the public one."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        moved = parameters - self.learning_rate * released
        second = self.ema * state.arrays["second_moment"] + (1 - self.ema) * released**2
        return moved, OptimizerState(state.step + 1, self._arrays(second))


class HalvedNoise(AdaDpsStatistics):
    """Adds half the noise."""

    def query(self, state: OptimizerState) -> Query:
        return replace(super().query(state), noise_multiplier=self.noise_multiplier / 2)


class MeanOfGradients(AdaDpsStatistics):
    """Squares the mean public gradient in the place of averaging squares."""

    def initial_state(self, dimension: int) -> OptimizerState:
        mean = self.public.gradient(self.public.start, self.public.dataset_size, 0)
        raised = np.maximum(mean**2, 1e-9) ** self.exponent
        return OptimizerState(0, {"preconditioner": raised * np.mean(1 / raised)})


class SwappedShares(PdaDpmd):
    """Gives the private gradient the weight of the public one."""

    def private_share(self, step: int) -> float:
        return 1.0 - super().private_share(step)


class PastTheSchedule(PdaDpmd):
    """Lets the cosine turn negative after K steps."""

    def private_share(self, step: int) -> float:
        return float(np.cos(0.5 * np.pi * step / self.schedule_steps))


class PublicAtTheStart(PdaDpmd):
    """Takes public gradients at the starting point."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        share = self.private_share(state.step)
        public = self.public.gradient(self.public.start, self.public_batch_size, state.step)
        direction = share * released + (1 - share) * public
        return parameters - self.learning_rate * direction, OptimizerState(state.step + 1)


class SquaresBeforeProjection(DpAdaGradProjected):
    """Sums squares of the gradient that was not projected."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        moved, new = super().apply(parameters, state, released)
        return moved, replace(new, arrays={"squares": state.arrays["squares"] + released**2})


class SmallestDirections(DpAdaGradProjected):
    """Projects on the last directions."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        rows = self.public.directions(self.public.largest_rank)[-4:]
        projected = (rows @ released) @ rows
        squares = state.arrays["squares"] + projected**2
        moved = parameters - self.learning_rate * projected / (np.sqrt(squares) + self.damping)
        return moved, OptimizerState(state.step + 1, {"squares": squares})


@pytest.mark.parametrize(
    "broken",
    [NoiseFirst, FeedsReleases, HalvedNoise, MeanOfGradients, SwappedShares, PastTheSchedule,
     PublicAtTheStart, SquaresBeforeProjection, SmallestDirections],
)  # fmt: skip
def test_the_literal_loops_catch(broken: type) -> None:
    with pytest.raises(AssertionError):
        check_literal(broken.name, broken)  # type: ignore[attr-defined]
