"""Broken DP² optimizers, runs and releases that the checks of tests/optimizers must catch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dp2theory.optimizers import clipping, protocol
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.steps import OptimizerState, Query
from dp2theory.problems.protocol import Array, Problem
from tests.optimizers import checks

Moved = tuple[Array, OptimizerState]


def _with(state: OptimizerState, **arrays: Array) -> OptimizerState:
    return OptimizerState(state.step, {**state.arrays, **arrays})


class KeepsTheSum(Dp2RmsProp):
    """Forgets to reset the accumulated gradient."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        moved, new = super().apply(parameters, state, released)
        if self.phases.ends_sgd(state.step):
            new = _with(new, gradient_sum=state.arrays["gradient_sum"] + released)
        return moved, new


class LastGradientOnly(Dp2RmsProp):
    """Squares the last release of the phase and not the phase mean."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        moved, new = super().apply(parameters, state, released)
        if self.phases.ends_sgd(state.step):
            v = self.ema * state.arrays["second_moment"] + (1 - self.ema) * released**2
            new = _with(new, second_moment=v, preconditioner=np.sqrt(v) + self.damping)
        return moved, new


class MeanOfSquares(Dp2RmsProp):
    """Renews v at every SGD step, as RMSProp would."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        moved, new = super().apply(parameters, state, released)
        if self.phases.is_sgd(state.step):
            v = self.ema * state.arrays["second_moment"] + (1 - self.ema) * released**2
            new = _with(new, second_moment=v, preconditioner=np.sqrt(v) + self.damping)
        return moved, new


class DriftsInAdaptivePhases(Dp2RmsProp):
    """Renews v from adaptive releases too."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        moved, new = super().apply(parameters, state, released)
        if not self.phases.is_sgd(state.step):
            v = self.ema * state.arrays["second_moment"] + (1 - self.ema) * released**2
            new = _with(new, second_moment=v, preconditioner=np.sqrt(v) + self.damping)
        return moved, new


class BiasCorrected(Dp2RmsProp):
    """Divides the first v by 1 - ema."""

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        moved, new = super().apply(parameters, state, released)
        if self.phases.ends_sgd(state.step) and state.step < self.phases.sgd_steps:
            v = new.arrays["second_moment"] / (1 - self.ema)
            new = _with(new, second_moment=v, preconditioner=np.sqrt(v) + self.damping)
        return moved, new


class OneStepLate(Dp2RmsProp):
    """Counts steps from 1: the first phase is a step short."""

    def initial_state(self, dimension: int) -> OptimizerState:
        return OptimizerState(1, super().initial_state(dimension).arrays)


class OneClipNorm(Dp2RmsProp):
    """Uses the SGD clip norm in adaptive phases."""

    def query(self, state: OptimizerState) -> Query:
        query = super().query(state)
        return Query(self.clip_norm, query.noise_multiplier, query.preconditioner)


class NoiseThenPrecondition(Dp2RmsProp):
    """Clips and adds noise first, and divides by D afterwards."""

    def query(self, state: OptimizerState) -> Query:
        query = super().query(state)
        return Query(query.clip_norm, query.noise_multiplier)

    def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
        if not self.phases.is_sgd(state.step):
            released = released / state.arrays["preconditioner"]
        return super().apply(parameters, state, released)


BROKEN = [
    KeepsTheSum,
    LastGradientOnly,
    MeanOfSquares,
    DriftsInAdaptivePhases,
    BiasCorrected,
    OneStepLate,
    OneClipNorm,
    NoiseThenPrecondition,
]


@pytest.mark.parametrize("broken", BROKEN)
def test_the_plain_loop_disagrees(broken: type[Dp2RmsProp]) -> None:
    with pytest.raises(AssertionError):
        checks.check_matches_literal_dp2(broken, delay=4)


@pytest.mark.parametrize("broken", BROKEN)
def test_the_phase_check_fails(broken: type[Dp2RmsProp]) -> None:
    with pytest.raises(AssertionError):
        checks.check_constant_inside_phases(broken)


def test_a_state_that_looks_at_the_data_is_caught() -> None:
    class Leaky(Dp2RmsProp):
        """Builds v from raw gradients: not covered by any ledger."""

        def apply(self, parameters: Array, state: OptimizerState, released: Array) -> Moved:
            moved, new = super().apply(parameters, state, released)
            if self.phases.ends_sgd(state.step):
                everybody = np.arange(self.problem.dataset_size)  # type: ignore[attr-defined]
                raw = self.problem.clipped_gradient_sum(  # type: ignore[attr-defined]
                    parameters, everybody, clip_norm=np.inf
                )
                new = _with(new, second_moment=raw**2)
            return moved, new

    def make(problem: Problem) -> Dp2RmsProp:
        leaky = Leaky(**checks.SETTINGS, delay=3)
        object.__setattr__(leaky, "problem", problem)
        return leaky

    with pytest.raises(AssertionError):
        checks.check_state_comes_from_releases(make)


def _release(divide: Callable[..., float], scale: Callable[..., float]) -> Callable[..., Array]:
    def release(
        problem: Problem, parameters: Array, batch: Any, query: Query, *,
        expected_batch_size: float, rng: np.random.Generator,
    ) -> Array:  # fmt: skip
        total = problem.clipped_gradient_sum(
            parameters, batch, clip_norm=query.clip_norm, preconditioner=query.preconditioner
        )
        noise = 0.0
        if query.noise_multiplier:
            noise = rng.standard_normal(total.size) * scale(query, expected_batch_size)
        return np.asarray((total + noise) / divide(batch, expected_batch_size))

    return release


def _sigma_c(query: Query, b: float) -> float:
    return query.noise_multiplier * query.clip_norm


def _public(batch: Any, b: float) -> float:
    return b


def test_the_rebuilt_release_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frame of the broken ones below is itself not what the checks catch."""
    monkeypatch.setattr(protocol, "release_mean", _release(_public, _sigma_c))
    checks.check_noise_law()
    checks.check_divisor_is_public()


@pytest.mark.parametrize(
    "scale",
    [
        lambda query, b: query.noise_multiplier * query.clip_norm / b,  # divided by b twice
        lambda query, b: query.noise_multiplier * 0.5,  # the first clip norm in all phases
        lambda query, b: query.noise_multiplier,  # clip norm forgotten
        lambda query, b: 2 * query.noise_multiplier * query.clip_norm,  # sensitivity 2 C
        lambda query, b: 0.97 * query.noise_multiplier * query.clip_norm,  # 3 % too little
    ],
)
def test_wrong_noise_is_caught(
    scale: Callable[[Query, float], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "release_mean", _release(_public, scale))
    with pytest.raises(AssertionError):
        checks.check_noise_law()


def test_noise_drawn_once_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def reused(*args: Any, rng: np.random.Generator, **kwargs: Any) -> Array:
        return clipping.release_mean(*args, rng=np.random.default_rng(0), **kwargs)

    monkeypatch.setattr(protocol, "release_mean", reused)
    with pytest.raises(AssertionError):
        checks.check_noise_law()


def test_dividing_by_the_drawn_size_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(batch: Any, b: float) -> float:
        return float(max(1, batch.size))

    monkeypatch.setattr(protocol, "release_mean", _release(drawn, _sigma_c))
    with pytest.raises(AssertionError):
        checks.check_divisor_is_public()
    with pytest.raises(AssertionError):
        checks.check_noise_law()
