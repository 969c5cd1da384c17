"""Broken adaptive optimizers and wrappers that the checks of tests/optimizers must catch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dp2theory.optimizers.accumulators import FirstMoment, MovingAverage, RunningSum, SignedSteps
from dp2theory.optimizers.adagrad import Dp2AdaGrad, DpAdaGrad
from dp2theory.optimizers.adam import Dp2Adam, DpAdam
from dp2theory.optimizers.modifiers import LearningRateDecay, Momentum
from dp2theory.optimizers.noise_aware import (
    Dp2RmsPropNoiseAware,
    DpRmsPropNoiseAware,
    NoiseAwareAverage,
)
from dp2theory.optimizers.results import DivergedRun
from dp2theory.optimizers.steps import OptimizerState
from dp2theory.optimizers.variants import DebiasedAverage, Dp2RmsPropDebiased
from dp2theory.optimizers.yogi import Dp2Yogi, DpYogi
from dp2theory.problems.protocol import Array
from tests.optimizers import adaptive_cases as cases
from tests.optimizers import literal_adaptive as literal
from tests.optimizers import test_modifiers as modifiers

Moved = tuple[Array, OptimizerState]


def _settings(kind: type, rows: list[cases.Case]) -> tuple[literal.Scale, dict[str, Any]]:
    return next((scale, settings) for make, scale, settings in rows if make is kind)


class _Forgets(RunningSum):
    def updated(self, old: Array, gradient: Array) -> Array:
        return gradient**2


class _Centred(SignedSteps):
    def updated(self, old: Array, gradient: Array) -> Array:
        return old - (1 - self.ema) * np.sign(gradient**2 - old) * gradient**2


class _Proportional(SignedSteps):
    def updated(self, old: Array, gradient: Array) -> Array:
        return self.ema * old + (1 - self.ema) * gradient**2


class AdaGradForgets(DpAdaGrad):
    """Keeps the last square only."""

    @property
    def second_moment(self) -> RunningSum:
        return _Forgets()


class AdamWithoutCorrection(DpAdam):
    """RMSProp's v."""

    @property
    def second_moment(self) -> MovingAverage:
        return MovingAverage(self.ema)


class AdamOneMoment(DpAdam):
    """Moves along the last gradient."""

    @property
    def first_moment(self) -> FirstMoment:
        return FirstMoment(0.0)


class AdamSwapped(DpAdam):
    """Takes each ema for the other."""

    @property
    def second_moment(self) -> MovingAverage:
        return MovingAverage(self.gradient_ema, bias_correction=True)


class YogiOtherSign(DpYogi):
    """Moves v away from the square."""

    @property
    def second_moment(self) -> SignedSteps:
        return _Centred(self.ema, self.initial_second_moment)


class YogiIsAdam(DpYogi):
    """Closes a share of the gap, as Adam's v does."""

    @property
    def second_moment(self) -> SignedSteps:
        return _Proportional(self.ema, self.initial_second_moment)


class FloorForgotten(DpRmsPropNoiseAware):
    """Has hardly a floor."""

    @property
    def second_moment(self) -> NoiseAwareAverage:
        return replace(super().second_moment, noise_floor=1e-9)


class NoiseOfTheSum(DpRmsPropNoiseAware):
    """Takes the noise of the sum for that of the mean."""

    @property
    def second_moment(self) -> NoiseAwareAverage:
        variance = (self.noise_multiplier * self.clip_norm) ** 2
        return NoiseAwareAverage(self.ema, variance, self.floor, self.noise_floor)


@pytest.mark.parametrize(
    ("broken", "base"),
    [
        (AdaGradForgets, DpAdaGrad),
        (AdamWithoutCorrection, DpAdam),
        (AdamOneMoment, DpAdam),
        (AdamSwapped, DpAdam),
        (YogiOtherSign, DpYogi),
        (YogiIsAdam, DpYogi),
        (FloorForgotten, DpRmsPropNoiseAware),
        (NoiseOfTheSum, DpRmsPropNoiseAware),
    ],
)
def test_the_plain_loop_of_every_step_disagrees(broken: type[Any], base: type) -> None:
    scale, settings = _settings(base, cases.EVERY_STEP)
    with pytest.raises((AssertionError, DivergedRun)):
        cases.check_every_step(broken, scale, settings)


class SumForMean(Dp2AdaGrad):
    """Squares the sum of a phase."""

    def renewed(self, arrays: Any, summed_steps: int, renewals: int) -> dict[str, Array]:
        return super().renewed(arrays, 1, renewals)


class MomentumOutlivesItsPhase(Dp2Adam):
    """Carries directions into a phase with another D."""

    def renewed(self, arrays: Any, summed_steps: int, renewals: int) -> dict[str, Array]:
        new = super().renewed(arrays, summed_steps, renewals)
        return {**new, "first_moment": arrays["first_moment"]}


