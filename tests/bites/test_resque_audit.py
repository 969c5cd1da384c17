"""Private runs with a fault each, which the noise law, the audit or a sensitivity must find."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from dp2theory.resque import localization
from dp2theory.resque.phased_localization import one_pass
from dp2theory.resque.phased_plan import sensitivity
from dp2theory.resque.phases import schedule
from dp2theory.resque.private import run_private
from dp2theory.verification.resque_audit import audit_ball
from dp2theory.verification.resque_noise import ball_noise, noise_law
from tests.resque.hard_instances import drifting
from tests.verification.resque_small import DRIFT, SIGMA, releases, whole_plan


@contextmanager
def scheduled(noise: float = 1.0, step: float = 1.0) -> Iterator[None]:
    """Phases with other noise, or with steps that the noise was not made for."""

    def wrong(**settings: Any) -> Any:
        return tuple(
            replace(phase, noise_std=noise * phase.noise_std, step=step * phase.step)
            for phase in schedule(**settings)
        )

    with mock.patch.object(localization, "schedule", wrong):
        yield


class Scaled(np.random.Generator):
    """A generator of normals that are too small."""

    factor = 0.5

    def standard_normal(self, *args: Any, **kwargs: Any) -> Any:
        return self.factor * super().standard_normal(*args, **kwargs)


class Repeating(np.random.Generator):
    """A generator that gives the same normals again and again."""

    kept: Any = None

    def standard_normal(self, *args: Any, **kwargs: Any) -> Any:
        if self.kept is None:
            self.kept = super().standard_normal(*args, **kwargs)
        return self.kept


WANTED = ball_noise(1.0, SIGMA, DRIFT)


@pytest.mark.parametrize("factor", [0.25, 0.5, 0.95, 2.0])
def test_noise_that_the_schedule_scales_is_found(factor: float) -> None:
    with scheduled(noise=factor):
        law = noise_law(releases(), WANTED)
    assert law.resolved
    assert not law.holds
    assert not any(row.holds for row in law.rows)
    assert law.rows[-1].ratio == pytest.approx(factor, rel=0.02)


def test_noise_that_the_program_halves_is_found() -> None:
    law = noise_law(releases(Scaled(np.random.PCG64(0))), WANTED)
    assert not law.holds
    assert law.rows[-1].ratio == pytest.approx(0.5, rel=0.02)


def test_noise_that_a_whole_run_halves_is_found() -> None:
    loss, plan = whole_plan()
    seen: list[localization.Release] = []
    run = run_private(loss, plan, rng=Scaled(np.random.PCG64(1)), observe=seen.append)
    wanted = ball_noise(1.0, run.parts[0].plan.noise_multiplier, plan.constants.drift_factor)
    law = noise_law(seen, wanted, names=lambda _: "run")
    assert not law.holds
    assert law.rows[0].ratio == pytest.approx(0.5, rel=0.03)


def test_one_noise_for_all_phases_is_found() -> None:
    law = noise_law(releases(Repeating(np.random.PCG64(0))), WANTED)
    assert law.correlation == pytest.approx(1.0)
    assert not law.holds


def test_a_ledger_with_another_multiplier_is_found() -> None:
    assert not noise_law(releases(), ball_noise(1.0, 2 * SIGMA, DRIFT)).holds


@pytest.mark.parametrize("seed", range(3))
def test_the_audit_finds_a_quarter_of_the_noise(seed: int) -> None:
    with scheduled(noise=0.25):
        found = audit_ball(trials=200, seed=seed)
    assert found.violated
    assert found.epsilon.violated


def test_the_audit_finds_half_of_the_noise() -> None:
    with scheduled(noise=0.5):
        assert audit_ball(trials=700).violated


def test_the_audit_finds_steps_that_the_noise_was_not_made_for() -> None:
    # The noise law sees nothing: noise is what it should be for the steps that were planned.
    with scheduled(step=3.0):
        assert audit_ball(trials=300).violated


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 23))
def test_the_audit_finds_faults_with_other_seeds(seed: int) -> None:
    for fault, trials in ({"noise": 0.25}, 200), ({"noise": 0.5}, 1000), ({"step": 3.0}, 400):
        with scheduled(**fault):
            assert audit_ball(trials=trials, seed=seed).violated


def test_a_plain_pass_may_not_claim_the_sensitivity_of_a_smoothed_one() -> None:
    step, order = 0.01, np.arange(200)
    first, second = (
        one_pass(each, order, each.start, step, smoothing=0.0) for each in drifting(200)
    )
    assert np.linalg.norm(first - second) > 5 * sensitivity("smoothed", 200) * step


def test_smoothing_below_what_the_step_needs_is_found() -> None:
    # A smoothness a million times 2/step: later records part the runs as plain subgradients do.
    step, order = 0.01, np.arange(200)
    least = step / np.sqrt(2 * np.pi)
    moved = {}
    for factor in (1.0, 1e-6):
        first, second = (
            one_pass(each, order, each.start, step, smoothing=factor * least)
            for each in drifting(200)
        )
        moved[factor] = np.linalg.norm(first - second) / step
    assert moved[1.0] <= sensitivity("smoothed", 200) < moved[1e-6] / 5