class CorrectsBySteps(Dp2Adam):
    """Counts steps where renewals count."""

    def renewed(self, arrays: Any, summed_steps: int, renewals: int) -> dict[str, Array]:
        return super().renewed(arrays, summed_steps, renewals * summed_steps)


class YogiFromZero(Dp2Yogi):
    """Starts v at (next to) zero."""

    @property
    def second_moment(self) -> SignedSteps:
        return SignedSteps(self.ema, 1e-30)


class DebiasesAsIfOneStep(Dp2RmsPropDebiased):
    """Takes off the variance of one release, not of the phase mean."""

    @property
    def second_moment(self) -> DebiasedAverage:
        right = super().second_moment
        return replace(right, noise_variance=right.noise_variance * self.phases.sgd_steps)


class ClampsElsewhere(Dp2RmsPropDebiased):
    """Clamps the average where the squares are to be clamped."""

    @property
    def second_moment(self) -> DebiasedAverage:
        return replace(super().second_moment, clamp="ema")


class FloorUnderSquares(Dp2RmsPropNoiseAware):
    """Forgets to take the noise off."""

    @property
    def second_moment(self) -> NoiseAwareAverage:
        right = super().second_moment

        class Biased(NoiseAwareAverage):
            def root(self, moment: Array, updates: int) -> Array:
                raw = self._average.root(moment, updates) ** 2
                return np.sqrt(np.maximum(raw, self.noise_floor * self.noise_variance))

        return Biased(right.ema, right.noise_variance, right.floor, right.noise_floor)


@pytest.mark.parametrize(
    ("broken", "base"),
    [
        (SumForMean, Dp2AdaGrad),
        (MomentumOutlivesItsPhase, Dp2Adam),
        (CorrectsBySteps, Dp2Adam),
        (YogiFromZero, Dp2Yogi),
        (DebiasesAsIfOneStep, Dp2RmsPropDebiased),
        (ClampsElsewhere, Dp2RmsPropDebiased),
        (FloorUnderSquares, Dp2RmsPropNoiseAware),
    ],
)
def test_the_plain_loop_with_phases_disagrees(broken: type[Any], base: type) -> None:
    scale, settings = _settings(base, cases.DELAYED)
    with pytest.raises(AssertionError):
        cases.check_delayed(broken, scale, settings, {"delay": 3})


class MomentumOfEveryRelease(Momentum):
    """Lets the velocity move the parameters at each release of a step."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        moved, new = super().apply(parameters, state, released)
        if new.step == state.step:
            moved = moved + self.momentum * state.arrays["velocity"]
        return moved, new


class MomentumDamped(Momentum):
    """Averages displacements."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        moved, new = super().apply(parameters, state, released)
        return parameters + (1 - self.momentum) * (moved - parameters), new


class DecayOneStepEarly(LearningRateDecay):
    """Counts steps from 1."""

    def factor(self, step: int) -> float:
        return super().factor(step + 1)


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (MomentumDamped, modifiers.test_momentum_around_dp_sgd_is_dp_sgd_with_momentum),
        (
            MomentumOfEveryRelease,
            lambda: modifiers.test_momentum_moves_by_the_displacements_of_whole_steps(
                modifiers.INNER[2]
            ),
        ),
    ],
)
def test_broken_momentum_is_caught(
    broken: type[Momentum], check: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modifiers, "Momentum", broken)
    with pytest.raises(AssertionError):
        check()


def test_broken_decay_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modifiers, "LearningRateDecay", DecayOneStepEarly)
    with pytest.raises(AssertionError):
        modifiers.test_decay_scales_the_learning_rate(
            "linear", lambda t: (modifiers.STEPS - t) / modifiers.STEPS
        )


def test_a_root_of_raw_gradients_is_caught() -> None:
    """v fed with what was never released leaves a trace of the data."""
    from tests.optimizers.checks import check_state_comes_from_releases

    class Leaky(Dp2RmsPropNoiseAware):
        def renewed(self, arrays: Any, summed_steps: int, renewals: int) -> dict[str, Array]:
            raw = self.problem.clipped_gradient_sum(  # type: ignore[attr-defined]
                np.zeros(13), np.arange(80), clip_norm=np.inf
            )
            leaked = {**arrays, "gradient_sum": raw}
            return super().renewed(leaked, summed_steps, renewals)

    def make(problem: Any) -> Leaky:
        leaky = Leaky(**_settings(Dp2RmsPropNoiseAware, cases.DELAYED)[1], delay=3)
        object.__setattr__(leaky, "problem", problem)
        return leaky

    with pytest.raises(AssertionError):
        check_state_comes_from_releases(make)
